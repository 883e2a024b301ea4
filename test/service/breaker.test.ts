import { describe, expect, test } from 'vitest';
import type { RegionHealth } from '../../src/region-progress.ts';
import { Breaker } from '../../src/service/breaker.ts';
import { createVirtualClock, TEST_START_US } from '../virtual-clock.ts';

function start(chance = 1) {
  const clock = createVirtualClock();
  const changes: RegionHealth['health'][] = [];
  const breaker = new Breaker(
    clock,
    () => chance,
    ({ health }) => changes.push(health),
  );
  return {
    clock,
    breaker,
    changes,
    fails(times: number) {
      for (let time = 0; time < times; time += 1) breaker.failed(false, `failure ${time + 1}`);
    },
    /** Waits for the next probe and sends it; returns the seconds waited. */
    async probes(): Promise<number> {
      const waitMs = breaker.waitMs();
      await clock.advance(waitMs);
      expect(breaker.waitMs()).toBe(0);
      expect(breaker.leave()).toBe(true);
      return Math.round(waitMs / 1000);
    },
  };
}

describe('a region that is up', () => {
  test('goes down on the fifth failure in a row', async () => {
    const { breaker, clock, fails, changes } = start();
    fails(4);
    breaker.answered(false);
    fails(4);
    expect(changes).toEqual([]);
    await clock.advance(500);
    breaker.failed(false, 'the last straw');
    expect(changes).toEqual(['down']);
    expect(breaker.health()).toEqual({
      health: 'down',
      reason: 'the last straw',
      sinceUs: TEST_START_US + 500_000,
    });
  });

  test('goes down when half of ten answers are failures', () => {
    const { breaker, changes } = start();
    for (let pair = 0; pair < 5; pair += 1) {
      expect(changes).toEqual([]);
      breaker.answered(false);
      breaker.failed(false, 'every other');
    }
    expect(changes).toEqual(['down']);
  });

  test('stays up with failures that are 30 s apart from the others', async () => {
    const { breaker, clock, changes } = start();
    for (let round = 0; round < 20; round += 1) {
      breaker.answered(false);
      breaker.failed(false, 'every other, rarely');
      await clock.advance(8_000);
    }
    expect(changes).toEqual([]);
  });

  test('is asked once more at once after a 401, and is unauthorized on the second in a row', () => {
    const { breaker, changes } = start();
    breaker.unauthorized(false, '401');
    expect(changes).toEqual([]);
    expect(breaker.waitMs()).toBe(0);
    expect(breaker.leave()).toBe(true);
    expect(breaker.waitMs()).toBe(Number.POSITIVE_INFINITY);
    breaker.unauthorized(true, '401 again');
    expect(changes).toEqual(['unauthorized']);
    expect(breaker.health().reason).toBe('401 again');
  });

  test('forgets a 401 when the probe after it is answered', () => {
    const { breaker, changes } = start();
    for (let time = 0; time < 3; time += 1) {
      breaker.unauthorized(false, '401');
      expect(breaker.leave()).toBe(true);
      breaker.answered(true);
      expect(breaker.leave()).toBe(false);
    }
    expect(changes).toEqual([]);
  });

  test('counts 401s of concurrent requests as one', () => {
    const { breaker, changes } = start();
    for (let request = 0; request < 8; request += 1) breaker.unauthorized(false, '401');
    expect(changes).toEqual([]);
    expect(breaker.leave()).toBe(true);
    breaker.answered(false);
    expect(breaker.waitMs()).toBe(Number.POSITIVE_INFINITY);
    breaker.failed(true, 'the probe timed out');
    expect(breaker.leave()).toBe(false);
    breaker.unauthorized(false, '401');
    expect(changes).toEqual([]);
  });

  test('stays in doubt while the probe after a 401 says nothing about the region', () => {
    const { breaker, changes } = start();
    breaker.unauthorized(false, '401');
    breaker.leave();
    breaker.abandoned(true);
    expect(breaker.leave()).toBe(true);
    breaker.forbidden(true, '403');
    expect(breaker.leave()).toBe(false);
    expect(changes).toEqual([]);
  });

  test('is unauthorized only on the third 403 in a row', () => {
    const other = start();
    other.breaker.forbidden(false, '403');
    other.breaker.forbidden(false, '403');
    other.breaker.answered(false);
    other.breaker.forbidden(false, '403');
    other.breaker.forbidden(false, '403');
    expect(other.changes).toEqual([]);
    other.breaker.forbidden(false, '403');
    expect(other.changes).toEqual(['unauthorized']);
  });
});

describe('a region that is down', () => {
  test('is probed by one request at a time after waits that double up to a minute', async () => {
    const { breaker, fails, probes, changes } = start();
    fails(5);
    const waits = [];
    for (let probe = 0; probe < 7; probe += 1) {
      waits.push(await probes());
      expect(breaker.waitMs()).toBe(Number.POSITIVE_INFINITY);
      breaker.failed(true, `probe ${probe}`);
    }
    expect(waits).toEqual([2, 4, 8, 16, 32, 60, 60]);
    expect(changes).toEqual(['down']);
    expect(breaker.health()).toMatchObject({ reason: 'probe 6', sinceUs: TEST_START_US });
  });

  test('is up after one answer to a probe, and has forgotten its failures', async () => {
    const { breaker, fails, probes, changes, clock } = start();
    for (let time = 0; time < 6; time += 1) breaker.answered(false);
    fails(5);
    await probes();
    breaker.answered(true);
    expect(changes).toEqual(['down', 'up']);
    expect(breaker.health().sinceUs).toBe(clock.nowUs());
    fails(4);
    expect(changes).toEqual(['down', 'up']);
    fails(1);
    expect(breaker.waitMs()).toBeCloseTo(2000);
  });

  test('ignores answers to requests that were sent before', () => {
    const { breaker, fails, changes } = start();
    fails(5);
    breaker.answered(false);
    breaker.failed(false, 'late');
    breaker.unauthorized(false, 'late');
    breaker.forbidden(false, 'late');
    expect(changes).toEqual(['down']);
    expect(breaker.health().reason).toBe('failure 5');
    expect(breaker.waitMs()).toBeCloseTo(2000);
  });

  test('lets the next request probe when a probe was never sent', async () => {
    const { breaker, fails, probes } = start();
    fails(5);
    await probes();
    breaker.abandoned(false);
    expect(breaker.waitMs()).toBe(Number.POSITIVE_INFINITY);
    breaker.abandoned(true);
    expect(breaker.waitMs()).toBe(0);
  });

  test('is up again when a probe gets a 403: it answers', async () => {
    const { breaker, fails, probes, changes } = start();
    fails(5);
    await probes();
    breaker.forbidden(true, '403');
    expect(changes).toEqual(['down', 'up']);
  });

  test('is unauthorized when a probe and the one right after it get a 401', async () => {
    const { breaker, fails, probes, changes } = start();
    fails(5);
    await probes();
    breaker.unauthorized(true, '401');
    expect(changes).toEqual(['down']);
    expect(await probes()).toBe(0);
    breaker.unauthorized(true, '401');
    expect(changes).toEqual(['down', 'unauthorized']);
  });
});

describe('a region whose token is refused', () => {
  function refused() {
    const started = start();
    const { breaker } = started;
    breaker.unauthorized(false, '401');
    breaker.leave();
    breaker.unauthorized(true, '401');
    return started;
  }

  test('is probed after 5, 15 and 60 s, then every five minutes', async () => {
    const { breaker, probes, changes } = refused();
    const waits = [];
    for (let probe = 0; probe < 5; probe += 1) {
      waits.push(await probes());
      if (probe === 3) breaker.forbidden(true, '403');
      else breaker.unauthorized(true, '401');
    }
    expect(waits).toEqual([5, 15, 60, 300, 300]);
    await probes();
    breaker.answered(true);
    expect(changes).toEqual(['unauthorized', 'up']);
  });

  test('is probed at once when the token has changed', async () => {
    const { breaker, probes, clock } = refused();
    await clock.advance(1000);
    breaker.probeNow();
    expect(await probes()).toBe(0);
  });

  test('is down when a probe fails', async () => {
    const { breaker, probes, changes } = refused();
    await probes();
    breaker.failed(true, 'no answer');
    expect(changes).toEqual(['unauthorized', 'down']);
    expect(breaker.waitMs()).toBeCloseTo(2000);
  });
});
