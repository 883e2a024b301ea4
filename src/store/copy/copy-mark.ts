/** Marks a store as the target of an unfinished copy, by a table with JSON texts. */
import { NestwatchError } from '../../errors.ts';
import type { ColumnValue, CopyOrigin, TableProgress } from './table-rows.ts';

export const COPY_MARK = 'copy_progress';

export const MARK_TABLE = `CREATE TABLE ${COPY_MARK} (name TEXT PRIMARY KEY, body TEXT NOT NULL)`;

/** The name of the row that says where the copy comes from; all other rows are about tables. */
export const ORIGIN = '';

/** The error for a daemon that tries to use such a store. */
export function notWhole(what: string): NestwatchError {
  return new NestwatchError('store_unfinished', `${what} is the target of a copy that is not finished.`);
}

export function originText(origin: CopyOrigin): string {
  return JSON.stringify(origin);
}

export function originOf(text: string): CopyOrigin {
  return JSON.parse(text) as CopyOrigin;
}

/** Numbers that exceed JSON's are written as texts, each in a list of its own. */
type KeptValue = readonly [string] | string;

interface KeptProgress extends Omit<TableProgress, 'after'> {
  readonly after?: readonly KeptValue[];
}

/** The values of a key are integers or texts. */
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
