import { hash } from 'node:crypto';
import { cap, plainText } from '../../text/plain-text.ts';
import type { Event } from './event.ts';

export type Severity = string;
export type Labels = Readonly<Record<string, string>>;

/** The label with this name, which may come from outside: inherited properties such as `constructor` do not count. */
export function labelOf(labels: Labels, name: string): string | undefined {
  return Object.hasOwn(labels, name) ? labels[name] : undefined;
}

/**
 * `pending`: something is remembered (such as a count below its threshold), but nobody is notified. `firing`: true
 * now. `resolved`: was true; kept until every group has notified of that and `memory` is no longer needed.
 */
export type AlertState = 'pending' | 'firing' | 'resolved';

/**
 * How an episode ended; the annotation `resolved_by` says it for people. `over`: the end was observed. `quiet`:
 * nothing more was heard of it. `superseded`: it became worse, and another alert took over. `moved`: it continues
 * under other labels or another route. `gone`: what it was about is no longer watched. `by_hand`: somebody resolved it.
 */
export type Ending = 'over' | 'quiet' | 'superseded' | 'moved' | 'gone' | 'by_hand';

/** One alert as the store keeps it: at most one per identity, from its first fact on. */
export interface Alert {
  /**
   * Identity: alertname, `firstRule`, region and subject, such as `FlightFailed/1d9a4c07/eu/bird/148890`, followed by
   * the severity if its kind has several. It does not change when a Bird is renamed. It is never parsed.
   */
  readonly id: string;
  /** The scope of the facts that concern it (`scopeOf`). */
  readonly scope: string;
  /** What it is about within its region (`Topic.subject`). */
  readonly subject: string;
  /** Id of the rule that judges it. */
  readonly rule: string;
  /** Id of the rule it began with; after a change of the configuration another one may judge it. */
  readonly firstRule: string;
  readonly alertname: string;
  readonly state: AlertState;
  /** Fixed while it fires, from the start of an episode until it is resolved. */
  readonly labels: Labels;
  readonly annotations: Labels;
  /** When the last episode began; 0 before the first. */
  readonly startsAtUs: number;
  /** When it ended; 0 unless resolved. */
  readonly endsAtUs: number;
  /** How the last episode ended; absent before the first end. */
  readonly ending?: Ending;
  readonly updatedAtUs: number;
  /** Events of this episode. Historic events can raise an alert but do not count. */
  readonly eventsTotal: number;
  /**
   * How many events were ever part of an episode of this identity; also the `seq` of the last one. It never
   * decreases.
   */
  readonly lastSeq: number;
  /** The kind's own memory between facts: bounded JSON; null if nothing is remembered. */
  readonly memory: unknown;
  /** When time alone may change it (`tick`); null for never. */
  readonly dueAtUs: number | null;
  /** Why its state differs from what its kind says (`flapping.ts`); absent if it does not. */
  readonly flapping?: FlappingState;
}

/** How `for`, `keep_firing_for` and flapping modify the changes that a kind asks for. */
export interface FlappingState {
  /** When it fired or resolved: the latest changes, which count for flapping. */
  readonly changesUs: readonly number[];
  /** True while it changes too often; its annotation `flapping` says so. */
  readonly isFlapping?: true;
  /** Set while it is true but has not lasted for the rule's `for` yet: what it will fire with. */
  readonly awaits?: {
    readonly startsAtUs: number;
    /** The instant from which `for` counts. */
    readonly sinceUs: number;
    readonly labels: Labels;
    readonly annotations: Labels;
    /** How many events beyond `lastSeq` are already linked to it; they become its own once it fires. */
    readonly eventsTotal: number;
    /** The kind's own `dueAtUs`. */
    readonly dueAtUs: number | null;
  };
  /** Set while it is over but fires on until `untilUs`. */
  readonly held?: {
    readonly endsAtUs: number;
    readonly by: string;
    readonly ending: Ending;
    readonly untilUs: number;
    /** The kind's own `dueAtUs`. */
    readonly dueAtUs: number | null;
  };
}

export const RANKED_SEVERITIES = ['info', 'warning', 'error', 'critical'] as const;
export type RankedSeverity = (typeof RANKED_SEVERITIES)[number];

/** What other words for severities mean. */
const ALSO: ReadonlyMap<string, RankedSeverity> = new Map([
  ['page', 'critical'],
  ['none', 'info'],
]);

/** The position of the severity in `RANKED_SEVERITIES`. Unknown ones count as errors, as in Alertmanager. */
export function severityRank({ severity = '' }: Labels): number {
  const word = severity.toLowerCase();
  const known = ALSO.get(word) ?? RANKED_SEVERITIES.find((one) => one === word);
  return RANKED_SEVERITIES.indexOf(known ?? 'error');
}

// Defines the states of an alert and the transitions between them, which are the same for every kind.
//
// `pending` —fire→ `firing` —resolve→ `resolved` —fire→ `firing` (the next episode) …
//
// While an alert fires, `fire` renews it: it adds events and replaces annotations, but labels stay. What a kind
// remembers before an alert fires (again), such as a count below its threshold, is in `memory` of a pending or
// resolved alert; null means nothing is remembered. Events join an alert only as part of an episode, so `lastSeq`
// never changes without news. Events of an alert that is still waiting for its `for` are linked beyond `lastSeq`
// (`flapping.ts`).

/**
 * An alert's next state, and the events that join it: the last ones up to its `lastSeq`, or, while it waits, the ones
 * beyond.
 */
export interface Change {
  readonly alert: Alert;
  readonly events: readonly Event[];
}

interface Firing {
  /** When the state began; used only for a new episode. */
  readonly startsAtUs: number;
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly events: readonly Event[];
  readonly memory: unknown;
  readonly dueAtUs: number | null;
}

/** Begins an episode, or renews the current one. */
export function fire(alert: Alert, firing: Firing, nowUs: number): Change {
  const { events, annotations, memory, dueAtUs } = firing;
  const renewed = alert.state === 'firing';
  return {
    alert: {
      ...alert,
      state: 'firing',
      labels: renewed ? alert.labels : firing.labels,
      annotations,
      startsAtUs: renewed ? alert.startsAtUs : firing.startsAtUs,
      endsAtUs: 0,
      updatedAtUs: nowUs,
      eventsTotal: (renewed ? alert.eventsTotal : 0) + events.length,
      lastSeq: alert.lastSeq + events.length,
      memory,
      dueAtUs,
    },
    events,
  };
}

/** Changes what an alert remembers, and nothing that people see. */
export function remember(alert: Alert, memory: unknown, dueAtUs: number | null, nowUs: number): Change {
  return { alert: { ...alert, memory, dueAtUs, updatedAtUs: nowUs }, events: [] };
}

/** The reason that a person gives may be so long, beside who it was. */
const MAX_BY_LENGTH = 2_300;

/** Ends the episode. `by` says for people what ended it: a clause that begins in lower case, which is cleaned and cut. */
export function resolve(
  alert: Alert,
  endsAtUs: number,
  by: string,
  nowUs: number,
  ending: Ending = 'over',
): Change {
  return {
    alert: {
      ...alert,
      state: 'resolved',
      annotations: { ...alert.annotations, resolved_by: plainText(by, MAX_BY_LENGTH) },
      endsAtUs: Math.max(endsAtUs, alert.startsAtUs),
      ending,
      updatedAtUs: nowUs,
      memory: null,
      dueAtUs: null,
    },
    events: [],
  };
}

/** Ends the current episode, if any, and clears what was remembered; undefined if there was neither. */
export function clear(
  alert: Alert,
  endsAtUs: number,
  by: string,
  nowUs: number,
  ending: Ending = 'over',
): Change | undefined {
  if (alert.state === 'firing') return resolve(alert, endsAtUs, by, nowUs, ending);
  return alert.memory === null ? undefined : remember(alert, null, null, nowUs);
}

/** True if an alert need not be kept for its own sake: it does not fire and remembers nothing. */
export function isForgettable(alert: Alert): boolean {
  return alert.state !== 'firing' && alert.memory === null && alert.flapping?.awaits === undefined;
}

const MAX_WAITING_MESSAGE = 2000;

/** An event waiting in an alert does not need its whole stack trace: the store has the full event. */
export function waitingEvent(event: Event): Event {
  return { ...event, message: cap(event.message, MAX_WAITING_MESSAGE) };
}

/** What a person wrote about an alert, such as what was found or is being done. */
export interface Note {
  readonly id: string;
  readonly alertId: string;
  /** Names the episode that it is about. */
  readonly startsAtUs: number;
  readonly atUs: number;
  readonly author: string;
  /** Not empty, at most `MAX_NOTE_LENGTH` characters, which may be anything. */
  readonly text: string;
  /** Whether everybody may read the text while the episode fires. */
  readonly isPublic: boolean;
}

export const MAX_NOTE_LENGTH = 2_000;

/** Terminates every part, so that `ab` + `c` and `a` + `bc` differ; this byte never occurs in UTF-8. */
const SEPARATOR = 255;

const encoder = new TextEncoder();

/**
 * Alertmanager's fingerprint of a set of labels (`LabelSet.Fingerprint` of prometheus/common): FNV-1a, 64 bits, over
 * the names in order, each with its value, as 16 hexadecimal digits.
 */
export function fingerprint(labels: Labels): string {
  const parts: string[] = [];
  const sorted = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [name, value] of sorted) parts.push(name, value);
  return hash64(parts);
}

/** FNV-1a of the parts in order: a short, stable name for what is too long for a key. */
export function hash64(parts: readonly string[]): string {
  // The 64 bits are in two halves, in local variables: shared with a closure, each step would allocate an object.
  let high = 0xcbf29ce4 | 0;
  let low = 0x84222325 | 0;
  for (const part of parts) {
    const bytes = isAscii(part) ? undefined : encoder.encode(part);
    const length = bytes?.length ?? part.length;
    for (let index = 0; index <= length; index += 1) {
      low ^= index === length ? SEPARATOR : (bytes?.[index] ?? part.charCodeAt(index));
      // Multiplies by the prime 2^40 + 0x1b3 in quarters, so that everything fits 32-bit integers.
      const first = (low & 0xffff) * 0x1b3;
      const second = (low >>> 16) * 0x1b3 + (first >>> 16);
      high = (Math.imul(high, 0x1b3) + (second >>> 16) + (low << 8)) | 0;
      low = (second << 16) | (first & 0xffff);
    }
  }
  return hex(high) + hex(low);
}

/** The id itself, or, if taken, the first free one of `id-2`, `id-3`, … */
export function freeId(id: string, isTaken: (id: string) => boolean): string {
  let free = id;
  for (let number = 2; isTaken(free); number += 1) free = `${id}-${number}`;
  return free;
}

function hex(half: number): string {
  return (half >>> 0).toString(16).padStart(8, '0');
}

/** Most labels are ASCII: their bytes are their code units. An encoder would cost more than the hash itself. */
function isAscii(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) if (text.charCodeAt(index) > 127) return false;
  return true;
}

// Shortens keys made of outside names so that every store can index them: PostgreSQL refuses index rows beyond 2,704
// bytes, and some indexes hold a receiver and an integration beside the key.

const MAX_BYTES = 2_000;
/** A UTF-16 unit takes at most three bytes, a surrogate pair four. */
const KEPT_OF_LONG = 600;

/** The key itself, or its beginning and a digest of the whole. */
export function boundedKey(key: string): string {
  if (key.length <= KEPT_OF_LONG || Buffer.byteLength(key) <= MAX_BYTES) return key;
  return `${key.slice(0, KEPT_OF_LONG).toWellFormed()}… ${hash('sha256', JSON.stringify(key))}`;
}
