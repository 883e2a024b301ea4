import type { Group, GroupMember } from '../../../domain/grouping/group.ts';
import type { GroupStore } from '../../group-store.ts';
import { type Connection, textList } from '../connection.ts';
import { type AlertRow, alertOf } from './sqlite-alerts.ts';

interface GroupRow {
  readonly body: string;
}

interface MemberRow {
  readonly group_key: string;
  readonly sort: GroupMember['sort'];
  readonly alert_id: string;
  readonly notified_seq: number;
  readonly notified_state: GroupMember['notifiedState'];
}

export function createGroups(connection: Connection): GroupStore {
  const byKey = connection.prepare<GroupRow>(
    'SELECT body FROM alert_group WHERE key IN (SELECT value FROM json_each(?)) ORDER BY key',
  );
  const due = connection.prepare<GroupRow>(
    'SELECT body FROM alert_group WHERE next_flush_us <= ? ORDER BY next_flush_us, key LIMIT ?',
  );
  const put = connection.prepare(
    `INSERT INTO alert_group (key, receiver, next_flush_us, body) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET receiver = excluded.receiver, next_flush_us = excluded.next_flush_us,
       body = excluded.body`,
  );
  const remove = connection.prepare('DELETE FROM alert_group WHERE key IN (SELECT value FROM json_each(?))');
  const removeMembers = connection.prepare(
    'DELETE FROM group_member WHERE group_key IN (SELECT value FROM json_each(?))',
  );
  const ofAlerts = connection.prepare<MemberRow>(
    `SELECT * FROM group_member WHERE alert_id IN (SELECT value FROM json_each(?))
     ORDER BY group_key, alert_id`,
  );
  const members = connection.prepare<MemberRow & AlertRow>(
    `SELECT group_member.*, alert.body FROM group_member JOIN alert ON alert.id = group_member.alert_id
     WHERE group_key = ? ORDER BY alert_id`,
  );
  const notifiedFiring = connection.prepare<AlertRow>(
    `SELECT alert.body FROM alert
     WHERE alert.state = 'firing' AND alert.id > ? AND EXISTS (
       SELECT 1 FROM group_member JOIN alert_group ON alert_group.key = group_member.group_key
       WHERE group_member.alert_id = alert.id AND notified_state = 'firing'
         AND alert_group.receiver = ?)
     ORDER BY alert.id LIMIT ?`,
  );
  const putMember = connection.prepare(
    `INSERT INTO group_member (group_key, sort, alert_id, notified_seq, notified_state) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET notified_seq = excluded.notified_seq, notified_state = excluded.notified_state`,
  );
  const removeMember = connection.prepare('DELETE FROM group_member WHERE group_key = ? AND alert_id = ?');
  const next = connection.prepare<{ at_us: number | null }>(
    `SELECT min(at_us) AS at_us FROM (
       SELECT min(due_us) AS at_us FROM alert WHERE due_us IS NOT NULL
       UNION ALL SELECT min(next_flush_us) FROM alert_group
       UNION ALL SELECT min(fallback_us) FROM delivery WHERE fallback_us IS NOT NULL)`,
  );

  return {
    async list(keys) {
      return byKey.all(textList(keys)).map(groupOf);
    },
    async membersOfAlerts(alertIds) {
      return ofAlerts.all(textList(alertIds)).map(memberOf);
    },
    async due(nowUs, limit) {
      return due.all(nowUs, limit).map(groupOf);
    },
    async members(groupKey) {
      return members.all(groupKey).map((row) => ({ member: memberOf(row), alert: alertOf(row) }));
    },
    async notifiedFiring(receiver, afterId, limit) {
      return notifiedFiring.all(afterId, receiver, limit).map(alertOf);
    },
    async put(groups) {
      for (const group of groups)
        put.run(group.key, group.receiver, group.nextFlushAtUs, JSON.stringify(group));
    },
    async putMembers(records) {
      for (const member of records) {
        putMember.run(member.groupKey, member.sort, member.alertId, member.notifiedSeq, member.notifiedState);
      }
    },
    async deleteMembers(records) {
      for (const { groupKey, alertId } of records) removeMember.run(groupKey, alertId);
    },
    async delete(keys) {
      const list = textList(keys);
      remove.run(list);
      removeMembers.run(list);
    },
    async nextAlertingUs() {
      return next.get()?.at_us ?? undefined;
    },
  };
}

function groupOf(row: GroupRow): Group {
  return JSON.parse(row.body) as Group;
}

function memberOf(row: MemberRow): GroupMember {
  return {
    groupKey: row.group_key,
    sort: row.sort,
    alertId: row.alert_id,
    notifiedSeq: row.notified_seq,
    notifiedState: row.notified_state,
  };
}
