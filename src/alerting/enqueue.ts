/**
 * Makes notifications and their deliveries out of what a flush tells. Those who take it in parts (webhooks, pushes)
 * get all of it, in as many as it takes, of each alert the newest events; who takes CloudEvents gets each event, in
 * batches; a message for people is one, lists the first alerts and counts the rest; members of Nests are told of their
 * own Nest alone; a service that keeps incidents is told of each one by itself.
 */

import type { EmailIntegration, Integration, Receiver } from '../config/config.ts';
import type { Event } from '../domain/alert/event.ts';
import { hash64 } from '../domain/alert/fingerprint.ts';
import { setAsideAfter, summaryOf } from '../domain/grouping/catching-up.ts';
import { type Flush, type Listed, MAX_ALERTS, notificationOf } from '../domain/grouping/flush.ts';
import { type FlushReason, MAX_EVENTS, type NotifiedAlert } from '../domain/grouping/notification.ts';
import { BATCH_EVENTS, batchesOf, partsOf } from '../domain/grouping/split-notification.ts';
import { summaryWords } from '../domain/grouping/summary.ts';
import type { Delivery } from '../store/outbox-store.ts';
import type { Transaction } from '../store/store.ts';
import { byIncident, isGathered, keepsIncidents } from './incidents.ts';
import { type Destination, newDelivery } from './new-delivery.ts';

/** A flush that tells something. */
export type Tellable = Flush & { readonly reason: FlushReason };

/** Integrations whose receiver is a program. */
const IN_PARTS: ReadonlySet<string> = new Set(['webhook', 'alertmanager']);
/** Those of them that need the state of every alert also from a summary, which else is one message. */
const STATES_IN_PARTS: ReadonlySet<string> = new Set(['alertmanager']);

/** Flights of which the ends are shown. */
const LAST_FLIGHTS = 10;

/** A receiver's fallback gets what was not accepted for this long, if it did not fail often enough before. */
const FALLBACK_AFTER_US = 300_000_000;

/** Queues for each integration of the receiver; returns how many deliveries that made. */
export async function queueDeliveries(
  tx: Transaction,
  flushed: Tellable,
  receiver: Receiver | undefined,
  notices: readonly string[],
  nowUs: number,
): Promise<number> {
  let count = 0;
  async function queue(
    id: string,
    what: Tellable,
    to: readonly Destination[],
    extra: Extra = {},
  ): Promise<void> {
    if (to.length === 0 || what.listed.length === 0) return;
    const said = [...(what.summary ? summaryWords(what.summary) : []), ...notices];
    const limit = extra.isBatch ? BATCH_EVENTS : MAX_EVENTS;
    const events = what.summary && !extra.isBatch ? new Map() : await eventsOf(tx, what.listed, limit);
    const plain = notificationOf(what, events, id);
    const notification = {
      ...plain,
      flushId,
      alerts: await withHistory(tx, plain.alerts),
      ...(said.length > 0 && { notices: said }),
      ...(what.summary && { summary: what.summary }),
      ...extra.notification,
    };
    const deliveries = to.map((destination) => ({
      ...newDelivery({ id, receiver: receiver!.name, groupKey: what.group.key }, destination, nowUs),
      ...extra.delivery,
      ...(receiver!.fallback !== undefined && {
        fallbackAtUs: nowUs + (extra.isUntold ? 0 : FALLBACK_AFTER_US),
      }),
    }));
    await tx.outbox.enqueue(notification, deliveries, tellsOf(extra.covers ?? what.listed));
    count += deliveries.length;
  }

  /** Those who are told all, or the first alerts of it. */
  async function queueLists(
    base: string,
    what: Tellable,
    to: readonly Destination[],
    left: readonly Listed[],
  ): Promise<void> {
    if (what.listed.length <= MAX_ALERTS) {
      await queue(base, what, to, { covers: [...what.listed, ...left] });
      return;
    }
    const inParts = what.summary ? STATES_IN_PARTS : IN_PARTS;
    const programs = to.filter(([, { kind }]) => inParts.has(kind));
    const parts = programs.length > 0 ? partsOf(what.listed) : [];
    for (const [index, listed] of parts.entries()) {
      const covers = index === 0 ? [...listed, ...left] : listed;
      await queue(partId(base, index), { ...what, listed }, programs, { ...partExtra(index, parts), covers });
      await tx.pause();
    }
    const people = to.filter(([, { kind }]) => !inParts.has(kind));
    await queue(`${base}-brief`, shortened(what), people, { covers: [...what.listed, ...left] });
  }

  /**
   * Those who are told events alone, those that a summary counts as well. Without any there is a delivery all the same:
   * it says why nothing is sent.
   */
  async function queueBatches(base: string, what: Tellable, to: readonly Destination[]): Promise<void> {
    if (to.length === 0) return;
    const runs = what.summary ? await setAsideRuns(tx, what) : [what.listed];
    const batches = runs.flatMap(batchesOf);
    if (batches.length === 0) await queue(base, shortened(what), to, { covers: what.listed });
    for (const [index, listed] of batches.entries()) {
      await queue(partId(base, index), { ...what, listed }, to, {
        ...partExtra(index, batches),
        isBatch: true,
      });
      await tx.pause();
    }
  }

  const flushId = `${flushed.thread}-${flushed.threadPosition}`;
  const destinations = [...(receiver?.integrations ?? []).entries()];
  const isGathering = isGathered(flushed.group.key);
  const plain =
    isGathering || flushed.incidentLasts ? destinations.filter((one) => !isKeeper(one)) : destinations;
  for (const { id: base, what, to } of audiences(flushId, flushed, plain)) {
    const toMembers = to.filter(isToMembers);
    const toPrograms = to.filter(takesEvents);
    const others = to.filter((one) => !isToMembers(one) && !takesEvents(one));
    for (const [limit, some] of Map.groupBy(others, (one) => limitOf(one, what))) {
      const isCut = limit < what.listed.length;
      const left = what.listed.slice(limit);
      await queueLists(isCut ? `${base}-first${limit}` : base, shortened(what, limit), some, left);
    }
    await queueBatches(`${base}-events`, what, toPrograms);
    if (toMembers.length > 0) {
      for (const one of await byNest(tx, base, what)) {
        for (const destination of toMembers) await queue(...forMembers(one, destination, nowUs));
      }
    }
  }
  const keepers = isGathering ? destinations.filter(isKeeper) : [];
  for (const what of keepers.length > 0 ? await byIncident(tx, flushed, nowUs) : []) {
    const to = keepers.filter(([, { sendResolved }]) => sendResolved || what.firingTotal > 0);
    await queue(`${flushId}-${hash64([what.group.key])}`, shortened(what), to, { covers: what.listed });
  }
  return count;
}

function isKeeper([, integration]: Destination): boolean {
  return keepsIncidents(integration);
}

/** Its receiver is a program, which is told all of what is big, in as many parts as it takes. */
export function takesParts({ kind }: Integration): boolean {
  return IN_PARTS.has(kind);
}

/** Events alone, and each of them. */
function takesEvents([, integration]: Destination): boolean {
  return integration.kind === 'webhook' && integration.format === 'cloudevents';
}

/** How many alerts it wants to hear of at the most. */
function limitOf([, integration]: Destination, { listed }: Tellable): number {
  const max = integration.kind === 'webhook' ? integration.maxAlerts : 0;
  return max > 0 && max < listed.length ? max : Number.POSITIVE_INFINITY;
}

function partId(base: string, index: number): string {
  return index === 0 ? base : `${base}-part${index + 1}`;
}

function partExtra(index: number, { length }: readonly unknown[]): Extra {
  return length > 1 ? { notification: { part: { number: index + 1, of: length } } } : {};
}

interface Extra {
  readonly notification?: {
    readonly part?: { readonly number: number; readonly of: number };
    readonly to?: readonly string[];
  };
  readonly delivery?: Partial<Delivery>;
  /** It reaches nobody, so that a fallback is told at once. */
  readonly isUntold?: boolean;
  /** What is told by it, where it counts more than it lists. */
  readonly covers?: readonly Listed[];
  /** It lists all events that are told by it. */
  readonly isBatch?: boolean;
}

/** The events that are told with these alerts, for those who ask later. */
function tellsOf(listed: readonly Listed[]) {
  return listed
    .filter(({ untold }) => untold > 0)
    .map(({ alert, afterSeq, untold }) => ({ alertId: alert.id, afterSeq, lastSeq: afterSeq + untold }));
}

interface Audience {
  readonly id: string;
  readonly what: Tellable;
  readonly to: readonly Destination[];
}

/** Whoever does not want to hear of ends is told the rest: what fires, and what has events not told before. */
function audiences(id: string, flushed: Tellable, integrations: readonly Destination[]): Audience[] {
  const listed = flushed.listed.filter(({ status, untold }) => status === 'firing' || untold > 0);
  const isOnlyEnds = flushed.reason === 'resolved' && !listed.some((one) => one.untold > 0);
  return [
    { id, what: flushed, to: integrations.filter(([, { sendResolved }]) => sendResolved) },
    {
      id: `${id}-open`,
      what: { ...flushed, listed, resolvedTotal: 0 },
      to: isOnlyEnds
        ? []
        : integrations.filter(
            // An incident that is to be ended by hand is told of nothing that is over.
            (one) => !one[1].sendResolved && (flushed.firingTotal > 0 || !isKeeper(one)),
          ),
    },
  ];
}

/**
 * The events that a summary counts, as they were set aside: fresh ones between them were told as always. Each list has
 * an alert once, with events that follow one another.
 */
async function setAsideRuns(tx: Transaction, { listed, group }: Tellable): Promise<Listed[][]> {
  const runs: Listed[][] = [];
  for (const [index, one] of listed.entries()) {
    const { alert, afterSeq } = one;
    const ranges = setAsideAfter(await tx.suppressions.ofAlert(alert.id), group.receiver, afterSeq);
    for (const [at, range] of ranges.entries()) {
      runs[at] ??= [];
      runs[at].push({ ...one, afterSeq: range.afterSeq, untold: range.lastSeq - range.afterSeq });
    }
    if (index % 100 === 99) await tx.pause();
  }
  return runs;
}

/** The same with the first alerts alone; the others are counted. */
function shortened(flushed: Tellable, max = MAX_ALERTS): Tellable {
  const listed = flushed.listed.slice(0, max);
  const truncatedAlerts = flushed.truncatedAlerts + flushed.listed.length - listed.length;
  return { ...flushed, listed, truncatedAlerts };
}

/** The same with these alerts alone, as if there were no others. */
export function narrowed(flushed: Tellable, listed: readonly Listed[]): Tellable {
  const firingTotal = listed.filter(({ status }) => status === 'firing').length;
  return {
    ...flushed,
    listed,
    truncatedAlerts: 0,
    firingTotal,
    resolvedTotal: listed.length - firingTotal,
    ...(flushed.summary && { summary: summaryOf(listed, flushed.summary.fromUs, flushed.summary.toUs) }),
  };
}

interface NestPart {
  readonly id: string;
  readonly what: Tellable;
  readonly covers: readonly Listed[];
  readonly nestId: string;
  readonly addresses: readonly string[];
}

/** What concerns each Nest, with its members; alerts that belong to no Nest have nobody. */
async function byNest(tx: Transaction, id: string, flushed: Tellable): Promise<NestPart[]> {
  const nests = Map.groupBy(flushed.listed, ({ alert: { labels } }) =>
    JSON.stringify([labels.region ?? '', labels.nest_id ?? '']),
  );
  const parts: NestPart[] = [];
  for (const [key, listed] of nests) {
    const [region, nestId] = JSON.parse(key) as [string, string];
    const members = await tx.inventory.nestMembers(region);
    const name = hash64([region, nestId]);
    parts.push({
      id: `${id}-nest-${name}`,
      // Each Nest has a thread of its own: one mail of another Nest must not look like a repeat of it.
      what: { ...shortened(narrowed(flushed, listed)), thread: hash64([flushed.thread, name]) },
      covers: listed,
      nestId,
      addresses: members.find((one) => one.nestId === nestId)?.addresses ?? [],
    });
  }
  return parts;
}

type MemberDestination = readonly [position: number, integration: EmailIntegration];

function isToMembers(destination: Destination): destination is MemberDestination {
  return destination[1].kind === 'email' && destination[1].toNestMembers === true;
}

/** Without anybody to mail there is a delivery all the same: suppressed, with the reason. */
function forMembers(
  { id, what, covers, nestId, addresses }: NestPart,
  destination: MemberDestination,
  nowUs: number,
): [id: string, what: Tellable, to: readonly Destination[], extra: Extra] {
  const to = [...new Set([...addresses, ...destination[1].to])];
  const lastError = nestId ? `Nest ${nestId} has no active members` : 'the alerts belong to no Nest';
  const ownId = `${id}-to${destination[0]}`;
  const notification = { to };
  if (to.length > 0) return [ownId, what, [destination], { notification, covers }];
  const delivery = { state: 'suppressed', settledAtUs: nowUs, lastError } as const;
  return [ownId, what, [destination], { notification, covers, delivery, isUntold: true }];
}

/** How the Bird's last Flights ended, where one alert is told by itself: among many it would only be noise. */
async function withHistory(
  tx: Transaction,
  alerts: readonly NotifiedAlert[],
): Promise<readonly NotifiedAlert[]> {
  const [{ bird_id: birdId, region = '' } = {}, ...others] = alerts.map(({ labels }) => labels);
  if (!birdId || others.some((labels) => labels.bird_id !== birdId || labels.region !== region))
    return alerts;
  const history = await tx.flights.lastOutcomes(region, birdId, LAST_FLIGHTS);
  return history.length === 0 ? alerts : alerts.map((alert) => ({ ...alert, history }));
}

/** The events to list of each alert, newest first. */
async function eventsOf(
  tx: Transaction,
  listed: readonly Listed[],
  limit: number,
): Promise<ReadonlyMap<string, readonly Event[]>> {
  const events = new Map<string, readonly Event[]>();
  for (const { alert, untold, afterSeq } of listed) {
    if (untold === 0) continue;
    const linked = await tx.alerts.events(alert.id, afterSeq, limit, afterSeq + untold);
    events.set(
      alert.id,
      linked.map((link) => link.event),
    );
  }
  return events;
}
