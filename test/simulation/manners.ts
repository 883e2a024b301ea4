/** Watches how a region is asked: nobody may come again before the time that an answer named. */
import type { Clock } from '../../src/clock.ts';
import type { HttpRequest, HttpResponse, Transport } from '../../src/transport.ts';

export type Manners = (inner: Transport, request: HttpRequest) => Promise<HttpResponse>;

/** Whole seconds are all that a date can say. */
const TOLERANCE_US = 1_000_000;

export function createManners(clock: Clock, region: string, complaints: string[]): Manners {
  let limitedAtUs = 0;
  let notBeforeUs = 0;
  return async (inner, request) => {
    // What left at the same instant could not know yet.
    if (clock.nowUs() > limitedAtUs && clock.nowUs() < notBeforeUs - TOLERANCE_US) {
      complaints.push(
        `${region} was asked ${(notBeforeUs - clock.nowUs()) / 1e6} s before its Retry-After had passed`,
      );
    }
    const response = await inner.send(request);
    if (response.status === 429) limitedAtUs = clock.nowUs();
    const seconds = Number(response.headers['retry-after']);
    const atMs = Date.parse(response.headers['retry-after'] ?? '');
    if (response.status === 429 && seconds > 0) {
      notBeforeUs = Math.max(notBeforeUs, clock.nowUs() + seconds * 1e6);
    } else if (response.status === 429 && !Number.isNaN(atMs)) {
      notBeforeUs = Math.max(notBeforeUs, atMs * 1000);
    }
    return response;
  };
}
