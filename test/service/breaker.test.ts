import { describe, expect, test } from 'vitest';
import { Breaker, type RegionHealth } from '../../src/service/breaker.ts';
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
    /** Waits for the next probe and sends it; answers the seconds waited. */
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
  test('begins so, lets everything leave, and probes nothing', () => {
    const { breaker } = start();
    expect(breaker.health()).toMatchObject({ health: 'up', sinceUs: TEST_START_US });
    expect(breaker.waitMs()).toBe(0);
    expect(breaker.leave()).toBe(false);
  });

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

  test('stays up with fewer failures than half', () => {
    const { breaker, changes } = start();
    for (let round = 0; round < 20; round += 1) {
      breaker.answered(false);
      breaker.answered(false);
      breaker.failed(false, 'every third');
    }
    expect(changes).toEqual([]);
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

  test('is unauthorized on one 401, but only on the third 403 in a row', () => {
    const one = start();
    one.breaker.unauthorized(false, '401');
    expect(one.changes).toEqual(['unauthorized']);

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

  test('is probed a little earlier by chance, so that watchers do not probe together', () => {
    const { breaker, fails } = start(0);
    fails(5);
    expect(breaker.waitMs()).toBeCloseTo(1600);
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

  test('does not hear answers to requests that left before', () => {
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

  test('is up again when a probe meets a 403: it answers', async () => {
    const { breaker, fails, probes, changes } = start();
    fails(5);
    await probes();
    breaker.forbidden(true, '403');
    expect(changes).toEqual(['down', 'up']);
  });

  test('is unauthorized when a probe meets a 401', async () => {
    const { breaker, fails, probes, changes } = start();
    fails(5);
    await probes();
    breaker.unauthorized(true, '401');
    expect(changes).toEqual(['down', 'unauthorized']);
  });
});

describe('a region whose token is refused', () => {
  test('is probed every five minutes', async () => {
    const { breaker, probes, changes } = start();
    breaker.unauthorized(false, '401');
    expect(await probes()).toBe(300);
    breaker.unauthorized(true, '401');
    expect(await probes()).toBe(300);
    breaker.forbidden(true, '403');
    expect(await probes()).toBe(300);
    breaker.answered(true);
    expect(changes).toEqual(['unauthorized', 'up']);
  });

  test('is probed at once when the token has changed', async () => {
    const { breaker, probes, clock } = start();
    breaker.unauthorized(false, '401');
    await clock.advance(1000);
    breaker.probeNow();
    expect(await probes()).toBe(0);
  });

  test('is down when a probe fails', async () => {
    const { breaker, probes, changes } = start();
    breaker.unauthorized(false, '401');
    await probes();
    breaker.failed(true, 'no answer');
    expect(changes).toEqual(['unauthorized', 'down']);
    expect(breaker.waitMs()).toBeCloseTo(2000);
  });
});
