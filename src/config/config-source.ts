import { resolve } from 'node:path';
import { Check, isMap } from '../document/check.ts';
import { ConfigDocument } from '../document/document.ts';
import { ConfigError } from '../document/problem.ts';
import {
  type Environment,
  type FileRereads,
  MOST_CONFIG_BYTES,
  type ReadFile,
  whyUnreadable,
} from '../document/read-file.ts';
import { type HostPort, parseHostPort } from '../http/web-address.ts';
import { DEFAULT_LISTEN, readWeb, type WebConfig } from './sections/web-section.ts';

export interface ConfigSource {
  /** The name used in every message; secret files are relative to its folder. */
  readonly file: string;
  /** The file's text, if it was already read. */
  readonly text?: string;
  readonly environment: Environment;
  /** Without `rereads` it is called again for secret files whenever the secret is used. */
  readonly readFile: ReadFile;
  /** Where to note which secrets cannot be read again while the configuration is in use, by key, and why. */
  readonly unread?: Map<string, string>;
  /** Where to note the text of each other file that is a part of the configuration, or why it cannot be read. */
  readonly parts?: Map<string, string>;
  /** Reads secret files again in the background. */
  readonly rereads?: FileRereads;
}

/** Throws `ConfigError` if the file cannot be read, is too large, is not valid YAML, or does not contain a map. */
export function openSource({ text, ...source }: ConfigSource): Check {
  const { file, environment, readFile } = source;
  const whole = text ?? readWhole(file, readFile);
  if (Buffer.byteLength(whole) > MOST_CONFIG_BYTES) throw unread(file, 'the file is larger than 4 MiB');
  const document = new ConfigDocument(whole, environment);
  if (!document.isReadable) throw new ConfigError(file, document.problems);
  const { value } = document;
  if (value !== undefined && value !== null && !isMap(value)) {
    const place = document.placeOf([]);
    throw new ConfigError(file, [
      { ...place, path: '', message: 'the file must be a map that begins with `regions:`' },
    ]);
  }
  return new Check({ document, ...source });
}

function readWhole(file: string, readFile: ReadFile): string {
  try {
    return readFile(file, MOST_CONFIG_BYTES);
  } catch (error) {
    // Whole, because `npm run` starts commands in another folder than the one where they are typed.
    throw unread(resolve(file), `the file ${whyUnreadable(error)}`);
  }
}

function unread(file: string, message: string): ConfigError {
  return new ConfigError(file, [{ line: 1, column: 1, path: '', message }]);
}

/**
 * Reads only where the daemon listens. So commands that talk to it work while other parts of the file are being
 * edited, and start without loading what those parts need. Throws like `loadConfig`.
 */
export function loadWebConfig(source: ConfigSource): WebConfig {
  const check = openSource(source);
  const web = readWeb(check);
  const own = check.problems().filter(({ path }) => path === '' || /^web\b/.test(path));
  if (own.length > 0 || !web) throw new ConfigError(source.file, own);
  return web;
}

/**
 * Where the daemon listens as far as the file says so, however broken it is: the daemon then continues with what it read
 * before.
 */
export function guessListen({ file, environment, readFile }: ConfigSource): {
  readonly listen: HostPort;
  readonly isTls: boolean;
} {
  let text = '';
  try {
    text = readFile(file, MOST_CONFIG_BYTES);
  } catch {
    // The default is as good a guess as any.
  }
  const document = new ConfigDocument(text, environment);
  const listen = document.writtenAt(['web', 'listen']);
  return {
    listen: (typeof listen === 'string' && parseHostPort(listen)) || DEFAULT_LISTEN,
    isTls: document.writtenAt(['web', 'tls']) !== undefined,
  };
}
