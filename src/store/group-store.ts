/**
 * Stores groups: which alerts a receiver is notified of together, when the group is flushed next, and up to which
 * event it has notified of each member.
 */
import type { Alert } from '../domain/alert/alert.ts';
import type { Group, GroupMember } from '../domain/grouping/group.ts';

export interface GroupStore {
  /** The existing groups with these keys, in order of their keys. */
  list(keys: readonly string[]): Promise<Group[]>;
  /** The memberships of these alerts in any groups. */
  membersOfAlerts(alertIds: readonly string[]): Promise<GroupMember[]>;
  /** Groups whose `nextFlushAtUs` has come, oldest first. */
  due(nowUs: number, limit: number): Promise<Group[]>;
  /** A group's members with their alerts, in order of the alerts' ids. */
  members(groupKey: string): Promise<{ member: GroupMember; alert: Alert }[]>;
  /** Firing alerts that a group of this receiver has notified of as firing, by id, after `afterId`. */
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
   * Whether alerting has work that has no such instant: an alert joins its groups, for the first time or again; an
   * event is forwarded; an integration fails; or an alert with this name, which is about integrations, fires.
   */
  isAnythingWaiting(nowUs: number, ofIntegrations: string): Promise<boolean>;
}
