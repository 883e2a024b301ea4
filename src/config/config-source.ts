import { Check } from '../document/check.ts';
import { ConfigDocument } from '../document/document.ts';
import type { Environment } from '../document/expand.ts';
import type { FileRereads } from '../document/file-rereads.ts';
import { ConfigError } from '../document/problem.ts';
import { MOST_CONFIG_BYTES, type ReadFile, whyUnreadable } from '../document/read-file.ts';

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
  if (value !== undefined && value !== null && (typeof value !== 'object' || Array.isArray(value))) {
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
    throw unread(file, `the file ${whyUnreadable(error)}`);
  }
}

function unread(file: string, message: string): ConfigError {
  return new ConfigError(file, [{ line: 1, column: 1, path: '', message }]);
}
