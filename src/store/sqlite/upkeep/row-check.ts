/**
 * Finds rows that nestwatch cannot have written: invalid JSON, fields that are missing or of the wrong type, words
 * outside a closed list. A program, a person or a disk fault may have changed them. Each is removed, and what
 * depended on it is repaired, so that everything else continues.
 */
import type { Fault } from '../../../domain/alert/fault.ts';
import { DELIVERY_STATES } from '../../outbox-store.ts';
import type { Connection, Statement } from '../connection.ts';
import { firingAlerts } from '../watched/bird-standing.ts';

interface Checked {
  readonly table: string;
  /** Names a row; the statements of `repair` find it by this name. */
  readonly name: string;
  /** The column that is checked. */
  readonly column: string;
  /** Set if the rows have no numbers by which they could be checked in steps; such rows are short. */
  readonly isWithoutRowid?: true;
  /** Set for tables that are kept for people and grow with the retention; an unreadable row in them stops nothing. */
  readonly isHistory?: boolean;
  /** The condition that a valid row meets. */
  readonly sound: string;
  /** Removes the row named `?1`, at the instant `?2`. */
  readonly repair: readonly string[];
}

type JsonType = 'array' | 'number' | 'object' | 'text';

/** The column is a JSON object with at least these fields. */
function json(column: string, fields: Readonly<{ [field: string]: JsonType }>, ...more: string[]): string {
  const typed = Object.entries(fields).map(([field, type]) => {
    const types = type === 'number' ? "'integer', 'real'" : `'${type}'`;
    return `json_type(${column}, '$.${field}') IN (${types})`;
  });
  const all = [`json_type(${column}) = 'object'`, ...typed, ...more];
  return `CASE WHEN json_valid(${column}) THEN ${all.join(' AND ')} ELSE 0 END`;
}

/** All items of a JSON object or list have this type, or a field of this type. */
function each(column: string, path: string, type: JsonType, field = ''): string {
  return `NOT EXISTS (SELECT 1 FROM json_each(${column}, '${path}') AS item
    WHERE json_type(${column}, item.fullkey || '${field}') IS NOT '${type}')`;
}

function oneOf(value: string, words: readonly string[]): string {
  return `${value} IN (${words.map((word) => `'${word}'`).join(', ')})`;
}

const SORTS = ['route', 'escalation', 'fallback', 'held_back', 'catch_up'];
const JOIN_AGAIN = 'INSERT OR IGNORE INTO changed_alert (alert) SELECT alert FROM group_member WHERE';
const GROUP = '(SELECT alert_group FROM alert_group WHERE key = ?1)';
const MEMBER = "alert_group || ' ' || alert";
const ALERT = '(SELECT alert FROM alert WHERE id = ?1)';

/** What is stored of the stream named `?1`: the instants of its events, and the starts of its Flights. */
const STORED = `(SELECT occurred_us AS at_us FROM event WHERE stream = CAST(?1 AS INTEGER)
  UNION ALL SELECT started_us FROM flight WHERE stream = CAST(?1 AS INTEGER))`;

function isInstant(column: string): string {
  return `${column} BETWEEN 0 AND ${Number.MAX_SAFE_INTEGER}`;
}

/** Its deliveries can never be sent; people see them as given up. */
const GIVE_UP = `UPDATE delivery SET state = 'dead', settled_us = ?2, fallback_us = NULL,
  last_error = 'its message in the store cannot be read'`;

const CHECKED: readonly Checked[] = [
  {
    table: 'stream',
    name: 'stream',
    column: "region || ' ' || feed || ' ' || bird_id || ' ' || cursor_us || ' ' || pruned_us",
    sound: `${isInstant('cursor_us')} AND ${isInstant('pruned_us')}`,
    // It is read on after the newest that is stored; older than the oldest counts as deleted by the retention.
    repair: [
      `UPDATE stream SET pruned_us = coalesce((SELECT min(at_us) FROM ${STORED}), 0)
       WHERE stream = CAST(?1 AS INTEGER) AND NOT ${isInstant('pruned_us')}`,
      `UPDATE stream SET cursor_us = max(pruned_us, coalesce((SELECT max(at_us) FROM ${STORED}), 0))
       WHERE stream = CAST(?1 AS INTEGER) AND NOT ${isInstant('cursor_us')}`,
    ],
  },
  {
    table: 'alert',
    name: 'id',
    column: 'body',
    sound: json(
      'body',
      {
        id: 'text',
        scope: 'text',
        rule: 'text',
        subject: 'text',
        firstRule: 'text',
        alertname: 'text',
        state: 'text',
        labels: 'object',
        annotations: 'object',
        startsAtUs: 'number',
        endsAtUs: 'number',
        updatedAtUs: 'number',
        eventsTotal: 'number',
        lastSeq: 'number',
      },
      "body ->> '$.id' = id",
      oneOf('state', ['pending', 'firing', 'resolved']),
      "body ->> '$.state' = state",
      each('body', '$.labels', 'text'),
      each('body', '$.annotations', 'text'),
    ),
    repair: [
      `DELETE FROM alert_event WHERE alert = ${ALERT}`,
      `DELETE FROM group_member WHERE alert = ${ALERT}`,
      `DELETE FROM changed_alert WHERE alert = ${ALERT}`,
      'INSERT OR IGNORE INTO former_alert (alert, id) SELECT alert, id FROM alert WHERE id = ?1',
      'DELETE FROM alert WHERE id = ?1',
    ],
  },
  {
    table: 'silence',
    name: 'id',
    column: 'body',
    sound: json(
      'body',
      {
        id: 'text',
        matchers: 'array',
        startsAtUs: 'number',
        endsAtUs: 'number',
        updatedAtUs: 'number',
        createdBy: 'text',
        comment: 'text',
      },
      "body ->> '$.id' = id",
      each('body', '$.matchers', 'text', '.name'),
      each('body', '$.matchers', 'text', '.value'),
      each('body', '$.matchers', 'text', '.op'),
      `NOT EXISTS (SELECT 1 FROM json_each(body, '$.matchers') AS item
         WHERE NOT ${oneOf("body ->> (item.fullkey || '.op')", ['=', '!=', '=~', '!~'])})`,
      `(coalesce(json_type(body, '$.recurrence'), 'null') = 'null' OR (
         json_type(body, '$.recurrence.cron') = 'text' AND json_type(body, '$.recurrence.timezone') = 'text'
         AND json_type(body, '$.recurrence.durationMs') IN ('integer', 'real')))`,
    ),
    repair: ['DELETE FROM silence WHERE id = ?1'],
  },
  {
    table: 'alert_group',
    name: 'key',
    column: 'body',
    sound: json(
      'body',
      {
        key: 'text',
        route: 'text',
        receiver: 'text',
        labels: 'object',
        nextFlushAtUs: 'number',
        notifiedAtUs: 'number',
        thread: 'text',
        notifications: 'number',
      },
      "body ->> '$.key' = key",
      oneOf("body ->> '$.sort'", SORTS),
      each('body', '$.labels', 'text'),
    ),
    // Its alerts join groups again: people may be notified twice rather than never.
    repair: [
      `${JOIN_AGAIN} alert_group = ${GROUP}`,
      `DELETE FROM group_member WHERE alert_group = ${GROUP}`,
      'DELETE FROM alert_group WHERE key = ?1',
    ],
  },
  {
    table: 'group_member',
    isWithoutRowid: true,
    name: MEMBER,
    column: 'notified_state',
    sound: `${oneOf('sort', SORTS)} AND ${oneOf('notified_state', ['none', 'hidden', 'summary', 'firing', 'resolved'])}`,
    repair: [`${JOIN_AGAIN} ${MEMBER} = ?1`, `DELETE FROM group_member WHERE ${MEMBER} = ?1`],
  },
  {
    table: 'episode',
    isWithoutRowid: true,
    name: "alert_id || ' ' || starts_us",
    column: 'body',
    sound: json(
      'body',
      { alertId: 'text', alertname: 'text', labels: 'object', startsAtUs: 'number', endsAtUs: 'number' },
      each('body', '$.labels', 'text'),
    ),
    repair: ["DELETE FROM episode WHERE alert_id || ' ' || starts_us = ?1"],
  },
  {
    table: 'digest',
    name: 'name',
    column: 'body',
    sound: json('body', { name: 'text', lastUs: 'number' }),
    repair: ['DELETE FROM digest WHERE name = ?1'],
  },
  {
    table: 'audit',
    name: 'stream',
    column: 'body',
    sound: json('body', {
      verifiedUs: 'number',
      dayAuditedUs: 'number',
      wholeAuditedUs: 'number',
      deletedUs: 'number',
      gaps: 'array',
    }),
    repair: ['DELETE FROM audit WHERE stream = CAST(?1 AS INTEGER)'],
  },
  {
    table: 'nest_members',
    isWithoutRowid: true,
    name: "region || ' ' || nest_id",
    column: 'addresses',
    sound: `CASE WHEN json_valid(addresses) THEN json_type(addresses) = 'array' AND ${each('addresses', '$', 'text')} ELSE 0 END`,
    repair: ["DELETE FROM nest_members WHERE region || ' ' || nest_id = ?1"],
  },
  {
    table: 'event',
    isHistory: true,
    name: 'event',
    column: 'body',
    sound: `CASE WHEN json_valid(body) THEN json_type(body) = 'array' AND json_type(body, '$[4]') = 'object'
      AND ${[0, 1, 2, 3].map((at) => `json_type(body, '$[${at}]') = 'text'`).join(' AND ')} ELSE 0 END`,
    // The event itself stays: without it the entry would count as new.
    repair: [`UPDATE event SET body = '["","","","",{}]' WHERE event = CAST(?1 AS INTEGER)`],
  },
  {
    table: 'forward_queue',
    isWithoutRowid: true,
    name: "receiver || ' ' || seq",
    column: 'event',
    sound: json('event', {
      key: 'text',
      region: 'text',
      feed: 'text',
      type: 'text',
      occurredAtUs: 'number',
      attributes: 'object',
    }),
    repair: ["DELETE FROM forward_queue WHERE receiver || ' ' || seq = ?1"],
  },
  {
    table: 'receiver_pace',
    name: 'receiver',
    column: 'body',
    sound: json('body', { receiver: 'text', queuedAtUs: 'array', heldBack: 'number' }),
    repair: ['DELETE FROM receiver_pace WHERE receiver = ?1'],
  },
  {
    table: 'notification',
    isHistory: true,
    name: 'seq',
    column: 'body',
    sound: json(
      'body',
      { id: 'text', receiver: 'text', createdAtUs: 'number' },
      `CASE body ->> '$.kind'
         WHEN 'group' THEN json_type(body, '$.alerts') = 'array' AND json_type(body, '$.groupLabels') = 'object'
           AND ${each('body', '$.alerts', 'object', '.labels')} AND ${each('body', '$.alerts', 'array', '.events')}
         WHEN 'digest' THEN json_type(body, '$.digest') = 'object'
         WHEN 'forward' THEN json_type(body, '$.events') = 'array'
         ELSE 0 END`,
    ),
    repair: [
      `${GIVE_UP} WHERE notification = CAST(?1 AS INTEGER) AND state NOT IN ('delivered', 'dead', 'suppressed')`,
      'DELETE FROM notification WHERE seq = CAST(?1 AS INTEGER)',
    ],
  },
  {
    table: 'delivery',
    name: 'id',
    column: 'remaining',
    sound: `${oneOf('state', DELIVERY_STATES)} AND (remaining = '' OR
      CASE WHEN json_valid(remaining) THEN json_type(remaining) = 'array' ELSE 0 END)`,
    repair: [
      `UPDATE delivery SET remaining = '' WHERE id = ?1`,
      `${GIVE_UP} WHERE id = ?1 AND NOT ${oneOf('state', DELIVERY_STATES)}`,
    ],
  },
];

/** Recomputes what depends on removed rows: firing alerts of each Bird, delivery counts, and turns in lanes. */
const UNSETTLED = "('pending', 'leased', 'retry', 'ambiguous')";
const AFTERWARDS: readonly string[] = [
  `UPDATE bird SET firing = ${firingAlerts('bird.region', 'bird.bird_id')} WHERE firing > 0`,
  'DELETE FROM delivery_count',
  'INSERT INTO delivery_count (receiver, state, count) SELECT receiver, state, count(*) FROM delivery GROUP BY receiver, state',
  `UPDATE delivery SET turn = 1 WHERE turn = 0 AND state IN ${UNSETTLED} AND NOT EXISTS (
     SELECT 1 FROM delivery AS earlier
     WHERE earlier.receiver = delivery.receiver AND earlier.position = delivery.position
       AND earlier.lane = delivery.lane AND earlier.seq < delivery.seq AND earlier.state IN ${UNSETTLED})`,
];

/** Rows per step: a silence may have 20,000 characters. */
const LOOKED_INTO_AT_ONCE = 500;

/** How much of a damaged row's content is kept. */
const MAX_RAW = 4_000;

interface RowFault extends Fault {
  readonly raw: string;
}

export class RowCheck {
  readonly #checks: readonly {
    readonly table: string;
    readonly isHistory: boolean;
    readonly find: Statement<{ name: string; raw: string }>;
    /** The last row of the next step; undefined if all rows are checked at once. */
    readonly last: Statement<{ last: number | null }> | undefined;
    readonly repair: readonly ((name: string, nowUs: number) => void)[];
  }[];
  readonly #afterwards: readonly Statement<unknown>[];

  readonly #pause: () => Promise<void>;

  /** `pause` lets other work run. */
  constructor(connection: Connection, pause: () => Promise<void>) {
    this.#pause = pause;
    this.#checks = CHECKED.map(
      ({ table, name, column, sound, repair, isWithoutRowid, isHistory = false }) => ({
        table,
        isHistory,
        find: connection.prepare(
          `SELECT CAST(${name} AS TEXT) AS name, substr(${column}, 1, ${MAX_RAW}) AS raw FROM ${table}
         WHERE NOT coalesce((${sound}), 0) ${isWithoutRowid ? '' : 'AND rowid > ? AND rowid <= ?'}`,
        ),
        last: isWithoutRowid
          ? undefined
          : connection.prepare(
              `SELECT max(rowid) AS last FROM (
               SELECT rowid FROM ${table} WHERE rowid > ? ORDER BY rowid LIMIT ${LOOKED_INTO_AT_ONCE})`,
            ),
        repair: repair.map((sql) => prepareRepair(connection, sql)),
      }),
    );
    this.#afterwards = AFTERWARDS.map((sql) => connection.prepare(sql));
  }

  /** Removes invalid rows and returns what they were. */
  async setAside(nowUs: number, which: 'all' | 'what is in use'): Promise<RowFault[]> {
    const found: RowFault[] = [];
    for (const { table, isHistory, find, last, repair } of this.#checks) {
      if (isHistory && which !== 'all') continue;
      for await (const { name, raw } of this.#broken(find, last)) {
        for (const take of repair) take(name, nowUs);
        found.push({ sort: 'row', name: `${table} ${name}`, reason: 'its content cannot be read', raw });
      }
    }
    if (found.length > 0) for (const statement of this.#afterwards) statement.run();
    return found;
  }

  async *#broken(
    find: Statement<{ name: string; raw: string }>,
    lastOf: Statement<{ last: number | null }> | undefined,
  ): AsyncGenerator<{ readonly name: string; readonly raw: string }> {
    if (!lastOf) {
      yield* find.all();
      return;
    }
    for (let after = Number.MIN_SAFE_INTEGER; ; ) {
      const { last } = lastOf.get(after)!;
      if (last === null) return;
      yield* find.all(after, last);
      after = last;
      await this.#pause();
    }
  }
}

function prepareRepair(connection: Connection, sql: string): (name: string, nowUs: number) => void {
  const statement = connection.prepare(sql);
  return sql.includes('?2') ? (name, nowUs) => statement.run(name, nowUs) : (name) => statement.run(name);
}
