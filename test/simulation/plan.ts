/**
 * Everything that will go wrong in the world of a seed, decided before anything happens. Each sort of trouble is
 * absent from many worlds, so that the others do not hide it; one world in ten is quite calm.
 *
 * Everything stays within what nestwatch promises to bear: only few entries are later than the overlap, and a list of
 * Flights is cut only where that can be noticed.
 */

import type { PollConfig } from '../../src/config/sections/poll-section.ts';
import type { Behaviours } from '../../src/simulator/world/behaviours.ts';
import { forked, pick, seededRandom } from '../../src/simulator/world/seeded-random.ts';
import type { Outage } from '../../src/simulator/world/world.ts';
import type { Random } from '../../src/time/clock.ts';

export interface Plan {
  readonly seed: number;
  /** The time with trouble and events. */
  readonly safetyMs: number;
  /** The time afterwards without trouble, in which everything that is due can be done. */
  readonly livenessMs: number;
  readonly regions: readonly RegionPlan[];
  readonly poll: Partial<PollConfig>;
  readonly route: {
    readonly groupWaitMs: number;
    readonly groupIntervalMs: number;
    readonly repeatIntervalMs: number;
  };
  readonly requestsPerSecond: number;
  /** How far the daemon's clock is ahead of the service's at first. */
  readonly clockAheadMs: number;
  readonly clockSteps: readonly ClockStep[];
  readonly crashes: readonly Crash[];
  readonly reloads: readonly Reload[];
  readonly receivers: ReceiverPlan;
}

export interface RegionPlan {
  readonly region: string;
  readonly seed: number;
  readonly birds: number;
  readonly nests: number;
  readonly behaviours: Partial<Behaviours>;
  readonly life: LifePlan;
  readonly outages: readonly PlannedOutage[];
  /** The share of lists of the inventory that lack an item. */
  readonly cutLists: number;
}

/** How often things happen in the whole region, per hour; 0 for never. */
export interface LifePlan {
  readonly flights: number;
  readonly failureShare: number;
  /** Flights that last for a large part of the world's time. */
  readonly longFlights: number;
  readonly reopenings: number;
  readonly edits: number;
  readonly brokenTriggers: number;
  readonly lostConnections: number;
  readonly ties: number;
  /** The number of entries at one instant. */
  readonly tieSize: number;
  readonly deletions: number;
  readonly duplicates: number;
  readonly malformed: number;
  readonly future: number;
  /** Birds and Nests appear, vanish, move, and are renamed, activated and deactivated. */
  readonly inventory: number;
  /** People join and leave Nests, Users are deactivated, empty Nests come and go, triggers change. */
  readonly people: number;
  /** Deleted Birds are listed again. */
  readonly returns: number;
}

export interface PlannedOutage {
  readonly atMs: number;
  readonly forMs: number;
  readonly kind: Outage | 'token';
}

export interface ClockStep {
  readonly atMs: number;
  readonly byMs: number;
}

export interface Crash {
  readonly atMs: number;
  /**
   * `rolled_back`, `committed`: at a transaction, before or after its commit. `sending`, `accepted`: at a message,
   * before or after it has arrived. `stop`: asked to stop, as by SIGTERM.
   */
  readonly kind: 'rolled_back' | 'committed' | 'sending' | 'accepted' | 'stop';
  /**
   * How many transactions or messages pass first. If it is even, only transactions that store events count, a quarter
   * as many.
   */
  readonly passing: number;
  readonly downMs: number;
  /** After this many transactions or messages following its restart, the process dies once more. */
  readonly again?: Pick<Crash, 'kind' | 'passing'>;
}

/** The daemon is given another configuration that says the same to people. */
export interface Reload {
  readonly atMs: number;
  /** What is begun anew: the reading of one region, that of all regions, or only alerting and delivery. */
  readonly anew: 'region' | 'regions' | 'stages';
}

/** Shares of the messages, together at most 1. */
export interface ReceiverPlan {
  readonly unavailable: number;
  readonly limited: number;
  /** 404, as from a proxy without its backend; never so often that a message would be given up. */
  readonly notFound: number;
  readonly unreachable: number;
  readonly timeout: number;
  readonly acceptedTimeout: number;
  readonly acceptedReset: number;
  readonly latencyMs: number;
}

export interface Span {
  /** The whole time of the world, including the quiet time at its end. */
  readonly hours: number;
}

/** A refusal is taken for the service's rate limit, so many random ones would slow everything down to a crawl. */
const REFUSALS_ARE_RARER = 8;

/** By then the hour before the first start has been read. */
const FIRST_READING_MS = 3_000;
/** Most of what a first reading does is storing what it read. */
const EARLY_CRASHES = ['rolled_back', 'rolled_back', 'rolled_back', 'committed', 'stop'] as const;

/** If entries come late, this many per hour are enough to learn from. */
const SLOW_EDITS = 80;

/** A world in which a region may be away for many hours. */
const LONG_WORLD_HOURS = 20;

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** Long enough for the longest waits: a token's next probe, a delivery's backoff, two readings of the inventory. */
const QUIET_MS = 40 * MINUTE_MS;
/** An alert that flaps keeps firing until it has been calm for this long; then its group notifies of the end. */
const CALM_MS = 20 * MINUTE_MS;

export function planOf(seed: number, { hours }: Span): Plan {
  const random = seededRandom(Math.imul(seed, 0x9e3779b1) ^ 0x5eed);
  const isCalm = random() < 0.1;
  const has = (share: number) => random() < share && !isCalm;
  const safetyMs = Math.max(20 * MINUTE_MS, hours * HOUR_MS - QUIET_MS);
  const clockSteps = has(0.3) ? newClockSteps(forked(random), safetyMs) : [];
  return {
    seed,
    safetyMs,
    // After a clock was set back, everything with a planned instant waits.
    livenessMs: QUIET_MS + CALM_MS + clockSteps.reduce((sum, step) => sum + Math.max(0, -step.byMs), 0),
    regions: ['eu', 'us'].map((region) => newRegion(region, forked(random), safetyMs, isCalm)),
    poll: {
      intervalMs: pick(random, [20_000, 30_000, 30_000, 60_000]),
      pageSize: pick(random, [100, 100, 20, 1000]),
    },
    route: {
      groupWaitMs: pick(random, [0, 10_000, 30_000]),
      groupIntervalMs: pick(random, [20_000, 60_000, 300_000]),
      repeatIntervalMs: pick(random, [HOUR_MS, 4 * HOUR_MS]),
    },
    requestsPerSecond: pick(random, [5, 20, 50]),
    clockAheadMs: has(0.3) ? Math.round((random() - 0.5) * pick(random, [3_000, 60_000, 2 * HOUR_MS])) : 0,
    clockSteps,
    crashes: has(0.6) ? newCrashes(forked(random), safetyMs) : [],
    reloads: isCalm ? [] : newReloads(seededRandom(seed ^ 0x4e10ad), safetyMs),
    receivers: newReceivers(random, has),
  };
}

function newRegion(region: string, random: Random, safetyMs: number, isCalm: boolean): RegionPlan {
  const has = (share: number) => random() < share && !isCalm;
  /** A rate, or 0. */
  const rate = (share: number, most: number) => (has(share) ? random() * most : 0);
  const maxPageSize = has(0.6) ? 2 + Math.floor(random() * 38) : 1000;
  const hours = safetyMs / HOUR_MS;
  const seed = Math.floor(random() * 2 ** 32);
  const slow = isCalm ? undefined : slowness(seededRandom(seed ^ 0x51033));
  return {
    region,
    seed,
    birds: 3 + Math.floor(random() * 6),
    nests: 1 + Math.floor(random() * 3),
    behaviours: {
      ...times(random, has),
      ...paging(random, has, maxPageSize),
      ...shapes(random, has),
      ...faults(random, has),
      ...slow,
    },
    life: {
      flights: 5 + random() * 60,
      failureShare: 0.05 + random() * 0.4,
      longFlights: rate(0.6, 4),
      reopenings: rate(0.4, 3),
      edits: rate(0.8, 30) + (slow ? SLOW_EDITS : 0),
      brokenTriggers: rate(0.5, 4),
      lostConnections: rate(0.5, 4),
      ties: rate(0.5, 4),
      tieSize: 2 + Math.floor(random() * 3 * Math.min(maxPageSize, 30)),
      deletions: rate(0.5, 20),
      duplicates: rate(0.4, 6),
      malformed: rate(0.4, 6),
      future: rate(0.3, 2),
      inventory: rate(0.5, 8),
      people: isCalm ? 0 : 12 * seededRandom(seed ^ 0x9e091e)(),
      returns: isCalm ? 0 : 4 * seededRandom(seed ^ 0x4e7042)(),
    },
    outages: has(0.5) ? newOutages(random, safetyMs, hours) : [],
    cutLists: isCalm ? 0 : 0.2 * seededRandom(seed ^ 0xc0711575)(),
  };
}

type Has = (share: number) => boolean;

function times(random: Random, has: Has): Partial<Behaviours> {
  const precisions = ['microsecond', 'microsecond', 'millisecond', 'second'] as const;
  return {
    bounds: pick(random, ['inclusive', 'exclusive']),
    comparedPrecision: pick(random, precisions),
    shownPrecision: pick(random, precisions),
    trimsZeros: has(0.5),
    startDateWithoutZ: has(0.3),
    instantStepMs: has(0.2) ? pick(random, [100, 1000]) : 0,
    ...lateness(random, has),
    errorMessagesLateMs: has(0.3) ? random() * 90_000 : 0,
  };
}

/** Many entries a little late, or a few so late that only the audit finds them. */
function lateness(random: Random, has: Has): Partial<Behaviours> {
  if (has(0.4)) return { lateShare: random() * 0.5, lateMinMs: 0, lateMaxMs: 1000 + random() * 59_000 };
  if (has(0.3)) return { lateShare: random() * 0.02, lateMinMs: 0, lateMaxMs: 12 * MINUTE_MS };
  return {};
}

/** A region that shows much of what happens later than sweeps look back at first, which can be learned. */
function slowness(random: Random): Partial<Behaviours> | undefined {
  if (random() > 0.12) return undefined;
  return { lateShare: 0.1 + random() * 0.3, lateMinMs: 150_000, lateMaxMs: 8 * MINUTE_MS };
}

function paging(random: Random, has: Has, maxPageSize: number): Partial<Behaviours> {
  return {
    maxPageSize,
    overMaxPageSize: pick(random, ['clamp', 'clamp', 'refuse']),
    totalCountCap: has(0.15) ? 1 + Math.floor(random() * 60) : 0,
    totalCountStaleMs: has(0.2) ? random() * 60_000 : 0,
    retentionMs: has(0.15) ? (1 + random() * 3) * HOUR_MS : 0,
    flightsCap: has(0.2) ? 20 + Math.floor(random() * 30) : 0,
    flightsOrder: pick(random, ['newest_first', 'oldest_first', 'by_id']),
  };
}

function shapes(random: Random, has: Has): Partial<Behaviours> {
  return {
    numbersAsText: has(0.3) ? random() : 0,
    nullFields: has(0.3) ? random() * 0.5 : 0,
    missingFields: has(0.3) ? random() * 0.5 : 0,
    extraKeys: has(0.3) ? random() : 0,
    unknownEnums: has(0.3) ? random() * 0.3 : 0,
  };
}

function faults(random: Random, has: Has): Partial<Behaviours> {
  const share = () => (has(0.25) ? random() * 0.02 : 0);
  return {
    tooManyRequests: share() / REFUSALS_ARE_RARER,
    error500: share(),
    error502: share(),
    error503: share() / REFUSALS_ARE_RARER,
    error504: share(),
    html: share(),
    htmlOk: share(),
    reset: share(),
    cut: share(),
    truncated: share(),
    retryAfter: pick(random, ['seconds', 'date', 'garbled', 'none']),
    retryAfterMs: 1000 + random() * 29_000,
    latencyMs: has(0.5) ? random() * 400 : 0,
    slow: has(0.2) ? random() * 0.02 : 0,
    slowMs: pick(random, [3_000, 20_000]),
    requestsPerSecond: has(0.2) ? 2 + random() * 4 : 0,
  };
}

function newOutages(random: Random, safetyMs: number, hours: number): PlannedOutage[] {
  const kinds = ['reset', 503, 'html', 'token'] as const;
  const newOutage = (forMs: number): PlannedOutage => ({
    atMs: Math.max(0, random() * (safetyMs - forMs)),
    forMs,
    kind: pick(random, kinds),
  });
  const outages = Array.from({ length: 1 + Math.floor(random() * Math.min(4, hours)) }, () =>
    newOutage(pick(random, [1, 5, 30]) * MINUTE_MS * (0.5 + random())),
  );
  // If there is time for it, so long that what happened meanwhile is no longer news.
  if (hours > LONG_WORLD_HOURS && random() < 0.4) outages.push(newOutage((6.5 + 4 * random()) * HOUR_MS));
  return outages;
}

function newClockSteps(random: Random, safetyMs: number): ClockStep[] {
  return Array.from({ length: 1 + Math.floor(random() * 2) }, () => ({
    atMs: random() * safetyMs,
    byMs: Math.round((random() - 0.5) * pick(random, [4_000, 180_000, 2 * HOUR_MS])),
  }));
}

function newCrashes(random: Random, safetyMs: number): Crash[] {
  const kinds = ['rolled_back', 'committed', 'sending', 'accepted', 'stop'] as const;
  const count = 1 + Math.floor(random() * (2 + 4 * (safetyMs / HOUR_MS)));
  const newCrash = (withinMs: number): Crash => ({
    atMs: random() * withinMs,
    kind: pick(random, kinds),
    passing: Math.floor(random() * 12),
    downMs: pick(random, [0, 1_000, 20_000, 20_000, 10 * MINUTE_MS]) * (0.5 + random()),
    ...(random() < 0.5 && { again: { kind: pick(random, kinds), passing: Math.floor(random() * 20) } }),
  });
  const crashes = Array.from({ length: count }, () => newCrash(safetyMs));
  // The first reading brings more at once than any other.
  if (random() < 0.5) crashes.push({ ...newCrash(FIRST_READING_MS), kind: pick(random, EARLY_CRASHES) });
  return crashes.sort((a, b) => a.atMs - b.atMs);
}

/** In half of the worlds. */
function newReloads(random: Random, safetyMs: number): Reload[] {
  const most = 1 + 3 * (safetyMs / HOUR_MS);
  const count = random() < 0.5 ? 0 : 1 + Math.floor(random() * most);
  return Array.from({ length: count }, () => ({
    atMs: random() * safetyMs,
    anew: pick(random, ['region', 'regions', 'stages'] as const),
  })).sort((a, b) => a.atMs - b.atMs);
}

function newReceivers(random: Random, has: Has): ReceiverPlan {
  const isBad = has(0.6);
  const share = () => (isBad && random() < 0.5 ? random() * 0.15 : 0);
  return {
    unavailable: share(),
    limited: share(),
    notFound: share(),
    unreachable: share(),
    timeout: share(),
    acceptedTimeout: share(),
    acceptedReset: share(),
    latencyMs: has(0.5) ? random() * 3_000 : 0,
  };
}
