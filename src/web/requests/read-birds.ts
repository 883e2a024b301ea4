/** Reads the queries about Birds, Flights and Nests, for pages and API. */
import { type BirdQuery, type FlightQuery, type NestQuery, STANDINGS } from '../../store/bird-store.ts';
import { limit, oneOf, readQuery } from './query.ts';
import { FILTERS, readFilter } from './read-filter.ts';

interface Asked {
  /** The watched regions. */
  readonly regions: readonly string[];
  readonly nowUs: number;
  /** How many are shown if the request does not say. */
  readonly limit: number;
}

const PAGED = ['limit', 'cursor'] as const;

const DAY_US = 86_400_000_000;

export function readBirdQuery(search: URLSearchParams, asked: Asked): BirdQuery {
  const given = readQuery(search, [...FILTERS, 'status', 'standing', ...PAGED]);
  const { region, ...filter } = readFilter(given, asked.regions, asked.nowUs);
  const standing = oneOf('standing', given.standing, STANDINGS);
  return { ...paged(given, region, asked), ...filter, status: given.status, standing };
}

export function readFlightQuery(search: URLSearchParams, asked: Asked): FlightQuery {
  const given = readQuery(search, [...FILTERS, 'status', ...PAGED]);
  const { region, ...filter } = readFilter(given, asked.regions, asked.nowUs);
  return { ...paged(given, region, asked), ...filter, status: given.status };
}

/** Flights are counted over the last 24 hours. */
export function readNestQuery(search: URLSearchParams, asked: Asked): NestQuery {
  const given = readQuery(search, [...FILTERS, ...PAGED]);
  const { region, ...filter } = readFilter(given, asked.regions, asked.nowUs);
  return { ...paged(given, region, asked), ...filter, countedSinceUs: asked.nowUs - DAY_US };
}

function paged(
  given: { readonly limit?: string; readonly cursor?: string },
  region: string | undefined,
  asked: Asked,
) {
  return {
    regions: region === undefined ? asked.regions : [region],
    limit: given.limit === undefined ? asked.limit : limit(given.limit),
    cursor: given.cursor,
  };
}
