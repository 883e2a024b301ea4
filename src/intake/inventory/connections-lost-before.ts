import { NEST_EXCLUDED } from '../../domain/alert/event.ts';
import type { Fact } from '../../domain/alert/fact.ts';
import { DISCONNECTED } from '../../domain/kinds/connection-disconnected.ts';
import type { NestRecord } from '../../store/inventory-store.ts';
import type { Store } from '../../store/store.ts';

/** How far back, and how many, notifications of lost connections are looked at. */
const LOOKBACK_US = 7 * 86_400_000_000;
const MAX_EVENTS = 1_000;

/**
 * The lost connections that the service reported of Nests while they were excluded, as history. `changed` are the Nests
 * that a reading changes: those of them that are present now come to be watched, and nothing else would say which
 * connections are still lost.
 */
export async function connectionsLostBefore(
  store: Store,
  region: string,
  changed: readonly NestRecord[],
  nowUs: number,
): Promise<Fact[]> {
  const entering = new Set(changed.flatMap(({ nestId, present }) => (present ? [nestId] : [])));
  if (entering.size === 0) return [];
  const query = { region, type: DISCONNECTED, sinceUs: nowUs - LOOKBACK_US, limit: MAX_EVENTS };
  const { events } = await store.transaction((tx) => tx.events.page(query));
  return events
    .filter(({ nestId, attributes }) => entering.has(nestId) && attributes[NEST_EXCLUDED] === true)
    .map((event): Fact => ({ fact: 'event', event, historic: true }))
    .toReversed();
}
