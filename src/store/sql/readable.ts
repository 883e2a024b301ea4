import { NOW_US, type Sql } from './sql.ts';
import { firingAlerts } from './watched/nests-and-birds.ts';

const ALERT = '(SELECT alert FROM alert WHERE id = $1)';
const GROUP = '(SELECT alert_group FROM alert_group WHERE key = $1)';

/** How a row is named, and what removes the one named `$1` with all that belongs to it. */
const TABLES = {
  alert: {
    name: 'id',
    remove: [
      `DELETE FROM alert_event WHERE alert = ${ALERT}`,
      `DELETE FROM group_member WHERE alert = ${ALERT}`,
      `DELETE FROM changed_alert WHERE alert = ${ALERT}`,
      'INSERT INTO former_alert (alert, id) SELECT alert, id FROM alert WHERE id = $1 ON CONFLICT DO NOTHING',
      'DELETE FROM alert WHERE id = $1',
    ],
  },
  alert_group: {
    name: 'key',
    // Its alerts join groups again: people may be notified twice rather than never.
    remove: [
      `INSERT INTO changed_alert (alert) SELECT alert FROM group_member WHERE alert_group = ${GROUP}
       ON CONFLICT DO NOTHING`,
      `DELETE FROM group_member WHERE alert_group = ${GROUP}`,
      'DELETE FROM alert_group WHERE key = $1',
    ],
  },
  silence: { name: 'id', remove: ['DELETE FROM silence WHERE id = $1'] },
};

const COUNT_FIRING = `UPDATE bird SET firing = ${firingAlerts('bird.region', 'bird.bird_id')} WHERE firing > 0`;

/**
 * Reads the bodies of rows on which all of alerting depends. Those that cannot be read, because a program or a person
 * changed them, are set aside: they are removed and named as faults, so that everything else continues.
 */
export async function readable<Row extends { readonly body: string }, T>(
  sql: Sql,
  table: keyof typeof TABLES,
  rows: readonly Row[],
  read: (row: Row) => T,
): Promise<T[]> {
  try {
    return rows.map(read);
  } catch {
    await setAside(sql, table, read as (row: { readonly body: string }) => T);
    return rows.flatMap((row) => (isReadable(row, read) ? [read(row)] : []));
  }
}

/** Sets aside all rows of the table that cannot be read. */
async function setAside(
  sql: Sql,
  table: keyof typeof TABLES,
  read: (row: { readonly body: string }) => unknown,
): Promise<void> {
  const { name, remove } = TABLES[table];
  const now = NOW_US[sql.engine];
  const all = await sql.rows<{ name: string; body: string }>(`SELECT ${name} AS name, body FROM ${table}`);
  for (const row of all.filter((one) => !isReadable(one, read))) {
    await sql.run(
      `INSERT INTO fault (sort, name, reason, since_us, seen_us, again_us, raw)
       SELECT 'row', '${table} ' || ${name}, 'its content cannot be read', ${now}, ${now}, 0, substr(body, 1, 4000)
       FROM ${table} WHERE ${name} = $1 ON CONFLICT DO NOTHING`,
      row.name,
    );
    for (const text of remove) await sql.run(text, row.name);
  }
  await sql.run(COUNT_FIRING);
}

function isReadable<Row>(row: Row, read: (row: Row) => unknown): boolean {
  try {
    read(row);
    return true;
  } catch {
    return false;
  }
}
