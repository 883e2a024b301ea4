/**
 * Counts how Flights ended in a period, one at a time. Memory grows with Birds and sorts of errors, not with Flights,
 * so a month of them fits.
 */
import { signature } from '../alert/error-signature.ts';

/** A Flight that ended, from its event. */
export interface EndedFlight {
  readonly occurredAtUs: number;
  readonly status: 'succeeded' | 'failed' | 'cancelled';
  readonly region: string;
  readonly nest: string;
  readonly nestId: string;
  readonly bird: string;
  readonly birdId: string;
  readonly message: string;
  /** Null if unknown. */
  readonly durationUs: number | null;
}

/** A Nest, or a Bird in it. */
export interface Place {
  readonly region: string;
  readonly nest: string;
  /** Empty for the Nest itself. */
  readonly bird: string;
}

export interface Failures extends Place {
  readonly failed: number;
  readonly succeeded: number;
  /** Absent for a Nest, and in older digests. */
  readonly birdId?: string;
}

/** Sorts of errors counted separately; all others count as one. */
const MAX_CAUSES = 1_000;
const OTHER = 'other errors';
/** Messages are cut to this for a digest. */
const MESSAGE_UNITS = 300;
/** Examples kept of each cause. */
const EXAMPLES = 3;
/** How many Flights must be known before any is called slow. */
const LEAST_FLIGHTS = 5;

/** Birds that differ less from the previous period are not asked about. */
const LEAST_DIFFERENCE = 1.5;

interface Counted {
  readonly place: Place;
  failed: number;
  succeeded: number;
  readonly now: Durations;
  readonly before: Durations;
}

interface CountedCause {
  failed: number;
  message: string;
  readonly birds: Set<string>;
  readonly examples: Place[];
}

export type FlightTally = ReturnType<typeof createFlightTally>;

export function createFlightTally() {
  const birds = new Map<string, Counted>();
  const nests = new Map<string, Counted>();
  const causes = new Map<string, CountedCause>();
  let failed = 0;
  let succeeded = 0;
  let cancelled = 0;
  const before = { failed: 0, succeeded: 0 };

  function countCause(flight: EndedFlight, key: string, place: Place): void {
    const error = signature(flight.message);
    const name = causes.has(error) || causes.size < MAX_CAUSES ? error : OTHER;
    const cause = causes.get(name) ?? { failed: 0, message: '', birds: new Set(), examples: [] };
    causes.set(name, cause);
    cause.failed += 1;
    if (name !== OTHER) cause.message = flight.message.slice(0, MESSAGE_UNITS).toWellFormed();
    if (cause.birds.has(key)) return;
    cause.birds.add(key);
    if (cause.examples.length < EXAMPLES) cause.examples.push(place);
  }

  return {
    /** `isCurrent` is false for a Flight of the previous period. */
    add(flight: EndedFlight, isCurrent: boolean): void {
      const { region, nest, nestId, bird, birdId, status } = flight;
      if (status === 'cancelled') {
        if (isCurrent) cancelled += 1;
        return;
      }
      const place = { region, nest: nest || nestId, bird: bird || birdId };
      const key = JSON.stringify([region, birdId]);
      const own = counted(birds, key, place);
      if (status === 'succeeded' && flight.durationUs !== null) {
        (isCurrent ? own.now : own.before).add(flight.durationUs);
      }
      if (!isCurrent) {
        before[status] += 1;
        return;
      }
      const around = counted(nests, JSON.stringify([region, nestId]), { ...place, bird: '' });
      for (const one of [own, around]) one[status] += 1;
      if (status === 'succeeded') {
        succeeded += 1;
        return;
      }
      failed += 1;
      countCause(flight, key, place);
    },
    /** The Birds whose Flights differ most from the previous period, in number or in duration: the first `limit`. */
    differing(limit: number): (Place & { readonly birdId: string })[] {
      return [...birds]
        .map(([key, one]) => ({ key, place: one.place, times: timesDifferent(one) }))
        .filter(({ times }) => times >= LEAST_DIFFERENCE)
        .sort((a, b) => b.times - a.times || byName(a.place, b.place))
        .slice(0, limit)
        .map(({ key, place }) => ({ ...place, birdId: idIn(key) }));
    },
    /** The first `limit` items of each list. */
    result(limit: number) {
      const failingNests = failing(nests);
      const failingBirds = failing(birds);
      const byCount = [...causes].sort(
        ([a, one], [b, other]) => other.failed - one.failed || (a < b ? -1 : 1),
      );
      return {
        failed,
        succeeded,
        cancelled,
        ...(before.failed + before.succeeded > 0 && { before }),
        nests: failingNests.slice(0, limit),
        nestsFailing: failingNests.length,
        birds: failingBirds.slice(0, limit),
        birdsFailing: failingBirds.length,
        causes: byCount.slice(0, limit).map(([error, one]) => ({
          error,
          message: one.message,
          failed: one.failed,
          birds: one.birds.size,
          examples: one.examples,
        })),
        causesTotal: causes.size,
        slowest: slowest(birds).slice(0, limit),
      };
    },
  };
}

/** The id of the Bird or Nest that is counted under this key. */
function idIn(key: string): string {
  return (JSON.parse(key) as [region: string, id: string])[1];
}

function counted(map: Map<string, Counted>, key: string, place: Place): Counted {
  let found = map.get(key);
  if (!found) {
    found = { place, failed: 0, succeeded: 0, now: createDurations(), before: createDurations() };
    map.set(key, found);
  }
  return found;
}

function failing(map: ReadonlyMap<string, Counted>): Failures[] {
  return [...map]
    .filter(([, one]) => one.failed > 0)
    .map(([key, { place, failed, succeeded }]) => ({
      ...place,
      ...(place.bird !== '' && { birdId: idIn(key) }),
      failed,
      succeeded,
    }))
    .sort((a, b) => b.failed - a.failed || byName(a, b));
}

/** By the 95th percentile of the durations of succeeded Flights; the previous one is null if too few are known. */
function slowest(map: ReadonlyMap<string, Counted>) {
  return [...map.values()]
    .filter(({ now }) => now.count() >= LEAST_FLIGHTS)
    .map(({ place, now, before }) => ({
      ...place,
      p95Us: now.percentile(0.95),
      beforeUs: before.count() >= LEAST_FLIGHTS ? before.percentile(0.95) : null,
    }))
    .sort((a, b) => b.p95Us - a.p95Us || byName(a, b));
}

/** How many times more or fewer Flights succeeded than in the previous period, or how many times longer they took. */
function timesDifferent({ now, before }: Counted): number {
  const [most, least] = [Math.max(now.count(), before.count()), Math.min(now.count(), before.count())];
  const longer = least === 0 ? 1 : now.percentile(0.95) / Math.max(1, before.percentile(0.95));
  return Math.max(most < LEAST_FLIGHTS ? 1 : most / (least || 0.5), longer);
}

function byName(a: Place, b: Place): number {
  const [one, other] = [a, b].map(({ region, nest, bird }) => JSON.stringify([region, nest, bird]));
  return one! < other! ? -1 : 1;
}

/** The ratio of neighbouring buckets' upper bounds, which determines the precision of percentiles. */
const STEP = Math.log(1.05);

/** A histogram of durations: a few hundred numbers at most, however many durations there are. */
type Durations = ReturnType<typeof createDurations>;

function createDurations() {
  const buckets = new Map<number, number>();
  let count = 0;
  let longestUs = 0;
  return {
    add(us: number): void {
      const bucket = Math.ceil(Math.log(Math.max(1, us)) / STEP);
      buckets.set(bucket, (buckets.get(bucket) ?? 0) + 1);
      count += 1;
      longestUs = Math.max(longestUs, us);
    },
    count: () => count,
    percentile(part: number): number {
      let left = Math.ceil(count * part);
      for (const [bucket, size] of [...buckets].sort(([a], [b]) => a - b)) {
        left -= size;
        if (left <= 0) return Math.min(longestUs, Math.round(Math.exp(bucket * STEP)));
      }
      return longestUs;
    },
  };
}
