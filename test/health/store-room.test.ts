import { describe, expect, test } from 'vitest';
import { NestwatchError } from '../../src/errors.ts';
import { createStoreRoom } from '../../src/health/readiness.ts';
import type { Happening } from '../../src/report.ts';
import { createVirtualClock } from '../virtual-clock.ts';

const trouble = (error: unknown): Happening => ({ what: 'trouble', stage: 'alerting', error });
const full = new NestwatchError('disk_full', 'no space');
const written: Happening = {
  what: 'alert',
  alertname: 'FlightFailed',
  region: 'eu',
  state: 'firing',
  alertId: 'a',
};

describe('the space of the store', () => {
  test('is available until a write is refused', () => {
    const room = createStoreRoom(createVirtualClock());
    expect(room.refusal(true)).toBeUndefined();
    room.hear(trouble(new NestwatchError('unreachable', 'no answer')));
    room.hear(trouble(new Error('a bug')));
    expect(room.refusal(true)).toBeUndefined();
    room.hear(trouble(full));
    expect(room.refusal(true)).toBeDefined();
  });

  test('is available again when a write was accepted, whatever else is reported', () => {
    const room = createStoreRoom(createVirtualClock());
    room.hear({
      what: 'poll',
      region: 'eu',
      feed: 'flight',
      durationMs: 1,
      atUs: 0,
      failure: 'disk_full',
      error: full,
    });
    room.hear({ what: 'rate_limit', region: 'eu', requestsPerSecond: 1 });
    expect(room.refusal(true)).toBeDefined();
    room.hear(written);
    expect(room.refusal(true)).toBeUndefined();
  });

  test.each([
    ['a minute if there is space', true, 60_000],
    ['ten minutes if that is unknown', false, 600_000],
  ])('is available again when nobody was refused for %s', async (_, hasRoom, quietMs) => {
    const clock = createVirtualClock();
    const room = createStoreRoom(clock);
    room.hear(trouble(full));
    const sinceUs = clock.nowUs();
    await clock.advance(quietMs - 1_000);
    expect(room.refusal(hasRoom)).toEqual({ why: 'full', message: 'no space', sinceUs });
    room.hear(trouble(full));
    await clock.advance(quietMs - 1_000);
    expect(room.refusal(hasRoom)).toMatchObject({ sinceUs });
    await clock.advance(1_000);
    expect(room.refusal(hasRoom)).toBeUndefined();
  });

  test('distinguishes a store that fails from one that is full', () => {
    const room = createStoreRoom(createVirtualClock());
    room.hear(trouble(new NestwatchError('store_corrupt', 'The store is damaged.')));
    expect(room.refusal(true)).toMatchObject({ why: 'fails', message: 'The store is damaged.' });
  });

  test('is available again as soon as a server that was away answers', () => {
    const room = createStoreRoom(createVirtualClock());
    room.hear(trouble(new NestwatchError('store_down', 'no answer')));
    expect(room.refusal(false)).toMatchObject({ why: 'away', message: 'no answer' });
    room.answered();
    expect(room.refusal(false)).toBeUndefined();
    // An answer of the store says nothing about its disk.
    room.hear(trouble(full));
    room.answered();
    expect(room.refusal(false)).toMatchObject({ why: 'full' });
  });
});
