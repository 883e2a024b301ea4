/** Whether those who take alerts were told what they had to be told, once, and nothing else. */
import type { TrueEvent } from '../../src/simulator/truth.ts';
import type { World } from '../../src/simulator/world.ts';
import { EDGE_US, type Expected, MINUTE_US } from './expected.ts';
import { clockOf, type Find } from './finding.ts';
import type { PlannedOutage } from './plan.ts';
import type { Arrival, Inbox } from './receivers.ts';
import type { Remains } from './run.ts';

/** The longest interval of a group. */
const GROUP_US = 6 * MINUTE_US;

/** An outage of that length is told: a region is known to be down within minutes, and its alert waits for another. */
const TOLD_OUTAGE_MS = 8 * 60_000;
/** Its group, and receivers that do not accept at once. */
const TOLD_WITHIN_US = 10 * MINUTE_US;

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

/** The only events that an alert of these kinds may tell, where no kind is owed them. */
const FIT: Readonly<Record<string, readonly string[]>> = {
  BirdTriggerFailing: ['bird_log.EventError'],
  FlightFailed: [],
  ConnectionDisconnected: [],
  ServiceNotification: [],
};

function isFit(alertname: string, { type }: TrueEvent, owed: string | undefined): boolean {
  if (owed !== undefined) return owed === alertname;
  return FIT[alertname]?.includes(type) ?? true;
}

/** Alerts of these kinds must be over at the end, since every Bird flew well once more. */
const MUST_END = [
  'FlightFailed',
  'BirdDeactivated',
  'BirdTriggerFailing',
  'RegionDown',
  'RegionUnauthorized',
];

export async function checkAlerts(
  { worlds, receivers, store, happenings, startedAtUs, endedAtUs }: Remains,
  truth: readonly Expected[],
  seen: ReadonlyMap<string, Arrival>,
  find: Find,
): Promise<void> {
  const byKey = new Map(truth.map((event) => [event.key, event]));
  const untold: Untold[] = [];
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
          if (event && !isFit(name, event, owed))
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
      else untold.push({ event, what: `${inbox}: ${event.key} was in no ${name}` });
    }
    for (const [about, status] of last) {
      if (status === 'firing' && mustEnd(worlds, about)) {
        find('unexplained', 'alert not taken back', `${inbox}: ${about}`);
      }
    }
  }
  await store.transaction(async (tx) => {
    for (const { event, what } of untold) {
      const reasons = (await tx.suppressionsOfEvent(event.key)).map(({ reason }) => reason);
      const wasAway = happenings.alarms.some(({ region }) => region === event.world.region);
      const isRight = reasons.some((reason) => reason === 'too_old' || (reason === 'inhibited' && wasAway));
      if (!isRight) find('unexplained', 'alert missing', what);
    }
  });
}

/** An event that was in no alert. That is right where the store has a reason that can have been. */
interface Untold {
  readonly event: Expected;
  readonly what: string;
}

/** A Flight that ends once more may be found after the last good one has been seen, and is then news. */
export function mustEnd(worlds: readonly World[], about: string): boolean {
  const [alertname = '', region, birdId] = about.split(' ');
  const world = worlds.find((one) => one.region === region);
  const endsAgain = world?.birds.get(birdId ?? '')?.flights.some(({ ends }) => ends.length > 1) ?? false;
  return MUST_END.includes(alertname) && !(alertname === 'FlightFailed' && endsAgain);
}

/** A region that was away for long was called down, or unauthorized, and people heard of it. */
export function checkAlarms({ plan, down, receivers, startedAtUs }: Remains, find: Find): void {
  for (const { region, outages } of plan.regions) {
    for (const outage of outages) {
      const fromUs = startedAtUs + outage.atMs * 1000;
      const toUs = fromUs + outage.forMs * 1000;
      const isWatched = down.every((one) => one.toUs < fromUs || one.fromUs > toUs + TOLD_WITHIN_US);
      if (outage.forMs < TOLD_OUTAGE_MS || !isWatched || !isAlone(outage, outages)) continue;
      const name = outage.kind === 'token' ? 'RegionUnauthorized' : 'RegionDown';
      for (const inbox of ['hook', 'mail'] satisfies Inbox[]) {
        const isTold = receivers.arrivals.some((arrival) => {
          const isThen = arrival.atUs > fromUs && arrival.atUs < toUs + TOLD_WITHIN_US;
          return arrival.inbox === inbox && isThen && tells(arrival, name, region);
        });
        if (!isTold)
          find('unexplained', 'alarm missing', `${inbox}: no ${name} of ${region} at ${clockOf(fromUs)}`);
      }
    }
  }
}

function isAlone(outage: PlannedOutage, all: readonly PlannedOutage[]): boolean {
  return all.every(
    (other) =>
      other === outage ||
      other.atMs > outage.atMs + outage.forMs ||
      other.atMs + other.forMs < outage.atMs - TOLD_OUTAGE_MS,
  );
}

function tells({ alerts }: Arrival, alertname: string, region: string): boolean {
  return alerts.some(({ labels }) => labels.alertname === alertname && labels.region === region);
}
