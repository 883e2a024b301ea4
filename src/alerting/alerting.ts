/**
 * The alerting stage, between intake and delivery: turns changed alerts into queued deliveries.
 *
 * All that it must remember is in the store. Each step reads what is due and commits its result together with the new
 * state in one transaction, so a crash between two steps neither repeats nor loses anything. The steps, in the order in
 * which they run, each if there is something for it to do:
 *
 *   endRemovedRegions   resolves the alerts of regions that are no longer configured
 *   endRemovedRules     resolves the alerts of rules that are no longer configured (once per configuration)
 *   rerouteFiring       moves firing alerts to the routes of a new configuration (if its routes differ)
 *   releaseHeldBack     makes due what was held back from receivers no longer throttled (once per configuration)
 *   judgeOverdue        fires for what time alone makes wrong, such as Flights that are stuck
 *   judgeRegions        fires for what is wrong in the inventory, such as Birds that are not as declared
 *   judgeObjectives     fires for Nests and regions that fail faster than an objective allows
 *   decideActions       lets rules start Birds again that failed, unless a guard rail withholds it
 *   watchHealth         fires for what impairs the watch, unless another alert says it
 *   watchDeliveries     fires for receivers that accept nothing
 *   updateDueAlerts     resolves or fires alerts by the time that has passed: `for`, `resolve_after`, flapping
 *   retryAlerts         lets alerts that could not join their groups try again
 *   joinGroups          puts each changed alert into the groups of its routes
 *   flushGroups         notifies of the groups that are due: queues notifications and their deliveries
 *   fallBack            gives to the fallback what a receiver did not accept
 *   forwardEvents       queues the events that are to be forwarded, in batches
 *
 * The pure functions of `domain/` decide what to do; these steps load, save and keep time.
 */
import type { Config } from '../config/config.ts';
import { routesAsText } from '../config/same-setting.ts';
import type { RegionConfig } from '../config/sections/regions-section.ts';
import type { Alert } from '../domain/alert/alert.ts';
import type { Fact } from '../domain/alert/fact.ts';
import { judgedName, tick } from '../domain/evaluate/decide.ts';
import { deliveryFailing } from '../domain/kinds/delivery-failing.ts';
import { createRecurrences } from '../domain/muting/silence.ts';
import type { InventoryRead } from '../region-progress.ts';
import type { Report } from '../report.ts';
import { applyFacts, writeDecision } from '../store/change-alerts.ts';
import type { AlertingWork } from '../store/sql/alerted/groups.ts';
import type { Store, Transaction } from '../store/store.ts';
import { type Clock, createBell, sleep } from '../time/clock.ts';
import type { Acting } from './act-by-rule.ts';
import { watchDeliveries } from './delivery-health.ts';
import { fallBack } from './fallback.ts';
import { releaseHeldBack } from './flush/gathered-groups.ts';
import { flushGroups, MOST_GROUPS } from './flush-groups.ts';
import { forwardEvents } from './forward-events.ts';
import { type Growth, joinGroups } from './join-groups.ts';
import { judgeObjectives, OBJECTIVES_EVERY_MS } from './judge-objectives.ts';
import { createRegionJudging } from './judge-regions.ts';
import { endRemovedRegions, endRemovedRules, rerouteFiring } from './new-configuration.ts';
import { createOverdue, type OverdueOptions } from './overdue.ts';
import { NOTHING, retryAlerts, type Step, StepRunner } from './step-runner.ts';

interface AlertingOptions {
  readonly store: Store;
  readonly config: Pick<
    Config,
    'route' | 'receivers' | 'rules' | 'inhibitRules' | 'timeIntervals' | 'context' | 'objectives' | 'actions'
  > & {
    readonly regions: readonly Pick<RegionConfig, 'name' | 'links' | 'fly'>[];
    readonly poll: Pick<Config['poll'], 'maxAlertAgeMs' | 'initialLookbackMs'>;
  };
  readonly clock: Clock;
  readonly report: Report;
  /** Without it nothing is judged overdue (`overdue.ts`). */
  readonly flightsReadUs?: OverdueOptions['flightsReadUs'];
  /** Without it no inventory is judged (`judge-regions.ts`). */
  readonly inventoryReads?: () => ReadonlyMap<string, InventoryRead>;
  /** Whether logs of Flights are read for kinds that want them (`judge.ts`). */
  readonly areLogsRead?: boolean;
  /** Called after a commit by which logs of a region's Flights are to be read now. */
  readonly logsWanted?: OverdueOptions['logsWanted'];
  /** How far the clock of a region's service is ahead of ours, microseconds; 0 if unknown. */
  readonly serviceAheadUs?: (region: string) => number;
  /** The facts of the last health answer: a new list after each answer. Absent if nothing judges the health. */
  readonly watchFacts?: () => readonly Fact[];
  /** How often it checks the store for changes that no `wake` announced. Default: one minute. */
  readonly lookEveryMs?: number | undefined;
  /** Called after a commit that queued deliveries; a promise that it returns is awaited. */
  readonly queued: () => unknown;
  /** The routes that firing alerts were last moved to, across configurations; absent if other replicas move them too. */
  readonly routed?: Routed | undefined;
}

/** `by`: the routes as text. */
export interface Routed {
  by?: string | undefined;
}

/** An alert that could not be evaluated is tried again after this long. */
const FAILED_AGAIN_US = 300_000_000;

/** Alerts updated in one transaction. */
const DUE_BATCH = 200;

/** Batches of alerts that join their groups in one transaction, at most. */
const MOST_JOINS = 2;

/**
 * Groups flushed in one transaction after nothing was flushed for `QUIET_MS`. Twice as many are in each of the next ones,
 * up to `MOST_GROUPS`: the first message of a storm does not wait for hundreds of others.
 */
const FIRST_GROUPS = 50;
const QUIET_MS = 1_000;

/** No wait is longer than this, since the clock may be set in the meantime. */
const LONGEST_WAIT_MS = 60_000;

/** All steps run at least this often, even if the store shows nothing to do for any of them. */
const EVERY_STEP_MS = 600_000;

const ALL_WORK: AlertingWork = {
  ...{ alertUs: 0, groupUs: 0, fallbackUs: 0 },
  ...{ isJoining: true, isRetrying: true, isForwarding: true, isDeliveryFailing: true },
};

const NO_FACTS: readonly Fact[] = [];

/** How long the stage waits after the store refused a transaction. */
const STORE_PAUSE_MS = 1_000;

export function createAlerting(options: AlertingOptions) {
  const { store, config, clock, report } = options;
  const bell = createBell(clock);
  const { flightsReadUs = () => undefined, watchFacts = () => NO_FACTS, serviceAheadUs = () => 0 } = options;
  const { lookEveryMs: longestMs = LONGEST_WAIT_MS } = options;
  let heard = NO_FACTS;
  const { rules, timeIntervals, poll, objectives = [] } = config;
  /** Present, and loaded, if a region may be acted on. */
  let acting: Acting | undefined;
  let objectivesMs = Number.NEGATIVE_INFINITY;
  const judging = {
    rules,
    clock,
    flightsReadUs,
    timeIntervals,
    lookbackMs: poll.initialLookbackMs,
    areLogsRead: options.areLogsRead ?? false,
    logsWanted: options.logsWanted,
  };
  const overdue = createOverdue(judging);
  const regions = createRegionJudging({
    ...judging,
    inventoryReads: options.inventoryReads ?? (() => new Map()),
  });
  const recurrences = createRecurrences();

  /**
   * The age from which an event counts as old. If our clock is ahead of the service's, events look older by that much.
   */
  const maxAgeUs = (region: string) =>
    config.poll.maxAlertAgeMs * 1000 + Math.max(0, -serviceAheadUs(region));

  const steps = new StepRunner(options);
  let mostGroups = FIRST_GROUPS;
  let flushedMs = Number.NEGATIVE_INFINITY;
  let hasBegun = false;
  /** The steps that run once per configuration, until they have. */
  const once = new Map<string, (tx: Transaction) => Promise<Step>>();
  /** When all steps last ran. */
  let allStepsMs = Number.NEGATIVE_INFINITY;

  /** What there is to do. First come the steps that know more than the store does. */
  async function look(): Promise<AlertingWork> {
    for (const [name, step] of once) if (await steps.run(name, step)) once.delete(name);
    if (overdue.nextMs() <= clock.monotonicMs()) await steps.run('judgeOverdue', overdue.judge);
    if (regions.nextMs() <= clock.monotonicMs()) await steps.run('judgeRegions', regions.judge);
    // Without objectives once: what fires because of earlier ones is over.
    const everyMs = objectives.length > 0 ? OBJECTIVES_EVERY_MS : Number.POSITIVE_INFINITY;
    const nowMs = clock.monotonicMs();
    if (nowMs - objectivesMs >= everyMs) {
      const names = config.regions.map(({ name }) => name);
      const isDone = await steps.run('judgeObjectives', (tx) =>
        judgeObjectives(tx, objectives, names, rules, clock.nowUs()),
      );
      if (isDone) objectivesMs = nowMs;
    }
    if (acting?.isDeciding()) await steps.run('decideActions', (tx) => acting!.decide(tx, clock.nowUs()));
    if (watchFacts() !== heard) await steps.run('watchHealth', watchHealth);
    if (clock.monotonicMs() - allStepsMs >= EVERY_STEP_MS || steps.isResting()) return ALL_WORK;
    return work();
  }

  const work = (): Promise<AlertingWork> =>
    store.transaction((tx) => tx.groups.work(clock.nowUs(), deliveryFailing.name));

  /** What a new configuration changes. */
  async function begin(): Promise<void> {
    await store.transaction((tx) => tx.faults.begin(clock.nowUs()));
    if (await mayDecide()) acting = (await import('./act-by-rule.ts')).createActing(config);
    once.set('endRemovedRegions', resolveRemovedRegions);
    once.set('endRemovedRules', (tx) => endRemovedRules(tx, rules, clock.nowUs()));
    const routes = routesAsText(config);
    if (routes === undefined || routes !== options.routed?.by) once.set('rerouteFiring', reroute(routes));
    once.set('releaseHeldBack', (tx) => releaseHeldBack(tx, config.receivers));
    // A storm may be under way, and each step would wait for the store behind it.
    allStepsMs = clock.monotonicMs();
    hasBegun = true;
  }

  /** Whether Birds may be started somewhere, or are planned to be where they no longer may. */
  const mayDecide = () =>
    store.transaction(async (tx) => {
      for (const { name, fly } of config.regions) {
        if (fly || (await tx.actions.open(name)).length > 0) return true;
      }
      return false;
    });

  function reroute(routes: string | undefined) {
    let after: Alert | undefined;
    return async (tx: Transaction): Promise<Step> => {
      const { last, ...rerouted } = await rerouteFiring(tx, config.route, after, clock.nowUs());
      const remember = () => {
        after = last;
        if (rerouted.isAll && options.routed) options.routed.by = routes;
      };
      return { ...rerouted, remember };
    };
  }

  const resolveRemovedRegions = (tx: Transaction) =>
    endRemovedRegions(tx, config.regions, config.rules, clock.nowUs());

  /**
   * Runs the steps that have something to do. On a database server each costs several requests, even if it finds
   * nothing.
   */
  async function pass(todo: AlertingWork, everyGroup: boolean): Promise<void> {
    const isDue = (atUs: number | null) => atUs !== null && atUs <= clock.nowUs();
    if (todo === ALL_WORK) {
      allStepsMs = clock.monotonicMs();
      await steps.run('endRemovedRegions', resolveRemovedRegions);
    }
    // Before alerts that are due: one about a receiver that accepts again must not fire.
    if (todo.isDeliveryFailing || isDue(todo.alertUs))
      await steps.run('watchDeliveries', (tx) => watchDeliveries(tx, config, clock.nowUs()));
    if (isDue(todo.alertUs))
      await steps.run('updateDueAlerts', (tx) => updateDueAlerts(tx, config.rules, clock.nowUs()));
    if (todo.isRetrying) await steps.run('retryAlerts', (tx) => retryAlerts(tx, clock.nowUs()));
    let growth: Growth = new Map();
    await steps.run('joinAndFlush', async (tx) => {
      const grown = new Map(growth);
      const step = await joinAndFlush(tx, grown, everyGroup);
      return { ...step, remember: () => (growth = grown) };
    });
    if (isDue(todo.fallbackUs)) await steps.run('fallBack', (tx) => fallBack(tx, config, clock.nowUs()));
    if (todo.isForwarding)
      await steps.run('forwardEvents', (tx) => forwardEvents(tx, config.receivers, clock.nowUs()));
  }

  /** Applies each health answer once. */
  async function watchHealth(tx: Transaction): Promise<Step> {
    const facts = watchFacts();
    if (facts === heard) return NOTHING;
    const { happenings } = await applyFacts(tx, facts, config.rules, clock.nowUs());
    return { done: 0, queued: 0, happenings, remember: () => (heard = facts) };
  }

  /**
   * Lets changed alerts join their groups, and flushes. While alerts change faster than they join, it flushes only groups
   * that wait for none of them (`joinedUntilUs`): before that it is not known which events of a group are old and belong
   * in a summary. Both share a transaction, so that a group with `group_wait: 0s` is written once.
   */
  async function joinAndFlush(tx: Transaction, growth: Growth, everyGroup: boolean): Promise<Step> {
    const joining = { ...config, acting };
    const taken = [await joinGroups(tx, joining, maxAgeUs, growth, clock.nowUs())];
    while (!taken.at(-1)!.isAll && taken.length < MOST_JOINS) {
      await tx.pause();
      taken.push(await joinGroups(tx, joining, maxAgeUs, growth, clock.nowUs()));
    }
    const { isAll = false, done, untilUs: joinedUntilUs } = taken.at(-1)!;
    const steps: Step[] = [...taken];
    if (isAll || !everyGroup) {
      if (clock.monotonicMs() - flushedMs >= QUIET_MS) mostGroups = FIRST_GROUPS;
      const which = { everyGroup, growth, most: mostGroups, joinedUntilUs };
      const flushed = await flushGroups(tx, config, recurrences, which, clock.nowUs());
      if (flushed.done > 0) flushedMs = clock.monotonicMs();
      if (!flushed.isAll) mostGroups = Math.min(2 * mostGroups, MOST_GROUPS);
      steps.push(isAll ? flushed : { ...flushed, done, isAll });
    }
    return {
      ...steps.at(-1)!,
      queued: steps.reduce((sum, { queued }) => sum + queued, 0),
      happenings: steps.flatMap(({ happenings }) => happenings),
    };
  }

  return {
    /** Call it when something changed in the store. */
    wake: () => bell.ring(),
    /** Runs until `signal` aborts. A step under way is finished first. */
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        try {
          if (!hasBegun) await begin();
          let todo = await look();
          if (isAnything(todo, clock.nowUs())) {
            await pass(todo, false);
            todo = await work();
          }
          const judgeMs = Math.min(overdue.nextMs(), regions.nextMs()) - clock.monotonicMs();
          const objectiveMs =
            objectives.length > 0 ? objectivesMs + OBJECTIVES_EVERY_MS - clock.monotonicMs() : judgeMs;
          const dueUs = Math.min(nextUs(todo), acting?.nextUs() ?? Infinity);
          const waitMs = Math.min((dueUs - clock.nowUs()) / 1000, judgeMs, objectiveMs);
          // The work of a resting step stays due. Without a shortest wait this loop would spin.
          const leastMs = steps.isResting() ? STORE_PAUSE_MS : 0;
          await bell.wait(Math.min(Math.max(leastMs, waitMs), longestMs), signal);
        } catch (error) {
          report({ what: 'trouble', stage: 'alerting', error });
          await sleep(clock, STORE_PAUSE_MS, signal);
        }
      }
    },
    /**
     * Queues everything there is to send without waiting for the groups' timers, except for timed groups
     * (`Sort.isTimed`).
     */
    async drain(): Promise<void> {
      if (!hasBegun) await begin();
      await look();
      await pass(ALL_WORK, true);
    },
  };
}

/** The next instant at which alerting has something to do; Infinity for none. */
function nextUs({ alertUs, groupUs, fallbackUs }: AlertingWork): number {
  return Math.min(alertUs ?? Infinity, groupUs ?? Infinity, fallbackUs ?? Infinity);
}

function isAnything(todo: AlertingWork, nowUs: number): boolean {
  const { isJoining, isRetrying, isForwarding, isDeliveryFailing } = todo;
  return isJoining || isRetrying || isForwarding || isDeliveryFailing || nextUs(todo) <= nowUs;
}

/** Updates alerts whose due time has come. */
async function updateDueAlerts(tx: Transaction, rules: Config['rules'], nowUs: number): Promise<Step> {
  const due = await tx.alerts.due(nowUs, DUE_BATCH);
  if (due.length === 0) return NOTHING;
  const { alerts, links, faults = [] } = tick(due, rules, nowUs);
  const failed = new Set(faults.map(({ name }) => name));
  const laterUs = (alert: Alert) => (failed.has(judgedName(alert)) ? nowUs + FAILED_AGAIN_US : null);
  // An alert that did not change must not stay due for ever.
  const changed = new Set(alerts.map((alert) => alert.id));
  const idle = due
    .filter((alert) => !changed.has(alert.id))
    .map((alert) => ({ ...alert, dueAtUs: laterUs(alert) }));
  const decision = { alerts: [...alerts, ...idle], links, faults };
  const { happenings } = await writeDecision(tx, due, decision, rules, nowUs);
  return { done: due.length, queued: 0, happenings };
}
