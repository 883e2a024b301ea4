import { describe, expect, test } from 'vitest';
import { NestwatchError } from '../../src/errors.ts';
import { createStoreRoom } from '../../src/observe/store-health.ts';
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

describe('the room of the store', () => {
  test('is there until a write is refused', () => {
    const room = createStoreRoom(createVirtualClock());
    expect(room.isThere()).toBe(true);
    room.hear(trouble(new NestwatchError('unreachable', 'no answer')));
    room.hear(trouble(new Error('a bug')));
    expect(room.isThere()).toBe(true);
    room.hear(trouble(full));
    expect(room.isThere()).toBe(false);
  });

  test('is there again when a write was accepted, whatever else is said', () => {
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
    expect(room.isThere()).toBe(false);
    room.hear(written);
    expect(room.isThere()).toBe(true);
  });

  test('is there again when nobody was refused for ten minutes', async () => {
    const clock = createVirtualClock();
    const room = createStoreRoom(clock);
    room.hear(trouble(full));
    await clock.advance(599_000);
    expect(room.isThere()).toBe(false);
    room.hear(trouble(full));
    await clock.advance(599_000);
    expect(room.isThere()).toBe(false);
    await clock.advance(1_000);
    expect(room.isThere()).toBe(true);
  });
});
