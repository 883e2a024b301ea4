/**
 * Reads what is known of Birds for the kinds that judge it, within one transaction: their past, each part only if one asks
 * for it, and how they are now.
 */
import { wireText } from '../domain/alert/event.ts';
import { SWITCHES, switchedOffBy } from '../domain/kinds/bird-deactivated.ts';
import type { ListedBird } from '../domain/kinds/inventory/compare-birds.ts';
import type { BirdToJudge, History } from '../domain/kinds/judge.ts';
import { KINDS } from '../domain/kinds/kinds.ts';
import { isWithinAny, type TimeIntervals } from '../domain/muting/muting.ts';
import type { Period } from '../time/zone-format.ts';
import type { Transaction } from './store.ts';

export interface HistoryOptions {
  /** When the last reading of a Bird's Flights since the start of the process began; undefined if there was none. */
  readonly flightsReadUs: (region: string, birdId: string) => number | undefined;
  readonly timeIntervals: TimeIntervals;
  /** How long before it was first watched a region's Flights are known. */
  readonly lookbackMs: number;
  /** Whether logs of Flights are read for kinds that want them. */
  readonly areLogsRead?: boolean;
}

const DAY_US = 86_400_000_000;

/** Flights whose durations show what is usual. */
const LAST_FLIGHTS = 500;

const NO_GAPS = { count: 0, longestUs: 0, spanUs: 0 };

/** Alerts of these kinds say that Flights of a region may be missing; late ones are read in the end. */
const BLIND = KINDS.filter(({ name, inhibitsRegion }) => inhibitsRegion || name === 'FeedIncomplete');

/** Returns the past of one after another; that of a Bird is read once for all its Flights. */
export function createHistories(
  tx: Transaction,
  { flightsReadUs, timeIntervals, lookbackMs, areLogsRead = false }: HistoryOptions,
) {
  const once = readingOnce();
  return ({ place: { region, birdId }, stream }: Pick<BirdToJudge, 'place' | 'stream'>): History => {
    const ofFlights = async <T>(before: T, read: (stream: number) => Promise<T>) =>
      stream === undefined ? before : read(stream);
    return {
      readAtUs: flightsReadUs(region, birdId) ?? 0,
      areLogsRead,
      async knownFromUs() {
        const sinceUs = await once(`known ${region}`, () => tx.inventory.knownSince(region));
        return sinceUs === undefined ? undefined : sinceUs - lookbackMs * 1000;
      },
      flightsSince: (us) => ofFlights([], (of) => tx.flights.since(of, us)),
      endOf: ({ flightId, status }) => tx.events.find(`${region}/flight/${flightId}/${status}`),
      switchedOff: async () => switchedOffBy(await tx.birds.lastOfTypes(region, birdId, SWITCHES)),
      isWithin: isWithinAny(timeIntervals),
      durations: () => ofFlights([], (of) => once(`durations ${of}`, () => durationsOf(tx, of))),
      landed: (most) => ofFlights([], (of) => tx.flights.landed(of, most)),
      starts: (fromUs, untilUs) => ofFlights(0, (of) => tx.flights.countStarts(of, fromUs, untilUs)),
      firstStartUs: () => ofFlights(undefined, (of) => tx.flights.firstStart(of)),
      blindSpans(sinceUs) {
        // To the day, so that the Birds of a region share it.
        const dayUs = sinceUs - (sinceUs % DAY_US);
        return once(`blind ${region} ${dayUs}`, () => readBlindSpans(tx, region, dayUs));
      },
      gaps: () => ofFlights(NO_GAPS, (of) => once(`gaps ${of}`, () => tx.flights.gaps(of))),
    };
  };
}

async function durationsOf(tx: Transaction, stream: number): Promise<readonly number[]> {
  return (await tx.flights.landed(stream, LAST_FLIGHTS)).map((one) => one.endedAtUs - one.startedAtUs);
}

/** When the region could not be read since that instant, at least in part. */
export async function readBlindSpans(tx: Transaction, region: string, sinceUs: number): Promise<Period[]> {
  const firing = (await tx.alerts.ofScopes([region])).filter(
    ({ state, alertname }) => state === 'firing' && BLIND.some(({ name }) => name === alertname),
  );
  const spans = firing.map(({ startsAtUs: fromUs }) => ({ fromUs, untilUs: Number.POSITIVE_INFINITY }));
  for (const { name } of BLIND) {
    for (const { startsAtUs, endsAtUs } of await tx.alerts.episodesSince(name, region, sinceUs)) {
      spans.push({ fromUs: startsAtUs, untilUs: endsAtUs });
    }
  }
  return spans;
}

/** The Birds of a region that the service has and nestwatch watches. */
export async function readListedBirds(
  { inventory }: Pick<Transaction, 'inventory'>,
  region: string,
): Promise<ListedBird[]> {
  const nests = new Map((await inventory.nests(region)).map(({ nestId, name }) => [nestId, name]));
  return (await inventory.birds(region))
    .filter(({ present }) => present)
    .map(({ nestId, birdId: id, name, status, triggerType, isPublished }) => ({
      ...{ region, nest: wireText(nests.get(nestId) || nestId), bird: wireText(name || id), id },
      ...{ status: status || undefined, trigger: triggerType || undefined },
      // Unknown until the first reading after an update; then the status tells as much.
      ...{ published: isPublished ?? (status === '' ? undefined : status !== 'unpublished'), nestId },
    }));
}

/** Returns a function that reads each thing once, by its name, however many ask for it. */
export function readingOnce() {
  const read = new Map<string, Promise<unknown>>();
  return <T>(name: string, reading: () => Promise<T>): Promise<T> => {
    const found = (read.get(name) as Promise<T> | undefined) ?? reading();
    read.set(name, found);
    return found;
  };
}
