/**
 * The stage between intake and delivery. It keeps nothing in memory: every step reads what is due from the store and
 * commits its result with the new state in one transaction, so that a crash between two steps repeats none and
 * forgets none.
 *
 *   regions no longer watched ───end────┐
 *   overdue Flights and Birds ──decide──┤
 *   due alerts ──tick──► changed alerts ──join───► groups ──flush──► notification and its deliveries
 *   forwarded events ──────────────────────────────────────────────► notification and its deliveries
 *
 * What to do is decided by pure functions of `domain/`; this stage loads, saves and keeps time.
 */

import type { Config } from '../config/config.ts';
import type { RegionConfig } from '../config/sections/regions-section.ts';
import { tick } from '../domain/evaluate/decide.ts';
import { createRecurrences } from '../domain/muting/recurrence.ts';
import type { Happening, Report } from '../report.ts';
import { writeDecision } from '../store/change-alerts.ts';
import type { Store, Transaction } from '../store/store.ts';
import { type Clock, createBell, sleep } from '../time/clock.ts';
import { createClockStep } from './clock-rollback.ts';
import { watchDeliveries } from './delivery-health.ts';
import { endUnwatched } from './end-removed-regions.ts';
import { fallBack } from './fallback.ts';
import { flushGroups } from './flush-groups.ts';
import { forwardWaiting } from './forward-events.ts';
import { joinGroups } from './join-groups.ts';
import { createOverdue, type OverdueOptions } from './overdue.ts';
import { NOTHING, type Step } from './step.ts';

export interface AlertingOptions {
  readonly store: Store;
  readonly config: Pick<Config, 'route' | 'receivers' | 'rules' | 'inhibitRules' | 'timeIntervals'> & {
    readonly regions: readonly Pick<RegionConfig, 'name'>[];
    readonly poll: Pick<Config['poll'], 'maxAlertAgeMs'>;
  };
  readonly clock: Clock;
  readonly report: Report;
  /** Without it nothing is overdue: see `overdue.ts`. */
  readonly flightsReadUs?: OverdueOptions['flightsReadUs'];
  /** Called after a commit that queued deliveries. */
  readonly queued: () => void;
}

export interface Alerting {
  /** Something changed in the store. */
  wake(): void;
  /** Runs until `signal` aborts. A step under way is finished. */
  run(signal: AbortSignal): Promise<void>;
  /** Queues everything that there is to tell now, without waiting for the groups' timers. */
  drain(): Promise<void>;
}

/** Alerts that time acts on in one transaction. */
const TICK_BATCH = 200;

/** The clock may be set meanwhile: no wait is trusted for longer. */
const LONGEST_WAIT_MS = 60_000;

/** How long the stage rests when the store refuses a transaction. */
const STORE_PAUSE_MS = 1_000;

export function createAlerting(options: AlertingOptions): Alerting {
  const { store, config, clock, report } = options;
  const maxAgeUs = config.poll.maxAlertAgeMs * 1000;
  const bell = createBell(clock);
  const { flightsReadUs = () => undefined } = options;
  const lookForOverdue = createOverdue({ rules: config.rules, clock, flightsReadUs });
  const recurrences = createRecurrences();
  const clockWasSetBack = createClockStep(store, clock);

  /** In this life: which regions are watched is the configuration's. */
  let hasEndedUnwatched = false;

  /** Runs a step until it finds nothing more to do. */
  async function exhaust(step: (tx: Transaction) => Promise<Step>): Promise<void> {
    for (;;) {
      const { done, queued, happenings } = await store.transaction(step);
      for (const happening of happenings) report(happening);
      if (queued > 0) options.queued();
      if (done === 0) return;
    }
  }

  async function pass(everyGroup: boolean): Promise<void> {
    if (await clockWasSetBack()) options.queued();
    if (!hasEndedUnwatched)
      await exhaust((tx) => endUnwatched(tx, config.regions, config.rules, clock.nowUs()));
    hasEndedUnwatched = true;
    await exhaust((tx) => tickDue(tx, config.rules, clock.nowUs()));
    await exhaust(lookForOverdue);
    await exhaust((tx) => watchDeliveries(tx, config, clock.nowUs()));
    await exhaust((tx) => joinGroups(tx, config, maxAgeUs, clock.nowUs()));
    await exhaust(async (tx) => {
      // A flush tells what has joined its groups: only then it is known what of it is old and not told there.
      const happenings: Happening[] = [];
      let queued = 0;
      for (;;) {
        const joined = await joinGroups(tx, config, maxAgeUs, clock.nowUs());
        queued += joined.queued;
        happenings.push(...joined.happenings);
        if (joined.done === 0) break;
      }
      const flushed = await flushGroups(tx, config, recurrences, clock.nowUs(), everyGroup);
      return {
        ...flushed,
        queued: queued + flushed.queued,
        happenings: [...happenings, ...flushed.happenings],
      };
    });
    await exhaust((tx) => fallBack(tx, config.receivers, clock.nowUs()));
    await exhaust((tx) => forwardWaiting(tx, config.receivers, clock.nowUs()));
  }

  return {
    wake: () => bell.ring(),
    async run(signal) {
      while (!signal.aborted) {
        try {
          await pass(false);
          const nextUs = await store.transaction((tx) => tx.groups.nextAlertingUs());
          const waitMs = nextUs === undefined ? LONGEST_WAIT_MS : (nextUs - clock.nowUs()) / 1000;
          await bell.wait(Math.min(Math.max(0, waitMs), LONGEST_WAIT_MS), signal);
        } catch (error) {
          report({ what: 'trouble', stage: 'alerting', error });
          await sleep(clock, STORE_PAUSE_MS, signal);
        }
      }
    },
    drain: () => pass(true),
  };
}

async function tickDue(tx: Transaction, rules: Config['rules'], nowUs: number): Promise<Step> {
  const due = await tx.alerts.due(nowUs, TICK_BATCH);
  if (due.length === 0) return NOTHING;
  const { alerts, links } = tick(due, rules, nowUs);
  // One that time did not change after all must not come due for ever.
  const changed = new Set(alerts.map((alert) => alert.id));
  const idle = due.filter((alert) => !changed.has(alert.id)).map((alert) => ({ ...alert, dueAtUs: null }));
  const { happenings } = await writeDecision(tx, due, { alerts: [...alerts, ...idle], links });
  return { done: due.length, queued: 0, happenings };
}
