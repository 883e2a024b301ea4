/**
 * What happens to several replicas on one store, in addition to all that happens to their regions and receivers.
 * Their clocks disagree all the time. Each of them is killed, stopped, paused and cut off, one after another and
 * sometimes two at once.
 */
import { forked, pick, seededRandom } from '../../../src/simulator/world/seeded-random.ts';
import type { Random } from '../../../src/time/clock.ts';
import { type Plan, planOf, type Span } from '../plan.ts';

export interface ReplicaPlan {
  readonly plan: Plan;
  /** How far each clock is ahead of the service's. */
  readonly aheadMs: readonly number[];
  readonly troubles: readonly Trouble[];
  /** The share of lost wake-ups between them. */
  readonly lostWakes: number;
}

export interface Trouble {
  readonly atMs: number;
  readonly forMs: number;
  readonly replica: number;
  /**
   * `kill`: it ends at once. `stop`: it is asked to end. `pause`: it is suspended, as by SIGSTOP. `no_store`: it
   * cannot reach the store. `no_service`: it cannot reach any region. Afterwards it continues, or starts again.
   */
  readonly kind: 'kill' | 'stop' | 'pause' | 'no_store' | 'no_service';
  /**
   * When it begins, if that comes soon. `answer`: it has just read something. `send`: a message of its own is in
   * flight; it starts again while others send.
   */
  readonly at: 'answer' | 'send' | 'any';
}

const MINUTE_MS = 60_000;

/** On average, replicas are not without trouble for longer than this. */
const TROUBLE_EVERY_MS = 5 * MINUTE_MS;
/** The clocks are synchronised, but badly. */
const MOST_AHEAD_MS = 30_000;

export function replicaPlanOf(seed: number, span: Span): ReplicaPlan {
  const random = seededRandom(Math.imul(seed, 0x85ebca6b) ^ 0x7e11);
  const { clockSteps, ...base } = planOf(seed, span);
  const setBackMs = clockSteps.reduce((sum, step) => sum + Math.max(0, -step.byMs), 0);
  const count = 2 + Math.floor(random() * 3);
  const aheadMs = Array.from({ length: count }, () =>
    random() < 0.5 ? 0 : Math.round((2 * random() - 1) * MOST_AHEAD_MS),
  );
  const troubles = newTroubles(forked(random), count, base.safetyMs);
  const plan: Plan = {
    ...base,
    // Two replicas read by turns around a takeover: a list that is whole for one would seem to the other like none.
    regions: base.regions.map((region) => ({ ...region, cutLists: 0 })),
    clockAheadMs: 0,
    clockSteps: [],
    crashes: [],
    livenessMs: base.livenessMs - setBackMs,
  };
  return { plan, aheadMs, troubles, lostWakes: pick(random, [0, 0.1, 0.5]) };
}

function newTroubles(random: Random, count: number, safetyMs: number): Trouble[] {
  const kinds = ['kill', 'stop', 'pause', 'pause', 'no_store', 'no_service'] as const;
  const most = Math.max(3, Math.round(safetyMs / TROUBLE_EVERY_MS));
  const troubles = Array.from({ length: most }, (): Trouble => {
    const kind = pick(random, kinds);
    // Shorter than a lease, a little longer, and much longer; a region that cannot be reached soon moves to another
    // replica.
    const lengths =
      kind === 'no_service'
        ? [20_000, 45_000, 5 * MINUTE_MS]
        : [3_000, 9_000, 13_000, 40_000, 40_000, 3 * MINUTE_MS];
    const forMs = Math.round(pick(random, lengths) * (0.8 + 0.4 * random()));
    const at = pick(random, ['answer', 'answer', 'send', 'send', 'any'] as const);
    const replica = Math.floor(random() * count);
    return { atMs: random() * safetyMs, forMs, kind, replica, at };
  });
  return troubles.filter(({ atMs, forMs }) => atMs + forMs < safetyMs).sort((a, b) => a.atMs - b.atMs);
}

/** For the checker: a region is away for a replica that cannot reach it. */
export function withCutOff(plan: Plan, troubles: readonly Trouble[]): Plan {
  const cuts = troubles
    .filter(({ kind }) => kind === 'no_service')
    .map(({ atMs, forMs }) => ({ atMs, forMs, kind: 'reset' as const }));
  return {
    ...plan,
    regions: plan.regions.map((region) => ({ ...region, outages: [...region.outages, ...cuts] })),
  };
}
