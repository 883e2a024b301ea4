/**
 * The room of groups: which alerts are notified of together, to which receiver, when the group is flushed next, and up
 * to where each of its members has been notified of.
 */
import type { Alert } from '../domain/alert/alert.ts';
import type { Group, GroupMember } from '../domain/grouping/group.ts';

export interface GroupStore {
  /** The groups with these keys that exist, in the order of their keys. */
  list(keys: readonly string[]): Promise<Group[]>;
  /** The places of these alerts in whatever groups. */
  membersOfAlerts(alertIds: readonly string[]): Promise<GroupMember[]>;
  /** Groups whose `nextFlushAtUs` has come, the oldest first. */
  due(nowUs: number, limit: number): Promise<Group[]>;
  /** A group's members with their alerts, in the order of the alerts' ids. */
  members(groupKey: string): Promise<{ member: GroupMember; alert: Alert }[]>;
  /** Alerts that fire and that a group of this receiver has notified of as firing, by id, from behind `afterId` on. */
  notifiedFiring(receiver: string, afterId: string, limit: number): Promise<Alert[]>;
  put(groups: readonly Group[]): Promise<void>;
  /** Writes members, whose groups and alerts must be in the store. */
  putMembers(members: readonly GroupMember[]): Promise<void>;
  deleteMembers(members: readonly { groupKey: string; alertId: string }[]): Promise<void>;
  /** Deletes groups with their members. */
  delete(keys: readonly string[]): Promise<void>;
  /** The earliest instant at which an alert, a group or a fallback is due; undefined for none. */
  nextAlertingUs(): Promise<number | undefined>;
  /**
   * Whether alerting has something to do that has no such instant: an alert joins its groups, for the first time or
   * again, an event is forwarded, an integration fails, or an alert of this name, which is of integrations, fires.
   */
  isAnythingWaiting(nowUs: number, ofIntegrations: string): Promise<boolean>;
}
