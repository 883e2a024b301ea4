/** What a store that is the target of a copy carries until the copy is finished: a table with texts in JSON. */
import { NestwatchError } from '../../errors.ts';
import type { ColumnValue, CopyOrigin, TableProgress } from './table-rows.ts';

export const COPY_MARK = 'copy_progress';

export const MARK_TABLE = `CREATE TABLE ${COPY_MARK} (name TEXT PRIMARY KEY, body TEXT NOT NULL)`;

/** The row that says where the copy comes from; the others are of tables. */
export const ORIGIN = '';

/** What a daemon hears that would use such a store. */
export function notWhole(what: string): NestwatchError {
  return new NestwatchError('store_unfinished', `${what} is the target of a copy that is not finished.`);
}

export function originText(origin: CopyOrigin): string {
  return JSON.stringify(origin);
}

export function originOf(text: string): CopyOrigin {
  return JSON.parse(text) as CopyOrigin;
}

/** Numbers beyond those of JSON are written as texts, in a list of their own. */
type KeptValue = readonly [string] | string;

interface KeptProgress extends Omit<TableProgress, 'after'> {
  readonly after?: readonly KeptValue[];
}

/** The values of a key are numbers that are whole, or texts. */
export function progressText({ after, ...progress }: TableProgress): string {
  const kept: KeptProgress = { ...progress, ...(after && { after: after.map(keptOf) }) };
  return JSON.stringify(kept);
}

export function progressOf(text: string): TableProgress {
  const { after, ...progress } = JSON.parse(text) as KeptProgress;
  return {
    ...progress,
    after: after?.map((value) => (typeof value === 'string' ? value : BigInt(value[0]))),
  };
}

function keptOf(value: ColumnValue): KeptValue {
  if (typeof value === 'string') return value;
  if (typeof value === 'bigint') return [String(value)];
  throw new Error('A key that is neither a number nor a text cannot be remembered.');
}
