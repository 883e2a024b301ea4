/**
 * Checks what alerts remember from one fact to the next (`Alert.memory`). Each kind declares the fields; a memory
 * that was changed in the store or written by another version does not match them and is ignored.
 */

const FIELDS = {
  number: (value: unknown) => typeof value === 'number',
  /** An instant of our own clock, which is moved when that clock is set back. */
  instant: (value: unknown) => typeof value === 'number',
  /** The same, since when something lasts: `for` counts from it. It is also moved when that clock is set ahead. */
  since: (value: unknown) => typeof value === 'number',
  text: (value: unknown) => typeof value === 'string',
  flag: (value: unknown) => typeof value === 'boolean',
  numbers: (value: unknown) => isList(value, (one) => typeof one === 'number'),
  /** Waiting events. */
  events: (value: unknown) =>
    isList(
      value,
      (one) =>
        has(one, 'key', 'string') &&
        has(one, 'message', 'string') &&
        has(one, 'occurredAtUs', 'number') &&
        has(one, 'observedAtUs', 'number') &&
        has(one, 'attributes', 'object'),
    ),
  /** How Flights ended; may be absent. */
  ends: (value: unknown) =>
    value === undefined ||
    isList(
      value,
      (one) => has(one, 'key', 'string') && has(one, 'atUs', 'number') && has(one, 'failed', 'boolean'),
    ),
  /** Flights that wait, and since when. */
  waits: (value: unknown) =>
    isList(
      value,
      (one) =>
        has(one, 'flightId', 'string') && has(one, 'startedAtUs', 'number') && has(one, 'sinceUs', 'number'),
    ),
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

function isList(value: unknown, fits: (one: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(fits);
}

function has(value: unknown, name: string, type: 'string' | 'number' | 'boolean' | 'object'): boolean {
  if (!isObject(value)) return false;
  const field = own(value, name);
  return type === 'object' ? isObject(field) : typeof field === type;
}

function own(value: object, name: string): unknown {
  return Object.hasOwn(value, name) ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}
