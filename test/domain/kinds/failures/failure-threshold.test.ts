import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isForgettable } from '../../../../src/domain/alert/alert.ts';
import {
  endsAskedFor,
  isReached,
  latestEnds,
  weigh,
} from '../../../../src/domain/kinds/failures/flight-failed.ts';
import { ends, flight, minute, rule, storyUnder, watch } from '../../world.ts';

const half = { least: 0.5, ofLast: 4 };

describe('a share of the last Flights', () => {
  test.each([
    ['xx', false],
    ['xxx', false],
    ['xx..', true],
    ['x...', false],
    ['xx...', false],
    ['..xx', true],
    ['....x', false],
    ['xxxx', true],
  ])('%s, at least half of 4: %s', (pattern, reached) => {
    expect(isReached(half, ends(pattern))).toBe(reached);
  });

  const rules = [rule('FlightFailed', { ratio: half.least, ofLast: half.ofLast })];
  const failed = (at: number, pattern: string) => ({
    ...flight('failed', { started: at - 1, at }),
    latestEnds: ends(pattern, at + 1 - pattern.length),
  });

  test('includes the failures that caused it, and says how many they were', () => {
    const story = storyUnder(rules, [2, failed(2, '..x')]);
    expect(story.the('FlightFailed')).toMatchObject({ state: 'pending', lastSeq: 0 });
    story.tell(3, failed(3, '..xx'));
    expect(story.the('FlightFailed')).toMatchObject({ state: 'firing', lastSeq: 2 });
    expect(story.the('FlightFailed').annotations.summary).toBe(
      '2 of the last 4 Flights of Translate blog failed in Marketing (EU)',
    );
  });

  test('does not include failures before the last Flights', () => {
    const story = storyUnder(rules, [2, failed(2, '...x')]);
    story.tell(9, failed(9, '...x'));
    story.tell(10, failed(10, '..xx'));
    expect(story.the('FlightFailed')).toMatchObject({
      ...{ state: 'firing', lastSeq: 2, startsAtUs: minute(9) },
    });
  });

  test('a failure that is seen only after the last Flights does not raise it alone', () => {
    const story = storyUnder(rules, [9, { ...failed(2, ''), latestEnds: ends('.xxx', 5) }]);
    expect(story.the('FlightFailed')).toMatchObject({ state: 'pending', lastSeq: 0 });
  });

  test('is over when a success lowers the share, not before', () => {
    const story = storyUnder(rules, [3, failed(2, '.xx'), failed(3, '.xxx')]);
    for (const at of [4, 5]) story.tell(at, flight('succeeded', { started: at - 0.5, at }));
    expect(story.firing()).toEqual(['FlightFailed warning']);
    story.tell(6, flight('succeeded', { started: 5.5, at: 6 }));
    expect(story.the('FlightFailed')).toMatchObject({ state: 'resolved', endsAtUs: minute(6) });
  });

  test('a success that came with the failure is not counted twice', () => {
    const story = watch(rules);
    const success = flight('succeeded', { started: 2, at: 2 });
    const latest = [...ends('xx', 0), { key: success.event.key, atUs: minute(2), failed: false }];
    const failure = flight('failed', { started: 2, at: 3 });
    story.tell(4, success, { ...failure, latestEnds: [...latest, ...ends('x', 3)] });
    expect(story.the('FlightFailed').memory).toMatchObject({ ends: { length: 4 } });
    story.tell(5, flight('succeeded', { started: 4, at: 5 }));
    expect(story.firing()).toEqual(['FlightFailed warning']);
  });

  test('forgets after a day what never was enough', () => {
    const story = storyUnder(rules, [2, failed(2, '...x')]);
    story.pass(2 + 1440);
    expect(isForgettable(story.the('FlightFailed'))).toBe(true);
  });
});

describe('Flights in a row', () => {
  const rules = [rule('FlightFailed', { consecutive: 3 })];
  const failed = (at: number, pattern: string) => ({
    ...flight('failed', { started: at - 1, at }),
    latestEnds: ends(pattern, at + 1 - pattern.length),
  });

  test.each([
    ['xx', false],
    ['xxx', true],
    ['xx.x', false],
    ['xxx.', false],
    ['.xxx', true],
  ])('%s: %s', (pattern, enough) => {
    const { isEnough } = weigh(rules[0]!, [failed(0, '').event], ends(pattern));
    expect(isEnough).toBe(enough);
  });

  test('a success in between, whenever it is seen, starts the count again', () => {
    const story = watch(rules);
    story.tell(1, failed(1, 'x'));
    story.tell(2, failed(2, 'xx'));
    story.tell(3, flight('succeeded', { started: 0, at: 2.5 }));
    expect(isForgettable(story.the('FlightFailed'))).toBe(true);
    story.tell(4, failed(4, 'xx.x'));
    story.tell(5, flight('succeeded', { started: 0, at: 3 }));
    expect(isForgettable(story.the('FlightFailed'))).toBe(false);
    story.tell(5, failed(5, '.xx'));
    expect(story.firing()).toEqual([]);
    story.tell(6, failed(6, 'xxx'));
    expect(story.the('FlightFailed')).toMatchObject({
      state: 'firing',
      eventsTotal: 3,
      startsAtUs: minute(4),
    });
    expect(story.the('FlightFailed').annotations.summary).toBe(
      '3 or more Flights of Translate blog failed in a row in Marketing (EU)',
    );
  });

  test('a failure that is seen only after the series does not raise it alone', () => {
    const story = storyUnder(rules, [9, { ...failed(2, ''), latestEnds: ends('.xxx', 5) }]);
    expect(story.the('FlightFailed')).toMatchObject({ state: 'pending', lastSeq: 0 });
  });

  test('a series whose first failures were forgotten is still a series', () => {
    const story = storyUnder(rules, [3, failed(3, 'xxx')]);
    expect(story.the('FlightFailed')).toMatchObject({ state: 'firing', eventsTotal: 1 });
  });
});

test('the latest ends are the same in any order of arrival, and each is there once', () => {
  const one = fc.record({ key: fc.string({ maxLength: 3 }), atUs: fc.nat(9), failed: fc.boolean() });
  fc.assert(
    fc.property(
      fc.uniqueArray(one, { selector: ({ key }) => key }),
      fc.integer({ min: 1, max: 5 }),
      (all, limit) => {
        const expected = latestEnds(all, limit);
        expect(expected.length).toBe(Math.min(limit, all.length));
        expect(latestEnds([...all.toReversed(), ...all], limit)).toEqual(expected);
      },
    ),
  );
});

test('the rules ask for as many ends as the longest of them considers', () => {
  expect(endsAskedFor([rule('FlightFailed'), rule('BirdStale')])).toBe(0);
  expect(
    endsAskedFor([
      rule('FlightFailed', { consecutive: 3 }),
      rule('FlightFailed', { ratio: half.least, ofLast: half.ofLast }),
      rule('RegionDown'),
    ]),
  ).toBe(4);
});
