/**
 * One world from one seed: the whole daemon, the service of two regions and the receivers, in one process on a
 * virtual clock. First a time with trouble, then a quiet time in which everything that is due must be done.
 */

import { openWebhooks } from '../../src/channels/webhook/webhook-channel.ts';
import { createDaemon, type Daemon, type DaemonParts } from '../../src/daemon.ts';
import type { Happening } from '../../src/report.ts';
import { forked, seededRandom } from '../../src/simulator/world/seeded-random.ts';
import { createWorld, type World } from '../../src/simulator/world/world.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import type { Random } from '../../src/time/clock.ts';
import { baseUrl, stageConfig } from '../acceptance/stage-config.ts';
import { simulatorTransport } from '../simulator/simulator-transport.ts';
import { createVirtualClock, TEST_START_US, type VirtualClock } from '../virtual-clock.ts';
import { type Checked, check } from './checker.ts';
import { type CutLists, createCutLists } from './inventory/cut-lists.ts';
import { type Kept, type WatchedWorld, watchInventory, watchKept } from './inventory/inventory-history.ts';
import { beginLife, endLife, landEverywhere } from './life.ts';
import { createManners } from './manners.ts';
import { createMortal, type Mortal } from './mortal.ts';
import { type Crash, type Plan, planOf, type Reload, type Span } from './plan.ts';
import { createReceivers, type Receivers } from './receivers.ts';

/** Makes a known-bad daemon: the parts that production uses, with one of them replaced. */
export type Variation = (parts: DaemonParts) => DaemonParts;

export interface RunOptions extends Span {
  readonly vary?: Variation;
  /** Receives every happening, for debugging. */
  readonly watch?: (happening: Happening, atUs: number) => void;
  /** Receives what the run leaves behind. */
  readonly inspect?: (remains: Remains) => void;
}

export interface Outcome extends Checked {
  readonly seed: number;
  readonly virtualMs: number;
  readonly requests: number;
  readonly lives: number;
  /** Always the same for the same seed. */
  readonly digest: string;
}

/** What a run leaves behind for the checker. */
export interface Remains {
  readonly plan: Plan;
  readonly worlds: readonly World[];
  /** The same worlds, and how their inventories were. */
  readonly inventories: readonly WatchedWorld[];
  readonly kept: Kept;
  /** How many lists of the inventory lacked something. */
  readonly cutLists: number;
  readonly receivers: Receivers;
  readonly store: Store;
  /** The times in which no daemon ran. */
  readonly down: readonly Interval[];
  /** How often a region moved from one replica to another. */
  readonly moves?: number;
  readonly happenings: HappeningCounts;
  readonly complaints: readonly string[];
  /** When the daemon first started, on the service's clock. */
  readonly startedAtUs: number;
  readonly endedAtUs: number;
}

export interface Interval {
  readonly fromUs: number;
  toUs: number;
}

export interface Alarm {
  readonly region: string;
  readonly health: string;
  readonly atUs: number;
  /** When the region was reported as up again; Infinity for never. */
  untilUs: number;
}

export interface HappeningCounts {
  /** Unexpected errors, in words. */
  readonly bugs: readonly string[];
  /** When regions were reported as down or unauthorized, on the service's clock. */
  readonly alarms: readonly Alarm[];
}

/** A process that was asked to stop is killed after this time. */
const STOP_WITHIN_MS = 8_000;
/** If the point of a crash does not come, the process is killed after this time. */
const IDLE_CRASH_MS = 120_000;
/** How much history the regions have at the daemon's first start. */
const HISTORY_MS = 2 * 3_600_000;
/** By then the rest of an edit or a trigger has happened; the last Flights must be later than that. */
const LANDING_MS = 60_000;
/** After the trouble: by then everything has been read, and what happens next is newer than all that went wrong. */
const RECOVERY_MS = 16 * 60_000;

/** A world before anybody watches it, with everything that a daemon needs. */
export interface Scene {
  readonly plan: Plan;
  readonly random: Random;
  readonly clock: VirtualClock;
  readonly worlds: readonly World[];
  readonly inventories: readonly WatchedWorld[];
  readonly kept: Kept;
  readonly cuts: readonly CutLists[];
  readonly receivers: Receivers;
  readonly store: Store;
  readonly happenings: { readonly bugs: string[]; readonly alarms: Alarm[] };
  readonly complaints: string[];
  /** The parts that a life of the daemon is given. */
  partsOf(mortal: Mortal): DaemonParts;
}

/** What the daemon goes on with after a reload. A region with another concurrency is read anew. */
export function reloaded({ config, ...parts }: DaemonParts, { anew }: Reload, isOdd: boolean): DaemonParts {
  const regions = config.regions.map((region, at) => {
    const isAnew = anew === 'regions' || (anew === 'region' && at === 0);
    return isAnew && isOdd ? { ...region, concurrency: region.concurrency - 1 } : region;
  });
  return { ...parts, config: { ...config, regions } };
}

export async function openScene(seed: number, plan: Plan, { watch }: RunOptions): Promise<Scene> {
  const random = seededRandom(seed);
  const clock = createVirtualClock(TEST_START_US);
  const inventories = plan.regions.map((region) =>
    watchInventory(
      createWorld({
        region: region.region,
        clock,
        random: seededRandom(region.seed),
        token: 'token',
        behaviours: region.behaviours,
      }),
    ),
  );
  const worlds = inventories.map(({ world }) => world);
  for (const [index, world] of worlds.entries()) {
    const forMs = plan.safetyMs;
    beginLife(world, plan.regions[index]!, { random: forked(random), historyMs: HISTORY_MS, forMs });
  }
  const receivers = createReceivers(clock, forked(random), plan.receivers);
  const { store, kept } = watchKept(await openSqliteStore({ path: ':memory:', clock }), () => clock.nowUs());
  const cuts = plan.regions.map((region, at) =>
    createCutLists(worlds[at]!, region, kept, seededRandom(region.seed ^ 0xc07)),
  );
  const bugs: string[] = [];
  const alarms: Alarm[] = [];
  const complaints: string[] = [];
  const config = stageConfig(
    plan.regions.map(({ region }) => region),
    plan,
  );

  function report(happening: Happening): void {
    watch?.(happening, clock.nowUs());
    if (happening.what === 'trouble') bugs.push(`${happening.stage}: ${stackOf(happening.error)}`);
    if (happening.what === 'poll' && happening.failure === 'bug') bugs.push(stackOf(happening.error));
    if (happening.what === 'region_health') {
      const { region, health } = happening;
      const atUs = clock.nowUs();
      const before = alarms.findLast((alarm) => alarm.region === region);
      if (before) before.untilUs = Math.min(before.untilUs, atUs);
      if (health !== 'up') alarms.push({ region, health, atUs, untilUs: Number.POSITIVE_INFINITY });
    }
  }

  function partsOf(mortal: Mortal): DaemonParts {
    return {
      config,
      store: mortal.store(store),
      transportOf(region) {
        const world = worlds.find((one) => one.region === region)!;
        const manners = createManners(clock, config.regions.find(({ name }) => name === region)!, complaints);
        const inner = simulatorTransport({ [baseUrl(region)]: world });
        return {
          send: (request) =>
            mortal.isDead()
              ? new Promise(() => {})
              : mortal.answer(
                  manners(inner, request).then((response) =>
                    cuts[worlds.indexOf(world)]!.answer(request, response),
                  ),
                ),
          close: inner.close,
        };
      },
      channels: {
        webhook: openWebhooks({
          openTransport: () => receivers.transport(mortal),
          clock: mortal.clock,
          version: 'simulation',
        }),
        email: receivers.mail(mortal),
      },
      clock: mortal.clock,
      random: forked(random),
      report: (happening) => {
        if (!mortal.isDead()) report(happening);
      },
    };
  }

  return {
    ...{ plan, random, clock, worlds, inventories, kept, cuts, receivers, store, complaints, partsOf },
    happenings: { bugs, alarms },
  };
}

/** Starts and ends outages as planned. */
export function planOutages({ plan, clock, worlds }: Scene): void {
  for (const [index, { outages }] of plan.regions.entries()) {
    const world = worlds[index]!;
    for (const { atMs, forMs, kind } of outages) {
      clock.setTimer(atMs, () => (kind === 'token' ? world.refuseToken() : world.goDown(kind)));
      clock.setTimer(atMs + forMs, () => (kind === 'token' ? world.acceptToken() : world.comeUp()));
    }
  }
}

/** After the trouble nothing goes wrong any more, and at the end every Bird has had a successful Flight. */
export async function passQuietTime({ plan, random, clock, worlds, receivers }: Scene): Promise<void> {
  for (const world of worlds) {
    calm(world);
    endLife(world, forked(random));
  }
  receivers.heal();
  await clock.advance(RECOVERY_MS);
  for (const world of worlds) endLife(world, forked(random));
  await clock.advance(LANDING_MS);
  for (const world of worlds) landEverywhere(world);
  await clock.advance(plan.livenessMs - RECOVERY_MS - LANDING_MS);
}

/** Judges what the run has left behind. */
export async function judge(
  seed: number,
  { plan, worlds, inventories, kept, cuts, receivers, store, happenings, complaints, clock }: Scene,
  { lives, ...more }: Pick<Remains, 'down'> & { readonly lives: number; readonly moves?: number },
  inspect: RunOptions['inspect'],
): Promise<Outcome> {
  const remains: Remains = {
    ...{ plan, worlds, inventories, kept, receivers, store, happenings, complaints, ...more },
    cutLists: cuts.reduce((sum, one) => sum + one.count(), 0),
    startedAtUs: TEST_START_US,
    endedAtUs: clock.nowUs(),
  };
  inspect?.(remains);
  return {
    ...(await check(remains)),
    seed,
    virtualMs: plan.safetyMs + plan.livenessMs,
    requests: worlds.reduce((sum, world) => sum + world.requests().total, 0),
    lives,
    digest: receivers.digest(),
  };
}

export async function runSeed(seed: number, options: RunOptions): Promise<Outcome> {
  const plan = planOf(seed, options);
  const scene = await openScene(seed, plan, options);
  const { clock, store, happenings } = scene;
  const down: Interval[] = [];
  let aheadMs = plan.clockAheadMs;
  let lives = 0;
  let doomed: Mortal | undefined;
  let isTrouble = true;
  let reloads = 0;
  let life!: {
    readonly mortal: Mortal;
    readonly daemon: Daemon;
    readonly stop: AbortController;
    /** Whether a reload is under way. */
    isReloading: boolean;
  };

  function start(): void {
    lives += 1;
    const mortal = createMortal(
      clock,
      () => Math.round(aheadMs * 1000),
      () => down.push({ fromUs: clock.nowUs(), toUs: Number.POSITIVE_INFINITY }),
    );
    const stop = new AbortController();
    const parts = scene.partsOf(mortal);
    const daemon = createDaemon(options.vary?.(parts) ?? parts);
    life = { mortal, daemon, stop, isReloading: false };
    daemon.run(stop.signal).catch((error) => {
      if (!mortal.isDead()) happenings.bugs.push(`the daemon ended: ${stackOf(error)}`);
    });
  }

  function startAgain({ downMs, again }: Omit<Crash, 'atMs'>): void {
    const leftMs = TEST_START_US / 1000 + plan.safetyMs - clock.nowUs() / 1000;
    clock.setTimer(Math.min(downMs, Math.max(1000, leftMs)), () => {
      down.at(-1)!.toUs = clock.nowUs();
      start();
      if (again) crash({ ...again, downMs });
    });
  }

  /** Ends the current life as planned. */
  function crash(planned: Omit<Crash, 'atMs'>): void {
    const { kind, passing } = planned;
    const { mortal, stop } = life;
    if (mortal.isDead() || doomed === mortal || !isTrouble) return;
    doomed = mortal;
    let isOver = false;
    const over = () => {
      if (isOver) return;
      isOver = true;
      mortal.die();
      startAgain(planned);
    };
    if (kind === 'stop') {
      stop.abort();
      clock.setTimer(STOP_WITHIN_MS, over);
      return;
    }
    mortal.doom(kind, passing);
    // The death is noticed within a second, which counts as time without a daemon.
    const look = (leftMs: number) => {
      if (mortal.isDead() || (leftMs <= 0 && isTrouble)) over();
      else if (isTrouble) clock.setTimer(1000, () => look(leftMs - 1000));
    };
    look(IDLE_CRASH_MS);
  }

  function reload(planned: Reload): void {
    const own = life;
    const { mortal, daemon } = own;
    if (mortal.isDead() || doomed === mortal || own.isReloading) return;
    own.isReloading = true;
    reloads += 1;
    const parts = reloaded(scene.partsOf(mortal), planned, reloads % 2 === 1);
    daemon
      .follow(options.vary?.(parts) ?? parts)
      .catch((error) => {
        if (!mortal.isDead() && doomed !== mortal) happenings.bugs.push(`a reload failed: ${stackOf(error)}`);
      })
      .finally(() => {
        own.isReloading = false;
      });
  }

  planOutages(scene);
  for (const planned of plan.reloads) clock.setTimer(planned.atMs, () => reload(planned));
  for (const { atMs, byMs } of plan.clockSteps) {
    clock.setTimer(atMs, () => {
      aheadMs += byMs;
    });
  }
  for (const planned of plan.crashes) clock.setTimer(planned.atMs, () => crash(planned));

  start();
  await clock.advance(plan.safetyMs);
  isTrouble = false;
  life.mortal.pardon();
  await passQuietTime(scene);
  const outcome = await judge(seed, scene, { down, lives }, options.inspect);
  life.mortal.die();
  await store.close();
  return outcome;
}

/** Ends the trouble. The character of the service stays; what goes wrong in it stops. */
function calm(world: World): void {
  world.comeUp();
  world.acceptToken();
  Object.assign(world.behaviours, {
    lateShare: 0,
    tooManyRequests: 0,
    error500: 0,
    error502: 0,
    error503: 0,
    error504: 0,
    html: 0,
    htmlOk: 0,
    reset: 0,
    cut: 0,
    truncated: 0,
    slow: 0,
    requestsPerSecond: 0,
  });
}

export function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
