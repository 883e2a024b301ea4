import type { Alert } from '../../../domain/alert/alert.ts';
import type { Group, GroupMember } from '../../../domain/grouping/group.ts';
import type { GroupStore } from '../../group-store.ts';
import { prepareChunks } from '../chunks.ts';
import { type Connection, textList } from '../connection.ts';
import { type AlertRow, alertOf } from './sqlite-alerts.ts';

interface GroupRow {
  readonly body: string;
}

interface MemberRow {
  readonly group_key: string;
  readonly alert_id: string;
  readonly sort: GroupMember['sort'];
  readonly notified_seq: number;
  readonly notified_state: GroupMember['notifiedState'];
}

export class SqliteGroups implements GroupStore {
  readonly #groups: ReturnType<typeof prepareGroups>;
  readonly #members: ReturnType<typeof prepareMembers>;

  constructor(connection: Connection) {
    this.#groups = prepareGroups(connection);
    this.#members = prepareMembers(connection);
  }

  async list(keys: readonly string[]): Promise<Group[]> {
    return this.#groups.byKey.all(textList(keys)).map(groupOf);
  }

  async due(nowUs: number, limit: number): Promise<Group[]> {
    return this.#groups.due.all(nowUs, limit).map(groupOf);
  }

  async put(groups: readonly Group[]): Promise<void> {
    for (const group of groups) {
      this.#groups.put.run(group.key, group.receiver, group.nextFlushAtUs, JSON.stringify(group));
    }
  }

  async delete(keys: readonly string[]): Promise<void> {
    const list = textList(keys);
    this.#members.removeAll.run(list);
    this.#groups.remove.run(list);
  }

  async membersOfAlerts(alertIds: readonly string[]): Promise<GroupMember[]> {
    return this.#members.ofAlerts.all(textList(alertIds)).map(memberOf);
  }

  async members(groupKey: string): Promise<{ member: GroupMember; alert: Alert }[]> {
    return this.#members.ofGroup.all(groupKey).map((row) => ({ member: memberOf(row), alert: alertOf(row) }));
  }

  async notifiedFiring(receiver: string, afterId: string, limit: number): Promise<Alert[]> {
    return this.#members.notifiedFiring.all(afterId, receiver, limit).map(alertOf);
  }

  async putMembers(members: readonly GroupMember[]): Promise<void> {
    if (members.length === 0) return;
    const written = this.#members.put(members.length, (index, values) => {
      const { groupKey, sort, alertId, notifiedSeq, notifiedState } = members[index]!;
      values.push(groupKey, alertId, sort, notifiedSeq, notifiedState);
    });
    if (written !== members.length) throw new Error('A group or an alert of a member is not in the store.');
  }

  async deleteMembers(members: readonly { groupKey: string; alertId: string }[]): Promise<void> {
    for (const { groupKey, alertId } of members) this.#members.remove.run(groupKey, alertId);
  }

  async nextAlertingUs(): Promise<number | undefined> {
    return this.#groups.next.get()?.at_us ?? undefined;
  }
}

/** What a `MemberRow` holds, of a member with its group and its alert. */
const MEMBER = 'alert_group.key AS group_key, alert.id AS alert_id, sort, notified_seq, notified_state';

function prepareGroups(connection: Connection) {
  return {
    byKey: connection.prepare<GroupRow>(
      'SELECT body FROM alert_group WHERE key IN (SELECT value FROM json_each(?)) ORDER BY key',
    ),
    due: connection.prepare<GroupRow>(
      'SELECT body FROM alert_group WHERE next_flush_us <= ? ORDER BY next_flush_us, key LIMIT ?',
    ),
    put: connection.prepare(
      `INSERT INTO alert_group (key, receiver, next_flush_us, body) VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET receiver = excluded.receiver, next_flush_us = excluded.next_flush_us,
         body = excluded.body`,
    ),
    remove: connection.prepare('DELETE FROM alert_group WHERE key IN (SELECT value FROM json_each(?))'),
    next: connection.prepare<{ at_us: number | null }>(
      `SELECT min(at_us) AS at_us FROM (
         SELECT min(due_us) AS at_us FROM alert WHERE due_us IS NOT NULL
         UNION ALL SELECT min(next_flush_us) FROM alert_group
         UNION ALL SELECT min(fallback_us) FROM delivery WHERE fallback_us IS NOT NULL)`,
    ),
  };
}

function prepareMembers(connection: Connection) {
  return {
    ofAlerts: connection.prepare<MemberRow>(
      `SELECT ${MEMBER} FROM alert JOIN group_member USING (alert) JOIN alert_group USING (alert_group)
       WHERE alert.id IN (SELECT value FROM json_each(?)) ORDER BY group_key, alert_id`,
    ),
    ofGroup: connection.prepare<MemberRow & AlertRow>(
      `SELECT ${MEMBER}, alert.body FROM alert_group JOIN group_member USING (alert_group) JOIN alert USING (alert)
       WHERE alert_group.key = ? ORDER BY alert_id`,
    ),
    notifiedFiring: connection.prepare<AlertRow>(
      `SELECT alert.body FROM alert
       WHERE alert.state = 'firing' AND alert.id > ? AND EXISTS (
         SELECT 1 FROM group_member JOIN alert_group USING (alert_group)
         WHERE group_member.alert = alert.alert AND notified_state = 'firing' AND alert_group.receiver = ?)
       ORDER BY alert.id LIMIT ?`,
    ),
    put: prepareChunks(
      connection,
      5,
      (rows) =>
        `WITH given (key, id, sort, seq, state) AS (VALUES ${rows})
         INSERT INTO group_member (alert_group, alert, sort, notified_seq, notified_state)
         SELECT alert_group, alert, sort, seq, given.state
         FROM given CROSS JOIN alert_group USING (key) CROSS JOIN alert USING (id) WHERE true
         ON CONFLICT DO UPDATE SET notified_seq = excluded.notified_seq, notified_state = excluded.notified_state`,
    ),
    remove: connection.prepare(
      `DELETE FROM group_member WHERE alert_group = (SELECT alert_group FROM alert_group WHERE key = ?)
         AND alert = (SELECT alert FROM alert WHERE id = ?)`,
    ),
    removeAll: connection.prepare(
      `DELETE FROM group_member WHERE alert_group IN (
         SELECT alert_group FROM alert_group WHERE key IN (SELECT value FROM json_each(?)))`,
    ),
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
