/** The server of the store is away for minutes while there is work: what replicas report, and what memory they use. */
import { sleep, systemClock } from '../../../src/time/clock.ts';
import { type Scene, until } from './scene.ts';

/** A replica that is not ready by then never will be. */
const READY_WITHIN_MS = 90_000;
/** The time in which memory settles. */
const AFTERWARDS_MS = 60_000;

export interface OutageFigures {
  readonly forMs: number;
  /** When each replica stopped being ready, and when it was ready again after the server had come back. */
  readonly unreadyMs: readonly number[];
  readonly readyAgainMs: readonly number[];
  /** The last heartbeat after the server went away, and the first after it came back. */
  readonly lastBeatMs: number;
  readonly nextBeatMs: number;
  /** For each replica: before, the most while the server was away, and a minute later. */
  readonly residentMiB: readonly { readonly before: number; readonly most: number; readonly after: number }[];
  /** The log messages about it, above `info`. */
  readonly said: ReadonlyMap<string, number>;
}

/** Takes the server away under load, and observes. */
export async function bearOutage(
  { server, witness, fleet, log }: Scene,
  forMs: number,
): Promise<OutageFigures> {
  const clock = systemClock();
  const places = fleet.running().map(({ place }) => place);
  await sleep(clock, 30_000);
  const saidBefore = new Map(fleet.said());
  const before = places.map((place) => fleet.residentMiB(place));
  const most = [...before];
  const unreadyMs = places.map(() => Number.POSITIVE_INFINITY);
  const readyAgainMs = places.map(() => Number.POSITIVE_INFINITY);
  const goneMs = Date.now();
  await server.stop('fast');
  log(`the server is away for ${forMs / 1000} s`);
  while (Date.now() - goneMs < forMs) {
    for (const place of places) {
      most[place] = Math.max(most[place]!, fleet.residentMiB(place));
      const status = (await fleet.ask(place, '/-/ready'))?.status;
      if (status === 503) unreadyMs[place] = Math.min(unreadyMs[place]!, Date.now() - goneMs);
      if (status === 200 && unreadyMs[place] !== Number.POSITIVE_INFINITY)
        log(`replica ${place} was ready ${(Date.now() - goneMs) / 1000} s after the server went`);
    }
    await sleep(clock, 1_000);
  }
  const saidBySoon = fleet.said();
  const said = new Map([...saidBySoon].map(([line, count]) => [line, count - (saidBefore.get(line) ?? 0)]));
  await server.start();
  const backMs = Date.now();
  log('the server is back');
  await until(async () => {
    for (const place of places) {
      const isReady = (await fleet.ask(place, '/-/ready'))?.status === 200;
      if (isReady) readyAgainMs[place] = Math.min(readyAgainMs[place]!, Date.now() - backMs);
    }
    return readyAgainMs.every(Number.isFinite) && witness.beatsMs.some((atMs) => atMs > backMs);
  }, READY_WITHIN_MS);
  await sleep(clock, AFTERWARDS_MS);
  return {
    forMs,
    unreadyMs,
    readyAgainMs,
    lastBeatMs: Math.max(...witness.beatsMs.filter((atMs) => atMs < backMs)) - goneMs,
    nextBeatMs: Math.min(...witness.beatsMs.filter((atMs) => atMs > backMs)) - backMs,
    residentMiB: places.map((place, index) => ({
      before: before[index]!,
      most: most[index]!,
      after: fleet.residentMiB(place),
    })),
    said: new Map([...said].filter(([, count]) => count > 0)),
  };
}
