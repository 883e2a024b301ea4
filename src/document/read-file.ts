/**
 * How the configuration and the files that it names are read, by the process's edge; and read again while the process
 * runs, without ever waiting for one on a mount that does not answer.
 */
import { dirname } from 'node:path';
import { LIMITS } from '../limits.ts';
import type { Clock } from '../time/clock.ts';

/** Reads a whole text file of at most `mostBytes`. Throws like `readFileSync`, or `UnfitFile`. */
export type ReadFile = (path: string, mostBytes: number) => string;

export const MOST_CONFIG_BYTES = LIMITS.configuration_bytes.most;
export const MOST_SECRET_BYTES = 64 * 1024;
/** All CA certificates of a system take a quarter of a megabyte. */
export const MOST_CA_BYTES = 4 * 1024 * 1024;

/** The file is there and may be read, but is nothing to be read whole. */
export class UnfitFile extends Error {
  /** Completes a sentence that begins with the file's name. */
  readonly why: string;

  constructor(why: string) {
    super(`The file ${why}.`);
    this.why = why;
  }
}

/** Why a file could not be read, to complete a sentence that begins with its name. */
export function whyUnreadable(error: unknown): string {
  if (error instanceof UnfitFile) return error.why;
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason';
  if (code === 'ENOENT') return 'does not exist';
  if (code === 'EACCES' || code === 'EPERM') return 'may not be read: its permissions forbid it';
  if (code === 'EISDIR') return 'is a directory';
  return `cannot be read (${code})`;
}

/** Like `ReadFile`, without blocking the process. */
export type ReadFileLater = (path: string, mostBytes: number) => Promise<string>;

/** Told what a reading gave: `read` returns the text, or throws why there is none. */
export type Take = (read: () => string) => void;

/** How often a file is read at most. */
const EVERY_MS = 1_000;
/** After this, a file that does not answer is told as one that cannot be read. */
const LATE_MS = 10_000;
/** A reading on a hung mount holds one of the four threads that also look up names and read other files. */
const MOST_AT_ONCE = 3;
/** So while two files do not answer, others are read again all the same. */
const MOST_IN_TIME = 2;

interface Waiting {
  readonly path: string;
  begin(): void;
}

export class FileRereads {
  readonly #clock: Clock;
  readonly #read: ReadFileLater;
  readonly #configFile: string | undefined;
  /** Who is told of each file that is being read, or waits for it, and what they were told so far. */
  readonly #asked = new Map<string, { readonly takers: Set<Take>; told?: () => string }>();
  readonly #waiting: Waiting[] = [];
  readonly #late = new Set<Waiting>();
  #atOnce = 0;

  /** `configFile` may hold the last place whatever does not answer. */
  constructor(clock: Clock, read: ReadFileLater, configFile?: string) {
    this.#clock = clock;
    this.#read = read;
    this.#configFile = configFile;
  }

  /** What begins a reading of the file, unless one began within a second or has not ended. */
  of(path: string, mostBytes: number, take: Take): () => void {
    let beganMs = this.#clock.monotonicMs();
    return () => {
      const nowMs = this.#clock.monotonicMs();
      if (nowMs - beganMs < EVERY_MS) return;
      beganMs = nowMs;
      this.ask(path, mostBytes, take);
    };
  }

  /** Reads the file, or joins a reading that has not ended. A late one is told as such, and once more when it has ended. */
  ask(path: string, mostBytes: number, take: Take): void {
    const key = `${mostBytes} ${path}`;
    const asked = this.#asked.get(key);
    if (asked) {
      asked.takers.add(take);
      if (asked.told) take(asked.told);
      return;
    }
    const own: { takers: Set<Take>; told?: () => string } = { takers: new Set([take]) };
    this.#asked.set(key, own);
    const tell = (read: () => string) => {
      own.told = read;
      for (const one of own.takers) one(read);
    };
    void this.#readInTurn(path, mostBytes, (late) => tell(fails(late)))
      .then((text) => () => text, fails)
      .then((outcome) => {
        this.#asked.delete(key);
        tell(outcome);
      });
  }

  /** `late` is told if there is no text after ten seconds; it may still come. */
  #readInTurn(path: string, mostBytes: number, late: (why: UnfitFile) => void): Promise<string> {
    return new Promise((resolve) => {
      const tell = (why: string) => late(new UnfitFile(why));
      let cancel = this.#clock.setTimer(LATE_MS, () => tell('waits for others that do not answer'));
      const own: Waiting = {
        path,
        begin: () => {
          cancel();
          cancel = this.#clock.setTimer(LATE_MS, () => {
            this.#late.add(own);
            tell('does not answer');
            this.#next();
          });
          const ended = () => {
            cancel();
            this.#atOnce -= 1;
            this.#late.delete(own);
            this.#next();
          };
          const reading = this.#read(path, mostBytes);
          reading.then(ended, ended);
          resolve(reading);
        },
      };
      this.#waiting.push(own);
      this.#next();
    });
  }

  #next(): void {
    if (this.#atOnce === MOST_AT_ONCE || this.#atOnce - this.#late.size === MOST_IN_TIME) return;
    const isLast = this.#atOnce === MOST_AT_ONCE - 1;
    const at = this.#waiting.findIndex(({ path }) => !isLast || this.#mayBeLast(path));
    if (at === -1) return;
    const [next] = this.#waiting.splice(at, 1);
    this.#atOnce += 1;
    next!.begin();
    this.#next();
  }

  /** Whether the file may take the last place: a mount that hangs, which is mostly one directory, must not hold all. */
  #mayBeLast(path: string): boolean {
    if (path === this.#configFile) return true;
    return ![...this.#late].some((late) => dirname(late.path) === dirname(path));
  }
}

function fails(error: unknown): () => never {
  return () => {
    throw error;
  };
}

export type Environment = Readonly<Record<string, string | undefined>>;

type Expansion =
  | { readonly ok: true; readonly text: string; readonly isExpanded: boolean }
  | { readonly ok: false; readonly message: string };

/** `$$`, `${NAME}` or `${NAME:-default}`. A bare `${` matches too, so that it can be refused. */
const REFERENCE = /\$\$|\$\{(?:([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\})?/g;

/**
 * Expands environment variables in a text. The values are not expanded again, so a token may contain any character.
 * As in a shell, the default after `:-` also replaces an empty variable.
 */
export function expand(text: string, environment: Environment): Expansion {
  const unset: string[] = [];
  let isExpanded = false;
  let isBroken = false;
  const result = text.replace(REFERENCE, (match, name?: string, otherwise?: string) => {
    if (match === '$$') return '$';
    if (name === undefined) {
      isBroken = true;
      return match;
    }
    isExpanded = true;
    const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
    if (otherwise !== undefined) return value ? value : otherwise;
    if (value === undefined) unset.push(name);
    return value ?? '';
  });
  if (isBroken) {
    return {
      ok: false,
      message: '`${' + '` must go on as `NAME}` or `NAME:-default}`; a dollar alone is `$$`',
    };
  }
  if (unset.length > 0) {
    const names = unset.map((name) => `$${name}`).join(', ');
    const verb = unset.length === 1 ? 'is' : 'are';
    return { ok: false, message: `${names} ${verb} not set in the environment` };
  }
  return { ok: true, text: result, isExpanded };
}
