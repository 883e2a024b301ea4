/**
 * Gives the one answer to "is all well?": a pure function from the state of the watch to its impairments. The page,
 * `status`, the API, the heartbeat and the metrics all show this answer and no other.
 */
import type { RegionSnapshot } from '../region-progress.ts';
import type { FailingIntegration } from '../store/outbox-store.ts';
import type { RefusedFile, ReplicaRecord } from '../store/ownership-store.ts';
import type { QuarantinedFeed } from '../store/sql/watched/feed-streams.ts';
import type { StoreSpace } from '../store/store.ts';
import { dayAndTime } from '../text/instant-words.ts';
import { plainText } from '../text/plain-text.ts';
import { ENGLISH_FINDINGS, type Finding, sayFinding } from './finding.ts';
import { byGravity, type Impairment, impairment } from './impairment.ts';
import { refusalOf, type StoreRefusal } from './readiness.ts';

const MIB = 1024 * 1024;

/** Less free space than this is little on any disk; on a small disk, less than a tenth of it. */
const LEAST_FREE_BYTES = 512 * MIB;
const LEAST_FREE_PART = 1 / 10;

/** How long replicas may differ while they load a new configuration one after the other. */
const UNLIKE_FOR_US = 900e6;
const MAX_TEXT_LENGTH = 300;

/** All impairments, most severe first; empty if there is none. */
export function judgeHealth(snapshot: HealthSnapshot): Impairment[] {
  const { nowUs, regions, route, store, kept, refusedConfig, unreadSecrets, replicas } = snapshot;
  return [
    ...regions.flatMap((region) => judgeRegion(region, snapshot)),
    ...judgeStore(store, nowUs),
    ...judgeRoutes(route, nowUs),
    ...judgeConfig(refusedConfig, replicas),
    ...judgeSecrets(unreadSecrets, nowUs),
    ...judgeAlike(replicas, nowUs),
    ...judgeDeliveries(kept, nowUs),
    ...judgeEntries(kept),
  ].toSorted(byGravity);
}

/** Whether free space is so low that a person should make some. */
export function isDiskLow(space: StoreSnapshot['space']): boolean {
  // A store in memory has no disk, and a server's disk cannot be seen.
  if (space?.free === undefined || space.whole === 0) return false;
  return space.free < Math.min(LEAST_FREE_BYTES, space.whole * LEAST_FREE_PART);
}

/** What the first page says while the store fails like this. */
export function storeSentence(error: unknown): string {
  return sayFinding(ENGLISH_FINDINGS, findingOf(refusalOf(error)), dayAndTime).summary;
}

function findingOf({ why, message }: Pick<StoreRefusal, 'why' | 'message'>): Finding {
  if (why === 'full') return { sort: 'store_full', facts: {} };
  const facts = { message: plainText(message, MAX_TEXT_LENGTH) };
  return { sort: why === 'away' ? 'store_away' : 'store_fails', facts };
}

function judgeStore({ space, refusal }: StoreSnapshot, nowUs: number): Impairment[] {
  if (refusal) {
    const { sinceUs } = refusal;
    const rest = { reason: 'store_failing', severity: 'critical', sinceUs, stopsHeartbeat: true } as const;
    return [impairment(findingOf(refusal), rest)];
  }
  if (space?.free === undefined || !isDiskLow(space)) return [];
  const facts = { freeMib: Math.floor(space.free / MIB), usedMib: Math.ceil(space.used / MIB) };
  const rest = { severity: 'warning', sinceUs: nowUs, stopsHeartbeat: false } as const;
  return [impairment({ sort: 'disk_low', facts }, { reason: 'disk_low', ...rest })];
}

function judgeRoutes({ isAnybodyNotified, isForwarded, routes }: RouteSnapshot, nowUs: number): Impairment[] {
  const reason = 'nobody_notified';
  if (!isAnybodyNotified && !isForwarded) {
    const rest = { path: 'route', severity: 'critical', sinceUs: nowUs, stopsHeartbeat: true } as const;
    return [impairment({ sort: 'nobody_notified', facts: {} }, { reason, ...rest })];
  }
  return routes.map(({ path, receiver }) => {
    const facts = { receiver: plainText(receiver, MAX_TEXT_LENGTH), path };
    const rest = { path, receiver, severity: 'warning', sinceUs: nowUs, stopsHeartbeat: false } as const;
    return impairment({ sort: 'dead_end', facts }, { reason, ...rest });
  });
}

/** Replicas that refuse their file for the same reason are reported together: usually all have the same file. */
function judgeConfig(own: RefusedFile | undefined, replicas: readonly ReplicaSnapshot[]): Impairment[] {
  if (replicas.length === 0) return own ? [refusedBy(own, [])] : [];
  const refusing = replicas.flatMap(({ name, refused }) => (refused ? [{ name, refused }] : []));
  const alike = Map.groupBy(refusing, ({ refused: { mistakes, first } }) =>
    JSON.stringify([mistakes, first]),
  );
  return [...alike.values()].map((all) => {
    const sinceUs = Math.min(...all.map(({ refused }) => refused.sinceUs));
    const names = all.map(({ name }) => name).toSorted();
    return refusedBy({ ...all[0]!.refused, sinceUs }, names);
  });
}

function judgeSecrets(unread: HealthSnapshot['unreadSecrets'], nowUs: number): Impairment[] {
  return [...(unread ?? [])].map(([path, problem]) => {
    const facts = { path, problem: plainText(problem, MAX_TEXT_LENGTH) };
    const rest = { path, severity: 'warning', sinceUs: nowUs, stopsHeartbeat: false } as const;
    return impairment({ sort: 'secret_unread', facts }, { reason: 'config_refused', ...rest });
  });
}

/**
 * Finds replicas of one version with different configurations, although none refuses its file. Reported are those
 * that differ from the replica that loaded its configuration last. What is watched and sent then depends on which
 * replica does the work.
 */
function judgeAlike(replicas: readonly ReplicaSnapshot[], nowUs: number): Impairment[] {
  const known = replicas.filter(({ refused, config }) => !refused && config.digest !== '');
  return [...Map.groupBy(known, ({ version }) => version).values()].flatMap((all) => {
    const last = all.reduce((a, b) => (b.config.sinceUs > a.config.sinceUs ? b : a));
    const others = all.filter(({ config }) => config.digest !== last.config.digest);
    const sinceUs = last.config.sinceUs + UNLIKE_FOR_US;
    if (others.length === 0 || nowUs < sinceUs) return [];
    const names = others.map(({ name }) => name).toSorted();
    const replica = plainText(names.join(', '), MAX_TEXT_LENGTH);
    const facts = {
      replicas: replica,
      many: names.length > 1,
      newest: plainText(last.name, MAX_TEXT_LENGTH),
    };
    const rest = { replica, severity: 'warning', sinceUs, stopsHeartbeat: false } as const;
    return [impairment({ sort: 'configs_differ', facts }, { reason: 'configs_differ', ...rest })];
  });
}

function refusedBy({ mistakes, first, sinceUs }: RefusedFile, names: readonly string[]): Impairment {
  const replicas = plainText(names.join(', '), MAX_TEXT_LENGTH);
  const facts = { mistakes, first: plainText(first, MAX_TEXT_LENGTH), replicas, many: names.length > 1 };
  const concern = replicas === '' ? {} : { replica: replicas };
  const rest = { ...concern, severity: 'warning', sinceUs, stopsHeartbeat: false } as const;
  return impairment({ sort: 'config_refused', facts }, { reason: 'config_refused', ...rest });
}

function judgeDeliveries({ failing, isNobodyReached, dead }: KeptSnapshot, nowUs: number): Impairment[] {
  const failures = [...Map.groupBy(failing, ({ receiver }) => receiver)].map(([receiver, all]) => {
    const [first, ...others] = all.toSorted((a, b) => a.sinceUs - b.sinceUs);
    const { name, among, failures, lastError, sinceUs } = first!;
    const facts = {
      receiver: plainText(receiver, MAX_TEXT_LENGTH),
      integration: plainText(name, MAX_TEXT_LENGTH),
      others: plainText(others.map((one) => one.name).join(', '), MAX_TEXT_LENGTH),
      failing: all.length,
      among,
      failures,
      lastError: plainText(lastError, MAX_TEXT_LENGTH),
    };
    return impairment(
      { sort: 'receiver_failing', facts },
      {
        reason: 'receivers_failing',
        receiver,
        severity: isNobodyReached ? 'critical' : 'warning',
        sinceUs,
        stopsHeartbeat: isNobodyReached,
      },
    );
  });
  const given = dead.map(({ receiver, count }) => {
    const facts = { receiver: plainText(receiver, MAX_TEXT_LENGTH), count };
    const rest = { receiver, severity: 'warning', sinceUs: nowUs, stopsHeartbeat: false } as const;
    return impairment({ sort: 'deliveries_dead', facts }, { reason: 'deliveries_dead', ...rest });
  });
  return [...failures, ...given];
}

function judgeEntries({ quarantined, faults }: KeptSnapshot): Impairment[] {
  const unread = quarantined.map(({ region, feed, count, sinceUs }) => {
    const rest = { region, feed, severity: 'warning', sinceUs, stopsHeartbeat: false } as const;
    const finding = { sort: 'quarantined', facts: { region, feed, count } } as const;
    return impairment(finding, { reason: 'quarantine_growing', ...rest });
  });
  if (faults.count === 0) return unread;
  const facts = { count: faults.count, first: plainText(faults.first, MAX_TEXT_LENGTH) };
  const rest = { severity: 'warning', sinceUs: faults.sinceUs, stopsHeartbeat: false } as const;
  return [...unread, impairment({ sort: 'set_aside', facts }, { reason: 'faults_set_aside', ...rest })];
}

export interface HealthSnapshot {
  readonly nowUs: number;
  readonly regions: readonly RegionSnapshot[];
  /** How recently every feed should have been proven complete. */
  readonly proofMs: number;
  readonly route: RouteSnapshot;
  readonly store: StoreSnapshot;
  /** Why the configuration file is not in force; undefined if it is. */
  readonly refusedConfig: RefusedFile | undefined;
  /** The secrets whose file cannot be read again, by key, and why; their last values stay in use. */
  readonly unreadSecrets?: ReadonlyMap<string, string> | undefined;
  /** The replicas that share the store, including this one; empty if this process has its own store. */
  readonly replicas: readonly ReplicaSnapshot[];
  /** What the store last said. */
  readonly kept: KeptSnapshot;
}

interface RouteSnapshot {
  /** Whether any route leads to a receiver that notifies somebody. */
  readonly isAnybodyNotified: boolean;
  /** Whether events are forwarded somewhere. Such a setup may have no use for alerts. */
  readonly isForwarded: boolean;
  readonly routes: readonly { readonly path: string; readonly receiver: string }[];
}

interface StoreSnapshot {
  readonly space: StoreSpace | undefined;
  /** Why the store accepts nothing, and since when; undefined while it works. */
  readonly refusal: StoreRefusal | undefined;
}

export type ReplicaSnapshot = Pick<ReplicaRecord, 'name' | 'refused' | 'version' | 'config'>;

interface NamedFailure extends FailingIntegration {
  /** For people; without secrets. */
  readonly name: string;
  /** How many integrations its receiver has. */
  readonly among: number;
}

export interface KeptSnapshot {
  /** Configured integrations that have failed for two attempts and a second, or for ten seconds. */
  readonly failing: readonly NamedFailure[];
  /** Whether receivers of alerts were tried and none of them works. */
  readonly isNobodyReached: boolean;
  /** Deliveries of the last seven days that were given up. */
  readonly dead: readonly { readonly receiver: string; readonly count: number }[];
  /** Of the last hour. */
  readonly quarantined: readonly QuarantinedFeed[];
  readonly faults: { readonly count: number; readonly first: string; readonly sinceUs: number };
}

/** Used until the store has answered. */
export const NOTHING_KEPT: KeptSnapshot = {
  failing: [],
  isNobodyReached: false,
  dead: [],
  quarantined: [],
  faults: { count: 0, first: '', sinceUs: 0 },
};

// Judges the watch of one region. If the region does not answer, that explains everything else that is late in it.

interface Bounds {
  readonly nowUs: number;
  /** After this time a feed that is proven at each audit is not proven any more. */
  readonly proofMs: number;
  readonly replicas: readonly unknown[];
}

/** Smaller differences between clocks do no harm: answers take seconds, and `Date` headers have whole seconds. */
const MOST_SKEW_US = 60e6;

/** How long after a start unproven feeds are expected. */
const EARLY_US = 1800e6;

/** Flights are not audited. Instead, a Bird's polls look a day back once an hour (`flight-rescan.ts`). */
const FLIGHTS_PROVEN_EVERY_US = 3600e6;

/** If this share of a feed's streams is overdue, the feed as a whole counts as unread. */
const MOST_OF_A_FEED = 1 / 2;

const MAX_REASON_LENGTH = 300;
const MAX_GLOBS = 5;
const MAX_GLOB_LENGTH = 80;

/** The impairments of one region, in no particular order. */
function judgeRegion(region: RegionSnapshot, bounds: Bounds): Impairment[] {
  if (region.health.health !== 'up') return [unreachable(region, bounds)];
  return [
    ...(region.unlisted ? [unlisted(region, region.unlisted)] : firstPass(region, bounds)),
    ...noBirds(region, bounds),
    ...overdue(region, bounds),
    ...unproven(region, bounds),
    ...wrongClock(region, bounds),
  ];
}

function unreachable({ region, health }: RegionSnapshot, { nowUs }: Bounds): Impairment {
  const reason = health.health === 'down' ? 'region_down' : 'region_unauthorized';
  const facts = { region, said: plainText(health.reason, MAX_REASON_LENGTH) };
  const sinceUs = health.sinceUs || nowUs;
  return impairment(
    { sort: reason, facts },
    { reason, region, severity: 'critical', sinceUs, stopsHeartbeat: true },
  );
}

/** Replaces `first_pass`, since it explains why the first reading has not finished. */
function unlisted(
  { region, birds, started }: RegionSnapshot,
  { what, said, address, sinceUs, isAll }: NonNullable<RegionSnapshot['unlisted']>,
): Impairment {
  const facts = {
    region,
    what,
    said: plainText(said, MAX_REASON_LENGTH),
    address: plainText(address, MAX_REASON_LENGTH),
    known: isAll && started ? 0 : birds,
  };
  const rest = {
    region,
    path: `regions.${region}.base_url`,
    severity: isAll ? 'critical' : 'warning',
    sinceUs,
  } as const;
  return impairment(
    { sort: 'unlisted', facts },
    { reason: 'inventory_failing', ...rest, stopsHeartbeat: isAll },
  );
}

function firstPass(
  { region, beganUs, firstPass: pass, started }: RegionSnapshot,
  { nowUs }: Bounds,
): Impairment[] {
  if (!pass) return [];
  const { streams, read } = pass;
  const leftUs = read > 0 ? ((nowUs - beganUs) / read) * (streams - read) : 0;
  const untilUs = leftUs > 60e6 ? nowUs + leftUs : undefined;
  const progress = started && streams > 0 ? { read, streams, untilUs } : undefined;
  return [
    impairment(
      { sort: 'first_pass', facts: { region, progress } },
      // The first reading of a large region takes an hour, which should wake nobody. Until the region was listed,
      // though, the watch is worth nothing.
      { reason: 'first_pass', region, severity: 'info', sinceUs: beganUs || nowUs, stopsHeartbeat: !started },
    ),
  ];
}

function noBirds(snapshot: RegionSnapshot, { nowUs }: Bounds): Impairment[] {
  const { region, started, birds, nests, excludedNests, include } = snapshot;
  // Known Birds count as gone only at the second reading, but Birds of Nests that the configuration excludes at once.
  const areLeftOut = nests === 0 && excludedNests > 0;
  if (!started || (birds > 0 && !areLeftOut)) return [];
  const globs = include
    .slice(0, MAX_GLOBS)
    .map((glob) => JSON.stringify(plainText(glob, MAX_GLOB_LENGTH)))
    .join(', ');
  const path = `regions.${region}.nests`;
  return [
    impairment(
      { sort: 'no_birds', facts: { region, nests, excludedNests, globs } },
      { reason: 'no_birds', region, path, severity: 'critical', sinceUs: nowUs, stopsHeartbeat: true },
    ),
  ];
}

function overdue({ region, reads }: RegionSnapshot, { nowUs }: Bounds): Impairment[] {
  return reads
    .filter((one) => one.overdue > 0)
    .map(({ feed, streams, overdue: late, oldestReadUs }) => {
      const isWhole = late >= streams * MOST_OF_A_FEED;
      const oldestMs = oldestReadUs > 0 ? (nowUs - oldestReadUs) / 1000 : undefined;
      return impairment(
        { sort: 'overdue', facts: { region, feed, streams, late, oldestMs } },
        {
          reason: 'streams_overdue',
          region,
          feed,
          severity: isWhole ? 'critical' : 'warning',
          sinceUs: oldestReadUs || nowUs,
          stopsHeartbeat: isWhole,
        },
      );
    });
}

/** Streams that were never read are not proven either; `first_pass` says so already. */
function unproven(snapshot: RegionSnapshot, bounds: Bounds): Impairment[] {
  if (snapshot.firstPass) return [];
  const { nowUs, proofMs } = bounds;
  const late = snapshot.proofs.filter(({ feed, verifiedUntilUs }) => {
    const everyUs = feed === 'flight' ? FLIGHTS_PROVEN_EVERY_US : 0;
    return nowUs - verifiedUntilUs > everyUs + proofMs * 1000;
  });
  // Audits begin when everything was read, and take a while.
  const isEarly = nowUs - snapshot.beganUs < EARLY_US;
  return isEarly
    ? beingProven(snapshot, late)
    : late.map((proof) => notProven(snapshot.region, proof, nowUs));
}

type Proof = RegionSnapshot['proofs'][number];

function beingProven({ region, beganUs }: RegionSnapshot, late: readonly Proof[]): Impairment[] {
  if (late.length === 0) return [];
  const rest = { region, severity: 'info', sinceUs: beganUs, stopsHeartbeat: false } as const;
  return [impairment({ sort: 'being_proven', facts: { region } }, { reason: 'feed_unproven', ...rest })];
}

function notProven(region: string, { feed, verifiedUntilUs }: Proof, nowUs: number): Impairment {
  const facts = { region, feed, sinceUs: verifiedUntilUs || undefined };
  const sinceUs = verifiedUntilUs || nowUs;
  const rest = { region, feed, severity: 'warning', sinceUs, stopsHeartbeat: false } as const;
  return impairment({ sort: 'not_proven', facts }, { reason: 'feed_unproven', ...rest });
}

function wrongClock({ region, clockAheadUs }: RegionSnapshot, { nowUs, replicas }: Bounds): Impairment[] {
  if (Math.abs(clockAheadUs) <= MOST_SKEW_US) return [];
  const isServers = replicas.length > 0;
  const facts = { region, isServers, byMs: Math.abs(clockAheadUs) / 1000, isBehind: clockAheadUs > 0 };
  const rest = { region, severity: 'warning', sinceUs: nowUs, stopsHeartbeat: false } as const;
  return [impairment({ sort: 'clock_wrong', facts }, { reason: 'clock_wrong', ...rest })];
}
