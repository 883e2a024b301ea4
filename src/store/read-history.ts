/** Reads the past of Birds for the kinds that judge it, within one transaction, and each part only if one asks for it. */
import { SWITCHES, switchedOffBy } from '../domain/kinds/bird-deactivated.ts';
import type { BirdToJudge, History } from '../domain/kinds/judge.ts';
import { KINDS } from '../domain/kinds/kinds.ts';
import { isWithinAny, type TimeIntervals } from '../domain/muting/time-interval.ts';
import type { Period } from '../time/calendar-period.ts';
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

const NO_GAPS = { count: 0, longestUs: 0, spanUs: 0 };

/** Alerts of these kinds say that Flights of a region may be missing; late ones are read in the end. */
const BLIND = KINDS.filter(({ name, inhibitsRegion }) => inhibitsRegion || name === 'FeedIncomplete');

/** Returns the past of one after another; that of a Bird is read once for all its Flights. */
export function createHistories(
  tx: Transaction,
  { flightsReadUs, timeIntervals, lookbackMs, areLogsRead = false }: HistoryOptions,
) {
  const known = new Map<string, Promise<number | undefined>>();
  const blind = new Map<string, Promise<readonly Period[]>>();
  const read = new Map<string, Promise<unknown>>();
  function once<T>(what: string, stream: number, reading: () => Promise<T>): Promise<T> {
    const key = `${what} ${stream}`;
    const found = (read.get(key) as Promise<T> | undefined) ?? reading();
    read.set(key, found);
    return found;
  }
  return ({ place, stream }: Pick<BirdToJudge, 'place' | 'stream'>): History => ({
    readAtUs: flightsReadUs(place.region, place.birdId) ?? 0,
    areLogsRead,
    async knownFromUs() {
      const since = known.get(place.region) ?? tx.inventory.knownSince(place.region);
      known.set(place.region, since);
      const sinceUs = await since;
      return sinceUs === undefined ? undefined : sinceUs - lookbackMs * 1000;
    },
    flightsSince: async (us) => (stream === undefined ? [] : tx.flights.since(stream, us)),
    endOf: ({ flightId, status }) => tx.events.find(`${place.region}/flight/${flightId}/${status}`),
    switchedOff: async () => switchedOffBy(await tx.birds.lastOfTypes(place.region, place.birdId, SWITCHES)),
    isWithin: isWithinAny(timeIntervals),
    durations: async () =>
      stream === undefined ? [] : once('durations', stream, () => tx.flights.durations(stream)),
    landed: async (most) => (stream === undefined ? [] : tx.flights.landed(stream, most)),
    starts: async (fromUs, untilUs) =>
      stream === undefined ? 0 : tx.flights.countStarts(stream, fromUs, untilUs),
    firstStartUs: async () => (stream === undefined ? undefined : tx.flights.firstStart(stream)),
    blindSpans(sinceUs) {
      // To the day, so that the Birds of a region share it.
      const day = Math.floor(sinceUs / 86_400_000_000);
      const key = `${place.region} ${day}`;
      const spans = blind.get(key) ?? readBlindSpans(tx, place.region, day * 86_400_000_000);
      blind.set(key, spans);
      return spans;
    },
    gaps: async () => (stream === undefined ? NO_GAPS : once('gaps', stream, () => tx.flights.gaps(stream))),
  });
}

async function readBlindSpans(tx: Transaction, region: string, sinceUs: number): Promise<Period[]> {
  const firing = (await tx.alerts.ofScopes([region])).filter(
    ({ state, alertname }) => state === 'firing' && BLIND.some(({ name }) => name === alertname),
  );
  const spans = firing.map(({ startsAtUs }) => ({
    fromUs: startsAtUs,
    untilUs: Number.POSITIVE_INFINITY,
  }));
  for (const { name } of BLIND) {
    for (const { startsAtUs, endsAtUs } of await tx.alerts.episodesSince(name, region, sinceUs)) {
      spans.push({ fromUs: startsAtUs, untilUs: endsAtUs });
    }
  }
  return spans;
}
