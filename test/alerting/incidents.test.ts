/** What PagerDuty is told about its incidents, from the first message to the end, whoever sends it. */
import { describe, expect, test } from 'vitest';
import type { Receiver } from '../../src/channels/receiver.ts';
import { email } from '../channels/sample-notifications.ts';
import { node, tree } from '../domain/route-tree.ts';
import { type Desk, hook, MINUTE_MS, openDesk, pagerduty } from './desk.ts';

const pager = (name = 'ops', settings: Partial<Receiver> = {}): Receiver => ({
  name,
  integrations: [pagerduty()],
  ...settings,
});

/** It has a webhook beside PagerDuty. */
const hooked = (name: string, settings: Partial<Receiver> = {}): Receiver => ({
  ...{ name, integrations: [...hook(name).integrations, pagerduty()] },
  ...settings,
});
/** Its incidents must be ended by hand. */
const byHand = (name: string, settings: Partial<Receiver> = {}) =>
  pager(name, { integrations: [pagerduty({ sendResolved: false })], ...settings });

/** `receiver@minute action`, with a letter for each incident, in order of arrival. */
function story(desk: Desk): string[] {
  const keys = [...new Set(desk.pages.map((one) => one.dedup_key))];
  return desk.pages.map(({ receiver, minute, event_action, dedup_key }) => {
    const incident = String.fromCharCode(97 + keys.indexOf(dedup_key));
    return `${receiver}@${Math.floor(minute)} ${event_action} ${incident}`;
  });
}

const undated = (desk: Desk) => story(desk).map((one) => one.replace(/@\d+/, ''));

/**
 * The actions of the first incident about Flights, including repetitions. Other incidents are about a failing
 * receiver.
 */
function actions(desk: Desk): string[] {
  const first = desk.pages.find(({ payload }) => payload?.summary.includes(' failed'))?.dedup_key;
  const own = desk.pages.filter((one) => one.dedup_key === first).map((one) => one.event_action);
  return own.filter((action, index) => action !== own[index - 1]);
}

const PER_BIRD = { groupBy: ['bird'] };

describe('an incident whose alert is acknowledged', () => {
  test('is acknowledged at once, once, and resolved when the alert is over [long]', async () => {
    const desk = await openDesk({ receivers: [pager()] });
    await desk.story('fails A, 2, acknowledges A, acknowledges A, fails A, 30, succeeds A, 30');
    expect(story(desk)).toEqual(['ops@0 trigger a', 'ops@2 acknowledge a', 'ops@35 resolve a']);
    expect(desk.pages[1]).toMatchObject({ event_action: 'acknowledge', dedup_key: desk.pages[0]!.dedup_key });
    expect(desk.pages[1]).not.toHaveProperty('payload');
  });

  test('is closed when somebody resolves the alert by hand, and the next failure opens another [long]', async () => {
    const desk = await openDesk({ receivers: [pager()] });
    await desk.story('fails A, 2, acknowledges A, 10, resolves A, 10, fails A, 10');
    expect(undated(desk)).toEqual(['ops trigger a', 'ops acknowledge a', 'ops resolve a', 'ops trigger a']);
  });

  test('is not acknowledged before it was opened, nor after it was resolved', async () => {
    const desk = await openDesk({ receivers: [pager()] });
    await desk.story('fails A, acknowledges A, 10');
    expect(story(desk)).toEqual([]);
    await desk.story('succeeds A, 10, fails B, 10, succeeds B, 10');
    const received = story(desk);
    expect(received.filter((one) => one.includes('acknowledge'))).toEqual([]);
    expect(received.at(-1)).toMatch(/resolve a$/);
  });

  test('is not acknowledged once it is resolved, although a silence mutes what fires', async () => {
    const desk = await openDesk({ receivers: [pager()] });
    await desk.story('fails A B, 1');
    await desk.silences('A', 1440);
    await desk.story('succeeds B, 10, acknowledges A, 10');
    expect(story(desk)).toEqual(['ops@0 trigger a', 'ops@5 resolve a']);
  });

  test('also ends if a silence mutes the end, unless it must be ended by hand [long]', async () => {
    for (const sendResolved of [true, false]) {
      const desk = await openDesk({ receivers: [sendResolved ? pager() : byHand('ops')] });
      await desk.story('fails A, 1');
      await desk.silences('A', 1440);
      await desk.story('succeeds A, 30');
      expect(actions(desk)).toEqual(sendResolved ? ['trigger', 'resolve'] : ['trigger']);
      expect(desk.pages.length).toBe(sendResolved ? 2 : 1);
    }
  });

  test('waits until everything that fires in it is acknowledged', async () => {
    const desk = await openDesk({ receivers: [pager()] });
    await desk.story('fails A B C, 1, acknowledges A, 1, acknowledges B, 1');
    expect(story(desk)).toEqual(['ops@0 trigger a']);
    await desk.acknowledges('C');
    expect(story(desk)).toEqual(['ops@0 trigger a', 'ops@3 acknowledge a']);
  });

  test('is acknowledged when what is not acknowledged ends, and lasts until the rest has ended', async () => {
    const desk = await openDesk({ receivers: [pager()] });
    await desk.story('fails A B, 1, acknowledges A, 1, succeeds B, 20');
    expect(story(desk)).toEqual(['ops@0 trigger a', 'ops@2 acknowledge a']);
    await desk.story('succeeds A, 20');
    expect(story(desk).slice(2)).toEqual(['ops@25 resolve a']);
  });

  test('is resolved when the rest ends unheard, because a silence mutes it [long]', async () => {
    const desk = await openDesk({ receivers: [pager()] });
    await desk.story('fails A B, 1, acknowledges A, 1, succeeds B, 20');
    await desk.silences('A', 1440);
    await desk.story('succeeds A, 30, fails B, 10');
    expect(story(desk)).toEqual([
      'ops@0 trigger a',
      'ops@2 acknowledge a',
      'ops@25 resolve a',
      'ops@52 trigger a',
    ]);
  });

  test('is resolved when its group is dissolved while only the rest fires', async () => {
    const desk = await openDesk({ receivers: [pager()] });
    await desk.story('fails A B, 1, acknowledges A, 1, succeeds B, 20');
    await desk.restart(PER_BIRD);
    await desk.story('20');
    expect(undated(desk)).toEqual(['ops trigger a', 'ops acknowledge a', 'ops resolve a']);
  });

  test('is acknowledged again after something else in it fired and was notified', async () => {
    const desk = await openDesk({ receivers: [pager()] });
    await desk.story('fails A, 1, acknowledges A, 1, fails B, 10, acknowledges B');
    expect(story(desk)).toEqual([
      'ops@0 trigger a',
      'ops@1 acknowledge a',
      'ops@5 trigger a',
      'ops@12 acknowledge a',
    ]);
  });

  test('is also acknowledged at the receiver that was notified last', async () => {
    const route = { escalation: { afterMs: 15 * MINUTE_MS, receiver: 'boss' } };
    const desk = await openDesk({ receivers: [pager(), pager('boss')], route });
    await desk.story('fails A, 20, acknowledges A, succeeds A, 20');
    expect(story(desk).filter((one) => one.startsWith('boss'))).toEqual([
      'boss@15 trigger b',
      'boss@20 acknowledge b',
      'boss@20 resolve b',
    ]);
  });

  test('notifies nobody else: no mail, no webhook', async () => {
    const receivers = [{ ...hook('ops'), integrations: [...hook('ops').integrations, email(), pagerduty()] }];
    const desk = await openDesk({ receivers });
    await desk.story('fails A, 1, acknowledges A, 3');
    expect(story(desk)).toEqual(['ops@0 trigger a', 'ops@1 acknowledge a']);
    expect([desk.received.length, desk.mails.length]).toEqual([1, 1]);
  });

  test('is acknowledged in order, behind a trigger that is not accepted, whatever step the process dies after [long]', async () => {
    const tell = async (dieAfter?: number) => {
      const answer = (_: string, minute: number) => (minute < 2 ? 503 : 200);
      const desk = await openDesk({ receivers: [pager()], answer, ...(dieAfter && { dieAfter }) });
      await desk.story('fails A, 1, acknowledges A, 4, succeeds A, 6');
      await desk.close();
      return { all: actions(desk), committed: desk.committed() };
    };
    const { all, committed } = await tell();
    expect(all).toEqual(['trigger', 'acknowledge', 'resolve']);
    expect(committed).toBeGreaterThan(20);
    for (let dieAfter = 1; dieAfter <= committed; dieAfter += 5) {
      expect((await tell(dieAfter)).all, `dies after ${dieAfter}`).toEqual(all);
    }
  });
});

describe('an incident that a fallback opened', () => {
  const receivers = [{ ...hook('ops'), fallback: 'boss' }, pager('boss')];
  const downUntil = (end: number) => (name: string, minute: number) =>
    name === 'ops' && minute < end ? 503 : 200;

  test('is acknowledged and resolved there [long]', async () => {
    const desk = await openDesk({ receivers, answer: downUntil(20) });
    await desk.story('fails A, 30, acknowledges A, 10, succeeds A, 20');
    expect(actions(desk)).toEqual(['trigger', 'acknowledge', 'resolve']);
    expect(new Set(desk.pages.map(({ receiver }) => receiver))).toEqual(new Set(['boss']));
    expect(desk.lines('ops').at(-1)).toContain('resolved');
  });

  test('is resolved soon if the alert had ended and its own receiver was notified [long]', async () => {
    const answer = (name: string, _: number, tries: number) => (name === 'ops' && tries <= 3 ? 503 : 200);
    const desk = await openDesk({ receivers, answer, route: { groupWaitMs: 0, groupIntervalMs: 1_000 } });
    await desk.story('fails A, 0.01, succeeds A, 15');
    expect(actions(desk)).toEqual(['trigger', 'resolve']);
    expect(desk.lines('ops')).toHaveLength(2);
    expect(await desk.states()).toEqual({ delivered: 4 });
  });
});

test('what was held back, and then not accepted, opens an incident at the fallback that lasts until all of it ends [long]', async () => {
  const answer = (name: string, minute: number) => (name === 'ops' && minute > 1 && minute < 62 ? 503 : 200);
  const own = hook('ops', { fallback: 'boss', maxNotificationsPerHour: 1 });
  const desk = await openDesk({ receivers: [own, pager('boss')], answer, route: PER_BIRD });
  await desk.story('fails A, 1, fails B C, 62, succeeds B, 125');
  const ofThese = () => desk.pages.filter(({ dedup_key }) => dedup_key === desk.pages[0]!.dedup_key);
  expect(ofThese().map((one) => one.event_action)).toEqual(['trigger', 'trigger']);
  await desk.story('succeeds C, 125');
  expect(ofThese().map((one) => one.event_action)).toEqual(['trigger', 'trigger', 'resolve']);
});

test('what some integrations send as one message and others by incident is given to a fallback once [long]', async () => {
  const answer = (name: string, minute: number) => (name === 'ops' && minute > 3 ? 503 : 200);
  const own = hooked('ops', { foldStormsMs: 5 * MINUTE_MS, fallback: 'backup' });
  const desk = await openDesk({ receivers: [own, hooked('backup')], answer, route: PER_BIRD });
  for (const bird of ['A', 'B', 'C']) await desk.fails(bird);
  await desk.story('2, fails D E F, 10');
  const received = desk.lines('backup').filter((line) => !line.includes('ops'));
  expect(received.map((line) => line.replace(/@\d+/, ''))).toEqual([
    'backup firing: D firing +1; E firing +1; F firing +1',
  ]);
  // Each incident by itself, apart from the one for everything held back, which is over at once.
  const ofFlights = desk.pages.filter(({ receiver, payload }) => {
    return receiver === 'backup' && payload?.summary.includes(' failed');
  });
  const subjects = ofFlights.map(({ payload }) => payload!.summary.split(' · ')[0]);
  expect(subjects).toEqual(['3 Birds failed', 'D failed', 'E failed', 'F failed']);
  expect(new Set(ofFlights.map(({ dedup_key }) => dedup_key)).size).toBe(4);
});

test('an incident that must be ended by hand is not ended by a failure that was over before it was notified [long]', async () => {
  let isDown = false;
  const answer = (name: string) => (name === 'ops' && isDown ? 503 : 200);
  const receivers = [byHand('ops', { fallback: 'boss' }), byHand('boss')];
  const desk = await openDesk({ receivers, answer });
  for (const down of [false, true]) {
    isDown = down;
    await desk.story('fails A, 1, fails A');
    await desk.clock.advance(5_000);
    await desk.story('succeeds A, 20');
  }
  expect(new Set(desk.pages.map((one) => one.event_action))).toEqual(new Set(['trigger']));
  expect(new Set(desk.pages.map(({ receiver }) => receiver))).toEqual(new Set(['ops', 'boss']));
});

test('an incident whose route is no longer configured ends, and what fires opens the one of the new route', async () => {
  const desk = await openDesk({ receivers: [pager()] });
  await desk.story('fails A, 6');
  await desk.restart(PER_BIRD);
  await desk.story('20, succeeds A, 20');
  expect(undated(desk)).toEqual(['ops trigger a', 'ops resolve a', 'ops trigger b', 'ops resolve b']);
});

describe('what is notified together with other groups', () => {
  test('goes to each incident separately if a cap held it back, and ends each [long]', async () => {
    const receivers = [pager('ops', { maxNotificationsPerHour: 1 })];
    const desk = await openDesk({ receivers, route: PER_BIRD });
    await desk.story('fails A, 1, fails B C, 61, succeeds A C, 120, succeeds B, 120');
    const byIncident = Map.groupBy(desk.pages, (one) => one.dedup_key);
    const each = [...byIncident.values()].map((all) => all.map((one) => one.event_action));
    expect(each).toEqual(Array(3).fill(['trigger', 'resolve']));
    expect(await desk.states()).toEqual({ delivered: 6 });
  });

  test('ends no incident that must be ended by hand', async () => {
    const desk = await openDesk({ receivers: [byHand('ops', { maxNotificationsPerHour: 1 })] });
    await desk.story('fails A, 1, succeeds A, 120');
    expect(actions(desk)).toEqual(['trigger']);
  });

  test('leaves an incident open in which something else fires [long]', async () => {
    const desk = await openDesk({ receivers: [pager('ops', { maxNotificationsPerHour: 1 })] });
    await desk.story('fails A, 1, fails B, 10, succeeds B, 60');
    expect(actions(desk)).toEqual(['trigger']);
    expect(desk.pages.length).toBeGreaterThan(1);
    await desk.story('succeeds A, 120');
    expect(actions(desk)).toEqual(['trigger', 'resolve']);
  });

  test('goes to the incidents of what still fires if a summary contains old news, and nothing else does', async () => {
    const desk = await openDesk({ receivers: [hooked('ops')], route: PER_BIRD });
    await desk.story('failedLongAgo A B C, succeededLongAgo B, 10');
    expect(desk.received).toHaveLength(1);
    expect(story(desk)).toEqual(['ops@2 trigger a', 'ops@2 trigger b']);
    const summaries = desk.pages.map(({ payload }) => payload!.summary.split(' · ')[0]);
    expect(summaries.toSorted()).toEqual(['A failed', 'C failed']);
    await desk.story('succeeds A C, 10');
    const all = desk.pages.map((one) => one.event_action).toSorted();
    expect(all).toEqual(['resolve', 'resolve', 'trigger', 'trigger']);
    expect(new Set(desk.pages.map((one) => one.dedup_key)).size).toBe(2);
  });

  test('opens no incident of a group that the alert has left, which nothing would end', async () => {
    const desk = await openDesk({ receivers: [pager()] });
    await desk.story('failedLongAgo A, 0.5');
    await desk.restart(tree(node('', {}, [node('region="eu"', {})])));
    await desk.pass(10);
    expect(actions(desk)).toEqual(['trigger']);
    await desk.story('succeeds A, 20');
    expect(actions(desk)).toEqual(['trigger', 'resolve']);
    expect(new Set(desk.pages.map((one) => one.dedup_key)).size).toBe(1);
  });

  test('still goes to other receivers as one message [long]', async () => {
    const receivers = [hooked('ops', { maxNotificationsPerHour: 1 })];
    const desk = await openDesk({ receivers, route: PER_BIRD });
    await desk.story('fails A, 1, fails B C, 61');
    expect(desk.received).toHaveLength(2);
    expect(desk.received[1]!.body.alerts).toHaveLength(2);
    expect(undated(desk)).toEqual(['ops trigger a', 'ops trigger b', 'ops trigger c']);
  });
});

test('an incident whose route has another receiver ends, and what fires opens one there', async () => {
  const desk = await openDesk({ receivers: [pager(), pager('boss')] });
  await desk.story('fails A, 6');
  await desk.restart({ receiver: 'boss' });
  await desk.story('20, succeeds A, 20');
  const lines = undated(desk);
  expect(lines.filter((line) => line.startsWith('ops'))).toEqual(['ops trigger a', 'ops resolve a']);
  expect(lines.filter((line) => line.startsWith('boss'))).toEqual(['boss trigger a', 'boss resolve a']);
});
