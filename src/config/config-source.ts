import { Check } from '../document/check.ts';
import { ConfigDocument } from '../document/document.ts';
import type { Environment } from '../document/expand.ts';
import { ConfigError } from '../document/problem.ts';
import { whyUnreadable } from '../document/why-unreadable.ts';
import { LIMITS } from '../limits.ts';

export interface ConfigSource {
  /** The name used in every message; secret files are relative to its folder. */
  readonly file: string;
  /** The file's text, if it was already read. */
  readonly text?: string;
  readonly environment: Environment;
  /** Throws like `readFileSync`. It is called again for secret files whenever the secret is used. */
  readonly readFile: (path: string) => string;
}

/** Throws `ConfigError` if the file cannot be read, is too large, is not valid YAML, or does not contain a map. */
export function openSource({ file, text, environment, readFile }: ConfigSource): Check {
  const whole = text ?? readWhole(file, readFile);
  if (Buffer.byteLength(whole) > LIMITS.configuration_bytes.most)
    throw unread(file, 'the file is larger than 4 MiB');
  const document = new ConfigDocument(whole, environment);
  if (!document.isReadable) throw new ConfigError(file, document.problems);
  const { value } = document;
  if (value !== undefined && value !== null && (typeof value !== 'object' || Array.isArray(value))) {
    const place = document.placeOf([]);
    throw new ConfigError(file, [
      { ...place, path: '', message: 'the file must be a map that begins with `regions:`' },
    ]);
  }
  return new Check({ document, file, readFile, environment });
}

function readWhole(file: string, readFile: (path: string) => string): string {
  try {
    return readFile(file);
  } catch (error) {
    throw unread(file, `the file ${whyUnreadable(error)}`);
  }
}

function unread(file: string, message: string): ConfigError {
  return new ConfigError(file, [{ line: 1, column: 1, path: '', message }]);
}
