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

import { ClockRollback } from './alerting/clock-rollback.ts';
import { configDigest } from './config/config-digest.ts';
import { isSameSetting } from './config/same-setting.ts';
import { createLearned, createLeaseRecovery } from './delivery/outbox.ts';
import { isInVain, type Rounds } from './delivery/repeat-alerts.ts';
import { codeOf, NestwatchError } from './errors.ts';
import { createHealth, type HealthAnswer } from './health/health.ts';
import type { StoreRefusal } from './health/snapshot.ts';
import type { RegionProgress, WatchedRegion } from './intake/watched-region.ts';
import type { ReplicaPart } from './replicas/ownership.ts';
import { createPart } from './replicas/part.ts';
import type { Happening } from './report.ts';
import { createStages, type InForce, type Setup, type StageParts, settingOf } from './stages.ts';
import type { ReplicaRecord } from './store/ownership-store.ts';
import type { WakeUp } from './store/store.ts';
import { createTasks, type Task, type Tasks } from './time/tasks.ts';

export type { RegionProgress } from './intake/watched-region.ts';
export type { Setup } from './stages.ts';

/** Everything that comes from outside: the edge brings the real ones, a simulation virtual ones. */
export interface DaemonParts extends StageParts, Setup {
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
  /** This process among those that share its store; undefined where it has that to itself, or takes no part now. */
  replica(): ReplicaRecord | undefined;
  /** Why the store takes nothing: the watch stands still, although it may go on by itself. Undefined while it does. */
  storeRefusal(): StoreRefusal | undefined;
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
  const rounds: Rounds = new Map();
  const part = createPart({
    ...parts,
    refused: () => health.refusedConfig(),
    configInForce: () => configInForce,
    repeatsInVain: () => isInVain(rounds, clock.monotonicMs()),
  });
  const health = createHealth({
    config: () => setup.config,
    store,
    regions: () => regions.map((region) => region.snapshot()),
    replicas: () => part.replicas(),
    clock,
    report,
    changed: () => inForce.wakeAlerting(),
    isAlerting: () => part.isAlerting(),
  });
  /** Leads to the stages in force: a region that goes on when another configuration comes commits and wakes by it. */
  const inForce: InForce = {
    commitTo: (to) => (batch) => stages.commitTo(to)(batch),
    wakeAlerting() {
      stages.wakeAlerting();
      if (!part.isAlerting()) part.ring('alerting');
    },
    wakeDelivery() {
      stages.delivery.wake();
      part.ring('delivery');
    },
    regions: () => regions,
    // Where several share the store, they do it for each other.
    recovery: part.isShared ? async () => {} : createLeaseRecovery(store, clock),
    impairments: async () => (await health.readOften()).impairments,
    watchFacts: health.facts,
    part,
    // What was moved may have come due.
    clockRollback: new ClockRollback(clock, wake, part.isShared),
    rounds,
    learned: createLearned(),
  };
  let setup: Setup = parts;
  let configInForce = { digest: configDigest(setup.config), sinceUs: clock.nowUs() };
  let stages = createStages(parts, setup, inForce);
  let regions = setup.config.regions.map((region) => stages.region(region));

  let tasks: Tasks | undefined;
  const reading = new Map<WatchedRegion, Task>();
  /** Work within the store. */
  let deciding: Task;
  /** Work that waits for others. */
  let sending: Task;

  /** Begins all three stages. They meet in the store alone: each finds there what the one before it has committed. */
  function begin(these: Tasks): void {
    // Intake: reads the service; events, alerts and cursors in one transaction.
    for (const region of regions) {
      if (reading.has(region)) continue;
      const task = these.begin((signal) => region.run(signal));
      reading.set(region, task);
    }
    // Alerting: alerts that changed; groups, notifications and deliveries in one transaction.
    const { decide, delivery, repeat } = stages;
    deciding = these.begin((signal) => part.whileAlerting(decide, signal));
    // Delivery: sends what is queued, and settles it.
    sending = these.begin(async (signal) => {
      await Promise.all([delivery.run(signal), part.whileRepeating(repeat, signal)]);
    });
  }

  function wake(): void {
    inForce.wakeAlerting();
    inForce.wakeDelivery();
  }

  /** Hears what another replica has for this one to do. */
  function hearWake(what: WakeUp): void {
    if (what === 'alerting') stages.wakeAlerting();
    else if (what === 'delivery') stages.delivery.wake();
    else regions.find(({ name }) => what === `probe ${name}`)?.probe();
  }

  async function exchange(next: Setup, these: Tasks): Promise<void> {
    const kept = regions.filter(({ setting }) =>
      next.config.regions.some((region) => isSameSetting(setting, settingOf(next.config, region))),
    );
    const ending = regions.filter((region) => !kept.includes(region));
    await Promise.all(ending.map((region) => reading.get(region)?.end()));
    for (const region of ending) reading.delete(region);
    // Each decision is that of one configuration. What is under way here is a transaction, so it ends soon.
    await deciding.end();
    const [before, stillSending] = [setup, sending];
    setup = next;
    const digest = configDigest(next.config);
    if (digest !== configInForce.digest) configInForce = { digest, sinceUs: clock.nowUs() };
    stages = createStages(parts, next, inForce);
    regions = next.config.regions.map(
      (region) =>
        kept.find(({ name }) => name === region.name) ??
        stages.region(
          region,
          ending.find(({ name }) => name === region.name),
        ),
    );
    begin(these);
    // A receiver that is slow to answer holds up only this.
    these.begin(async () => {
      await stillSending.end();
      await before.close?.();
    });
  }

  return {
    async run(signal) {
      tasks = createTasks(signal);
      const endPart = part.take(signal, hearWake);
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
      if (part.isShared)
        throw new NestwatchError('usage', 'one of several replicas reads as long as it runs');
      inForce.clockRollback.begin(store);
      const readings = await Promise.all(regions.map((region) => region.runOnce(signal)));
      if (!signal.aborted) await stages.decideOnce();
      const unaccepted = signal.aborted ? 0 : await stages.delivery.drain();
      await setup.close?.();
      return {
        left: regions.filter((_, index) => readings[index]!.isLeft).map(({ name }) => name),
        unread: readings.reduce((sum, { unread }) => sum + unread, 0),
        unaccepted,
      };
    },

    wake,

    probe(region) {
      regions.find(({ name }) => name === region)?.probe();
      part.ring(`probe ${region}`);
    },

    async flightLog(place) {
      const region = regions.find(({ name }) => name === place.region);
      return region?.flightLog(place) ?? { refused: 'The region is not watched.' };
    },

    async prune() {
      // One replica is enough.
      if (!part.isAlerting()) return 0;
      const beforeUs = clock.nowUs() - setup.config.store.retentionMs * 1000;
      return store.transaction((tx) => tx.upkeep.prune(beforeUs, PRUNE_BATCH));
    },

    regions: () => regions.map((region) => region.progress()),
    replica: () => part.replicas().find(({ isOwn }) => isOwn),
    health: health.read,
    storeRefusal: health.storeRefusal,
    hear: health.hear,
  };
}
