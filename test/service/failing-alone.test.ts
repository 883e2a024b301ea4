import { describe, expect, test } from 'vitest';
import { NestwatchError } from '../../src/errors.ts';
import { FailingAlone, type Sent } from '../../src/service/failing-alone.ts';

const logs = (sentAtMs: number, birdId = '1'): Sent => ({
  operation: 'getBirdLogs',
  target: `/nests/n/birds/${birdId}/logs?page=0`,
  sentAtMs,
});
const flights = (sentAtMs: number, birdId = '2', nestId = 'm'): Sent => ({
  operation: 'searchFlights',
  target: `/nests/${nestId}/birds/${birdId}/flights`,
  sentAtMs,
});
const nests = (sentAtMs: number): Sent => ({ operation: 'searchNests', target: '/nests', sentAtMs });

describe('what fails', () => {
  const failure = new NestwatchError('timeout', 'getBirdLogs of eu: no answer within 30 s');

  test('counts as failing alone from its fourth failure in a row on, as long as others were answered lately', () => {
    const failing = new FailingAlone();
    const fails = (atMs: number) => failing.failed(logs(atMs), 'failure', failure, atMs);
    expect([fails(0), fails(1), fails(2), fails(3)]).toEqual([false, false, false, false]);
    failing.answered(flights(10), 10);
    expect([fails(11), fails(30_009), fails(30_010)]).toEqual([true, true, false]);
    failing.answered(nests(40_000), 40_000);
    expect(fails(40_001)).toBe(true);
  });

  test('is paused for longer the more often it fails alone, if it is an operation', () => {
    const failing = new FailingAlone();
    for (let at = 0; at < 3; at += 1) failing.failed(logs(at), 'failure', failure, at);
    failing.answered(flights(3), 3);
    const left: number[] = [];
    for (let at = 0; at < 6; at += 1) {
      failing.failed(logs(4), 'failure', failure, 4);
      left.push(failing.skippedFor(logs(0), 4)!.facts.retryAfterMs!);
    }
    expect(left).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
    expect(failing.skippedFor(logs(0), 4)).toMatchObject({
      message: 'getBirdLogs of eu: no answer within 30 s, 9 times in a row; it is asked again in 60 s',
      facts: { isAlone: true },
    });
    expect(failing.skippedFor(flights(0), 4)).toBeUndefined();
  });

  test('starts again once it is answered', () => {
    const failing = new FailingAlone();
    const fails = () => failing.failed(logs(5), 'failure', failure, 5);
    fails();
    failing.answered(flights(5), 5);
    failing.answered(logs(5), 5);
    expect([fails(), fails(), fails(), fails()]).toEqual([false, false, false, false]);
  });

  test('may be one Bird of which everything fails, while the operations are answered for others', () => {
    const failing = new FailingAlone();
    const alone: boolean[] = [];
    for (let at = 0; at < 3; at += 1) {
      alone.push(
        failing.failed(logs(at, 'bad'), 'failure', failure, at),
        failing.failed(flights(at, 'bad', 'n'), 'failure', failure, at),
      );
      failing.answered(logs(at, 'good'), at);
      failing.answered(flights(at, 'good', 'n'), at);
    }
    expect(alone).toEqual([false, false, false, true, true, true]);
  });
});

describe('an operation that is refused', () => {
  const refusal = (retryAfterMs?: number) =>
    new NestwatchError('rate_limited', 'getBirdLogs of eu: the service answered 429', {
      facts: retryAfterMs === undefined ? {} : { retryAfterMs },
    });

  test('is paused from its fourth refusal in a row on, for at most 10 s as long as it may be the region', () => {
    const failing = new FailingAlone();
    const refuse = (atMs: number) => failing.failed(logs(atMs), 'refusal', refusal(60_000), atMs);
    for (const atMs of [0, 10, 20]) refuse(atMs);
    expect(failing.skippedFor(logs(0), 21)).toBeUndefined();
    expect(refuse(30)).toBe(false);
    expect(failing.skippedFor(logs(0), 5_029)?.facts).toEqual({ retryAfterMs: 1, isAlone: false });
    expect(failing.skippedFor(logs(0), 5_030)).toBeUndefined();
    for (const atMs of [6_000, 20_000, 40_000]) expect(refuse(atMs)).toBe(false);
    expect(failing.skippedFor(logs(0), 49_999)?.message).toContain('429, 7 times in a row; it is asked');
    expect(failing.skippedFor(logs(0), 50_000)).toBeUndefined();
    expect(failing.skippedFor(flights(0), 49_999)).toBeUndefined();
  });

  test('alone is tried with what was not requested in vain before', () => {
    const failing = new FailingAlone();
    const refuse = (atMs: number, birdId?: string) =>
      failing.failed(logs(atMs, birdId), 'refusal', refusal(), atMs);
    for (const atMs of [0, 10, 20, 30]) {
      refuse(atMs);
      failing.answered(flights(atMs), atMs);
    }
    expect(failing.skippedFor(logs(31, 'other'), 31)).toBeDefined();
    expect(refuse(40)).toBe(true);
    expect(failing.skippedFor(logs(41), 41)).toBeDefined();
    expect(failing.skippedFor(logs(41, 'other'), 41)).toBeUndefined();
    failing.answered(flights(41), 41);
    refuse(42, 'other');
    expect(failing.skippedFor(logs(43, 'other'), 43)).toBeDefined();
  });

  test('is refused alone once others were answered between five of its refusals', () => {
    const failing = new FailingAlone();
    const alone: boolean[] = [];
    for (const atMs of [0, 10_000, 20_000, 30_000, 40_000]) {
      alone.push(failing.failed(logs(atMs), 'refusal', refusal(120_000), atMs));
      failing.answered(flights(atMs), atMs);
    }
    expect(alone).toEqual([false, false, false, false, true]);
    expect(failing.skippedFor(logs(0), 159_999)?.facts).toEqual({ retryAfterMs: 1, isAlone: true });
    expect(failing.skippedFor(logs(0), 160_000)).toBeUndefined();
    failing.answered(logs(160_000), 160_000);
    expect(failing.failed(logs(160_001), 'refusal', refusal(), 160_001)).toBe(false);
  });

  test('may be the region again when nothing was answered between its last two refusals', () => {
    const failing = new FailingAlone();
    for (const atMs of [0, 10_000, 20_000, 30_000, 40_000]) {
      failing.failed(logs(atMs), 'refusal', refusal(), atMs);
      failing.answered(flights(atMs), atMs);
    }
    expect(failing.failed(logs(100_000), 'refusal', refusal(), 100_000)).toBe(true);
    expect(failing.failed(logs(160_000), 'refusal', refusal(), 160_000)).toBe(false);
  });

  test('counts concurrent refusals once', () => {
    const failing = new FailingAlone();
    for (let at = 0; at < 8; at += 1) failing.failed(logs(5), 'refusal', refusal(), 100 + at);
    expect(failing.skippedFor(logs(0), 200)).toBeUndefined();
  });
});

describe('a Bird for which the token is refused', () => {
  const refusal = new NestwatchError('unauthorized', 'getBirdLogs of eu: the service answered 401');

  test('is refused alone once another was answered with it, and its operation is not paused', () => {
    const failing = new FailingAlone();
    const alone: boolean[] = [];
    for (let at = 0; at < 9; at += 1) {
      alone.push(failing.failed(logs(at, 'bad'), 'unauthorized', refusal, at));
      failing.answered(logs(at, 'good'), at);
    }
    expect(alone).toEqual([false, ...Array(8).fill(true)]);
    expect(failing.skippedFor(logs(0), 10)).toBeUndefined();
  });

  test('reports the token as refused while nothing else is answered', () => {
    const failing = new FailingAlone();
    for (let at = 0; at < 9; at += 1) {
      expect(failing.failed(logs(at, `${at % 3}`), 'unauthorized', refusal, at)).toBe(false);
    }
  });
});
