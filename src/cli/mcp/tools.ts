/** What an agent may ask the running daemon: each tool is one GET request, and none changes anything. */
import * as z from 'zod';
import { alertPath, birdPath, eventPath, flightPath } from '../../http/page-path.ts';
import { LISTS } from '../../operator/lists.ts';

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: z.ZodObject;
  /** What the API is asked, and the page on which a person sees the same; without a slash at the beginning. */
  ask(given: Readonly<Record<string, unknown>>): { readonly path: string; readonly page: string };
  /** A key of the API's answer. */
  readonly sign: string;
  /** What to keep of the answer, by its names; absent for everything. */
  readonly keeps?: readonly string[];
}

const MOST_CODE_UNITS = 2_000;
const text = (description: string) => z.string().max(MOST_CODE_UNITS).describe(description);

/** What the names of filters do not say; the daemon refuses wrong values, and says which there are. */
const FILTERS = new Map<string, string>([
  ['region', 'Name of a region, such as eu.'],
  ['nest', 'Id of a Nest, or a part of its name.'],
  ['bird', 'Id of a Bird, or a part of its name.'],
  ['name', 'Kind of alert, such as FlightFailed; of Birds a part of the name.'],
  ['text', 'Words in names and messages.'],
  ['since', 'An instant (RFC 3339), or a duration before now, such as 12h; so is until.'],
  ['zone', 'Time zone of instants without an offset, such as Europe/Amsterdam; default UTC.'],
  ['status', 'Such as active or suspended.'],
  ['standing', 'How it is, such as alerting.'],
  ['feed', 'flight, bird_log, notification, inventory or action.'],
  ['type', 'Such as flight.failed or bird_log.Published.'],
  ['state', 'Of alerts firing or resolved; of deliveries such as pending, delivered or dead.'],
  ['cause', 'The error that alerts have in common, as their label `error`.'],
]);

function list(name: string, of: 'alerts' | 'events' | 'birds' | 'deliveries', description: string): Tool {
  const filters = LISTS[of].map((filter) => [filter, text(FILTERS.get(filter) ?? '').optional()]);
  const input = z.strictObject({
    ...(Object.fromEntries(filters) as Record<string, z.ZodType>),
    limit: z.int().min(1).max(100).default(20).describe('Items in the answer.'),
    cursor: text('`next` of the answer before, for the items after it.').optional(),
  });
  return {
    ...{ name, title: of.charAt(0).toUpperCase() + of.slice(1), description, input, sign: of },
    ask(given) {
      const query = new URLSearchParams(
        Object.entries(given).flatMap(([key, value]) => (value === undefined ? [] : [[key, String(value)]])),
      );
      return { path: `api/v1/${of}?${query}`, page: `${of}?${query}` };
    },
  };
}

const ID = z.strictObject({
  id: text('Of an alert, event, Flight, Bird or delivery; also the short id of a message.'),
});
const PLACE = z.strictObject({ region: text('Name of a region.'), id: text('Its id.') });

const explanation = ({ id }: Readonly<Record<string, unknown>>) => {
  const key = String(id);
  return { path: `api/v1/events/${encodeURIComponent(key)}/explain`, page: eventPath(key) };
};
const place =
  (pathOf: (region: string, id: string) => string): Tool['ask'] =>
  ({ region, id }) => {
    const page = pathOf(String(region), String(id));
    return { path: `api/v1/${page}`, page };
  };

export const TOOLS: readonly Tool[] = [
  {
    ...{ name: 'watch_health', title: 'Is the watch well', input: z.strictObject({}), sign: 'impairments' },
    description: 'Whether nestwatch sees everything: what impairs it, since when, and how many alerts fire.',
    ask: () => ({ path: 'api/v1/health', page: '' }),
  },
  list(
    'list_alerts',
    'alerts',
    'Lists alerts, the latest start first, each with its last events. With `bird` and `since` it says why a Bird failed.',
  ),
  {
    ...{ name: 'get_alert', title: 'An alert', input: ID, sign: 'labels' },
    description:
      'One alert: why it fires, its events and episodes, who was notified and who acknowledged it.',
    ask({ id }) {
      const page = alertPath(String(id));
      return { path: `api/v1/alerts/${encodeURIComponent(String(id))}`, page };
    },
  },
  {
    ...{ name: 'explain', title: 'What became of it', input: ID, sign: 'seen' },
    description:
      'The way of one event from the service to the receivers: when it was seen, which rule decided, who was notified.',
    ask: explanation,
  },
  list(
    'search_events',
    'events',
    'Lists what happened, the newest first: ends of Flights, entries of Bird logs, notifications, changes of Nests, Birds and members.',
  ),
  list('list_birds', 'birds', 'Lists Birds, those in trouble first.'),
  {
    ...{ name: 'get_bird', title: 'A Bird', input: PLACE, sign: 'counts' },
    description: 'One Bird: its last Flights, how often they failed and why, its alerts and its log.',
    ask: place(birdPath),
  },
  {
    ...{ name: 'get_flight', title: 'A Flight', input: PLACE, sign: 'flight_id' },
    description: 'One Flight: the step that failed, its error, its alerts, and who was notified.',
    ask: place(flightPath),
  },
  list('list_deliveries', 'deliveries', 'Lists messages to receivers, and whether they arrived.'),
  {
    ...{ name: 'why_not_told', title: 'Why nobody was told', input: ID, sign: 'seen' },
    description:
      'Why an event made no alert, or why its alert was not sent: silenced, inhibited, old, or still waiting for its group.',
    ask: explanation,
    keeps: ['event', 'seen', 'rules', 'no_alert', 'waiting', 'suppressions', 'notifications'],
  },
];
