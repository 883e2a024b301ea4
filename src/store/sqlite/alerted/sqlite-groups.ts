import type { Alert } from '../../../domain/alert/alert.ts';
import type { AlertInGroup, Group, GroupMember } from '../../../domain/grouping/group.ts';
import type { AlertingWork, GroupStore } from '../../group-store.ts';
import { type AlertRow, alertOf } from '../../rows/alert-row.ts';
import { type GroupRow, groupOf, MEMBER_COLUMNS, type MemberRow, memberOf } from '../../rows/group-row.ts';
import { FEW_MEMBERS, PrefetchedMembers } from '../../rows/prefetched-members.ts';
import { prepareChunks } from '../chunks.ts';
import { type Connection, textList } from '../connection.ts';

/** Truth values are 0 or 1. */
type WorkRow = {
  readonly [Part in keyof AlertingWork]: AlertingWork[Part] extends boolean ? number : AlertingWork[Part];
};

/** Alerts per read for larger groups. */
const READ_AT_ONCE = 500;

export class SqliteGroups implements GroupStore {
  readonly #groups: ReturnType<typeof prepareGroups>;
  readonly #members: ReturnType<typeof prepareMembers>;
  readonly #prefetched = new PrefetchedMembers();
  readonly #pause: () => Promise<void>;
  readonly #holds: () => void;
  #heldGroups: Group[] = [];
  #heldMembers: GroupMember[] = [];

  /** `pause` lets other work run. */
  constructor(connection: Connection, pause: () => Promise<void>) {
    this.#pause = pause;
    this.#groups = prepareGroups(connection);
    this.#members = prepareMembers(connection);
    this.#holds = connection.held.add({
      writes: ['alert_group', 'group_member'],
      reads: ['alert'],
      write: () => this.#write(),
      forget: () => {
        this.#heldGroups = [];
        this.#heldMembers = [];
      },
    });
  }

  async list(keys: readonly string[]): Promise<Group[]> {
    return this.#groups.byKey.all(textList(keys)).map(groupOf);
  }

  async due(nowUs: number, limit: number): Promise<Group[]> {
    const groups = this.#groups.due.all(nowUs, limit).map(groupOf);
    this.#prefetched.expect(groups.map(({ key }) => key));
    return groups;
  }

  async put(groups: readonly Group[]): Promise<void> {
    if (groups.length === 0) return;
    this.#heldGroups.push(...groups);
    this.#holds();
  }

  async delete(keys: readonly string[]): Promise<void> {
    this.#prefetched.discard(keys);
    const list = textList(keys);
    this.#members.removeAll.run(list);
    this.#groups.remove.run(list);
  }

  async membersOfAlerts(alertIds: readonly string[]): Promise<GroupMember[]> {
    return this.#members.ofAlerts.all(textList(alertIds)).map(memberOf);
  }

  async members(groupKey: string): Promise<AlertInGroup[]> {
    const together = this.#prefetched.take(groupKey);
    if (together.length > 0) {
      this.#prefetched.keep(this.#members.ofSmallGroups.all(textList(together)).map(inGroupOf));
    }
    return this.#prefetched.of(groupKey) ?? this.#ofLargeGroup(groupKey);
  }

  /** Reads the alerts in steps: tens of thousands have many megabytes of text. */
  async #ofLargeGroup(groupKey: string): Promise<AlertInGroup[]> {
    const rows = this.#members.ofGroup.all(groupKey);
    const found: AlertInGroup[] = [];
    for (let done = 0; done < rows.length; done += READ_AT_ONCE) {
      if (done > 0) await this.#pause();
      const some = rows.slice(done, done + READ_AT_ONCE);
      const bodies = this.#members.bodies.all(JSON.stringify(some.map(({ alert }) => alert)));
      const alerts = new Map(bodies.map((row) => [row.alert, alertOf(row)]));
      found.push(...some.map((row) => ({ member: memberOf(row), alert: alerts.get(row.alert)! })));
    }
    return found;
  }

  /** Discards what was prefetched: alerts or members may have changed elsewhere. */
  forget(): void {
    this.#prefetched.forget();
  }

  async notifiedFiring(receiver: string, afterId: string, limit: number): Promise<Alert[]> {
    return this.#members.notifiedFiring.all(afterId, receiver, limit).map(alertOf);
  }

  async putMembers(members: readonly GroupMember[]): Promise<void> {
    if (members.length === 0) return;
    this.#prefetched.discard(members.map(({ groupKey }) => groupKey));
    this.#heldMembers.push(...members);
    this.#holds();
  }

  #write(): void {
    const [groups, members] = [this.#heldGroups, this.#heldMembers];
    this.#heldGroups = [];
    this.#heldMembers = [];
    this.#groups.put(groups.length, (index, values) => {
      const group = groups[index]!;
      values.push(group.key, group.receiver, group.nextFlushAtUs, JSON.stringify(group));
    });
    const written = this.#members.put(members.length, (index, values) => {
      const { groupKey, sort, alertId, notifiedSeq, notifiedState } = members[index]!;
      values.push(groupKey, alertId, sort, notifiedSeq, notifiedState);
    });
    if (written !== members.length) throw new Error('A group or an alert of a member is not in the store.');
  }

  async deleteMembers(members: readonly { groupKey: string; alertId: string }[]): Promise<void> {
    this.#prefetched.discard(members.map(({ groupKey }) => groupKey));
    for (const { groupKey, alertId } of members) this.#members.remove.run(groupKey, alertId);
  }

  async work(nowUs: number, ofIntegrations: string): Promise<AlertingWork> {
    const row = this.#groups.work.get(nowUs, ofIntegrations)!;
    return {
      ...row,
      isJoining: row.isJoining === 1,
      isRetrying: row.isRetrying === 1,
      isForwarding: row.isForwarding === 1,
      isDeliveryFailing: row.isDeliveryFailing === 1,
    };
  }
}

function prepareGroups(connection: Connection) {
  return {
    byKey: connection.prepare<GroupRow>(
      'SELECT body, next_flush_us FROM alert_group WHERE key IN (SELECT value FROM json_each(?)) ORDER BY key',
    ),
    due: connection.prepare<GroupRow>(
      'SELECT body, next_flush_us FROM alert_group WHERE next_flush_us <= ? ORDER BY next_flush_us, key LIMIT ?',
    ),
    put: prepareChunks(
      connection,
      4,
      (rows) =>
        `INSERT INTO alert_group (key, receiver, next_flush_us, body) VALUES ${rows}
       ON CONFLICT DO UPDATE SET receiver = excluded.receiver, next_flush_us = excluded.next_flush_us,
         body = excluded.body`,
    ),
    remove: connection.prepare('DELETE FROM alert_group WHERE key IN (SELECT value FROM json_each(?))'),
    work: connection.prepare<WorkRow>(
      `SELECT
         (SELECT min(due_us) FROM alert WHERE due_us IS NOT NULL) AS alertUs,
         (SELECT min(next_flush_us) FROM alert_group) AS groupUs,
         (SELECT min(fallback_us) FROM delivery WHERE fallback_us IS NOT NULL) AS fallbackUs,
         EXISTS (SELECT 1 FROM changed_alert) AS isJoining,
         EXISTS (SELECT 1 FROM fault WHERE sort = 'alert' AND again_us <= ?) AS isRetrying,
         EXISTS (SELECT 1 FROM forward_queue) AS isForwarding,
         EXISTS (SELECT 1 FROM failing_integration)
           OR EXISTS (SELECT 1 FROM alert WHERE state = 'firing' AND alertname = ?) AS isDeliveryFailing`,
    ),
  };
}

function prepareMembers(connection: Connection) {
  return {
    ofAlerts: connection.prepare<MemberRow>(
      `SELECT ${MEMBER_COLUMNS} FROM alert JOIN group_member USING (alert) JOIN alert_group USING (alert_group)
       WHERE alert.id IN (SELECT value FROM json_each(?)) ORDER BY group_key, alert_id`,
    ),
    ofGroup: connection.prepare<MemberRow & { readonly alert: number }>(
      `SELECT ${MEMBER_COLUMNS}, alert FROM alert_group JOIN group_member USING (alert_group) JOIN alert USING (alert)
       WHERE alert_group.key = ? ORDER BY alert_id`,
    ),
    bodies: connection.prepare<AlertRow & { readonly alert: number }>(
      'SELECT alert, body FROM alert WHERE alert IN (SELECT value FROM json_each(?))',
    ),
    ofSmallGroups: connection.prepare<MemberRow & AlertRow>(
      `SELECT ${MEMBER_COLUMNS}, alert.body FROM json_each(?) AS given CROSS JOIN alert_group ON alert_group.key = given.value
         CROSS JOIN group_member USING (alert_group) CROSS JOIN alert USING (alert)
       WHERE (SELECT count(*) FROM (
           SELECT 1 FROM group_member AS own WHERE own.alert_group = alert_group.alert_group LIMIT ${FEW_MEMBERS} + 1
         )) <= ${FEW_MEMBERS}
       ORDER BY alert_id`,
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

function inGroupOf(row: MemberRow & AlertRow): AlertInGroup {
  return { member: memberOf(row), alert: alertOf(row) };
}
