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
import { judgeRegion } from './judge-region.ts';
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
