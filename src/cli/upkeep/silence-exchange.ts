/** Changes and ends existing silences, or carries them from one Alertmanager or nestwatch to another as JSON. */
import { text as textOf } from 'node:stream/consumers';
import * as z from 'zod';
import { DaemonError, NestwatchError } from '../../errors.ts';
import type { Edge } from '../../process-io.ts';
import { formatInstant } from '../../time/instant.ts';
import { durationOf, instantOf, wrongUsage } from '../command-arguments.ts';
import type { Answer } from '../command-rows.ts';
import { textOfFile } from '../config-file.ts';
import { type DaemonOptions, daemonJson, type PrintOptions } from '../daemon-client.ts';
import { jsonText, linesOfIds, shown } from '../terminal-text.ts';

/** The fields of a silence that are posted. Fields that only another program knows are dropped. */
const carriedShape = z.object({
  id: z.string().optional(),
  matchers: z
    .array(
      z.object({
        name: z.string(),
        value: z.string(),
        isRegex: z.boolean(),
        isEqual: z.boolean().default(true),
      }),
    )
    .min(1),
  startsAt: z.string(),
  endsAt: z.string(),
  createdBy: z.string(),
  comment: z.string(),
  annotations: z.record(z.string(), z.string()).nullish(),
  recurrence: z.object({ cron: z.string(), timezone: z.string(), duration: z.string() }).optional(),
  /** Set in an acknowledgement, which lasts as long as its alert and can only be created by acknowledging. */
  alertId: z.string().optional(),
});
type Carried = z.output<typeof carriedShape>;

interface UpdateOptions extends PrintOptions {
  readonly duration: string | undefined;
  readonly start: string | undefined;
  readonly end: string | undefined;
  readonly comment: string | undefined;
}

/**
 * Changes silences as amtool does, and prints their ids. A silence that is already active gets a new id if its start
 * changes.
 */
export async function silenceUpdate(
  edge: Edge,
  ids: readonly string[],
  options: UpdateOptions,
): Promise<Answer> {
  const { start, end, duration, comment } = options;
  if (start === undefined && end === undefined && duration === undefined && comment === undefined) {
    throw wrongUsage('say what changes: --duration, --start, --end or --comment');
  }
  const updated = await oneByOne(ids, 'changed', shown, (id) => updateOne(edge, id, options));
  return { json: { updated }, text: linesOfIds(updated) };
}

async function updateOne(edge: Edge, id: string, options: UpdateOptions): Promise<string> {
  const { start, comment } = options;
  const path = `/api/v2/silence/${encodeURIComponent(id)}`;
  const data = carriedShape.parse(await daemonJson(edge, options, { path }, 'matchers'));
  const startsAt = start === undefined ? data.startsAt : formatInstant(instantOf('--start', start));
  const endsAt = endOf(startsAt, data, options);
  return post(edge, options, { ...data, startsAt, endsAt, comment: comment ?? data.comment });
}

/** Expires silences now. */
export async function silenceExpire(
  edge: Edge,
  ids: readonly string[],
  options: PrintOptions,
): Promise<Answer> {
  const expired = await oneByOne(ids, 'ended', shown, async (id) => {
    await daemonJson(edge, options, { method: 'DELETE', path: `/api/v2/silence/${encodeURIComponent(id)}` });
    return id;
  });
  return { json: { expired }, text: '' };
}

/** Does it to each of the silences. If one fails, the error says which, and for which of those before it was done. */
async function oneByOne<Item>(
  items: readonly Item[],
  done: string,
  nameOf: (item: Item, index: number) => string,
  act: (item: Item) => Promise<string>,
): Promise<string[]> {
  const ids: string[] = [];
  for (const [index, item] of items.entries()) {
    try {
      ids.push(await act(item));
    } catch (error) {
      if (!(error instanceof NestwatchError)) throw error;
      const before =
        ids.length === 0 ? `none was ${done}` : `those before it were ${done}: ${ids.join(', ')}`;
      const Same = error instanceof DaemonError ? DaemonError : NestwatchError;
      const message = `${nameOf(item, index)}: ${error.message}; ${before}`;
      throw new Same(error.code, message, { cause: error });
    }
  }
  return ids;
}

function endOf(startsAt: string, { endsAt }: Carried, { duration, end }: UpdateOptions): string {
  if (end !== undefined) return formatInstant(instantOf('--end', end));
  if (duration === undefined) return endsAt;
  return formatInstant(instantOf('--start', startsAt) + durationOf('--duration', duration) * 1000);
}

/** Writes silences that have not expired as JSON that `import` and `amtool silence import` read. */
export async function silenceExport(edge: Edge, options: DaemonOptions): Promise<Answer> {
  const path = '/api/v2/silences?active=true&pending=true&expired=false';
  const data = z.array(carriedShape).parse(await daemonJson(edge, options, { path }, 'length'));
  // An acknowledgement belongs to one alert of this daemon.
  const json = data.filter(({ alertId }) => alertId === undefined);
  return { json, text: jsonText(json) };
}

/** Posts silences from a file or standard input, each as a new one, and prints their ids. */
export async function silenceImport(
  edge: Edge,
  file: string | undefined,
  options: PrintOptions,
): Promise<Answer> {
  const source = file === undefined || file === '-' ? undefined : file;
  const list = readSilences(
    source === undefined ? await textOf(edge.stdin) : textOfFile(source),
    source ?? 'stdin',
  );
  const nameOf = (_: Carried, index: number) => `silence ${index + 1}`;
  const imported = await oneByOne(list, 'imported', nameOf, ({ id: _other, ...body }) =>
    post(edge, options, body),
  );
  return { json: { imported }, text: linesOfIds(imported) };
}

function readSilences(text: string, source: string): readonly Carried[] {
  try {
    return z.array(carriedShape).parse(JSON.parse(text));
  } catch (cause) {
    const place = cause instanceof z.ZodError ? ` at ${cause.issues[0]!.path.join('.')}` : '';
    throw new NestwatchError(
      'usage',
      `${source} must hold a JSON list of silences, as \`silence export\` or \`amtool silence query -o json\` write it${place && `; it is another one${place}`}`,
      { cause },
    );
  }
}

async function post(edge: Edge, options: DaemonOptions, body: Carried): Promise<string> {
  const { alertId: _own, ...silence } = body;
  const request = { method: 'POST', path: '/api/v2/silences', body: silence } as const;
  return (await daemonJson<{ silenceID: string }>(edge, options, request, 'silenceID')).silenceID;
}
