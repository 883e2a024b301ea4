import { describe, expect, test } from 'vitest';
import type { Outcome } from '../../src/channels/channel.ts';
import { EXPIRES_AFTER_MS, judge } from '../../src/delivery/attempt.ts';
import type { Delivery, Settlement } from '../../src/store/outbox-store.ts';
import { delivery, NOW_US } from '../channels/sample-notifications.ts';

const failed: Outcome = { kind: 'failed', reason: 'unavailable', error: 'HTTP 503' };
const refused: Outcome = { kind: 'refused', reason: 'rejected', error: 'HTTP 404' };
const EXPIRES_AT_US = NOW_US + EXPIRES_AFTER_MS * 1000;

/** Judges one attempt after another, each at the instant that the previous one chose, until the delivery is settled. */
function story(
  outcomeOf: (attempt: number, nowUs: number) => Outcome,
  chance = 0.999,
  seen: (settlement: Settlement) => void = () => {},
) {
  let one: Delivery = delivery();
  const waitsMs: number[] = [];
  for (let nowUs = NOW_US; ; nowUs = one.nextAttemptAtUs) {
    one = { ...one, attempts: one.attempts + 1 };
    const { settlement, reason } = judge(one, outcomeOf(one.attempts, nowUs), nowUs, () => chance);
    // As the store does it: what a settlement does not carry over is reset.
    one = { ...one, refusals: 0, refusedBy: '', ...settlement };
    seen(settlement);
    if (!['retry', 'ambiguous'].includes(settlement.state))
      return { ...one, reason, waitsMs, endedAtUs: nowUs };
    waitsMs.push(Math.round((settlement.nextAttemptAtUs - nowUs) / 1000));
  }
}

describe('the outcome of an attempt', () => {
  test('accepted keeps the reference by which later messages of its lane update it', () => {
    const { settlement } = judge(delivery(), { kind: 'accepted', reference: 'ts-1' }, NOW_US, Math.random);
    expect(settlement).toMatchObject({ state: 'delivered', reference: 'ts-1' });
  });

  test('accepted is delivered, with the recipients that refused it', () => {
    const { settlement, reason } = judge(
      delivery(),
      { kind: 'accepted', leftOut: [{ recipient: 'bob', why: '550' }] },
      NOW_US,
      Math.random,
    );
    expect(settlement).toEqual({
      id: 'd-1',
      state: 'delivered',
      nextAttemptAtUs: NOW_US,
      lastError: 'not sent to bob: 550',
    });
    expect(reason).toBe('rejected');
    expect(judge(delivery(), { kind: 'accepted' }, NOW_US, Math.random)).not.toHaveProperty('reason');
  });

  test('nothing to send is suppressed, with the reason', () => {
    const { settlement } = judge(delivery(), { kind: 'nothing', why: 'nobody there' }, NOW_US, Math.random);
    expect(settlement).toMatchObject({ state: 'suppressed', lastError: 'nobody there' });
  });

  test('a failure is retried after waits that double from 1 s to 10 min', () => {
    const { waitsMs } = story((attempt) => (attempt < 13 ? failed : { kind: 'accepted' }));
    const doubled = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600];
    for (const [index, seconds] of doubled.entries()) {
      expect(waitsMs[index]! / 1000 / seconds).toBeCloseTo(1, 2);
    }
  });

  test('jitter takes at most half of a wait', () => {
    const { waitsMs } = story((attempt) => (attempt < 3 ? failed : { kind: 'accepted' }), 0);
    expect(waitsMs).toEqual([500, 1000]);
  });

  test('a receiver that is down for 72 h gets a last attempt at that hour, then the delivery is dead', () => {
    const end = story(() => failed);
    expect(end).toMatchObject({
      state: 'dead',
      reason: 'expired',
      lastError: 'HTTP 503 (given up after 72 h)',
    });
    expect(end.endedAtUs).toBe(EXPIRES_AT_US);
  });

  test('a receiver that comes back after 71 h is notified', () => {
    const backAtUs = NOW_US + 71 * 3_600_000_000;
    const end = story((_, nowUs) => (nowUs < backAtUs ? failed : { kind: 'accepted' }));
    expect(end.state).toBe('delivered');
  });

  test('an unknown outcome is ambiguous and retried like a failure', () => {
    const outcome: Outcome = { kind: 'unknown', reason: 'timeout', error: 'no answer' };
    const { settlement, reason } = judge(delivery({ attempts: 1 }), outcome, NOW_US, () => 0);
    expect(settlement).toEqual({
      id: 'd-1',
      state: 'ambiguous',
      failed: true,
      nextAttemptAtUs: NOW_US + 500_000,
      lastError: 'no answer',
    });
    expect(reason).toBe('timeout');
  });

  test('a receiver that asks for a longer wait gets it, but not beyond the 72 h', () => {
    const ask = (retryAfterMs: number) =>
      judge(delivery({ attempts: 1 }), { ...failed, retryAfterMs }, NOW_US, () => 0).settlement
        .nextAttemptAtUs;
    expect(ask(90_000)).toBe(NOW_US + 90_000_000);
    expect(ask(1)).toBe(NOW_US + 500_000);
    expect(ask(1_000 * 3_600_000)).toBe(EXPIRES_AT_US);
  });

  test('a refusal is final after three, which are a minute and five minutes apart', () => {
    const end = story(() => refused);
    expect(end).toMatchObject({ state: 'dead', attempts: 3, reason: 'rejected', waitsMs: [60_000, 300_000] });
    expect(end.lastError).toBe('HTTP 404 (refusal 3 of 3)');
  });

  test('a refusal of what must not be sent again is final at once', () => {
    const end = story(() => ({ ...refused, error: 'HTTP 400', isFinal: true }));
    expect(end).toMatchObject({ state: 'dead', attempts: 1, lastError: 'HTTP 400 (refused for good)' });
  });

  test('a refusal after a long outage still has its three attempts', () => {
    const end = story((attempt) => (attempt <= 8 ? failed : refused));
    expect(end).toMatchObject({ state: 'dead', attempts: 11 });
  });

  test('refusals with a failure between them are counted from the start', () => {
    const end = story((attempt) => (attempt === 3 ? failed : refused));
    expect(end).toMatchObject({ state: 'dead', attempts: 6 });
  });

  describe('with several recipients', () => {
    const full: Outcome = { ...failed, error: 'deferred for full@x: 452', remaining: ['full@x'] };
    const gone: Outcome = { ...full, leftOut: [{ recipient: 'gone@x', why: '550' }] };

    test('leaves the remaining ones to the last attempt, and says who they were', () => {
      const both: Outcome = { ...full, remaining: ['full@x', 'late@x'] };
      const end = story((_, nowUs) => (nowUs < EXPIRES_AT_US ? both : full));
      expect(end).toMatchObject({
        state: 'dead',
        remaining: ['full@x'],
        lastError: 'deferred for full@x: 452 (given up after 72 h)',
      });
    });

    test('remembers who refused it permanently, whatever the others result in', () => {
      const texts: string[] = [];
      const outcomes: Outcome[] = [
        gone,
        failed,
        { kind: 'unknown', reason: 'timeout', error: 'no answer' },
        refused,
        { ...full, leftOut: [{ recipient: 'left@x', why: '551' }] },
        { kind: 'accepted' },
      ];
      const end = story(
        (attempt) => outcomes[attempt - 1]!,
        0.999,
        ({ lastError }) => texts.push(lastError),
      );
      expect(texts).toEqual([
        'deferred for full@x: 452; not sent to gone@x: 550',
        'HTTP 503; not sent to gone@x: 550',
        'no answer; not sent to gone@x: 550',
        'HTTP 404; not sent to gone@x: 550 (refusal 1 of 3)',
        'deferred for full@x: 452; not sent to gone@x: 550; left@x: 551',
        'not sent to gone@x: 550; left@x: 551',
      ]);
      expect(end.state).toBe('delivered');
    });

    test('still gives up what the remaining ones refuse', () => {
      const end = story((attempt) => (attempt === 1 ? gone : refused));
      expect(end).toMatchObject({
        state: 'dead',
        attempts: 4,
        lastError: 'HTTP 404; not sent to gone@x: 550 (refusal 3 of 3)',
      });
    });

    test("does not trust a server's words", () => {
      const hostile: Outcome = { ...failed, error: '452; not sent to bob (refusal 2 of 3)' };
      const end = story((attempt) => (attempt === 1 ? gone : attempt < 30 ? hostile : { kind: 'accepted' }));
      expect(end.lastError).toBe('not sent to gone@x: 550');
      const never = story((attempt) => (attempt < 30 ? hostile : { kind: 'accepted' }));
      expect(never.lastError).toBe('');
    });
  });
});
