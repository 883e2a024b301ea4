import { describe, expect, test } from 'vitest';
import { Rate } from '../../src/service/rate.ts';

/** A service that asks for such a long pause has a quota: this is not random. */
const QUOTA_MS = 6_000;

/** A rate on a clock that only these functions move. */
function start({ ceiling = 50, startPerSecond = 2, chance = 0 } = {}) {
  let nowMs = 1000;
  const rate = new Rate({ ceiling, startPerSecond, random: () => chance, nowMs });
  let refusals = 0;
  const refuse = (retryAfterMs?: number, sentAtMs = nowMs) => {
    refusals += 1;
    return rate.refused(sentAtMs, retryAfterMs, nowMs);
  };
  return {
    rate,
    now: () => nowMs,
    passes(ms: number) {
      nowMs += ms;
    },
    /** Sends as fast as the rate allows for a while; returns how many were sent. */
    saturated(ms: number): number {
      const endMs = nowMs + ms;
      let sent = 0;
      for (;;) {
        const waitMs = rate.waitMs(nowMs);
        if (nowMs + waitMs > endMs) break;
        nowMs += waitMs;
        if (waitMs > 0) continue;
        rate.take(nowMs);
        rate.answered(nowMs - 50, nowMs);
        sent += 1;
      }
      nowMs = endMs;
      return sent;
    },
    /** The same with a service that refuses what exceeds this many requests a second. */
    beyond(perSecond: number, ms: number): void {
      const endMs = nowMs + ms;
      let [tokens, filledAtMs] = [perSecond, nowMs];
      for (;;) {
        const waitMs = rate.waitMs(nowMs);
        if (nowMs + waitMs > endMs) break;
        nowMs += waitMs;
        if (waitMs > 0) continue;
        rate.take(nowMs);
        tokens = Math.min(perSecond, tokens + ((nowMs - filledAtMs) * perSecond) / 1000);
        filledAtMs = nowMs;
        if (tokens >= 1) rate.answered(nowMs - 50, nowMs);
        else refuse();
        tokens = Math.max(0, tokens - 1);
      }
      nowMs = endMs;
    },
    refusals: () => refusals,
    refused: refuse,
  };
}

const levelOf = (rate: Rate) => Number(rate.level().toFixed(2));

describe('while rising', () => {
  test('the level doubles every two seconds up to the limit, as long as requests wait for it', () => {
    const { rate, saturated } = start();
    const levels = [levelOf(rate)];
    for (let step = 0; step < 6; step += 1) {
      saturated(2000);
      levels.push(Math.round(rate.level()));
    }
    expect(levels).toEqual([2, 4, 8, 16, 32, 50, 50]);
  });

  test('it does not grow if nothing waits for it', () => {
    const { rate, passes, now, saturated } = start();
    saturated(1000);
    passes(1000);
    rate.take(now());
    const before = rate.level();
    for (let sent = 0; sent < 100; sent += 1) {
      passes(1000);
      expect(rate.waitMs(now())).toBe(0);
      rate.take(now());
      rate.answered(now() - 50, now());
    }
    expect(rate.level()).toBe(before);
  });
});

describe('the spacing', () => {
  test('after a rest at most half a second of the level is sent at once', () => {
    const { rate, passes, now } = start({ ceiling: 20, startPerSecond: 20 });
    passes(60_000);
    let atOnce = 0;
    while (rate.waitMs(now()) === 0) {
      rate.take(now());
      atOnce += 1;
    }
    expect(atOnce).toBe(10);
    expect(rate.waitMs(now())).toBeCloseTo(50, 5);
  });

  test('there is room only with half of that left, and not in a pause', () => {
    const { rate, passes, now, refused } = start({ ceiling: 20, startPerSecond: 20 });
    passes(60_000);
    expect(rate.hasRoom(now())).toBe(true);
    for (let sent = 0; sent < 6; sent += 1) rate.take(now());
    expect(rate.hasRoom(now())).toBe(false);
    passes(60_000);
    refused();
    expect(rate.hasRoom(now())).toBe(false);
  });
});

describe('a refusal', () => {
  test('that asks for an absurd pause is probed every five minutes, and forgotten if a probe is answered', () => {
    const one = start({ startPerSecond: 10 });
    one.saturated(60_000);
    const before = one.rate.level();
    one.refused(30_000_000);
    one.rate.answered(one.now() - 10, one.now());
    // What was sent before was answered since, which says nothing.
    expect(one.rate.waitMs(one.now())).toBe(300_000);
    for (let probes = 0; probes < 3; probes += 1) {
      one.passes(300_000);
      expect(one.rate.waitMs(one.now())).toBe(0);
      one.rate.take(one.now());
      expect(one.rate.waitMs(one.now())).toBe(300_000);
      one.passes(50);
      if (probes < 2) one.refused(30_000_000, one.now() - 50);
    }
    expect(one.rate.pausedMs(one.now())).toBeGreaterThan(1_000_000);
    one.rate.answered(one.now() - 50, one.now());
    expect(one.rate.pausedMs(one.now())).toBe(0);
    expect(one.saturated(60_000)).toBeGreaterThan(30);
    one.saturated(2 * 3_600_000);
    expect(one.rate.level()).toBeGreaterThan(0.9 * before);
  });

  test('makes a pause of at least Retry-After, and at least a second', () => {
    const asked = start();
    asked.refused(7000);
    expect(asked.rate.waitMs(asked.now())).toBe(7000);
    const silent = start();
    silent.refused();
    expect(silent.rate.waitMs(silent.now())).toBe(1000);
    const spread = start({ chance: 0.5 });
    spread.refused(1000);
    expect(spread.rate.waitMs(spread.now())).toBeCloseTo(1050);
  });

  test('repeatedly makes the pauses double up to a minute, until something is accepted', () => {
    const { rate, passes, now, refused } = start();
    const pauses = [];
    for (let time = 0; time < 8; time += 1) {
      refused();
      const waitMs = rate.waitMs(now());
      pauses.push(Math.round(waitMs / 1000));
      passes(waitMs + 1);
    }
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
    rate.answered(now() - 50, now());
    refused();
    expect(Math.round(rate.waitMs(now()) / 1000)).toBeLessThanOrEqual(20);
  });

  test('while rising halves the level; soon after another takes 30 %; after a clean time 15 %', () => {
    const { rate, saturated, refused, passes } = start();
    saturated(4000);
    const first = rate.level();
    refused(QUOTA_MS);
    expect(rate.level()).toBeCloseTo(first * 0.5);
    passes(QUOTA_MS);
    saturated(3000);
    const second = rate.level();
    refused(QUOTA_MS);
    expect(rate.level()).toBeCloseTo(second * 0.7);
    passes(QUOTA_MS);
    saturated(40_000);
    const third = rate.level();
    refused(QUOTA_MS);
    expect(rate.level()).toBeCloseTo(third * 0.85);
  });

  test('of a request that was sent before the last cut is ignored', () => {
    const { rate, passes, refused, now } = start();
    const sentAtMs = now();
    passes(100);
    expect(refused(undefined, sentAtMs)).toBe(true);
    const level = rate.level();
    passes(50);
    expect(refused(3000, sentAtMs)).toBe(false);
    expect(rate.level()).toBe(level);
    expect(rate.waitMs(now())).toBe(3000);
  });

  test('that follows others with nothing accepted in between only makes the pauses longer', () => {
    const { rate, passes, refused } = start({ startPerSecond: 40 });
    const levels = [1, 2, 3, 4, 5].map(() => {
      refused();
      passes(61_000);
      return levelOf(rate);
    });
    expect(levels).toEqual([20, 14, 9.8, 9.8, 9.8]);
  });

  test('leaves no old tokens for the end of the pause', () => {
    const { rate, passes, refused, now } = start({ startPerSecond: 40 });
    passes(60_000);
    refused();
    passes(1000);
    expect(rate.waitMs(now())).toBeCloseTo(50);
  });
});

describe('while holding', () => {
  test('the level returns quickly, stays long just below the refused one, and then goes beyond it', () => {
    const low = start({ startPerSecond: 20, ceiling: 100 });
    low.refused();
    low.passes(1000);
    // Cut from 20 to 10, aiming at 15.
    const levels = [15, 30, 45, 60, 75, 90, 120].map((second, index, all) => {
      low.saturated((second - (all[index - 1] ?? 0)) * 1000);
      return levelOf(low.rate);
    });
    const [atQuarter, atHalf, , atPlateau, beyond, , twice] = levels as [number, ...number[]];
    expect(atQuarter).toBeGreaterThan(12.5);
    expect(atHalf).toBeGreaterThan(14);
    expect(atPlateau).toBeCloseTo(15, 1);
    expect(beyond).toBeLessThan(15.3);
    expect(twice).toBeCloseTo(20, 0);
  });

  test('a long pause makes the next probe of the level later', () => {
    const short = start({ startPerSecond: 20, ceiling: 100 });
    const long = start({ startPerSecond: 20, ceiling: 100 });
    short.refused();
    long.refused(30_000);
    for (const one of [short, long]) {
      one.passes(30_000);
      one.saturated(90_000);
    }
    expect(short.rate.level()).toBeGreaterThan(15);
    expect(long.rate.level()).toBeLessThan(14);
  });

  test('if few requests are allowed the next probe is later, so that few of them are refused', () => {
    const { rate, saturated, refused, passes } = start({ startPerSecond: 0.5 });
    refused(QUOTA_MS);
    passes(QUOTA_MS);
    saturated(120_000);
    expect(rate.level()).toBeLessThan(0.375);
    saturated(180_000);
    expect(rate.level()).toBeGreaterThan(0.375);
  });
});

describe('the level that was accepted before many refusals', () => {
  /** Accepted at 20, then refused this often, each time after a single answer. */
  function refusedAt20(times: number, retryAfterMs = 1000) {
    const one = start({ startPerSecond: 20, ceiling: 20 });
    one.saturated(20_000);
    for (let time = 0; time < times; time += 1) {
      one.refused(retryAfterMs);
      one.passes(retryAfterMs);
      one.saturated(Math.ceil(1000 / one.rate.level()) + 1);
    }
    return one;
  }

  test('is restored once ten seconds and five answers are clean', () => {
    const { rate, saturated } = refusedAt20(8);
    expect(rate.level()).toBeLessThan(4);
    saturated(9000);
    expect(rate.level()).toBeLessThan(6);
    saturated(20_000);
    expect(rate.level()).toBeGreaterThan(16);
    saturated(20_000);
    expect(levelOf(rate)).toBe(20);
  });

  test('is trusted half as much with each return that is refused', () => {
    const { rate, beyond, refusals } = refusedAt20(8);
    beyond(4, 120_000);
    expect(refusals()).toBeLessThan(60);
    expect(rate.level()).toBeLessThan(5);
  });

  test('is remembered over an outage, even if nothing was refused before it', () => {
    const { rate, saturated, refused, passes, now } = start({ startPerSecond: 20, ceiling: 20 });
    saturated(20_000);
    rate.restart(now());
    saturated(1000);
    for (let time = 0; time < 4; time += 1) {
      refused(QUOTA_MS);
      passes(QUOTA_MS);
      saturated(1000);
    }
    expect(rate.level()).toBeLessThan(2);
    saturated(70_000);
    expect(rate.level()).toBeGreaterThan(16);
  });
});

describe('a level that an earlier life reached', () => {
  function remembering(level: number, ageMs: number, options = {}) {
    const one = start(options);
    one.rate.remember(level, ageMs);
    return one;
  }

  test('is where the rate begins, less close the longer ago, and never below the level of a first start', () => {
    const hoursAgo = [0, 1, 24].map((hours) => levelOf(remembering(20, hours * 3_600_000).rate));
    expect(hoursAgo).toEqual([17, 7.52, 2]);
  });

  test('is tried before anything beyond it', () => {
    const { rate, saturated } = remembering(20, 86_400_000);
    saturated(10_000);
    expect(rate.level()).toBeGreaterThan(16.5);
    saturated(50_000);
    expect(rate.level()).toBeLessThanOrEqual(20.5);
    saturated(300_000);
    expect(rate.level()).toBeGreaterThan(21);
  });

  test('is not lost by restarts in an outage', () => {
    const before = start({ startPerSecond: 20, ceiling: 20 });
    before.saturated(20_000);
    let life = before;
    for (let lives = 0; lives < 6; lives += 1) {
      for (let time = 0; time < 4; time += 1) {
        life.refused(QUOTA_MS);
        life.passes(QUOTA_MS);
      }
      life = remembering(life.rate.bearable(life.now()), 10_000, { ceiling: 20 });
    }
    life.saturated(60_000);
    expect(life.rate.level()).toBeGreaterThan(16);
  });

  test('is given up if a lower limit refuses it, even over restarts', () => {
    let life = remembering(20, 10_000, { ceiling: 20 });
    for (let lives = 0; lives < 4; lives += 1) {
      life.beyond(4, 60_000);
      life = remembering(life.rate.bearable(life.now()), 10_000, { ceiling: 20 });
    }
    life.beyond(4, 60_000);
    expect(life.refusals()).toBeLessThan(6);
    expect(life.rate.bearable(life.now()) / 4).toBeLessThan(1.1);
  });

  test('beyond the limit, or near zero, is no reason to give up what is allowed', () => {
    const high = remembering(500, 0, { ceiling: 10 });
    high.saturated(20_000);
    expect(high.rate.level()).toBe(10);
    const low = remembering(0, 0);
    expect(low.rate.level()).toBeGreaterThanOrEqual(0.04);
    low.saturated(1_200_000);
    expect(low.rate.level()).toBeGreaterThan(1);
  });
});

describe('after an outage', () => {
  test('the level begins at 2 and rises to just below the level that was refused', () => {
    const { rate, saturated, refused, passes, now } = start({ startPerSecond: 40 });
    refused();
    passes(1000);
    saturated(60_000);
    const borne = rate.level();
    rate.restart(now());
    expect(rate.level()).toBe(2);
    saturated(8000);
    expect(rate.level()).toBeGreaterThan(borne * 0.84);
    expect(rate.level()).toBeLessThan(borne * 0.95);
  });

  test('it rises to the limit if nothing was refused, and sends no burst', () => {
    const { rate, saturated, passes, now } = start({ startPerSecond: 50 });
    passes(60_000);
    rate.restart(now());
    rate.take(now());
    expect(rate.waitMs(now())).toBeGreaterThan(400);
    saturated(12_000);
    expect(rate.level()).toBe(50);
  });
});
