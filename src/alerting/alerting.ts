/**
 * The stage between intake and delivery. It keeps nothing in memory: every step reads what is due from the store and
 * commits its result with the new state in one transaction, so that a crash between two steps repeats none and
 * forgets none.
 *
 *   due alerts ──tick──► changed alerts ──enrol──► groups ──flush──► notification and its deliveries
 *   forwarded events ──────────────────────────────────────────────► notification and its deliveries
 *
 * What to do is decided by pure functions of `alerts/`; this stage loads, saves and keeps time.
 */
import { tick } from '../alerts/decide.ts';
import { transitions } from '../alerts/transition.ts';
import { type Clock, createBell, sleep } from '../clock.ts';
import type { Config } from '../config/config.ts';
import type { Report } from '../report.ts';
import type { Store, Transaction } from '../store/store.ts';
import { enrolChanged } from './enrolment.ts';
import { flushDue } from './flushing.ts';
import { forwardWaiting } from './forwarding.ts';
import { NOTHING, type Step } from './step.ts';

export interface AlertingOptions {
  readonly store: Store;
  readonly config: Pick<Config, 'route' | 'receivers' | 'rules'>;
  readonly clock: Clock;
  readonly report: Report;
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
  const bell = createBell(clock);

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
    await exhaust((tx) => tickDue(tx, config.rules, clock.nowUs()));
    await exhaust((tx) => enrolChanged(tx, config.route, clock.nowUs()));
    await exhaust((tx) => flushDue(tx, config, clock.nowUs(), everyGroup));
    await exhaust((tx) => forwardWaiting(tx, config.receivers, clock.nowUs()));
  }

  return {
    wake: () => bell.ring(),
    async run(signal) {
      while (!signal.aborted) {
        try {
          await pass(false);
          const nextUs = await store.transaction((tx) => tx.nextAlertingUs());
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
  const due = await tx.alertsDue(nowUs, TICK_BATCH);
  if (due.length === 0) return NOTHING;
  const { alerts, links } = tick(due, rules, nowUs);
  // One that time did not change after all must not come due for ever.
  const changed = new Set(alerts.map((alert) => alert.id));
  const idle = due.filter((alert) => !changed.has(alert.id)).map((alert) => ({ ...alert, dueAtUs: null }));
  await tx.putAlerts([...alerts, ...idle]);
  await tx.linkEvents(links);
  const happenings = transitions(due, alerts).map(({ alert, state }) => ({
    what: 'alert' as const,
    alertname: alert.alertname,
    region: alert.labels.region ?? '',
    state,
    alertId: alert.id,
  }));
  return { done: due.length, queued: 0, happenings };
}
