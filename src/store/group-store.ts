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
  /** Groups whose `nextFlushAtUs` has come, oldest first; with `areJoined`, only those none of whose alerts changed since. */
  due(nowUs: number, limit: number, areJoined?: boolean): Promise<Group[]>;
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
  /**
   * What alerting has to do. `ofIntegrations`: the name of the alerts about integrations that accept nothing, which are
   * checked for as long as one fires.
   */
  work(nowUs: number, ofIntegrations: string): Promise<AlertingWork>;
}

/** The instants are those of the next one; null for none. */
export interface AlertingWork {
  /** An alert changes with time. */
  readonly alertUs: number | null;
  /** A group is flushed. */
  readonly groupUs: number | null;
  /** A delivery is given to the fallback. */
  readonly fallbackUs: number | null;
  /** Alerts join their groups. */
  readonly isJoining: boolean;
  /** Alerts that were set aside try again to join. */
  readonly isRetrying: boolean;
  /** Events are forwarded. */
  readonly isForwarding: boolean;
  /** An integration accepts nothing, or an alert says so. */
  readonly isDeliveryFailing: boolean;
}
