import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  type Stats,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { type ReadFile, type ReadFileLater, UnfitFile, whyUnreadable } from '../document/read-file.ts';
import { NestwatchError } from '../errors.ts';
import type { Edge } from '../process-io.ts';

/** The option of every command that reads a configuration. */
export interface ConfigOptions {
  readonly configFile?: string | undefined;
}

const PLACES = ['./nestwatch.yaml', '/etc/nestwatch/nestwatch.yaml'];

/**
 * The given file, else `$NESTWATCH_CONFIG`, else the first of the usual places that exists. Throws `usage` if there
 * is none.
 */
export function findConfigFile(edge: Edge, { configFile }: ConfigOptions): string {
  const named = configFile ?? edge.environment.NESTWATCH_CONFIG;
  const file = named || PLACES.find((place) => existsSync(place));
  if (file) return file;
  throw new NestwatchError(
    'usage',
    `no configuration: give --config.file FILE or $NESTWATCH_CONFIG (there is no ${PLACES.join(' and no ')}); \`nestwatch init\` writes a first one`,
  );
}

const MIB = 1024 * 1024;

/** Nobody may ever write to a pipe, and a terminal must not become that of the process. */
const WITHOUT_WAITING = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/**
 * Reads a regular file without waiting. Files are read again while the process runs, so a pipe or a device in the place
 * of one would stop it.
 */
export const readFile = readGiven();

/** The same in the background: a mount that never answers holds a thread, and nothing else. */
export const readFileLater: ReadFileLater = async (path, mostBytes) => {
  const file = await open(path, WITHOUT_WAITING);
  try {
    refuseUnfit(await file.stat());
    const bytes = Buffer.allocUnsafe(mostBytes + 1);
    let length = 0;
    for (let read = -1; read !== 0; length += read) {
      read = (await file.read(bytes, length, bytes.length - length, null)).bytesRead;
    }
    return bounded(bytes, length);
  } finally {
    await file.close();
  }
};

const NOT_REGULAR = 'is not a regular file';

function refuseUnfit(stat: Stats): void {
  // Reading a directory fails by itself.
  if (!stat.isFile() && !stat.isDirectory()) throw new UnfitFile(NOT_REGULAR);
}

/** What came by a pipe, by its path: a second reading would find nothing. */
const piped = new Map<string, string>();

/** What the file gives to `readFileLater`, given that it gave `text` to `readGiven`. */
export function rereadOf(file: string, text: string): string {
  return piped.has(file) ? NOT_REGULAR : text;
}

/**
 * Reads the configuration that was given to a command, which may be a pipe from another one; what it names must be
 * regular files.
 */
export function readGiven(given?: string): ReadFile {
  return (path, mostBytes) => {
    const kept = path === given ? piped.get(path) : undefined;
    if (kept !== undefined) return kept;
    const file = openSync(path, path === given ? constants.O_RDONLY : WITHOUT_WAITING);
    try {
      const stat = fstatSync(file);
      if (path !== given) refuseUnfit(stat);
      // One byte more shows that there is more.
      const bytes = Buffer.allocUnsafe(mostBytes + 1);
      let length = 0;
      for (let read = -1; read !== 0; length += read) {
        read = readSync(file, bytes, length, bytes.length - length, null);
      }
      const text = bounded(bytes, length);
      if (!stat.isFile()) piped.set(path, text);
      return text;
    } finally {
      closeSync(file);
    }
  };
}

function bounded(bytes: Buffer, length: number): string {
  const mostBytes = bytes.length - 1;
  if (length > mostBytes)
    throw new UnfitFile(
      `is larger than ${mostBytes < MIB ? `${mostBytes / 1024} KiB` : `${mostBytes / MIB} MiB`}`,
    );
  return bytes.toString('utf8', 0, length);
}

/** The text without a leading byte order mark. */
function decoded(bytes: Buffer): string {
  return new TextDecoder().decode(bytes);
}

/** The text of a file that an option or argument names. */
export function textOfFile(file: string): string {
  try {
    return decoded(readFileSync(file));
  } catch (error) {
    throw new NestwatchError('usage', `${file} ${whyUnreadable(error)}`, { cause: error });
  }
}

/** The secret in a file that an option names, without the line's end. Throws `secret_unreadable`. */
export function secretInFile(file: string): string {
  let text: string;
  try {
    text = decoded(readFileSync(file)).replace(/[\r\n]+$/, '');
  } catch (cause) {
    throw new NestwatchError('secret_unreadable', `${file} cannot be read`, { cause });
  }
  if (text !== '') return text;
  throw new NestwatchError('secret_unreadable', `${file} is empty`);
}
