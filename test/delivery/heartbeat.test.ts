import { describe, expect, test } from 'vitest';
import { createHeartbeat } from '../../src/delivery/heartbeat.ts';
import { NestwatchError } from '../../src/errors.ts';
import type { HttpRequest } from '../../src/http/transport.ts';
import type { Happening } from '../../src/report.ts';
import { secret } from '../../src/secret.ts';
import { createVirtualClock } from '../virtual-clock.ts';

const URL = 'https://hc.example/ping/secret-key';
const MINUTE_MS = 60_000;
async function beating(answer: () => number = () => 200) {
  const clock = createVirtualClock();
  const requests: HttpRequest[] = [];
  const happenings: Happening[] = [];
  const state: { impairments: { title: string; stopsHeartbeat: boolean }[] } = { impairments: [] };
  const stop = new AbortController();
  const heartbeat = createHeartbeat({
    config: { url: secret(URL), intervalMs: MINUTE_MS },
    impairments: async () => state.impairments,
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
  return { clock, requests, happenings, state, lastOf, stop, ended };
}

describe('the heartbeat', () => {
  test('calls the address at once and then at its interval, until it is stopped', async () => {
    const { clock, requests, lastOf, stop, ended } = await beating();
    expect(requests).toEqual([{ method: 'GET', url: URL, headers: {} }]);
    await clock.advance(3 * MINUTE_MS);
    expect(requests).toHaveLength(4);
    expect(lastOf()).toBe('sent');
    stop.abort();
    await ended;
    expect(clock.pending()).toBe(0);
  });

  test('stops while something impairs the watch gravely, and says what', async () => {
    const { clock, requests, state, lastOf } = await beating();
    const small = { title: 'only 90 MiB free for the store', stopsHeartbeat: false };
    state.impairments = [small, { title: 'EU is down', stopsHeartbeat: true }];
    await clock.advance(MINUTE_MS);
    expect(requests).toHaveLength(1);
    expect(lastOf()).toBe('silent EU is down');
    state.impairments = [small];
    await clock.advance(MINUTE_MS);
    expect(requests).toHaveLength(2);
    expect(lastOf()).toBe('sent');
  });

  test('follows no redirect, and does not say where it leads', async () => {
    const { requests, lastOf, happenings } = await beating(() => 302);
    expect(lastOf()).toBe('failed it answered 302');
    expect(requests).toHaveLength(1);
    expect(JSON.stringify(happenings)).not.toContain('secret-key');
  });

  test('continues after a failed call', async () => {
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
