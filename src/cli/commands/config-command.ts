/** Prints the configuration that is in force, its schema, and what people put into it. */
import { randomBytes } from 'node:crypto';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { stringify } from 'yaml';
import { configJsonSchema, effectiveConfig } from '../../config/effective.ts';
import { NestwatchError } from '../../errors.ts';
import { hashPassword } from '../../http/password-hash.ts';
import type { Edge } from '../../process-io.ts';
import { askLine } from '../at-terminal.ts';
import type { Answer } from '../command-rows.ts';
import { type ConfigOptions, findConfigFile } from '../config-file.ts';
import { readConfig, readDocument } from '../read-config.ts';
import { shownLines } from '../terminal-text.ts';

/** Prints the effective configuration without its secrets. Throws `ConfigError` if it has mistakes. */
export function configShow(edge: Edge, options: ConfigOptions): Answer {
  const file = findConfigFile(edge, options);
  readConfig(edge, file);
  const config = effectiveConfig(readDocument(edge, file));
  return { json: config, text: `${shownLines(stringify(config, { lineWidth: 0 })).trimEnd()}\n` };
}

export function schema(edge: Edge): number {
  edge.stdout.write(`${JSON.stringify(configJsonSchema(), null, 2)}\n`);
  return 0;
}

/** Prints the hash of a password that is typed without being shown, or that is the first line of stdin. */
export async function printPasswordHash(edge: Edge): Promise<number> {
  const password = edge.stdin.isTTY ? await typedPassword(edge) : (await text(edge.stdin)).split(/\r?\n/)[0]!;
  if (password === '') throw new NestwatchError('usage', 'the password is empty');
  edge.stdout.write(`${await hashPassword(password, randomBytes)}\n`);
  return 0;
}

async function typedPassword({ stdin, stderr }: Edge): Promise<string> {
  stderr.write('Password: ');
  // The line editor would echo the password.
  const unseen = new Writable({ write: (_chunk, _encoding, done) => done() });
  const password = await askLine('', { input: stdin, output: unseen, terminal: true });
  stderr.write('\n');
  if (password === undefined) throw new NestwatchError('usage', 'no password was typed');
  return password;
}
