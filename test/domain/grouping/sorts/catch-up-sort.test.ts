import { describe, expect, test } from 'vitest';
import type { Alert } from '../../../../src/domain/alert/alert.ts';
import { flush } from '../../../../src/domain/grouping/flush.ts';
import {
  type AlertInGroup,
  type Group,
  type GroupMember,
  HAS_LEFT,
  isNews,
} from '../../../../src/domain/grouping/group.ts';
import { summaryTitle, summaryWords } from '../../../../src/domain/grouping/notification.ts';
import {
  awaitSummary,
  catchUpKey,
  countLeftToSummary,
  groupAfterSummary,
  leaveToSummary,
  memberAfterSummary,
  summarize,
} from '../../../../src/domain/grouping/sorts.ts';
import type { Suppression } from '../../../../src/domain/muting/suppression.ts';
import { group, member, alert as storedAlert, suppression } from '../../../store/contract/sample-records.ts';
import { TEST_START_US } from '../../../virtual-clock.ts';
import { node, tree } from '../../route-tree.ts';

const NOW_US = TEST_START_US;
const MINUTE_US = 60_000_000;
const ROOT = tree(node(''));

const alertOf = (id: string, lastSeq: number, changes: Partial<Alert> = {}) =>
  storedAlert(id, { lastSeq, eventsTotal: lastSeq, ...changes });
const memberOf = (changes: Partial<GroupMember> = {}) => member('{}:{}', 'a', changes);
const old = (lastSeq: number, fromMinute = -600, toMinute = -400) => ({
  lastSeq,
  fromUs: NOW_US + fromMinute * MINUTE_US,
  toUs: NOW_US + toMinute * MINUTE_US,
});

const flushOf = (of: Group, one: AlertInGroup, nowUs: number) =>
  flush({ group: of, open: [one], waiting: [], route: ROOT, nowUs });

describe('what is left to a summary', () => {
  test.each([
    ['never notified, all of it old', 'none', 0, 5, 'summary'],
    ['notified as resolved, all of it old', 'resolved', 0, 5, 'summary'],
    ['never notified, with something fresh', 'none', 0, 3, 'none'],
    ['notified as firing', 'firing', 1, 5, 'firing'],
    ['muted since it was notified', 'hidden', 1, 5, 'hidden'],
    ['left to it before', 'summary', 2, 5, 'summary'],
  ] as const)('%s', (_, notifiedState, notifiedSeq, lastSeq, stateAfter) => {
    const left = leaveToSummary(memberOf({ notifiedState, notifiedSeq }), alertOf('a', 5), old(lastSeq));
    expect(left).toMatchObject({ notifiedSeq: lastSeq, notifiedState: stateAfter });
  });

  test('is not news for its own group, whether it fires or not, until something fresh comes', () => {
    const left = memberOf({ notifiedSeq: 5, notifiedState: 'summary' });
    for (const state of ['firing', 'resolved'] as const) {
      const standing = { member: left, alert: alertOf('a', 5, { state }) };
      expect(isNews(standing)).toBe(false);
      const flushed = flushOf(group('{}:{}'), standing, NOW_US + 600 * MINUTE_US);
      // Nothing new and nothing to repeat: the group is at rest.
      expect(flushed).toMatchObject({ reason: null, members: [], group: { notifications: 0 } });
    }
    const [one] = flushOf(group('{}:{}'), { member: left, alert: alertOf('a', 7) }, NOW_US).listed;
    expect(one).toMatchObject({ status: 'firing', newEvents: 2, afterSeq: 5 });
  });
});

describe('the wait for the summary', () => {
  const first = awaitSummary(undefined, 'ops', old(3), ROOT, NOW_US);

  test('ends two minutes after the last old news', () => {
    expect(first).toMatchObject({ sort: 'catch_up', key: catchUpKey('ops'), receiver: 'ops' });
    expect(first.nextFlushAtUs).toBe(NOW_US + 2 * MINUTE_US);
    const next = awaitSummary(first, 'ops', old(3, -700, -500), ROOT, NOW_US + MINUTE_US);
    expect(next.nextFlushAtUs).toBe(NOW_US + 3 * MINUTE_US);
    expect(next.awaited).toEqual({
      sinceUs: NOW_US,
      fromUs: NOW_US - 700 * MINUTE_US,
      toUs: NOW_US - 400 * MINUTE_US,
    });
  });

  test('is no shorter than the wait of groups', () => {
    const slow = { ...ROOT, groupWaitMs: 240_000 };
    expect(awaitSummary(undefined, 'ops', old(3), slow, NOW_US).nextFlushAtUs).toBe(NOW_US + 4 * MINUTE_US);
  });

  test('ends after a quarter of an hour, even if old news continues', () => {
    let waiting = first;
    for (let minute = 1; minute < 15; minute += 1) {
      waiting = awaitSummary(waiting, 'ops', old(3), ROOT, NOW_US + minute * MINUTE_US);
    }
    expect(waiting.nextFlushAtUs).toBe(NOW_US + 15 * MINUTE_US);
  });

  test('starts again after a summary, and when our clock was set back', () => {
    const told = { ...first, notifiedAtUs: NOW_US };
    const later = NOW_US + 60 * MINUTE_US;
    expect(awaitSummary(told, 'ops', old(3), ROOT, later).nextFlushAtUs).toBe(later + 2 * MINUTE_US);
    const earlier = NOW_US - 60 * MINUTE_US;
    const again = awaitSummary(first, 'ops', old(3), ROOT, earlier);
    expect(again.nextFlushAtUs).toBe(earlier + 2 * MINUTE_US);
    expect(again.awaited?.sinceUs).toBe(earlier);
  });
});

test('events are counted once, whichever groups of the receiver left them to its summary', () => {
  const range = (afterSeq: number, lastSeq: number, changes: Partial<Suppression> = {}) =>
    suppression('a', { afterSeq, lastSeq, reason: 'too_old', ...changes });
  const ranges = [
    range(6, 9),
    range(0, 4),
    range(2, 5),
    range(0, 99, { receiver: 'pager' }),
    range(0, 99, { reason: 'silenced' }),
  ];
  expect(countLeftToSummary(ranges, 'ops', 0)).toBe(8);
  // What an earlier summary contained is not counted again.
  expect(countLeftToSummary(ranges, 'ops', 3)).toBe(5);
  expect(countLeftToSummary([], 'ops', 0)).toBe(0);
});

describe('the summary', () => {
  const waiting = awaitSummary(undefined, 'ops', old(3), ROOT, NOW_US);
  const standing = (id: string, changes: Partial<Alert> = {}, own: Partial<GroupMember> = {}) => ({
    alert: alertOf(id, 9, changes),
    member: member(catchUpKey('ops'), id, { sort: 'catch_up', ...own }),
  });
  const inGroup = [
    standing('over', { state: 'resolved', endsAtUs: NOW_US }),
    standing('few'),
    standing('none'),
    standing('many'),
    standing('other', { alertname: 'BirdDeactivated' }),
    standing('gone', {}, { notifiedSeq: HAS_LEFT }),
  ];
  const counts = new Map(Object.entries({ over: 40, few: 2, many: 7, other: 1, gone: 3 }));
  const flushed = summarize(waiting, inGroup, counts, NOW_US + MINUTE_US);

  test('lists first what fires, and of that what has the most events', () => {
    expect(flushed.listed.map(({ alert, newEvents }) => `${alert.id} ${newEvents}`)).toEqual([
      'many 7',
      'few 2',
      'other 1',
      'over 40',
    ]);
    expect(flushed).toMatchObject({ reason: 'first', firingTotal: 3, resolvedTotal: 1, threadPosition: 0 });
    expect(flushed.thread).not.toBe(summarize(waiting, inGroup, counts, NOW_US).thread);
  });

  test('counts by kind, in words', () => {
    expect(flushed.summary).toEqual({
      fromUs: NOW_US - 600 * MINUTE_US,
      toUs: NOW_US - 400 * MINUTE_US,
      events: 50,
      alerts: 4,
      firing: 3,
      kinds: [
        { alertname: 'FlightFailed', events: 49, alerts: 3, firing: 2 },
        { alertname: 'BirdDeactivated', events: 1, alerts: 1, firing: 1 },
      ],
    });
    expect(summaryTitle(flushed.summary!)).toBe('Caught up: 50 events of 4 alerts, 3 still open');
    expect(summaryWords(flushed.summary!)).toEqual([
      '50 events from 2 Jul 2026, 02:00 UTC to 2 Jul 2026, 05:20 UTC could be read only much later. They are counted here instead of being sent one by one.',
      'Flight failed: 49 events of 3 alerts, 2 still open.',
      'Bird deactivated: 1 event of 1 alert, 1 still open.',
    ]);
  });

  test('says of a single event that it was one, and that all is over', () => {
    const one = summarize(waiting, inGroup.slice(0, 1), new Map([['over', 1]]), NOW_US).summary!;
    expect(summaryTitle(one)).toBe('Caught up: 1 event of 1 alert, all over');
    expect(summaryWords({ ...one, toUs: one.fromUs })[0]).toBe(
      '1 event on 2 Jul 2026, 02:00 UTC could be read only much later. It is counted here instead of being sent separately.',
    );
  });

  test('says nothing of moments as if they lasted', () => {
    const moment = standing('few', { alertname: 'EventMatched' });
    const one = summarize(waiting, [moment], counts, NOW_US).summary!;
    expect(summaryTitle(one)).toBe('Caught up: 2 events of 1 alert');
    expect(summaryWords(one)[1]).toBe('Event: 2 events of 1 alert.');
    const both = summarize(waiting, [moment, standing('many')], counts, NOW_US).summary!;
    expect(summaryTitle(both)).toBe('Caught up: 9 events of 2 alerts, 1 still open');
  });

  test('is not sent if nothing is counted', () => {
    expect(summarize(waiting, inGroup, new Map(), NOW_US).reason).toBeNull();
  });

  test('leaves each group as if it had notified itself, so that it notifies of ends, and repeats no sooner', () => {
    const firing = alertOf('a', 5);
    const told = memberAfterSummary(memberOf({ notifiedSeq: 5, notifiedState: 'summary' }), firing);
    expect(told.notifiedState).toBe('firing');
    const over = { ...firing, state: 'resolved' as const };
    expect(memberAfterSummary(memberOf({ notifiedState: 'summary' }), over).notifiedState).toBe('resolved');
    const byItself = memberOf({ notifiedState: 'firing' });
    expect(memberAfterSummary(byItself, over)).toBe(byItself);

    const going = groupAfterSummary(group('{}:{}'), NOW_US);
    const next = (alert: Alert, afterMinutes: number) =>
      flushOf(going, { member: told, alert }, NOW_US + afterMinutes * MINUTE_US);
    expect(next(firing, 60).reason).toBeNull();
    expect(next(firing, 240).reason).toBe('repeat');
    expect(next(alertOf('a', 6), 60)).toMatchObject({ reason: 'new_events', threadPosition: 1 });
    expect(next(over, 60)).toMatchObject({ reason: 'resolved', thread: going.thread });
    const busy = group('{}:{}', { notifications: 3, notifiedAtUs: NOW_US - MINUTE_US });
    expect(groupAfterSummary(busy, NOW_US)).toBe(busy);
  });
});
