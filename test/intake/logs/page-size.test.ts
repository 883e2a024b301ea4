import { beforeEach, describe, expect, test } from 'vitest';
import { createPageSize, type RegionPageSize } from '../../../src/intake/logs/page-size.ts';
import type { World } from '../../../src/simulator/world/world.ts';
import { openStage } from '../../acceptance/stage.ts';
import { createVirtualClock, type VirtualClock } from '../../virtual-clock.ts';

const HOUR_MS = 3_600_000;

let clock: VirtualClock;
let pages: RegionPageSize;

beforeEach(() => {
  clock = createVirtualClock();
  pages = createPageSize(100, clock);
});

/** Two streams learn that pages of this size are accepted. */
function learn(size: number): void {
  pages.learn(size, 1);
  pages.learn(size, 2);
}

describe('a smaller size', () => {
  test('is what two streams found, the larger of both; one alone is not enough, however often', () => {
    pages.learn(3, 1);
    pages.learn(12, 1);
    expect(pages.size()).toBe(100);
    pages.learn(25, 2);
    expect(pages.size()).toBe(25);
    pages.learn(12, 2);
    pages.learn(50, 3);
    expect(pages.size()).toBe(25);
    pages.learn(6, 3);
    expect(pages.size()).toBe(12);
  });
});

describe('what one stream found', () => {
  test('is its own size, and a larger one is tried sooner than for all', async () => {
    const own = pages.learn(12, 1);
    expect([own.size(), own.larger()]).toEqual([12, undefined]);
    await clock.advance(HOUR_MS / 60);
    for (const size of [24, 48, 96, 100]) {
      expect(own.larger()).toBe(size);
      own.tried(size, true);
      expect(own.size()).toBe(size);
    }
    expect(pages.size()).toBe(100);
  });

  test('is tried larger less and less often if that is always refused', async () => {
    const own = pages.learn(50, 1);
    let count = 0;
    for (let minute = 0; minute < 24 * 60; minute += 1) {
      await clock.advance(HOUR_MS / 60);
      if (own.larger() === undefined) continue;
      own.tried(100, false);
      count += 1;
    }
    expect(count).toBe(10);
  });
});

describe('a larger size', () => {
  test('is not tried while nothing was refused', async () => {
    await clock.advance(48 * HOUR_MS);
    expect(pages.larger()).toBeUndefined();
  });

  test('is tried by one after an hour, and at once again if it was accepted, up to the first', async () => {
    learn(12);
    await clock.advance(HOUR_MS - 1);
    expect(pages.larger()).toBeUndefined();
    await clock.advance(1);
    for (const size of [24, 48, 96, 100]) {
      expect([pages.larger(), pages.larger()]).toEqual([size, undefined]);
      pages.tried(size, true);
      expect(pages.size()).toBe(size);
    }
    expect(pages.larger()).toBeUndefined();
  });

  test('that is always refused is tried less and less often, at last once a day', async () => {
    learn(25);
    const triedAtHour: number[] = [];
    for (let hour = 1; hour <= 24 * 7; hour += 1) {
      await clock.advance(HOUR_MS);
      const larger = pages.larger();
      if (larger === undefined) continue;
      pages.tried(larger, false);
      triedAtHour.push(hour);
    }
    expect(triedAtHour).toEqual([1, 3, 7, 15, 31, 55, 79, 103, 127, 151]);
    expect(pages.size()).toBe(25);
  });
});

test.each([50, 300])(
  'a minute in which all pages are refused has no lasting effect, at %i ms per answer',
  async (latencyMs) => {
    let world!: World;
    let isRefusing = false;
    let sizes = new Set<string>();
    const stage = await openStage({
      regions: ['eu'],
      behaviours: { eu: { latencyMs } },
      before(one) {
        world = one;
        const { id } = world.addNest({ name: 'Nest' });
        for (let at = 0; at < 20; at += 1) world.addBird(id, { name: `Bird ${at}`, triggerType: 'event' });
      },
      between: (service) => ({
        ...service,
        async send(request) {
          const size = /pageSize=(\d+)/.exec(request.url)?.[1];
          if (size) sizes.add(size);
          const answer = await service.send(request);
          return size && isRefusing ? { ...answer, status: 400, body: '{}' } : answer;
        },
      }),
    });
    await stage.minutesPass(10);
    isRefusing = true;
    await stage.minutesPass(1);
    isRefusing = false;
    expect(sizes).toContain('1');
    await stage.minutesPass(5);
    sizes = new Set();
    await stage.minutesPass(10);
    expect(sizes).toEqual(new Set(['100']));
    await stage.clock.advance(0);
    const closed = stage.close();
    await stage.clock.advance(1000);
    await closed;
  },
);
