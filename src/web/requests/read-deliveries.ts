/** Reads the query of a list of deliveries, for pages and API. */
import { DELIVERY_STATES, type DeliveryQuery } from '../../store/outbox-store.ts';
import { limit, oneOf, readQuery } from './query.ts';
import { FILTERS, readFilter } from './read-filter.ts';

/** Throws `usage` for invalid values. */
export function readDeliveryQuery(
  search: URLSearchParams,
  regions: readonly string[],
  nowUs: number,
): DeliveryQuery {
  const { state, receiver, cursor, ...given } = readQuery(search, [
    ...FILTERS,
    'state',
    'receiver',
    'limit',
    'cursor',
  ]);
  return {
    ...readFilter(given, regions, nowUs),
    state: oneOf('state', state, DELIVERY_STATES),
    receiver,
    cursor,
    limit: limit(given.limit),
  };
}
