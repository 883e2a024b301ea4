/**
 * THE FLOW. Read this first.
 *
 *   the service ──► intake ──► one transaction ──► alerting ──► one transaction ──► delivery ──► email · webhook
 *                   sweep      events             groups        outbox              send
 *                   flights    alerts             due now       rows                settle
 *                   audit      cursor
 *                   inventory
 *
 * The three stages meet only in the store. Each wakes the next one after a commit. A lost wake-up costs time but never
 * an event, because every stage finds its work in the store. Metrics, log and page observe through `report` and the
 * read methods of `Daemon`; nothing flows through them.
 *
 * Several daemons may share one store, as replicas. Then each region is read, and alerting is done, by one replica at a
 * time (`replicas/ownership.ts`), while all of them send. A daemon that has its store to itself does everything.
 *
 * A new configuration needs no restart: `follow` ends the stages of the previous configuration and begins those of the
 * new one on the same store. Regions whose settings are the same keep running, with everything they have learned.
 */

import { ClockRollback } from './alerting/clock-rollback.ts';
import { configDigest, isSameSetting } from './config/same-setting.ts';
import { createExperience, createLeaseRecovery } from './delivery/outbox.ts';
import { codeOf, NestwatchError } from './errors.ts';
import { createHealth, type HealthAnswer } from './health/health.ts';
import { createReadiness, type Readiness } from './health/readiness.ts';
import type { WatchedRegion } from './intake/watched-region.ts';
import type { RegionProgress } from './region-progress.ts';
import type { ReplicaPart } from './replicas/ownership.ts';
import { createPart } from './replicas/part.ts';
import type { Happening } from './report.ts';
import { createStages, type InForce, type Setup, type StageParts, settingOf } from './stages.ts';
import type { ConfigInForce, ReplicaRecord } from './store/ownership-store.ts';
import type { Store, WakeUp } from './store/store.ts';
import { createTasks, type Task, type Tasks } from './time/clock.ts';

export type { Setup } from './stages.ts';

/** Everything that comes from outside: real in production, virtual in a simulation. */
export interface DaemonParts extends StageParts, Setup {
  /** The same store for what answers people and scrapes, which must not wait for long; `store` if absent. */
  readonly promptStore?: Store;
  /** The replica's part; absent if this daemon has its store to itself. */
  readonly replica?: ReplicaPart | undefined;
  /** The secrets whose file cannot be read again, by key, and why. */
  readonly unreadSecrets?: (() => ReadonlyMap<string, string>) | undefined;
}

export interface Daemon {
  /** Runs until `signal` aborts; resolves when the work in progress is finished. */
  run(signal: AbortSignal): Promise<void>;
  /**
   * Gives back its duties to other replicas although its work has not ended: what it still writes is refused. For a stop
   * that takes too long.
   */
  giveBack(): Promise<void>;
  /**
   * Reads every stream once and sends all notifications. A region that rejects the token, or is down for more than a
   * few seconds, is skipped. Nothing more is begun once `signal` aborts. Throws `usage` if the store is shared.
   */
  runOnce(signal: AbortSignal): Promise<OnceOutcome>;
  /**
   * Switches the running daemon to another configuration. Resolves when that is in force; deliveries begun under the
   * previous one may still be in progress. Must not be called again before it resolves. Throws `usage` if the daemon
   * does not run.
   */
  follow(setup: Setup): Promise<void>;
  /** Wakes the stages after a write from outside, such as a silence or a retried delivery. */
  wake(): void;
  /** Sends a request to a region at once, even if it is down and only probed from time to time. */
  probe(region: string): void;
  /** Reads the log of a Flight from the service, if the polls leave room for the request. */
  readonly flightLog: WatchedRegion['flightLog'];
  /** Deletes a bounded batch of rows past the retention, unless the clock is far ahead; resolves to the number of deleted rows. */
  prune(): Promise<number>;
  regions(): readonly RegionProgress[];
  /** What impairs the watch: the same answer for page, API, commands, metrics and heartbeat. */
  health(): Promise<HealthAnswer>;
  /** This process among the replicas; undefined if it has its store to itself, or is not taking part now. */
  replica(): ReplicaRecord | undefined;
  /** Whether the watch has begun, and is not stopped by the store at present. */
  readiness(): Readiness;
  /** Receives reports from outside the stages. */
  hear(happening: Happening): void;
}

export interface OnceOutcome {
  /** Regions that were skipped. */
  readonly left: readonly string[];
  /** Streams of the other regions that could not be read. */
  readonly unread: number;
  /** Deliveries that were tried and not accepted. */
  readonly unaccepted: number;
}

/** The most rows deleted in one transaction, so that pruning never blocks the other stages for long. */
const PRUNE_BATCH = 2_000;

/** A day. If the clock here is ahead of a region's by more, nothing is pruned; `clock_wrong` says so to people. */
const MOST_AHEAD_US = 86_400_000_000;

export function createDaemon(given: DaemonParts): Daemon {
  const { store, clock } = given;
  /** Passes every report of the stages on, and also to the health check. */
  function report(happening: Happening): void {
    // Another replica has taken over, as it should: work that ends because of that is not a failure.
    const code = 'error' in happening ? codeOf(happening.error) : undefined;
    // The same holds for work that a stop has cut off: the next start continues it.
    if (code === 'lease_lost' || (code === 'cancelled' && isEnding())) return;
    given.report(happening);
    health.hear(happening);
  }
  const parts = { ...given, report };
  const part = createPart({
    ...parts,
    refused: () => health.refusedConfig(),
    configInForce: () => configInForce,
  });
  const health = createHealth({
    config: () => setup.config,
    store: given.promptStore ?? store,
    regions: () => regions.map((region) => region.snapshot()),
    replicas: () => part.replicas(),
    clock,
    report,
    changed: () => inForce.wakeAlerting(),
    isAlerting: () => part.isAlerting(),
    unreadSecrets: given.unreadSecrets,
  });
  /**
   * Refers to the stages in force. A region that outlives a configuration uses it to commit to and wake the new ones.
   */
  const inForce: InForce = {
    commitTo: (to) => (batch) => stages.commitTo(to)(batch),
    wakeAlerting() {
      stages.wakeAlerting();
      if (!part.isAlerting()) part.ring('alerting');
    },
    wakeDelivery() {
      part.ring('delivery');
      return stages.delivery.wake();
    },
    regions: () => regions,
    // Replicas recover each other's leases.
    recovery: part.isShared ? async () => {} : createLeaseRecovery(store, clock),
    experience: createExperience(),
    impairments: async () => (await health.readOften()).impairments,
    watchFacts: health.facts,
    part,
    // Groups and deliveries whose instants were moved may be due now.
    clockRollback: new ClockRollback(clock, wake, part.isShared),
    rounds: new Map(),
    routed: {},
  };
  let setup: Setup = parts;
  let configInForce = describeInForce(setup.config, clock.nowUs());
  let stages = createStages(parts, setup, inForce);
  let regions = setup.config.regions.map((region) => stages.region(region));

  const readiness = createReadiness({
    regions: () => regions.map((region) => region.progress()),
    storeRefusal: health.storeRefusal,
  });

  let isEnding = () => false;
  let endPart = async () => {};
  let tasks: Tasks | undefined;
  const reading = new Map<WatchedRegion, Task>();
  /** The alerting task, which works only with the store. */
  let deciding: Task;
  /** The sending task, which waits for receivers. */
  let sending: Task;

  /** Begins all three stages. Each finds in the store what the previous one has committed. */
  function begin(these: Tasks): void {
    // Intake reads the service, and commits events, alerts and cursors in one transaction.
    for (const region of regions) {
      if (reading.has(region)) continue;
      const task = these.begin((signal) => region.run(signal));
      reading.set(region, task);
    }
    // Alerting turns changed alerts into groups, notifications and deliveries in one transaction.
    const { decide, delivery, repeat } = stages;
    deciding = these.begin((signal) => part.whileAlerting(decide, signal));
    // Delivery sends what is queued and settles it.
    sending = these.begin(async (signal, ending) => {
      await Promise.all([delivery.run(signal, ending), part.whileRepeating(repeat, signal)]);
    });
  }

  function wake(): void {
    inForce.wakeAlerting();
    inForce.wakeDelivery();
  }

  /** Passes on a wake-up from another replica. */
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
    // Each decision belongs to one configuration. Only a transaction can be in progress here, so this ends soon.
    await deciding.end();
    const [before, stillSending] = [setup, sending];
    setup = next;
    const described = describeInForce(next.config, clock.nowUs());
    if (described.digest !== configInForce.digest) configInForce = described;
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
    // A slow receiver, or a store that refuses, delays only this.
    these.begin(async () => {
      await stillSending.end();
      await before.close?.();
    });
  }

  return {
    async run(signal) {
      tasks = createTasks(signal);
      isEnding = () => signal.aborted;
      endPart = part.take(signal, hearWake);
      begin(tasks);
      tasks.begin((ended) => health.run(ended));
      await tasks.done;
      await endPart();
      tasks = undefined;
      await setup.close?.();
    },

    giveBack: () => endPart(),

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
      // One replica does it for all.
      if (!part.isAlerting()) return 0;
      // A clock that is far ahead would take the whole history, so a service that answers now has to agree with it.
      const answering = regions
        .map((region) => region.snapshot())
        .filter(({ started, health: { health: how } }) => started && how === 'up');
      const isAhead = answering.some(({ clockAheadUs }) => clockAheadUs < -MOST_AHEAD_US);
      if (answering.length === 0 || isAhead) return 0;
      const beforeUs = clock.nowUs() - setup.config.store.retentionMs * 1000;
      return store.transaction((tx) => tx.upkeep.prune(beforeUs, PRUNE_BATCH));
    },

    regions: () => regions.map((region) => region.progress()),
    replica: () => part.replicas().find(({ isOwn }) => isOwn),
    health: health.read,
    readiness,
    hear: health.hear,
  };
}

function describeInForce(config: Setup['config'], sinceUs: number): ConfigInForce {
  return { digest: configDigest(config), sinceUs, regions: config.regions.map(({ name }) => name) };
}
