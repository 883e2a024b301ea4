import { expect, test } from 'vitest';
import { isFlooded } from '../../../src/domain/grouping/flush.ts';
import { newGroup } from '../../../src/domain/grouping/group.ts';
import { parseMatchers } from '../../../src/domain/matchers/matcher.ts';
import { node, tree } from '../route-tree.ts';
import { eventMatched, flight, MARKETING, minute, rule } from '../world.ts';
import { groupingStory, line } from './grouping-story.ts';

const DUE_US = 1_700_000_000_000_000;
const GROUP = newGroup({
  sort: 'route',
  key: '{}:{}',
  route: '0',
  receiver: 'ops',
  labels: {},
  nextFlushAtUs: DUE_US,
});

test.each([
  { gained: 0, afterMs: 0, waits: false, why: 'nothing came' },
  { gained: 99, afterMs: 0, waits: false, why: 'less than a page came' },
  { gained: 100, afterMs: 0, waits: true, why: 'a page came' },
  { gained: 400, afterMs: 1_999, waits: true, why: 'pages still come' },
  { gained: 400, afterMs: 2_000, waits: false, why: 'it waited for long enough' },
  { gained: 400, afterMs: 3_600_000, waits: false, why: 'the process was away for an hour' },
])('$gained alerts, $afterMs ms past its instant: a group waits ($waits), since $why', (row) => {
  expect(isFlooded(GROUP, row.gained, DUE_US + row.afterMs * 1_000)).toBe(row.waits);
});

test('what is more severe than all that its group told does not wait for group_interval, once in a thread', () => {
  const here = groupingStory(tree(node('', { groupBy: ['alertname'] })), [
    rule('FlightFailed', { match: parseMatchers('bird="A"'), severity: 'warning' }),
    rule('FlightFailed', { severity: 'critical' }),
  ]);
  const ended = (how: 'failed' | 'succeeded', at: number, bird: string) => {
    here.pass(at);
    const place = { ...MARKETING, birdId: bird, bird };
    here.tell(at, flight(how, { started: at - 0.05, at, message: how === 'failed' ? 'boom' : '', place }));
  };
  ended('failed', 0, 'A');
  ended('failed', 1, 'B');
  ended('succeeded', 2, 'B');
  ended('failed', 7, 'B');
  here.pass(20);
  expect(here.sent.map(line)).toEqual([
    '0: first, firing: A firing +1',
    '1: new_alerts, firing: B firing +1; A firing +0',
    '2: resolved, firing: B resolved +0; A firing +0',
    '3: new_alerts, firing: B firing +1; A firing +0',
  ]);
  expect(here.sent.map(({ createdAtUs }) => (createdAtUs - minute(0)) / 60e6)).toEqual([0.5, 1.5, 6.5, 11.5]);
});

test('what happened at an instant is a thread of its own, unless the same message tells of what lasts', () => {
  const published = rule('EventMatched', { match: parseMatchers('type="bird_log.Published"') });
  const here = groupingStory(tree(node('', { groupBy: ['region'] })), [published]);
  const publishes = (at: number, bird: string) => {
    const place = { ...MARKETING, birdId: bird, bird };
    here.pass(at);
    here.tell(at, eventMatched('bird_log.Published', at, { rule: published.id, place }));
  };
  publishes(0, 'A');
  publishes(6, 'B');
  publishes(12, 'A');
  here.pass(18);
  expect(here.sent.map(({ threadPosition }) => threadPosition)).toEqual([0, 0, 0]);
  expect(new Set(here.sent.map(({ thread }) => thread)).size).toBe(3);
  here.tell(18, flight('failed', { started: 17.9, at: 18, message: 'boom' }));
  publishes(24, 'B');
  here.pass(30);
  expect(here.sent.slice(3).map(({ threadPosition, thread }) => [threadPosition, thread])).toEqual([
    [1, here.sent[2]!.thread],
    [2, here.sent[2]!.thread],
  ]);
});
