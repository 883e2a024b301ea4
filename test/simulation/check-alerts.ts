/** Checks that the receivers of alerts were notified of what they had to be, once, and of nothing else. */
import type { TrueEvent } from '../../src/simulator/world/truth.ts';
import { EDGE_US, type Expected, MINUTE_US } from './expected.ts';
import { clockOf, type Find } from './finding.ts';
import { mayBeKeptBack, type Untold } from './kept-back.ts';
import type { PlannedOutage } from './plan.ts';
import type { Arrival, Inbox, ToldAlert } from './receivers.ts';
import type { Remains } from './run.ts';

/** The longest interval of a group. */
const GROUP_US = 6 * MINUTE_US;

/**
 * An outage of this length must be notified: a region is known to be down within minutes, and its alert may wait for
 * another one.
 */
const TOLD_OUTAGE_MS = 8 * 60_000;
/** The wait of its group, and receivers that do not accept at once. */
const TOLD_WITHIN_US = 10 * MINUTE_US;

/** The alert that must contain an event; undefined if none must. */
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

/** The only events that an alert of these kinds may contain, apart from those it must. */
const FIT: Readonly<Record<string, readonly string[]>> = {
  BirdTriggerFailing: ['bird_log.EventError'],
  FlightFailed: [],
  ConnectionDisconnected: [],
  ServiceNotification: [],
};

/** The kind of alert under which its events count: what a cause stands for is told with it. */
function ownNameOf(alertname: string): string {
  return alertname === 'SharedCause' ? 'FlightFailed' : alertname;
}

function isFit(alertname: string, { type }: TrueEvent, owed: string | undefined): boolean {
  if (owed !== undefined) return owed === ownNameOf(alertname);
  return FIT[alertname]?.includes(type) ?? true;
}

/** Alerts of these kinds must have resolved at the end, because every Bird had one more successful Flight. */
const MUST_END = [
  'FlightFailed',
  'BirdDeactivated',
  'BirdTriggerFailing',
  'RegionDown',
  'RegionUnauthorized',
];

export async function checkAlerts(
  remains: Remains,
  truth: readonly Expected[],
  seen: ReadonlyMap<string, Arrival>,
  find: Find,
): Promise<void> {
  const { receivers, store, startedAtUs, endedAtUs } = remains;
  const failed = failedLast(truth, seen);
  const byKey = new Map(truth.map((event) => [event.key, event]));
  const untold: {
    readonly news: Untold;
    readonly inbox: Inbox;
    readonly check: string;
    readonly what: string;
    /** Accepts it as one of those that were counted and not listed. */
    readonly wasCounted?: () => boolean;
  }[] = [];
  for (const inbox of ['hook', 'mail'] satisfies Inbox[]) {
    const told = new Map<string, string>();
    const omitted = new Map<string, number>();
    const last = new Map<string, { readonly alert: ToldAlert; readonly toldUs: number }>();
    const heard = new Set<string>();
    for (const { id, alerts, isSummary, atUs } of receivers.arrivals.filter((one) => one.inbox === inbox)) {
      for (const alert of alerts) {
        const { labels, fingerprint, eventKeys, omitted: more } = alert;
        const name = labels.alertname ?? '';
        last.set(aboutOf(alert), { alert, toldUs: atUs });
        // What a summary counts is recorded event by event.
        if (!isSummary && !heard.has(`${id} ${fingerprint}`)) {
          const counted = `${ownNameOf(name)} ${labels.region}`;
          omitted.set(counted, (omitted.get(counted) ?? 0) + more);
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
      if (name === undefined || !event.isDated || !event.isNews) continue;
      const arrival = seen.get(event.key);
      // The last ones may still wait for their group.
      if (!arrival || arrival.atUs > endedAtUs - GROUP_US) continue;
      if ([name, 'SharedCause'].some((one) => told.has(`${one} ${event.key}`))) continue;
      const counted = `${name} ${event.world.region}`;
      untold.push({
        news: { of: 'event', event, alertname: name, foundAtUs: arrival.atUs },
        inbox,
        check: 'alert missing',
        what: `${event.key} was in no ${name}`,
        wasCounted() {
          const left = omitted.get(counted) ?? 0;
          omitted.set(counted, left - 1);
          return left > 0;
        },
      });
    }
    for (const [about, { alert, toldUs }] of last) {
      if (alert.status !== 'firing' || !mustEnd(failed, about)) continue;
      const news = { of: 'end', alert, toldUs } as const;
      untold.push({ news, inbox, check: 'alert not taken back', what: about });
    }
  }
  await store.transaction(async (tx) => {
    for (const { news, inbox, check, what, wasCounted } of untold) {
      const arrivals = receivers.arrivals.filter((arrival) => arrival.inbox === inbox);
      if ((await mayBeKeptBack(tx, news, arrivals, remains)) || wasCounted?.()) continue;
      find('unexplained', check, `${inbox}: ${what}`);
    }
  });
}

/** What an alert is about. Not all its labels, which may change from one episode to the next. */
function aboutOf({ labels }: ToldAlert): string {
  return `${labels.alertname} ${labels.region} ${labels.bird_id ?? labels.entity_id ?? ''}`;
}

/**
 * Birds, as `region id`, whose failed Flight was found after their last successful one. It is then news, and the
 * alert keeps firing. A Flight that was shown late waits for a review. If a Flight ended more than once, it is not
 * known which end was found when.
 */
export function failedLast(
  truth: readonly Expected[],
  seen: ReadonlyMap<string, Arrival>,
): ReadonlySet<string> {
  const birds = new Set<string>();
  const goodUs = new Map<string, number>();
  const aboutBird = ({ world, birdId }: Expected) => `${world.region} ${birdId}`;
  for (const event of truth) {
    if (event.type !== 'flight.succeeded') continue;
    const atUs = seen.get(event.key)?.atUs ?? 0;
    goodUs.set(aboutBird(event), Math.max(goodUs.get(aboutBird(event)) ?? 0, atUs));
  }
  for (const event of truth) {
    if (event.feed !== 'flight') continue;
    const isLater = (seen.get(event.key)?.atUs ?? 0) >= (goodUs.get(aboutBird(event)) ?? 0);
    if ((event.type === 'flight.failed' && isLater) || event.key.includes('#')) birds.add(aboutBird(event));
  }
  return birds;
}

export function mustEnd(failed: ReadonlySet<string>, about: string): boolean {
  const [alertname = '', region, birdId] = about.split(' ');
  return MUST_END.includes(alertname) && !(alertname === 'FlightFailed' && failed.has(`${region} ${birdId}`));
}

/** A region that was away for long must have been reported as down or unauthorized, and people notified. */
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
        if (!isTold && !flaps(receivers.arrivals, inbox, name, region, fromUs))
          find('unexplained', 'alarm missing', `${inbox}: no ${name} of ${region} at ${clockOf(fromUs)}`);
      }
    }
  }
}

/** What was last notified before that instant. It flaps, and is not notified again until that is over. */
function flaps(
  arrivals: readonly Arrival[],
  inbox: Inbox,
  alertname: string,
  region: string,
  atUs: number,
): boolean {
  const before = arrivals.filter((one) => one.inbox === inbox && one.atUs <= atUs);
  const last = before.flatMap(({ alerts }) => alerts).findLast((one) => isAbout(one, alertname, region));
  return last?.status === 'firing' && last.annotations.flapping !== undefined;
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
  return alerts.some((alert) => isAbout(alert, alertname, region));
}

function isAbout({ labels }: ToldAlert, alertname: string, region: string): boolean {
  return labels.alertname === alertname && labels.region === region;
}

/** With more than the first value a clock is surely wrong, with less than the second surely right. */
const WRONG_MS = 75_000;
const RIGHT_MS = 50_000;

/**
 * Of what impairs the watch, these worlds have a clock that is set wrong, and proof that comes late. The first must
 * be notified, and nothing other than the two.
 */
export function checkWatch({ plan, receivers }: Remains, find: Find): void {
  const aheadMs = [plan.clockAheadMs];
  const steps = plan.clockSteps.toSorted((a, b) => a.atMs - b.atMs);
  for (const { byMs } of steps) aheadMs.push(aheadMs.at(-1)! + byMs);
  const isEverOff = aheadMs.some((ms) => Math.abs(ms) > RIGHT_MS);
  const isPossible = (reason: string) =>
    reason === 'feed_unproven' || (reason === 'clock_wrong' && isEverOff);
  for (const inbox of ['hook', 'mail'] satisfies Inbox[]) {
    const told = receivers.arrivals
      .filter((one) => one.inbox === inbox)
      .flatMap(({ alerts }) => alerts)
      .filter(({ labels }) => labels.alertname === 'WatchImpaired');
    for (const { reason = '', region } of told.map(({ labels }) => labels)) {
      if (!isPossible(reason)) find('unexplained', 'false alarm', `${inbox}: ${reason} of ${region}`);
    }
    if (Math.abs(aheadMs.at(-1)!) < WRONG_MS) continue;
    for (const { region } of plan.regions) {
      const isTold = told.some(({ labels }) => labels.reason === 'clock_wrong' && labels.region === region);
      if (!isTold) find('unexplained', 'alarm missing', `${inbox}: no wrong clock of ${region}`);
    }
  }
}
