/** What becomes of groups if the next life has other routes. */
import { describe, expect, test } from 'vitest';
import type { Receiver } from '../../src/channels/receiver.ts';
import { parseMatchers } from '../../src/domain/matchers/matcher.ts';
import { type Node, node, tree } from '../domain/route-tree.ts';
import { type Desk, hook, MINUTE_MS, openDesk } from './desk.ts';

let desk: Desk;

const GROUPED = { groupBy: ['alertname'] };
const eu = (settings: Partial<Node> = {}) => node('region="eu"', { ...GROUPED, ...settings });
const us = (settings: Partial<Node> = {}) => node('region="us"', { ...GROUPED, ...settings });
const routes = (...children: Node[]) => tree(node('', GROUPED, children));

async function open(...children: Node[]): Promise<Desk> {
  return openWith({}, ...children);
}

/** With these settings of the receiver `ops`. */
async function openWith(settings: Partial<Receiver>, ...children: Node[]): Promise<Desk> {
  desk = await openDesk({
    receivers: [hook('ops', settings), hook('other'), hook('boss'), hook('board')],
    route: routes(...children),
    isContended: true,
  });
  await desk.pass(1);
  return desk;
}

describe('a group whose route is at another place in the tree', () => {
  test('continues: its end is notified, with no event twice', async () => {
    await open(eu());
    await desk.story('fails A, 2');
    await desk.restart(routes(us(), eu()));
    await desk.story('20, succeeds A, 20');
    expect(desk.lines()).toEqual(['ops@1 firing: A firing +1', 'ops@26 resolved: A resolved +0']);
  });

  test('is notified of what was over before it was flushed', async () => {
    await open(eu());
    await desk.story('fails A, 2');
    await desk.restart(routes(us(), eu()));
    await desk.story('succeeds A, 20');
    expect(desk.lines()).toEqual(['ops@1 firing: A firing +1', 'ops@6 resolved: A resolved +0']);
  });

  test('is escalated as its own route says, and not as the one that took its place', async () => {
    const escalated = (receiver: string) => ({ escalation: { afterMs: 10 * MINUTE_MS, receiver } });
    await open(eu(escalated('boss')));
    await desk.story('fails A, 2');
    await desk.restart(routes(us(escalated('board')), eu(escalated('boss'))));
    await desk.pass(20);
    expect(desk.lines()).toEqual(['ops@1 firing: A firing +1', 'boss@11 firing: A firing +1']);
  });
});

test('escalations that are due together are one message, and so are their ends', async () => {
  const escalation = { afterMs: 10 * MINUTE_MS, receiver: 'boss' };
  await open(eu({ groupBy: ['bird'], escalation }));
  await desk.story('fails A, fails B C, 5, succeeds C, 15, succeeds A B, 10');
  expect(desk.lines('boss')).toEqual([
    'boss@11 firing: A firing +1; B firing +1',
    'boss@21 resolved: A resolved +0; B resolved +0',
  ]);
});

test('notifies an escalation receiver of the end, even if the route no longer escalates', async () => {
  await open(eu({ escalation: { afterMs: 10 * MINUTE_MS, receiver: 'boss' } }));
  await desk.story('fails A, 15');
  await desk.restart(routes(eu()));
  await desk.story('10, succeeds A, 10');
  expect(desk.lines('boss')).toEqual(['boss@11 firing: A firing +1', 'boss@26 resolved: A resolved +0']);
});

test('who was notified by an escalation is told of the end, although the route escalates to another now', async () => {
  const escalated = (receiver: string) => eu({ escalation: { afterMs: 10 * MINUTE_MS, receiver } });
  await open(escalated('boss'));
  await desk.story('fails A, 15');
  await desk.restart(routes(escalated('board')));
  await desk.story('10, succeeds A, 10');
  expect(desk.lines('boss')).toEqual(['boss@11 firing: A firing +1', 'boss@26 resolved: A resolved +0']);
  expect(desk.lines('board')).toEqual([]);
});

describe('a group whose route is no longer configured', () => {
  const perBird = { groupBy: ['bird'] };

  test('notifies of what is over before the next group is due', async () => {
    await open(eu());
    await desk.story('fails A B, 2');
    await desk.restart(routes(eu(perBird)));
    await desk.story('succeeds A, 20');
    expect(desk.lines()).toEqual([
      'ops@1 firing: A firing +1; B firing +1',
      'ops@3 resolved: A resolved +0',
      'ops@3 firing: B firing +0',
    ]);
  });

  test('notifies of what was over before it was flushed', async () => {
    await open(eu());
    await desk.story('fails A, 2, succeeds A');
    await desk.restart(routes(eu(perBird)));
    await desk.pass(20);
    expect(desk.lines()).toEqual(['ops@1 firing: A firing +1', 'ops@6 resolved: A resolved +0']);
  });

  test('is escalated by the group that continues with its alerts', async () => {
    const escalation = { afterMs: 10 * MINUTE_MS, receiver: 'boss' };
    await open(eu({ escalation }));
    await desk.story('fails A, 2');
    await desk.restart(routes(eu({ ...perBird, escalation })));
    await desk.pass(20);
    expect(desk.lines('boss')).toEqual(['boss@13 firing: A firing +1']);
  });

  test('leaves to a receiver that is new to its alerts only their present episode', async () => {
    await open(eu());
    await desk.story('fails A, 2');
    await desk.restart(routes(eu({ ...perBird, receiver: 'other' })));
    await desk.pass(20);
    expect(desk.lines()).toEqual([
      'ops@1 firing: A firing +1',
      'ops@3 resolved: A resolved +0',
      'other@3 firing: A firing +1',
    ]);
  });

  test('has notified of what came and went, even if it went back to a group that it had left', async () => {
    await open();
    await desk.story('fails A, 0.1');
    await desk.restart(routes(eu()));
    await desk.story('succeeds A, 0.1');
    await desk.restart(routes());
    await desk.pass(20);
    expect(desk.lines()).toEqual(['ops@2 resolved: A resolved +1']);
  });

  test.each([
    ['gone', routes(eu())],
    ['narrower', routes(node('bird="A"', GROUPED), eu())],
  ])('leaves old news to the summary, also when its route is %s', async (_, next) => {
    await open(eu(perBird));
    await desk.story('failedLongAgo A B, 1');
    await desk.restart(next);
    await desk.pass(60);
    expect(desk.lines()).toEqual(['ops@3 firing: A firing +0; B firing +0']);
    await desk.story('succeeds A B, 10');
    expect(desk.lines().slice(1).join()).toMatch(/A resolved .*B resolved/);
  });

  test('notifies of an earlier episode as well when the alert goes back to a group that it had left', async () => {
    await open();
    await desk.story('fails A, 0.1');
    await desk.restart(routes(eu()));
    await desk.story('succeeds A, 0.1, fails A, 0.1');
    await desk.restart(routes());
    await desk.pass(20);
    expect(desk.lines()).toEqual(['ops@1 firing: A firing +2']);
  });

  test.each([
    ['then fires again', true],
    ['had fired again', false],
  ])(
    'leaves an earlier episode to another receiver if nobody was notified of it, where its alert %s',
    async (_, isLater) => {
      await open(eu());
      await desk.story('fails A, 0.1, succeeds A, 0.1');
      if (!isLater) await desk.fails('A');
      await desk.restart(routes(eu({ ...perBird, receiver: 'other' })));
      if (isLater) await desk.fails('A');
      await desk.pass(20);
      expect(desk.lines()).toEqual(['other@1 firing: A firing +2']);
    },
  );

  test('notifies of each event once, even if more come before it was flushed', async () => {
    await open(eu());
    await desk.story('fails A, 2');
    await desk.restart(routes(eu(perBird)));
    await desk.story('fails A, 20');
    expect(desk.lines()).toEqual(['ops@1 firing: A firing +1', 'ops@3 firing: A firing +1']);
  });
});

describe('an alert that fires', () => {
  const ofA = (settings: Partial<Node> = {}) =>
    node('bird="A"', { ...GROUPED, receiver: 'other', ...settings });

  test('is notified soon to the receiver of a new route', async () => {
    await open(eu());
    await desk.story('fails A B, 10');
    await desk.restart(routes(ofA({ continue: true }), eu()));
    await desk.pass(10);
    expect(desk.lines()).toEqual(['ops@1 firing: A firing +1; B firing +1', 'other@11 firing: A firing +1']);
  });

  test('and goes to another receiver from now on, is notified to both', async () => {
    await open(eu());
    await desk.story('fails A B, 10');
    await desk.restart(routes(ofA(), eu()));
    await desk.story('10, succeeds A, 10');
    expect(desk.lines()).toEqual([
      'ops@1 firing: A firing +1; B firing +1',
      'ops@11 firing: A resolved +0; B firing +0',
      'other@11 firing: A firing +1',
      'other@21 resolved: A resolved +0',
    ]);
  });
});

describe('a group whose route has another receiver', () => {
  test('begins anew there, and its former receiver is notified that nothing of it fires there any more', async () => {
    await open(eu());
    await desk.story('fails A B, 2, fails B, succeeds A');
    await desk.restart(routes(eu({ receiver: 'other' })));
    await desk.story('10, succeeds B, 20');
    expect(desk.lines()).toEqual([
      'ops@1 firing: A firing +1; B firing +1',
      'ops@3 resolved: A resolved +0; B resolved +1',
      'other@3 firing: B firing +2',
      'other@18 resolved: B resolved +0',
    ]);
    expect(desk.received[1]!.body.alerts.map((one) => one.annotations.resolved_by)).toEqual([
      expect.stringContaining('succeeded'),
      'it continues under other labels or another route',
    ]);
  });

  test('begins anew at once there, although its former receiver waits for an inhibited end', async () => {
    const inhibited = {
      sourceMatchers: parseMatchers('bird="C"'),
      targetMatchers: parseMatchers('bird="A"'),
      equal: [],
    };
    desk = await openDesk({
      receivers: [hook('ops'), hook('other')],
      route: routes(eu()),
      inhibitRules: [inhibited],
    });
    await desk.story('fails A B, 2, fails C, succeeds A');
    await desk.restart(routes(eu({ receiver: 'other' })));
    await desk.pass(10);
    expect(desk.lines().slice(1)).toEqual([
      'ops@2 resolved: B resolved +0',
      'other@2 firing: B firing +1; C firing +1',
    ]);
    await desk.story('succeeds C, 10');
    expect(desk.lines('ops').slice(2)).toEqual(['ops@13 resolved: A resolved +0']);
  });

  test('leaves to its former receiver what still reaches that by another route', async () => {
    await open(eu({ continue: true }), eu());
    await desk.story('fails A, 2');
    await desk.restart(routes(eu({ receiver: 'other', continue: true }), eu()));
    await desk.pass(10);
    expect(desk.lines()).toEqual([
      'ops@1 firing: A firing +1',
      'ops@1 firing: A firing +1',
      'other@3 firing: A firing +1',
    ]);
  });
});

describe('a receiver that another group continues to notify', () => {
  const ofA = node('bird="A"', { ...GROUPED, receiver: 'other' });

  test('is notified of the end, even if that comes before the group was flushed', async () => {
    await open(eu({ receiver: 'other' }));
    await desk.story('fails A, 2');
    await desk.restart(routes(ofA, eu()));
    await desk.story('0.1, succeeds A, 20');
    expect(desk.lines()).toEqual(['other@1 firing: A firing +1', 'other@3 resolved: A resolved +0']);
  });

  test('is notified of each event once, although its route begins anew for another receiver', async () => {
    await open(eu({ receiver: 'other' }));
    await desk.story('fails A, 2');
    await desk.restart(routes(eu({ continue: true }), ofA));
    await desk.story('fails A, 10');
    expect(desk.lines()).toEqual([
      'other@1 firing: A firing +1',
      'ops@3 firing: A firing +1',
      'other@3 firing: A firing +1',
      'ops@8 firing: A firing +1',
    ]);
  });
});

test('a receiver is notified of the end of an alert that left its group before the route was gone', async () => {
  await open(node('bird="A"', GROUPED), eu());
  await desk.story('fails B, 2');
  await desk.restart(routes(node('bird="B"', { ...GROUPED, receiver: 'other' }), eu()));
  await desk.pass(0.01);
  await desk.restart(routes(node('bird="B"', { ...GROUPED, receiver: 'other' })));
  await desk.pass(10);
  expect(desk.lines('ops')).toEqual(['ops@1 firing: B firing +1', 'ops@6 resolved: B resolved +0']);
});

test('a summary says that all is over for a receiver that routes no longer lead to [long]', async () => {
  await open(eu());
  await desk.story('failedLongAgo A, 1');
  await desk.restart(routes(eu({ receiver: 'other' })));
  await desk.pass(30);
  expect(desk.lines('ops')).toEqual(['ops@3 resolved: A resolved +0']);
});

describe('a throttled receiver that routes no longer lead to', () => {
  const toOther = () => desk.restart(routes(eu({ receiver: 'other' })));

  test('is notified later that what it was notified of is over [long]', async () => {
    await openWith({ maxNotificationsPerHour: 1 }, eu());
    await desk.story('fails A B, 5, fails B, 0.1, succeeds B, 2.9');
    await toOther();
    await desk.story('100, succeeds A, 100');
    expect(desk.lines()).toEqual([
      'ops@1 firing: A firing +1; B firing +1',
      'other@9 firing: A firing +1',
      'ops@61 resolved: A resolved +0; B resolved +1',
      'other@114 resolved: A resolved +0',
    ]);
  });

  test('is not left with what it was not notified of before', async () => {
    await openWith({ maxNotificationsPerHour: 1 }, eu({ groupBy: ['bird'] }));
    await desk.story('fails A, 2, fails B, 2');
    await desk.restart(routes(eu({ groupBy: ['bird'], receiver: 'other' })));
    await desk.pass(100);
    expect(desk.lines('ops')).toEqual([
      'ops@1 firing: A firing +1',
      'ops@61 resolved: A resolved +0; B resolved +1',
    ]);
  });

  test('also where only some alerts of a group are routed to another [long]', async () => {
    await openWith({ maxNotificationsPerHour: 1 }, eu());
    await desk.story('fails A B, 3');
    await desk.restart(routes(node('bird="A"', { ...GROUPED, receiver: 'other' }), eu()));
    await desk.pass(100);
    expect(desk.lines('ops')).toEqual([
      'ops@1 firing: A firing +1; B firing +1',
      'ops@61 resolved: A resolved +0',
    ]);
  });
});

test('an alert whose group gets another receiver before it notified anybody reaches that one [long]', async () => {
  const byBird = (receiver: string) =>
    tree(node('', {}, [node('region="eu"', { groupBy: ['bird'], receiver })]));
  desk = await openDesk({
    receivers: [hook('ops'), hook('other')],
    route: tree(node('', {}, [node('bird="A"', {})])),
  });
  await desk.story('fails A, 6');
  await desk.restart(byBird('ops'));
  await desk.pass(0.1);
  await desk.restart(byBird('other'));
  await desk.pass(20);
  expect(desk.happenings.filter(({ what }) => what === 'set_aside')).toEqual([]);
  expect(desk.lines().map((line) => line.replace(/@\d+/, ''))).toEqual([
    'ops firing: A firing +1',
    'ops resolved: A resolved +0',
    'other firing: A firing +1',
  ]);
});

describe('a route that is added or removed beside others with the same matchers', () => {
  const to = (...receivers: string[]) =>
    receivers.map((receiver, index) => eu({ receiver, continue: index < receivers.length - 1 }));
  const told = (receiver: string) => desk.lines(receiver).map((line) => line.replace(/^\w+@\d+ /, ''));
  const both = (status: string, events: number) =>
    `${status}: A ${status} +${events}; B ${status} +${events}`;

  test.each([
    ['added between them', ['other', 'ops'], ['other', 'boss', 'ops']],
    ['two added', ['other', 'ops'], ['other', 'boss', 'board', 'ops']],
    ['removed', ['other', 'boss', 'ops'], ['other', 'ops']],
    ['two removed', ['other', 'boss', 'board', 'ops'], ['other', 'ops']],
  ])('%s: who was notified is not notified again [long]', async (_what, before, after) => {
    await open(...to(...before));
    await desk.story('fails A B, 5');
    await desk.restart(routes(...to(...after)));
    await desk.story('20, succeeds A B, 20');
    for (const receiver of ['other', 'ops'])
      expect([receiver, told(receiver)]).toEqual([receiver, [both('firing', 1), both('resolved', 0)]]);
  });

  test('as the first, begins the group of the one that was first anew, without its events', async () => {
    await open(...to('other', 'ops'));
    await desk.story('fails A B, 5');
    await desk.restart(routes(...to('boss', 'other', 'ops')));
    await desk.story('20, succeeds A B, 20');
    expect(told('other')).toEqual([both('firing', 1), both('firing', 0), both('resolved', 0)]);
    expect(told('ops')).toEqual([both('firing', 1), both('resolved', 0)]);
  });
});
