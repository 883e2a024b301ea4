import { birdDeactivated } from '../../domain/kinds/bird-deactivated.ts';
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
