import type { Group, GroupMember } from '../../domain/grouping/group.ts';

/** A row of `alert_group`. */
export interface GroupRow {
  readonly body: string;
  readonly next_flush_us: number;
}

/** The next flush is stored beside the body so that it can be changed alone. */
export function groupOf(row: GroupRow): Group {
  return { ...(JSON.parse(row.body) as Group), nextFlushAtUs: row.next_flush_us };
}

/** A row of `group_member`, with the key of its group and the id of its alert. */
export interface MemberRow {
  readonly group_key: string;
  readonly alert_id: string;
  readonly sort: GroupMember['sort'];
  readonly notified_seq: number;
  readonly notified_state: GroupMember['notifiedState'];
}

/** The columns of a `MemberRow`, for a member joined with its group and alert. */
export const MEMBER_COLUMNS =
  'alert_group.key AS group_key, alert.id AS alert_id, sort, notified_seq, notified_state';

export function memberOf(row: MemberRow): GroupMember {
  return {
    groupKey: row.group_key,
    sort: row.sort,
    alertId: row.alert_id,
    notifiedSeq: row.notified_seq,
    notifiedState: row.notified_state,
  };
}
