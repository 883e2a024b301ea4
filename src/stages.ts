/**
 * Builds the regions and stages of the flow (`daemon.ts`) for one configuration. Their state is in the store, and they
 * keep only caches, so a new configuration simply gets new ones.
 */
import { createAlerting, type Routed } from './alerting/alerting.ts';
import type { ClockRollback } from './alerting/clock-rollback.ts';
import { createDigests } from './alerting/send-digests.ts';
import type { OpenChannels } from './channels/channel.ts';
import { notifiesMembers } from './channels/integration-identity.ts';
import type { Config } from './config/config.ts';
import type { RegionConfig } from './config/sections/regions-section.ts';
import { createHeartbeat } from './delivery/heartbeat.ts';
import { createDelivery, type Experience, type LeaseRecovery } from './delivery/outbox.ts';
import { createRepeating, type Rounds } from './delivery/repeat-alerts.ts';
import { nestWithoutOwner } from './domain/kinds/inventory/nest-without-owner.ts';
import type { Impairment } from './health/impairment.ts';
import type { WatchFact } from './health/watch-facts.ts';
import type { Transport } from './http/transport.ts';
import { type Commit, createCommit } from './intake/commit.ts';
import { wantedPeople } from './intake/inventory/listed-before.ts';
import {
  createWatchedRegion,
  isReached,
  type RegionSetting,
  type WatchedRegion,
} from './intake/watched-region.ts';
import type { AcknowledgeLinks } from './operator/acknowledge-link.ts';
import type { Part } from './replicas/part.ts';
import type { Report } from './report.ts';
import type { Store } from './store/store.ts';
import type { Clock, Random } from './time/clock.ts';

/** A configuration, with the transports and channels that it needs. */
export interface Setup {
  readonly config: Config;
  /** Opens the transport to a region's service; the watched region closes it. */
  readonly transportOf: (region: string) => Transport;
  readonly channels: OpenChannels;
  /** The transport to the external watchdog; required if a heartbeat is configured. */
  readonly watchdog?: Transport;
  /** Signs the links in messages by which alerts are acknowledged; absent if there are none. */
  readonly links?: AcknowledgeLinks;
  /** Closes the channels and the transport to the watchdog; called when nothing uses them any more. */
  readonly close?: () => Promise<void>;
}

/** The parts that come from outside and do not depend on the configuration. */
export interface StageParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
}

/** The parts of the daemon that are in force. Parts find each other through it, even across configurations. */
export interface InForce {
  /** Returns the function that commits to this store. */
  readonly commitTo: (store: Store) => Commit;
  readonly wakeAlerting: () => void;
  readonly wakeDelivery: () => Promise<void>;
  readonly regions: () => readonly WatchedRegion[];
  readonly recovery: LeaseRecovery;
  /** What the outbox has learned of its integrations. */
  readonly experience: Experience;
  readonly impairments: () => Promise<readonly Impairment[]>;
  readonly watchFacts: () => readonly WatchFact[];
  readonly part: Part;
  readonly clockRollback: ClockRollback;
  /** The rounds in which alerts are repeated to other Alertmanagers. */
  readonly rounds: Rounds;
  /** The routes that firing alerts were last moved to. */
  readonly routed: Routed;
}

interface Stages {
  /**
   * Creates the reader of a region. If it replaces `before` and the service is the same, it starts at that one's
   * request rate.
   */
  region(region: RegionConfig, before?: WatchedRegion): WatchedRegion;
  /** Returns the function that commits to this store. */
  commitTo(to: Store): Commit;
  /** Runs alerting until `signal` aborts: changed alerts become queued deliveries. Everything is written to `to`. */
  decide(signal: AbortSignal, to: Store): Promise<void>;
  /** Queues all notifications that are due, once. */
  decideOnce(): Promise<void>;
  /** Tells alerting that something changed; without effect while alerting does not run here. */
  wakeAlerting(): void;
  readonly delivery: ReturnType<typeof createDelivery>;
  /** Repeats firing alerts to Alertmanagers and sends the heartbeat, until `signal` aborts. */
  repeat(signal: AbortSignal): Promise<void>;
}

export function createStages(parts: StageParts, setup: Setup, inForce: InForce): Stages {
  const { clock, random, report } = parts;
  const { config, channels, links } = setup;
  const { rules, forward, receivers } = config;
  const { externalUrl, hasDefaultUrl } = config.web;
  const { wakeAlerting, wakeDelivery, recovery, experience, part, clockRollback, rounds } = inForce;
  const store = clockRollback.follow(parts.store);
  const commits = new WeakMap<Store, Commit>();
  const repeating = createRepeating({ store, clock, report, receivers, channels, externalUrl, rounds });
  const heartbeat = createHeartbeatOf(parts, setup, inForce);
  const { show, backAfterMs } = config.context;
  const commitOptions = {
    ...{ clock, report, rules, forward, changed: wakeAlerting },
    backAfterMs: show.includes('novelty') ? backAfterMs : undefined,
  };
  let deciding: ReturnType<typeof createDeciding> | undefined;
  return {
    region: (region, before) => createRegion(parts, setup, region, inForce, before),
    commitTo(to) {
      const commit = commits.get(to) ?? createCommit({ ...commitOptions, store: clockRollback.follow(to) });
      commits.set(to, commit);
      return commit;
    },
    async decide(signal, to) {
      clockRollback.begin(to);
      deciding = createDeciding({ ...parts, store: clockRollback.follow(to) }, setup, inForce, true);
      await Promise.all([deciding.alerting.run(signal), deciding.digests.run(signal)]);
      deciding = undefined;
    },
    decideOnce: () => createDeciding({ ...parts, store }, setup, inForce, false).alerting.drain(),
    wakeAlerting: () => deciding?.alerting.wake(),
    delivery: createDelivery({
      ...{ store, clock, random, report },
      receivers,
      channels,
      externalUrl,
      hasDefaultUrl,
      links,
      recovery,
      experience,
      senders: part.senders,
      lookEveryMs: part.lookEveryMs,
      failed: wakeAlerting,
      leftOver: wakeDelivery,
    }),
    async repeat(signal) {
      await Promise.all([repeating.run(signal), heartbeat?.run(signal)]);
    },
  };
}

/** The settings by which a region is read. */
export function settingOf(config: Config, region: RegionConfig): RegionSetting {
  const { links: _, ...read } = region;
  const mailsMembers =
    notifiesMembers(config.receivers) || config.digests.some(({ report }) => report?.isToMembers);
  return {
    region: read,
    poll: config.poll,
    retentionMs: config.store.retentionMs,
    keepsMembers: mailsMembers || config.rules.some(({ kind }) => kind === nestWithoutOwner.name),
    mailsMembers,
    wanted: wantedPeople(config.rules, config.forward),
  };
}

/** Creates the reader of a region, at the request rate of the one it replaces if the service is the same. */
function createRegion(
  { clock, random, report }: StageParts,
  { config, transportOf }: Setup,
  region: RegionConfig,
  { commitTo, part, clockRollback }: InForce,
  before?: WatchedRegion,
): WatchedRegion {
  const setting = settingOf(config, region);
  const isSameService = before?.setting.region.baseUrl === region.baseUrl;
  const knownPerSecond = isSameService ? before.progress().requestsPerSecond : undefined;
  const create = (store: Store, startPerSecond: number | undefined) =>
    createWatchedRegion({
      setting,
      transport: transportOf(region.name),
      commit: commitTo(store),
      store: clockRollback.follow(store),
      clock,
      random,
      report,
      startPerSecond,
    });
  const reaches = (signal: AbortSignal) =>
    isReached({ region, transport: transportOf(region.name), clock, random }, signal);
  return part.region(setting, { create, reaches }, knownPerSecond);
}

/** Creates alerting and digests. `areLogsRead`: regions read the logs of Flights that alerting wants. */
function createDeciding(parts: StageParts, { config }: Setup, inForce: InForce, areLogsRead: boolean) {
  const { store, clock, report } = parts;
  const { regions, part, watchFacts, wakeDelivery: queued } = inForce;
  const stage = { store, clock, report, config, queued };
  return {
    alerting: createAlerting({
      ...stage,
      areLogsRead,
      logsWanted(region) {
        regions()
          .find(({ name }) => name === region)
          ?.lookForLogs();
      },
      lookEveryMs: part.lookEveryMs,
      flightsReadUs: (region, birdId) =>
        regions()
          .find(({ name }) => name === region)
          ?.flightsReadUs(birdId),
      inventoryReads: () =>
        new Map(
          regions().flatMap((region) => {
            const read = region.inventoryRead();
            return read ? [[region.name, read]] : [];
          }),
        ),
      serviceAheadUs: (region) =>
        regions()
          .find(({ name }) => name === region)
          ?.serviceAheadUs() ?? 0,
      watchFacts,
      // Another replica may have moved them meanwhile.
      routed: part.isShared ? undefined : inForce.routed,
    }),
    digests: createDigests({ ...stage, regions: () => regions().map((region) => region.verified()) }),
  };
}

/** Creates the heartbeat, if one is configured and there is a transport to the watchdog. */
function createHeartbeatOf({ clock, report }: StageParts, { config, watchdog }: Setup, inForce: InForce) {
  if (!config.heartbeat || !watchdog) return undefined;
  return createHeartbeat({
    config: config.heartbeat,
    impairments: inForce.impairments,
    transport: watchdog,
    clock,
    report,
  });
}
