import type { Config } from '../config/config.ts';
import { loadConfig, loadWarnings } from '../config/load-config.ts';
import { ConfigDocument } from '../document/document.ts';
import type { Problem } from '../document/problem.ts';
import { FileRereads, MOST_CONFIG_BYTES, type ReadFile, whyUnreadable } from '../document/read-file.ts';
import type { Edge } from '../process-io.ts';
import { secretsIn } from '../secret.ts';
import { exposedFiles } from '../store/open-store.ts';
import {
  type ConfigOptions,
  findConfigFile,
  readFile,
  readFileLater,
  readGiven,
  rereadOf,
} from './config-file.ts';

/** The configuration that the options name, or that of the usual places. Throws `ConfigError` with every mistake. */
export function configOf(edge: Edge, options: ConfigOptions): Config {
  return readConfig(edge, findConfigFile(edge, options));
}

/** Throws `ConfigError` with every mistake. */
export function readConfig(edge: Edge, file: string): Config {
  return loadConfig({ file, environment: edge.environment, readFile: readGiven(file) });
}

/** The values of the file, with references expanded and without defaults. */
export function readDocument(edge: Edge, file: string): unknown {
  return new ConfigDocument(readGiven(file)(file, MOST_CONFIG_BYTES), edge.environment).value;
}

/** Warnings about a configuration that was read from this file, and about files of its store that others can read. */
export async function readWarnings(
  edge: Edge,
  file: string,
  config: Config,
  read: ReadFile,
): Promise<readonly Problem[]> {
  const exposed = await exposedFiles(config.store.url);
  return [
    ...loadWarnings({ file, environment: edge.environment, readFile: read }, config),
    ...exposed.map((message) => ({ line: 1, column: 1, path: 'store.url', message })),
  ];
}

/** A configuration file that is read again when it changes, and its secrets' files, which may hang. */
export interface ConfigFile {
  /** Throws `ConfigError` with every mistake. */
  read(): Config;
  /** The same while the process runs: a file of the configuration in use that does not answer is a mistake. */
  readAgain(): Promise<Config>;
  /** Warnings about the configuration that was read last, from the same texts. */
  warnings(config: Config): Promise<readonly Problem[]>;
  /**
   * Whether the file, a part of it, or another file that could not be read, has other text than when it was last read, and
   * had the same text at the previous check, so that it is not read while it is being written. A missing file, as while a link
   * is replaced, does not count as new; one that cannot be read does, so that this is reported. Nothing else waits for a file
   * on a mount that does not answer.
   */
  isNew(): Promise<boolean>;
  /** Begins to read the files of all secrets again, so that even the first use of one for long has its present text. */
  readSecretsAgain(): void;
  /** The secrets of the configuration in use whose file could not be read again, by key, and why. */
  unread(): ReadonlyMap<string, string>;
}

type ReadFiles = ReadonlyMap<string, { readonly mostBytes: number; readonly text: string }>;

export function openConfigFile(edge: Edge, file: string, readLater = readFileLater): ConfigFile {
  const rereads = new FileRereads(edge.clock, readLater, file);
  let inUse: Config | undefined;
  /** The texts of the file and its parts, or why they cannot be read, and why secrets' files could not. */
  let lastRead: ReadonlyMap<string, string> | undefined;
  let lastSeen = '';
  let unreadSecrets = new Map<string, string>();
  /** The files of the configuration in use, and of the last one, which may have been refused. */
  let files: ReadFiles = new Map();
  let lastFiles: ReadFiles = new Map();

  function load(readNow: ReadFile): Config {
    const unread = new Map<string, string>();
    const parts = new Map<string, string>();
    lastRead = parts;
    const readFiles = new Map<string, { mostBytes: number; text: string }>();
    lastFiles = readFiles;
    const config = loadConfig({
      file,
      environment: edge.environment,
      readFile(path, mostBytes) {
        readFiles.set(path, { mostBytes, text: '' });
        try {
          const text = readNow(path, mostBytes);
          readFiles.set(path, { mostBytes, text });
          if (path === file) parts.set(file, text);
          return text;
        } catch (error) {
          // It may be mended, or answer later.
          parts.set(path, whyUnreadable(error));
          throw error;
        }
      },
      unread,
      parts,
      rereads,
    });
    unreadSecrets = unread;
    inUse = config;
    files = readFiles;
    return config;
  }

  function reread(path: string, mostBytes: number): Promise<() => string> {
    return new Promise((resolve) => rereads.ask(path, mostBytes, resolve));
  }

  return {
    // Only the first time it may be a pipe.
    read() {
      const config = load(readGiven(file));
      lastRead = new Map(lastRead).set(file, rereadOf(file, lastRead!.get(file)!));
      return config;
    },
    async readAgain() {
      const texts = new Map<string, () => string>();
      const asked = [...new Map([...files, ...lastFiles])].map(async ([path, { mostBytes }]) => {
        texts.set(path, await reread(path, mostBytes));
      });
      await Promise.all(asked);
      return load((path, mostBytes) => texts.get(path)?.() ?? readFile(path, mostBytes));
    },
    warnings(config) {
      const texts = files;
      return readWarnings(edge, file, config, (path) => texts.get(path)?.text ?? '');
    },
    async isNew() {
      const texts = new Map<string, string>();
      for (const path of new Set([file, ...(lastRead?.keys() ?? [])])) {
        try {
          texts.set(path, (await reread(path, lastFiles.get(path)?.mostBytes ?? MOST_CONFIG_BYTES))());
        } catch (error) {
          if (path === file && (error as NodeJS.ErrnoException).code === 'ENOENT') return false;
          texts.set(path, whyUnreadable(error));
        }
      }
      const seen = JSON.stringify([...texts]);
      const isSettled = seen === lastSeen;
      lastSeen = seen;
      return isSettled && [...texts].some(([path, text]) => text !== lastRead?.get(path));
    },
    readSecretsAgain: () => void secretsIn(inUse),
    unread: () => unreadSecrets,
  };
}
