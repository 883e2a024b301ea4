/**
 * Copies a store between any two engines.
 *
 *   begun → table by table, some rows and the progress in each commit → compared → finished
 *
 * If the copy is interrupted, even between two commits, running it again continues after the last commit. Until it is
 * finished the target carries a mark, so that no daemon opens it. If the source has changed since the copy began, it
 * starts again. At the end all rows of both sides are read once more, and the digests of their tables must be equal.
 * It holds only some rows in memory, never a whole table.
 */
import { NestwatchError } from '../../errors.ts';
import { type MatchedTable, matchTables } from './match-tables.ts';
import { TableDigest } from './table-digest.ts';
import type { RowSource, RowTarget, TableRow } from './table-rows.ts';

/** The progress of a copy. */
interface CopyProgress {
  readonly step: 'copied' | 'compared';
  readonly table: string;
  /** Rows of all tables so far. */
  readonly rows: number;
  readonly allRows: number;
}

export interface CopiedTable {
  readonly table: string;
  readonly rows: number;
  /** A digest of what the rows mean: equal for equal content on any engine. */
  readonly digest: string;
}

/**
 * How a copy began: from nothing, from where an earlier one had stopped, or from nothing because the source had
 * changed.
 */
export type CopyBeginning = 'new' | 'resumed' | 'source changed';

interface CopyStore {
  readonly source: RowSource;
  readonly target: RowTarget;
  /** Stops the copy between two commits. */
  readonly signal: AbortSignal;
  readonly began: (how: CopyBeginning) => void;
  readonly show: (progress: CopyProgress) => void;
}

/**
 * Throws `usage` for a target that is a copy of another store, `cancelled`, whatever the stores throw, and
 * `store_failed` if the two sides differ at the end; then the next copy starts again.
 */
export async function copyStore({ source, target, signal, began, show }: CopyStore): Promise<CopiedTable[]> {
  refuseOtherVersion(source, target);
  const tables = matchTables(source.tables, target.tables);
  began(await begin(source, target));
  const counts = await Promise.all(tables.map(({ source: { name } }) => source.count(name)));
  const allRows = counts.reduce((sum, count) => sum + count, 0);
  let rows = 0;
  const step = async (what: Omit<CopyProgress, 'rows' | 'allRows'>, more: number) => {
    rows += more;
    show({ ...what, rows, allRows });
    // Signals are delivered between turns of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
    if (signal.aborted)
      throw new NestwatchError('cancelled', 'the copy is not whole; the same command goes on from here');
  };
  await copyTables({ source, target, tables, step });
  await target.setLastNumbers(await source.lastNumbers());
  rows = 0;
  const copied = await compareTables({ source, target, tables, step });
  await target.finish();
  return copied;
}

function refuseOtherVersion(source: RowSource, target: RowTarget): void {
  if (source.version === target.version) return;
  const how =
    source.version < target.version
      ? 'run `nestwatch store migrate` on it first'
      : 'use the nestwatch that changed them';
  throw new NestwatchError(
    'usage',
    `The store ${source.shown} has tables of version ${source.version}, this nestwatch makes those of version ${target.version}: ${how}`,
  );
}

/** Continues the copy that the target holds, or begins a new one. */
async function begin(source: RowSource, target: RowTarget): Promise<CopyBeginning> {
  const origin = { from: source.shown, state: await source.state() };
  const before = await target.begun();
  if (before && before.from !== origin.from) {
    throw new NestwatchError(
      'usage',
      `${target.shown} is a copy of ${before.from} that is not whole: go on with that one, or remove it`,
    );
  }
  if (before?.state === origin.state) return 'resumed';
  await target.begin(origin);
  return before ? 'source changed' : 'new';
}

interface Steps {
  readonly source: RowSource;
  readonly target: RowTarget;
  readonly tables: readonly MatchedTable[];
  readonly step: (what: Omit<CopyProgress, 'rows' | 'allRows'>, more: number) => Promise<void>;
}

async function copyTables({ source, target, tables, step }: Steps): Promise<void> {
  const done = await target.progress();
  for (const { source: table, target: into, copied } of tables) {
    let { after, rows = 0, isWhole = false } = done.get(table.name) ?? {};
    const what = { step: 'copied', table: table.name } as const;
    await step(what, rows);
    if (isWhole) continue;
    const key = table.key.map((name) => copied.indexOf(name));
    for await (const some of source.read(table, copied, after)) {
      const last: TableRow = some.at(-1)!;
      after = key.map((at) => last[at]!);
      rows += some.length;
      await target.write(into, copied, some, { after, rows, isWhole: false });
      await step(what, some.length);
    }
    await target.write(into, copied, [], { after, rows, isWhole: true });
  }
}

async function compareTables({ source, target, tables, step }: Steps): Promise<CopiedTable[]> {
  const results: CopiedTable[] = [];
  for (const { source: from, target: to, compared } of tables) {
    const what = { step: 'compared', table: from.name } as const;
    const digests = [new TableDigest(), new TableDigest()] as const;
    for await (const some of source.read(from, compared)) {
      for (const row of some) digests[0].add(row);
      await step(what, some.length);
    }
    for await (const some of target.read(to, compared)) {
      for (const row of some) digests[1].add(row);
      await step(what, 0);
    }
    if (digests[0].rows !== digests[1].rows || String(digests[0]) !== String(digests[1])) {
      await target.begin({ from: source.shown, state: 'to be begun anew' });
      throw new NestwatchError(
        'store_failed',
        `The copy of the table ${from.name} in ${target.shown} has ${digests[1].rows} rows and is not what ${source.shown} holds, which has ${digests[0].rows}: the same command begins anew`,
      );
    }
    results.push({ table: from.name, rows: digests[0].rows, digest: String(digests[0]) });
  }
  return results;
}
