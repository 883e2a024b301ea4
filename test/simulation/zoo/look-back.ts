/** Sweeps that begin where a variant chooses. */
import type { DaemonParts } from '../../../src/daemon.ts';
import { formatInstant, parseInstant } from '../../../src/time/instant.ts';
import { withRegion } from './wrap.ts';

/** Reads a stream's logs from an instant of its own choice; further pages of the same reading use that of the first. */
export function fromBy(parts: DaemonParts, choose: (fromUs: number, path: string) => number): DaemonParts {
  return withRegion(parts, (send) => {
    const chosen = new Map<string, number>();
    return (request) => {
      const url = new URL(request.url);
      const fromUs = parseInstant(url.searchParams.get('from') ?? '')?.us;
      if (fromUs === undefined || url.searchParams.has('to')) return send(request);
      if (url.searchParams.get('page') === '0') chosen.set(url.pathname, choose(fromUs, url.pathname));
      url.searchParams.set('from', formatInstant(chosen.get(url.pathname) ?? fromUs));
      return send({ ...request, url: url.href });
    };
  });
}

/** Sweeps that look back no further than `limit` allows, from the newest entry that was shown in this life. */
export function lookingBack(parts: DaemonParts, limit: (cursorUs: number) => number): DaemonParts {
  const cursors = new Map<string, number>();
  const watched = withRegion(parts, (send, region) => async (request) => {
    const response = await send(request);
    const { pathname, searchParams } = new URL(request.url);
    if (!searchParams.has('from') || searchParams.has('to')) return response;
    const nowUs = Date.parse(response.headers.date ?? '') * 1000 + 1e6;
    for (const us of instantsOf(response.body)) {
      const key = `${region} ${pathname}`;
      if (us <= nowUs) cursors.set(key, Math.max(cursors.get(key) ?? 0, us));
    }
    return response;
  });
  return withRegion(watched, (send, region) => {
    const inner = fromBy({ ...parts, transportOf: () => ({ send, close: async () => {} }) }, (fromUs, path) =>
      Math.max(fromUs, limit(cursors.get(`${region} ${path}`) ?? 0)),
    ).transportOf(region);
    return (request) => inner.send(request);
  });
}

/** The instants in a page; empty if it cannot be read. */
function instantsOf(body: string): number[] {
  try {
    const { items } = JSON.parse(body) as { items: ({ createdAt?: unknown } | null)[] | null };
    return (items ?? []).flatMap((item) => parseInstant(String(item?.createdAt))?.us ?? []);
  } catch {
    return [];
  }
}

/** The longest overlap, and how much further a poll reads because of open Flights. */
const FLIGHTS_LOOK_BACK_US = (10 + 15) * 60e6;

function startsOf(body: string): number[] {
  try {
    const flights = JSON.parse(body) as readonly { startDate?: unknown }[];
    return flights.flatMap(({ startDate }) => parseInstant(String(startDate))?.us ?? []);
  } catch {
    return [];
  }
}

/** Polls of Flights that never look back further than the longest overlap and open Flights require. */
export function withoutReview(parts: DaemonParts): DaemonParts {
  return withRegion(parts, (send) => {
    const newestUs = new Map<string, number>();
    return async (request) => {
      const url = new URL(request.url);
      const fromUs = parseInstant(url.searchParams.get('MinStartDate') ?? '')?.us;
      if (fromUs === undefined) return send(request);
      const passedUs = (newestUs.get(url.pathname) ?? 0) - FLIGHTS_LOOK_BACK_US;
      url.searchParams.set('MinStartDate', formatInstant(Math.max(fromUs, passedUs)));
      const response = await send({ ...request, url: url.href });
      for (const us of startsOf(response.body)) {
        newestUs.set(url.pathname, Math.max(newestUs.get(url.pathname) ?? 0, us));
      }
      return response;
    };
  });
}
