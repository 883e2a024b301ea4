/** What an endpoint of the control port is, and how its body is read. */
import * as z from 'zod';
import { NestwatchError } from '../../errors.ts';
import { ERROR_TYPES } from '../../service/resources.ts';
import { messageOf, nearest } from '../../text/mistake-words.ts';
import type { Clock } from '../../time/clock.ts';
import { LONGEST_MS, parseDuration } from '../../time/duration.ts';
import { parseInstant } from '../../time/instant.ts';
import type { World } from '../world/world.ts';

export interface Stage {
  readonly world: World;
  readonly clock: MovableClock;
}

interface Call<Body> extends Stage {
  readonly body: Body;
  /** What the braces in the path stand for. */
  readonly ids: Readonly<Record<string, string>>;
}

export interface Endpoint {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  /** One sentence for the list of endpoints. */
  readonly does: string;
  /** A body that it takes. */
  readonly example?: Readonly<Record<string, unknown>>;
  /** The fields of its body with a description each; empty if it has no body, or `does` says where they are described. */
  readonly fields: Readonly<Record<string, string>>;
  /** Throws `usage` for a body that it does not take, each mistake in a line, and `not_found`. */
  act(stage: Stage, ids: Readonly<Record<string, string>>, text: string): unknown;
}

export function reading(path: string, does: string, read: (stage: Stage) => unknown): Endpoint {
  return { method: 'GET', path, does, fields: {}, act: read };
}

export function removing(path: string, does: string, act: (call: Call<undefined>) => unknown): Endpoint {
  return {
    method: 'DELETE',
    path,
    does,
    fields: {},
    act: (stage, ids) => act({ ...stage, ids, body: undefined }),
  };
}

export function telling<Shape extends z.ZodRawShape>(
  path: string,
  does: string,
  example: Readonly<Record<string, unknown>>,
  shape: Shape,
  act: (call: Call<z.output<z.ZodObject<Shape>>>) => unknown,
): Endpoint {
  const fields = Object.entries(shape).map(([name, field]) => {
    const { description = '' } = field as z.ZodType;
    return [
      name,
      (field as z.ZodType).safeParse(undefined).success ? description : `${description}; required`,
    ];
  });
  return {
    method: 'POST',
    path,
    does,
    example,
    fields: Object.fromEntries(fields),
    act: (stage, ids, text) => act({ ...stage, ids, body: bodyOf(z.strictObject(shape), text) }),
  };
}

function bodyOf<Shape extends z.ZodRawShape>(shape: z.ZodObject<Shape>, text: string) {
  let value: unknown;
  try {
    value = JSON.parse(text.trim() === '' ? '{}' : text);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new NestwatchError('usage', `the body is not JSON: ${why}`, { cause });
  }
  const read = shape.safeParse(value, { error: messageOf });
  if (read.success) return read.data;
  const known = Object.keys(shape.shape);
  const mistakes = read.error.issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownField(key, known));
    const where = issue.path.join('.') || 'the body';
    return [`${where}: ${issue.message}`];
  });
  throw new NestwatchError('usage', mistakes.join('\n'));
}

function unknownField(key: string, known: readonly string[]): string {
  const meant = nearest(key, known);
  const fields = known.length > 0 ? `the fields are ${known.join(', ')}` : 'there are none';
  return `${key}: unknown field; ${meant ? `did you mean ${meant}? ` : ''}${fields}`;
}

/** A text that `parse` understands. */
const text = <Value>(parse: (text: string) => Value | undefined, what: string) =>
  z.string().transform((given, context): Value => {
    const value = parse(given);
    if (value !== undefined) return value;
    context.addIssue(`must be ${what}`);
    return z.NEVER;
  });

/** Turns the service's present into the instant that was asked for. */
export type Moment = (nowUs: number) => number;

export const moment = text((given): Moment | undefined => {
  const ms = durationMs(given.replace(/^[+-]/, ''));
  if (ms !== undefined) return (nowUs) => nowUs + (given.startsWith('-') ? -ms : ms) * 1000;
  const instant = parseInstant(given);
  return instant && (() => instant.us);
}, 'an instant such as 2026-07-02T12:00:00Z, or a duration from now such as 5s or -10m');

/** In milliseconds. */
export const duration = text(durationMs, 'a duration such as 3s or 1h30m');

function durationMs(given: string): number | undefined {
  const ms = parseDuration(given);
  return ms !== undefined && ms <= LONGEST_MS ? ms : undefined;
}

/** The service writes a number in Flight logs; people know the word. */
export const errorType = z.union(
  [z.int().min(0), z.enum(ERROR_TYPES).transform((name) => ERROR_TYPES.indexOf(name))],
  { error: `must be a number such as 3, or one of ${ERROR_TYPES.join(', ')}` },
);

export const word = z.string().min(1);

/** The fields that were given. */
export function given<Fields extends object>(fields: Fields) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Key in keyof Fields]?: Exclude<Fields[Key], undefined>;
  };
}

/** A clock whose wall time can be set; timers and durations are those of the clock below. */
interface MovableClock extends Clock {
  moveTo(us: number): void;
}

export function createMovableClock(clock: Clock): MovableClock {
  let aheadUs = 0;
  return {
    ...clock,
    nowUs: () => clock.nowUs() + aheadUs,
    moveTo(us) {
      aheadUs = us - clock.nowUs();
    },
  };
}
