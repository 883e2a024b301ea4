/**
 * One world from one seed, watched by several replicas on one store. Whatever happens to one of them, the
 * notifications of all together are judged like those of a single daemon. In addition, no replica may do what another
 * one owns, work that nobody does must be taken over in time, and a replica that ended in good order keeps nothing.
 */
import { createDaemon, type DaemonParts } from '../../../src/daemon.ts';
import { NestwatchError } from '../../../src/errors.ts';
import type { Happening } from '../../../src/report.ts';
import { forked } from '../../../src/simulator/world/seeded-random.ts';
import type { Store } from '../../../src/store/store.ts';
import { createStoreClock, sleep } from '../../../src/time/clock.ts';
import { turnsBy } from '../../store/turns-by.ts';
import { createMortal, type Mortal } from '../mortal.ts';
import type { Reload } from '../plan.ts';
import {
  judge,
  type Outcome,
  openScene,
  passQuietTime,
  planOutages,
  type RunOptions,
  reloaded,
  stackOf,
} from '../run.ts';
import { replicaPlanOf, type Trouble, withCutOff } from './replica-plan.ts';
import { createTakeovers } from './takeovers.ts';
import { createWakeHub } from './wake-hub.ts';
import { type StreamRegions, watchedStore } from './watch-owners.ts';

/** A process that was asked to stop is killed after this time. */
const STOP_WITHIN_MS = 8_000;
/** A store that cannot be reached is given up after this time. */
const STORE_TIMEOUT_MS = 3_000;
/** How long a trouble waits for its moment. */
const MOMENT_WITHIN_MS = 30_000;
const MOMENT_LOOK_MS = 100;
/** How long after one replica the next one reads the configuration. */
const BETWEEN_RELOADS_MS = 20_000;

/** One life of one replica. */
interface Life {
  readonly mortal: Mortal;
  readonly stop: AbortController;
  /** The numbers under which it has joined. */
  readonly joined: number[];
  hasStore: boolean;
  hasService: boolean;
  /** Called when the next response of a region has arrived, before anything is done with it. */
  answered: (() => void) | undefined;
  /** Goes on with another configuration. */
  reload: (planned: Reload, isOdd: boolean) => void;
}

export interface ReplicaOutcome extends Outcome {
  /** How long each duty was not done by anybody although somebody could have. */
  readonly takeoversMs: readonly number[];
}

export async function runReplicas(seed: number, options: RunOptions): Promise<ReplicaOutcome> {
  const { plan, aheadMs, troubles, lostWakes } = replicaPlanOf(seed, options);
  const scene = await openScene(seed, withCutOff(plan, troubles), options);
  const { clock, store, happenings, random, receivers } = scene;
  const hub = createWakeHub(forked(random), lostWakes);
  const regions: StreamRegions = new Map();
  const lives: Life[] = [];
  const complain = (what: string) => void scene.complaints.push(what);
  const duties = ['alerting', ...plan.regions.map(({ region }) => `region ${region}`)];
  const takeovers = createTakeovers({
    ...{ store, clock, duties, complain },
    isWell: (replica) => lives.some((life) => life.joined.at(-1) === replica && isWell(life)),
    ailing: () => lives.filter((life) => !isWell(life)).length,
  });
  let started = 0;
  let isTrouble = true;
  let moves = 0;

  function begin(slot: number): void {
    started += 1;
    const mortal = createMortal(
      clock,
      () => Math.round(aheadMs[slot]! * 1000),
      () => {},
    );
    const life: Life = { mortal, stop: new AbortController(), joined: [], reload() {}, ...WELL };
    lives[slot] = life;
    const { joined, stop } = life;
    const owned = watchedStore(store, regions, {
      joined,
      trespassed: (duty) => complain(`two did ${duty} at once`),
    });
    const given = scene.partsOf(mortal);
    const reached = reachedStore(mortal.store(owned), life);
    const storeClock = createStoreClock(mortal.clock);
    storeClock.heard(clock.nowUs(), storeClock.monotonicMs());
    const parts: DaemonParts = {
      ...given,
      clock: storeClock,
      store: reached,
      transportOf(region) {
        const inner = given.transportOf(region);
        return {
          async send(request) {
            if (!life.hasService) return unreached();
            const response = await inner.send(request);
            life.answered?.();
            return mortal.answer(Promise.resolve(response));
          },
          close: inner.close,
        };
      },
      report(happening) {
        if (isOfCut(happening)) return;
        if (happening.what === 'duty' && happening.isOwned) moves += 1;
        given.report(happening);
      },
      replica: {
        name: `r${slot}`,
        version: '1.0.0',
        wakes: hub.of(mortal.clock, () => mortal.isDead() || !life.hasStore),
        turns: turnsBy(reached),
        storeClock,
      },
    };
    const daemon = createDaemon(options.vary?.(parts) ?? parts);
    let isReloading = false;
    life.reload = (planned, isOdd) => {
      if (mortal.isDead() || stop.signal.aborted || isReloading) return;
      isReloading = true;
      const next = reloaded(parts, planned, isOdd);
      daemon
        .follow(options.vary?.(next) ?? next)
        .catch((error) => {
          if (!mortal.isDead() && !stop.signal.aborted)
            happenings.bugs.push(`a reload failed: ${stackOf(error)}`);
        })
        .finally(() => {
          isReloading = false;
        });
    };
    daemon.run(stop.signal).then(
      () => hasEnded(life),
      (error) => {
        if (!mortal.isDead()) happenings.bugs.push(`a replica ended: ${stackOf(error)}`);
      },
    );
  }

  /** A life that ended by itself must have given everything back. */
  async function hasEnded({ mortal, joined }: Life): Promise<void> {
    if (mortal.isDead()) return;
    mortal.die();
    const view = await store.transaction((tx) => tx.ownership.view());
    const kept = view.duties.filter(({ owner }) => joined.includes(owner));
    for (const { duty } of kept) complain(`one that has ended kept ${duty}`);
  }

  /** Does something as soon as the condition holds, or after a while. */
  function atMoment(isIt: () => boolean, action: () => void, leftMs = MOMENT_WITHIN_MS): void {
    if (isIt() || leftMs <= 0) action();
    else clock.setTimer(MOMENT_LOOK_MS, () => atMoment(isIt, action, leftMs - MOMENT_LOOK_MS));
  }

  function befallAtItsMoment(trouble: Trouble): void {
    const life = lives[trouble.replica]!;
    const { mortal } = life;
    const befall = () => {
      life.answered = undefined;
      if (lives[trouble.replica] === life) strike(trouble);
    };
    if (trouble.at === 'answer') {
      life.answered = befall;
      clock.setTimer(MOMENT_WITHIN_MS, () => {
        if (life.answered === befall) befall();
      });
    } else {
      atMoment(() => trouble.at !== 'send' || receivers.underWay(mortal) > 0, befall);
    }
  }

  function strike({ replica: slot, kind, forMs }: Trouble): void {
    const life = lives[slot]!;
    const { mortal, stop } = life;
    if (!isWell(life) || !isTrouble) return;
    const again = (ms: number) =>
      clock.setTimer(ms, () =>
        atMoment(
          () => receivers.underWay() > 0,
          () => begin(slot),
        ),
      );
    if (kind !== 'kill' && kind !== 'pause') mortal.falter();
    switch (kind) {
      case 'kill':
        mortal.die();
        again(forMs);
        break;
      case 'stop':
        stop.abort();
        clock.setTimer(STOP_WITHIN_MS, () => mortal.die());
        again(STOP_WITHIN_MS + forMs);
        break;
      case 'pause':
        mortal.pause();
        clock.setTimer(forMs, mortal.goOn);
        break;
      case 'no_store':
        life.hasStore = false;
        clock.setTimer(forMs, () => {
          life.hasStore = true;
          mortal.mend();
        });
        break;
      case 'no_service':
        life.hasService = false;
        clock.setTimer(forMs, () => {
          life.hasService = true;
          mortal.mend();
        });
        break;
    }
  }

  planOutages({ ...scene, plan });
  for (const trouble of troubles) clock.setTimer(trouble.atMs, () => befallAtItsMoment(trouble));
  for (const [count, planned] of plan.reloads.entries()) {
    // One replica after the other.
    for (const slot of aheadMs.keys())
      clock.setTimer(planned.atMs + slot * BETWEEN_RELOADS_MS, () =>
        lives[slot]!.reload(planned, count % 2 === 0),
      );
  }
  for (const slot of aheadMs.keys()) begin(slot);
  takeovers.begin();
  await clock.advance(plan.safetyMs);
  isTrouble = false;
  await passQuietTime(scene);
  takeovers.end();
  const outcome = await judge(seed, scene, { down: takeovers.down, lives: started, moves }, options.inspect);
  for (const { mortal } of lives) mortal.die();
  await store.close();
  return { ...outcome, takeoversMs: takeovers.takenMs };
}

const WELL = { hasStore: true, hasService: true, answered: undefined };

/** Whether it can do what it owns. */
function isWell({ mortal, stop, hasStore }: Life): boolean {
  return !mortal.isDead() && !mortal.isPaused() && !stop.signal.aborted && hasStore;
}

/** A store over a network, which may be unreachable. */
function reachedStore(inner: Store, life: Life): Store {
  return {
    ...inner,
    async transaction(work) {
      if (life.hasStore) return inner.transaction(work);
      await sleep(life.mortal.clock, STORE_TIMEOUT_MS);
      throw NO_STORE;
    },
  };
}

const NO_STORE = new NestwatchError('store_failed', 'The store is not reached.');

/** A replica that is cut off reports it, as it should. */
function isOfCut(happening: Happening): boolean {
  return 'error' in happening && happening.error === NO_STORE;
}

function unreached(): Promise<never> {
  return Promise.reject(new NestwatchError('unreachable', 'The region is not reached.'));
}
