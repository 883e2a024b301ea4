import { describe, expect, test } from 'vitest';
import type { Receiver } from '../../src/channels/receiver.ts';
import { defaultRule } from '../../src/domain/kinds/kinds.ts';
import type { Route } from '../../src/domain/routing/route.ts';
import { secret } from '../../src/secret.ts';
import { email, webhook } from '../channels/sample-notifications.ts';
import { type Node, node, tree } from '../domain/route-tree.ts';
import { OF_DEFAULT } from '../domain/world.ts';
import { type Desk, type DeskOptions, hook, MINUTE_MS, openDesk } from './desk.ts';

const birds = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => `B${String(from + index).padStart(5, '0')}`);

/** Nothing was sent twice: each of so many events came once. */
function expectEventsOnce(desk: Desk, count: number): void {
  const events = desk.received.flatMap(({ body }) => body.alerts.flatMap((one) => one.events));
  expect(events).toHaveLength(count);
  expect(new Set(events.map(({ key }) => key)).size).toBe(count);
}

/** Without what is about a receiver that is not reached. */
const ofFlights = (lines: readonly string[]) => lines.filter((line) => !line.includes('ops'));
const said = (lines: readonly string[]) => lines.map((line) => line.replace(/^\w+@\d+ /, ''));
/** `ops` accepts nothing before this minute. */
const opsIsDown =
  (until = Number.POSITIVE_INFINITY) =>
  (receiver: string, minute: number) =>
    receiver === 'ops' && minute < until ? 503 : 200;

const capped = (name: string) => hook(name, { maxNotificationsPerHour: 1 });
const TO_BOSS = { escalation: { afterMs: 15 * MINUTE_MS, receiver: 'boss' } };

describe('a large notification', () => {
  const both = { name: 'ops', integrations: [email(), webhook({ url: hookUrl('ops') })] };

  function hookUrl(name: string) {
    return (hook(name).integrations[0] as ReturnType<typeof webhook>).url;
  }

  test('goes to a webhook in parts, each alert in exactly one, in order; to people as one [long]', async () => {
    const desk = await openDesk({ receivers: [both] });
    await desk.fails(...birds(1_234));
    await desk.pass(1);
    const parts = desk.received.map(({ body }) => [
      body.part,
      body.parts,
      body.alerts.length,
      body.truncatedAlerts,
    ]);
    expect(parts).toEqual([
      [1, 3, 500, 0],
      [2, 3, 500, 0],
      [3, 3, 234, 0],
    ]);
    const all = desk.received.flatMap(({ body }) => body.alerts.map((one) => one.labels.bird));
    expect(all).toEqual(birds(1_234));
    expect(new Set(desk.received.map(({ id }) => id)).size).toBe(3);
    expect(desk.received.flatMap(({ body }) => body.alerts.flatMap((one) => one.events))).toHaveLength(1_234);

    expect(desk.mails).toHaveLength(1);
    expect(desk.mails[0]!.notification).toMatchObject({ firingTotal: 1_234, truncatedAlerts: 1_134 });
    expect(desk.mails[0]!.notification.alerts).toHaveLength(100);

    await desk.story('fails B00007, 6');
    expect(desk.received).toHaveLength(4);
    expect(desk.received[3]!.body.alerts.filter((one) => one.events.length > 0)).toHaveLength(1);
    expect(desk.mails).toHaveLength(2);
  });

  test('that fits in one part is not split, and a mail still lists fewer', async () => {
    const desk = await openDesk({ receivers: [both] });
    await desk.fails(...birds(101));
    await desk.pass(1);
    expect(desk.received.map(({ body }) => [body.part, body.alerts.length])).toEqual([[undefined, 101]]);
    expect(desk.mails[0]!.notification.alerts).toHaveLength(100);
  });

  test('of 100 alerts or fewer is one for everybody', async () => {
    const desk = await openDesk({ receivers: [both] });
    await desk.fails(...birds(100));
    await desk.pass(1);
    expect(desk.received.map(({ body }) => [body.part, body.alerts.length])).toEqual([[undefined, 100]]);
    expect(desk.mails[0]!.notification.id).toBe(desk.received[0]!.id.replace(/-1$/, ''));
  });
});

describe('a notification that is made again, because the store lost its last commits', () => {
  /** The ids under which a Bird's failures at the start and ten minutes later are told. */
  async function told({ groupWaitMs = 30_000, roundedByUs = 0 }, ...first: string[]) {
    const desk = await openDesk({
      roundedByUs,
      route: { groupWaitMs },
      receivers: [{ name: 'ops', integrations: [email(), ...hook('ops').integrations] }],
    });
    await desk.fails('B1', ...first);
    await desk.story('10, fails B1, 6');
    return {
      hooks: desk.received.map(({ id }) => id),
      threads: desk.mails.map(({ notification }) => notification.thread),
    };
  }

  test('has the same id whenever it is made, for webhooks and in mails', async () => {
    const before = await told({});
    expect(new Set(before.hooks).size).toBe(2);
    expect(await told({ groupWaitMs: 45_000, roundedByUs: 300_000 })).toEqual(before);
  });

  test('has another id if it tells something else', async () => {
    const before = await told({});
    const after = await told({}, 'B2');
    expect(after.hooks.filter((id) => before.hooks.includes(id))).toEqual([]);
  });

  test('also if it tells other ends', async () => {
    const end = async (...over: string[]) => {
      const desk = await openDesk({ receivers: [hook('ops')] });
      await desk.story('fails B1 B2, 10');
      await desk.succeeds(...over);
      await desk.pass(6);
      return desk.received.map(({ id }) => id);
    };
    const [first, one, ...more] = await end('B1');
    expect(more).toEqual([]);
    expect(await end('B1')).toEqual([first, one]);
    const [begins, both] = await end('B1', 'B2');
    expect(begins).toBe(first);
    expect(both).not.toBe(one);
  });
});

describe('a flood of alerts without `group_wait`', () => {
  function* pages(count: number, size: number, committed = () => {}) {
    for (let page = 0; page < count; page += 1) {
      yield birds(size, page * size);
      committed();
    }
  }
  const told = (desk: Desk) => desk.received.map(({ minute, body }) => [minute, body.alerts.length]);

  test('becomes one notification, although it comes page by page [long]', async () => {
    const desk = await openDesk({ route: { groupWaitMs: 0 }, receivers: [hook('ops')] });
    await desk.failInPages(pages(12, 100));
    expect(told(desk)).toEqual([
      [0, 500],
      [0, 500],
      [0, 200],
    ]);
    await desk.pass(6);
    expect(desk.received).toHaveLength(3);
  });

  test('does not make a group wait if it brings a single alert to it [long]', async () => {
    let committed = 0;
    const committedAtSends: number[] = [];
    const desk = await openDesk({
      route: { groupWaitMs: 0, groupBy: ['bird_id'] },
      receivers: [hook('ops')],
      answer() {
        committedAtSends.push(committed);
        return 200;
      },
    });
    await desk.failInPages(
      pages(30, 10, () => {
        committed += 1;
      }),
    );
    expect(committedAtSends).toHaveLength(300);
    expect(committedAtSends[0]).toBeLessThan(15);
  });

  test('is told while alerts come faster than they join, and each group as a whole [long]', async () => {
    let committed = 0;
    const committedAtSends: number[] = [];
    const desk = await openDesk({
      route: { groupWaitMs: 0, groupBy: ['nest_id'] },
      receivers: [hook('ops')],
      answer() {
        committedAtSends.push(committed);
        return 200;
      },
    });
    function* nests() {
      for (let page = 0; page < 12; page += 1) {
        yield birds(500, page * 500).map((bird, at) => `Nest ${page}-${at % 50}/${bird}`);
        committed += 1;
        desk.clock.stall(5);
      }
    }
    await desk.failInPages(nests());
    expect(told(desk).map(([, alerts]) => alerts)).toEqual(Array(600).fill(10));
    expect(committedAtSends[0]).toBeLessThan(10);
  });

  test('that ends is sent at once', async () => {
    const desk = await openDesk({ route: { groupWaitMs: 0 }, receivers: [hook('ops')] });
    await desk.fails(...birds(150));
    expect(told(desk)).toEqual([[0, 150]]);
  });
});

describe('a webhook that takes CloudEvents', () => {
  const url = secret('http://lake.example/');
  const lake = webhook({ url, format: 'cloudevents', sendResolved: false });
  const batches = (desk: Desk) =>
    desk.received.flatMap(({ receiver, body }) =>
      receiver === 'lake' ? [(body as unknown as { id: string }[]).map(({ id }) => id)] : [],
    );

  test('gets every event once, even if there are more than others list [long]', async () => {
    const desk = await openDesk({ receivers: [{ name: 'ops', integrations: [email(), lake] }] });
    await desk.fails(...Array<string>(30).fill('A'));
    await desk.pass(1);
    expect(batches(desk).map((one) => one.length)).toEqual([30]);
    expect(desk.mails[0]!.notification.alerts[0]).toMatchObject({ eventsOmitted: 10 });
    await desk.fails(...Array<string>(230).fill('A'), 'B', ...birds(20));
    await desk.pass(6);
    expect(batches(desk).map((one) => one.length)).toEqual([30, 100, 100, 51]);
    expect(new Set(batches(desk).flat()).size).toBe(281);
    expect(batches(desk).flat().slice(0, 260)).toEqual(batches(desk).flat().slice(0, 260).toSorted());
    expect(new Set(desk.received.map(({ id }) => id)).size).toBe(4);
    expect(await desk.states()).toEqual({ delivered: 6 });
  });

  test('gets old news as events, while others get a summary', async () => {
    const desk = await openDesk({ receivers: [{ name: 'ops', integrations: [email(), lake] }] });
    await desk.failedLongAgo('A', ...birds(120), 'A');
    await desk.story('1, fails A, 0.5, failedLongAgo A, 30');
    const received = batches(desk);
    expect(received.map((one) => one.length)).toEqual([1, 100, 22, 1]);
    expect(new Set(received.flat()).size).toBe(124);
    const summaries = desk.mails.filter(({ notification }) => notification.summary);
    expect(summaries.map(({ notification }) => notification.summary)).toMatchObject([{ events: 123 }]);
    expect(summaries[0]!.notification.alerts.flatMap(({ events }) => events)).toEqual([]);
    expect((await desk.states()).suppressed).toBeUndefined();
    for (const entry of ['000001', '000122', '000123', '000124']) {
      const key = `eu/flight/f-${entry}/failed`;
      const all = await desk.store.outbox.notificationsOfEvent(key);
      const batch = all.filter(({ deliveries }) => deliveries.some(({ position }) => position === 1));
      expect(batch, key).toHaveLength(1);
    }
  });

  test('gets of an alert that was deleted and fires again only what is old since, and nothing twice', async () => {
    const desk = await openDesk({ receivers: [{ name: 'ops', integrations: [email(), lake] }] });
    await desk.failedLongAgo(...Array<string>(10).fill('A'));
    await desk.story('succeededLongAgo A, 1450');
    expect((await desk.store.alerts.page({ order: 'newest', nowUs: 0, limit: 1 })).alerts).toEqual([]);
    await desk.story('failedLongAgo A, 1, fails A, 10');
    const received = batches(desk);
    expect(received.map((one) => one.length)).toEqual([10, 1, 1]);
    expect(new Set(received.flat()).size).toBe(12);
    const summaries = desk.mails.flatMap(({ notification: { summary } }) => summary?.events ?? []);
    expect(summaries).toEqual([10, 1]);
  });

  test('gets old news in a second summary soon after, which has only its own times', async () => {
    const desk = await openDesk({ receivers: [{ name: 'ops', integrations: [email()] }] });
    await desk.story('failedLongAgo A, 2.2, failedLongAgo B, 10');
    const summaries = desk.mails.map(({ notification }) => notification.summary!);
    expect(summaries.map(({ fromUs, toUs }) => toUs - fromUs)).toEqual([0, 0]);
    expect(summaries[1]!.fromUs - summaries[0]!.fromUs).toBe(132e6);
  });

  test('that does not take old news leaves the summary to people of its fallback [long]', async () => {
    const receivers = [
      { name: 'ops', integrations: [{ ...lake, url: secret('http://ops.example/') }], fallback: 'backup' },
      { name: 'backup', integrations: [email()] },
    ];
    const desk = await openDesk({ receivers, answer: () => 503 });
    await desk.failedLongAgo(...birds(120));
    await desk.pass(4);
    expect(desk.mails.map(({ notification }) => notification)).toMatchObject([
      { receiver: 'backup', truncatedAlerts: 20, summary: { events: 120 } },
    ]);
    const { alerts } = desk.mails[0]!.notification;
    expect(alerts).toHaveLength(100);
    expect(alerts.every(({ events, eventsOmitted }) => events.length === 0 && eventsOmitted === 1)).toBe(
      true,
    );
  });

  test('has the reason recorded if there is no event to send', async () => {
    const desk = await openDesk({
      receivers: [{ name: 'ops', integrations: [{ ...lake, sendResolved: true }] }],
    });
    await desk.story('fails A, 1, succeeds A, 6');
    expect(batches(desk).map((one) => one.length)).toEqual([1]);
    expect(await desk.states()).toEqual({ delivered: 1, suppressed: 1 });
  });
});

describe('max_alerts', () => {
  const limited = (maxAlerts: number) => webhook({ url: secret('http://few.example/'), maxAlerts });
  const both = [...hook('ops').integrations, limited(2)];

  test('lists only the first alerts; the others are recorded as counted and not listed', async () => {
    const desk = await openDesk({ receivers: [{ name: 'ops', integrations: both }] });
    await desk.story('fails A B C, 1');
    expect(desk.lines()).toEqual([
      'ops@0 firing: A firing +1; B firing +1; C firing +1',
      'few@0 firing: A firing +1; B firing +1',
    ]);
    expect(desk.received.map(({ body }) => body.truncatedAlerts)).toEqual([0, 1]);
    const received = await desk.store.outbox.notificationsOfEvent('eu/flight/f-000003/failed');
    expect(
      received.map(({ notification, deliveries }) => [
        notification.kind === 'group' && notification.alerts.some(({ labels }) => labels.bird === 'C'),
        deliveries.map(({ position }) => position),
      ]),
    ).toEqual([
      [true, [1]],
      [false, [101]],
    ]);
  });

  test('limits a notification in parts as a whole [long]', async () => {
    const desk = await openDesk({
      receivers: [{ name: 'ops', integrations: [...hook('ops').integrations, limited(600)] }],
    });
    await desk.fails(...birds(1_100));
    await desk.pass(1);
    const parts = desk.received.map(({ receiver, body }) => [
      receiver,
      body.alerts.length,
      body.truncatedAlerts,
    ]);
    expect(parts.toSorted()).toEqual([
      ['few', 100, 500],
      ['few', 500, 500],
      ['ops', 100, 0],
      ['ops', 500, 0],
      ['ops', 500, 0],
    ]);
  });
});

describe('escalation', () => {
  const route = TO_BOSS;
  const receivers = [hook('ops'), hook('boss')];

  test('notifies the second receiver once of what still fires after the time, and of its end [long]', async () => {
    const desk = await openDesk({ receivers, route });
    await desk.story('fails A B, 10, succeeds B, fails A, 30, fails A, 300, succeeds A, 30');
    expect(desk.lines('boss')).toEqual(['boss@15 firing: A firing +2', 'boss@340 resolved: A resolved +0']);
    const notices = desk.received.flatMap(({ receiver, body }) =>
      receiver === 'boss' ? [body.notices] : [],
    );
    expect(notices).toEqual([['Nobody has acknowledged this yet, so you are notified as well.'], undefined]);
  });

  test('does not notify of what is over in time', async () => {
    const desk = await openDesk({ receivers, route });
    await desk.story('fails A, 14, succeeds A, 60');
    expect(desk.lines('ops')).toHaveLength(2);
    expect(desk.lines('boss')).toEqual([]);
    expect(await desk.store.groups.due(Number.MAX_SAFE_INTEGER, 100)).toHaveLength(1);
  });

  test('does not notify of an episode that was over in time, although the next one fires then', async () => {
    const desk = await openDesk({ receivers, route });
    await desk.story('fails A, 2, succeeds A, 10, fails A, 60');
    expect(desk.lines('boss')).toEqual(['boss@27 firing: A firing +1']);
  });

  test('comes after a summary of old news as after any other first notification', async () => {
    const desk = await openDesk({ receivers, route });
    await desk.story('failedLongAgo A B C, fails B, succeededLongAgo C, 60');
    expect(desk.lines('boss')).toEqual(['boss@15 firing: B firing +1', 'boss@17 firing: A firing +0']);
  });

  test('waits for each alert from when that one was notified, even over a restart', async () => {
    const desk = await openDesk({ receivers, route });
    await desk.story('fails A, 10, fails B, restart, 60');
    expect(desk.lines('boss')).toEqual(['boss@15 firing: A firing +1', 'boss@25 firing: B firing +1']);
  });

  test('does not notify of what somebody has acknowledged', async () => {
    const desk = await openDesk({ receivers, route });
    await desk.story('fails A B, 5, acknowledges A, 60');
    expect(desk.lines('boss')).toEqual(['boss@15 firing: B firing +1']);
  });

  test('from several routes to the same receiver notifies of an alert once, when the first is due [long]', async () => {
    const to = (receiver: string, matchers: string, minutes: number) =>
      node(matchers, {
        receiver,
        continue: true,
        escalation: { afterMs: minutes * MINUTE_MS, receiver: 'boss' },
      });
    const desk = await openDesk({
      receivers: [...receivers, hook('dev'), hook('qa')],
      route: tree(
        node('', { groupWaitMs: 0 }, [
          to('ops', 'region="eu"', 15),
          to('dev', 'region=~"e."', 10),
          to('qa', 'region!="us"', 15),
        ]),
      ),
    });
    await desk.story('fails A, 20, fails B, 60, succeeds A B, 30');
    expect(desk.lines('boss').toSorted()).toEqual([
      'boss@10 firing: A firing +1',
      'boss@35 firing: B firing +1',
      'boss@85 resolved: A resolved +0',
      'boss@85 resolved: B resolved +0',
    ]);
  });

  test('is not sent early by `run --once`', async () => {
    const desk = await openDesk({ receivers, route });
    await desk.story('fails A, hurry, hurry');
    expect(desk.lines()).toEqual(['ops@0 firing: A firing +1']);
    await desk.pass(20);
    expect(desk.lines('boss')).toEqual(['boss@15 firing: A firing +1']);
  });

  test('comes again with the next episode', async () => {
    const desk = await openDesk({ receivers, route });
    await desk.story('fails A, 20, succeeds A, 20, fails A, 30');
    expect(said(desk.lines('boss'))).toEqual([
      'firing: A firing +1',
      'resolved: A resolved +0',
      'firing: A firing +1',
    ]);
  });
});

describe("a receiver's cap", () => {
  const route = { groupBy: ['bird'] };
  const receivers = [hook('ops', { maxNotificationsPerHour: 3 })];
  const toCappedBoss = { receivers: [hook('ops'), capped('boss')], route: { ...route, ...TO_BOSS } };

  test('counts no end that it is not told, neither for the hour nor for a storm', async () => {
    for (const limit of [{ maxNotificationsPerHour: 3 }, { foldStormsMs: 20 * MINUTE_MS }]) {
      const integrations = [webhook({ url: secret('http://ops.example/'), sendResolved: false })];
      const desk = await openDesk({ receivers: [{ name: 'ops', integrations, ...limit }], route });
      await desk.story('fails A, 1, succeeds A, 10, fails B, 1, succeeds B, 10, fails C, 10');
      const told = ['ops@0 firing: A firing +1', 'ops@11 firing: B firing +1', 'ops@22 firing: C firing +1'];
      expect(desk.lines()).toEqual(told);
    }
  });

  test('notifies of nothing before what is held back, even if its turn comes late [long]', async () => {
    const desk = await openDesk({ receivers: [capped('ops')], route });
    await desk.story('fails B, 4.75, fails A, 54, fails A');
    // The group of A becomes due before what is held back, and both are flushed after that.
    desk.clock.stall(3 * MINUTE_MS);
    await desk.pass(150);
    expect(desk.lines()).toEqual(['ops@0 firing: B firing +1', 'ops@61 firing: A firing +2']);
  });

  test('notifies once of the end of what was acknowledged while it was held back [long]', async () => {
    const desk = await openDesk({ receivers: [capped('ops')], route });
    await desk.story('fails A, 2.2, fails B, 2, acknowledges B, 60, fails C');
    // The group of B becomes due before what is held back.
    await desk.story('88.4, succeeds B, 70');
    expect(desk.lines()).toEqual([
      'ops@0 firing: A firing +1',
      'ops@64 firing: C firing +1',
      'ops@152 resolved: B resolved +1',
    ]);
  });

  test('notifies once that what was muted still fires, with each event once [long]', async () => {
    const desk = await openDesk({ receivers: [capped('ops')] });
    await desk.story('fails A, 2, fails A, 5');
    await desk.silences('A', 115);
    await desk.story('fails B, 115.2, fails A, 100');
    expect(desk.lines()).toEqual([
      'ops@0 firing: A firing +1',
      'ops@60 firing: B firing +1',
      'ops@122 firing: A firing +2',
    ]);
  });

  test('sends each event once of an alert that moves to another group while it is held back [long]', async () => {
    const eu = node('region="eu"', { groupBy: ['alertname'] });
    const desk = await openDesk({ receivers: [capped('ops')], route: tree(node('', {}, [eu])) });
    await desk.story('fails A, 2, fails B, 58.2');
    await desk.restart(tree(node('', {}, [node('bird="B"', { groupBy: ['alertname'] }), eu])));
    await desk.story('fails B, 120');
    const ofB = () => desk.lines().flatMap((line) => line.match(/B \w+ \+\d/g) ?? []);
    expect(ofB()).toEqual(['B firing +2', 'B firing +0']);
    await desk.story('succeeds B, 120');
    expect(ofB().slice(2)).toEqual(['B resolved +0']);
  });

  test('notifies of an end soon after an alert moved to another group while it was held back [long]', async () => {
    const eu = node('region="eu"', { groupBy: ['alertname'] });
    const desk = await openDesk({ receivers: [capped('ops')], route: tree(node('', {}, [eu])) });
    await desk.story('fails A, 2, fails B, 58.2');
    await desk.restart(tree(node('', {}, [node('bird="B"', { groupBy: ['alertname'] }), eu])));
    await desk.story('fails B, 10, succeeds B, 200');
    const ofB = desk.lines().flatMap((line) => line.match(/B \w+ \+\d/g) ?? []);
    expect(ofB).toEqual(['B firing +2', 'B resolved +0']);
  });

  /** `ops` was notified of B and may not be notified of A yet. */
  async function holdsBackA() {
    const options: { -readonly [Key in keyof DeskOptions]: DeskOptions[Key] } = {
      receivers: [capped('ops')],
      route,
    };
    const desk = await openDesk(options);
    await desk.story('fails B, 5, fails A, 5');
    const becomes = (receiver: Receiver) => {
      options.receivers = [receiver];
      return desk.restart();
    };
    return { desk, becomes, removeCap: () => becomes(hook('ops')) };
  }

  test.each([{}, { foldEndsMs: 5 * MINUTE_MS }])(
    'that is removed is not named as the reason, and what it held back not when it comes back: %j [long]',
    async (instead) => {
      const { desk, becomes } = await holdsBackA();
      await becomes(hook('ops', instead));
      await desk.pass(100);
      await becomes(capped('ops'));
      await desk.story('fails C, 3');
      expect(desk.received.map(({ body }) => body.notices)).toEqual([undefined, undefined, undefined]);
    },
  );

  test('that makes a summary of old news wait counts nothing as held back for it [long]', async () => {
    const desk = await openDesk({ receivers: [capped('ops')], route });
    await desk.story('fails B, 1, failedLongAgo A, 100');
    const notices = desk.received.map(({ body }) => body.notices?.join());
    expect(notices).toEqual([undefined, expect.stringMatching(/1 still open\.$/)]);
  });

  test('that is removed makes what it held back due at once, each event once [long]', async () => {
    const { desk, removeCap } = await holdsBackA();
    await removeCap();
    await desk.story('fails A, 100');
    expect(desk.lines()).toEqual([
      'ops@0 firing: B firing +1',
      'ops@10 firing: A firing +1',
      'ops@10 firing: A firing +1',
    ]);
  });

  test('that is removed while what it held back is muted still sends each event once [long]', async () => {
    const { desk, removeCap } = await holdsBackA();
    await desk.silences('A', 50.2);
    await removeCap();
    await desk.story('20, fails A, 100');
    expect(desk.lines()).toEqual(['ops@0 firing: B firing +1', 'ops@60 firing: A firing +2']);
  });

  test('of a second receiver notifies of the end of what was escalated, although it fires anew by then [long]', async () => {
    const desk = await openDesk(toCappedBoss);
    await desk.story('fails A, 20, succeeds A, 50, fails A, 10, succeeds A, 300');
    expect(desk.lines('boss')).toEqual([
      'boss@15 firing: A firing +1',
      'boss@75 firing: A firing +1',
      'boss@135 resolved: A resolved +0',
    ]);
  });

  test('of a second receiver notifies of the end of what fires again but is no longer escalated [long]', async () => {
    const desk = await openDesk(toCappedBoss);
    await desk.story('fails A, 20, succeeds A, 10');
    await desk.restart({ escalation: undefined } as unknown as Partial<Route>);
    await desk.story('fails A, 200');
    expect(desk.lines('boss')).toEqual(['boss@15 firing: A firing +1', 'boss@75 resolved: A resolved +1']);
  });

  test('of a second receiver notifies once of the end of what was escalated meanwhile [long]', async () => {
    const desk = await openDesk(toCappedBoss);
    await desk.story('fails B, 5, fails A, 67, succeeds A, 300');
    expect(desk.lines('boss')).toEqual(['boss@15 firing: B firing +1', 'boss@75 resolved: A resolved +1']);
  });

  test('holds back what exceeds it and sends all of it as one when there is room, each event once [long]', async () => {
    const desk = await openDesk({ receivers, route });
    await desk.fails(...birds(10));
    await desk.pass(20);
    expect(desk.received).toHaveLength(3);
    await desk.story('fails B00009, 100');
    expect(desk.received).toHaveLength(4);
    const last = desk.received[3]!;
    expect(last.minute).toBeGreaterThanOrEqual(60);
    expect(last.body.notices).toEqual([
      '8 notifications were held back before this one: at most 3 an hour are sent.',
    ]);
    const heldBack = birds(7, 3);
    expect(last.body.alerts.map((one) => one.labels.bird)).toEqual(heldBack);
    const kept = await desk.store.suppressions.ofAlert(
      `FlightFailed/${OF_DEFAULT.FlightFailed}/eu/bird/Marketing%2FB00009`,
    );
    expect(kept).toMatchObject([
      { reason: 'receiver_cap', receiver: 'ops', afterSeq: 0, lastSeq: 1 },
      { reason: 'receiver_cap', receiver: 'ops', afterSeq: 1, lastSeq: 2 },
    ]);
    expectEventsOnce(desk, 11);
    expect(
      desk.happenings.filter((one) => one.what === 'suppressed' && one.reason === 'receiver_cap'),
    ).toHaveLength(8);
  });

  test('notifies once of an event that came after the holding back and before the sending [long]', async () => {
    const desk = await openDesk({ receivers: [capped('ops')], route });
    await desk.story('fails A, 20, fails A, 37.5, fails A, 2, fails A, 30, fails A, 180, succeeds A, 90');
    expectEventsOnce(desk, 5);
    expect(desk.received.at(-1)!.body.status).toBe('resolved');
    expect(new Set(desk.received.map(({ id }) => id)).size).toBe(desk.received.length);
  });

  test('folds a storm: three separately, then one each time, and separately again when it is over [long]', async () => {
    const desk = await openDesk({ receivers: [hook('ops', { foldStormsMs: 5 * MINUTE_MS })], route });
    await desk.fails(...birds(10));
    await desk.pass(1);
    expect(desk.received).toHaveLength(3);
    await desk.pass(10);
    expect(desk.received).toHaveLength(4);
    expect(desk.received[3]!.body.alerts).toHaveLength(7);
    expect(desk.received[3]!.body.notices).toEqual([
      '7 notifications were held back before this one: what comes in a storm is sent together, every 5 min.',
    ]);
    await desk.fails(...birds(10));
    await desk.story('10, 30');
    await desk.fails(...birds(2, 20));
    await desk.pass(1);
    expect(desk.received.slice(-2).map(({ body }) => body.notices)).toEqual([undefined, undefined]);
    expectEventsOnce(desk, 22);
  });

  describe('folds ends', () => {
    const ops = [hook('ops', { foldEndsMs: 5 * MINUTE_MS })];

    test('of several groups: what fires is told at once, what ends or goes on together [long]', async () => {
      const desk = await openDesk({ receivers: ops, route: { ...route, groupIntervalMs: MINUTE_MS } });
      await desk.story('fails A B C D, 2, succeeds A B, 1, fails B C, 1, fails E, 2');
      expect(desk.lines()).toEqual([
        'ops@0 firing: A firing +1',
        'ops@0 firing: B firing +1',
        'ops@0 firing: C firing +1',
        'ops@0 firing: D firing +1',
        'ops@4 firing: E firing +1',
      ]);
      await desk.story('restart, 60');
      expect(desk.lines().slice(5)).toEqual(['ops@7 firing: A resolved +0; B firing +1; C firing +1']);
    });

    test('of one group: in its thread, at once if nothing else was told for a while', async () => {
      const desk = await openDesk({ receivers: ops, route: { ...route, groupIntervalMs: MINUTE_MS } });
      await desk.story('fails A, 2, succeeds A, 10, fails B, 30, succeeds B, 2');
      expect(desk.lines()).toEqual([
        'ops@0 firing: A firing +1',
        'ops@7 resolved: A resolved +0',
        'ops@12 firing: B firing +1',
        'ops@42 resolved: B resolved +0',
      ]);
      expect(desk.happenings.flatMap((one) => (one.what === 'notified' ? one.groupKey : []))).not.toContain(
        'held-back:ops',
      );
    });

    test('tells a waiting end with what fires newly in its group, and when the process is to end', async () => {
      const desk = await openDesk({
        receivers: ops,
        route: { groupBy: ['alertname'], groupWaitMs: 0, groupIntervalMs: MINUTE_MS },
      });
      await desk.story('fails A B, 2, succeeds A, 1, fails C, 2, succeeds B, hurry, 0.1');
      expect(desk.lines()).toEqual([
        'ops@0 firing: A firing +1; B firing +1',
        'ops@4 firing: A resolved +0; B firing +0; C firing +1',
        'ops@5 firing: B resolved +0; C firing +0',
      ]);
    });

    test('leaves in an escalation what fires again before its end is told', async () => {
      const escalation = { afterMs: 15 * MINUTE_MS, receiver: 'boss' };
      const receivers = [...ops, hook('boss')];
      const desk = await openDesk({ receivers, route: { ...route, groupIntervalMs: MINUTE_MS, escalation } });
      await desk.story('fails A B, 2, succeeds A B, 3, fails A, 30');
      expect(desk.lines('boss')).toEqual(['boss@15 firing: A firing +2']);
    });
  });

  test('never lets more than that through in any hour, and loses nothing over a restart [long]', async () => {
    const desk = await openDesk({ receivers, route });
    for (let round = 0; round < 12; round += 1) {
      await desk.fails(...birds(4, round * 4));
      await desk.pass(20);
      if (round % 3 === 0) await desk.restart();
    }
    await desk.pass(120);
    const minutes = desk.received.map(({ minute }) => minute);
    for (const start of minutes) {
      expect(minutes.filter((at) => at >= start && at < start + 60).length).toBeLessThanOrEqual(3);
    }
    const received = desk.received.flatMap(({ body }) => body.alerts.map((one) => one.labels.bird));
    expect(new Set(received)).toEqual(new Set(birds(48)));
    expectEventsOnce(desk, 48);
  });

  test('holds back what a renamed Bird has to report, not that its old name has nothing more', async () => {
    const desk = await openDesk({ receivers: [capped('ops')], route });
    await desk.fails('7:Old');
    // Just before the old group is flushed again, which then comes before the new one.
    await desk.story('5.2, succeeds 7:Old, fails 7:New, 70');
    expect(desk.lines()).toEqual(['ops@0 firing: Old firing +1', 'ops@60 firing: New firing +1']);
  });

  test('lets nothing wait behind what is muted [long]', async () => {
    const desk = await openDesk({ receivers, route });
    await desk.fails(...birds(4));
    await desk.pass(10);
    await desk.silences('B00003', 120);
    await desk.story('60, fails C D, 5, fails E, 5');
    expect(desk.lines().slice(3)).toEqual([
      'ops@70 firing: C firing +1',
      'ops@70 firing: D firing +1',
      'ops@75 firing: E firing +1',
    ]);
    await desk.pass(100);
    expect(desk.lines().filter((line) => line.includes('B00003'))).toEqual([
      'ops@130 firing: B00003 firing +1',
    ]);
  });

  test('notifies of the end of what was held back once, as resolved [long]', async () => {
    const desk = await openDesk({ receivers, route });
    await desk.fails(...birds(4));
    await desk.story('10, succeeds B00003, 120');
    expect(desk.lines().filter((line) => line.includes('B00003'))).toEqual([
      expect.stringContaining('resolved: B00003 resolved +1'),
    ]);
  });

  test('counts only for one receiver', async () => {
    const routes = ['ops', 'boss'].map(
      (receiver, index): Node => node('', { receiver, continue: index === 0 }),
    );
    const root = tree(node('', { groupBy: ['bird'] }, routes));
    const desk = await openDesk({ receivers: [...receivers, hook('boss')], route: root });
    await desk.fails(...birds(5));
    await desk.pass(10);
    expect(desk.lines('ops')).toHaveLength(3);
    expect(desk.lines('boss')).toHaveLength(5);
  });
});

describe('a fallback', () => {
  test('is given after five minutes what was not even attempted, because it waits behind another', async () => {
    const desk = await openDesk({
      receivers: [hook('ops', { fallback: 'backup' }), hook('backup')],
      answer: opsIsDown(),
    });
    await desk.story('fails A, 5, fails B, 4');
    const about = () => ofFlights(desk.lines('backup'));
    expect(about()).toEqual(['backup@0 firing: A firing +1']);
    await desk.pass(3);
    expect(about()).toEqual(['backup@0 firing: A firing +1', 'backup@10 firing: A firing +0; B firing +1']);
    expect(desk.received.at(-1)!.body.notices).toEqual([
      'This was meant for receiver ops, which has not accepted it yet. It is still being tried there.',
    ]);
  });

  test('is told through what its receiver has not accepted it, if something else of it has', async () => {
    const both = [...hook('ops').integrations, email()];
    const desk = await openDesk({
      receivers: [{ name: 'ops', integrations: both, fallback: 'backup' }, hook('backup')],
      answer: opsIsDown(),
    });
    await desk.story('fails A, 3');
    expect(desk.mails).toHaveLength(1);
    expect(desk.received.at(-1)!.body.notices).toEqual([
      'This was meant for receiver ops, which has not accepted it through webhook: HTTP 503. It is still being tried there.',
    ]);
  });

  test('that accepts nothing itself is where it ends', async () => {
    const desk = await openDesk({
      receivers: [hook('ops', { fallback: 'backup' }), hook('backup', { fallback: 'ops' })],
      answer: () => 503,
    });
    await desk.story('fails A, 4');
    expect(await desk.states()).toEqual({ retry: 2 });
  });

  test('is notified once when two integrations of a receiver fail with the same notification', async () => {
    const twice = [...hook('ops').integrations, ...hook('ops').integrations];
    const desk = await openDesk({
      receivers: [{ name: 'ops', integrations: twice, fallback: 'backup' }, hook('backup')],
      answer: opsIsDown(),
    });
    await desk.story('fails A, 5');
    expect(desk.lines()).toEqual(['backup@0 firing: A firing +1']);
    expect(desk.received.at(-1)!.body.notices).toEqual([
      expect.stringContaining('which has not accepted it through webhook 1 (ops.example): HTTP 503.'),
    ]);
    expect(await desk.states()).toEqual({ retry: 2, delivered: 1 });
  });

  test('is notified once of what its receiver has for integrations with `send_resolved` and without [long]', async () => {
    const [own] = hook('ops').integrations as [ReturnType<typeof webhook>];
    const desk = await openDesk({
      receivers: [
        { name: 'ops', integrations: [{ ...own, sendResolved: false }, own], fallback: 'backup' },
        hook('backup'),
      ],
      answer: opsIsDown(),
    });
    await desk.story('fails A B, 5');
    expect(desk.lines()).toEqual(['backup@0 firing: A firing +1; B firing +1']);
    await desk.story('succeeds B, fails A A, 15');
    expect(ofFlights(desk.lines()).slice(1)).toEqual(['backup@10 firing: A firing +2; B resolved +0']);
  });

  test('gets the rest if it first got what was meant for integrations without `send_resolved` [long]', async () => {
    const [own] = hook('ops').integrations as [ReturnType<typeof webhook>];
    const other = { ...own, url: secret('http://other.example/'), sendResolved: false };
    const desk = await openDesk({
      receivers: [{ name: 'ops', integrations: [own, other], fallback: 'backup' }, hook('backup')],
      answer: (receiver, minute) =>
        receiver === 'other' ? 410 : receiver === 'ops' && minute > 3 ? 503 : 200,
    });
    await desk.story('fails A B, 20, succeeds B, fails A, 120');
    const ofFlights = (received: readonly string[]) =>
      received.filter((line) => !/ops|other/.test(line.slice(8)));
    const firing = ofFlights(desk.lines('backup')).flatMap((line) => line.match(/[AB] \w+ \+\d/g) ?? []);
    expect(firing.toSorted()).toEqual(['A firing +1', 'A firing +1', 'B firing +1', 'B resolved +0']);
  });

  test('gets every part of a large notification [long]', async () => {
    const desk = await openDesk({
      receivers: [hook('ops', { fallback: 'backup' }), hook('backup')],
      answer: opsIsDown(),
    });
    await desk.fails(...birds(700));
    await desk.pass(12);
    const received = desk.received.flatMap(({ body }) =>
      body.alerts.flatMap(({ labels }) => labels.bird ?? []),
    );
    expect(received.toSorted()).toEqual(birds(700));
  });

  test('without `send_resolved` is notified of what was over before it was notified', async () => {
    const noEnds = (name: string, settings: Partial<Receiver> = {}) => ({
      ...settings,
      name,
      integrations: [webhook({ url: secret(`http://${name}.example/`), sendResolved: false })],
    });
    let isDown = true;
    const desk = await openDesk({
      receivers: [noEnds('ops', { fallback: 'backup' }), noEnds('backup')],
      answer: (receiver) => (receiver === 'ops' && isDown ? 503 : 200),
    });
    await desk.fails('A');
    await desk.clock.advance(5_000);
    await desk.story('succeeds A, 4');
    expect(desk.lines()).toEqual(['backup@0 resolved: A resolved +1']);
    isDown = false;
    await desk.story('20, fails A, 1');
    isDown = true;
    await desk.fails('A');
    await desk.clock.advance(5_000);
    await desk.story('succeeds A, 9');
    expect(desk.lines('backup').slice(1)).toEqual(['backup@29 resolved: A resolved +1']);
  });

  test('without `send_resolved` is not notified of an end alone [long]', async () => {
    const [own] = hook('backup').integrations as [ReturnType<typeof webhook>];
    const desk = await openDesk({
      receivers: [
        hook('ops', { fallback: 'backup' }),
        { name: 'backup', integrations: [{ ...own, sendResolved: false }] },
      ],
      answer: (receiver, minute) => (receiver === 'ops' && minute > 1 ? 503 : 200),
    });
    await desk.story('fails A, 1, succeeds A, 60');
    expect(ofFlights(desk.lines('backup'))).toEqual([]);
  });

  test('for people gets a large notification as people do: once, with the first alerts and a count of the rest [long]', async () => {
    const inBatches = webhook({ url: secret('http://ops.example/'), format: 'cloudevents' });
    for (const [own, parts] of [
      [hook('ops').integrations[0]!, 2],
      [inBatches, 7],
    ] as const) {
      const desk = await openDesk({
        receivers: [
          { name: 'ops', integrations: [own], fallback: 'backup' },
          { name: 'backup', integrations: [email(), ...hook('backup').integrations] },
        ],
        answer: opsIsDown(),
      });
      await desk.fails(...birds(700));
      await desk.pass(5.5);
      expect(desk.mails.map(({ notification }) => notification)).toMatchObject([
        { firingTotal: 700, truncatedAlerts: 600 },
      ]);
      expect(desk.mails[0]!.notification.alerts).toHaveLength(100);
      expect(desk.mails[0]!.notification).not.toHaveProperty('part');
      const received = desk.received.filter(({ receiver }) => receiver === 'backup');
      expect(received.map(({ body }) => body.parts)).toEqual(Array(parts).fill(parts));
      expect(received.flatMap(({ body }) => body.alerts)).toHaveLength(700);
    }
  });

  describe('that was notified of what fires', () => {
    const people = (name: string): Receiver => ({
      name,
      integrations: [...hook(name).integrations, email()],
    });
    const mailsOf = (desk: Desk) =>
      desk.mails
        .map(({ notification }) => notification)
        .filter(({ groupLabels }) => groupLabels.alertname === 'FlightFailed');
    const endsOf = (desk: Desk) => mailsOf(desk).map(({ status }) => status);

    test('is notified of the end once, although its receiver accepts again [long]', async () => {
      const desk = await openDesk({
        receivers: [hook('ops', { fallback: 'backup' }), people('backup')],
        answer: opsIsDown(3),
      });
      await desk.story('fails A B, 20, fails C, 20, succeeds B C, 20, succeeds A, 120, fails A, 20');
      await desk.story('succeeds A, 20');
      expect(said(ofFlights(desk.lines('backup')))).toEqual([
        'firing: A firing +1; B firing +1',
        'firing: A firing +0; B resolved +0',
        'resolved: A resolved +0',
      ]);
      expect(endsOf(desk)).toEqual(['firing', 'firing', 'resolved']);
      const [first, ...later] = mailsOf(desk);
      expect(later.map(({ thread, threadPosition }) => [thread, threadPosition])).toEqual([
        [first!.thread, 1],
        [first!.thread, 2],
      ]);
    });

    const ends = [
      ['before its receiver accepts again', 60],
      ['of which its receiver accepts nothing', 600],
      ['just as its receiver accepts again', 24],
    ] as const;
    test.each(ends)('is notified once of an end %s [long]', async (_, upAt) => {
      const desk = await openDesk({
        receivers: [hook('ops', { fallback: 'backup' }), people('backup')],
        answer: opsIsDown(upAt),
      });
      await desk.story('fails A, 20, succeeds A, 200');
      expect(said(ofFlights(desk.lines('backup')))).toEqual([
        'firing: A firing +1',
        'resolved: A resolved +0',
      ]);
      expect(endsOf(desk)).toEqual(['firing', 'resolved']);
    });

    test.each([
      ['before', 20, ['firing: A firing +1', 'resolved: A resolved +0']],
      ['after', 60, ['firing: A firing +1', 'firing: A firing +1', 'resolved: A resolved +0']],
    ])(
      'is notified of the end once, %s the alert would be escalated to it [long]',
      async (_, endsAt, told) => {
        const desk = await openDesk({
          receivers: [hook('ops', { fallback: 'boss' }), hook('boss')],
          route: { escalation: { afterMs: 30 * MINUTE_MS, receiver: 'boss' } },
          answer: opsIsDown(3),
        });
        await desk.fails('A');
        await desk.pass(endsAt);
        await desk.story('succeeds A, 60');
        expect(said(ofFlights(desk.lines('boss')))).toEqual(told);
      },
    );

    test('is notified of the end once if it is also a receiver of its own [long]', async () => {
      const routes = ['ops', 'boss'].map((receiver): Node => node('', { receiver, continue: true }));
      const desk = await openDesk({
        receivers: [hook('ops', { fallback: 'boss' }), hook('boss')],
        route: tree(node('', {}, routes)),
        answer: opsIsDown(3),
      });
      await desk.story('fails A, 20, succeeds A, 60');
      expect(said(ofFlights(desk.lines('boss')))).toEqual([
        'firing: A firing +1',
        'firing: A firing +1',
        'resolved: A resolved +0',
      ]);
    });

    test('is notified of the end in whatever way its receiver is: held back, moved, or no more [long]', async () => {
      const ways: readonly [Partial<Receiver>, Partial<Route>][] = [
        [{ maxNotificationsPerHour: 1 }, {}],
        [{}, { groupBy: ['bird'] }],
        [{}, { receiver: 'other' }],
      ];
      for (const [settings, later] of ways) {
        const desk = await openDesk({
          receivers: [hook('ops', { fallback: 'backup', ...settings }), people('backup'), hook('other')],
          answer: opsIsDown(3),
        });
        await desk.story('fails A, 10');
        await desk.restart(later);
        await desk.story('10, succeeds A, 120');
        expect(said(ofFlights(desk.lines('backup')))).toEqual([
          'firing: A firing +1',
          'resolved: A resolved +0',
        ]);
      }
    });
  });

  test('is not notified of what is accepted in time', async () => {
    const desk = await openDesk({
      receivers: [hook('ops', { fallback: 'backup' }), hook('backup')],
      answer: (receiver, _, tries) => (receiver === 'ops' && tries <= 2 ? 503 : 200),
    });
    await desk.story('fails A, 30');
    expect(desk.lines()).toEqual(['ops@0 firing: A firing +1']);
  });
});

describe('DeliveryFailing', () => {
  test('without a fallback goes to everybody else, and also to the receiver itself [long]', async () => {
    const lake = { name: 'lake', integrations: [webhook({ format: 'cloudevents' })] };
    const desk = await openDesk({
      receivers: [hook('ops'), hook('boss'), hook('duty'), lake],
      answer: opsIsDown(60),
    });
    await desk.story('fails A, 90');
    const about = desk.lines().filter((line) => line.includes('ops firing') || line.includes('ops resolved'));
    expect(about.toSorted().map((line) => line.replace(/@\d+/, ''))).toEqual([
      'boss firing: ops firing +0',
      'boss resolved: ops resolved +0',
      'duty firing: ops firing +0',
      'duty resolved: ops resolved +0',
      'ops firing: ops firing +0',
      'ops resolved: ops resolved +0',
    ]);
  });

  test('goes to everybody else at once, although its receiver has a cap, and as if there were none [long]', async () => {
    const desk = await openDesk({
      receivers: [hook('ops', { maxNotificationsPerHour: 3 }), hook('boss')],
      route: { groupBy: ['bird', 'alertname'], groupWaitMs: 0 },
      answer: opsIsDown(90),
    });
    await desk.story('fails A B C D, 120');
    expect(desk.lines('boss')).toEqual(['boss@5 firing: ops firing +0', 'boss@95 resolved: ops resolved +0']);
    const told = desk.received.filter(({ receiver }) => receiver === 'boss');
    expect(told.map(({ body }) => body.notices)).toEqual([undefined, undefined]);
  });

  test('goes to everybody else whatever spaces its receiver has in its name', async () => {
    const receiver = { ...hook('ops'), name: 'ops  team' };
    const desk = await openDesk({
      receivers: [receiver, hook('boss')],
      route: { receiver: receiver.name },
      answer: opsIsDown(),
    });
    await desk.story('fails A, 10');
    expect(said(desk.lines('boss'))).toEqual(['firing: ops team firing +0']);
  });

  test('notifies all of the end who were notified that it fires, also if the receiver has a fallback by then [long]', async () => {
    const receivers = [hook('ops'), hook('backup'), hook('boss')];
    const desk = await openDesk({ receivers, answer: opsIsDown(60) });
    await desk.story('fails A, 30');
    receivers[0] = hook('ops', { fallback: 'backup' });
    await desk.story('restart, 90');
    for (const name of ['backup', 'boss']) {
      const told = desk.lines(name).filter((line) => line.includes('ops'));
      expect(said(told)).toEqual(['firing: ops firing +0', 'resolved: ops resolved +0']);
    }
  });

  test('does not fire for a short trouble, nor for one that a restart only seems to begin anew [long]', async () => {
    const desk = await openDesk({ receivers: [hook('ops'), hook('boss')], answer: opsIsDown(3) });
    await desk.story('fails A, 30');
    expect(desk.lines('boss')).toEqual([]);

    const restarted = await openDesk({ receivers: [hook('ops'), hook('boss')], answer: opsIsDown(60) });
    await restarted.fails('A');
    await restarted.pass(4);
    await restarted.restart();
    await restarted.pass(3);
    expect(restarted.lines('boss')).toEqual(['boss@6 firing: ops firing +0']);
  });

  test('ends when the failing integration is no longer one of its integrations', async () => {
    const [own, gone] = ['ops', 'gone'].flatMap((name) => hook(name).integrations);
    const receivers = [{ name: 'ops', integrations: [own!, gone!] }];
    const desk = await openDesk({ receivers, answer: (receiver) => (receiver === 'gone' ? 410 : 200) });
    const failing = async () =>
      (await desk.store.alerts.page({ order: 'newest', nowUs: 0, limit: 10 }).then((one) => one.alerts)).find(
        ({ alertname }) => alertname === 'DeliveryFailing',
      )?.state;
    await desk.story('fails A, 30');
    expect(await failing()).toBe('firing');
    receivers.splice(0, 1, { name: 'ops', integrations: [own!] });
    await desk.pass(2);
    expect(await failing()).toBe('resolved');
  });

  test('lasts when an integration of another kind is added before the failing one [long]', async () => {
    const [own] = hook('ops').integrations;
    const receivers: Receiver[] = [hook('ops'), hook('boss')];
    const desk = await openDesk({ receivers, answer: opsIsDown(60) });
    await desk.story('fails A, 10');
    receivers.splice(0, 1, { name: 'ops', integrations: [email(), own!] });
    await desk.story('restart, 40');
    expect(desk.lines('boss')).toEqual(['boss@6 firing: ops firing +0']);
  });

  test('ends when the receiver is no longer configured [long]', async () => {
    const receivers = [hook('ops'), hook('boss')];
    const desk = await openDesk({
      receivers,
      answer: () => 503,
      rules: [{ ...defaultRule('DeliveryFailing'), forMs: 60_000 }],
    });
    await desk.story('fails A, 5');
    const alerts = () =>
      desk.store.alerts.page({ order: 'newest', nowUs: 0, limit: 10 }).then((one) => one.alerts);
    expect((await alerts()).find((one) => one.labels.receiver === 'ops')).toMatchObject({ state: 'firing' });
    receivers.splice(0, 1);
    await desk.pass(2);
    expect((await alerts()).find((one) => one.labels.receiver === 'ops')).toMatchObject({
      state: 'resolved',
    });
  });
});

describe('members of Nests', () => {
  const toMembers = { name: 'ops', integrations: [email({ to: [], toNestMembers: true })] };

  test('are notified only of their own Nest, in a separate thread; without any, the reason is recorded', async () => {
    const desk = await openDesk({ receivers: [toMembers] });
    await desk.store.inventory.putNestMembers([
      { region: 'eu', nestId: 'nest-Sales', addresses: ['anna@example.com', 'bo@example.com'] },
      { region: 'eu', nestId: 'nest-Docs', addresses: ['bo@example.com'] },
      { region: 'us', nestId: 'nest-Empty', addresses: ['other@example.com'] },
    ]);
    await desk.story('fails Sales/A Sales/B Docs/C Empty/D, 1');
    const mails = desk.mails.map(({ notification }) => ({
      to: notification.to,
      birds: notification.alerts.map((one) => one.labels.bird),
      firing: notification.firingTotal,
    }));
    expect(mails).toHaveLength(2);
    expect(mails).toEqual(
      expect.arrayContaining([
        { to: ['anna@example.com', 'bo@example.com'], birds: ['A', 'B'], firing: 2 },
        { to: ['bo@example.com'], birds: ['C'], firing: 1 },
      ]),
    );
    expect(new Set(desk.mails.map(({ notification }) => notification.thread)).size).toBe(2);
    expect(await desk.states()).toEqual({ delivered: 2, suppressed: 1 });
    const [left] = await desk.store.outbox
      .page({ state: 'suppressed', limit: 2 })
      .then((one) => one.deliveries);
    expect(left).toMatchObject({ lastError: 'Nest nest-Empty has no active members' });
  });

  test('if there are none, the fallback is notified, by whichever integration can', async () => {
    const backup = {
      name: 'backup',
      integrations: [email({ to: [], toNestMembers: true }), ...hook('backup').integrations],
    };
    const desk = await openDesk({ receivers: [{ ...toMembers, fallback: 'backup' }, backup] });
    await desk.story('fails Empty/D, 1');
    expect(desk.lines()).toEqual(['backup@0 firing: D firing +1']);
    expect(desk.received[0]!.body.notices).toEqual([
      'This was meant for receiver ops, which notified nobody: Nest nest-Empty has no active members.',
    ]);
    expect(desk.mails).toEqual([]);
  });

  test('if there are none and no fallback, the receiver of the root route is notified', async () => {
    const route = tree(node('', { receiver: 'root', groupWaitMs: 0 }, [node('', { receiver: 'ops' })]));
    const desk = await openDesk({ receivers: [hook('root'), toMembers], route });
    await desk.story('fails Empty/D, 1');
    expect(desk.lines()).toEqual(['root@0 firing: D firing +1']);
    expect(desk.received[0]!.body.notices).toEqual([
      'This was meant for receiver ops, which notified nobody: Nest nest-Empty has no active members.',
    ]);
    await desk.story('succeeds Empty/D, 10');
    expect(desk.lines('root').at(-1)).toMatch(/^root@\d+ resolved: D resolved/);
    expect(desk.happenings.filter((one) => one.what === 'suppressed')).toEqual([
      { what: 'suppressed', reason: 'no_integration', count: 1 },
      { what: 'suppressed', reason: 'no_integration', count: 1 },
    ]);
  });

  test('if there are none, and nobody else, it is counted as suppressed', async () => {
    const desk = await openDesk({ receivers: [toMembers] });
    await desk.store.inventory.putNestMembers([
      { region: 'eu', nestId: 'nest-Sales', addresses: ['a@example.com'] },
    ]);
    await desk.story('fails Sales/A Empty/D Bare/E, 1');
    expect(desk.mails).toHaveLength(1);
    expect(desk.happenings).toContainEqual({ what: 'suppressed', reason: 'no_integration', count: 2 });
  });

  test('are notified in addition to the given addresses', async () => {
    const desk = await openDesk({
      receivers: [{ name: 'ops', integrations: [email({ to: ['ops@example.com'], toNestMembers: true })] }],
    });
    await desk.story('fails Sales/A, 1');
    expect(desk.mails.map(({ notification }) => notification.to)).toEqual([['ops@example.com']]);
  });
});

test('a notification says why it is sent, and has the labels of its route for the group', async () => {
  const desk = await openDesk({
    receivers: [hook('ops')],
    route: {
      groupIntervalMs: MINUTE_MS,
      repeatIntervalMs: 3 * MINUTE_MS,
      writeLabels: ({ groupLabels, commonLabels }) => ({
        text: `${groupLabels.alertname}, ${commonLabels.bird ?? 'several'}`,
      }),
    },
  });
  await desk.story('fails A, 1, fails B, 2, succeeds A, 5, succeeds B, 2');
  expect(desk.received.map(({ body }) => [body.notification_reason, body.routeLabels])).toEqual([
    ['first notification', { text: 'FlightFailed, A' }],
    ['new alerts added', { text: 'FlightFailed, several' }],
    ['some alerts resolved', { text: 'FlightFailed, several' }],
    ['repeat interval elapsed', { text: 'FlightFailed, B' }],
    ['all alerts resolved', { text: 'FlightFailed, B' }],
  ]);
});
