import type { Config } from '../../config/config.ts';
import { NestwatchError } from '../../errors.ts';
import { backfill } from '../../intake/backfill.ts';
import type { Edge } from '../../process-io.ts';
import { openStore } from '../../store/open-store.ts';
import type { Store } from '../../store/store.ts';
import { howMany } from '../../text/instant-words.ts';
import { formatInstant } from '../../time/instant.ts';
import { abortAtSignal } from '../at-terminal.ts';
import { instantOf, wrongUsage } from '../command-arguments.ts';
import type { Answer } from '../command-rows.ts';
import type { ConfigOptions } from '../config-file.ts';
import { configOf } from '../read-config.ts';
import { shown } from '../terminal-text.ts';
import { openClient } from '../with-client.ts';
import { createProgressBar } from './progress-bar.ts';

interface BackfillCommand extends ConfigOptions {
  readonly from: string;
  readonly to: string | undefined;
  readonly region: string | undefined;
  readonly notify: boolean;
}

interface Outcome {
  readonly region: string;
  readonly events: number;
  readonly unread: number;
  /** From where the streams were read: later than `--from` if an earlier run had read all of them up to there. */
  readonly read_from: string;
  /** Up to where the streams were read: what is later, until `--to`, is left to the daemon. */
  readonly read_to: string;
}

/**
 * Reads history into the store while no daemon uses it. If interrupted, the same command continues where it stopped.
 */
export async function backfillCommand(edge: Edge, options: BackfillCommand): Promise<Answer> {
  const config = configOf(edge, options);
  const fromUs = instantOf('--from', options.from);
  const nowUs = edge.clock.nowUs();
  const toUs = options.to === undefined ? nowUs : instantOf('--to', options.to);
  if (fromUs >= toUs) throw wrongUsage('--from must be before --to');
  if (toUs > nowUs) throw wrongUsage('--to must not be in the future');
  if (fromUs < nowUs - config.store.retentionMs * 1000) {
    const oldest = formatInstant(nowUs - config.store.retentionMs * 1000);
    throw wrongUsage(
      `--from is before ${oldest}, and store.retention would delete what is older: raise it first`,
    );
  }
  const names = config.regions.map(({ name }) => name);
  if (options.region !== undefined && !names.includes(options.region)) {
    throw wrongUsage(`there is no region ${options.region}; there is ${names.join(', ')}`);
  }
  const regions = config.regions.filter(
    ({ name }) => options.region === undefined || name === options.region,
  );
  const stop = abortAtSignal(edge);
  const { store } = await openStore({ ...config.store, clock: edge.clock });
  const outcomes: Outcome[] = [];
  try {
    for (const region of regions) {
      const part = { region, fromUs, toUs, notify: options.notify };
      outcomes.push(await backfillRegion(edge, config, store, part, stop.signal));
      if (stop.signal.aborted) {
        throw new NestwatchError('cancelled', 'not all was read; the same command goes on from here');
      }
    }
  } finally {
    stop.release();
    await store.close();
  }
  const text = outcomes.map((one) => sentenceOf(one, { fromUs, toUs })).join('');
  return { json: { regions: outcomes }, text };
}

async function backfillRegion(
  edge: Edge,
  config: Config,
  store: Store,
  part: {
    readonly region: Config['regions'][number];
    readonly fromUs: number;
    readonly toUs: number;
    readonly notify: boolean;
  },
  signal: AbortSignal,
): Promise<Outcome> {
  const { region, notify } = part;
  const { clock, random } = edge;
  const report = () => {};
  const { client, close } = openClient(edge, region);
  const bar = createProgressBar(edge);
  let [events, unread] = [0, 0];
  let [readFromUs, readToUs] = [part.toUs, part.fromUs];
  try {
    const reading = backfill(
      {
        ...part,
        notify: notify ? config : undefined,
        poll: config.poll,
        retentionMs: config.store.retentionMs,
        client,
        store,
        clock,
        random,
        report,
      },
      signal,
    );
    for await (const progress of reading) {
      events += progress.fresh;
      unread += progress.unread;
      if (progress.readFromUs < progress.readToUs) readFromUs = Math.min(readFromUs, progress.readFromUs);
      // The cursor of a stream without news may be old, though the daemon has read it as far as the others.
      readToUs = Math.max(readToUs, progress.readToUs);
      const { done, streams, share, feed, bird } = progress;
      const all = share === 1 ? done / streams : (done + share) / streams;
      const what = `${feed}${bird ? ` of ${shown(bird).slice(0, 30)}` : ''}`;
      bar.show(all, `${region.name}  ${howMany(events, 'new event')}`, what);
    }
  } finally {
    bar.end();
    await close();
  }
  const [readFrom, readTo] = [formatInstant(readFromUs), formatInstant(readToUs)];
  return { region: region.name, events, unread, read_from: readFrom, read_to: readTo };
}

function sentenceOf(
  { region, events, unread, read_from: readFrom, read_to: readTo }: Outcome,
  { fromUs, toUs }: { readonly fromUs: number; readonly toUs: number },
): string {
  const isLeft = readTo !== formatInstant(toUs);
  const before =
    readFrom === formatInstant(fromUs)
      ? ''
      : readFrom !== formatInstant(toUs)
        ? `; read from ${readFrom} on, since what is older had been read before`
        : `; nothing was read${isLeft ? '' : ', since all of it had been read before'}`;
  const left = isLeft ? `; what is later than ${readTo} is left to the daemon` : '';
  const gaps = unread > 0 ? `; ${howMany(unread, 'stretch', 'stretches')} of Flights could not be read` : '';
  return `${region}: ${howMany(events, 'new event')}${before}${left}${gaps}\n`;
}
