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
const routes = (...children: readonly Node[]) => tree(node('', GROUPED, children));

const ofA = (settings: Partial<Node> = {}) => node('bird="A"', { ...GROUPED, ...settings });
const perBird = { groupBy: ['bird'] };
const toOther = { receiver: 'other' };
const escalated = (receiver: string) => ({ escalation: { afterMs: 10 * MINUTE_MS, receiver } });
const CAPPED = { maxNotificationsPerHour: 1 };

/** What happens, in the desk's words, or the routes that a new life begins with. */
type Step = string | readonly Node[];

async function tell(first: readonly Node[], ...steps: Step[]): Promise<void> {
  await open({}, ...first);
  await goOn(...steps);
}

/** With these settings of the receiver `ops`. */
async function open(settings: Partial<Receiver>, ...children: readonly Node[]): Promise<void> {
  desk = await openDesk({
    receivers: [hook('ops', settings), hook('other'), hook('boss'), hook('board')],
    route: routes(...children),
    isContended: true,
  });
  await desk.pass(1);
}

async function goOn(...steps: Step[]): Promise<void> {
  for (const step of steps)
    if (typeof step === 'string') await desk.story(step);
    else await desk.restart(routes(...step));
}

describe('a group whose route is at another place in the tree', () => {
  test('continues: its end is notified, with no event twice', async () => {
    await tell([eu()], 'fails A, 2', [us(), eu()], '20, succeeds A, 20');
    expect(desk.lines()).toEqual(['ops@1 firing: A firing +1', 'ops@26 resolved: A resolved +0']);
  });

  test('is notified of what was over before it was flushed', async () => {
    await tell([eu()], 'fails A, 2', [us(), eu()], 'succeeds A, 20');
    expect(desk.lines()).toEqual(['ops@1 firing: A firing +1', 'ops@6 resolved: A resolved +0']);
  });

  test('is escalated as its own route says, and not as the one that took its place', async () => {
    await tell([eu(escalated('boss'))], 'fails A, 2', [us(escalated('board')), eu(escalated('boss'))], '20');
    expect(desk.lines()).toEqual(['ops@1 firing: A firing +1', 'boss@11 firing: A firing +1']);
  });
});

test('escalations that are due together are one message, and so are their ends', async () => {
  await tell(
    [eu({ ...perBird, ...escalated('boss') })],
    'fails A, fails B C, 5, succeeds C, 15, succeeds A B, 10',
  );
  expect(desk.lines('boss')).toEqual([
    'boss@11 firing: A firing +1; B firing +1',
    'boss@21 resolved: A resolved +0; B resolved +0',
  ]);
});

test('escalations that are one message have the labels that all their groups share', async () => {
  await tell(
    [eu({ groupBy: ['region', 'bird'], ...escalated('boss') })],
    'fails A, fails B, 15, succeeds A B, 10',
  );
  const toBoss = desk.received.filter(({ receiver }) => receiver === 'boss');
  expect(toBoss.map(({ body }) => body.groupLabels)).toEqual([{ region: 'eu' }, { region: 'eu' }]);
});

test('notifies an escalation receiver of the end, even if the route no longer escalates', async () => {
  await tell([eu(escalated('boss'))], 'fails A, 15', [eu()], '10, succeeds A, 10');
  expect(desk.lines('boss')).toEqual(['boss@11 firing: A firing +1', 'boss@26 resolved: A resolved +0']);
});

test('who was notified by an escalation is told of the end, although the route escalates to another now', async () => {
  await tell([eu(escalated('boss'))], 'fails A, 15', [eu(escalated('board'))], '10, succeeds A, 10');
  expect(desk.lines('boss')).toEqual(['boss@11 firing: A firing +1', 'boss@26 resolved: A resolved +0']);
  expect(desk.lines('board')).toEqual([]);
});

describe('a group whose route is no longer configured', () => {
  test('notifies of what is over before the next group is due', async () => {
    await tell([eu()], 'fails A B, 2', [eu(perBird)], 'succeeds A, 20');
    expect(desk.lines()).toEqual([
      'ops@1 firing: A firing +1; B firing +1',
      'ops@3 resolved: A resolved +0',
      'ops@3 firing: B firing +0',
    ]);
  });

  test('notifies of what was over before it was flushed', async () => {
    await tell([eu()], 'fails A, 2, succeeds A', [eu(perBird)], '20');
    expect(desk.lines()).toEqual(['ops@1 firing: A firing +1', 'ops@6 resolved: A resolved +0']);
  });

  test('is escalated by the group that continues with its alerts', async () => {
    await tell([eu(escalated('boss'))], 'fails A, 2', [eu({ ...perBird, ...escalated('boss') })], '20');
    expect(desk.lines('boss')).toEqual(['boss@13 firing: A firing +1']);
  });

  test('leaves to a receiver that is new to its alerts only their present episode', async () => {
    await tell([eu()], 'fails A, 2', [eu({ ...perBird, ...toOther })], '20');
    expect(desk.lines()).toEqual([
      'ops@1 firing: A firing +1',
      'ops@3 resolved: A resolved +0',
      'other@3 firing: A firing +1',
    ]);
  });

  test('has notified of what came and went, even if it went back to a group that it had left', async () => {
    await tell([], 'fails A, 0.1', [eu()], 'succeeds A, 0.1', [], '20');
    expect(desk.lines()).toEqual(['ops@2 resolved: A resolved +1']);
  });

  test.each([
    ['gone', [eu()]],
    ['narrower', [ofA(), eu()]],
  ])('leaves old news to the summary, also when its route is %s', async (_, next) => {
    await tell([eu(perBird)], 'failedLongAgo A B, 1', next, '60');
    expect(desk.lines()).toEqual(['ops@3 firing: A firing +0; B firing +0']);
    await desk.story('succeeds A B, 10');
    expect(desk.lines().slice(1).join()).toMatch(/A resolved .*B resolved/);
  });

  test('notifies of an earlier episode as well when the alert goes back to a group that it had left', async () => {
    await tell([], 'fails A, 0.1', [eu()], 'succeeds A, 0.1, fails A, 0.1', [], '20');
    expect(desk.lines()).toEqual(['ops@1 firing: A firing +2']);
  });

  test.each([
    ['then fires again', ['fails A, 0.1, succeeds A, 0.1'], ['fails A']],
    ['had fired again', ['fails A, 0.1, succeeds A, 0.1, fails A'], []],
  ])(
    'leaves an earlier episode to another receiver if nobody was notified of it, where its alert %s',
    async (_, before, after) => {
      await tell([eu()], ...before, [eu({ ...perBird, ...toOther })], ...after, '20');
      expect(desk.lines()).toEqual(['other@1 firing: A firing +2']);
    },
  );

  test('notifies of each event once, even if more come before it was flushed', async () => {
    await tell([eu()], 'fails A, 2', [eu(perBird)], 'fails A, 20');
    expect(desk.lines()).toEqual(['ops@1 firing: A firing +1', 'ops@3 firing: A firing +1']);
  });
});

describe('an alert that fires', () => {
  test('is notified soon to the receiver of a new route', async () => {
    await tell([eu()], 'fails A B, 10', [ofA({ ...toOther, continue: true }), eu()], '10');
    expect(desk.lines()).toEqual(['ops@1 firing: A firing +1; B firing +1', 'other@11 firing: A firing +1']);
  });

  test('and goes to another receiver from now on, is notified to both', async () => {
    await tell([eu()], 'fails A B, 10', [ofA(toOther), eu()], '10, succeeds A, 10');
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
    await tell([eu()], 'fails A B, 2, fails B, succeeds A', [eu(toOther)], '10, succeeds B, 20');
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
    await goOn('fails A B, 2, fails C, succeeds A', [eu(toOther)], '10');
    expect(desk.lines().slice(1)).toEqual([
      'ops@2 resolved: B resolved +0',
      'other@2 firing: B firing +1; C firing +1',
    ]);
    await desk.story('succeeds C, 10');
    expect(desk.lines('ops').slice(2)).toEqual(['ops@13 resolved: A resolved +0']);
  });

  test('leaves to its former receiver what still reaches that by another route', async () => {
    await tell(
      [eu({ continue: true }), eu()],
      'fails A, 2',
      [eu({ ...toOther, continue: true }), eu()],
      '10',
    );
    expect(desk.lines()).toEqual([
      'ops@1 firing: A firing +1',
      'ops@1 firing: A firing +1',
      'other@3 firing: A firing +1',
    ]);
  });
});

describe('a receiver that another group continues to notify', () => {
  test('is notified of the end, even if that comes before the group was flushed', async () => {
    await tell([eu(toOther)], 'fails A, 2', [ofA(toOther), eu()], '0.1, succeeds A, 20');
    expect(desk.lines()).toEqual(['other@1 firing: A firing +1', 'other@3 resolved: A resolved +0']);
  });

  test('is notified of each event once, although its route begins anew for another receiver', async () => {
    await tell([eu(toOther)], 'fails A, 2', [eu({ continue: true }), ofA(toOther)], 'fails A, 10');
    expect(desk.lines()).toEqual([
      'other@1 firing: A firing +1',
      'ops@3 firing: A firing +1',
      'other@3 firing: A firing +1',
      'ops@8 firing: A firing +1',
    ]);
  });
});

test('a receiver is notified of the end of an alert that left its group before the route was gone', async () => {
  await tell(
    [ofA(), eu()],
    'fails B, 2',
    [node('bird="B"', { ...GROUPED, receiver: 'other' }), eu()],
    '0.01',
    [node('bird="B"', { ...GROUPED, receiver: 'other' })],
    '10',
  );
  expect(desk.lines('ops')).toEqual(['ops@1 firing: B firing +1', 'ops@6 resolved: B resolved +0']);
});

test('a summary says that all is over for a receiver that routes no longer lead to [long]', async () => {
  await tell([eu()], 'failedLongAgo A, 1', [eu(toOther)], '30');
  expect(desk.lines('ops')).toEqual(['ops@3 resolved: A resolved +0']);
});

describe('a throttled receiver that routes no longer lead to', () => {
  test('is notified later that what it was notified of is over [long]', async () => {
    await open(CAPPED, eu());
    await goOn('fails A B, 5, fails B, 0.1, succeeds B, 2.9', [eu(toOther)], '100, succeeds A, 100');
    expect(desk.lines()).toEqual([
      'ops@1 firing: A firing +1; B firing +1',
      'other@9 firing: A firing +1',
      'ops@61 resolved: A resolved +0; B resolved +1',
      'other@114 resolved: A resolved +0',
    ]);
  });

  test('is not left with what it was not notified of before', async () => {
    await open(CAPPED, eu(perBird));
    await goOn('fails A, 2, fails B, 2', [eu({ ...perBird, ...toOther })], '100');
    expect(desk.lines('ops')).toEqual([
      'ops@1 firing: A firing +1',
      'ops@61 resolved: A resolved +0; B resolved +1',
    ]);
  });

  test('also where only some alerts of a group are routed to another [long]', async () => {
    await open(CAPPED, eu());
    await goOn('fails A B, 3', [ofA(toOther), eu()], '100');
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
    await tell([...to(...before)], 'fails A B, 5', [...to(...after)], '20, succeeds A B, 20');
    for (const receiver of ['other', 'ops'])
      expect([receiver, told(receiver)]).toEqual([receiver, [both('firing', 1), both('resolved', 0)]]);
  });

  test('as the first, begins the group of the one that was first anew, without its events', async () => {
    await tell(
      [...to('other', 'ops')],
      'fails A B, 5',
      [...to('boss', 'other', 'ops')],
      '20, succeeds A B, 20',
    );
    expect(told('other')).toEqual([both('firing', 1), both('firing', 0), both('resolved', 0)]);
    expect(told('ops')).toEqual([both('firing', 1), both('resolved', 0)]);
  });
});
