/**
 * Compares what really happened in the regions with what the receivers accepted. Nothing here looks into the daemon:
 * it is judged by its messages, and at the very end by the deliveries that are left in its store.
 *
 * - *lost*: an entry that could be read did not reach the lake.
 * - *invented*: the lake got an event that never happened, or one with other content.
 * - *repeated*: an event was accepted twice, under different ids, or although the first time was confirmed.
 * - *unexplained*: an alert that was due and not notified, notified twice or without cause, or not resolved; an event
 *   that was found late; a delivery that is still pending; an unexpected error; a lack of manners, or too many
 *   requests.
 */
import { parseInstant } from '../../src/time/instant.ts';
import { checkAlarms, checkAlerts, checkWatch, failedLast, mustEnd } from './check-alerts.ts';
import { checkContext } from './check-context.ts';
import { checkDelays } from './check-delays.ts';
import { checkManners } from './check-manners.ts';
import { type Expected, expectedOf } from './expected.ts';
import { clockOf, type Find, type Finding } from './finding.ts';
import { checkInventory } from './inventory/check-inventory.ts';
import type { Arrival } from './receivers.ts';
import type { Remains } from './run.ts';

export interface Checked {
  readonly findings: readonly Finding[];
  /** How often messages gave each reason for an alert, by annotation. */
  readonly said: Readonly<Record<string, number>>;
  /** Real events that had to arrive. */
  readonly events: number;
  /** Events of the inventory by type, lists of it that lacked something, and steps of our clock. */
  readonly noticed: Readonly<Record<string, number>>;
  /** Events accepted more than once under one id after an answer that was lost, which is unavoidable. */
  readonly unavoidable: number;
  /** From when an event could be read to when the lake had it, in milliseconds, for events that nothing delayed. */
  readonly delaysMs: readonly number[];
}

export async function check(remains: Remains): Promise<Checked> {
  const findings: Finding[] = [];
  const find: Find = (fault, name, what) => findings.push({ fault, check: name, what });
  const truth = remains.worlds.flatMap((world) => expectedOf(world, remains));
  const seen = checkLake(remains, truth, find);
  const noticed = checkInventory(remains, seen, find);
  await checkAlerts(remains, truth, seen, find);
  checkAlarms(remains, find);
  checkWatch(remains, find);
  const said = checkContext(remains, find);
  checkDelays(remains, truth, seen, find);
  checkManners(remains, find);
  await checkStore(remains, failedLast(truth, seen), find);
  return {
    findings,
    said,
    events: truth.filter(({ isOwed }) => isOwed).length,
    noticed,
    unavoidable: unavoidableRepeats(remains.receivers.arrivals),
    delaysMs: truth.flatMap((event) => {
      const atUs = seen.get(event.key)?.atUs;
      return atUs === undefined || !event.isUndisturbed ? [] : [(atUs - event.visibleAtUs) / 1000];
    }),
  };
}

function checkLake({ receivers }: Remains, truth: readonly Expected[], find: Find): Map<string, Arrival> {
  const known = new Map(truth.map((event) => [event.key, event]));
  const seen = new Map<string, Arrival>();
  const uncounted = new Map<string, number>();
  for (const arrival of receivers.arrivals) {
    for (const event of arrival.events) {
      const first = seen.get(event.key);
      if (!first) seen.set(event.key, arrival);
      else if (first.id !== arrival.id)
        find('repeated', 'under another id', `${event.key} in ${first.id} and ${arrival.id}`);
      else if (first === arrival) find('repeated', 'in one message', event.key);
      else if (isKnownToArrive(first, arrival))
        find('repeated', 'after it was confirmed', `${event.key} in ${arrival.id}`);
      const expected = known.get(event.key);
      if (!expected && event.feed === 'flight') uncounted.set(flightOf(event.key), 1);
      if (!expected || first) continue;
      if (expected.type !== event.type && !isTwice(expected))
        find('invented', 'another type', `${event.key}: ${event.type}, not ${expected.type}`);
      if (!isInstantRight(expected, event.occurred_at, arrival.atUs)) {
        find('invented', 'another instant', `${event.key}: ${event.occurred_at}`);
      }
    }
  }
  const vague = new Set(truth.filter(({ isCountable }) => !isCountable).map(({ key }) => flightOf(key)));
  for (const key of seen.keys()) {
    if (key.split('/')[1] === 'inventory') continue;
    if (!known.has(key) && !vague.has(flightOf(key))) find('invented', 'never was', key);
  }
  for (const event of truth) {
    if (!event.isOwed || seen.has(event.key)) continue;
    if (vague.has(flightOf(event.key)) && [...seen.keys()].some((key) => isOfFlight(key, event))) continue;
    find(
      'lost',
      `lost ${event.feed}`,
      `${event.key} of Bird ${event.birdId}, visible at ${clockOf(event.visibleAtUs)}`,
    );
  }
  return seen;
}

/** The sender knew before the other attempt began, and ran for long enough afterwards to record it. */
function isKnownToArrive({ life, confirmedAtUs }: Arrival, again: Arrival): boolean {
  return confirmedAtUs < again.begunAtUs && life.unwellAfterUs(confirmedAtUs) - confirmedAtUs > 30e6;
}

function flightOf(key: string): string {
  return key.split('/').slice(0, 3).join('/');
}

function isOfFlight(key: string, event: Expected): boolean {
  return flightOf(key) === flightOf(event.key);
}

/**
 * Entries must have exactly the instant that the service wrote. That of a Flight may be known only from its log, or
 * be the instant at which it was seen.
 */
function isInstantRight(event: Expected, text: string, arrivedAtUs: number): boolean {
  const us = parseInstant(text)?.us ?? 0;
  if (event.feed !== 'flight') return us === shownUs(event) || isTwice(event);
  return !event.isCountable || (us > event.occurredAtUs - 60e6 && us < arrivedAtUs + 1e6);
}

/** The instant as the service writes it. */
function shownUs({ world, occurredAtUs }: Expected): number {
  const unitUs = { microsecond: 1, millisecond: 1000, second: 1e6 }[world.behaviours.shownPrecision];
  return Math.floor(occurredAtUs / unitUs) * unitUs;
}

/** An entry that the service gives twice has two instants. */
function isTwice({ world, key }: Expected): boolean {
  const id = key.split('/')[2]!;
  const lists = [world.notifications, ...[...world.birds.values()].map(({ logs }) => logs)];
  return lists.some((list) => list.some(({ raw }) => (raw as { id?: unknown } | undefined)?.id === id));
}

async function checkStore({ store }: Remains, failed: ReadonlySet<string>, find: Find): Promise<void> {
  await store.transaction(async (tx) => {
    for (const { receiver, state, count } of await tx.outbox.count()) {
      if (state !== 'delivered' && state !== 'suppressed') {
        find('unexplained', 'not delivered', `${count} deliveries to ${receiver} are ${state}`);
      }
    }
    for (const { alertname, labels } of await tx.alerts.firing(undefined, 1000)) {
      const about = `${alertname} ${labels.region} ${labels.bird_id ?? ''}`;
      if (mustEnd(failed, about)) find('unexplained', 'still firing', about);
    }
    for (const receiver of await tx.forwards.receivers()) {
      find('unexplained', 'not forwarded', `events wait for ${receiver}`);
    }
  });
}

function unavoidableRepeats(arrivals: readonly Arrival[]): number {
  const ids = new Set<string>();
  let repeats = 0;
  for (const { inbox, id } of arrivals) {
    if (ids.has(`${inbox} ${id}`)) repeats += 1;
    ids.add(`${inbox} ${id}`);
  }
  return repeats;
}
