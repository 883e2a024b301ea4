import type { Alert } from '../domain/alert/alert.ts';
import type { Group, GroupMember } from '../domain/grouping/group.ts';

export interface GroupStore {
  list(keys: readonly string[]): Promise<Group[]>;
  membersOfAlerts(alertIds: readonly string[]): Promise<GroupMember[]>;
  due(nowUs: number, limit: number): Promise<Group[]>;
  members(groupKey: string): Promise<{ member: GroupMember; alert: Alert }[]>;
  /** Alerts that fire and of which a group of this receiver has told so, by id, from behind `afterId` on. */
  notifiedFiring(receiver: string, afterId: string, limit: number): Promise<Alert[]>;
  put(groups: readonly Group[]): Promise<void>;
  putMembers(members: readonly GroupMember[]): Promise<void>;
  deleteMembers(members: readonly { groupKey: string; alertId: string }[]): Promise<void>;
  delete(keys: readonly string[]): Promise<void>;
  /** The earliest instant at which an alert, a group or a fallback is due; undefined for none. */
  nextAlertingUs(): Promise<number | undefined>;
}
