/**
 * Lets the rules of `actions` start Birds again. A failure is planned in the transaction in which its alert joins its
 * groups; when its `wait` is over, the guard rails decide, once (`domain/action/action.ts`). What is wanted then is asked
 * for by whoever reads the region. Meanwhile a silence of the rule's own holds the first message back; it ends as soon as
 * there is nothing more to wait for.
 */
import type { Config } from '../config/config.ts';
import type { FlyConfig } from '../config/sections/regions-section.ts';
import {
  type Action,
  type ActionRule,
  type Plan,
  uuidOf,
  WISH_LASTS_US,
  whyNotStarted,
  withheld,
} from '../domain/action/action.ts';
import type { Alert } from '../domain/alert/alert.ts';
import { placeOf } from '../domain/alert/labels.ts';
import { flightFailed } from '../domain/kinds/failures/flight-failed.ts';
import { kindOf } from '../domain/kinds/kinds.ts';
import { createMatcher, matchesAll } from '../domain/matchers/matcher.ts';
import type { Silence } from '../domain/muting/silence.ts';
import { ended } from '../domain/muting/silence-change.ts';
import type { BirdOverview } from '../store/bird-store.ts';
import { putActions } from '../store/change-alerts.ts';
import type { Transaction } from '../store/store.ts';
import { howMany } from '../text/instant-words.ts';
import { plainText } from '../text/plain-text.ts';
import { NOTHING, type Step } from './step-runner.ts';

const HOUR_US = 3_600_000_000;
const LAPSES_US = 4 * HOUR_US;
const MOST_ACTIONS = 50;
const NAME_CODE_POINTS = 120;
/** If so many Birds fail with the same error, the cause is not the Bird's own. */
const SHARED_BY = 3;

/** The rules in force, and the regions in which they may act. */
export type Acting = ReturnType<typeof createActing>;

export function createActing({ actions: rules = [], regions = [] }: Pick<Config, 'actions'> & FlyConfig) {
  /** When something is to be decided next, on our clock. */
  let nextUs = 0;
  return {
    nextUs: () => nextUs,

    /** Rules that are gone may have left something to decide. */
    isDeciding: () => rules.length > 0 || nextUs < Number.POSITIVE_INFINITY,

    /** Plans what the newest failure of each of these alerts asks for. */
    async plan(tx: Transaction, alerts: readonly Alert[], nowUs: number): Promise<void> {
      for (const alert of alerts) {
        if (alert.alertname !== flightFailed.name || alert.state !== 'firing') continue;
        const rule = rules.find(({ match }) => matchesAll(match, alert.labels));
        const [last] = rule ? await tx.alerts.events(alert.id, 0, 1, alert.lastSeq) : [];
        if (!rule || last?.event.type !== 'flight.failed') continue;
        const { event } = last;
        const { atMost, approvals, isDryRun } = rule;
        const failedFlightId = String(event.attributes.flight_id ?? '');
        const attempt = await nextAttempt(tx, alert, rule, failedFlightId);
        const dueAtUs = attempt > atMost ? nowUs : nowUs + rule.waitMs * 1000;
        const action: Action = {
          ...{
            ...placeOf(event),
            id: uuidOf(rule.name, event.key),
            name: 'fly_again',
            state: 'planned',
            by: [],
          },
          ...{ rule: rule.name, comment: '', reason: '', wantedAtUs: nowUs, askedAtUs: 0, settledAtUs: 0 },
          failedFlightId,
          plan: {
            ...{ alertId: alert.id, alertStartsAtUs: alert.startsAtUs, plannedAtUs: nowUs, dueAtUs },
            ...{ attempt, atMost, approvals, isDryRun },
          },
        };
        if (!(await tx.actions.add(action))) {
          // Its alert comes back here when the service has refused it.
          const known = await tx.actions.find(action.id);
          if (known?.state === 'refused') await correct(tx, known);
          continue;
        }
        nextUs = Math.min(nextUs, dueAtUs);
        // Whoever was told that it fires is to be told the rest.
        if (attempt === 1 && rule.holdMs > 0 && !isDryRun && !(await isTold(tx, alert)))
          await tx.silences.put([holdOf(action, rule, nowUs)]);
      }
    },

    /**
     * Decides what is due, ends what nobody approved, what is planned where no Bird may be started any more, and what need
     * not be held back any more.
     */
    async decide(tx: Transaction, nowUs: number): Promise<Step> {
      const happenings: Step['happenings'][number][] = [];
      let untilUs = Number.POSITIVE_INFINITY;
      for (const { name: region, fly } of regions) {
        for (const action of await tx.actions.open(region)) {
          const { id, name, rule, birdId, plan, state } = action;
          if (!plan || (state !== 'planned' && state !== 'proposed')) continue;
          const dueUs = state === 'planned' ? plan.dueAtUs : action.wantedAtUs + LAPSES_US;
          const atUs = fly ? dueUs : nowUs;
          // After a decision it looks again: the next one may have become due.
          untilUs = Math.min(untilUs, Math.max(nowUs, atUs));
          if (nowUs < atUs) continue;
          // It may have been moved since.
          const bird = await tx.birds.find(region, birdId);
          const place = bird && { nestId: bird.nestId, nest: bird.nest };
          const against = !fly
            ? withheld('rule_gone')
            : state === 'proposed'
              ? withheld('lapsed')
              : await reasonAgainst(tx, rules, action, plan, bird, nowUs);
          const isApproved = action.by.length >= plan.approvals;
          const next: Action = against
            ? { ...action, ...against, settledAtUs: nowUs }
            : { ...action, ...place, state: isApproved ? 'wanted' : 'proposed', wantedAtUs: nowUs };
          await putActions(tx, [next]);
          if (against) {
            if (against.guard !== 'over' && against.guard !== 'dry_run') await correct(tx, next);
            happenings.push({ what: 'action', region, action: name, outcome: 'withheld', id });
          } else if (isApproved) {
            const done = `fly again ${region}/${birdId}`;
            await tx.writes.add({
              ...{ who: rule, by: 'rule', from: '', action: done, asked: '', status: 202, atUs: nowUs },
            });
          }
        }
      }
      await releaseHolds(tx, nowUs);
      nextUs = untilUs;
      return { ...NOTHING, happenings };
    },
  };
}

/** The first guard rail that withholds it. */
async function reasonAgainst(
  tx: Transaction,
  rules: readonly ActionRule[],
  { region, birdId, rule: ruleName, failedFlightId }: Action,
  { alertId, alertStartsAtUs, attempt }: Plan,
  bird: BirdOverview | undefined,
  nowUs: number,
) {
  const alert = await tx.alerts.find(alertId);
  const labels = { ...alert?.labels, ...(bird && { nest_id: bird.nestId, nest: bird.nest }) };
  const rule = rules.find(({ name, match }) => name === ruleName && alert && matchesAll(match, labels));
  if (!rule) return withheld('rule_gone');
  if (alert?.state !== 'firing' || alert.startsAtUs !== alertStartsAtUs) return withheld('over');
  const paused = await tx.actions.paused();
  if (paused) return withheld('paused', `by ${plainText(paused.by, NAME_CODE_POINTS) || 'somebody'}`);
  const why = bird ? whyNotStarted(bird) : 'The Bird is no longer known.';
  if (why !== undefined) return { ...withheld('not_startable'), reason: why };
  if (attempt > rule.atMost) return withheld('at_most', howMany(rule.atMost, 'time'));
  const flights = await tx.birds.latestFlights(region, birdId, MOST_ACTIONS);
  if (flights.some(({ status }) => status === 'active')) return withheld('in_air');
  if (flights[0]?.status === 'cancelled') return withheld('cancelled');
  const failed = flights.find(({ flightId }) => flightId === failedFlightId);
  const sinceUs = failed?.startedAtUs || alertStartsAtUs;
  if ((await tx.birds.changes(region, birdId, sinceUs, nowUs, 1)).length > 0) return withheld('changed');
  const { error = '' } = alert.labels;
  const alike = error === '' ? 0 : (await tx.alerts.failingWith([region], error, 1)).birds;
  if (alike >= SHARED_BY) return withheld('shared_cause', `${alike} in all`);
  const impaired = (await tx.alerts.ofScopes([region])).find(
    ({ state, alertname }) => state === 'firing' && kindOf(alertname)?.impairsWatch === true,
  );
  if (impaired) {
    const { alertname, annotations } = impaired;
    return withheld('impaired', plainText(annotations.summary ?? alertname, NAME_CODE_POINTS));
  }
  const recent = await tx.actions.since(region, nowUs - HOUR_US - WISH_LASTS_US);
  const within = recent.filter((one) => one.rule === ruleName && isStart(one, nowUs - HOUR_US)).length;
  if (within >= rule.perHour) return withheld('per_hour', howMany(within, 'time'));
  return rule.isDryRun ? withheld('dry_run') : undefined;
}

/** Whether the service was asked after that, or will be. */
function isStart({ state, askedAtUs }: Action, afterUs = 0): boolean {
  return state === 'wanted' || askedAtUs > afterUs;
}

/**
 * The number that the rule's next start of the alert's Bird would have in its present episode. A Flight that the rule has
 * started goes on counting, though its failure be another alert or episode: otherwise it would be started without end.
 */
async function nextAttempt(
  tx: Transaction,
  { id, startsAtUs, labels }: Alert,
  { name }: ActionRule,
  failedFlightId: string,
) {
  const { region = '', bird_id: birdId = '' } = labels;
  const ofBird = await tx.actions.ofBird(region, birdId, MOST_ACTIONS);
  const last = ofBird.find(
    ({ rule, plan, newFlight }) =>
      rule === name &&
      (newFlight?.flightId === failedFlightId ||
        (plan?.alertId === id && plan.alertStartsAtUs === startsAtUs)),
  );
  return last?.plan ? last.plan.attempt + Number(isStart(last)) : 1;
}

/** Whether somebody was told that it fires, and of no end yet. */
async function isTold(tx: Transaction, { id }: Alert): Promise<boolean> {
  const members = await tx.groups.membersOfAlerts([id]);
  return members.some(({ notifiedState }) => notifiedState === 'firing' || notifiedState === 'hidden');
}

/** Under the id of the first action of the episode. */
function holdOf({ id, region, birdId }: Action, { name, holdMs }: ActionRule, nowUs: number): Silence {
  const labels = { alertname: flightFailed.name, region, bird_id: birdId };
  return {
    id,
    matchers: Object.entries(labels).map(([label, value]) => createMatcher(label, '=', value)),
    ...{ startsAtUs: nowUs, endsAtUs: nowUs + holdMs * 1000, updatedAtUs: nowUs },
    ...{ createdBy: `rule ${name}`, comment: 'waits for the outcome of flying again' },
    ...{ recurrence: null, alertId: null, alertStartsAtUs: null },
  };
}

/** Lets the groups that told what was to come, and not yet what became of it, tell that at their next flush. */
async function correct(tx: Transaction, { plan, wantedAtUs, settledAtUs }: Action): Promise<void> {
  if (!plan) return;
  const { alertId, plannedAtUs = wantedAtUs } = plan;
  const members = await tx.groups.membersOfAlerts([alertId]);
  const told = members.filter(({ notifiedState }) => notifiedState === 'firing');
  const groups = await tx.groups.list(told.map(({ groupKey }) => groupKey));
  await tx.groups.put(
    groups
      .filter(({ notifiedAtUs }) => notifiedAtUs >= plannedAtUs && notifiedAtUs <= settledAtUs)
      .map((group) => ({ ...group, toCorrect: [...(group.toCorrect ?? []), alertId] })),
  );
}

/** Ends the silences of rules that gave up, and lets the groups of their alerts tell at once. */
async function releaseHolds(tx: Transaction, nowUs: number): Promise<void> {
  for (const hold of await tx.silences.list(nowUs)) {
    const first = hold.createdBy.startsWith('rule ') ? await tx.actions.find(hold.id) : undefined;
    if (!first?.plan) continue;
    const [last] = await tx.actions.ofBird(first.region, first.birdId, 1);
    // Whoever is to approve it has to be told.
    const isTold = last && ['refused', 'withheld', 'proposed'].includes(last.state);
    if (!isTold || last.guard === 'over') continue;
    await tx.silences.put(ended(hold, nowUs));
    const members = await tx.groups.membersOfAlerts([first.plan.alertId]);
    const groups = await tx.groups.list(members.map(({ groupKey }) => groupKey));
    await tx.groups.put(
      groups
        .filter(({ sort, nextFlushAtUs }) => sort === 'route' && nextFlushAtUs > nowUs)
        .map((group) => ({ ...group, nextFlushAtUs: nowUs })),
    );
  }
}
