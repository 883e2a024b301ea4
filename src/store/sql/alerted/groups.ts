/**
 * Stores groups: which alerts a receiver is notified of together, when the group is flushed next, and up to which
 * event it has notified of each member.
 */
import type { Alert } from '../../../domain/alert/alert.ts';
import type { AlertInGroup, Group, GroupMember } from '../../../domain/grouping/group.ts';
import { type AlertRow, alertOf } from '../../alert-store.ts';
import { readable } from '../readable.ts';
import { type HeldRows, lastOfEach, type RowStatement, type Sql, upsertRows } from '../sql.ts';

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

/** How many groups' members are loaded together. */
const GROUPS_PER_FETCH = 64;

/** The members of groups with more than this are not prefetched. */
const FEW_MEMBERS = 20;

/**
 * Members that were loaded before they were asked for. Groups found to be due will probably be asked for one after
 * another, and many small ones take no longer to load together than a single one. What was loaded is discarded as soon as
 * it may have changed.
 */
class PrefetchedMembers {
  /** Due groups that were not loaded yet, in the order in which they will be asked for. */
  #due: readonly string[] = [];
  readonly #loaded = new Map<string, AlertInGroup[]>();

  /** Notes that these groups are due. */
  expect(groupKeys: readonly string[]): void {
    this.#due = groupKeys;
  }

  /** The members of a group; undefined if they were not loaded. */
  of(groupKey: string): AlertInGroup[] | undefined {
    return this.#loaded.get(groupKey);
  }

  /** The groups whose members are to be loaded together with those of this one, itself included; none if it is not due. */
  take(groupKey: string): readonly string[] {
    const first = this.#loaded.has(groupKey) ? -1 : this.#due.indexOf(groupKey);
    if (first === -1) return [];
    const taken = this.#due.slice(first, first + GROUPS_PER_FETCH);
    this.#due = this.#due.slice(first + GROUPS_PER_FETCH);
    return taken;
  }

  /** Keeps the members of several groups, each group's in their order. */
  keep(members: readonly AlertInGroup[]): void {
    for (const [key, list] of Map.groupBy(members, ({ member }) => member.groupKey)) {
      this.#loaded.set(key, list);
    }
  }

  /** Discards the members of these groups, because they change. */
  discard(groupKeys: readonly string[]): void {
    for (const key of groupKeys) this.#loaded.delete(key);
  }

  /** Discards everything: alerts or members may have changed elsewhere. */
  forget(): void {
    this.#due = [];
    this.#loaded.clear();
  }
}

/** A row of `alert_group`. */
interface GroupRow {
  readonly body: string;
  readonly next_flush_us: number;
}

/**
 * The next flush is stored beside the body so that it can be changed alone. Throws for a body that is no group.
 */
function groupOf(row: GroupRow): Group {
  const group = { ...(JSON.parse(row.body) as Group), nextFlushAtUs: row.next_flush_us };
  if (typeof group.key !== 'string') throw new TypeError('no group');
  return group;
}

/** A row of `group_member`, with the key of its group and the id of its alert. */
interface MemberRow {
  readonly group_key: string;
  readonly alert_id: string;
  readonly sort: GroupMember['sort'];
  readonly notified_seq: number;
  readonly notified_state: GroupMember['notifiedState'];
}

/** The columns of a `MemberRow`, for a member joined with its group and alert. */
const MEMBER_COLUMNS =
  'alert_group.key AS group_key, alert.id AS alert_id, sort, notified_seq, notified_state';

function memberOf(row: MemberRow): GroupMember {
  return {
    groupKey: row.group_key,
    sort: row.sort,
    alertId: row.alert_id,
    notifiedSeq: row.notified_seq,
    notifiedState: row.notified_state,
  };
}

/** Alerts per read for larger groups: tens of thousands have many megabytes of text. */
const READ_AT_ONCE = 500;

const PUT = upsertRows('alert_group', 'key text, receiver text, next_flush_us bigint, body text', 'key');

const PUT_MEMBERS: RowStatement = {
  columns: 'key text, id text, sort text, seq bigint, state text',
  text: (given) => `INSERT INTO group_member (alert_group, alert, sort, notified_seq, notified_state)
    SELECT alert_group, alert, given.sort, given.seq, given.state
    FROM ${given} INNER JOIN alert_group USING (key) INNER JOIN alert USING (id) WHERE true
    ON CONFLICT (alert_group, alert) DO UPDATE
      SET notified_seq = excluded.notified_seq, notified_state = excluded.notified_state`,
};

const DELETE_MEMBERS: RowStatement = {
  columns: 'key text, id text',
  text: (given) => `DELETE FROM group_member WHERE (alert_group, alert) IN (
    SELECT alert_group, alert FROM ${given} INNER JOIN alert_group USING (key) INNER JOIN alert USING (id))`,
};

const WORK = `SELECT
    (SELECT min(due_us) FROM alert WHERE due_us IS NOT NULL) AS "alertUs",
    (SELECT min(next_flush_us) FROM alert_group) AS "groupUs",
    (SELECT min(fallback_us) FROM delivery WHERE fallback_us IS NOT NULL) AS "fallbackUs",
    EXISTS (SELECT 1 FROM changed_alert)::int AS "isJoining",
    EXISTS (SELECT 1 FROM fault WHERE sort = 'alert' AND again_us <= $1)::int AS "isRetrying",
    EXISTS (SELECT 1 FROM forward_queue)::int AS "isForwarding",
    (EXISTS (SELECT 1 FROM failing_integration)
      OR EXISTS (SELECT 1 FROM alert WHERE state = 'firing' AND alertname = $2))::int AS "isDeliveryFailing"`;

const OF_GROUP = `SELECT ${MEMBER_COLUMNS}
  FROM alert_group JOIN group_member USING (alert_group) JOIN alert USING (alert)
  WHERE alert_group.key = $1 ORDER BY alert_id`;

const IS_JOINED = `AND NOT EXISTS (SELECT 1 FROM group_member JOIN changed_alert USING (alert)
  WHERE group_member.alert_group = alert_group.alert_group)`;

const IS_SMALL = `(SELECT count(*) FROM (
    SELECT 1 FROM group_member AS own WHERE own.alert_group = alert_group.alert_group LIMIT ${FEW_MEMBERS} + 1) AS few
  ) <= ${FEW_MEMBERS}`;

/**
 * Each group's members are looked up by themselves: PostgreSQL might read the whole table instead, and then conflict
 * with whatever is written to it meanwhile.
 */
const OF_SMALL_GROUPS = {
  sqlite: `SELECT ${MEMBER_COLUMNS}, alert.body FROM json_each($1) AS listed CROSS JOIN alert_group ON alert_group.key = listed.value
      CROSS JOIN group_member USING (alert_group) CROSS JOIN alert USING (alert)
    WHERE ${IS_SMALL} ORDER BY alert_id`,
  postgres: `SELECT small.key AS group_key, inside.*
    FROM (SELECT key, alert_group FROM alert_group WHERE key = ANY($1::text[]) AND ${IS_SMALL} OFFSET 0) AS small
      CROSS JOIN LATERAL (
        SELECT alert.id AS alert_id, sort, notified_seq, notified_state, alert.body
        FROM group_member JOIN alert USING (alert) WHERE group_member.alert_group = small.alert_group OFFSET 0) AS inside
    ORDER BY alert_id`,
};

/** Truth values are 0 or 1. */
type WorkRow = {
  readonly [Part in keyof AlertingWork]: AlertingWork[Part] extends boolean ? number : AlertingWork[Part];
};

export class SqlGroups {
  readonly #sql: Sql;
  readonly #prefetched = new PrefetchedMembers();
  readonly #holds: () => void;
  #heldGroups: Group[] = [];
  #heldMembers: GroupMember[] = [];

  constructor(sql: Sql) {
    this.#sql = sql;
    this.#holds = sql.hold({
      writes: ['alert_group', 'group_member'],
      reads: ['alert'],
      write: () => this.#taken(),
      forget: () => {
        this.#heldGroups = [];
        this.#heldMembers = [];
      },
    });
  }

  /** The existing groups with these keys, in order of their keys. */
  async list(keys: readonly string[]): Promise<Group[]> {
    const rows = await this.#sql.rows<GroupRow>(
      'SELECT body, next_flush_us FROM alert_group WHERE key = ANY($1::text[]) ORDER BY key',
      keys,
    );
    return readable(this.#sql, 'alert_group', rows, groupOf);
  }

  /** Groups whose `nextFlushAtUs` has come, oldest first; with `areJoined`, only those none of whose alerts changed since. */
  async due(nowUs: number, limit: number, areJoined = false): Promise<Group[]> {
    const rows = await this.#sql.rows<GroupRow>(
      `SELECT body, next_flush_us FROM alert_group WHERE next_flush_us <= $1 ${areJoined ? IS_JOINED : ''}
       ORDER BY next_flush_us, key LIMIT $2`,
      nowUs,
      limit,
    );
    const groups = await readable(this.#sql, 'alert_group', rows, groupOf);
    this.#prefetched.expect(groups.map(({ key }) => key));
    return groups;
  }

  async put(groups: readonly Group[]): Promise<void> {
    if (groups.length === 0) return;
    this.#heldGroups.push(...groups);
    this.#holds();
  }

  /** Deletes groups with their members. */
  async delete(keys: readonly string[]): Promise<void> {
    this.#prefetched.discard(keys);
    await this.#sql.run(
      `DELETE FROM group_member WHERE alert_group IN (SELECT alert_group FROM alert_group WHERE key = ANY($1::text[]))`,
      keys,
    );
    await this.#sql.run('DELETE FROM alert_group WHERE key = ANY($1::text[])', keys);
  }

  /** The memberships of these alerts in any groups. */
  async membersOfAlerts(alertIds: readonly string[]): Promise<GroupMember[]> {
    const rows = await this.#sql.rows<MemberRow>(
      `SELECT ${MEMBER_COLUMNS} FROM alert JOIN group_member USING (alert) JOIN alert_group USING (alert_group)
       WHERE alert.id = ANY($1::text[]) ORDER BY group_key, alert_id`,
      alertIds,
    );
    return rows.map(memberOf);
  }

  /** A group's members with their alerts, in order of the alerts' ids. */
  async members(groupKey: string): Promise<AlertInGroup[]> {
    const together = this.#prefetched.take(groupKey);
    if (together.length > 0) {
      const small = OF_SMALL_GROUPS[this.#sql.engine];
      const rows = await this.#sql.rows<MemberRow & AlertRow>(small, together);
      this.#prefetched.keep(await readable(this.#sql, 'alert', rows, inGroupOf));
    }
    return this.#prefetched.of(groupKey) ?? this.#ofLargeGroup(groupKey);
  }

  async #ofLargeGroup(groupKey: string): Promise<AlertInGroup[]> {
    const members = await this.#sql.rows<MemberRow>(OF_GROUP, groupKey);
    const found: AlertInGroup[] = [];
    for (let done = 0; done < members.length; done += READ_AT_ONCE) {
      if (done > 0) await this.#sql.pause();
      const some = members.slice(done, done + READ_AT_ONCE);
      const rows = await this.#sql.rows<AlertRow & { readonly id: string }>(
        'SELECT id, body FROM alert WHERE id = ANY($1::text[])',
        some.map((member) => member.alert_id),
      );
      const alerts = new Map(
        await readable(this.#sql, 'alert', rows, (row) => [row.id, alertOf(row)] as const),
      );
      // An alert that was deleted meanwhile has left the group.
      for (const member of some) {
        const alert = alerts.get(member.alert_id);
        if (alert) found.push({ member: memberOf(member), alert });
      }
    }
    return found;
  }

  /** Discards what was prefetched: alerts or members may have changed elsewhere. */
  forget(): void {
    this.#prefetched.forget();
  }

  /** Firing alerts that a group of this receiver has notified of as firing, by id, after `afterId`. */
  async notifiedFiring(receiver: string, afterId: string, limit: number): Promise<Alert[]> {
    const rows = await this.#sql.rows<AlertRow>(
      `SELECT alert.body FROM alert
       WHERE alert.state = 'firing' AND alert.id > $1 AND EXISTS (
         SELECT 1 FROM group_member JOIN alert_group USING (alert_group)
         WHERE group_member.alert = alert.alert AND notified_state = 'firing' AND alert_group.receiver = $2)
       ORDER BY alert.id LIMIT $3`,
      afterId,
      receiver,
      limit,
    );
    return readable(this.#sql, 'alert', rows, alertOf);
  }

  /** Writes members, whose groups and alerts must be in the store. */
  async putMembers(members: readonly GroupMember[]): Promise<void> {
    if (members.length === 0) return;
    this.#prefetched.discard(members.map(({ groupKey }) => groupKey));
    this.#heldMembers.push(...members);
    this.#holds();
  }

  #taken(): HeldRows[] {
    const groups = lastOfEach(this.#heldGroups, ({ key }) => key);
    const members = lastOfEach(this.#heldMembers, ({ groupKey, alertId }) => `${groupKey}\n${alertId}`);
    this.#heldGroups = [];
    this.#heldMembers = [];
    return [
      {
        statement: PUT,
        rows: groups.map((one) => [one.key, one.receiver, one.nextFlushAtUs, JSON.stringify(one)]),
      },
      {
        statement: PUT_MEMBERS,
        rows: members.map((one) => [one.groupKey, one.alertId, one.sort, one.notifiedSeq, one.notifiedState]),
        missing: 'A group or an alert of a member is not in the store.',
      },
    ];
  }

  async deleteMembers(members: readonly { groupKey: string; alertId: string }[]): Promise<void> {
    this.#prefetched.discard(members.map(({ groupKey }) => groupKey));
    await this.#sql.write(
      DELETE_MEMBERS,
      members.map(({ groupKey, alertId }) => [groupKey, alertId]),
    );
  }

  /**
   * What alerting has to do. `ofIntegrations`: the name of the alerts about integrations that accept nothing, which are
   * checked for as long as one fires.
   */
  async work(nowUs: number, ofIntegrations: string): Promise<AlertingWork> {
    const row = (await this.#sql.first<WorkRow>(WORK, nowUs, ofIntegrations))!;
    return {
      ...row,
      isJoining: row.isJoining === 1,
      isRetrying: row.isRetrying === 1,
      isForwarding: row.isForwarding === 1,
      isDeliveryFailing: row.isDeliveryFailing === 1,
    };
  }
}

function inGroupOf(row: MemberRow & AlertRow): AlertInGroup {
  return { member: memberOf(row), alert: alertOf(row) };
}
