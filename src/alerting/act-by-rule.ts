/**
 * Lets the rules of `actions` start Birds again. A failure is planned in the transaction in which its alert joins its
 * groups; when its `wait` is over, the guard rails decide, once (`domain/action/action.ts`). What is wanted then is asked
 * for by whoever reads the region. Meanwhile a silence of the rule's own holds the first message back; it ends as soon as
 * there is nothing more to wait for.
 */
import {
  type Action,
  type ActionRule,
  type Seen,
  WISH_LASTS_US,
  withheld,
  withheldBy,
} from '../domain/action/action.ts';
import type { Alert } from '../domain/alert/alert.ts';
import { placeOf } from '../domain/alert/labels.ts';
import { flightFailed } from '../domain/kinds/failures/flight-failed.ts';
import { kindOf } from '../domain/kinds/kinds.ts';
import { createMatcher, matchesAll } from '../domain/matchers/matcher.ts';
import type { Silence } from '../domain/muting/silence.ts';
import { ended } from '../domain/muting/silence-change.ts';
import { putActions } from '../store/alerts/put-actions.ts';
import type { Transaction } from '../store/store.ts';
import { uuidOf } from '../text/uuid-of.ts';
import { NOTHING, type Step } from './step-runner.ts';

const HOUR_US = 3_600_000_000;
const LAPSES_US = 4 * HOUR_US;
const MOST_ACTIONS = 50;

/** Plans what the newest failure of each of these alerts asks for. */
export async function planActions(
  tx: Transaction,
  rules: readonly ActionRule[],
  alerts: readonly Alert[],
  nowUs: number,
): Promise<void> {
  if (rules.length === 0) return;
  for (const alert of alerts) {
    if (alert.alertname !== flightFailed.name || alert.state !== 'firing') continue;
    const rule = rules.find(({ match }) => matchesAll(match, alert.labels));
    const [last] = rule ? await tx.alerts.events(alert.id, 0, 1, alert.lastSeq) : [];
    if (!rule || last?.event.type !== 'flight.failed') continue;
    const { event } = last;
    const attempt = await nextAttempt(tx, alert, rule);
    const dueAtUs = attempt > rule.atMost ? nowUs : nowUs + rule.waitMs * 1000;
    const { atMost, approvals, isDryRun } = rule;
    const action: Action = {
      ...{ ...placeOf(event), id: uuidOf(rule.name, event.key), name: 'fly_again', state: 'planned', by: [] },
      ...{ rule: rule.name, comment: '', reason: '', wantedAtUs: nowUs, askedAtUs: 0, settledAtUs: 0 },
      failedFlightId: String(event.attributes.flight_id ?? ''),
      plan: {
        ...{ alertId: alert.id, alertStartsAtUs: alert.startsAtUs, dueAtUs },
        ...{ attempt, atMost, approvals, isDryRun },
      },
    };
    const isNew = await tx.actions.add(action);
    if (isNew && attempt === 1 && rule.holdMs > 0 && !rule.isDryRun)
      await tx.silences.put([holdOf(action, rule, nowUs)]);
  }
}

/** Decides what is due, ends what nobody approved, and what need not be held back any more. */
export async function decideActions(
  tx: Transaction,
  rules: readonly ActionRule[],
  regions: readonly string[],
  nowUs: number,
): Promise<Step & { readonly wanted: readonly string[]; readonly nextUs: number }> {
  const happenings: Step['happenings'][number][] = [];
  const wanted: string[] = [];
  let nextUs = Infinity;
  for (const region of regions) {
    for (const action of await tx.actions.open(region)) {
      const { plan, state } = action;
      if (!plan || (state !== 'planned' && state !== 'proposed')) continue;
      const atUs = state === 'planned' ? plan.dueAtUs : action.wantedAtUs + LAPSES_US;
      if (nowUs < atUs) {
        nextUs = Math.min(nextUs, atUs);
        continue;
      }
      const decided =
        state === 'planned' ? await decide(tx, rules, action, nowUs) : { ...action, ...withheld('lapsed') };
      const isOver = decided.state === 'withheld';
      const next = { ...decided, ...(isOver ? { settledAtUs: nowUs } : { wantedAtUs: nowUs }) };
      if (await putActions(tx, [next])) nextUs = nowUs;
      if (isOver) {
        happenings.push({ what: 'action', region, action: action.name, outcome: 'withheld', id: action.id });
      } else if (decided.state === 'wanted') {
        wanted.push(region);
        const done = `fly again ${region}/${action.birdId}`;
        await tx.writes.add({
          ...{ who: action.rule, by: 'rule', from: '', action: done, asked: '', status: 202, atUs: nowUs },
        });
      } else nextUs = Math.min(nextUs, nowUs + LAPSES_US);
    }
  }
  await releaseHolds(tx, nowUs);
  return { ...NOTHING, happenings, wanted, nextUs };
}

async function decide(
  tx: Transaction,
  rules: readonly ActionRule[],
  action: Action,
  nowUs: number,
): Promise<Action> {
  const { region, birdId } = action;
  const plan = action.plan!;
  const alert = await tx.alerts.find(plan.alertId);
  const rule = rules.find(
    ({ name, match }) => name === action.rule && alert && matchesAll(match, alert.labels),
  );
  const flights = await tx.birds.latestFlights(region, birdId, MOST_ACTIONS);
  const failed = flights.find(({ flightId }) => flightId === action.failedFlightId);
  const error = alert?.labels.error ?? '';
  const watch = (await tx.alerts.ofScopes([region, 'all/watch'])).find(
    ({ state, alertname }) => state === 'firing' && kindOf(alertname)?.impairsWatch === true,
  );
  const startedAtUs = failed?.startedAtUs || plan.alertStartsAtUs;
  const recent = await tx.actions.since(region, nowUs - HOUR_US - WISH_LASTS_US);
  const seen: Seen = {
    isFiring: alert?.state === 'firing' && alert.startsAtUs === plan.alertStartsAtUs,
    pausedBy: (await tx.actions.paused())?.by,
    bird: await tx.birds.find(region, birdId),
    lastStatus: flights.find(({ status }) => status !== 'active')?.status ?? '',
    isInAir: flights.some(({ status }) => status === 'active'),
    isChanged: (await tx.birds.changes(region, birdId, startedAtUs, nowUs, 1)).length > 0,
    failingAlike: error === '' ? 0 : (await tx.alerts.failingWith([region], error, 1)).birds,
    impairedBy: watch?.alertname ?? '',
    attempt: plan.attempt,
    withinHour: recent.filter((one) => one.rule === action.rule && isStart(one, nowUs - HOUR_US)).length,
  };
  const next = action.by.length < plan.approvals ? 'proposed' : 'wanted';
  return { ...action, ...(withheldBy(rule, seen) ?? { state: next }) };
}

/** Whether the service was asked after that, or will be. */
function isStart({ state, askedAtUs }: Action, afterUs = 0): boolean {
  return state === 'wanted' || askedAtUs > afterUs;
}

/** The number that the rule's next start of the alert's Bird would have in its present episode. */
async function nextAttempt(tx: Transaction, { id, startsAtUs, labels }: Alert, { name }: ActionRule) {
  const { region = '', bird_id: birdId = '' } = labels;
  const ofBird = await tx.actions.ofBird(region, birdId, MOST_ACTIONS);
  const last = ofBird.find(
    ({ rule, plan }) => rule === name && plan?.alertId === id && plan.alertStartsAtUs === startsAtUs,
  );
  return last?.plan ? last.plan.attempt + Number(isStart(last)) : 1;
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
