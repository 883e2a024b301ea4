/**
 * Tracks the service's clock, as its answers show it. What the service wrote is compared with that clock only, since
 * ours may be wrong by hours and be set at any moment. So the instant since which a region is watched is on the
 * service's clock too. The first answers of the region fix it: it is when the first run began to try to read the
 * region, even if that run was never answered. Later runs know it before their first request.
 *
 * A single answer may show a wrong time. So if the first answer differs from our clock, a second one has to agree
 * with it. Two corrections are made afterwards:
 * - Answers show a time before the fixed instant: the service's clock was ahead when it was fixed, and new events
 *   would be taken for history.
 * - The fixed instant is before nestwatch first started, and both clocks agree now: the service's clock was behind,
 *   and all history would be taken for news. Only the run that fixed the instant corrects this.
 */

import type { Answer, ServiceClient } from '../service/client.ts';
import type { Store } from '../store/store.ts';
import type { Clock } from '../time/clock.ts';

export interface ServiceClock {
  /** The client. Its operations that list Nests and read streams also determine when the watch began. */
  readonly client: ServiceClient;
  /** Loads when the watch of this region began, if an earlier run fixed it. To be called before the first request. */
  load(): Promise<void>;
  /**
   * Resolves once it is known when the watch began; no stream may be read before. Until answers have shown the time,
   * this sends the cheapest request there is. Throws what the service or the store threw.
   */
  begun(): Promise<void>;
  /** When the watch of this region began. Throws if that is not known yet. */
  watchedSinceUs(): number;
  /** How far the service's clock is ahead of ours, as two consecutive answers show it; 0 if not known yet. */
  aheadUs(): number;
}

/**
 * Earlier runs that were never answered date the watch back by at most this time, since our clock may have been wrong
 * by years at the first start.
 */
const MOST_UNANSWERED_US = 72 * 3_600_000_000;

/** If the clocks differ by more, ours is not used to date the watch. */
const MOST_SKEW_US = 300_000_000;

/** If the first answers keep disagreeing, the last of this many is taken. */
const MOST_ANSWERS = 5;

export function createServiceClock(
  region: string,
  client: ServiceClient,
  store: Store,
  clock: Clock,
): ServiceClock {
  const beganMs = clock.monotonicMs();
  let sinceUs: number | undefined;
  /** When the watch began according to the last of the first answers, and the number of those answers. */
  let lastSaidUs: number | undefined;
  let answers = 0;
  /** Whether the last answer showed a time before the watch began. */
  let wasBefore = false;
  /** How far the service was ahead in the last two answers. */
  let ahead: readonly number[] = [];
  /** On our clock: when this or an earlier run first tried to read the region. */
  let firstStartUs: number | undefined;

  /**
   * How long the region has been watched, including earlier runs that it never answered. Only our clock has measured
   * those, so they count only while it agrees with the service's.
   */
  function watchedInAllUs(inThisLifeUs: number, serviceUs: number): number {
    const nowUs = clock.nowUs();
    if (firstStartUs === undefined || Math.abs(nowUs - serviceUs) > MOST_SKEW_US) return inThisLifeUs;
    return Math.max(inThisLifeUs, Math.min(nowUs - firstStartUs, MOST_UNANSWERED_US));
  }

  /** How long this run has been trying to read the region. */
  function thisLifeUs(): number {
    return Math.round((clock.monotonicMs() - beganMs) * 1000);
  }

  /**
   * Corrects when the watch began, in memory only after the store has accepted it: otherwise it would never be
   * stored.
   */
  async function beginAt(us: number): Promise<void> {
    await store.transaction((tx) => tx.inventory.began(region, us));
    sinceUs = us;
  }

  async function timed<T>(call: Promise<Answer<T>>): Promise<Answer<T>> {
    const answer = await call;
    const watchedUs = thisLifeUs();
    const nowUs = answer.serverTimeUs ?? clock.nowUs();
    if (answer.serverTimeUs !== null) ahead = [...ahead.slice(-1), answer.serverTimeUs - clock.nowUs()];
    const isAsOurs = Math.abs(clock.nowUs() - nowUs) <= MOST_SKEW_US;
    if (sinceUs === undefined) {
      const saidUs = nowUs - watchedInAllUs(watchedUs, nowUs);
      const isRepeated = lastSaidUs !== undefined && Math.abs(saidUs - lastSaidUs) <= MOST_SKEW_US;
      lastSaidUs = saidUs;
      answers += 1;
      if (!isAsOurs && !isRepeated && answers < MOST_ANSWERS) return answer;
      sinceUs = await store.transaction((tx) => tx.inventory.regionSince(region, saidUs));
    }
    const startUs = firstStartUs;
    if (startUs !== undefined && isAsOurs && startUs <= nowUs && sinceUs < startUs - MOST_SKEW_US) {
      await beginAt(startUs);
    }
    const isBefore = answer.serverTimeUs !== null && nowUs < sinceUs;
    // A single answer may show a wrong time, so a second consecutive one has to agree.
    if (isBefore && wasBefore) {
      await beginAt(nowUs - watchedUs);
    }
    wasBefore = isBefore;
    return answer;
  }

  return {
    client: {
      ...client,
      searchNests: () => timed(client.searchNests()),
      searchFlights: (nestId, birdId, filter) => timed(client.searchFlights(nestId, birdId, filter)),
      getNotifications: (query) => timed(client.getNotifications(query)),
      getBirdLogs: (nestId, birdId, query) => timed(client.getBirdLogs(nestId, birdId, query)),
    },
    async load() {
      await store.transaction(async (tx) => {
        sinceUs = await tx.inventory.knownSince(region);
        // The store may have refused this for a while, so the start is computed back.
        const beganUs = clock.nowUs() - thisLifeUs();
        if (sinceUs === undefined) firstStartUs = await tx.inventory.firstStart(region, beganUs);
      });
    },
    async begun() {
      while (sinceUs === undefined) {
        await timed(client.getNotifications({ page: 0, pageSize: 1, ascending: true }));
      }
    },
    aheadUs() {
      const [first = 0, second = 0] = ahead;
      return Math.abs(first) < Math.abs(second) ? first : second;
    },
    watchedSinceUs() {
      if (sinceUs === undefined) throw new Error(`It is not known yet since when ${region} is watched.`);
      return sinceUs;
    },
  };
}
