/**
 * THE FLOW. Read this first.
 *
 *   the service ──► intake ──► one transaction ──► alerting ──► one transaction ──► delivery ──► email · webhook
 *                   sweep      events             groups        outbox              send
 *                   flights    alerts             due now       rows                settle
 *                   audit      cursor
 *                   inventory
 *
 * The store is the only meeting point of the three stages. Each wakes the next when it has committed something;
 * a wake that is lost costs time, never an event, because every stage finds its work in the store. Metrics, log and
 * page look on through `report` and `status`; nothing flows through them.
 */

import { createAlerting } from './alerting/alerting.ts';
import { createDigests } from './alerting/send-digests.ts';
import type { OpenChannels } from './channels/channel.ts';
import { notifiesMembers } from './channels/traits.ts';
import type { Config } from './config/config.ts';
import type { RegionConfig } from './config/sections/regions-section.ts';
import { createHeartbeat } from './delivery/heartbeat.ts';
import { createDelivery } from './delivery/outbox.ts';
import { createRepeating } from './delivery/repeat-alerts.ts';
import { createHealth, type HealthAnswer } from './health/health.ts';
import type { Impairment } from './health/impairment.ts';
import type { RegionSnapshot } from './health/snapshot.ts';
import type { Transport } from './http/transport.ts';
import { type Commit, createCommit } from './intake/commit.ts';
import type { FeedProgress } from './intake/feed-progress.ts';
import type { FeedReads } from './intake/read-progress.ts';
import { RegionIntake } from './intake/region.ts';
import type { AcknowledgeLinks } from './operator/acknowledge-link.ts';
import type { Happening, Report } from './report.ts';
import { createServiceClient, type RegionHealth, type ServiceClient } from './service/client.ts';
import type { Store } from './store/store.ts';
import type { Clock, Random } from './time/clock.ts';

/** Everything that comes from outside: the edge brings the real ones, a simulation virtual ones. */
export interface DaemonParts {
  readonly config: Config;
  readonly store: Store;
  /** The way to a region's service. */
  readonly transportOf: (region: string) => Transport;
  readonly channels: OpenChannels;
  /** The way to the outside watchdog; needed where a heartbeat is configured. */
  readonly watchdog?: Transport;
  /** Signs the links by which alerts are acknowledged from messages; absent for none. */
  readonly links?: AcknowledgeLinks;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
}

export interface Daemon {
  /** Runs until `signal` aborts; resolves when what was under way is finished. */
  run(signal: AbortSignal): Promise<void>;
  /**
   * Reads every stream once and notifies of what there is. A region that refuses the token, or is away for longer
   * than a moment, is left. Nothing more is begun once `signal` aborts.
   */
  runOnce(signal: AbortSignal): Promise<OnceOutcome>;
  /** Something was written from outside: silences, deliveries put back. */
  wake(): void;
  /** Somebody says that a region which is only probed now and then is mended: it is asked at once. */
  probe(region: string): void;
  /** Deletes a bounded batch of what is past the retention; resolves to how many rows went. */
  prune(): Promise<number>;
  regions(): readonly RegionProgress[];
  /** What impairs the watch: the one answer that page, API, command, metrics and heartbeat show. */
  health(): Promise<HealthAnswer>;
  /** False while the store takes nothing: the watch stands still, although it may go on by itself. */
  hasRoom(): boolean;
  /** Hears of failures to write outside of the stages. */
  hear(happening: Happening): void;
}

export interface OnceOutcome {
  /** Regions that were left. */
  readonly left: readonly string[];
  /** Streams of the other regions that could not be read. */
  readonly unread: number;
  /** Deliveries that were tried and not accepted. */
  readonly unaccepted: number;
}

export interface RegionProgress {
  readonly region: string;
  readonly health: RegionHealth;
  readonly requestsPerSecond: number;
  readonly nests: number;
  readonly birds: number;
  /** True once the inventory was read in this life. */
  readonly started: boolean;
  /** How late the audits are; 0 while they keep their interval. */
  readonly auditsBehindMs: number;
  readonly feeds: readonly FeedProgress[];
  /** Of each feed and the inventory, how long ago their streams were read. */
  readonly reads: readonly FeedReads[];
}

/** How long a reading that is done once waits for a region that went away. */
const ONCE_PATIENCE_MS = 10_000;

/** Rows deleted in one transaction, so that pruning never holds the other stages up for long. */
const PRUNE_BATCH = 2_000;

export function createDaemon(parts: DaemonParts): Daemon {
  const { config, store, clock, random } = parts;
  /** Health hears of all that the stages report. */
  function report(happening: Happening): void {
    parts.report(happening);
    health.hear(happening);
  }
  const health = createHealth({
    config,
    store,
    regions: () => regions.map(snapshotOf),
    clock,
    report,
  });
  const stage = { store, clock, random, report };
  const { receivers } = config;
  const { externalUrl } = config.web;

  const delivery = createDelivery({
    ...stage,
    receivers,
    channels: parts.channels,
    externalUrl,
    links: parts.links,
    failed: () => alerting.wake(),
  });
  const alerting = createAlerting({
    ...stage,
    config,
    queued: delivery.wake,
    flightsReadUs: (region, birdId) =>
      regions.find(({ name }) => name === region)?.intake.flightsReadUs(birdId),
  });
  const commit = createCommit({
    ...stage,
    rules: config.rules,
    forward: config.forward,
    changed: alerting.wake,
  });
  const regions = config.regions.map((region) => createRegion({ ...parts, report }, region, commit));

  const progress = () => regions.map(progressOf);
  const digests = createDigests({
    ...stage,
    config,
    queued: delivery.wake,
    regions: () => progress().map(verifiedOf),
  });
  const repeating = createRepeating({
    ...stage,
    receivers,
    channels: parts.channels,
    externalUrl,
  });
  const heartbeat = createHeartbeatOf({ ...parts, report }, async () => (await health.read()).impairments);

  return {
    async run(signal) {
      closeOnAbort(regions, signal);
      await Promise.all([
        ...regions.map(({ intake }) => intake.run(signal)),
        alerting.run(signal),
        delivery.run(signal),
        repeating.run(signal),
        digests.run(signal),
        health.run(signal),
        heartbeat?.run(signal),
      ]);
    },

    async runOnce(signal) {
      closeOnAbort(regions, signal);
      const readings = await Promise.all(regions.map((region) => readOnce(region, clock, signal)));
      await closeClients(regions);
      if (!signal.aborted) await alerting.drain();
      const unaccepted = signal.aborted ? 0 : await delivery.drain();
      return {
        left: readings.flatMap(({ name, isLeft }) => (isLeft ? [name] : [])),
        unread: readings.reduce((sum, { unread }) => sum + unread, 0),
        unaccepted,
      };
    },

    wake() {
      alerting.wake();
      delivery.wake();
    },

    probe(region) {
      regions.find(({ name }) => name === region)?.intake.probe();
    },

    prune() {
      const beforeUs = clock.nowUs() - config.store.retentionMs * 1000;
      return store.transaction((tx) => tx.upkeep.prune(beforeUs, PRUNE_BATCH));
    },

    regions: progress,
    health: health.read,
    hasRoom: health.hasRoom,
    hear: health.hear,
  };
}

/** One region: its configuration, the client of its service, and the intake that reads it. No region waits for another. */
interface Region {
  readonly name: string;
  readonly config: RegionConfig;
  readonly client: ServiceClient;
  readonly intake: RegionIntake;
}

function createRegion(parts: DaemonParts, region: RegionConfig, commit: Commit): Region {
  const { config, store, clock, random, report } = parts;
  const transport = parts.transportOf(region.name);
  const client = createServiceClient({ region, transport, clock, random, report });
  const intake = new RegionIntake({
    store,
    clock,
    random,
    report,
    region,
    client,
    commit,
    poll: config.poll,
    retentionMs: config.store.retentionMs,
    keepsMembers: notifiesMembers(config.receivers),
  });
  return { name: region.name, config: region, client, intake };
}

function progressOf({ name, client, intake }: Region): RegionProgress {
  return {
    region: name,
    health: client.health(),
    requestsPerSecond: client.rate(),
    nests: intake.inventory.nests().length,
    birds: intake.inventory.birds().length,
    started: intake.started(),
    auditsBehindMs: intake.auditLagMs(),
    feeds: intake.feeds(),
    reads: intake.reads(),
  };
}

function snapshotOf(region: Region): RegionSnapshot {
  const { config, intake } = region;
  const progress = progressOf(region);
  return {
    ...progress,
    excludedNests: intake.inventory.excludedNests(),
    include: config.nests.include,
    clockAheadUs: intake.clockAheadUs(),
    beganUs: intake.beganUs(),
    firstPass: intake.firstPass(),
    proofs: polled(progress.feeds),
  };
}

function verifiedOf({ region, feeds }: RegionProgress) {
  return { region, verifiedUntilUs: Math.min(...polled(feeds).map((feed) => feed.verifiedUntilUs)) };
}

/** The heartbeat, where one is configured and there is a way to the watchdog. */
function createHeartbeatOf(
  { config, watchdog, clock, report }: DaemonParts,
  impairments: () => Promise<readonly Impairment[]>,
) {
  if (!config.heartbeat || !watchdog) return undefined;
  return createHeartbeat({ config: config.heartbeat, impairments, transport: watchdog, clock, report });
}

/** Reads each stream of a region once; leaves the region where that is in vain. */
async function readOnce({ name, client, intake }: Region, clock: Clock, signal: AbortSignal) {
  const gone = goneForGood(client, clock);
  await intake.run(AbortSignal.any([signal, gone]), { once: true });
  return { name, isLeft: gone.aborted, unread: gone.aborted ? 0 : intake.failing() };
}

function closeOnAbort(regions: readonly Region[], signal: AbortSignal): void {
  signal.addEventListener('abort', () => closeClients(regions), { once: true });
}

async function closeClients(regions: readonly Region[]): Promise<void> {
  await Promise.all(regions.map(({ client }) => client.close()));
}

/** Aborts when it is in vain to wait for the region. */
function goneForGood(client: ServiceClient, clock: Clock): AbortSignal {
  const gone = new AbortController();
  let cancel = () => {};
  client.onHealthChange(({ health }) => {
    cancel();
    if (health === 'unauthorized') gone.abort();
    else if (health === 'down') cancel = clock.setTimer(ONCE_PATIENCE_MS, () => gone.abort());
  });
  return gone.signal;
}

/** Feeds without anything to poll prove nothing and miss nothing. */
function polled(feeds: readonly FeedProgress[]): readonly FeedProgress[] {
  return feeds.filter((one) => one.polled > 0);
}
