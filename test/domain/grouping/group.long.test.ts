import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decide } from '../../../src/domain/evaluate/decide.ts';
import { MAX_ALERTS } from '../../../src/domain/grouping/flush.ts';
import { type GroupMember, HAS_LEFT, isSettled } from '../../../src/domain/grouping/group.ts';
import { member } from '../../store/contract/sample-records.ts';
import { node, tree } from '../route-tree.ts';
import { birdLog, birdStatus, connectionLost, flightStarted, minute, regionHealth, rule } from '../world.ts';
import { failed, groupingStory, line, type Story, succeeded } from './grouping-story.ts';

const RUNS = 60;

const ROOT = tree(node('', { groupBy: ['alertname', 'region'] }));

function lines(...story: Story): string[] {
  const here = groupingStory(ROOT);
  here.play(...story);
  return here.sent.map(line);
}

describe('a group', () => {
  test('waits for group_wait, then for group_interval, and notifies of each event once', () => {
    const here = groupingStory(ROOT);
    here.tell(0, failed(0));
    expect(here.groups()[0]).toMatchObject({
      key: '{}:{alertname="FlightFailed", region="eu"}',
      receiver: 'ops',
      nextFlushAtUs: minute(0.5),
    });
    here.play([0.2, failed(0.2, 'B')], [2, failed(2)], [5.4]);
    expect(here.sent.map(line)).toEqual(['0: first, firing: A firing +1; B firing +1']);
    here.pass(60);
    expect(here.sent.map(line)).toEqual([
      '0: first, firing: A firing +1; B firing +1',
      '1: new_events, firing: A firing +1; B firing +0',
    ]);
    expect(here.sent[1]).toMatchObject({
      id: 'n2',
      receiver: 'ops',
      createdAtUs: minute(5.5),
      groupKey: '{}:{alertname="FlightFailed", region="eu"}',
      groupLabels: { alertname: 'FlightFailed', region: 'eu' },
      firingTotal: 2,
      resolvedTotal: 0,
      thread: here.sent[0]!.thread,
    });
    expect(here.sent[1]!.alerts[0]).toMatchObject({
      eventsTotal: 2,
      endsAtUs: 0,
      fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/),
    });
  });

  test('notifies of a new alert, the end of one, and the end of all', () => {
    expect(
      lines([0, failed(0)], [2, failed(2, 'B')], [6, succeeded(6)], [11, succeeded(11, 'B')], [30]),
    ).toEqual([
      '0: first, firing: A firing +1',
      '1: new_alerts, firing: B firing +1; A firing +0',
      '2: resolved, firing: A resolved +0; B firing +0',
      '3: resolved, resolved: B resolved +0',
    ]);
  });

  test('an alert that was over before it was notified is notified once, as resolved', () => {
    expect(lines([0, failed(0)], [0.2, succeeded(0.2)], [30])).toEqual(['0: first, resolved: A resolved +1']);
  });

  test('one without events is then not notified at all', () => {
    expect(lines([0, regionHealth('down', -5)], [0.2, regionHealth('up', 0.2)], [30])).toEqual([]);
    expect(lines([0, birdStatus('suspended', 0, 'active')], [0.2, birdStatus('active', 0.2)], [30])).toEqual(
      [],
    );
  });

  test('an alert that ended and fired again between two flushes is news without an end', () => {
    expect(lines([0, failed(0)], [2, succeeded(2)], [3, failed(3)], [30])).toEqual([
      '0: first, firing: A firing +1',
      '1: new_events, firing: A firing +1',
    ]);
  });

  test('an alert that fired again and ended between two flushes is notified with its event', () => {
    expect(lines([0, failed(0)], [2, succeeded(2)], [3, failed(3)], [4, succeeded(4)], [30])).toEqual([
      '0: first, firing: A firing +1',
      '1: resolved, resolved: A resolved +1',
    ]);
  });

  test('repeats what still fires, without its events, when repeat_interval has passed', () => {
    const here = groupingStory(ROOT);
    here.play([0, failed(0)], [239]);
    expect(here.sent).toHaveLength(1);
    here.pass(500);
    expect(here.sent.map(line)).toEqual([
      '0: first, firing: A firing +1',
      '1: repeat, firing: A firing +0',
      '2: repeat, firing: A firing +0',
    ]);
  });

  test('with repeat_backoff repeats less and less often, until there is news', () => {
    const settings = { groupBy: ['alertname', 'region'], repeatIntervalMs: 3_600_000, repeatBackoff: 2 };
    const here = groupingStory(tree(node('', settings)));
    const hours = () =>
      here.sent.map((one) => [one.reason, Math.floor((one.createdAtUs - minute(0)) / 3.6e9)]);
    here.play([0, failed(0)], [16 * 60]);
    expect(hours()).toEqual([
      ['first', 0],
      ['repeat', 1],
      ['repeat', 3],
      ['repeat', 7],
      ['repeat', 15],
    ]);
    here.play([16 * 60, failed(16 * 60)], [18 * 60]);
    expect(hours().slice(5)).toEqual([
      ['new_events', 16],
      ['repeat', 17],
    ]);
  });

  test('begins a new thread after everything was resolved, and waits again', () => {
    const here = groupingStory(ROOT);
    here.play([0, failed(0)], [2, succeeded(2)], [20]);
    expect(here.groups()).toEqual([]);
    here.play([21, failed(21)], [60]);
    expect(here.sent.map(line)).toEqual([
      '0: first, firing: A firing +1',
      '1: resolved, resolved: A resolved +0',
      '0: first, firing: A firing +1',
    ]);
    expect(here.sent[2]!.createdAtUs).toBe(minute(21.5));
    const threads = here.sent.map((one) => one.thread);
    expect(threads[0]).toMatch(/^[0-9a-z]{10}-[0-9a-f]{16}$/);
    expect(threads[1]).toBe(threads[0]);
    expect(threads[2]).not.toBe(threads[0]);
  });

  test('is at rest while its alerts are resolved but remembered, and knows what it notified of when they fire again', () => {
    const here = groupingStory(ROOT);
    const eventError = (at: number) => birdLog('EventError', at);
    here.play([0, eventError(-1), eventError(0)], [2, flightStarted(2)], [3, eventError(3)], [6]);
    expect(here.sent.map(line)).toEqual([
      '0: first, firing: Translate blog firing +2',
      '1: resolved, resolved: Translate blog resolved +0',
    ]);
    expect(here.groups()[0]).toMatchObject({ notifications: 0, nextFlushAtUs: minute(10.5) });
    here.play([7, eventError(7)], [8]);
    expect(here.sent.map(line).slice(2)).toEqual(['0: first, firing: Translate blog firing +2']);
    expect(here.sent[2]!.createdAtUs).toBe(minute(7.5));
  });

  test('is woken up by an alert that fired and ended again before it was routed', () => {
    const here = groupingStory(ROOT);
    here.play(
      [0, birdLog('EventError', -1), birdLog('EventError', 0)],
      [2, flightStarted(2)],
      [3, birdLog('EventError', 3)],
      [6],
    );
    here.decideOnly(7, birdLog('EventError', 7));
    here.decideOnly(8, flightStarted(7.5));
    here.route(8);
    here.pass(60);
    expect(here.sent.map(line).slice(2)).toEqual(['0: first, resolved: Translate blog resolved +2']);
    expect(here.sent[2]!.createdAtUs).toBe(minute(8.5));
  });

  test('is also at rest if it had nothing to notify of', () => {
    const here = groupingStory(ROOT);
    here.play(
      [0, regionHealth('down', -5)],
      [0.2, regionHealth('up', 0.2), regionHealth('down', 0.2)],
      [1.19],
    );
    expect(here.members()).toHaveLength(1);
    here.pass(60);
    expect(here.sent.map((one) => one.createdAtUs)).toEqual([minute(1.7)]);
  });

  test('that is woken up is not postponed by what follows', () => {
    const here = groupingStory(tree(node('', { groupBy: ['alertname', 'region'] })), [
      rule('FlightFailed', { threshold: 2, windowMs: 3_600_000 }),
    ]);
    here.play([0, failed(-1), failed(0)], [2, succeeded(2), failed(1.9, 'B')], [2.1, failed(2.1)], [6]);
    expect(here.sent.map(line).slice(1)).toEqual(['1: resolved, resolved: A resolved +0']);
    here.play([7, failed(7)], [7.3, failed(7.3, 'B')], [8]);
    expect(here.sent.map(line).slice(2)).toEqual(['0: first, firing: B firing +2; A firing +2']);
    expect(here.sent[2]!.createdAtUs).toBe(minute(7.5));
  });

  test('lists the newest 20 events of an alert and counts the others', () => {
    const here = groupingStory(ROOT);
    for (let n = 0; n < 27; n += 1) here.tell(0, failed(n / 100));
    here.pass(1);
    expect(here.sent.map(line)).toEqual(['0: first, firing: A firing +20 and 7 more']);
    const times = here.sent[0]!.alerts[0]!.events.map((one) => one.occurredAtUs);
    expect(times).toEqual(times.toSorted((a, b) => b - a));
    expect(times[0]).toBe(minute(0.26));
  });

  test('notifies of all news at once, together with others as long as 100 alerts have room [long]', () => {
    const here = groupingStory(ROOT);
    for (let n = 0; n < 150; n += 1) here.tell(0, failed(n / 1000, `B${String(n).padStart(3, '0')}`));
    here.pass(1);
    expect(here.sent[0]!.alerts).toHaveLength(150);
    expect(here.sent[0]).toMatchObject({ truncatedAlerts: 0, firingTotal: 150 });
    here.play([2, failed(2, 'B149')], [60]);
    expect(here.sent).toHaveLength(2);
    const second = here.sent[1]!;
    expect(second).toMatchObject({ reason: 'new_events', truncatedAlerts: 50, firingTotal: 150 });
    expect(second.alerts).toHaveLength(MAX_ALERTS);
    expect(second.alerts.map((alert) => alert.events.length)).toEqual([1, ...Array(99).fill(0)]);
    here.pass(260);
    expect(here.sent[2]).toMatchObject({ reason: 'repeat', truncatedAlerts: 0 });
    expect(here.sent[2]!.alerts).toHaveLength(150);
  });

  test('a lost connection that becomes worse is notified as what it became', () => {
    const group = lines(
      [0, connectionLost(0, 'Retrying connection, please wait.')],
      [1.4, connectionLost(1.4, 'All retries were exhausted.')],
      [20],
    );
    expect(group).toEqual([
      '0: first, firing: Acme CMS firing +1',
      '1: new_alerts, firing: Acme CMS firing +1; Acme CMS resolved +0',
    ]);
  });

  test('every route that an alert reaches has its own group, even two with the same matchers', () => {
    const twins = [
      node('region="eu"', { receiver: 'a', continue: true }),
      node('region="eu"', { receiver: 'b' }),
    ];
    const here = groupingStory(tree(node('', { groupBy: [] }, twins)));
    here.play([0, failed(0)], [1]);
    expect(here.sent.map((one) => [one.receiver, one.groupKey])).toEqual([
      ['a', '{}/{region="eu"}:{}'],
      ['b', '{}/{region="eu"}#b:{}'],
    ]);
  });

  test('an alert whose labels change leaves its group and continues in another, each event notified once', () => {
    const here = groupingStory(tree(node('', { groupBy: ['error'] })));
    here.play(
      [0, failed(0, 'A', 'first cause')],
      [2, succeeded(2)],
      [3, failed(3, 'A', 'second cause')],
      [10.9],
    );
    expect(here.sent.map((one) => `${one.groupLabels.error}, ${line(one)}`)).toEqual([
      'first cause, 0: first, firing: A firing +1',
      'second cause, 0: first, firing: A firing +1',
      'first cause, 1: resolved, resolved: A resolved +0',
    ]);
    expect(here.sent[2]!.alerts[0]).toMatchObject({
      labels: { error: 'first cause' },
      endsAtUs: minute(5.5),
    });
    here.play([11, failed(11, 'A', 'third cause')], [21, succeeded(21)], [60]);
    expect(here.sent.slice(3).map((one) => `${one.groupLabels.error}, ${line(one)}`)).toEqual([
      'second cause, 1: new_events, firing: A firing +1',
      'second cause, 2: resolved, resolved: A resolved +0',
    ]);
    expect([here.alerts(), here.members(), here.groups()]).toEqual([[], [], []]);
  });

  test('what the left group had not notified of is notified in the new one', () => {
    const here = groupingStory(tree(node('', { groupBy: ['error'] })));
    here.play(
      [0, failed(0, 'A', 'first cause')],
      [0.1, succeeded(0.1)],
      [0.2, failed(0.2, 'A', 'second cause')],
      [10],
    );
    expect(here.sent.map((one) => `${one.groupLabels.error}, ${line(one)}`)).toEqual([
      'second cause, 0: first, firing: A firing +2',
    ]);
  });

  test('what the last of several left groups had not notified of is notified in the new one', () => {
    const here = groupingStory(tree(node('', { groupBy: ['error'] })));
    here.play(
      [0, failed(0, 'A', 'first cause')],
      [1.1, succeeded(1.1)],
      [1.2, failed(1.2, 'A', 'second cause')],
      [1.3, failed(1.3, 'A', 'second cause'), succeeded(1.4)],
      [1.5, failed(1.5, 'A', 'third cause')],
      [20],
    );
    const told = here.sent.flatMap(({ alerts }) =>
      alerts.flatMap(({ events }) => events.map(({ key }) => key)),
    );
    expect(told).toHaveLength(4);
    expect(new Set(told).size).toBe(4);
  });

  test('a new receiver is notified of the present episode, not of those before it', () => {
    const here = groupingStory(ROOT);
    here.play([0, failed(0)], [2, succeeded(2)], [3, failed(3)]);
    here.reconfigure(tree(node('', { groupBy: ['bird'], receiver: 'new' })));
    here.route(4);
    here.pass(4.6);
    expect(here.sent.slice(1).map((one) => `${one.receiver}, ${line(one)}`)).toEqual([
      'new, 0: first, firing: A firing +1',
    ]);
  });

  test('a group follows its route to another place in the tree', () => {
    const eu = node('region="eu"', { receiver: 'eu' });
    const here = groupingStory(tree(node('', {}, [node('region="us"'), eu])));
    here.play([0, failed(0)], [1]);
    here.reconfigure(tree(node('', {}, [eu])));
    here.route(2);
    here.play([3, failed(3)], [10]);
    expect(here.sent.map((one) => `${one.receiver}, ${line(one)}`)).toEqual([
      'eu, 0: first, firing: A firing +1',
      'eu, 1: new_events, firing: A firing +1',
    ]);
  });

  test('a changed configuration ends the old group and begins the new one with this episode', () => {
    const here = groupingStory(ROOT);
    here.play([0, failed(0)], [1]);
    here.reconfigure(tree(node('', { groupBy: ['bird'], receiver: 'new' })));
    here.route(2);
    here.pass(10);
    expect(here.sent.map((one) => `${one.receiver}, ${line(one)}`)).toEqual([
      'ops, 0: first, firing: A firing +1',
      'new, 0: first, firing: A firing +1',
      'new, 1: resolved, resolved: A resolved +0',
    ]);
  });
});

describe('isSettled', () => {
  const [over] = decide([failed(0), succeeded(1)], [], [rule('FlightFailed')], minute(1)).alerts;
  const told = { notifiedSeq: 1, notifiedState: 'resolved' } as const;
  const by = (changes: Partial<GroupMember> = {}) => member('{}:{}', over!.id, { ...told, ...changes });

  test.each([
    ['an alert that was notified everywhere is', over!, [by()], true],
    ['one with a new event is not', over!, [by({ notifiedSeq: 0 })], false],
    [
      'one whose end is not yet notified somewhere is not',
      over!,
      [by(), by({ notifiedState: 'firing' })],
      false,
    ],
    ['one that has left a group that notified of its end is', over!, [by({ notifiedSeq: HAS_LEFT })], true],
    ['one that no group knows yet, with a new event, is not', over!, [], false],
    ['one that no group knows, without an event, is', { ...over!, lastSeq: 0 }, [], true],
    ['one with a memory is not', { ...over!, memory: {} }, [by()], false],
    ['one that fires is not', { ...over!, state: 'firing' }, [by()], false],
  ] as const)('%s [long]', (_what, alert, members, settled) => {
    expect(isSettled(alert, members)).toBe(settled);
  });
});

describe('whatever the interleaving [long]', () => {
  const BIRDS = ['A', 'B', 'C'];
  const bird = fc.constantFrom(...BIRDS);
  const minutes = fc.constantFrom(0.3, 1, 6);
  const action = fc.oneof(
    { weight: 5, arbitrary: fc.record({ does: fc.constant('fail' as const), bird }) },
    { weight: 3, arbitrary: fc.record({ does: fc.constant('succeed' as const), bird }) },
    { weight: 3, arbitrary: fc.constant({ does: 'route' as const }) },
    { weight: 3, arbitrary: fc.record({ does: fc.constant('pass' as const), minutes }) },
  );
  const trees = {
    'one group': tree(node('', { groupBy: [] })),
    'two receivers': tree(
      node('', { groupBy: ['alertname'] }, [
        node('bird=~"A|B"', { receiver: 'pager', continue: true, groupBy: ['bird'] }),
        node('region="eu"', { receiver: 'eu' }),
      ]),
    ),
    'groups by error': tree(node('', { groupBy: ['error'] })),
  };
  const rulesOf = {
    'every failure': [],
    'each Flight': [rule('FlightFailed', { forEach: 'flight' })],
    'two failures': [rule('FlightFailed', { threshold: 2, windowMs: 120_000 })],
  };

  /** Three, so that an alert leaves one group before it leaves the next. */
  const CAUSES = ['no quota', 'no answer', 'no such file'];

  for (const [shape, root] of Object.entries(trees)) {
    for (const [judged, rules] of Object.entries(rulesOf)) {
      test(`each event of an alert is notified once to each receiver, and nothing is left over: ${shape}, ${judged}`, () => {
        fc.assert(
          fc.property(fc.array(action, { maxLength: 40, size: 'max' }), (actions) => {
            const here = groupingStory(root, rules);
            const failures: { key: string; bird: string }[] = [];
            let at = 0;
            for (const step of actions) {
              at += 0.01;
              if (step.does === 'route') here.route(at);
              else if (step.does === 'pass') {
                // What waits to be routed after a crash is routed before anything is flushed.
                here.route(at);
                here.pass(at + step.minutes);
                at += step.minutes;
              } else if (step.does === 'succeed') here.decideOnly(at, succeeded(at, step.bird));
              else {
                const fact = failed(at, step.bird, CAUSES[failures.length % CAUSES.length]);
                failures.push({ key: fact.event.key, bird: step.bird });
                here.decideOnly(at, fact);
              }
            }
            here.route(at);
            for (const bird of BIRDS) here.tell(at + 10, succeeded(at + 10, bird));
            here.pass(at + 2000);

            expect([here.alerts(), here.members(), here.groups()]).toEqual([[], [], []]);
            const told = here.sent.flatMap((one) =>
              one.alerts.flatMap((alert) => alert.events.map((event) => `${one.receiver} ${event.key}`)),
            );
            expect(new Set(told).size).toBe(told.length);
            if (judged !== 'two failures') {
              const expected = failures.flatMap(({ key, bird }) => {
                if (shape !== 'two receivers') return [`ops ${key}`];
                return bird === 'C' ? [`eu ${key}`] : [`pager ${key}`, `eu ${key}`];
              });
              expect(told.toSorted()).toEqual(expected.toSorted());
            }
            // The last notification about every alert that was notified as firing says that it is resolved.
            const last = new Map<string, string>();
            for (const one of here.sent) {
              for (const alert of one.alerts) last.set(`${one.groupKey} ${alert.id}`, alert.status);
            }
            expect([...last.values()].filter((status) => status === 'firing')).toEqual([]);
          }),
          { numRuns: RUNS },
        );
      });
    }
  }
});
