import { afterEach, describe, expect, test } from 'vitest';
import type { Receiver } from '../../src/channels/receiver.ts';
import { createHeartbeat, type WatchedRegion } from '../../src/delivery/heartbeat.ts';
import { NestwatchError } from '../../src/errors.ts';
import type { HttpRequest } from '../../src/http/transport.ts';
import type { Happening } from '../../src/report.ts';
import { secret } from '../../src/secret.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import { webhook } from '../channels/sample-notifications.ts';
import { delivery, notification } from '../store/contract/sample-records.ts';
import { createVirtualClock } from '../virtual-clock.ts';

const URL = 'https://hc.example/ping/secret-key';
const MINUTE_MS = 60_000;
const RECEIVERS: Receiver[] = [
  { name: 'ops', integrations: [webhook(), webhook()] },
  { name: 'pager', integrations: [webhook()] },
  { name: 'nobody', integrations: [] },
  { name: 'lake', integrations: [webhook({ format: 'cloudevents' })] },
];

const stores: Store[] = [];
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
});

async function beating(answer: () => number = () => 200) {
  const clock = createVirtualClock();
  const store = await openSqliteStore({ path: ':memory:', clock });
  stores.push(store);
  const requests: HttpRequest[] = [];
  const happenings: Happening[] = [];
  const region = {
    region: 'eu',
    isUp: true,
    started: true,
    feeds: [
      { feed: 'notification', lastSuccessUs: clock.nowUs() },
      { feed: 'flight', lastSuccessUs: clock.nowUs() },
    ],
  };
  const state: { regions: WatchedRegion[] } = { regions: [region] };
  const stop = new AbortController();
  const heartbeat = createHeartbeat({
    config: { url: secret(URL), intervalMs: MINUTE_MS },
    receivers: RECEIVERS,
    regions: () => state.regions,
    freshForMs: 10 * MINUTE_MS,
    store,
    transport: {
      async send(request) {
        requests.push(request);
        return { status: answer(), headers: { location: 'https://elsewhere.example' }, body: '' };
      },
      close: async () => {},
    },
    clock,
    report: (one) => void happenings.push(one),
  });
  const ended = heartbeat.run(stop.signal);
  await clock.advance(0);
  const lastOf = () => {
    const last = happenings.at(-1);
    return last?.what === 'heartbeat' ? `${last.outcome} ${last.reason}`.trim() : last?.what;
  };
  const settle = async (receiver: string, position: number, failed: boolean) => {
    const id = `${receiver}-${position}-${clock.nowUs()}`;
    const settlement = failed
      ? ({ id, state: 'retry', nextAttemptAtUs: Number.MAX_SAFE_INTEGER, lastError: '503', failed } as const)
      : ({ id, state: 'delivered', nextAttemptAtUs: 0, lastError: '' } as const);
    await store.transaction(async (tx) => {
      await tx.outbox.enqueue(notification(id, receiver), [delivery(id, { receiver, position })]);
      await tx.outbox.settle([settlement], clock.nowUs());
    });
    await clock.advance(MINUTE_MS);
  };
  return { clock, requests, happenings, state, region, lastOf, settle, stop, ended };
}

describe('the heartbeat', () => {
  test('asks the address at once and then at its interval, until it is stopped', async () => {
    const { clock, requests, lastOf, stop, ended } = await beating();
    expect(requests).toEqual([{ method: 'GET', url: URL, headers: {} }]);
    await clock.advance(3 * MINUTE_MS);
    expect(requests).toHaveLength(4);
    expect(lastOf()).toBe('sent');
    stop.abort();
    await ended;
    expect(clock.pending()).toBe(0);
  });

  test.each<[string, (region: WatchedRegion) => WatchedRegion, string]>([
    ['down', (one) => ({ ...one, isUp: false }), 'silent region eu does not answer'],
    ['not yet read', (one) => ({ ...one, started: false }), 'silent region eu has not been read yet'],
    [
      'without one of its feeds',
      (one) => ({
        ...one,
        feeds: one.feeds.map((feed, at) => (at === 1 ? { ...feed, lastSuccessUs: 0 } : feed)),
      }),
      'silent feed flight of region eu was not read for too long',
    ],
  ])('stays out while a region is %s', async (_, change, said) => {
    const { clock, requests, state, region, lastOf } = await beating();
    state.regions = [{ ...region, region: 'us' }, change(region)];
    await clock.advance(MINUTE_MS);
    expect(requests).toHaveLength(1);
    expect(lastOf()).toBe(said);
    state.regions = [region];
    await clock.advance(MINUTE_MS);
    expect(requests).toHaveLength(2);
  });

  test('takes a feed for fresh up to its bound', async () => {
    const { clock, lastOf } = await beating();
    await clock.advance(10 * MINUTE_MS);
    expect(lastOf()).toBe('sent');
    await clock.advance(MINUTE_MS);
    expect(lastOf()).toMatch(/^silent feed notification of region eu/);
  });

  test('stays out when none of the receivers that were tried works', async () => {
    const { settle, lastOf } = await beating();
    await settle('ops', 1, true);
    expect(lastOf()).toBe('silent no receiver accepts what it is sent');
    // The other integration of the same receiver is no help: some of its people hear nothing.
    await settle('ops', 0, false);
    expect(lastOf()).toBe('silent no receiver accepts what it is sent');
    await settle('pager', 0, false);
    expect(lastOf()).toBe('sent');
    await settle('pager', 0, true);
    expect(lastOf()).toBe('silent no receiver accepts what it is sent');
    await settle('ops', 1, false);
    expect(lastOf()).toBe('sent');
  });

  test('counts no receiver that takes only events: it tells nobody of an alert', async () => {
    const { settle, lastOf } = await beating();
    await settle('lake', 0, false);
    await settle('ops', 0, true);
    expect(lastOf()).toBe('silent no receiver accepts what it is sent');
    await settle('lake', 0, true);
    await settle('ops', 0, false);
    expect(lastOf()).toBe('sent');
  });

  test('follows no redirect, and does not say where it goes', async () => {
    const { requests, lastOf, happenings } = await beating(() => 302);
    expect(lastOf()).toBe('failed it answered 302');
    expect(requests).toHaveLength(1);
    expect(JSON.stringify(happenings)).not.toContain('secret-key');
  });

  test('goes on after a call that failed', async () => {
    let isBroken = true;
    const { clock, lastOf } = await beating(() => {
      if (isBroken) throw new NestwatchError('unreachable', 'no answer from hc.example: ECONNREFUSED');
      return 204;
    });
    expect(lastOf()).toBe('failed no answer from hc.example: ECONNREFUSED');
    isBroken = false;
    await clock.advance(MINUTE_MS);
    expect(lastOf()).toBe('sent');
  });
});
