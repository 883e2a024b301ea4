/**
 * The service's own clock, as its answers show it. What the service wrote is compared with that clock alone: ours may
 * be wrong by hours, and be set at any moment. So also "since when is this region watched" is an instant on it, fixed
 * by the first answers that the region ever gave: when the first life began that wanted to read it, whether or not it
 * was answered. A later life knows it before it asks for anything.
 *
 * One answer may show a wrong time. Where the first one differs from our clock, a second one has to agree with it. Where
 * answers show a time before the instant that was fixed, the service's clock was ahead then: what happens would be
 * history. Where the instant is before nestwatch was first started, and both clocks agree now, it was behind: all history
 * would be news. Both are put right; the latter only in the life that fixed it.
 */

import type { Answer, ServiceClient } from '../service/client.ts';
import type { Store } from '../store/store.ts';
import type { Clock } from '../time/clock.ts';

export interface ServiceClock {
  /** The client; the operations that streams and the inventory begin with fix when the watch began. */
  readonly client: ServiceClient;
  /** Takes over from an earlier life when the watch of this region began. To be called before anything is asked. */
  load(): Promise<void>;
  /**
   * Resolves once it is known when the watch began, before which no stream may be read. As long as no answers have shown
   * the time it asks for the least there is. Throws what the service or the store threw.
   */
  begun(): Promise<void>;
  /** When the watch of this region began. Throws before that is known. */
  watchedSinceUs(): number;
  /** By how much the service's clock is ahead of ours, as two answers in a row show it; 0 before that is known. */
  aheadUs(): number;
}

/**
 * A watch that the region never answered began no longer ago than that before its first answer: our clock may have been
 * wrong by years when it first started.
 */
const MOST_UNANSWERED_US = 72 * 3_600_000_000;

/** A clock of ours that differs by more from the service's was or is wrong. */
const MOST_SKEW_US = 300_000_000;

/** Of a clock that shows another time in each answer, the last of so many is taken. */
const MOST_ANSWERS = 5;

export function createServiceClock(
  region: string,
  client: ServiceClient,
  store: Store,
  clock: Clock,
): ServiceClock {
  const beganMs = clock.monotonicMs();
  let sinceUs: number | undefined;
  /** When the watch began, as the last of the first answers said, and how many those are. */
  let lastSaidUs: number | undefined;
  let answers = 0;
  /** Whether the last answer showed a time before the watch began. */
  let wasBefore = false;
  /** By how much the service was ahead in the last two answers. */
  let ahead: readonly number[] = [];
  /** On our clock: when an earlier life, or this one, first wanted to read the region. */
  let firstStartUs: number | undefined;

  /**
   * For how long the region has been watched, also by earlier lives that it never answered. Only our clock knows of
   * those, so that they count while it agrees with the service's.
   */
  function watchedInAllUs(inThisLifeUs: number, serviceUs: number): number {
    const nowUs = clock.nowUs();
    if (firstStartUs === undefined || Math.abs(nowUs - serviceUs) > MOST_SKEW_US) return inThisLifeUs;
    return Math.max(inThisLifeUs, Math.min(nowUs - firstStartUs, MOST_UNANSWERED_US));
  }

  /** How long this life has wanted to read the region. */
  function thisLifeUs(): number {
    return Math.round((clock.monotonicMs() - beganMs) * 1000);
  }

  /** Puts right when the watch began; only once the store has taken it, since else nothing would ever write it. */
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
    // One answer may show a wrong time: a second one in a row has to agree.
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
        // The store may have taken nothing until now.
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
