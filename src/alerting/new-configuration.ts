import type { RegionConfig } from '../config/sections/regions-section.ts';
import type { Alert } from '../domain/alert/alert.ts';
import { isOfNoRegion } from '../domain/alert/fact.ts';
import type { Rule } from '../domain/alert/rule.ts';
import { presentRule } from '../domain/evaluate/choose-rule.ts';
import { endAtOnce } from '../domain/evaluate/decide.ts';
import { groupKeysFor, HAS_LEFT } from '../domain/grouping/group.ts';
import { sharedCause } from '../domain/kinds/failures/shared-cause.ts';
import { isRuleOf } from '../domain/kinds/kind.ts';
import { KINDS } from '../domain/kinds/kinds.ts';
import { type Route, routeOfGroup } from '../domain/routing/route.ts';
import type { Happening } from '../report.ts';
import { writeDecision } from '../store/change-alerts.ts';
import { type OwnershipView, regionOf } from '../store/ownership-store.ts';
import type { Transaction } from '../store/store.ts';
import type { Step } from './step-runner.ts';

/** Scopes handled between two pauses. */
const AT_ONCE = 100;

/**
 * A region that has had no owner for this long is configured in no replica: otherwise one would take it within seconds.
 */
const WANTED_US = 120e6;

/**
 * Resolves the alerts of regions that are no longer configured, since nobody reads these regions any more. Replicas
 * load a new configuration one after the other, so a region that one of them reads, still or already, is left alone.
 */
export async function endRemovedRegions(
  tx: Transaction,
  regions: readonly Pick<RegionConfig, 'name'>[],
  rules: readonly Rule[],
  nowUs: number,
): Promise<Step> {
  const watched = new Set([...regions.map(({ name }) => name), ...regionsRead(await tx.ownership.view())]);
  const scopes: string[] = [];
  for (const region of await tx.alerts.regions()) {
    if (watched.has(region)) continue;
    const own = await tx.alerts.scopes(region);
    scopes.push(...own.filter((scope) => !isOfNoRegion(scope)));
  }
  const by = 'its region is no longer watched';
  const happenings: Happening[] = [];
  for (let from = 0; from < scopes.length; from += AT_ONCE) {
    const known = await tx.alerts.ofScopes(scopes.slice(from, from + AT_ONCE));
    const ended = known.flatMap((alert) => endAtOnce(alert, by, 'gone', rules, nowUs) ?? []);
    const written = await writeDecision(tx, known, { alerts: ended, links: [] }, rules, nowUs);
    happenings.push(...written.happenings);
    await tx.pause();
  }
  return { done: 0, queued: 0, happenings };
}

/** The regions that replicas read now, or did a moment ago. */
function regionsRead({ nowUs, replicas, duties }: OwnershipView): string[] {
  const living = new Set(replicas.filter(({ expiresUs }) => expiresUs > nowUs).map(({ replica }) => replica));
  return duties.flatMap(({ duty, owner, sinceUs }) => {
    const isRead = owner === 0 ? nowUs - sinceUs < WANTED_US : living.has(owner);
    return (isRead && regionOf(duty)) || [];
  });
}

/** Alerts looked at between two pauses, or in one transaction. */
const BATCH = 200;

/**
 * Resolves the alerts of kinds on request whose rule is no longer configured, or no longer fits: nothing judges them any
 * more. Other kinds have a default rule, which judges on.
 */
export async function endRemovedRules(tx: Transaction, rules: readonly Rule[], nowUs: number): Promise<Step> {
  const happenings: Happening[] = [];
  for (const kind of KINDS.filter(({ isOnRequest, name }) => isOnRequest || name === sharedCause.name)) {
    const query = { state: 'firing', name: kind.name, order: 'newest', nowUs, limit: BATCH } as const;
    for (let cursor: string | undefined; ; await tx.pause()) {
      const { alerts, next } = await tx.alerts.page({ ...query, cursor });
      const lost = alerts.filter((alert) => isOff(alert, presentRule(alert, kind, rules)));
      const ended = lost.flatMap(
        (alert) => endAtOnce(alert, reasonOf(alert, rules), 'gone', rules, nowUs) ?? [],
      );
      happenings.push(
        ...(await writeDecision(tx, lost, { alerts: ended, links: [] }, rules, nowUs)).happenings,
      );
      if (next === undefined) break;
      cursor = next;
    }
  }
  return { done: 0, queued: 0, happenings };
}

/** Whether nothing judges it any more. A cause is looked up only as its rule says now: in its region, or across all. */
function isOff({ labels }: Alert, rule: Rule | undefined): boolean {
  if (!rule || !isRuleOf(rule, sharedCause)) return !rule;
  return rule.birds === 0 || (rule.across === 'all') !== (labels.region === 'all');
}

function reasonOf({ rule }: Alert, rules: readonly Rule[]): string {
  const isLeft = rules.some(({ id }) => id === rule);
  return `its rule ${rule} ${isLeft ? 'no longer fits it' : 'was removed from the configuration'}`;
}

/**
 * Moves firing alerts to the routes of a new configuration without waiting for their next change: receivers that they
 * now reach are notified of them, as in Alertmanager. Takes the next batch of alerts after `after`, and returns its
 * last one.
 */
export async function rerouteFiring(
  tx: Transaction,
  root: Route,
  after: Alert | undefined,
  nowUs: number,
): Promise<Step & { readonly last: Alert | undefined }> {
  const alerts = await tx.alerts.firing(after, BATCH);
  const members = (await tx.groups.membersOfAlerts(alerts.map(({ id }) => id))).filter(
    ({ sort, notifiedSeq }) => sort === 'route' && notifiedSeq !== HAS_LEFT,
  );
  const groups = await tx.groups.list([...new Set(members.map(({ groupKey }) => groupKey))]);
  const placed = groups.map((group) => ({ group, route: routeOfGroup(root, group) }));
  const routeless = placed.filter(({ route }) => route === undefined);
  const due = placed.filter(({ group, route }) => route?.receiver !== group.receiver);
  // A flush dissolves the groups without a route and moves their alerts. The others begin anew for their new receiver.
  await tx.groups.put(
    due.map(({ group }) => ({ ...group, nextFlushAtUs: Math.min(group.nextFlushAtUs, nowUs) })),
  );
  const isRouteless = new Set(routeless.map(({ group }) => group.key));
  const keysOf = Map.groupBy(members, ({ alertId }) => alertId);
  const moving = alerts.filter((alert) => {
    const present = (keysOf.get(alert.id) ?? []).map(({ groupKey }) => groupKey);
    if (present.some((key) => isRouteless.has(key))) return false;
    const now = new Set(groupKeysFor(root, alert));
    return now.size !== present.length || present.some((key) => !now.has(key));
  });
  await tx.alerts.joinAgain(moving.map(({ id }) => id));
  const isAll = alerts.length < BATCH;
  return { done: alerts.length, isAll, queued: 0, happenings: [], last: alerts.at(-1) };
}
