/** Reads the queries about Birds, Flights and Nests, for pages and API. */
import { type BirdQuery, type FlightQuery, type NestQuery, STANDINGS } from '../../store/bird-store.ts';
import { limit, oneOf, readQuery } from './query.ts';
import { FILTERS, readFilter } from './read-filter.ts';

interface RequestContext {
  /** The watched regions. */
  readonly regions: readonly string[];
  readonly nowUs: number;
  /** How many are shown if the request does not say. */
  readonly limit: number;
}

const PAGED = ['limit', 'cursor'] as const;

const DAY_US = 86_400_000_000;

export function readBirdQuery(search: URLSearchParams, context: RequestContext): BirdQuery {
  const given = readQuery(search, [...FILTERS, 'status', 'standing', ...PAGED]);
  const { region, ...filter } = readFilter(given, context.regions, context.nowUs);
  const standing = oneOf('standing', given.standing, STANDINGS);
  return { ...paged(given, region, context), ...filter, status: given.status, standing };
}

export function readFlightQuery(search: URLSearchParams, context: RequestContext): FlightQuery {
  const given = readQuery(search, [...FILTERS, 'status', ...PAGED]);
  const { region, ...filter } = readFilter(given, context.regions, context.nowUs);
  return { ...paged(given, region, context), ...filter, status: given.status };
}

/** Flights are counted over the last 24 hours. */
export function readNestQuery(search: URLSearchParams, context: RequestContext): NestQuery {
  const given = readQuery(search, [...FILTERS, ...PAGED]);
  const { region, ...filter } = readFilter(given, context.regions, context.nowUs);
  return { ...paged(given, region, context), ...filter, countedSinceUs: context.nowUs - DAY_US };
}

function paged(
  given: { readonly limit?: string; readonly cursor?: string },
  region: string | undefined,
  context: RequestContext,
) {
  return {
    regions: region === undefined ? context.regions : [region],
    limit: given.limit === undefined ? context.limit : limit(given.limit),
    cursor: given.cursor,
  };
}
