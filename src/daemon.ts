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
 *
 * Several daemons may share one store, as replicas: each region is then read, and alerting done, by one of them at a time
 * (`replicas/ownership.ts`), while all of them send. One that has its store to itself does everything.
 *
 * So another configuration needs no restart: `follow` ends the stages of the one before and begins those of the new one
 * on the same store. Regions of which both say the same go on, with all that they have learned.
 */

import { createAlerting } from './alerting/alerting.ts';
import { createDigests } from './alerting/send-digests.ts';
import type { OpenChannels } from './channels/channel.ts';
import { notifiesMembers } from './channels/traits.ts';
import type { Config } from './config/config.ts';
import { isSameSetting } from './config/same-setting.ts';
import type { RegionConfig } from './config/sections/regions-section.ts';
import { createHeartbeat } from './delivery/heartbeat.ts';
import { createDelivery, createLeaseRecovery, type LeaseRecovery } from './delivery/outbox.ts';
import { createRepeating } from './delivery/repeat-alerts.ts';
import { codeOf, NestwatchError } from './errors.ts';
import { createHealth, type HealthAnswer } from './health/health.ts';
import type { Impairment } from './health/impairment.ts';
import type { WatchFact } from './health/watch-facts.ts';
import type { Transport } from './http/transport.ts';
import { type Commit, createCommit } from './intake/commit.ts';
import {
  createWatchedRegion,
  type RegionProgress,
  type RegionSetting,
  type WatchedRegion,
} from './intake/watched-region.ts';
import type { AcknowledgeLinks } from './operator/acknowledge-link.ts';
import { createOwnedRegion } from './replicas/owned-region.ts';
import { createOwnership, type Ownership, type ReplicaPart } from './replicas/ownership.ts';
import type { Happening, Report } from './report.ts';
import type { Store, WakeUp } from './store/store.ts';
import type { Clock, Random } from './time/clock.ts';
import { createTasks, type Task, type Tasks } from './time/tasks.ts';

export type { RegionProgress } from './intake/watched-region.ts';

/** A configuration, with the ways out of the process that follow from it. */
export interface Setup {
  readonly config: Config;
  /** Opens the way to a region's service; who watches the region closes it. */
  readonly transportOf: (region: string) => Transport;
  readonly channels: OpenChannels;
  /** The way to the outside watchdog; needed where a heartbeat is configured. */
  readonly watchdog?: Transport;
  /** Signs the links by which alerts are acknowledged from messages; absent for none. */
  readonly links?: AcknowledgeLinks;
  /** Closes the channels and the way to the watchdog: called when nothing uses them any more. */
  readonly close?: () => Promise<void>;
}

/** Everything that comes from outside: the edge brings the real ones, a simulation virtual ones. */
export interface DaemonParts extends Setup {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
  /** Where several share the store; absent where this one has it to itself. */
  readonly replica?: ReplicaPart | undefined;
}

export interface Daemon {
  /** Runs until `signal` aborts; resolves when what was under way is finished. */
  run(signal: AbortSignal): Promise<void>;
  /**
   * Reads every stream once and notifies of what there is. A region that refuses the token, or is away for longer
   * than a moment, is left. Nothing more is begun once `signal` aborts.
   */
  runOnce(signal: AbortSignal): Promise<OnceOutcome>;
  /**
   * While it runs: goes on with another configuration. Resolves when that is in force; what is being sent by the one
   * before may still be under way. To be called one at a time.
   */
  follow(setup: Setup): Promise<void>;
  /** Something was written from outside: silences, deliveries put back. */
  wake(): void;
  /** Somebody says that a region which is only probed now and then is mended: it is asked at once. */
  probe(region: string): void;
  /** Asks the service for the log of a Flight, where the watch leaves room for that. */
  readonly flightLog: WatchedRegion['flightLog'];
  /** Deletes a bounded batch of what is past the retention; resolves to how many rows went. */
  prune(): Promise<number>;
  regions(): readonly RegionProgress[];
  /** What impairs the watch: the one answer that page, API, command, metrics and heartbeat show. */
  health(): Promise<HealthAnswer>;
  /** False while the store takes nothing: the watch stands still, although it may go on by itself. */
  hasRoom(): boolean;
  /** Hears what is reported outside of the stages. */
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

/** Rows deleted in one transaction, so that pruning never holds the other stages up for long. */
const PRUNE_BATCH = 2_000;

export function createDaemon(given: DaemonParts): Daemon {
  const { store, clock } = given;
  /** Health hears of all that the stages report. */
  function report(happening: Happening): void {
    // Another replica has taken over, as it should: what ends by that is no trouble.
    if ('error' in happening && codeOf(happening.error) === 'lease_lost') return;
    given.report(happening);
    health.hear(happening);
  }
  const parts = { ...given, report };
  const health = createHealth({
    config: () => setup.config,
    store,
    regions: () => regions.map((region) => region.snapshot()),
    clock,
    report,
    changed: () => inForce.wakeAlerting(),
  });
  /** Leads to the stages in force: a region that goes on when another configuration comes commits and wakes by it. */
  const ownership = given.replica && createOwnership({ ...parts, ...given.replica });
  const inForce: InForce = {
    commitTo: (to) => (batch) => stages.commitTo(to)(batch),
    wakeAlerting() {
      stages.alerting()?.wake();
      if (ownership && !ownership.owns(ALERTING)) given.replica?.wakes.ring('alerting');
    },
    wakeDelivery() {
      stages.delivery.wake();
      given.replica?.wakes.ring('delivery');
    },
    regions: () => regions,
    recovery: ownership ? async () => {} : createLeaseRecovery(store, clock),
    impairments: async () => (await health.read()).impairments,
    watchFacts: health.facts,
    ownership,
  };
  let setup: Setup = parts;
  let regions = setup.config.regions.map((region) => createRegion(parts, setup, region, inForce));
  let stages = createStages(parts, setup, inForce);

  let tasks: Tasks | undefined;
  const reading = new Map<WatchedRegion, Task>();
  let running: RunningStages;

  function begin(these: Tasks): void {
    for (const region of regions) {
      if (!reading.has(region))
        reading.set(
          region,
          these.begin((signal) => region.run(signal)),
        );
    }
    running = beginStages(stages, these, ownership);
  }

  function hearWake(what: WakeUp): void {
    if (what === 'alerting') stages.alerting()?.wake();
    else if (what === 'delivery') stages.delivery.wake();
    else regions.find(({ name }) => what === `probe ${name}`)?.probe();
  }

  /** Takes part among the replicas; the function that is returned ends that. */
  function takePart(signal: AbortSignal): () => Promise<void> {
    const membership = ownership?.begin();
    const deafen = given.replica?.wakes.listen(hearWake);
    signal.addEventListener('abort', () => membership?.leave(), { once: true });
    return async () => {
      deafen?.();
      await membership?.end();
    };
  }

  async function exchange(next: Setup, these: Tasks): Promise<void> {
    const kept = regions.filter(({ setting }) =>
      next.config.regions.some((region) => isSameSetting(setting, settingOf(next.config, region))),
    );
    const ending = regions.filter((region) => !kept.includes(region));
    await Promise.all(ending.map((region) => reading.get(region)?.end()));
    for (const region of ending) reading.delete(region);
    // Each decision is that of one configuration. What is under way here is a transaction, so it ends soon.
    await running.deciding.end();
    const [before, sending] = [setup, running.sending];
    setup = next;
    regions = next.config.regions.map(
      (region) =>
        kept.find(({ name }) => name === region.name) ??
        createRegion(
          parts,
          next,
          region,
          inForce,
          ending.find(({ name }) => name === region.name),
        ),
    );
    stages = createStages(parts, next, inForce);
    begin(these);
    // A receiver that is slow to answer holds up only this.
    these.begin(async () => {
      await sending.end();
      await before.close?.();
    });
  }

  return {
    async run(signal) {
      tasks = createTasks(signal);
      const endPart = takePart(signal);
      begin(tasks);
      tasks.begin((ended) => health.run(ended));
      await tasks.done;
      await endPart();
      tasks = undefined;
      await setup.close?.();
    },

    async follow(next) {
      const these = tasks;
      if (!these) throw new NestwatchError('usage', 'only while the daemon runs can it follow another one');
      const exchanged = exchange(next, these);
      these.begin(() => exchanged);
      await exchanged;
    },

    async runOnce(signal) {
      if (ownership) throw new NestwatchError('usage', 'one of several replicas reads as long as it runs');
      const readings = await Promise.all(regions.map((region) => region.runOnce(signal)));
      if (!signal.aborted) await stages.alerting()?.drain();
      const unaccepted = signal.aborted ? 0 : await stages.delivery.drain();
      await setup.close?.();
      return {
        left: regions.filter((_, index) => readings[index]!.isLeft).map(({ name }) => name),
        unread: readings.reduce((sum, { unread }) => sum + unread, 0),
        unaccepted,
      };
    },

    wake() {
      inForce.wakeAlerting();
      inForce.wakeDelivery();
    },

    probe(region) {
      regions.find(({ name }) => name === region)?.probe();
      given.replica?.wakes.ring(`probe ${region}`);
    },

    async flightLog(place) {
      const region = regions.find(({ name }) => name === place.region);
      return region?.flightLog(place) ?? { refused: 'The region is not watched.' };
    },

    async prune() {
      // One replica is enough.
      if (ownership && !ownership.owns(ALERTING)) return 0;
      const beforeUs = clock.nowUs() - setup.config.store.retentionMs * 1000;
      return store.transaction((tx) => tx.upkeep.prune(beforeUs, PRUNE_BATCH));
    },

    regions: () => regions.map((region) => region.progress()),
    health: health.read,
    hasRoom: health.hasRoom,
    hear: health.hear,
  };
}

/** What a daemon has in force: its parts find each other by it. */
interface InForce {
  /** Commits what is read to this store. */
  readonly commitTo: (store: Store) => Commit;
  readonly wakeAlerting: () => void;
  readonly wakeDelivery: () => void;
  readonly regions: () => readonly WatchedRegion[];
  readonly recovery: LeaseRecovery;
  readonly impairments: () => Promise<readonly Impairment[]>;
  readonly watchFacts: () => readonly WatchFact[];
  /** Where several replicas share the store. */
  readonly ownership: Ownership | undefined;
}

/** The duty of all that is decided for everybody, and repeated for everybody. */
const ALERTING = 'alerting';

/** How often a replica looks for what another one may have left it, in case a wake is lost. */
const LOOK_EVERY_MS = 5_000;

/** Beside reading, alerting takes so much. */
const ALERTING_PART = 1 / 4;

/** The stages of one configuration. They keep nothing but what saves work: their state is the store's. */
function createStages(parts: DaemonParts, setup: Setup, inForce: InForce) {
  const { store, clock, random, report } = parts;
  const { config, channels, links } = setup;
  const { receivers } = config;
  const { externalUrl, hasDefaultUrl } = config.web;
  const { wakeAlerting, wakeDelivery, recovery, ownership } = inForce;
  const commits = new WeakMap<Store, Commit>();
  let deciding = ownership ? undefined : createDeciding(parts, setup, inForce);
  return {
    commitTo(to: Store): Commit {
      const { rules, forward } = config;
      const commit =
        commits.get(to) ?? createCommit({ store: to, clock, report, rules, forward, changed: wakeAlerting });
      commits.set(to, commit);
      return commit;
    },
    /** Undefined while another replica does it. */
    alerting: () => deciding?.alerting,
    /** Decides until `signal` aborts; all that it writes goes to `to`. */
    async decide(signal: AbortSignal, to: Store = store): Promise<void> {
      deciding =
        to === store && deciding ? deciding : createDeciding({ ...parts, store: to }, setup, inForce);
      await Promise.all([deciding.alerting.run(signal), deciding.digests.run(signal)]);
      if (ownership) deciding = undefined;
    },
    delivery: createDelivery({
      ...{ store, clock, random, report },
      receivers,
      channels,
      externalUrl,
      hasDefaultUrl,
      links,
      recovery,
      senders: ownership?.senders,
      lookEveryMs: ownership && LOOK_EVERY_MS,
      failed: wakeAlerting,
      leftOver: wakeDelivery,
    }),
    repeating: createRepeating({ store, clock, report, receivers, channels, externalUrl }),
    heartbeat: createHeartbeatOf(parts, setup, inForce),
  };
}

type Stages = ReturnType<typeof createStages>;

/** From what changed to what is queued. */
function createDeciding(parts: DaemonParts, { config }: Setup, inForce: InForce) {
  const { store, clock, report } = parts;
  const stage = { store, clock, report, config, queued: inForce.wakeDelivery };
  return {
    alerting: createAlerting({
      ...stage,
      lookEveryMs: inForce.ownership && LOOK_EVERY_MS,
      flightsReadUs: (region, birdId) =>
        inForce
          .regions()
          .find(({ name }) => name === region)
          ?.flightsReadUs(birdId),
      watchFacts: inForce.watchFacts,
    }),
    digests: createDigests({
      ...stage,
      regions: () => inForce.regions().map((region) => region.verified()),
    }),
  };
}

interface RunningStages {
  /** Work within the store. */
  readonly deciding: Task;
  /** Work that waits for others. */
  readonly sending: Task;
}

function beginStages(stages: Stages, tasks: Tasks, ownership: Ownership | undefined): RunningStages {
  const { delivery, repeating, heartbeat } = stages;
  const repeat = async (signal: AbortSignal) => {
    await Promise.all([repeating.run(signal), heartbeat?.run(signal)]);
  };
  if (!ownership) {
    return {
      deciding: tasks.begin((signal) => stages.decide(signal)),
      sending: tasks.begin(async (signal) => {
        await Promise.all([delivery.run(signal), repeat(signal)]);
      }),
    };
  }
  const [alerting, repeats] = [
    {
      duty: ALERTING,
      isFixed: true,
      run: stages.decide,
      show: () => ({ weight: alertingWeight(ownership), shown: '' }),
    },
    { duty: 'repeating', isFixed: true, run: repeat, show: () => ({ weight: 1, shown: '' }) },
  ];
  return {
    deciding: tasks.begin((signal) => ownership.whileOwned(alerting, signal)),
    sending: tasks.begin(async (signal) => {
      await Promise.all([delivery.run(signal), ownership.whileOwned(repeats, signal)]);
    }),
  };
}

/** What alerting takes grows with what is read. */
function alertingWeight(ownership: Ownership): number {
  const read = ownership.view()?.duties.filter(({ duty }) => duty !== ALERTING) ?? [];
  return 1 + ALERTING_PART * read.reduce((sum, { weight }) => sum + weight, 0);
}

function settingOf(config: Config, region: RegionConfig): RegionSetting {
  return {
    region,
    poll: config.poll,
    retentionMs: config.store.retentionMs,
    keepsMembers: notifiesMembers(config.receivers),
  };
}

/** A region that replaces another of the same service begins at its rate. */
function createRegion(
  parts: DaemonParts,
  { config, transportOf }: Setup,
  region: RegionConfig,
  { commitTo, ownership }: InForce,
  before?: WatchedRegion,
): WatchedRegion {
  const { clock, random, report } = parts;
  const setting = settingOf(config, region);
  const isSameService = before?.setting.region.baseUrl === region.baseUrl;
  const knownPerSecond = isSameService ? before.progress().requestsPerSecond : undefined;
  const create = (store: Store, startPerSecond: number | undefined) =>
    createWatchedRegion({
      setting,
      transport: transportOf(region.name),
      commit: commitTo(store),
      store,
      clock,
      random,
      report,
      startPerSecond,
    });
  return ownership ? createOwnedRegion({ setting, ownership, create }) : create(parts.store, knownPerSecond);
}

/** The heartbeat, where one is configured and there is a way to the watchdog. */
function createHeartbeatOf(
  { clock, report }: DaemonParts,
  { config, watchdog }: Setup,
  { impairments }: InForce,
) {
  if (!config.heartbeat || !watchdog) return undefined;
  return createHeartbeat({ config: config.heartbeat, impairments, transport: watchdog, clock, report });
}
