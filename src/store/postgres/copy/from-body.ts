/**
 * Computes the columns that only PostgreSQL has: they repeat parts of their row's body, because the server cannot
 * read all JSON that a body may hold.
 */
import type { Alert } from '../../../domain/alert/alert.ts';
import type { ColumnValue } from '../../copy/table-rows.ts';
import { fromAlertBody } from '../../sql/alerted/alerts.ts';

interface FromBody {
  readonly columns: readonly string[];
  /** Reads the values of these columns. Throws for a body that nestwatch did not write. */
  readonly read: (body: string) => readonly (string | number | null)[];
  /** The values for an unreadable body, whose row is set aside when the store is opened. */
  readonly unreadable: readonly ColumnValue[];
}

export const FROM_BODY: ReadonlyMap<string, FromBody> = new Map([
  [
    'alert',
    {
      columns: ['labels', 'flight_id', 'flight_started_us'],
      read: (body) => fromAlertBody(JSON.parse(body) as Alert),
      unreadable: ['{}', '', 0n],
    },
  ],
]);

/** The values of the columns of `table` that repeat its body; none for a table without such columns. */
export function valuesFromBody(table: string, body: ColumnValue): readonly ColumnValue[] {
  const fromBody = FROM_BODY.get(table);
  if (!fromBody) return [];
  try {
    return fromBody.read(String(body)).map((value) => (typeof value === 'number' ? BigInt(value) : value));
  } catch {
    return fromBody.unreadable;
  }
}
