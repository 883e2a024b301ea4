/**
 * Reads what is reported of a month: how Flights ended, by the counts that are kept of them, and which alerts fired. No
 * event is read but the last message of a few causes. It is read in many short transactions, so that nobody waits for it.
 */
import type { Alert, Labels } from '../domain/alert/alert.ts';
import type { Event } from '../domain/alert/event.ts';
import type { Episode } from '../domain/digest/digest.ts';
import {
  alertsOfMonth,
  impairsWatch,
  objectiveRows,
  type ReportedObjective,
  type ReportRow,
} from '../domain/digest/report-figures.ts';
import { successRatio } from '../domain/statistics/flight-statistics.ts';
import { exactZoneTime } from '../text/instant-words.ts';
import { type Period, periodsOf } from '../time/zone-format.ts';
import { episodeOf } from './alert-store.ts';
import type { EndCounts } from './bird-store.ts';
import { HOUR_US, HOURS_KEPT } from './event-store.ts';
import { countDeadlines, type DeadlineConfig } from './read-history.ts';
import type { Store, Transaction } from './store.ts';

/** All Nests of some regions, or one of a region. */
interface ReportQuery {
  readonly regions: readonly string[];
  readonly nestId: string | undefined;
  /** As `2026-11`; by default the latest. */
  readonly month: string | undefined;
  /** The one by whose calendar months and days begin. */
  readonly zone: string;
  readonly config: DeadlineConfig & { readonly objectives?: readonly ReportedObjective[] };
  readonly nowUs: number;
}

/** `name`: as `2026-11`. */
export interface Month extends Period {
  readonly name: string;
}

/** Alerts per transaction. */
const STEP = 500;
/** Ended alerts that are examined, the latest ones. */
const MOST_ENDED = 100_000;
const CAUSES = 10;

/** Of the latest month if nothing is known of the asked one. The month before counts if all of it was watched. */
export async function readMonthReport(store: Store, query: ReportQuery) {
  const read = await readMonth(store, query);
  return { ...read, ...(await reportOf(store, read, aboutOf(query))) };
}

/** What the reports of all Nests are made from (`reportOf`). */
export async function readMonth(store: Store, query: ReportQuery) {
  const { regions, zone, config, nowUs } = query;
  const watched = new Map<string, number>();
  for (const region of regions) {
    watched.set(region, (await store.transaction((tx) => tx.inventory.knownSince(region))) ?? nowUs);
  }
  const keptUs = nowUs - config.store.retentionMs * 1000;
  const flightsUs = Math.min(keptUs, nowUs - HOURS_KEPT * HOUR_US);
  const months = monthsOf(zone, Math.max(flightsUs, Math.min(nowUs, ...watched.values())), nowUs);
  const month = months.find(({ name }) => name === query.month) ?? months[0]!;
  const [later, earlier] = [-1, 1].map((by) => months[months.indexOf(month) + by]);
  const span = { fromUs: month.fromUs, untilUs: Math.min(month.untilUs, nowUs) };
  const isComparable = earlier && Math.max(flightsUs, ...watched.values()) <= earlier.fromUs;
  const fromUs = isComparable ? earlier.fromUs : month.fromUs;
  const { days: calendar, nests } = await countFlights(store, query, fromUs, month);
  const { episodes, alertsUs } = await readEpisodes(store, query, Math.max(span.fromUs, keptUs));
  const silences = (await store.transaction((tx) => tx.silences.list())).filter(
    ({ alertId, startsAtUs: us }) => alertId !== null && us >= span.fromUs && us < span.untilUs,
  );
  const { counted } = await countDeadlines(store, config, span, nowUs);
  const deadlines = counted.filter(({ place }) => regions.includes(place.region));
  const known = { months, month, earlier, later, watched, flightsUs, alertsUs };
  const { objectives = [] } = config;
  return { ...known, span, isComparable, calendar, nests, episodes, deadlines, silences, zone, objectives };
}

const aboutOf = ({ regions, nestId }: ReportQuery): Labels =>
  nestId === undefined ? {} : { nest_id: nestId, ...(regions.length === 1 && { region: regions[0]! }) };

/** The report of one Nest, by its labels, or of all. */
export async function reportOf(
  store: Store,
  read: Awaited<ReturnType<typeof readMonth>>,
  { region, nest_id: nestId }: Labels,
) {
  const { month, span, isComparable, calendar, zone, alertsUs, objectives } = read;
  const isAsked = (place: { region: string; nestId: string }) =>
    nestId === undefined || (place.nestId === nestId && (region === undefined || place.region === region));
  const nests = read.nests.filter(({ labels }) =>
    isAsked({ region: labels.region!, nestId: labels.nest_id! }),
  );
  const deadlines = read.deadlines.filter(({ place }) => isAsked(place));
  const episodes = read.episodes.filter((one) => isOfNest(one, nestId) && isOfRegion(one, region));
  const all = calendar.map((day, at) =>
    nests.reduce((sum, { days }) => add(sum, days[at]!), { ...day, ...NONE }),
  );
  const days = all.filter(({ fromUs }) => fromUs >= month.fromUs);
  const before = isComparable && figuresOf(all.filter(({ fromUs }) => fromUs < month.fromUs));
  const now = figuresOf(days);
  const alerts = alertsOfMonth(episodes, span);
  const causes: ReportRow[] = [];
  for (const { newest, figures } of alerts.causes.slice(0, CAUSES)) {
    causes.push({ text: await store.transaction((tx) => messageOfEpisode(tx, newest)), figures });
  }
  const ours = new Set<string | null>(episodes.map(({ alertId }) => alertId));
  const acknowledged = read.silences.filter(({ alertId }) => ours.has(alertId));
  const figures: ReportRow['figures'] = {
    ...now,
    ...(before && {
      flights_the_month_before: before.flights,
      success_the_month_before: before.success,
      // Of the shares as they are shown.
      success_difference: (Math.floor(now.success * 1000) - Math.floor(before.success * 1000)) / 1000,
    }),
    ...(deadlines.length > 0 && {
      deadlines: deadlines.reduce((sum, { met, late, missed }) => sum + met + late + missed, 0),
      deadlines_met: deadlines.reduce((sum, { met }) => sum + met, 0),
    }),
    ...(alertsUs < span.untilUs && alerts.figures),
  };
  const ofMonth = nests.map(({ labels, days: counts }) => {
    const own = counts.filter((_, at) => calendar[at]!.fromUs >= month.fromUs);
    const missed = deadlines
      .filter(({ place }) => place.region === labels.region && place.nestId === labels.nest_id)
      .reduce((sum, one) => sum + one.late + one.missed, 0);
    return { labels, missed, ...own.reduce(add, { ...NONE }) };
  });
  // A region has an objective of its own only where all of its Nests are reported.
  const ofRegion = nestId === undefined ? [...Map.groupBy(ofMonth, ({ labels }) => labels.region!)] : [];
  const regions = ofRegion.map(([name, own]) => ({
    labels: { region: name },
    missed: own.reduce((sum, { missed }) => sum + missed, 0),
    ...own.reduce(add, { ...NONE }),
  }));
  const tables = {
    month: [{ text: month.name, figures }],
    days: days.map((day) => ({ text: dayOf(day.fromUs, zone), figures: figuresOf([day]) })),
    objectives: objectiveRows(objectives, ofMonth, regions),
    worst_nests: ofMonth
      .sort((a, b) => b.failed - a.failed)
      .map((one) => ({ labels: one.labels, figures: figuresOf([one]) })),
    worst_birds: alerts.birds.map((one) => ({ labels: one.newest.labels, figures: one.figures })),
    causes,
    how_alerts_ended: lengthsOf(alerts.endings),
    acknowledged_by: lengthsOf(Map.groupBy(acknowledged, ({ createdBy }) => createdBy)),
  } satisfies Record<string, readonly ReportRow[]>;
  return { days, tables };
}

/** From this instant to that, the latest first. */
function monthsOf(zone: string, sinceUs: number, nowUs: number): Month[] {
  const calendar = periodsOf('1mo', zone);
  const months: Month[] = [];
  for (let us = nowUs; us >= sinceUs; us = months.at(-1)!.fromUs - 1) {
    const month = calendar.at(us);
    months.push({ ...month, name: dayOf(month.fromUs, zone).slice(0, '2026-11'.length) });
  }
  return months;
}

const dayOf = (us: number, zone: string) => exactZoneTime(us, zone).slice(0, '2026-11-30'.length);

/** The longest list first. */
function lengthsOf(lists: ReadonlyMap<string, readonly unknown[]>): ReportRow[] {
  const sorted = [...lists].sort(([, a], [, b]) => b.length - a.length);
  return sorted.map(([text, { length: alerts }]) => ({ text, figures: { alerts } }));
}

/** How Flights ended since `fromUs` until the end of the month, by Nest and day. */
async function countFlights(
  store: Store,
  { regions, nestId, zone }: ReportQuery,
  fromUs: number,
  month: Month,
) {
  const calendar = periodsOf('1d', zone);
  const days: Period[] = [];
  for (let day = calendar.at(fromUs); day.fromUs < month.untilUs; day = calendar.at(day.untilUs))
    days.push(day);
  const nests: { readonly labels: Labels; readonly days: readonly EndCounts[] }[] = [];
  for (const region of regions) {
    for (const { nestId: nest_id, name: nest } of await store.transaction((tx) =>
      tx.inventory.nests(region),
    )) {
      if (nestId !== undefined && nest_id !== nestId) continue;
      const counts = await store.transaction((tx) => tx.birds.nestDays({ region, nestId: nest_id }, days));
      nests.push({ labels: { region, nest_id, nest }, days: counts });
    }
  }
  return { days, nests };
}

const NONE = { succeeded: 0, failed: 0 };

/** What belongs to no region concerns all. */
function isOfRegion({ labels }: Episode, region: string | undefined): boolean {
  return region === undefined || labels.region === region || labels.region === 'all';
}

/** What impairs the watch concerns all Nests of a region. */
function isOfNest(one: Episode, nestId: string | undefined): boolean {
  return nestId === undefined || one.labels.nest_id === nestId || impairsWatch(one);
}

function add<Sum extends typeof NONE>(sum: Sum, { succeeded, failed }: EndCounts): Sum {
  sum.succeeded += succeeded;
  sum.failed += failed;
  return sum;
}

function figuresOf(all: readonly EndCounts[]) {
  const { succeeded, failed } = all.reduce(add, { ...NONE });
  return { flights: succeeded + failed, failed, success: successRatio({ succeeded, failed }) ?? Number.NaN };
}

/** All that fires, until now, and what ended since `fromUs`, or since a later `alertsUs` if that is too much. */
async function readEpisodes(store: Store, { regions, nestId, nowUs }: ReportQuery, fromUs: number) {
  // An alert may end in between: it is the same episode then.
  const found = new Map<string, Episode>();
  const find = (one: Episode) => {
    const { region = '' } = one.labels;
    if (!isOfNest(one, nestId) || !(regions.includes(region) || region === 'all')) return;
    found.set(`${one.startsAtUs} ${one.alertId}`, one);
  };
  for (let firing: Alert[] | undefined; firing === undefined || firing.length === STEP; ) {
    const after = firing?.at(-1);
    firing = await store.transaction((tx) => tx.alerts.firing(after, STEP));
    for (const one of firing) find({ ...episodeOf(one), endsAtUs: nowUs });
  }
  let place = { resolvedAtUs: Number.MAX_SAFE_INTEGER, alertId: '' };
  for (let examined = 0; examined < MOST_ENDED && place.resolvedAtUs >= fromUs; examined += STEP) {
    const ended = await store.transaction((tx) => tx.alerts.endedBefore(place, STEP));
    for (const { episode } of ended) find(episode);
    const last = ended.length === STEP ? ended.at(-1) : undefined;
    place = { resolvedAtUs: last?.resolvedAtUs ?? 0, alertId: last?.episode.alertId ?? '' };
  }
  return { episodes: [...found.values()], alertsUs: Math.max(place.resolvedAtUs, fromUs) };
}

// Reads what was said in an episode of an alert, also after the alert itself was deleted.

/** The last message of an episode that ended; empty if there was none, or it is no longer kept. */
export async function messageOfEpisode(tx: Transaction, episode: Episode): Promise<string> {
  const alert = await tx.alerts.find(episode.alertId);
  const isLast = alert?.startsAtUs === episode.startsAtUs;
  const [last] = isLast ? await tx.alerts.events(alert.id, 0, 1, alert.lastSeq) : [];
  if (last?.event.message) return last.event.message;
  const [failure] = await failuresOf(tx, episode, 1);
  return failure?.message ?? (isLast ? (alert.annotations.description ?? '') : '');
}

/** Its failed Flights, newest first. */
export async function failuresOf(
  tx: Transaction,
  { labels, startsAtUs, endsAtUs }: Pick<Alert, 'labels' | 'startsAtUs' | 'endsAtUs'>,
  limit: number,
): Promise<Event[]> {
  const { region, bird_id: bird } = labels;
  if (bird === undefined) return [];
  const times = { sinceUs: startsAtUs, untilUs: endsAtUs + 1 };
  const { events } = await tx.events.page({ region, bird, type: 'flight.failed', ...times, limit });
  return events.filter(({ birdId }) => birdId === bird);
}
