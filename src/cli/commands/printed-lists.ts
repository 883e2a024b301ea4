/** What the commands print of each thing that the daemon lists: the columns of a table. */
import type { EventJson } from '../../domain/alert/event.ts';
import { type ListName, statusNote } from '../../operator/lists.ts';
import type { Edge } from '../../process-io.ts';
import type { WriteRecord } from '../../report.ts';
import { durationWords } from '../../text/instant-words.ts';
import type { deliveryJson } from '../../web/api/alert-json.ts';
import type { birdJson, flightJson, nestJson } from '../../web/api/bird-json.ts';
import { filterArguments } from '../command-arguments.ts';
import type { Answer } from '../command-rows.ts';
import { daemonJson, type PrintOptions } from '../daemon-client.ts';
import { type Columns, type Layout, layoutOf, shown, table } from '../terminal-text.ts';

export interface ListOptions extends PrintOptions {
  readonly limit?: string | undefined;
  /** Reads the list to its end; `limit` is then how many are asked for at once. */
  readonly isWhole?: boolean;
}

/** What is printed of some things of one sort. */
export interface PrintedList<Item> {
  readonly columns: Columns<Item>;
  /** The columns that a narrow terminal can do without, the first one most easily. */
  readonly least: readonly string[];
  /** Printed for an empty list. */
  readonly none: string;
}

const DEFAULT_LIMIT = '100';

/** Printed to stderr if there is a further page. */
const MORE = 'There are more: give --limit, or a filter such as until=.\n';

export type Bird = ReturnType<typeof birdJson>;
export type Flight = ReturnType<typeof flightJson>;
export type Delivery = ReturnType<typeof deliveryJson>;

export const LISTS = {
  birds: {
    columns: {
      STANDING: (one) => one.standing,
      STATUS: (one) => shown(one.status),
      REGION: (one) => shown(one.region),
      NEST: (one) => shown(one.nest),
      BIRD: (one) => shown(one.bird) || shown(one.bird_id),
      ID: (one) => shown(one.bird_id),
      TRIGGER: (one) => shown(one.trigger_type),
      'LAST FLIGHT': (one) => ({ at: one.last_flight?.started_at }),
      'ENDED AS': (one) => shown(one.last_flight?.status ?? ''),
    },
    least: ['TRIGGER', 'ENDED AS', 'STATUS', 'REGION'],
    none: 'No Birds.\n',
  } satisfies PrintedList<Bird>,
  nests: {
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
  } satisfies PrintedList<ReturnType<typeof nestJson>>,
  flights: {
    columns: {
      STARTED: (one) => ({ at: one.started_at }),
      STATUS: (one) => shown(one.status),
      TOOK: took,
      REGION: (one) => shown(one.region),
      NEST: (one) => shown(one.nest),
      BIRD: (one) => shown(one.bird) || shown(one.bird_id),
      FLIGHT: (one) => shown(one.flight_id),
      STEP: step,
      MESSAGE: (one) => shown(one.message),
    },
    least: ['STEP', 'TOOK', 'REGION', 'FLIGHT', 'NEST'],
    none: 'No Flights.\n',
  } satisfies PrintedList<Flight>,
  events: {
    columns: {
      OCCURRED: (one) => ({ at: one.occurred_at }),
      ID: (one) => one.short_id,
      TYPE: (one) => shown(one.type),
      REGION: (one) => shown(one.region),
      NEST: (one) => shown(one.nest),
      BIRD: (one) => shown(one.bird) || shown(one.bird_id),
      MESSAGE: ({ message, attributes: { initiator } }) =>
        shown(message || (typeof initiator === 'string' ? `by ${initiator}` : '')),
    },
    least: ['REGION', 'NEST', 'TYPE'],
    none: 'No events.\n',
  } satisfies PrintedList<EventJson>,
  deliveries: {
    columns: {
      ID: (one) => shown(one.id),
      RECEIVER: (one) => shown(one.receiver),
      BY: (one) => shown(one.integration_name),
      STATE: (one) => one.state,
      TRIES: (one) => String(one.attempts),
      CREATED: (one) => ({ at: one.created_at }),
      ABOUT: (one) => `${shown(one.about)}${one.about_more > 0 ? ` and ${one.about_more} more` : ''}`,
      'SETTLED OR NEXT': (one) => ({ at: one.settled_at ?? one.next_attempt_at }),
      'LAST ERROR': (one) => shown(one.last_error),
    },
    least: ['SETTLED OR NEXT', 'TRIES', 'ID', 'LAST ERROR'],
    none: 'No deliveries.\n',
  } satisfies PrintedList<Delivery & { readonly about: string; readonly about_more: number }>,
  writes: {
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
  } satisfies PrintedList<Omit<WriteRecord, 'atUs'> & { readonly at: string }>,
};

/** Its name, or else its id; empty for none. */
export function step({ scope, step_id: id }: Pick<Flight, 'scope' | 'step_id'>): string {
  return shown(scope ?? id ?? '');
}

export function took({ duration_seconds: seconds }: { readonly duration_seconds: number | null }): string {
  return seconds === null ? '-' : durationWords(seconds * 1000, 'two units');
}

/** Prints a list as a table, or as the API answers it. */
export async function printList(
  edge: Edge,
  name: keyof typeof LISTS,
  args: readonly string[],
  options: ListOptions,
): Promise<Answer> {
  const answer = await readList<never>(edge, name, args, options);
  if (answer.next !== undefined && !options.json) edge.stderr.write(MORE);
  const { none, ...list } = LISTS[name];
  const note = statusNote(name, filterArguments(args, name).get('status'));
  const printed = { ...list, none: `${none.trimEnd()}${note}\n` };
  return { json: answer, text: listText<never>(printed, answer[name]!, layoutOf(edge, options)) };
}

export function listText<Item>(
  { columns, least, none }: PrintedList<Item>,
  items: readonly Item[],
  layout: Layout,
): string {
  return items.length === 0 ? none : table(columns, items, layout, { least });
}

type Page<Item> = Readonly<Partial<Record<ListName, readonly Item[]>>> & { readonly next?: string };

/** The API searches only so many per request: what is rare may be found only by a later one. */
export async function readList<Item>(
  edge: Edge,
  name: ListName,
  args: readonly string[],
  options: ListOptions,
): Promise<Page<Item>> {
  const query = filterArguments(args, name);
  const limit = options.limit ?? DEFAULT_LIMIT;
  query.set('limit', limit);
  const items: Item[] = [];
  for (;;) {
    const page = await daemonJson<Page<Item>>(edge, options, { path: `/api/v1/${name}?${query}` }, name);
    items.push(...page[name]!);
    const missing = options.isWhole ? Number(limit) : Number(limit) - items.length;
    if (page.next === undefined || missing <= 0) return { ...page, [name]: items };
    query.set('limit', String(missing));
    query.set('cursor', page.next);
  }
}
