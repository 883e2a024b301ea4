/**
 * Routes changes, flushes due groups, and keeps every notification, as alerting does, but with only the domain's
 * functions, without store and clock. So a property can play hundreds of stories in a second.
 */
import { expect } from 'vitest';
import type { Alert } from '../../../src/domain/alert/alert.ts';
import type { Event } from '../../../src/domain/alert/event.ts';
import type { Fact } from '../../../src/domain/alert/fact.ts';
import type { Rule } from '../../../src/domain/alert/rule.ts';
import { applyMutes, flush, notificationOf } from '../../../src/domain/grouping/flush.ts';
import {
  assignGroups,
  type Group,
  type GroupMember,
  groupKeysFor,
  isSettled,
} from '../../../src/domain/grouping/group.ts';
import { type GroupNotification, MAX_EVENTS } from '../../../src/domain/grouping/notification.ts';
import type { Mute } from '../../../src/domain/muting/muting.ts';
import type { Suppression } from '../../../src/domain/muting/suppression.ts';
import { type Route, routeAt } from '../../../src/domain/routing/route.ts';
import { flight, MARKETING, minute, watch } from '../world.ts';

export type Story = readonly (readonly [at: number, ...facts: Fact[]])[];

export interface GroupingStory {
  /** Decides on facts and, unless told otherwise, routes the alerts. */
  tell(at: number, ...facts: Fact[]): void;
  decideOnly(at: number, ...facts: Fact[]): void;
  route(at: number): void;
  /** Tells each at its minute, after what is due by then; a minute alone lets time pass. */
  play(...story: Story): void;
  /** Lets time pass: flushes and alerts become due in their order. */
  pass(until: number): void;
  /** Flushes every group that is due. */
  flushDue(at: number): void;
  readonly sent: GroupNotification[];
  readonly suppressed: Suppression[];
  alerts(): Alert[];
  groups(): Group[];
  members(): GroupMember[];
  reconfigure(root: Route): void;
}

/** `why` says at each flush which alerts are muted. */
export function groupingStory(
  first: Route,
  rules: readonly Rule[] = [],
  why: (alert: Alert, at: number) => Mute | null = () => null,
): GroupingStory {
  let root = first;
  const story = watch(rules);
  const changed = new Set<string>();
  const groups = new Map<string, Group>();
  const members = new Map<string, GroupMember>();
  const sent: GroupNotification[] = [];
  const suppressed: Suppression[] = [];
  let previous = new Map<string, Alert>();

  const membersOf = (alertId: string) => [...members.values()].filter((one) => one.alertId === alertId);
  const put = (list: readonly GroupMember[]) => {
    for (const member of list) members.set(`${member.groupKey} ${member.alertId}`, member);
  };

  function noteChanges(): void {
    const now = new Map(story.alerts().map((alert) => [alert.id, alert]));
    for (const [id, alert] of now) if (previous.get(id) !== alert) changed.add(id);
    previous = now;
  }

  function settle(alert: Alert): void {
    if (!isSettled(alert, membersOf(alert.id))) return;
    for (const member of membersOf(alert.id)) members.delete(`${member.groupKey} ${member.alertId}`);
    story.remove(alert.id);
    previous.delete(alert.id);
  }

  function route(at: number): void {
    for (const alert of story.alerts().filter((one) => changed.has(one.id))) {
      const known = membersOf(alert.id);
      const keys = [...known.map((one) => one.groupKey), ...groupKeysFor(root, alert)];
      const stored = new Map([...groups].filter(([key]) => keys.includes(key)));
      const plan = assignGroups(alert, root, { members: known, groups: stored }, minute(at));
      for (const group of plan.groups) groups.set(group.key, group);
      put(plan.members);
      settle(alert);
    }
    changed.clear();
  }

  function flushOne(group: Group, at: number): void {
    const inGroup = [...members.values()]
      .filter((member) => member.groupKey === group.key)
      .map((member) => ({ member, alert: story.alerts().find((one) => one.id === member.alertId)! }));
    const withheld = applyMutes(group, inGroup, (alert) => why(alert, at), minute(at));
    put(withheld.members);
    suppressed.push(...withheld.suppressions);
    const { open, waiting } = withheld;
    const result = flush({ group, open, waiting, route: routeAt(root, group.route)!, nowUs: minute(at) });
    put(result.members);
    if (result.reason !== null) {
      const events = new Map<string, Event[]>();
      for (const { alert, afterSeq, newEvents } of result.listed) {
        const links = story.links().filter((link) => link.alertId === alert.id && link.seq > afterSeq);
        if (newEvents > 0)
          events.set(
            alert.id,
            links
              .toReversed()
              .slice(0, MAX_EVENTS)
              .map((link) => link.event),
          );
      }
      const { reason } = result;
      sent.push(notificationOf({ ...result, reason }, events, `n${sent.length + 1}`));
    }
    groups.set(group.key, result.group);
    for (const { alert } of inGroup) settle(alert);
    if (![...members.values()].some((member) => member.groupKey === group.key)) groups.delete(group.key);
  }

  const dueGroups = (at: number) =>
    [...groups.values()]
      .filter((group) => group.nextFlushAtUs <= minute(at))
      .toSorted((a, b) => a.nextFlushAtUs - b.nextFlushAtUs);

  const self: GroupingStory = {
    sent,
    suppressed,
    tell(at, ...facts) {
      self.decideOnly(at, ...facts);
      route(at);
    },
    decideOnly(at, ...facts) {
      story.tell(at, ...facts);
      noteChanges();
    },
    route,
    play(...told) {
      for (const [at, ...facts] of told) {
        self.pass(at);
        self.tell(at, ...facts);
      }
    },
    flushDue(at) {
      for (const group of dueGroups(at)) flushOne(group, at);
    },
    pass(until) {
      for (let turn = 0; ; turn += 1) {
        expect(turn).toBeLessThan(5000);
        const dueAlertUs = Math.min(
          ...story.alerts().map((alert) => alert.dueAtUs ?? Number.POSITIVE_INFINITY),
        );
        const group = dueGroups(until)[0];
        const nextUs = Math.min(dueAlertUs, group?.nextFlushAtUs ?? Number.POSITIVE_INFINITY);
        if (nextUs > minute(until)) return;
        const at = (nextUs - minute(0)) / 60_000_000;
        if (dueAlertUs <= nextUs) {
          story.pass(at);
          noteChanges();
          route(at);
        } else if (group) flushOne(group, at);
      }
    },
    alerts: () => story.alerts(),
    groups: () => [...groups.values()],
    members: () => [...members.values()],
    reconfigure(next) {
      root = next;
      for (const alert of story.alerts()) if (alert.state === 'firing') changed.add(alert.id);
    },
  };
  return self;
}

export const failed = (at: number, bird = 'A', message = 'boom') =>
  flight('failed', { started: at - 0.1, at, message, place: { ...MARKETING, birdId: bird, bird } });
export const succeeded = (at: number, bird = 'A') =>
  flight('succeeded', { started: at - 0.05, at, place: { ...MARKETING, birdId: bird, bird } });

/** A notification in one line: reason, status, and each alert with the events that it contains. */
export function line({ reason, status, alerts, truncatedAlerts, threadPosition }: GroupNotification): string {
  const each = alerts.map((alert) => {
    const omitted = alert.eventsOmitted > 0 ? ` and ${alert.eventsOmitted} more` : '';
    return `${alert.labels.bird ?? alert.labels.entity_name ?? alert.labels.alertname} ${alert.status} +${alert.events.length}${omitted}`;
  });
  const truncated = truncatedAlerts > 0 ? ` (${truncatedAlerts} not shown)` : '';
  return `${threadPosition}: ${reason}, ${status}: ${each.join('; ')}${truncated}`;
}
