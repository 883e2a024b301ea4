import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { NestwatchError } from '../../errors.ts';
import type { Edge } from '../../process-io.ts';
import { type CopiedTable, copyStore } from '../../store/copy/copy-store.ts';
import { filePath, openSource, openTarget, type StorePlace } from '../../store/copy/open-rows.ts';
import type { RowSource, RowTarget } from '../../store/copy/table-rows.ts';
import { howMany } from '../../text/duration-words.ts';
import { jsonText, shownSentence } from '../terminal-text.ts';
import { createProgressBar } from './progress-bar.ts';
import { storePlace } from './store-place.ts';

interface StoreCopyOptions {
  readonly configFile: string | undefined;
  readonly json: boolean;
  readonly from?: string;
  readonly fromSchema?: string;
  readonly fromPasswordFile?: string;
  readonly to?: string;
  readonly toSchema?: string;
  readonly toPasswordFile?: string;
}

/** Copies a store to another place or engine, while nobody uses either. `url` is as `--to`. */
export async function storeCopy(
  edge: Edge,
  url: string | undefined,
  options: StoreCopyOptions,
): Promise<number> {
  const { to: toUrl = url, toSchema, toPasswordFile, fromSchema, fromPasswordFile } = options;
  if (options.from === undefined && toUrl === undefined) {
    throw new NestwatchError('usage', 'give --from or --to, or both: the other one is store.url');
  }
  const from = storePlace(edge, options.configFile, {
    ...{ named: '--from', url: options.from, schema: fromSchema, passwordFile: fromPasswordFile },
  });
  const to = storePlace(edge, options.configFile, {
    ...{ named: '--to', url: toUrl, schema: toSchema, passwordFile: toPasswordFile },
  });
  if (nameOf(from) === nameOf(to)) throw new NestwatchError('usage', '--from and --to name the same store');
  const source = await openSource(from, edge.clock);
  try {
    const target = await openTarget(to, edge.clock);
    try {
      const tables = await showCopy(edge, source, target);
      if (options.json) edge.stdout.write(jsonText({ from: source.shown, to: target.shown, tables }));
      else edge.stdout.write(`${shownSentence(sentenceOf(source, target, tables))}\n`);
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
  edge.stderr.write(
    'Now let store.url name the copy. Only one of the two may be used: each would send what is queued in it.\n',
  );
  return 0;
}

/** Copies with a progress bar. SIGINT and SIGTERM give the copy up. */
export async function showCopy(edge: Edge, source: RowSource, target: RowTarget): Promise<CopiedTable[]> {
  const stop = new AbortController();
  const heard = (['SIGINT', 'SIGTERM'] as const).map((name) => edge.onSignal(name, () => stop.abort()));
  const bar = createProgressBar(edge);
  try {
    return await copyStore({
      source,
      target,
      signal: stop.signal,
      show({ step, table, rows, allRows }) {
        // Comparing both sides takes about as long as copying.
        const half = allRows === 0 ? 1 : rows / allRows;
        bar.show(
          (step === 'copied' ? half : 1 + half) / 2,
          `${step} ${howMany(rows, 'row')} of ${allRows}`,
          table,
        );
      },
    });
  } finally {
    bar.end();
    for (const release of heard) release();
  }
}

function sentenceOf(source: RowSource, target: RowTarget, tables: readonly CopiedTable[]): string {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  return `${source.shown} → ${target.shown}: ${howMany(rows, 'row')} of ${howMany(tables.length, 'table')}, the same on both sides`;
}

/** Different ways to name the same store give the same result. */
function nameOf({ url, postgres }: StorePlace): string {
  if (postgres) return JSON.stringify([postgres.hosts, postgres.database, postgres.schema]);
  const path = filePath(url);
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}
