/** `run --once`: every stream once, deliver, exit; also if the service or the receivers fail. */
import { expect, onTestFinished, test } from 'vitest';
import type { Outcome } from '../../src/channels/channel.ts';
import { createDaemon, type OnceOutcome } from '../../src/daemon.ts';
import { NestwatchError } from '../../src/errors.ts';
import type { HttpResponse, Transport } from '../../src/http/transport.ts';
import { seededRandom } from '../../src/simulator/world/seeded-random.ts';
import { createWorld, type World } from '../../src/simulator/world/world.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { type Clock, sleep } from '../../src/time/clock.ts';
import { simulatorTransport } from '../simulator/simulator-transport.ts';
import { createVirtualClock } from '../virtual-clock.ts';
import { baseUrl, stageConfig } from './stage-config.ts';

const ACCEPTED: Outcome = { kind: 'accepted' };
const FAILED: Outcome = { kind: 'failed', reason: 'unavailable', error: 'HTTP 500' };

/** Undefined for the service's own answer. */
type Answer = Partial<HttpResponse> | NestwatchError | undefined;

interface Once extends OnceOutcome {
  readonly endedMs: number;
  /** Timers that were not cleared. */
  readonly pending: number;
  readonly received: string[];
  /** Regions of the alerts that are firing. */
  readonly firing: string[];
}

/** Two regions with twenty Birds and a failed Flight each. `us` replaces answers of that region. */
async function readOnce({
  us = () => undefined,
  receiver = () => ACCEPTED,
  stopAfterMs = Number.POSITIVE_INFINITY,
  afterwards = [],
  everyMs = 600_000,
}: {
  us?: (atMs: number, url: string, clock: Clock) => Answer | Promise<Answer>;
  receiver?: () => Outcome;
  stopAfterMs?: number;
  /** What happens in `us` after the first run, and after each further one. The result of the last run is returned. */
  afterwards?: readonly ((us: World) => void)[];
  /** The time between two runs. */
  everyMs?: number;
} = {}): Promise<Once> {
  const clock = createVirtualClock();
  const store = await openSqliteStore({ path: ':memory:', clock });
  onTestFinished(() => store.close());
  const worlds = Object.fromEntries(
    ['eu', 'us'].map((region, at) => {
      const world = createWorld({ region, clock, random: seededRandom(at), token: 'token', behaviours: {} });
      const { id } = world.addNest({ name: 'Nest' });
      const birds = Array.from({ length: 20 }, () => world.addBird(id, { name: 'B', triggerType: 'event' }));
      world.startFlight(birds[0]!.id, { endsAs: 'failed', fliesForMs: 1000 });
      return [region, world];
    }),
  );
  await clock.advance(60_000);
  const received: string[] = [];
  let beganMs = 0;
  const channel = {
    async send(_integration: unknown, _delivery: unknown, notification: { kind: string }) {
      const one = notification as { kind: string; alerts?: { labels: Record<string, string> }[] };
      received.push(
        ...(one.alerts?.map(({ labels }) => `${labels.region} ${labels.alertname}`) ?? [one.kind]),
      );
      return receiver();
    },
    async close() {},
  };
  const openDaemon = () =>
    createDaemon({
      config: stageConfig(['eu', 'us']),
      store,
      clock,
      random: seededRandom(3),
      report: () => {},
      transportOf(region): Transport {
        const service = simulatorTransport({ [baseUrl(region)]: worlds[region]! });
        if (region === 'eu') return service;
        return {
          ...service,
          async send(request) {
            const answer = await us(clock.monotonicMs() - beganMs, request.url, clock);
            if (answer instanceof Error) throw answer;
            return answer ? { status: 200, headers: {}, body: '{}', ...answer } : service.send(request);
          },
        };
      },
      channels: { webhook: channel, email: channel },
    });
  const stop = new AbortController();
  if (Number.isFinite(stopAfterMs)) clock.setTimer(stopAfterMs, () => stop.abort());
  const live = async (): Promise<Once> => {
    beganMs = clock.monotonicMs();
    let ended: Omit<Once, 'firing'> | undefined;
    void openDaemon()
      .runOnce(stop.signal)
      .then((outcome) => {
        const endedMs = clock.monotonicMs() - beganMs;
        ended = { ...outcome, endedMs, received, pending: clock.pending() };
      });
    await clock.advanceUntil(() => ended !== undefined, 6 * 3_600_000);
    const firing = await store.transaction((tx) => tx.alerts.firing(undefined, 10));
    return { ...ended!, firing: firing.map(({ labels }) => labels.region!).toSorted() };
  };
  let end = await live();
  for (const happen of afterwards) {
    happen(worlds.us!);
    await clock.advance(everyMs);
    end = await live();
  }
  return end;
}

const firstOf = (world: World) => [...world.birds.keys()][0]!;

test('it reads all streams, delivers and ends [long]', async () => {
  const { received, endedMs, firing, ...outcome } = await readOnce();
  expect(outcome).toEqual({ left: [], unread: 0, unaccepted: 0, pending: 0 });
  expect(firing).toEqual([]);
  expect(received).toContain('forward');
  expect(endedMs).toBeLessThan(60_000);
});

test('deliveries that are not accepted are counted', async () => {
  const { received, unaccepted } = await readOnce({ receiver: () => FAILED });
  expect(received.length).toBeGreaterThan(0);
  expect(unaccepted).toBe(received.length);
});

test('streams that cannot be read are counted', async () => {
  const us = (_atMs: number, url: string) => (/\/birds\/\d+\/logs/.test(url) ? { status: 400 } : undefined);
  expect(await readOnce({ us })).toMatchObject({ left: [], unread: 20, unaccepted: 0 });
});

test.each([
  ['', 0],
  [', though that is told last', 10_000],
])('a Bird that was deleted since the last reading is gone, not unread%s [long]', async (_when, slowMs) => {
  let deleted = 'none';
  const us = async (_atMs: number, url: string, clock: Clock) => {
    if (url.includes(`/birds/${deleted}/`)) await sleep(clock, slowMs);
    return undefined;
  };
  const fails = (world: World) => {
    world.startFlight(firstOf(world), { endsAs: 'failed', fliesForMs: 1000 });
  };
  const vanishes = (world: World) => {
    deleted = firstOf(world);
    world.deleteBird(deleted);
  };
  expect(await readOnce({ us, afterwards: [fails] })).toMatchObject({ unread: 0, firing: ['us'] });
  expect(await readOnce({ us, afterwards: [fails, vanishes] })).toMatchObject({ unread: 0, firing: [] });
});

test('what happened in a Nest before a run first listed it raises no alert [long]', async () => {
  let nests = '';
  const us = (_atMs: number, url: string) => (nests && url.endsWith('/nests') ? { body: nests } : undefined);
  const addsHidden = (world: World) => {
    nests = JSON.stringify([...world.nests.values()].map(({ id, name }) => ({ id, name, members: [] })));
    const bird = world.addBird(world.addNest({ name: 'Sandbox' }).id, { name: 'Play', triggerType: 'event' });
    world.startFlight(bird.id, { endsAs: 'failed', fliesForMs: 1000 });
  };
  const shows = () => {
    nests = '';
  };
  const end = await readOnce({ us, afterwards: [addsHidden, shows], everyMs: 70 * 60_000 });
  expect(end).toMatchObject({ unread: 0, firing: [] });
});

test('a region that refuses the token is left at once, reported, and delays nobody else', async () => {
  const { left, received, endedMs } = await readOnce({ us: () => ({ status: 401 }) });
  expect(left).toEqual(['us']);
  expect(received).toEqual(expect.arrayContaining(['us RegionUnauthorized', 'forward']));
  expect(endedMs).toBeLessThan(60_000);
});

test('a region that is away is left after a moment, and read if it comes back in that time [long]', async () => {
  const unreachable = new NestwatchError('unreachable', 'no answer');
  const from = (sinceMs: number, untilMs: number) => (atMs: number) =>
    atMs > sinceMs && atMs < untilMs ? unreachable : undefined;
  const away = await readOnce({ us: from(2000, 1e9) });
  expect(away).toMatchObject({ left: ['us'], received: ['forward'], pending: 0 });
  expect(away.endedMs).toBeLessThan(30_000);
  const back = await readOnce({ us: from(2000, 5000) });
  expect(back).toMatchObject({ left: [], pending: 0 });
  expect(back.unread).toBeLessThan(10);
  const never = await readOnce({ us: from(0, 1e9) });
  expect(never).toMatchObject({ left: [], unread: 2, pending: 0 });
});

test('it exits soon after the signal, even in a pause of an hour', async () => {
  const pause = { status: 429, headers: { 'retry-after': '3600' } };
  const { endedMs, received, pending } = await readOnce({ us: () => pause, stopAfterMs: 60_000 });
  expect(endedMs).toBeGreaterThanOrEqual(60_000);
  expect(endedMs).toBeLessThan(61_000);
  expect({ received, pending }).toEqual({ received: [], pending: 0 });
});
