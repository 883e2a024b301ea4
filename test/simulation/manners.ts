/**
 * Checks how a region is asked: nobody may return before the time that an answer set, exceed the allowed rate, or
 * have more requests at once.
 */

import type { RegionConfig } from '../../src/config/sections/regions-section.ts';
import type { HttpRequest, HttpResponse, Transport } from '../../src/http/transport.ts';
import type { Clock } from '../../src/time/clock.ts';

export type Manners = (inner: Transport, request: HttpRequest) => Promise<HttpResponse>;

/** A date has whole seconds. */
const TOLERANCE_US = 1_000_000;

/** The rate limit is measured over this time; requests for half a second may be sent at once. */
const WINDOW_S = 10;
const BURST_S = 0.5;

/** For one life of a client. */
export function createManners(
  clock: Clock,
  { name, requestsPerSecond, concurrency }: Pick<RegionConfig, 'name' | 'requestsPerSecond' | 'concurrency'>,
  complaints: string[],
): Manners {
  const most = Math.ceil(requestsPerSecond * (WINDOW_S + BURST_S)) + 1;
  /** The instants at which the last of them were sent, the oldest first. */
  const sentUs: number[] = [];
  let limitedAtUs = 0;
  let notBeforeUs = 0;
  let underWay = 0;

  function count(nowUs: number): void {
    sentUs.push(nowUs);
    if (sentUs.length > most && sentUs.shift()! > nowUs - WINDOW_S * 1e6) {
      complaints.push(`${name} was asked more than ${most} times within ${WINDOW_S} s`);
      sentUs.length = 0;
    }
    if (underWay > concurrency) complaints.push(`${name} had ${underWay} requests at once`);
  }

  return async (inner, request) => {
    const nowUs = clock.nowUs();
    // What was sent at the same instant could not know it yet.
    if (nowUs > limitedAtUs && nowUs < notBeforeUs - TOLERANCE_US) {
      complaints.push(`${name} was asked ${(notBeforeUs - nowUs) / 1e6} s before its Retry-After had passed`);
    }
    underWay += 1;
    count(nowUs);
    try {
      const response = await inner.send(request);
      if (response.status === 429) {
        limitedAtUs = clock.nowUs();
        notBeforeUs = Math.max(notBeforeUs, askedUntilUs(response.headers['retry-after'], limitedAtUs));
      }
      return response;
    } finally {
      underWay -= 1;
    }
  };
}

/** 0 if the header cannot be read. */
function askedUntilUs(retryAfter: string | undefined, nowUs: number): number {
  const seconds = Number(retryAfter);
  if (seconds > 0) return nowUs + seconds * 1e6;
  const atMs = Date.parse(retryAfter ?? '');
  return Number.isNaN(atMs) ? 0 : atMs * 1000;
}
