/** What people read of deadlines: the first mail, the reminder, and the end. */
import { beforeEach, expect, test } from 'vitest';
import { emailText } from '../../src/channels/email/mail-message.ts';
import { mailView } from '../../src/channels/message/message-view.ts';
import type { FactOf } from '../../src/domain/alert/fact.ts';
import { DEFAULT_RULES } from '../../src/domain/kinds/kinds.ts';
import { applyFacts } from '../../src/store/change-alerts.ts';
import { email } from '../channels/sample-notifications.ts';
import { deadlineMissed, flight, MARKETING, minute, rule } from '../domain/world.ts';
import { type Desk, MINUTE_MS, openDesk } from './desk.ts';

const RULE = rule('FlightOverdue', {
  landedBy: '0 14 * * *',
  timezone: 'Europe/Amsterdam',
  warnBeforeMs: 30 * MINUTE_MS,
});

let desk: Desk;
beforeEach(async () => {
  desk = await openDesk({
    receivers: [{ name: 'ops', integrations: [email({ to: ['ops@example.com'] })] }],
    route: { groupBy: ['bird'], repeatIntervalMs: 130 * MINUTE_MS },
    rules: [RULE],
  });
});

/** 14:00 in Amsterdam is noon in UTC, when the story begins. */
const missed = (change: Partial<FactOf<'deadline_missed'>> = {}) => deadlineMissed(0, change);
const happens = (fact: ReturnType<typeof deadlineMissed>) =>
  desk.store.transaction((tx) => applyFacts(tx, [fact], [RULE], desk.clock.nowUs()));
const lastView = () => mailView(desk.mails.at(-1)!.notification, 'http://watch.example.com');
/** The headline of the last mail, and its sentences. */
function lastMail() {
  const { headline, lead } = lastView();
  return [headline, ...lead];
}

test('says how it stood at the deadline, how late it is by now, and when it landed [long]', async () => {
  await happens(
    missed({ how: { what: 'failed', atUs: minute(-29), message: 'Variable targetLanguage is missing.' } }),
  );
  await desk.pass(2);
  const first = 'Not landed by 14:00 (Amsterdam). It failed at 13:31: Variable targetLanguage is missing.';
  expect(lastMail()).toEqual(['Overdue: Translate blog', first]);
  await desk.pass(130);
  expect(lastMail()).toEqual([
    'Reminder: Still overdue: Translate blog',
    'Still not landed, 2 h 10 min late.',
    first,
  ]);
  await happens(missed({ deadlineUs: minute(60), fromUs: minute(0), readAtUs: minute(61) }));
  await happens(missed({ deadlineUs: minute(120), fromUs: minute(60), readAtUs: minute(121) }));
  await desk.pass(132);
  expect(lastMail().slice(1)).toEqual([
    'Still not landed, 2 h 20 min late; 3 deadlines missed in a row.',
    'Not landed by 16:00 (Amsterdam). It did not start.',
  ]);
  await desk.store.transaction((tx) =>
    applyFacts(tx, [flight('succeeded', { started: 80, at: 264 })], [RULE], desk.clock.nowUs()),
  );
  await desk.pass(10);
  expect(lastMail()).toEqual(['Landed: Translate blog', 'Landed at 18:24, 2 h 24 min late.']);
});

test('of a failure with a long trace it says the line that tells what went wrong', async () => {
  const trace = `Traceback (most recent call last):\n${'  File "/app/step.py", line 7, in run\n'.repeat(80)}ValueError: boom`;
  await happens(missed({ how: { what: 'failed', atUs: minute(-29), message: trace } }));
  await desk.pass(2);
  expect(lastMail().slice(1)).toEqual([
    'Not landed by 14:00 (Amsterdam). It failed at 13:31: ValueError: boom.',
  ]);
});

test('what was judged late says so in a sentence of its own', async () => {
  await happens(missed({ readAtUs: minute(41), wasUnread: true }));
  await desk.pass(2);
  expect(lastMail()[1]).toBe(
    'Not landed by 14:00 (Amsterdam). It did not start. (Judged at 14:41, EU could not be read before.)',
  );
});

test('a warning ahead of the deadline is not called overdue, and becomes so', async () => {
  await happens(missed({ outcome: 'near', missed: 0, readAtUs: minute(-30) }));
  await desk.pass(2);
  expect(lastMail()).toEqual([
    'May be overdue soon: Translate blog',
    'Not landed yet, due by 14:00 (Amsterdam). It did not start.',
  ]);
  await happens(missed());
  await desk.pass(10);
  expect(lastMail()).toEqual([
    'Overdue now: Translate blog',
    'Not landed by 14:00 (Amsterdam). It did not start.',
    'It was a warning since 2 Jul 2026, 11:30 UTC.',
  ]);
  expect(emailText(mailView(desk.mails[0]!.notification, 'http://watch.example.com'))).not.toContain(
    'due_by',
  );
});

test('one that landed late is told once, as over [long]', async () => {
  const { event } = flight('succeeded', { started: -20, at: 0.1 });
  await desk.store.transaction(async (tx) => {
    const { stream } = await tx.streams.open('eu', 'flight', event.birdId);
    await tx.events.insert(stream, [event]);
    await applyFacts(
      tx,
      [missed({ outcome: 'late', missed: 0, how: { what: 'landed', atUs: minute(0.1), event } })],
      [RULE],
      desk.clock.nowUs(),
    );
  });
  await desk.pass(300);
  expect(desk.mails).toHaveLength(1);
  expect(lastMail()).toEqual(['Landed: Translate blog', 'Landed at 14:00, 6 s late.']);
});

test('the failed Flight is listed under the deadline that was missed because of it, and not twice', async () => {
  const { event } = flight('failed', { started: -60, at: -29, message: 'boom' });
  await desk.store.transaction(async (tx) => {
    const { stream } = await tx.streams.open('eu', 'flight', event.birdId);
    await tx.events.insert(stream, [event]);
    const fact = { fact: 'event', event, historic: false } as const;
    await applyFacts(tx, [fact], [RULE, ...DEFAULT_RULES], desk.clock.nowUs());
  });
  await happens(missed({ how: { what: 'failed', atUs: minute(-29), message: 'boom' } }));
  await desk.pass(2);
  expect(desk.mails.at(-1)!.notification.alerts).toHaveLength(2);
  expect(lastMail()).toEqual([
    'Overdue: Translate blog',
    'Not landed by 14:00 (Amsterdam). It failed at 13:31: boom.',
  ]);
  const view = lastView();
  expect(view.clusters).toEqual([]);
  expect(view.context).toContain('since 2 Jul 2026, 12:00 UTC');
  expect(view.details).toContainEqual(['Flight', 'f--60']);
  await desk.store.transaction((tx) =>
    applyFacts(
      tx,
      [flight('succeeded', { started: -20, at: 24 })],
      [RULE, ...DEFAULT_RULES],
      desk.clock.nowUs(),
    ),
  );
  await desk.pass(10);
  expect(lastMail()).toEqual(['Landed: Translate blog', 'Landed at 14:24, 24 min late.']);
});

test('a Flight that failed after the deadline was missed is told with its error and who can act', async () => {
  await happens(missed());
  await desk.pass(2);
  const { event } = flight('failed', { started: 10, at: 20, message: 'boom' });
  const failed = { ...event, attributes: { ...event.attributes, error_type: 'PluginMisconfiguration' } };
  await desk.store.transaction(async (tx) => {
    const { stream } = await tx.streams.open('eu', 'flight', event.birdId);
    await tx.events.insert(stream, [failed]);
    const fact = { fact: 'event', event: failed, historic: false } as const;
    await applyFacts(tx, [fact], [RULE, ...DEFAULT_RULES], desk.clock.nowUs());
  });
  await desk.pass(20);
  expect(lastMail()).toEqual([
    'Still overdue: Translate blog',
    expect.stringMatching(/^Still not landed, \d+ min late\.$/),
    'Not landed by 14:00 (Amsterdam). It did not start.',
    'To act: somebody who edits the Bird (configuration error).',
  ]);
  expect(lastView().message).toEqual(['boom']);
  await desk.pass(150);
  expect(lastMail()[0]).toBe('Reminder: Still overdue: Translate blog');
  expect([lastView().messageTitle, ...lastView().message]).toEqual(['Last message', 'boom']);
});

/** A desk that tells of all Birds of a Nest in one message; returns another Bird of it. */
async function openNest() {
  desk = await openDesk({
    receivers: [{ name: 'ops', integrations: [email({ to: ['ops@example.com'] })] }],
    route: { groupBy: ['nest'] },
    rules: [RULE],
  });
  return { ...MARKETING, birdId: '148891', bird: 'Sync orders' };
}

test('of several deadlines it says that each was missed, and once why', async () => {
  const other = await openNest();
  const { event } = flight('failed', { started: -60, at: -29, message: 'boom' });
  await desk.store.transaction(async (tx) => {
    const { stream } = await tx.streams.open('eu', 'flight', event.birdId);
    await tx.events.insert(stream, [event]);
    const failed = { fact: 'event', event, historic: false } as const;
    const how = { what: 'failed', atUs: minute(-29), message: 'boom' } as const;
    const facts = [failed, missed({ how }), missed({ place: other })];
    await applyFacts(tx, facts, [RULE, ...DEFAULT_RULES], desk.clock.nowUs());
  });
  await desk.pass(2);
  expect(
    lastView().clusters.map(({ cause, lines }) => [cause, ...lines.map((line) => line.message)]),
  ).toEqual([
    ['Not landed by 14:00 (Amsterdam). It failed at 13:31: boom', ''],
    ['Not landed by 14:00 (Amsterdam). It did not start.'],
  ]);
});

test('of several that landed it says how late each was', async () => {
  const other = await openNest();
  await desk.store.transaction((tx) =>
    applyFacts(tx, [missed(), missed({ place: other })], [RULE], desk.clock.nowUs()),
  );
  await desk.pass(2);
  const [landed, later] = [
    flight('succeeded', { started: 2, at: 24 }),
    flight('succeeded', { started: 2, at: 26, place: other }),
  ];
  await desk.store.transaction((tx) => applyFacts(tx, [landed, later], [RULE], desk.clock.nowUs()));
  await desk.pass(10);
  expect(lastView().clusters.map(({ places, context }) => [...places, context])).toEqual([
    ['Translate blog', expect.stringContaining('landed at 14:24, 24 min late')],
    ['Sync orders', expect.stringContaining('landed at 14:26, 26 min late')],
  ]);
});
