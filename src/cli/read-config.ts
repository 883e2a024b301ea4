import type { Config } from '../config/config.ts';
import { loadConfig, loadWarnings } from '../config/load-config.ts';
import { ConfigDocument } from '../document/document.ts';
import type { Problem } from '../document/problem.ts';
import type { Edge } from '../process-io.ts';
import { exposedFiles } from '../store/open-store.ts';
import { readFile } from './config-file.ts';

/** Throws `ConfigError` with every mistake. */
export function readConfig(edge: Edge, file: string): Config {
  return loadConfig({ file, environment: edge.environment, readFile });
}

/** The values of the file, with references expanded and without defaults. */
export function readDocument(edge: Edge, file: string): unknown {
  return new ConfigDocument(readFile(file), edge.environment).value;
}

/** Warnings about a configuration that was read from this file, and about files of its store that others can read. */
export async function readWarnings(edge: Edge, file: string, config: Config): Promise<readonly Problem[]> {
  const exposed = await exposedFiles(config.store.url);
  return [
    ...loadWarnings({ file, environment: edge.environment, readFile }, config),
    ...exposed.map((message) => ({ line: 1, column: 1, path: 'store.url', message })),
  ];
}

/** A configuration file that is read again when it changes. */
export interface ConfigFile {
  /** Throws `ConfigError` with every mistake. */
  read(): Config;
  /**
   * Whether the file has other text than when it was last read, and had the same text at the previous check, so that
   * it is not read while it is being written. A missing file, as while a link is replaced, does not count as new.
   */
  isNew(): boolean;
}

export function openConfigFile(edge: Edge, file: string): ConfigFile {
  let lastRead: string | undefined;
  let lastSeen: string | undefined;
  return {
    read() {
      return loadConfig({
        file,
        environment: edge.environment,
        readFile(path) {
          const text = readFile(path);
          if (path === file) lastRead = text;
          return text;
        },
      });
    },
    isNew() {
      try {
        const seen = readFile(file);
        const isSettled = seen === lastSeen;
        lastSeen = seen;
        return isSettled && seen !== lastRead;
      } catch {
        return false;
      }
    },
  };
}
