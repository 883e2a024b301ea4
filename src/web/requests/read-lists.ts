/** Reads what a request asks of a list, and then the list itself: the same for page and API. */
import type { AlertState } from '../../domain/alert/alert.ts';
import { EVENT_FEEDS, type Event } from '../../domain/alert/event.ts';
import { type FilterName, LISTS, type ListName } from '../../operator/lists.ts';
import type { WriteRecord } from '../../report.ts';
import type { AlertQuery } from '../../store/alert-store.ts';
import {
  type BirdOverview,
  type FlightOverview,
  type NestOverview,
  STANDINGS,
} from '../../store/bird-store.ts';
import type { Filter } from '../../store/filter.ts';
import { DELIVERY_STATES, type ListedDelivery } from '../../store/outbox-store.ts';
import type { Transaction } from '../../store/store.ts';
import { parseDuration } from '../../time/duration.ts';
import { isTimezone, parseWallTime } from '../../time/zone-format.ts';
import { flag, instant, limit, oneOf, QueryError, readQuery } from './query.ts';

export interface ListContext {
  /** The watched regions. */
  readonly regions: readonly string[];
  readonly nowUs: number;
  /** How many are listed if the request does not say. */
  readonly limit: number;
}

export interface Listed<Item> {
  readonly items: readonly Item[];
  /** The cursor of the next page. */
  readonly next?: string | undefined;
}

/** Throws `usage` for invalid values; the result reads the list. */
export type ReadList<Item> = (
  search: URLSearchParams,
  context: ListContext,
) => (tx: Transaction) => Promise<Listed<Item>>;

const DAY_US = 86_400_000_000;

export const listBirds: ReadList<BirdOverview> = (search, context) => {
  const { given, query } = read('birds', search, context);
  const standing = oneOf('standing', given.standing, STANDINGS);
  const asked = { ...ofRegions(query, context), status: given.status, standing };
  return async (tx) => listed('birds', await tx.birds.page(asked));
};

export const listFlights: ReadList<FlightOverview> = (search, context) => {
  const { given, query } = read('flights', search, context);
  const asked = { ...ofRegions(query, context), status: given.status };
  return async (tx) => listed('flights', await tx.birds.flightPage(asked));
};

/** Flights are counted over the last 24 hours. */
export const listNests: ReadList<NestOverview> = (search, context) => {
  const { query } = read('nests', search, context);
  const asked = { ...ofRegions(query, context), countedSinceUs: context.nowUs - DAY_US };
  return async (tx) => listed('nests', await tx.birds.nestPage(asked));
};

export const listEvents: ReadList<Event> = (search, context) => {
  const { given, query } = read('events', search, context);
  const asked = { ...query, feed: oneOf('feed', given.feed, EVENT_FEEDS), type: given.type };
  return async (tx) => listed('events', await tx.events.page(asked));
};

export const listDeliveries: ReadList<ListedDelivery> = (search, context) => {
  const { given, query } = read('deliveries', search, context);
  const asked = { ...query, state: oneOf('state', given.state, DELIVERY_STATES), receiver: given.receiver };
  return async (tx) => listed('deliveries', await tx.outbox.page(asked));
};

export const listWrites: ReadList<WriteRecord> = (search, context) => {
  const { given, query } = read('writes', search, context);
  const { text, sinceUs, untilUs, cursor, limit } = query;
  return async (tx) =>
    listed('writes', await tx.writes.page({ who: given.who, text, sinceUs, untilUs, cursor, limit }));
};

function listed<Name extends string, Item>(
  name: Name,
  { [name]: items, next }: Readonly<Record<Name, readonly Item[]>> & { readonly next?: string | undefined },
): Listed<Item> {
  return { items, next };
}

export interface AskedAlerts extends AlertQuery {
  readonly isSilenced: boolean | undefined;
}

/** Page and API differ in the states that may be asked for, and in the order. */
export function readAlertQuery(
  search: URLSearchParams,
  context: ListContext,
  { states, order }: { readonly states: readonly AlertState[]; readonly order: AlertQuery['order'] },
): AskedAlerts {
  const { given, query } = read('alerts', search, context);
  return {
    ...query,
    state: oneOf('state', given.state, states),
    isAcknowledged: flag('acknowledged', given.acknowledged),
    isSilenced: flag('silenced', given.silenced),
    cause: given.cause,
    order,
    nowUs: context.nowUs,
  };
}

function read<Name extends ListName>(name: Name, search: URLSearchParams, context: ListContext) {
  const names: readonly (Own<Name> | 'limit' | 'cursor')[] = [...LISTS[name], 'limit', 'cursor'];
  const given: Given<Own<Name>> & Given<FilterName | 'limit' | 'cursor'> = readQuery(search, names);
  const filter = readFilter(given, context.regions, context.nowUs);
  const most = given.limit === undefined ? context.limit : limit(given.limit);
  return { given, query: { ...filter, limit: most, cursor: given.cursor } };
}

type Own<Name extends ListName> = (typeof LISTS)[Name][number];
type Given<Name extends string> = { readonly [Each in Name]?: string };

/** Birds, Flights and Nests of regions that are no longer watched are not listed. */
function ofRegions<Query extends { readonly region?: string | undefined }>(
  { region, ...query }: Query,
  { regions }: ListContext,
) {
  return { ...query, regions: region === undefined ? regions : [region] };
}

/**
 * `zone` is the time zone of instants without an offset; UTC if it is not given.
 *
 * `regions` are the watched ones. Another region is refused, since it is more often a misspelling than a question
 * about the past. Throws `usage` for invalid values.
 */
export function readFilter(
  given: Partial<Record<FilterName, string>>,
  regions: readonly string[],
  nowUs: number,
): Filter {
  const { nest, bird, flight, name, severity, text } = given;
  const { zone = 'UTC' } = given;
  if (!isTimezone(zone)) throw new QueryError({ says: 'zone', name: 'zone' });
  const sinceUs = readSince('since', given.since, zone, nowUs);
  const untilUs = readSince('until', given.until, zone, nowUs);
  if (sinceUs !== undefined && untilUs !== undefined && sinceUs >= untilUs) {
    throw new QueryError({ says: 'order' });
  }
  const region = oneOf('region', given.region, regions);
  return { region, nest, bird, flight, name, severity, text, sinceUs, untilUs };
}

/** An instant, which without an offset is in `zone` and may lack its seconds or time of day; or a duration before now. */
function readSince(name: string, value: string | undefined, zone: string, nowUs: number): number | undefined {
  if (value === undefined) return undefined;
  const ms = parseDuration(value);
  // A duration too long to represent means the beginning of everything stored.
  if (ms !== undefined) return Math.max(nowUs - ms * 1000, Number.MIN_SAFE_INTEGER);
  return parseWallTime(value, zone) ?? instant(name, value);
}
