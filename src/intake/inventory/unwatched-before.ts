/** What the service said, or alerts knew, of what was not watched for a while. */

import { NEST_EXCLUDED } from '../../domain/alert/event.ts';
import type { Fact } from '../../domain/alert/fact.ts';
import { birdDeactivated } from '../../domain/kinds/bird-deactivated.ts';
import { DISCONNECTED } from '../../domain/kinds/connection-disconnected.ts';
import type { NestRecord } from '../../store/inventory-store.ts';
import type { Store } from '../../store/store.ts';

/**
 * The Birds whose last BirdDeactivated ended because they, or their whole region, were no longer watched: its severity
 * by the Bird's id. For those that are still off nothing else would say so.
 */
export async function endedUnwatched(store: Store, region: string): Promise<ReadonlyMap<string, string>> {
  return store.transaction(async (tx) => {
    const episodes = await tx.alerts.lastEpisodes(birdDeactivated.name, region);
    const firing = new Set<string>();
    for (const { alertId } of episodes)
      if ((await tx.alerts.find(alertId))?.state === 'firing') firing.add(alertId);
    const last = new Map<string, (typeof episodes)[number]>();
    for (const episode of episodes.toSorted((a, b) => a.endsAtUs - b.endsAtUs))
      last.set(episode.labels.bird_id ?? '', episode);
    return new Map(
      [...last].flatMap(([birdId, { alertId, ending, labels }]) =>
        ending === 'gone' && !firing.has(alertId) ? [[birdId, labels.severity ?? '']] : [],
      ),
    );
  });
}

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
