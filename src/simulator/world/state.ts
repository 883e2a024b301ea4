/** The mutable state that a world's actions share. Callers outside read it through `World`, which cannot change it. */
import type { Clock, Random } from '../../time/clock.ts';
import type { Behaviours } from './behaviours.ts';
import { forked } from './seeded-random.ts';
import {
  type BirdRecord,
  createdAtOf,
  type EntryRecord,
  type FlightEnd,
  type FlightLogRecord,
  type FlightRecord,
  type NestRecord,
  type UserRecord,
} from './simulated-record.ts';

/** A UUIDv7 (RFC 9562) whose millisecond is that of `createdAtUs`. */
export function uuidV7(createdAtUs: number, random: Random): string {
  const time = Math.max(0, Math.floor(createdAtUs / 1000))
    .toString(16)
    .padStart(12, '0');
  return join(`${time}7${hexDigits(random, 3)}`, random);
}

/** A random UUID (version 4). */
export function guid(random: Random): string {
  return join(`${hexDigits(random, 8)}${hexDigits(random, 4)}4${hexDigits(random, 3)}`, random);
}

/** Appends the variant and 62 random bits to the first half of a UUID. */
function join(half: string, random: Random): string {
  const variant = (8 + Math.floor(random() * 4)).toString(16);
  const start = `${half.slice(0, 8)}-${half.slice(8, 12)}-${half.slice(12)}`;
  return `${start}-${variant}${hexDigits(random, 3)}-${hexDigits(random, 6)}${hexDigits(random, 6)}`;
}

function hexDigits(random: Random, digits: number): string {
  return Math.floor(random() * 16 ** digits)
    .toString(16)
    .padStart(digits, '0');
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

export type Entry = Writable<EntryRecord>;

export interface Flight extends Writable<Omit<FlightRecord, 'ends' | 'told'>> {
  readonly ends: Writable<FlightEnd>[];
  told?: readonly FlightLogRecord[];
}

type Lists = 'logs' | 'flights' | 'flightsById' | 'activeFlights';

export interface Bird extends Writable<Omit<BirdRecord, Lists>> {
  readonly logs: Entry[];
  readonly flights: Flight[];
  readonly flightsById: Map<string, Flight>;
  readonly activeFlights: Set<Flight>;
}

export interface Nest extends Writable<Omit<NestRecord, 'memberIds' | 'birds'>> {
  readonly memberIds: Set<string>;
  readonly birds: Map<string, Bird>;
}

export interface State {
  readonly region: string;
  readonly behaviours: Behaviours;
  readonly agenda: Agenda;
  readonly users: Map<string, UserRecord>;
  readonly nests: Map<string, Nest>;
  /** Every Bird that ever existed, including deleted ones. */
  readonly birds: Map<string, Bird>;
  /** Every Flight that ever existed, by id. */
  readonly flights: Map<string, Flight>;
  /** Visible notifications in order of their instants. */
  readonly notifications: Entry[];
  /** Every entry that ever existed, in order of creation. */
  readonly entries: Entry[];
  /** For ids alone, so that an id never depends on other random decisions. */
  readonly ids: Random;
  readonly lateness: Random;
  /** The instant of the running action, or else the clock's. */
  nowUs(): number;
  /** A number for a new Nest, Bird or connection; all share one sequence. */
  nextNumber(): string;
}

export function createState(region: string, clock: Clock, random: Random, behaviours: Behaviours): State {
  const agenda = createAgenda();
  const ids = forked(random);
  const lateness = forked(random);
  let number = 100 + Math.floor(ids() * 900);
  return {
    region,
    behaviours,
    agenda,
    users: new Map(),
    nests: new Map(),
    birds: new Map(),
    flights: new Map(),
    notifications: [],
    entries: [],
    ids,
    lateness,
    nowUs: () => agenda.presentUs() ?? clock.nowUs(),
    nextNumber() {
      number += 1 + Math.floor(ids() * 7);
      return String(number);
    },
  };
}

/** The instant at which something new is created, cut to `instantStepMs`, which makes ties. */
export function createdNowUs(state: State): number {
  const stepUs = Math.max(1, Math.round(state.behaviours.instantStepMs * 1000));
  return Math.floor(state.nowUs() / stepUs) * stepUs;
}

/** When something new becomes visible: at once, or later for the share that is late. */
export function visibleAtUs(state: State): number {
  const { lateShare, lateMinMs, lateMaxMs } = state.behaviours;
  const isLate = state.lateness() < lateShare;
  const lateMs = lateMinMs + state.lateness() * Math.max(0, lateMaxMs - lateMinMs);
  return state.nowUs() + (isLate ? Math.round(lateMs * 1000) : 0);
}

/** Runs an action at an instant, or at once if that instant is not in the future. */
export function onceAt(state: State, instantUs: number, action: () => void): void {
  if (instantUs <= state.nowUs()) action();
  else state.agenda.at(instantUs, action);
}

/** What an action decides about an entry; `addEntry` decides the rest. */
interface NewEntry extends Pick<Entry, 'feed' | 'nestId' | 'birdId' | 'fields'> {
  readonly raw?: unknown;
  readonly createdAtUs?: number | undefined;
  readonly visibleAtUs?: number | undefined;
}

/** Adds an entry to the list that shows it, as soon as it is visible. */
export function addEntry(state: State, list: Entry[], given: NewEntry): Entry {
  const createdAtUs = given.createdAtUs ?? createdNowUs(state);
  const entry: Entry = {
    feed: given.feed,
    id: uuidV7(createdAtUs, state.ids),
    createdAtUs,
    visibleAtUs: given.visibleAtUs ?? visibleAtUs(state),
    nestId: given.nestId,
    birdId: given.birdId,
    fields: given.fields,
    raw: given.raw,
    deletedAtUs: undefined,
  };
  state.entries.push(entry);
  onceAt(state, entry.visibleAtUs, () => {
    if (entry.deletedAtUs === undefined) insert(list, createdAtOf, entry);
  });
  return entry;
}

/**
 * Schedules actions for instants. Nothing runs by itself: `runUntil` runs what is due, in order of instant, and in
 * order of entry within one instant. While an action runs, `presentUs` is that action's own instant. So a world that
 * nobody queried for an hour catches up as if it had been watched all along.
 */
type Agenda = ReturnType<typeof createAgenda>;

interface Item {
  readonly atUs: number;
  readonly order: number;
  readonly action: () => void;
}

export function createAgenda() {
  // A binary heap: the earliest item comes first.
  const heap: Item[] = [];
  let order = 0;
  let presentUs: number | undefined;

  return {
    at(instantUs: number, action: () => void): void {
      const item = { atUs: instantUs, order: order++, action };
      let child = heap.push(item) - 1;
      while (child > 0) {
        const parent = (child - 1) >> 1;
        if (!isBefore(item, heap[parent]!)) break;
        heap[child] = heap[parent]!;
        child = parent;
      }
      heap[child] = item;
    },
    /** Runs everything due at `nowUs`. Does nothing when called while it is running. */
    runUntil(nowUs: number): void {
      if (presentUs !== undefined) return;
      try {
        while (heap.length > 0 && heap[0]!.atUs <= nowUs) {
          const { atUs, action } = takeFirst(heap);
          presentUs = atUs;
          action();
        }
      } finally {
        presentUs = undefined;
      }
    },
    /** The instant of the running action; undefined between actions. */
    presentUs: () => presentUs,
  };
}

function isBefore(a: Item, b: Item): boolean {
  return a.atUs < b.atUs || (a.atUs === b.atUs && a.order < b.order);
}

function takeFirst(heap: Item[]): Item {
  const first = heap[0]!;
  const last = heap.pop()!;
  if (heap.length === 0) return first;
  let parent = 0;
  for (;;) {
    let child = 2 * parent + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1;
    if (!isBefore(heap[child]!, last)) break;
    heap[parent] = heap[child]!;
    parent = child;
  }
  heap[parent] = last;
  return first;
}

// Keeps lists in ascending order of an instant, so that a page of a long list is found without scanning the list.

/** The first index whose instant is `instantUs` or later; the list's length if there is none. */
export function firstFrom<T>(list: readonly T[], instantOf: (item: T) => number, instantUs: number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (instantOf(list[middle]!) < instantUs) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Inserts an item in order, after those of the same instant. */
export function insert<T>(list: T[], instantOf: (item: T) => number, item: T): void {
  const instantUs = instantOf(item);
  const newest = list.at(-1);
  if (newest === undefined || instantOf(newest) <= instantUs) list.push(item);
  else list.splice(firstFrom(list, instantOf, instantUs + 1), 0, item);
}

/** Removes an item; false when it is not there. */
export function remove<T>(list: T[], instantOf: (item: T) => number, item: T): boolean {
  const at = list.indexOf(item, firstFrom(list, instantOf, instantOf(item)));
  if (at >= 0) list.splice(at, 1);
  return at >= 0;
}
