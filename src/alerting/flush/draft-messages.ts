/**
 * Decides which messages about a flush the destinations of a receiver get:
 *
 * - Programs that take parts (webhooks, pushes) get all alerts in as many parts as needed, each with its newest events.
 * - Destinations that take CloudEvents get every event, in batches.
 * - People get one message, which lists the first alerts and counts the rest.
 * - Members of a Nest get what concerns their own Nest.
 * - Services that keep incidents get each incident by itself.
 */
import type { Receiver } from '../../channels/receiver.ts';
import { hash64 } from '../../domain/alert/alert.ts';
import {
  batchesOf,
  eventsOfEach,
  type Listed,
  MAX_ALERTS,
  type NotifyingFlush,
  partsOf,
} from '../../domain/grouping/flush.ts';
import { leftOutWords, memberRecipients } from '../../domain/grouping/member-recipients.ts';
import { type LeftOut, MAX_EVENTS } from '../../domain/grouping/notification.ts';
import { leftToSummary, SORTS, summaryOf } from '../../domain/grouping/sorts.ts';
import { isMoment } from '../../domain/kinds/kinds.ts';
import type { Transaction } from '../../store/store.ts';
import {
  besideMembers,
  type Destination,
  destinationsOf,
  isForPeople,
  keepsIncidents,
  limitOf,
  needsEveryState,
  takesEvents,
  takesParts,
} from '../destination.ts';
import { byIncident } from '../incidents.ts';

/** A message to be queued. */
export interface Draft {
  readonly id: string;
  readonly what: NotifyingFlush;
  readonly to: readonly Destination[];
  /** The alerts whose new events it covers: those that it lists, and those that it only counts. */
  readonly covers: readonly Listed[];
  /** Which part of a big message it is, from 1. */
  readonly part?: { readonly number: number; readonly of: number };
  /** True: it lists all events that it covers. */
  readonly isBatch?: true;
  /** Mail addresses in place of the integration's own. */
  readonly addresses?: readonly string[];
  /** Members of the Nest who cannot be mailed. */
  readonly leftOut?: readonly LeftOut[];
  /** Why it is sent to nobody. */
  readonly suppressed?: string;
}

/** Whether the message is not sent: it has no destination, or says nothing. */
export function reachesNobody({ to, what }: Draft): boolean {
  return to.length === 0 || what.listed.length === 0;
}

/** The spans of events that these alerts cover, kept for `explain`. */
export function coveredBy(listed: readonly Listed[]) {
  return listed
    .filter(({ newEvents }) => newEvents > 0)
    .map(({ alert, afterSeq, newEvents }) => ({
      alertId: alert.id,
      afterSeq,
      lastSeq: afterSeq + newEvents,
    }));
}

/** The id that all messages about one flush share. */
export function flushIdOf({ thread, threadPosition, told }: NotifyingFlush): string {
  // The first of a thread has what it tells in its name.
  return told === undefined || threadPosition === 0
    ? `${thread}-${threadPosition}`
    : `${thread}-${threadPosition}-${told}`;
}

/** The messages about a flush for a receiver, in the order of sending. `owner`: the receiver of the flushed group. */
export async function draftMessages(
  tx: Transaction,
  flushed: NotifyingFlush,
  receiver: Receiver | undefined,
  owner: string,
  nowUs: number,
): Promise<Draft[]> {
  const flushId = flushIdOf(flushed);
  // A fallback stands in for a receiver, not for the members of Nests.
  const isReached = (one: Destination) =>
    (flushed.group.sort !== 'fallback' || besideMembers(one)?.length !== 0) &&
    !(flushed.isForPrograms && isForPeople(one));
  const destinations = destinationsOf(receiver?.integrations).filter(isReached);
  const { gathers } = SORTS[flushed.group.sort];
  const isApart = (one: Destination) => keepsIncidents(one) && (gathers || flushed.incidentLasts === true);
  const drafts: Draft[] = [];
  for (const audience of audiences(
    flushId,
    flushed,
    destinations.filter((one) => !isApart(one)),
  )) {
    drafts.push(...(await draftsFor(tx, audience)));
  }
  const keepers = gathers ? destinations.filter(keepsIncidents) : [];
  if (keepers.length === 0) return drafts;
  for (const what of await byIncident(tx, flushed, owner, nowUs)) {
    const to = keepers.filter(([, { sendResolved }]) => sendResolved || what.firingTotal > 0);
    const id = `${flushId}-${hash64([what.group.key])}`;
    drafts.push({ id, what: shortened(what), to, covers: what.listed });
  }
  return drafts;
}

/** Destinations that get the same messages. */
interface Audience {
  readonly id: string;
  readonly what: NotifyingFlush;
  readonly to: readonly Destination[];
}

/** That a moment is over is told where `send_resolved: true` is written, and to services that keep incidents. */
function audiences(id: string, flushed: NotifyingFlush, to: readonly Destination[]): Audience[] {
  const isEnd = ({ status, newEvents }: Listed) => status !== 'firing' && newEvents === 0;
  const untold = flushed.listed.filter((one) => isEnd(one) && isMoment(one.alert));
  if (untold.length === 0) return audiencesOf(id, flushed, to);
  const told = flushed.listed.filter((one) => !untold.includes(one));
  const isNews = told.some(({ status, isNew, newEvents }) => status !== 'firing' || isNew || newEvents > 0);
  const others = {
    ...flushed,
    listed: isNews ? told : [],
    resolvedTotal: flushed.resolvedTotal - untold.length,
  };
  const [all = [], some = []] = [true, false].map((isAll) =>
    to.filter((one) => (one[1].endsMoments === true || keepsIncidents(one)) === isAll),
  );
  return [...audiencesOf(id, flushed, all), ...audiencesOf(`${id}-lasting`, others, some)];
}

/** Destinations without `send_resolved` get only what fires and what has new events. */
function audiencesOf(id: string, flushed: NotifyingFlush, to: readonly Destination[]): Audience[] {
  const listed = flushed.listed.filter(({ status, newEvents }) => status === 'firing' || newEvents > 0);
  const resolvedTotal = listed.filter(({ status }) => status === 'resolved').length;
  const isOnlyEnds = flushed.reason === 'resolved' && !listed.some((one) => one.newEvents > 0);
  // Without `send_resolved` a person resolves the incident, so nothing is sent there once nothing fires.
  const isConcerned = (one: Destination) =>
    !one[1].sendResolved && !isOnlyEnds && (flushed.firingTotal > 0 || !keepsIncidents(one));
  return [
    { id, what: flushed, to: to.filter(([, { sendResolved }]) => sendResolved) },
    { id: `${id}-open`, what: { ...flushed, listed, resolvedTotal }, to: to.filter(isConcerned) },
  ];
}

async function draftsFor(tx: Transaction, { id, what, to }: Audience): Promise<Draft[]> {
  if (to.length === 0) return [];
  const drafts: Draft[] = [];
  const isSplit = (one: Destination) => what.group.sort !== 'fallback' && besideMembers(one) !== undefined;
  const alike = to.filter((one) => !isSplit(one) && !takesEvents(one));
  for (const [limit, some] of Map.groupBy(alike, (one) => Math.min(limitOf(one), what.listed.length))) {
    const left = what.listed.slice(limit);
    drafts.push(
      ...messages(left.length > 0 ? `${id}-first${limit}` : id, shortened(what, limit), some, left),
    );
  }
  drafts.push(...(await batches(tx, `${id}-events`, what, to.filter(takesEvents))));
  const members = to.filter(isSplit);
  for (const nest of members.length > 0 ? await byNest(tx, id, what) : []) {
    for (const destination of members) drafts.push(forMembers(nest, destination));
  }
  return drafts;
}

/**
 * Messages that list alerts: all of them, in parts if need be, or the first ones. `left`: alerts beyond the
 * destination's limit, which the messages only count.
 */
function messages(
  id: string,
  what: NotifyingFlush,
  to: readonly Destination[],
  left: readonly Listed[],
): Draft[] {
  // A summary lists no events.
  const isWhole = what.summary !== undefined || eventsOfEach(what.listed) >= MAX_EVENTS;
  if (what.listed.length <= MAX_ALERTS && isWhole) {
    return [{ id, what, to, covers: [...what.listed, ...left] }];
  }
  const goesInParts = what.summary ? needsEveryState : takesParts;
  const programs = to.filter(goesInParts);
  const parts = programs.length > 0 ? partsOf(what.listed) : [];
  const inParts = parts.map((listed, index): Draft => {
    const covers = index === 0 ? [...listed, ...left] : listed;
    return { ...partOf(id, index, parts), what: { ...what, listed }, to: programs, covers };
  });
  const people = to.filter((one) => !goesInParts(one));
  const covers = [...what.listed, ...left];
  return [...inParts, { id: `${id}-brief`, what: shortened(what), to: people, covers }];
}

/**
 * Batches of events for destinations that take events instead of alerts; of a summary, the events that it counts. If
 * there are none, an empty message says so.
 */
async function batches(
  tx: Transaction,
  id: string,
  what: NotifyingFlush,
  to: readonly Destination[],
): Promise<Draft[]> {
  if (to.length === 0) return [];
  const runs = what.summary ? await summedUpRuns(tx, what) : [what.listed];
  const all = runs.flatMap(batchesOf);
  if (all.length === 0) return [{ id, what: shortened(what), to, covers: what.listed }];
  return all.map((listed, index) => ({
    ...partOf(id, index, all),
    what: { ...what, listed },
    to,
    covers: listed,
    isBatch: true,
  }));
}

function partOf(id: string, index: number, { length }: readonly unknown[]): Pick<Draft, 'id' | 'part'> {
  return {
    id: index === 0 ? id : `${id}-part${index + 1}`,
    ...(length > 1 && { part: { number: index + 1, of: length } }),
  };
}

/**
 * The events that a summary counts, in runs, as they were left to it. Of fresh events in between, the groups notified
 * as usual. Each list has an alert at most once, with consecutive events.
 */
async function summedUpRuns(tx: Transaction, { listed, group }: NotifyingFlush): Promise<Listed[][]> {
  const runs: Listed[][] = [];
  for (const [index, one] of listed.entries()) {
    const { alert, afterSeq } = one;
    const ranges = leftToSummary(await tx.suppressions.ofPresent(alert.id), group.receiver, afterSeq);
    for (const [at, range] of ranges.entries()) {
      runs[at] ??= [];
      runs[at].push({ ...one, afterSeq: range.afterSeq, newEvents: range.lastSeq - range.afterSeq });
    }
    if (index % 100 === 99) await tx.pause();
  }
  return runs;
}

/** The same flush with the first alerts only; the others are counted. */
function shortened(flushed: NotifyingFlush, max = MAX_ALERTS): NotifyingFlush {
  const listed = flushed.listed.slice(0, max);
  const truncatedAlerts = flushed.truncatedAlerts + flushed.listed.length - listed.length;
  return { ...flushed, listed, truncatedAlerts };
}

/** The same flush with these alerts only, as if there were no others. */
export function narrowed(flushed: NotifyingFlush, listed: readonly Listed[]): NotifyingFlush {
  const firingTotal = listed.filter(({ status }) => status === 'firing').length;
  return {
    ...flushed,
    listed,
    truncatedAlerts: 0,
    firingTotal,
    newTotal: listed.filter(({ isNew }) => isNew).length,
    resolvedTotal: listed.length - firingTotal,
    ...(flushed.summary && { summary: summaryOf(listed, flushed.summary.fromUs, flushed.summary.toUs) }),
  };
}

/** What concerns one Nest, and the addresses of its members. */
interface NestPart {
  readonly id: string;
  readonly what: NotifyingFlush;
  readonly covers: readonly Listed[];
  readonly nestId: string;
  readonly addresses: readonly string[];
}

/** Splits a flush by Nest. Alerts that belong to no Nest make a part without addresses. */
async function byNest(tx: Transaction, id: string, flushed: NotifyingFlush): Promise<NestPart[]> {
  const nests = Map.groupBy(flushed.listed, ({ alert: { labels } }) =>
    JSON.stringify([labels.region ?? '', labels.nest_id ?? '']),
  );
  const parts: NestPart[] = [];
  const byRegion = new Map<string, ReadonlyMap<string, readonly string[]>>();
  for (const listed of nests.values()) {
    const { region = '', nest_id: nestId = '' } = listed[0]!.alert.labels;
    const members = byRegion.get(region) ?? (await membersByNest(tx, region));
    byRegion.set(region, members);
    const name = hash64([region, nestId]);
    parts.push({
      id: `${id}-nest-${name}`,
      // Each Nest has its own thread, so that a mail about one Nest does not look like a repeat of a mail about
      // another.
      what: { ...shortened(narrowed(flushed, listed)), thread: hash64([flushed.thread, name]) },
      covers: listed,
      nestId,
      addresses: members.get(nestId) ?? [],
    });
  }
  return parts;
}

async function membersByNest(
  tx: Transaction,
  region: string,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const all = await tx.inventory.nestMembers(region);
  return new Map(all.map(({ nestId, addresses }) => [nestId, addresses]));
}

/** If there is nobody to mail, there is a message all the same: suppressed, with the reason. */
function forMembers({ id, what, covers, nestId, addresses }: NestPart, destination: Destination): Draft {
  const [position] = destination;
  const own = besideMembers(destination) ?? [];
  const { to: all, leftOut } = memberRecipients(addresses, own);
  const nobody =
    leftOut.length > 0
      ? `nobody in Nest ${nestId} can be mailed: ${leftOutWords(leftOut)}`
      : nestId
        ? `Nest ${nestId} has no active members`
        : 'the alerts belong to no Nest';
  return {
    id: `${id}-to${position}`,
    what,
    to: [destination],
    covers,
    addresses: all,
    ...(leftOut.length > 0 && { leftOut }),
    ...(all.length === 0 && { suppressed: nobody }),
  };
}
