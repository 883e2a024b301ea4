/**
 * Checks what alerts remember from one fact to the next (`Alert.memory`). Each kind declares the fields; a memory
 * that was changed in the store or written by another version does not match them and is ignored.
 */

type Type = 'number' | 'string' | 'boolean' | 'object';

const isOf = (type: Type) => (value: unknown) =>
  type === 'object' ? isObject(value) : typeof value === type;

/** A list of objects with these fields. */
const listOf = (fields: Readonly<Record<string, Type>>) => (value: unknown) =>
  Array.isArray(value) &&
  value.every(
    (one) => isObject(one) && Object.entries(fields).every(([name, type]) => isOf(type)(own(one, name))),
  );

const endsOf = listOf({ key: 'string', atUs: 'number', failed: 'boolean' });

const FIELDS = {
  number: isOf('number'),
  /** An instant of our own clock, which is moved when that clock is set back. */
  instant: isOf('number'),
  /** The same, since when something lasts: `for` counts from it. It is also moved when that clock is set ahead. */
  since: isOf('number'),
  text: isOf('string'),
  flag: isOf('boolean'),
  numbers: (value: unknown) => Array.isArray(value) && value.every(isOf('number')),
  /** Waiting events. */
  events: listOf({
    ...{ key: 'string', message: 'string', occurredAtUs: 'number', observedAtUs: 'number' },
    attributes: 'object',
  }),
  /** How Flights ended; may be absent. */
  ends: (value: unknown) => value === undefined || endsOf(value),
  /** Flights that wait, and since when. */
  waits: listOf({ flightId: 'string', startedAtUs: 'number', sinceUs: 'number' }),
};

/** The fields of what a kind remembers. */
export type Remembered = Readonly<Record<string, keyof typeof FIELDS>>;

/** Whether `memory` has the fields that a kind remembers; always false for a kind that remembers nothing. */
export function isMemoryOf(remembered: Remembered | undefined, memory: unknown): boolean {
  if (remembered === undefined || !isObject(memory)) return false;
  return Object.entries(remembered).every(([name, field]) => FIELDS[field](own(memory, name)));
}

/** The memory with the instants of our own clock that are of these sorts changed by `move`. */
export function withInstants(
  remembered: Remembered | undefined,
  memory: unknown,
  move: (us: number) => number,
  sorts: readonly (keyof typeof FIELDS)[] = ['instant', 'since'],
): unknown {
  if (remembered === undefined || !isMemoryOf(remembered, memory)) return memory;
  const instants = Object.keys(remembered).filter((name) => sorts.includes(remembered[name]!));
  const moved = instants.map((name) => [name, move(own(memory as object, name) as number)]);
  return { ...(memory as object), ...Object.fromEntries(moved) };
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function own(value: object, name: string): unknown {
  return Object.hasOwn(value, name) ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}
