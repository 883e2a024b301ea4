/** What the commands print of each thing that the daemon lists: the fields of its answer, and the columns of a table. */
import * as z from 'zod';
import type { ListName } from '../../operator/lists.ts';
import type { Edge } from '../../process-io.ts';
import { durationWords } from '../../text/duration-words.ts';
import { type DaemonOptions, daemonJson } from '../daemon-client.ts';
import { filterArguments } from '../list-filters.ts';
import { type Columns, jsonText, type Layout, layoutOf, shown, table } from '../terminal-text.ts';

export interface ListOptions extends DaemonOptions {
  readonly limit: string | undefined;
  readonly utc?: boolean;
  readonly json: boolean;
}

interface List<Shape extends z.ZodType> {
  readonly name: ListName;
  readonly item: Shape;
  readonly columns: Columns<z.output<Shape>>;
  /** The columns that a narrow terminal can do without, the first one most easily. */
  readonly least: readonly string[];
  /** Printed for an empty list. */
  readonly none: string;
  /** Printed to stderr if there is a further page. */
  readonly more: string;
}

const DEFAULT_LIMIT = '100';

const OLDER_ONES = 'There are older ones: give --limit, until= or another filter.\n';
const MORE_ONES = 'There are more: give --limit or a filter.\n';

export const BIRDS = listOf({
  name: 'birds',
  item: z.object({
    region: z.string(),
    nest: z.string(),
    bird_id: z.string(),
    bird: z.string(),
    status: z.string(),
    status_since: z.string().nullable(),
    trigger_type: z.string(),
    standing: z.string(),
    alerts_firing: z.number(),
    last_flight: z
      .object({ flight_id: z.string(), started_at: z.string().nullable(), status: z.string() })
      .nullable(),
  }),
  columns: {
    STANDING: (one) => one.standing,
    STATUS: (one) => shown(one.status),
    REGION: (one) => shown(one.region),
    NEST: (one) => shown(one.nest),
    BIRD: (one) => shown(one.bird),
    ID: (one) => shown(one.bird_id),
    TRIGGER: (one) => shown(one.trigger_type),
    'LAST FLIGHT': (one) => ({ at: one.last_flight?.started_at }),
    'ENDED AS': (one) => shown(one.last_flight?.status ?? ''),
  },
  least: ['TRIGGER', 'ENDED AS', 'STATUS', 'REGION'],
  none: 'No Birds.\n',
  more: MORE_ONES,
});

export const NESTS = listOf({
  name: 'nests',
  item: z.object({
    region: z.string(),
    nest_id: z.string(),
    nest: z.string(),
    birds: z.number(),
    birds_failing: z.number(),
    birds_off: z.number(),
    alerts_firing: z.number(),
    flights_succeeded: z.number(),
    flights_failed: z.number(),
  }),
  columns: {
    NEST: (one) => shown(one.nest || one.nest_id),
    REGION: (one) => shown(one.region),
    ID: (one) => shown(one.nest_id),
    BIRDS: (one) => String(one.birds),
    FAILING: (one) => String(one.birds_failing),
    OFF: (one) => String(one.birds_off),
    ALERTS: (one) => String(one.alerts_firing),
    'FLIGHTS 24H': (one) => String(one.flights_succeeded + one.flights_failed),
    FAILED: (one) => String(one.flights_failed),
  },
  least: ['ID', 'OFF'],
  none: 'No Nests.\n',
  more: MORE_ONES,
});

export const FLIGHTS = listOf({
  name: 'flights',
  item: z.object({
    region: z.string(),
    nest: z.string(),
    bird: z.string(),
    bird_id: z.string(),
    flight_id: z.string(),
    status: z.string(),
    started_at: z.string().nullable(),
    ended_at: z.string().nullable(),
    duration_seconds: z.number().nullable(),
    step_id: z.string().nullable(),
    message: z.string(),
  }),
  columns: {
    STARTED: (one) => ({ at: one.started_at }),
    STATUS: (one) => shown(one.status),
    TOOK: took,
    REGION: (one) => shown(one.region),
    NEST: (one) => shown(one.nest),
    BIRD: (one) => shown(one.bird || one.bird_id),
    FLIGHT: (one) => shown(one.flight_id),
    STEP: (one) => shown(one.step_id ?? ''),
    MESSAGE: (one) => shown(one.message),
  },
  least: ['STEP', 'TOOK', 'REGION', 'FLIGHT', 'NEST'],
  none: 'No Flights.\n',
  more: MORE_ONES,
});

export function took({ duration_seconds: seconds }: { readonly duration_seconds: number | null }): string {
  return seconds === null ? '-' : durationWords(seconds * 1000, 'two units');
}

export const EVENTS = listOf({
  name: 'events',
  item: z.object({
    key: z.string(),
    short_id: z.string(),
    type: z.string(),
    region: z.string(),
    nest: z.string(),
    bird: z.string(),
    occurred_at: z.string(),
    message: z.string(),
    attributes: z.record(z.string(), z.unknown()),
  }),
  columns: {
    OCCURRED: (one) => ({ at: one.occurred_at }),
    ID: (one) => one.short_id,
    TYPE: (one) => shown(one.type),
    REGION: (one) => shown(one.region),
    NEST: (one) => shown(one.nest),
    BIRD: (one) => shown(one.bird),
    MESSAGE: ({ message, attributes: { initiator } }) =>
      shown(message || (typeof initiator === 'string' ? `by ${initiator}` : '')),
  },
  least: ['REGION', 'NEST', 'TYPE'],
  none: 'No events.\n',
  more: OLDER_ONES,
});

export const DELIVERIES = listOf({
  name: 'deliveries',
  item: z.object({
    id: z.string(),
    receiver: z.string(),
    integration: z.string(),
    integration_name: z.string().optional(),
    state: z.string(),
    attempts: z.number(),
    created_at: z.string(),
    next_attempt_at: z.string().nullish(),
    settled_at: z.string().nullish(),
    last_error: z.string().default(''),
    about: z.string().default(''),
    about_more: z.number().default(0),
  }),
  columns: {
    ID: (one) => shown(one.id),
    RECEIVER: (one) => shown(one.receiver),
    BY: shownIntegration,
    STATE: (one) => one.state,
    TRIES: (one) => String(one.attempts),
    CREATED: (one) => ({ at: one.created_at }),
    ABOUT: (one) => `${shown(one.about)}${one.about_more > 0 ? ` and ${one.about_more} more` : ''}`,
    'SETTLED OR NEXT': (one) => ({ at: one.settled_at ?? one.next_attempt_at }),
    'LAST ERROR': (one) => shown(one.last_error),
  },
  least: ['SETTLED OR NEXT', 'TRIES', 'ID', 'LAST ERROR'],
  none: 'No deliveries.\n',
  more: OLDER_ONES,
});

/** The integration, told from others of its kind of the same receiver. */
export function shownIntegration(one: {
  readonly integration: string;
  readonly integration_name?: string | undefined;
}): string {
  return shown(one.integration_name ?? one.integration);
}

export const WRITES = listOf({
  name: 'writes',
  item: z.object({
    at: z.string(),
    who: z.string(),
    by: z.string(),
    from: z.string(),
    action: z.string(),
    asked: z.string(),
    status: z.number(),
  }),
  columns: {
    AT: (one) => ({ at: one.at }),
    WHO: (one) => shown(one.who),
    BY: (one) => shown(one.by),
    FROM: (one) => shown(one.from),
    STATUS: (one) => String(one.status),
    ACTION: (one) => shown(one.action),
    ASKED: (one) => shown(one.asked),
  },
  least: ['FROM', 'BY'],
  none: 'No writes.\n',
  more: OLDER_ONES,
});

/** Lets the compiler derive the type of the columns from that of the items. */
function listOf<Shape extends z.ZodType>(list: List<Shape>): List<Shape> {
  return list;
}

const LISTS = {
  birds: BIRDS,
  nests: NESTS,
  flights: FLIGHTS,
  events: EVENTS,
  deliveries: DELIVERIES,
  writes: WRITES,
};

/** Prints a list as a table, or as the API answers it. */
export async function printList(
  edge: Edge,
  name: keyof typeof LISTS,
  args: readonly string[],
  options: ListOptions,
): Promise<number> {
  const list = LISTS[name] as List<z.ZodType>;
  const { json, items, next } = await readList(edge, list, args, options);
  if (options.json) edge.stdout.write(jsonText(json));
  else edge.stdout.write(listText(list, items, layoutOf(edge, options)));
  if (next !== undefined && !options.json) edge.stderr.write(list.more);
  return 0;
}

export function listText<Shape extends z.ZodType>(
  { columns, least, none }: List<Shape>,
  items: readonly z.output<Shape>[],
  layout?: Layout,
): string {
  return items.length === 0 ? none : table(columns, items, layout, { least });
}

/** The API searches only so many per request: what is rare may be found only by a later one. */
export async function readList<Shape extends z.ZodType>(
  edge: Edge,
  { name, item }: List<Shape>,
  args: readonly string[],
  options: ListOptions,
) {
  const query = filterArguments(args, name);
  const shape = z.object({ [name]: z.array(item), next: z.string().optional() });
  const limit = options.limit ?? DEFAULT_LIMIT;
  query.set('limit', limit);
  const items: z.output<Shape>[] = [];
  const rawItems: unknown[] = [];
  for (;;) {
    const request = { method: 'GET', path: `/api/v1/${name}?${query}` } as const;
    const { json, data } = await daemonJson(edge, options, request, shape);
    const raw = json as Readonly<Record<string, readonly unknown[]>>;
    items.push(...(data[name] as z.output<Shape>[]));
    rawItems.push(...raw[name]!);
    const next = data.next as string | undefined;
    const missing = Number(limit) - items.length;
    if (next === undefined || missing <= 0) return { json: { ...raw, [name]: rawItems }, items, next };
    query.set('limit', String(missing));
    query.set('cursor', next);
  }
}
