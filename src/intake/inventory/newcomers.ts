/**
 * Determines, for each Bird that comes to be watched later than its region, since when its events are news. An earlier
 * complete reading of the inventory lacked such a Bird. It did not exist then, or it was not watched, for example
 * because `nests.include` was narrower or the token was allowed less. So what happened before that reading is history,
 * like what happened before a first start. For a Bird that is really new everything is news, since nothing happened to
 * it before. The same goes for a Bird whose Nest was excluded for a while.
 */

import { NEST_EXCLUDED } from '../../domain/alert/event.ts';
import type { Fact } from '../../domain/alert/fact.ts';
import { birdDeactivated } from '../../domain/kinds/bird-deactivated.ts';
import { DISCONNECTED } from '../../domain/kinds/connection-disconnected.ts';
import type { NestRecord } from '../../store/sql/watched/nests-and-birds.ts';
import type { Store } from '../../store/store.ts';
import type { IntakeParts } from '../parts.ts';

type NewcomersOptions = Pick<IntakeParts, 'region' | 'store' | 'clock'>;

/** The reading may have lacked an existing Bird, because the service listed it late or truncated the list. */
const MARGIN_US = 3_600_000_000;

export class Newcomers {
  readonly #options: NewcomersOptions;
  /**
   * When the last complete reading began; undefined before the first one ever. It is kept on both clocks: the
   * monotonic clock stops while the machine sleeps, and the wall clock may be set.
   */
  #whole: { readonly beganMs: number; readonly beganUs: number } | undefined;

  constructor(options: NewcomersOptions) {
    this.#options = options;
  }

  /** Loads when an earlier run read the inventory. */
  async load(): Promise<void> {
    const { region, store, clock } = this.#options;
    const reads = await store.transaction((tx) => tx.streams.reads(region));
    const readUs = reads.find(({ feed }) => feed === 'inventory')?.readUs ?? 0;
    if (readUs > 0) this.readWhole(clock.monotonicMs(), readUs);
  }

  /**
   * Since when events are news of a Bird that is listed for the first time now, on the service's clock; undefined if
   * that is as long as its region is watched. `nowUs` is the current time by the service's clock or ours, whichever is
   * behind: one of them may be wrong, and news must not be taken for history. `wasExcluded`: its Nest is known to have
   * been excluded until now.
   */
  newsSinceUs(nowUs: number, wasExcluded = false): number | undefined {
    if (this.#whole === undefined) return undefined;
    const { clock } = this.#options;
    const { beganMs, beganUs } = this.#whole;
    const agoUs = Math.round(Math.max((clock.monotonicMs() - beganMs) * 1000, clock.nowUs() - beganUs));
    return nowUs - agoUs - (wasExcluded ? 0 : MARGIN_US);
  }

  /** When the last reading that left nothing out began, on our clock; 0 before the first one ever. */
  wholeUs(): number {
    return this.#whole?.beganUs ?? 0;
  }

  /** A reading that began then left nothing out. */
  readWhole(beganMs: number, beganUs: number): void {
    this.#whole = { beganMs, beganUs };
  }
}

// What the service said, or alerts knew, of what was not watched for a while.

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
