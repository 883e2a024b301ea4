/**
 * Finds rows that nestwatch cannot have written: invalid JSON, fields that are missing or of the wrong type, words
 * outside a closed list. A program, a person or a disk fault may have changed them. Each is removed, and what depended
 * on it is repaired, so that everything else continues. Rows are checked here rather than by SQL: a server cannot read
 * all JSON that may be stored.
 */
import type { Fault } from '../../../domain/alert/fault.ts';
import { DELIVERY_STATES } from '../../outbox-store.ts';
import type { Sql } from '../sql.ts';
import { firingAlerts } from '../watched/bird-standing.ts';

type Type = 'text' | 'number' | 'list' | 'object';
type Shape = ReadonlyMap<string, Type>;

interface Checked {
  readonly table: string;
  /** A column of rising numbers, by which many rows are read in steps. */
  readonly by?: string;
  /** Names a row; the statements of `repair` find it by this name. */
  readonly name: string;
  /** The column that is checked. */
  readonly column: string;
  /** Set for tables that are kept for people and grow with the retention; an unreadable row in them stops nothing. */
  readonly isHistory?: boolean;
  /** Whether the content is valid. */
  readonly isSound: (text: string) => boolean;
  /** Removes the row named `$1`, at the instant `$2`. */
  readonly repair: readonly string[];
}

const shape = (fields: Readonly<{ [field: string]: Type }>): Shape => new Map(Object.entries(fields));

/** The text is a JSON object with at least these fields. */
function json(
  fields: Readonly<{ [field: string]: Type }>,
  also: (value: Map<string, unknown>) => boolean = () => true,
) {
  const wanted = shape(fields);
  return (text: string): boolean => {
    const value = read(text);
    return (
      value instanceof Map &&
      [...wanted].every(([field, type]) => isOf(value.get(field), type)) &&
      also(value)
    );
  };
}

/** Parses an object to a map, so that no name reaches inherited properties. */
function read(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? new Map(Object.entries(value))
      : value;
  } catch {
    return undefined;
  }
}

function isOf(value: unknown, type: Type): boolean {
  if (type === 'text') return typeof value === 'string';
  if (type === 'number') return typeof value === 'number';
  if (type === 'list') return Array.isArray(value);
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether all values of an object or list are texts. */
function areTexts(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((one) => typeof one === 'string')
  );
}

function isListedAlert(value: unknown): boolean {
  if (!isOf(value, 'object')) return false;
  const alert = new Map(Object.entries(value as object));
  return isOf(alert.get('labels'), 'object') && isOf(alert.get('events'), 'list');
}

const SORTS = ['route', 'escalation', 'fallback', 'held_back', 'catch_up'];
const NOTIFIED = ['none', 'hidden', 'summary', 'firing', 'resolved'];
const OPERATORS = ['=', '!=', '=~', '!~'];
const JOIN_AGAIN = `INSERT INTO changed_alert (alert) SELECT alert FROM group_member
  WHERE alert_group = (SELECT alert_group FROM alert_group WHERE key = $1) ON CONFLICT DO NOTHING`;
const GROUP = '(SELECT alert_group FROM alert_group WHERE key = $1)';
const MEMBER = "alert_group || ' ' || alert";
const ALERT = '(SELECT alert FROM alert WHERE id = $1)';

/** What is stored of the stream named `$1`: the instants of its events, and the starts of its Flights. */
const STORED = `(SELECT occurred_us AS at_us FROM event WHERE stream = CAST($1 AS bigint)
  UNION ALL SELECT started_us FROM flight WHERE stream = CAST($1 AS bigint)) AS stored`;

function isInstant(column: string): string {
  return `${column} BETWEEN 0 AND ${Number.MAX_SAFE_INTEGER}`;
}

/** Its deliveries can never be sent; people see them as given up. */
const GIVE_UP = `UPDATE delivery SET state = 'dead', settled_us = $2, fallback_us = NULL,
  last_error = 'its message in the store cannot be read'`;

const CHECKED: readonly Checked[] = [
  {
    table: 'stream',
    by: 'stream',
    name: 'CAST(stream AS text)',
    column: "cursor_us || ' ' || pruned_us",
    isSound: (text) =>
      text.split(' ').every((number) => Number.isSafeInteger(Number(number)) && Number(number) >= 0),
    // It is read on after the newest that is stored; older than the oldest counts as deleted by the retention.
    repair: [
      `UPDATE stream SET pruned_us = coalesce((SELECT min(at_us) FROM ${STORED}), 0)
       WHERE stream = CAST($1 AS bigint) AND NOT ${isInstant('pruned_us')}`,
      `UPDATE stream SET cursor_us = greatest(pruned_us, coalesce((SELECT max(at_us) FROM ${STORED}), 0))
       WHERE stream = CAST($1 AS bigint) AND NOT ${isInstant('cursor_us')}`,
    ],
  },
  {
    table: 'alert',
    by: 'alert',
    name: 'id',
    column: 'body',
    isSound: json(
      {
        ...{ id: 'text', scope: 'text', rule: 'text', subject: 'text', firstRule: 'text', alertname: 'text' },
        ...{
          state: 'text',
          labels: 'object',
          annotations: 'object',
          startsAtUs: 'number',
          endsAtUs: 'number',
        },
        ...{ updatedAtUs: 'number', eventsTotal: 'number', lastSeq: 'number' },
      },
      (alert) =>
        ['pending', 'firing', 'resolved'].includes(String(alert.get('state'))) &&
        areTexts(alert.get('labels')) &&
        areTexts(alert.get('annotations')),
    ),
    repair: [
      `DELETE FROM alert_event WHERE alert = ${ALERT}`,
      `DELETE FROM group_member WHERE alert = ${ALERT}`,
      `DELETE FROM changed_alert WHERE alert = ${ALERT}`,
      'INSERT INTO former_alert (alert, id) SELECT alert, id FROM alert WHERE id = $1 ON CONFLICT DO NOTHING',
      'DELETE FROM alert WHERE id = $1',
    ],
  },
  {
    table: 'silence',
    name: 'id',
    column: 'body',
    isSound: json(
      {
        ...{ id: 'text', matchers: 'list', startsAtUs: 'number', endsAtUs: 'number', updatedAtUs: 'number' },
        ...{ createdBy: 'text', comment: 'text' },
      },
      (silence) =>
        (silence.get('matchers') as readonly unknown[]).every(
          (one) => areTexts(one) && OPERATORS.includes(String((one as { op?: unknown }).op)),
        ),
    ),
    repair: ['DELETE FROM silence WHERE id = $1'],
  },
  {
    table: 'alert_group',
    by: 'alert_group',
    name: 'key',
    column: 'body',
    isSound: json(
      {
        ...{ key: 'text', route: 'text', receiver: 'text', labels: 'object', nextFlushAtUs: 'number' },
        ...{ notifiedAtUs: 'number', thread: 'text', notifications: 'number' },
      },
      (group) => SORTS.includes(String(group.get('sort'))) && areTexts(group.get('labels')),
    ),
    // Its alerts join groups again: people may be notified twice rather than never.
    repair: [
      JOIN_AGAIN,
      `DELETE FROM group_member WHERE alert_group = ${GROUP}`,
      'DELETE FROM alert_group WHERE key = $1',
    ],
  },
  {
    table: 'group_member',
    name: MEMBER,
    column: "notified_state || ' ' || sort",
    isSound: (text) => {
      const [state = '', sort = ''] = text.split(' ');
      return NOTIFIED.includes(state) && SORTS.includes(sort);
    },
    repair: [
      `INSERT INTO changed_alert (alert) SELECT alert FROM group_member WHERE ${MEMBER} = $1 ON CONFLICT DO NOTHING`,
      `DELETE FROM group_member WHERE ${MEMBER} = $1`,
    ],
  },
  {
    table: 'episode',
    name: "alert_id || ' ' || starts_us",
    column: 'body',
    isHistory: true,
    isSound: json(
      { alertId: 'text', alertname: 'text', labels: 'object', startsAtUs: 'number', endsAtUs: 'number' },
      (episode) => areTexts(episode.get('labels')),
    ),
    repair: ["DELETE FROM episode WHERE alert_id || ' ' || starts_us = $1"],
  },
  {
    table: 'digest',
    name: 'name',
    column: 'body',
    isSound: json({ name: 'text', lastUs: 'number' }),
    repair: ['DELETE FROM digest WHERE name = $1'],
  },
  {
    table: 'audit',
    name: 'CAST(stream AS text)',
    column: 'body',
    isSound: json({
      ...{ verifiedUs: 'number', dayAuditedUs: 'number', wholeAuditedUs: 'number', deletedUs: 'number' },
      gaps: 'list',
    }),
    repair: ['DELETE FROM audit WHERE stream = CAST($1 AS bigint)'],
  },
  {
    table: 'nest_members',
    name: "region || ' ' || nest_id",
    column: 'addresses',
    isSound: (text) => Array.isArray(read(text)) && areTexts(read(text)),
    repair: ["DELETE FROM nest_members WHERE region || ' ' || nest_id = $1"],
  },
  {
    table: 'event',
    by: 'event',
    isHistory: true,
    name: 'CAST(event AS text)',
    column: 'body',
    isSound: (text) => {
      const body = read(text);
      return Array.isArray(body) && areTexts(body.slice(0, 4)) && body.length >= 5 && isOf(body[4], 'object');
    },
    // The event itself stays: without it the entry would count as new.
    repair: [`UPDATE event SET body = '["","","","",{}]' WHERE event = CAST($1 AS bigint)`],
  },
  {
    table: 'forward_queue',
    name: "receiver || ' ' || seq",
    column: 'event',
    isSound: json({
      ...{
        key: 'text',
        region: 'text',
        feed: 'text',
        type: 'text',
        occurredAtUs: 'number',
        attributes: 'object',
      },
    }),
    repair: ["DELETE FROM forward_queue WHERE receiver || ' ' || seq = $1"],
  },
  {
    table: 'bird_action',
    name: 'id',
    column: 'body',
    isSound: json({
      ...{ id: 'text', name: 'text', state: 'text', by: 'list', rule: 'text', comment: 'text' },
      ...{ region: 'text', nestId: 'text', birdId: 'text', reason: 'text', failedFlightId: 'text' },
      ...{ wantedAtUs: 'number', askedAtUs: 'number', settledAtUs: 'number' },
    }),
    repair: ['DELETE FROM bird_action WHERE id = $1'],
  },
  {
    table: 'receiver_pace',
    name: 'receiver',
    column: 'body',
    isSound: json({ receiver: 'text', queuedAtUs: 'list', heldBack: 'number' }),
    repair: ['DELETE FROM receiver_pace WHERE receiver = $1'],
  },
  {
    table: 'notification',
    by: 'seq',
    isHistory: true,
    name: 'CAST(seq AS text)',
    column: 'body',
    isSound: json({ id: 'text', receiver: 'text', createdAtUs: 'number' }, (notification) => {
      if (notification.get('kind') === 'group') {
        const alerts = notification.get('alerts');
        return (
          Array.isArray(alerts) &&
          alerts.every(isListedAlert) &&
          isOf(notification.get('groupLabels'), 'object')
        );
      }
      if (notification.get('kind') === 'digest') return isOf(notification.get('digest'), 'object');
      return notification.get('kind') === 'forward' && isOf(notification.get('events'), 'list');
    }),
    repair: [
      `${GIVE_UP} WHERE notification = CAST($1 AS bigint) AND state NOT IN ('delivered', 'dead', 'suppressed')`,
      'DELETE FROM notification WHERE seq = CAST($1 AS bigint)',
    ],
  },
  {
    table: 'delivery',
    by: 'seq',
    name: 'id',
    column: "state || ' ' || remaining",
    isSound: (text) => {
      const [state = ''] = text.split(' ', 1);
      const remaining = text.slice(state.length + 1);
      return (
        DELIVERY_STATES.some((one) => one === state) && (remaining === '' || Array.isArray(read(remaining)))
      );
    },
    repair: [
      `UPDATE delivery SET remaining = '' WHERE id = $1`,
      `${GIVE_UP} WHERE id = $1 AND NOT state IN (${DELIVERY_STATES.map((one) => `'${one}'`).join(', ')})`,
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

/** How much of a damaged row's content is kept. */
const MAX_RAW = 4_000;
/** Rows per read. */
const AT_A_TIME = 500;

interface RowFault extends Fault {
  readonly raw: string;
}

/** Removes invalid rows and returns what they were. */
export async function setRowsAside(
  sql: Sql,
  nowUs: number,
  which: 'all' | 'what is in use',
): Promise<RowFault[]> {
  const found: RowFault[] = [];
  for (const checked of CHECKED) {
    if (which === 'all' || !checked.isHistory) found.push(...(await setAside(sql, checked, nowUs)));
  }
  if (found.length > 0) for (const text of AFTERWARDS) await sql.run(text);
  return found;
}

/** The names of at most `most` invalid rows of any table. */
export async function findUnsound(sql: Sql, most: number): Promise<string[]> {
  const found: string[] = [];
  for (const checked of CHECKED) {
    for (const { name } of await unsoundRows(sql, checked)) {
      if (found.length < most) found.push(`${checked.table} ${name}`);
    }
  }
  return found;
}

interface StoredRow {
  readonly at?: number;
  readonly name: string;
  readonly content: string;
}

async function unsoundRows(sql: Sql, { table, by, name, column, isSound }: Checked): Promise<StoredRow[]> {
  const columns = `${name} AS name, ${column} AS content`;
  const ofAll = async () => sql.rows<StoredRow>(`SELECT ${columns} FROM ${table}`);
  const unsound: StoredRow[] = [];
  for (let after = Number.MIN_SAFE_INTEGER; ; ) {
    const rows = by
      ? await sql.rows<StoredRow>(
          `SELECT ${by} AS at, ${columns} FROM ${table} WHERE ${by} > $1 ORDER BY ${by} LIMIT ${AT_A_TIME}`,
          after,
        )
      : await ofAll();
    unsound.push(...rows.filter(({ content }) => !isSound(content)));
    if (!by || rows.length < AT_A_TIME) return unsound;
    after = rows.at(-1)!.at!;
    await sql.pause();
  }
}

async function setAside(sql: Sql, checked: Checked, nowUs: number): Promise<RowFault[]> {
  const { table, repair } = checked;
  const broken = await unsoundRows(sql, checked);
  for (const { name } of broken) {
    for (const text of repair) await sql.run(text, ...(text.includes('$2') ? [name, nowUs] : [name]));
  }
  return broken.map(({ name, content }) => ({
    sort: 'row',
    name: `${table} ${name}`,
    reason: 'its content cannot be read',
    raw: content.slice(0, MAX_RAW),
  }));
}
