/**
 * The stage between intake and delivery: from alerts that changed to deliveries that are queued. It keeps nothing in
 * memory. Each step reads from the store what is due, and commits its result with the new state in one transaction, so
 * that a crash between two steps repeats none and forgets none. In the order in which they run:
 *
 *   endRemovedRegions   resolves the alerts of regions that the configuration no longer has
 *   rerouteFiring       has what fires follow the routes that the configuration has now
 *   releaseHeldBack     notifies first of what was held back from receivers that are capped no more
 *   updateDueAlerts     resolves or fires what time acts on: `for`, `resolve_after`, flapping
 *   judgeOverdue        fires for Flights that are stuck and Birds that are stale
 *   watchDeliveries     fires for receivers that accept nothing
 *   watchHealth         fires for what impairs the watch, where no other alert says it
 *   retryAlerts         takes up alerts again that could not join their groups
 *   joinGroups          puts each alert that changed into the groups of its routes,
 *   flushGroups         and notifies of the groups that are due: their notifications and deliveries
 *   fallBack            gives to its fallback what a receiver did not accept
 *   forwardEvents       batches the events that are forwarded
 *
 * What to do is decided by the pure functions of `domain/`; these steps load, save and keep time.
 */
import type { Config } from '../config/config.ts';
import type { RegionConfig } from '../config/sections/regions-section.ts';
import type { Alert } from '../domain/alert/alert.ts';
import type { Fact } from '../domain/alert/fact.ts';
import { judgedName, tick } from '../domain/evaluate/decide.ts';
import { deliveryFailing } from '../domain/kinds/delivery-failing.ts';
import { createRecurrences } from '../domain/muting/recurrence.ts';
import type { Report } from '../report.ts';
import { applyFacts, writeDecision } from '../store/change-alerts.ts';
import type { Store, Transaction } from '../store/store.ts';
import { type Clock, createBell, sleep } from '../time/clock.ts';
import { watchDeliveries } from './delivery-health.ts';
import { endRemovedRegions } from './end-removed-regions.ts';
import { fallBack } from './fallback.ts';
import { releaseHeldBack } from './flush/gathered-groups.ts';
import { flushGroups } from './flush-groups.ts';
import { forwardEvents } from './forward-events.ts';
import { type Growth, joinGroups } from './join-groups.ts';
import { retryAlerts } from './note-faults.ts';
import { createOverdue, type OverdueOptions } from './overdue.ts';
import { rerouteFiring } from './reroute-firing.ts';
import { NOTHING, type Step } from './step.ts';
import { StepRunner } from './step-runner.ts';

interface AlertingOptions {
  readonly store: Store;
  readonly config: Pick<Config, 'route' | 'receivers' | 'rules' | 'inhibitRules' | 'timeIntervals'> & {
    readonly regions: readonly Pick<RegionConfig, 'name' | 'links'>[];
    readonly poll: Pick<Config['poll'], 'maxAlertAgeMs'>;
  };
  readonly clock: Clock;
  readonly report: Report;
  /** Without it nothing is overdue: see `overdue.ts`. */
  readonly flightsReadUs?: OverdueOptions['flightsReadUs'];
  /** By how much the clock of a region's service is ahead of that by which it is read; 0 where that is not known. */
  readonly serviceAheadUs?: (region: string) => number;
  /** What the last health answer says, another list after each; absent where there is none. */
  readonly watchFacts?: () => readonly Fact[];
  /** How often it looks for what changed though nobody says so; a minute without it. */
  readonly lookEveryMs?: number | undefined;
  /** Called after a commit that queued deliveries. */
  readonly queued: () => void;
}

interface Alerting {
  /** Something changed in the store. */
  wake(): void;
  /** Runs until `signal` aborts. A step under way is finished. */
  run(signal: AbortSignal): Promise<void>;
  /** Queues all notifications that there are to send, without waiting for the groups' timers. */
  drain(): Promise<void>;
}

/** An alert that could not be looked at is looked at again after so long. */
const FAILED_AGAIN_US = 300_000_000;

/** Alerts updated in one transaction. */
const DUE_BATCH = 200;

/** Batches of alerts that join in one transaction. */
const MOST_JOINS = 2;

/** The clock may be set meanwhile: no wait is trusted for longer. */
const LONGEST_WAIT_MS = 60_000;

/** Every step is taken so often, even where a look into the store finds nothing for any of them to do. */
const EVERY_STEP_MS = 600_000;

const NO_FACTS: readonly Fact[] = [];

/** How long the stage rests when the store refuses a transaction. */
const STORE_PAUSE_MS = 1_000;

export function createAlerting(options: AlertingOptions): Alerting {
  const { store, config, clock, report } = options;
  const bell = createBell(clock);
  const { flightsReadUs = () => undefined, watchFacts = () => NO_FACTS, serviceAheadUs = () => 0 } = options;
  const { lookEveryMs: longestMs = LONGEST_WAIT_MS } = options;
  let heard = NO_FACTS;
  const overdue = createOverdue({ rules: config.rules, clock, flightsReadUs });
  const recurrences = createRecurrences();

  /** Where our clock is ahead, what has just happened seems to be so old when it is read. */
  const maxAgeUs = (region: string) =>
    config.poll.maxAlertAgeMs * 1000 + Math.max(0, -serviceAheadUs(region));

  const steps = new StepRunner(options);
  let hasBegun = false;
  let passedMs = Number.NEGATIVE_INFINITY;
  /** When regions were looked for that nobody watches any more. */
  let removedMs = Number.NEGATIVE_INFINITY;

  /**
   * Looks for itself, though nobody said that there is something to do: on a server each step costs several requests, so
   * all but those that know of more than the store does are spared where there is nothing for them. Resolves to when
   * something is due next; undefined where there may be something to do.
   */
  async function look(): Promise<{ readonly nextUs: number | undefined } | undefined> {
    if (clock.monotonicMs() - passedMs >= EVERY_STEP_MS || steps.isResting()) return undefined;
    if (overdue.isDue()) await steps.run('judgeOverdue', overdue.judge);
    await steps.run('watchHealth', watchHealth);
    return store.transaction(async (tx) => {
      const nowUs = clock.nowUs();
      const nextUs = await tx.groups.nextAlertingUs();
      const isDue = nextUs !== undefined && nextUs <= nowUs;
      return isDue || (await tx.groups.isAnythingWaiting(nowUs, deliveryFailing.name))
        ? undefined
        : { nextUs };
    });
  }

  const dueNext = () => store.transaction(async (tx) => ({ nextUs: await tx.groups.nextAlertingUs() }));

  async function pass(everyGroup: boolean): Promise<void> {
    passedMs = clock.monotonicMs();
    const isFirst = !hasBegun;
    if (isFirst) await store.transaction((tx) => tx.faults.begin(clock.nowUs()));
    if (clock.monotonicMs() - removedMs >= EVERY_STEP_MS) {
      removedMs = clock.monotonicMs();
      await steps.run('endRemovedRegions', (tx) =>
        endRemovedRegions(tx, config.regions, config.rules, clock.nowUs()),
      );
    }
    if (isFirst) {
      let after: Alert | undefined;
      await steps.run('rerouteFiring', async (tx) => {
        const rerouted = await rerouteFiring(tx, config.route, after, clock.nowUs());
        after = rerouted.last;
        return rerouted;
      });
      await steps.run('releaseHeldBack', (tx) => releaseHeldBack(tx, config.receivers));
    }
    hasBegun = true;
    await steps.run('updateDueAlerts', (tx) => updateDueAlerts(tx, config.rules, clock.nowUs()));
    await steps.run('judgeOverdue', overdue.judge);
    await steps.run('watchDeliveries', (tx) => watchDeliveries(tx, config, clock.nowUs()));
    await steps.run('watchHealth', watchHealth);
    await steps.run('retryAlerts', (tx) => retryAlerts(tx, clock.nowUs()));
    const growth: Growth = new Map();
    await steps.run('joinAndFlush', (tx) => joinAndFlush(tx, growth, everyGroup));
    await steps.run('fallBack', (tx) => fallBack(tx, config, clock.nowUs()));
    await steps.run('forwardEvents', (tx) => forwardEvents(tx, config.receivers, clock.nowUs()));
  }

  /** Each answer once; what is lost with its transaction comes again with the next one, seconds later. */
  async function watchHealth(tx: Transaction): Promise<Step> {
    const facts = watchFacts();
    if (facts === heard) return NOTHING;
    heard = facts;
    const { happenings } = await applyFacts(tx, facts, config.rules, clock.nowUs());
    return { done: 0, queued: 0, happenings };
  }

  /**
   * Groups are flushed once no alert waits to join any: only then is it known which of their events are old and belong
   * in a summary. Both are one transaction, since a group that begins with `group_wait: 0s` is then written once.
   */
  async function joinAndFlush(tx: Transaction, growth: Growth, everyGroup: boolean): Promise<Step> {
    const taken = [await joinGroups(tx, config, maxAgeUs, growth, clock.nowUs())];
    while (!taken.at(-1)!.isAll && taken.length < MOST_JOINS) {
      await tx.pause();
      taken.push(await joinGroups(tx, config, maxAgeUs, growth, clock.nowUs()));
    }
    if (taken.at(-1)!.isAll) {
      taken.push(await flushGroups(tx, config, recurrences, { everyGroup, growth }, clock.nowUs()));
      // What waits for more does so until the next look, and never holds up the turn of this step.
      growth.clear();
    }
    return {
      ...taken.at(-1)!,
      queued: taken.reduce((sum, { queued }) => sum + queued, 0),
      happenings: taken.flatMap(({ happenings }) => happenings),
    };
  }

  return {
    wake: () => bell.ring(),
    async run(signal) {
      let isRung = true;
      while (!signal.aborted) {
        try {
          const seen = isRung ? undefined : await look();
          isRung = true;
          if (!seen) await pass(false);
          const { nextUs } = seen ?? (await dueNext());
          const waitMs = nextUs === undefined ? longestMs : (nextUs - clock.nowUs()) / 1000;
          // What a step that rests would do is due, and waits with it.
          const leastMs = steps.isResting() ? STORE_PAUSE_MS : 0;
          isRung = await bell.wait(Math.min(Math.max(leastMs, waitMs), longestMs), signal);
        } catch (error) {
          report({ what: 'trouble', stage: 'alerting', error });
          await sleep(clock, STORE_PAUSE_MS, signal);
        }
      }
    },
    drain: () => pass(true),
  };
}

/** Acts on alerts whose instant has come. */
async function updateDueAlerts(tx: Transaction, rules: Config['rules'], nowUs: number): Promise<Step> {
  const due = await tx.alerts.due(nowUs, DUE_BATCH);
  if (due.length === 0) return NOTHING;
  const { alerts, links, faults = [] } = tick(due, rules, nowUs);
  const failed = new Set(faults.map(({ name }) => name));
  const laterUs = (alert: Alert) => (failed.has(judgedName(alert)) ? nowUs + FAILED_AGAIN_US : null);
  // An alert that did not change after all must not come due for ever.
  const changed = new Set(alerts.map((alert) => alert.id));
  const idle = due
    .filter((alert) => !changed.has(alert.id))
    .map((alert) => ({ ...alert, dueAtUs: laterUs(alert) }));
  const { happenings } = await writeDecision(tx, due, { alerts: [...alerts, ...idle], links, faults }, nowUs);
  return { done: due.length, queued: 0, happenings };
}
