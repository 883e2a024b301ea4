/**
 * Compares what the regions know to have happened with what the receivers accepted. Nothing here looks into the
 * daemon: it is judged by its messages, and at the very end by what its store still owes.
 *
 * - *lost*: an entry that could be read, and that the lake did not get.
 * - *invented*: an event that the lake got, and that never was, or one with another content.
 * - *repeated*: an event accepted twice, though not under one id, or though the first was confirmed.
 * - *unexplained*: an alert that was owed and not told, told twice, told without cause or not taken back; a delivery
 *   that is still owed; an unforeseen error; a lack of manners.
 */
import { parseInstant } from '../../src/instant.ts';
import type { Behaviours } from '../../src/simulator/behaviours.ts';
import type { TrueEvent } from '../../src/simulator/truth.ts';
import type { World } from '../../src/simulator/world.ts';
import type { Arrival, Inbox } from './receivers.ts';
import type { Interval, Remains } from './run.ts';

export type Fault = 'lost' | 'invented' | 'repeated' | 'unexplained';

export interface Finding {
  readonly fault: Fault;
  /** Which check found it: a short name. */
  readonly check: string;
  readonly what: string;
}

export interface Checked {
  readonly findings: readonly Finding[];
  /** True events that had to arrive. */
  readonly events: number;
  /** Events accepted more than once under one id after an answer that did not come: unavoidable. */
  readonly unavoidable: number;
  /** From when an event could be read to when the lake had it, in milliseconds, where nothing stood in the way. */
  readonly delaysMs: readonly number[];
}

const MINUTE_US = 60e6;
/** What comes later than that may be left to the audit. */
const LATE_US = 100e6;
const FOUND_US = 10 * MINUTE_US;
const AUDIT_US = 25 * MINUTE_US;
const REVIEW_US = 80 * MINUTE_US;
/** After an outage the daemon may wait for so long before it looks again: a refused token's next probe. */
const NEXT_LOOK_US = 6 * MINUTE_US;
/** What happened so near to the first start may be counted to either side: the service need not say when it was. */
const EDGE_US = 60e6;
/** The longest interval of a group. */
const GROUP_US = 6 * MINUTE_US;
const LOOKBACK_US = 3_600e6;

export async function check(remains: Remains): Promise<Checked> {
  const findings: Finding[] = [];
  const find = (fault: Fault, name: string, what: string) => findings.push({ fault, check: name, what });
  const truth = remains.worlds.flatMap((world) => truthOf(world, remains));
  const seen = checkLake(remains, truth, find);
  checkAlerts(remains, truth, seen, find);
  checkManners(remains, find);
  await checkStore(remains, find);
  return {
    findings,
    events: truth.filter(({ isOwed }) => isOwed).length,
    unavoidable: unavoidableRepeats(remains.receivers.arrivals),
    delaysMs: truth.flatMap((event) => {
      const atUs = seen.get(event.key)?.atUs;
      return atUs === undefined || !event.isUndisturbed ? [] : [(atUs - event.visibleAtUs) / 1000];
    }),
  };
}

type Find = (fault: Fault, name: string, what: string) => void;

interface Expected extends TrueEvent {
  readonly world: World;
  /** It could be read, so it must have been found. */
  readonly isOwed: boolean;
  /** Of a Flight with several ends, the keys may count them otherwise when one of them was too short to be seen. */
  readonly isCountable: boolean;
  /** Nothing stood in the way of finding it. */
  readonly isUndisturbed: boolean;
}

function truthOf(world: World, remains: Remains): Expected[] {
  const { startedAtUs, endedAtUs } = remains;
  const dark = darkOf(world, remains);
  return world.truth().events.map((event) => {
    const goneAtUs = event.goneAtUs ?? endedAtUs;
    const withinUs = foundWithinUs(event);
    const fromUs = Math.max(event.visibleAtUs, startedAtUs);
    const readableUs = goneAtUs - fromUs - overlap(dark, fromUs, goneAtUs);
    const isStillThere = event.goneAtUs === undefined && event.visibleAtUs < endedAtUs - withinUs;
    return {
      ...event,
      world,
      isOwed:
        (isStillThere || readableUs >= 2 * withinUs) &&
        isWithinLookback(world, event, startedAtUs) &&
        (!isLaterEnd(event) || isAnotherEnd(world, event)),
      isCountable: event.feed !== 'flight' || isEveryEndSeen(world, event, dark, remains),
      isUndisturbed:
        event.visibleAtUs > startedAtUs + 10 * MINUTE_US &&
        overlap(dark, event.visibleAtUs - 10 * MINUTE_US, event.visibleAtUs + 5 * MINUTE_US) === 0,
    };
  });
}

/** A first start reads an hour back; Flights that were active then are known by their status. */
function isWithinLookback(world: World, event: TrueEvent, startedAtUs: number): boolean {
  const sinceUs = startedAtUs - LOOKBACK_US + EDGE_US;
  if (event.feed !== 'flight') return event.occurredAtUs > sinceUs;
  const flight = world.flights.get(event.key.split('/')[2]!);
  return flight!.startedAtUs > sinceUs || event.occurredAtUs > startedAtUs + EDGE_US;
}

/**
 * How long it may take to find an event while a daemon lives and its region answers: sweeps and polls find most, the
 * audit what comes too late for them; Flights that are late, or end once more long after they started, are left to
 * the hourly review.
 */
function foundWithinUs(event: TrueEvent): number {
  const isLate = event.visibleAtUs - event.occurredAtUs > LATE_US;
  if (event.feed === 'flight') return isLate || isLaterEnd(event) ? REVIEW_US : FOUND_US;
  return isLate ? AUDIT_US : FOUND_US;
}

function isLaterEnd(event: TrueEvent): boolean {
  return event.key.includes('#');
}

/** A review sees that a Flight has ended in another way than before, and not that it has ended once more. */
function isAnotherEnd(world: World, event: TrueEvent): boolean {
  const { ends } = world.flights.get(event.key.split('/')[2]!)!;
  return ends.every(({ status }, index) => status !== ends[index - 1]?.status);
}

/** Whether each stretch of the Flight, flying or ended, could be read before the next began. */
function isEveryEndSeen(
  world: World,
  event: TrueEvent,
  dark: readonly Interval[],
  remains: Remains,
): boolean {
  const flight = world.flights.get(event.key.split('/')[2]!)!;
  if (flight.ends.length < 2) return true;
  const turns = flight.ends.flatMap(({ endedAtUs, reopenedAtUs }) => [
    endedAtUs,
    reopenedAtUs ?? remains.endedAtUs,
  ]);
  return turns.every((atUs, index) => {
    const nextUs = turns[index + 1];
    if (nextUs === undefined) return true;
    const fromUs = Math.max(atUs, flight.visibleAtUs, remains.startedAtUs);
    return nextUs - fromUs - overlap(dark, fromUs, nextUs) >= 6 * MINUTE_US;
  });
}

/** Times in which a region could not be read. */
function darkOf(world: World, { plan, down, startedAtUs }: Remains): Interval[] {
  const { outages } = plan.regions.find(({ region }) => region === world.region)!;
  const spans = [
    ...down.map(({ fromUs, toUs }) => ({ fromUs: fromUs - MINUTE_US, toUs: toUs + 2 * MINUTE_US })),
    ...outages.map(({ atMs, forMs }) => {
      const fromUs = startedAtUs + atMs * 1000;
      return { fromUs, toUs: fromUs + forMs * 1000 + NEXT_LOOK_US };
    }),
  ].sort((a, b) => a.fromUs - b.fromUs);
  const merged: Interval[] = [];
  for (const span of spans) {
    const last = merged.at(-1);
    if (last && span.fromUs <= last.toUs) last.toUs = Math.max(last.toUs, span.toUs);
    else merged.push(span);
  }
  return merged;
}

function overlap(intervals: readonly Interval[], fromUs: number, toUs: number): number {
  return intervals.reduce(
    (sum, one) => sum + Math.max(0, Math.min(one.toUs, toUs) - Math.max(one.fromUs, fromUs)),
    0,
  );
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
      else if (isKnownToArrive(first))
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

/** The sender knew, and lived on for long enough to remember it. */
function isKnownToArrive({ life, confirmedAtUs }: Arrival): boolean {
  return life.diedAtUs() - confirmedAtUs > 30e6;
}

function flightOf(key: string): string {
  return key.split('/').slice(0, 3).join('/');
}

function isOfFlight(key: string, event: TrueEvent): boolean {
  return flightOf(key) === flightOf(event.key);
}

/** Entries have the very instant that the service wrote; of Flights it may be known from their log only, or from when it was seen. */
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

/** The alert in which an event is owed to those who take alerts; undefined for none. */
function alertnameOf({ type, feed }: TrueEvent): string | undefined {
  switch (type) {
    case 'flight.failed':
      return 'FlightFailed';
    case 'notification.ConnectionDisconnected':
      return 'ConnectionDisconnected';
    case 'notification.FlowDeactivated':
    case 'notification.FlowSuspended':
    case 'bird_log.Deactivated':
      return 'BirdDeactivated';
    default:
      return feed === 'notification' ? 'ServiceNotification' : undefined;
  }
}

/** Alerts of these kinds must be over at the end, since every Bird flew well once more. */
const MUST_END = [
  'FlightFailed',
  'BirdDeactivated',
  'BirdTriggerFailing',
  'RegionDown',
  'RegionUnauthorized',
];

function checkAlerts(
  { worlds, receivers, startedAtUs, endedAtUs }: Remains,
  truth: readonly Expected[],
  seen: ReadonlyMap<string, Arrival>,
  find: Find,
): void {
  const byKey = new Map(truth.map((event) => [event.key, event]));
  for (const inbox of ['hook', 'mail'] satisfies Inbox[]) {
    const told = new Map<string, string>();
    const omitted = new Map<string, number>();
    const last = new Map<string, string>();
    const heard = new Set<string>();
    for (const { id, alerts } of receivers.arrivals.filter((arrival) => arrival.inbox === inbox)) {
      for (const { labels, fingerprint, status, eventKeys, omitted: more } of alerts) {
        const name = labels.alertname ?? '';
        // What an alert is about, rather than all its labels: those may change from one episode to the next.
        const about = `${name} ${labels.region} ${labels.bird_id ?? labels.entity_id ?? ''}`;
        last.set(about, status);
        if (!heard.has(`${id} ${fingerprint}`)) {
          omitted.set(`${name} ${labels.region}`, (omitted.get(`${name} ${labels.region}`) ?? 0) + more);
        }
        heard.add(`${id} ${fingerprint}`);
        for (const key of eventKeys) {
          const before = told.get(`${name} ${key}`);
          if (before !== undefined && before !== id) {
            find('repeated', 'told in two notifications', `${inbox}: ${key} in ${before} and ${id}`);
          }
          told.set(`${name} ${key}`, id);
          const event = byKey.get(key);
          const owed = event && alertnameOf(event);
          if (owed !== undefined && owed !== name)
            find('unexplained', 'wrong alert', `${inbox}: ${key} in ${name}`);
          if (event?.isCountable && event.occurredAtUs < startedAtUs - EDGE_US) {
            find('unexplained', 'history was told', `${inbox}: ${key} in ${name}`);
          }
        }
      }
    }
    for (const event of truth) {
      const name = alertnameOf(event);
      if (name === undefined || event.occurredAtUs < startedAtUs + EDGE_US) continue;
      const arrival = seen.get(event.key);
      // The last ones may still wait for their group.
      if (!arrival || arrival.atUs > endedAtUs - GROUP_US) continue;
      if (told.has(`${name} ${event.key}`)) continue;
      const counted = `${name} ${event.world.region}`;
      const left = omitted.get(counted) ?? 0;
      if (left > 0) omitted.set(counted, left - 1);
      else find('unexplained', 'alert missing', `${inbox}: ${event.key} was in no ${name}`);
    }
    for (const [about, status] of last) {
      if (status === 'firing' && mustEnd(worlds, about)) {
        find('unexplained', 'alert not taken back', `${inbox}: ${about}`);
      }
    }
  }
}

/** A Flight that ends once more may be found after the last good one has been seen, and is then news. */
function mustEnd(worlds: readonly World[], about: string): boolean {
  const [alertname = '', region, birdId] = about.split(' ');
  const world = worlds.find((one) => one.region === region);
  const endsAgain = world?.birds.get(birdId ?? '')?.flights.some(({ ends }) => ends.length > 1) ?? false;
  return MUST_END.includes(alertname) && !(alertname === 'FlightFailed' && endsAgain);
}

function checkManners({ plan, worlds, receivers, complaints, happenings }: Remains, find: Find): void {
  for (const bug of happenings.bugs) find('unexplained', 'unforeseen error', bug);
  for (const what of [...complaints, ...receivers.complaints]) find('unexplained', 'bad manners', what);
  for (const { region, health, atUs } of happenings.alarms) {
    const { outages, behaviours } = plan.regions.find((one) => one.region === region)!;
    const world = worlds.find((one) => one.region === region)!;
    if (outages.length === 0 && isUntroubled(behaviours)) {
      find('unexplained', 'false alarm', `${world.region} was called ${health} at ${clockOf(atUs)}`);
    }
  }
}

/** No request is answered by anything but the service. */
function isUntroubled(behaviours: Partial<Behaviours>): boolean {
  const {
    tooManyRequests,
    error500,
    error502,
    error503,
    error504,
    html,
    htmlOk,
    reset,
    cut,
    truncated,
    slow,
  } = behaviours;
  const shares = [
    tooManyRequests,
    error500,
    error502,
    error503,
    error504,
    html,
    htmlOk,
    reset,
    cut,
    truncated,
    slow,
  ];
  return shares.every((share) => (share ?? 0) === 0) && (behaviours.requestsPerSecond ?? 0) === 0;
}

async function checkStore({ store, worlds }: Remains, find: Find): Promise<void> {
  await store.transaction(async (tx) => {
    for (const { receiver, state, count } of await tx.countDeliveries()) {
      if (state !== 'delivered' && state !== 'suppressed') {
        find('unexplained', 'not delivered', `${count} deliveries to ${receiver} are ${state}`);
      }
    }
    for (const { alertname, labels } of await tx.alerts({ state: 'firing', limit: 1000 })) {
      const about = `${alertname} ${labels.region} ${labels.bird_id ?? ''}`;
      if (mustEnd(worlds, about)) find('unexplained', 'still firing', about);
    }
    for (const receiver of await tx.forwardReceivers()) {
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

export function clockOf(us: number): string {
  return new Date(us / 1000).toISOString().slice(5, 23);
}
