/** Subjects: what they say, and that mail programs keep the mails of a group together whatever these say. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mailMessage } from '../../../src/channels/email/mail-message.ts';
import type { GroupNotification } from '../../../src/domain/grouping/notification.ts';
import { WORDS } from '../../domain/kinds/kind-words.ts';
import { anyGroupNotification } from '../any-notification.ts';
import { alert, group, NOW_US } from '../sample-notifications.ts';

const URL = 'https://nestwatch.example.com';
const subject = (notification: GroupNotification) => mailMessage(notification, URL, undefined).subject;

const BIRD = { alertname: 'FlightFailed', region: 'eu', nest: 'Marketing', bird: 'Translate blog' };
const NEST = { alertname: 'FlightFailed', region: 'eu', nest: 'Marketing' };
const over = alert({ status: 'resolved', ending: 'over', endsAtUs: NOW_US });
const other = (bird: string, changes: Parameters<typeof alert>[0] = {}) =>
  alert({ id: bird, labels: { ...alert().labels, bird, bird_id: bird }, ...changes });

describe('the subject of a first mail says where, what, and of whom or of how many', () => {
  test.each([
    [BIRD, '[nestwatch] EU · Marketing / Translate blog: Flight failed'],
    [NEST, '[nestwatch] [Translate blog] EU · Marketing: Flight failed'],
    [{ alertname: 'RegionDown', region: 'us' }, '[nestwatch] [Translate blog] US: Region down'],
    [{ alertname: 'Ours' }, '[nestwatch] [Translate blog] Ours'],
    [{ region: 'eu', nest_id: '682' }, '[nestwatch] [Flight failed: Translate blog] EU · Nest 682'],
    [
      { alertname: 'FlightFailed', severity: 'critical', team: 'loc' },
      '[nestwatch] [Translate blog] Flight failed (critical, loc)',
    ],
    [{ severity: 'critical' }, '[nestwatch] [Flight failed: Translate blog] Alerts (critical)'],
    [{}, '[nestwatch] [Flight failed: Translate blog] Alerts for ops'],
  ])('%j', (groupLabels, expected) => {
    expect(subject(group({ groupLabels }))).toBe(expected);
  });

  test('several', () => {
    const alerts = [other('a'), other('b'), other('c')];
    expect(subject(group({ groupLabels: NEST, alerts }))).toBe(
      '[nestwatch] [3 Birds] EU · Marketing: Flight failed',
    );
  });
});

describe('the subject of a later mail says what is new in it', () => {
  test.each<[string, Partial<GroupNotification>, string]>([
    ['more of the same', { reason: 'new_events' }, WORDS.FlightFailed.still],
    ['a reminder', { reason: 'repeat' }, `Reminder: ${WORDS.FlightFailed.still}`],
    ['the end', { reason: 'resolved', alerts: [over], status: 'resolved' }, WORDS.FlightFailed.over],
  ])('%s', (_, changes, news) => {
    const thread = { threadPosition: 2, ...changes };
    expect(subject(group({ groupLabels: BIRD, ...thread }))).toBe(
      `Re: [nestwatch] [${news}] EU · Marketing / Translate blog: Flight failed`,
    );
    expect(subject(group({ groupLabels: NEST, ...thread }))).toBe(
      `Re: [nestwatch] [${news}: Translate blog] EU · Marketing: Flight failed`,
    );
  });

  test('changes among several', () => {
    const still = [other('d'), other('e'), other('f')].map((one) => ({ ...one, events: [] }));
    const alerts = [other('a', { isNew: true }), other('b', { isNew: true }), over, ...still];
    expect(
      subject(group({ groupLabels: NEST, alerts, threadPosition: 1, reason: 'new_alerts', newTotal: 2 })),
    ).toBe(
      'Re: [nestwatch] [Flight failed: 2 new, 1 recovered, 3 still failing] EU · Marketing: Flight failed',
    );
  });
});

test('no name makes a line end, a bracket of its own, or a subject without end', () => {
  const bird = `A] x [\r\nBcc: b@c\u202E${'y'.repeat(5_000)}`;
  const alerts = [other(bird)];
  const long = subject(group({ alerts, groupLabels: { alertname: `A\r\n${bird}`, nest: 'z'.repeat(900) } }));
  expect(long).not.toMatch(/[\r\n\u202E]/);
  expect([...long].length).toBeLessThanOrEqual(240);
  expect(long).toMatch(/^\[nestwatch\] \[A\) x \( Bcc/);
});

/** Gmail: neither `Re:` nor brackets at the beginning make another conversation; the rest of the subject has to be the same. */
const gmail = (text: string) => text.replace(/^(\s*(re:|fwd?:|\[[^[\]]*\]))+\s*/i, '');

/** RFC 5256, 2.1: without `Re:`, `Fwd:` and brackets before them or before what remains, as long as something remains. */
function baseSubject(text: string): string {
  let rest = text.replaceAll(/\s+/g, ' ').trim();
  for (;;) {
    const leader = rest.replace(/^(\[[^[\]]*\]\s*)*(re|fwd?)\s*(\[[^[\]]*\]\s*)?:\s*/i, '');
    const blob = leader.replace(/^\[[^[\]]*\]\s*/, '');
    const next = blob === '' ? leader : blob;
    if (next === rest) return rest;
    rest = next;
  }
}

describe('the mails of a group stay one conversation', () => {
  test('in Gmail, by RFC 5256 and for Outlook, whatever they say', () => {
    fc.assert(
      fc.property(
        fc.array(anyGroupNotification, { minLength: 2, maxLength: 4 }),
        fc.constantFrom(BIRD, NEST, {}),
        (all, groupLabels) => {
          const mails = all.map((one, threadPosition) =>
            mailMessage({ ...one, groupLabels, threadPosition }, URL, undefined),
          );
          const [first] = mails;
          for (const mail of mails) {
            expect(gmail(mail.subject)).toBe(gmail(first!.subject));
            expect(baseSubject(mail.subject)).toBe(baseSubject(first!.subject));
            // MS-OXCMAIL 2.2.3.2.7: what the subject ends with is taken for the topic of the conversation.
            expect(mail.topic).toBe(first!.topic);
            expect(mail.subject.endsWith(mail.topic)).toBe(true);
          }
        },
      ),
      { numRuns: 100 },
    );
  });

  test('and another group is another one', () => {
    expect(gmail(subject(group({ groupLabels: BIRD })))).not.toBe(
      gmail(subject(group({ groupLabels: NEST }))),
    );
  });
});
