import { setImmediate as turnOfEventLoop } from 'node:timers/promises';
import type { Alert } from '../../../domain/alert/alert.ts';
import type { AlertInGroup, Group, GroupMember } from '../../../domain/grouping/group.ts';
import type { AlertingWork, GroupStore } from '../../group-store.ts';
import { type AlertRow, alertOf } from '../../rows/alert-row.ts';
import { type GroupRow, groupOf, MEMBER_COLUMNS, type MemberRow, memberOf } from '../../rows/group-row.ts';
import { FEW_MEMBERS, PrefetchedMembers } from '../../rows/prefetched-members.ts';
import type { HoldingStatements } from '../holding-statements.ts';
import { columnsOf, given, lastOfEach, type Statements, upsert } from '../statements.ts';

/** Alerts of a group that are parsed in one turn of the event loop. */
const READ_AT_ONCE = 500;

const PUT = upsert('alert_group', 'key text, receiver text, next_flush_us bigint, body text', 'key');

const PUT_MEMBERS = `INSERT INTO group_member (alert_group, alert, sort, notified_seq, notified_state)
  SELECT alert_group, alert, given.sort, given.seq, given.state
  FROM ${given('key text, id text, sort text, seq bigint, state text')} JOIN alert_group USING (key) JOIN alert USING (id)
  ON CONFLICT (alert_group, alert) DO UPDATE
    SET notified_seq = excluded.notified_seq, notified_state = excluded.notified_state`;

const WORK = `SELECT
    (SELECT min(due_us) FROM alert WHERE due_us IS NOT NULL) AS "alertUs",
    (SELECT min(next_flush_us) FROM alert_group) AS "groupUs",
    (SELECT min(fallback_us) FROM delivery WHERE fallback_us IS NOT NULL) AS "fallbackUs",
    EXISTS (SELECT 1 FROM changed_alert) AS "isJoining",
    EXISTS (SELECT 1 FROM fault WHERE sort = 'alert' AND again_us <= $1) AS "isRetrying",
    EXISTS (SELECT 1 FROM forward_queue) AS "isForwarding",
    EXISTS (SELECT 1 FROM failing_integration)
      OR EXISTS (SELECT 1 FROM alert WHERE state = 'firing' AND alertname = $2) AS "isDeliveryFailing"`;

const OF_GROUP = `SELECT ${MEMBER_COLUMNS}, alert.body
  FROM alert_group JOIN group_member USING (alert_group) JOIN alert USING (alert)
  WHERE alert_group.key = $1 ORDER BY alert_id`;

/**
 * `OFFSET 0` makes the server look up each group's members by themselves: it might read the whole table instead, and
 * then conflict with whatever is written to it meanwhile.
 */
const OF_SMALL_GROUPS = `SELECT small.key AS group_key, inside.*
  FROM (SELECT key, alert_group FROM alert_group WHERE key = ANY($1::text[]) AND (
      SELECT count(*) FROM (
        SELECT 1 FROM group_member AS own WHERE own.alert_group = alert_group.alert_group LIMIT ${FEW_MEMBERS} + 1) AS few
      ) <= ${FEW_MEMBERS} OFFSET 0) AS small
    CROSS JOIN LATERAL (
      SELECT alert.id AS alert_id, sort, notified_seq, notified_state, alert.body
      FROM group_member JOIN alert USING (alert) WHERE group_member.alert_group = small.alert_group OFFSET 0) AS inside
  ORDER BY alert_id`;

export class PostgresGroups implements GroupStore {
  readonly #statements: Statements;
  readonly #prefetched = new PrefetchedMembers();
  readonly #holds: () => void;
  #heldGroups: Group[] = [];
  #heldMembers: GroupMember[] = [];

  constructor(statements: HoldingStatements) {
    this.#statements = statements;
    this.#holds = statements.hold({
      writes: ['alert_group', 'group_member'],
      reads: ['alert'],
      write: (own) => this.#write(own),
      forget: () => {
        this.#heldGroups = [];
        this.#heldMembers = [];
      },
    });
  }

  async list(keys: readonly string[]): Promise<Group[]> {
    const rows = await this.#statements.rows<GroupRow>(
      'SELECT body, next_flush_us FROM alert_group WHERE key = ANY($1::text[]) ORDER BY key',
      keys,
    );
    return rows.map(groupOf);
  }

  async due(nowUs: number, limit: number): Promise<Group[]> {
    const rows = await this.#statements.rows<GroupRow>(
      'SELECT body, next_flush_us FROM alert_group WHERE next_flush_us <= $1 ORDER BY next_flush_us, key LIMIT $2',
      nowUs,
      limit,
    );
    const groups = rows.map(groupOf);
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
    await this.#statements.run(
      `DELETE FROM group_member WHERE alert_group IN (SELECT alert_group FROM alert_group WHERE key = ANY($1::text[]))`,
      keys,
    );
    await this.#statements.run('DELETE FROM alert_group WHERE key = ANY($1::text[])', keys);
  }

  async membersOfAlerts(alertIds: readonly string[]): Promise<GroupMember[]> {
    const rows = await this.#statements.rows<MemberRow>(
      `SELECT ${MEMBER_COLUMNS} FROM alert JOIN group_member USING (alert) JOIN alert_group USING (alert_group)
       WHERE alert.id = ANY($1::text[]) ORDER BY group_key, alert_id`,
      alertIds,
    );
    return rows.map(memberOf);
  }

  async members(groupKey: string): Promise<AlertInGroup[]> {
    const together = this.#prefetched.take(groupKey);
    if (together.length > 0) this.#prefetched.keep(await this.#inGroups(OF_SMALL_GROUPS, together));
    return this.#prefetched.of(groupKey) ?? this.#inGroups(OF_GROUP, groupKey);
  }

  async #inGroups(sql: string, groups: string | readonly string[]): Promise<AlertInGroup[]> {
    const rows = await this.#statements.rows<MemberRow & AlertRow>(sql, groups);
    const found: AlertInGroup[] = [];
    for (const [index, row] of rows.entries()) {
      // The texts of tens of thousands of alerts are many megabytes.
      if (index > 0 && index % READ_AT_ONCE === 0) await turnOfEventLoop();
      found.push({ member: memberOf(row), alert: alertOf(row) });
    }
    return found;
  }

  /** Discards what was prefetched: alerts or members may have changed elsewhere. */
  forget(): void {
    this.#prefetched.forget();
  }

  async notifiedFiring(receiver: string, afterId: string, limit: number): Promise<Alert[]> {
    const rows = await this.#statements.rows<AlertRow>(
      `SELECT alert.body FROM alert
       WHERE alert.state = 'firing' AND alert.id > $1 AND EXISTS (
         SELECT 1 FROM group_member JOIN alert_group USING (alert_group)
         WHERE group_member.alert = alert.alert AND notified_state = 'firing' AND alert_group.receiver = $2)
       ORDER BY alert.id LIMIT $3`,
      afterId,
      receiver,
      limit,
    );
    return rows.map(alertOf);
  }

  async putMembers(members: readonly GroupMember[]): Promise<void> {
    if (members.length === 0) return;
    this.#prefetched.discard(members.map(({ groupKey }) => groupKey));
    this.#heldMembers.push(...members);
    this.#holds();
  }

  async #write(statements: Statements): Promise<void> {
    const groups = lastOfEach(this.#heldGroups, ({ key }) => key);
    const members = lastOfEach(this.#heldMembers, ({ groupKey, alertId }) =>
      JSON.stringify([groupKey, alertId]),
    );
    this.#heldGroups = [];
    this.#heldMembers = [];
    if (groups.length > 0) {
      const rows = groups.map((one) => [one.key, one.receiver, one.nextFlushAtUs, JSON.stringify(one)]);
      await statements.run(PUT, ...columnsOf(4, rows));
    }
    if (members.length > 0) {
      const rows = members.map((one) => [
        ...[one.groupKey, one.alertId, one.sort],
        ...[one.notifiedSeq, one.notifiedState],
      ]);
      const written = await statements.run(PUT_MEMBERS, ...columnsOf(5, rows));
      if (written !== rows.length) throw new Error('A group or an alert of a member is not in the store.');
    }
  }

  async deleteMembers(members: readonly { groupKey: string; alertId: string }[]): Promise<void> {
    if (members.length === 0) return;
    this.#prefetched.discard(members.map(({ groupKey }) => groupKey));
    await this.#statements.run(
      `DELETE FROM group_member USING ${given('key text, id text')}
         JOIN alert_group USING (key) JOIN alert USING (id)
       WHERE group_member.alert_group = alert_group.alert_group AND group_member.alert = alert.alert`,
      members.map(({ groupKey }) => groupKey),
      members.map(({ alertId }) => alertId),
    );
  }

  async work(nowUs: number, ofIntegrations: string): Promise<AlertingWork> {
    return (await this.#statements.first<AlertingWork>(WORK, nowUs, ofIntegrations))!;
  }
}
