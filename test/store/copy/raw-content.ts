/** The content of a store's file, read without nestwatch's own code. */
import { createHash } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';

/** A digest of the rows of each table as SQLite stores them, by table name; without the steps that the store has done. */
export function rawContent(path: string): Record<string, string> {
  const db = new DatabaseSync(path, { readOnly: true });
  const names = db
    .prepare(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name <> 'schema_step'",
    )
    .all() as { name: string }[];
  const digests = names.map(({ name }) => {
    const keys = db.prepare(`SELECT name FROM pragma_table_info('${name}') WHERE pk > 0 ORDER BY pk`).all();
    const rows = db.prepare(
      `SELECT * FROM "${name}" ORDER BY ${keys.map((key) => String(key.name)).join(', ')}`,
    );
    rows.setReadBigInts(true);
    const digest = createHash('sha256');
    let count = 0;
    for (const row of rows.iterate()) {
      count += 1;
      digest.update(
        JSON.stringify(Object.values(row).map((value) => (typeof value === 'bigint' ? `${value}n` : value))),
      );
    }
    return [name, `${count} ${digest.digest('hex')}`] as const;
  });
  db.close();
  return Object.fromEntries(digests);
}
