/** Subjects: what they say, and that mail programs keep the mails of a group together whatever they say. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mailMessage } from '../../../src/channels/email/mail-message.ts';
import type { GroupNotification } from '../../../src/domain/grouping/notification.ts';
import { anyGroupNotification } from '../any-notification.ts';
import { group, labelled, resolved } from '../sample-notifications.ts';

const URL = 'https://nestwatch.example.com';
const STABLE = { subject: 'stable' } as const;
const subject = (notification: GroupNotification) =>
  mailMessage(notification, URL, undefined, STABLE).subject;

const BIRD = { alertname: 'FlightFailed', region: 'eu', nest: 'Marketing', bird: 'Translate blog' };
const NEST = { alertname: 'FlightFailed', region: 'eu', nest: 'Marketing' };
const over = resolved({ ending: 'over' });
const other = (bird: string, changes: Parameters<typeof resolved>[0] = {}) =>
  labelled({ bird, bird_id: bird }, { id: bird, ...changes });

describe('the subject says where and what, by the labels of the group', () => {
  test.each([
    [BIRD, '[nestwatch] EU - Marketing / Translate blog: FlightFailed'],
    [NEST, '[nestwatch] EU - Marketing: FlightFailed'],
    [{ alertname: 'RegionDown', region: 'us' }, '[nestwatch] US: RegionDown'],
    [{ alertname: 'Ours' }, '[nestwatch] Ours'],
    [{ region: 'eu', nest_id: '682' }, '[nestwatch] EU - Nest 682'],
    [
      { alertname: 'FlightFailed', severity: 'critical', team: 'loc' },
      '[nestwatch] FlightFailed (critical, loc)',
    ],
    [{ severity: 'critical' }, '[nestwatch] Alerts (critical)'],
    [{}, '[nestwatch] Alerts for ops'],
  ])('%j [long]', (groupLabels, expected) => {
    expect(subject(group({ groupLabels }))).toBe(expected);
  });
});

test('whatever a group has in common, its subject says more than that there are alerts', () => {
  const names = ['alertname', 'region', 'nest', 'nest_id', 'bird', 'bird_id', 'severity', 'team'];
  const name = fc.constantFrom(...names);
  const value = fc.constantFrom('', ' ', '\u202E', '\r\n', 'Marketing', 'FlightFailed');
  fc.assert(
    fc.property(fc.dictionary(name, value), (groupLabels) => {
      expect(subject(group({ groupLabels }))).toMatch(/^\[nestwatch\] (?!Alerts$)[^\s:()]/);
    }),
    {
      examples: [
        [{}],
        [{ severity: '' }],
        [{ severity: '\u202E' }],
        [{ nest: '\u202E' }],
        [{ alertname: ' ' }],
      ],
    },
  );
});

describe('the subject of a later mail is the first one with Re:', () => {
  const still = [other('d'), other('e'), other('f')].map((one) => ({ ...one, events: [] }));

  test.each<[string, Partial<GroupNotification>]>([
    ['more of the same', { reason: 'new_events' }],
    ['a reminder', { reason: 'repeat' }],
    ['one of several is over', { reason: 'resolved', alerts: [over, ...still], resolvedTotal: 1 }],
    ['everything is over', { reason: 'resolved', alerts: [over], status: 'resolved', resolvedTotal: 1 }],
    [
      'new ones among several',
      { reason: 'new_alerts', alerts: [other('a', { isNew: true }), ...still], newTotal: 1 },
    ],
  ])('%s', (_, changes) => {
    for (const groupLabels of [BIRD, NEST]) {
      const later = subject(group({ groupLabels, threadPosition: 2, ...changes }));
      expect(later).toBe(`Re: ${subject(group({ groupLabels }))}`);
    }
  });
});

test('no name can add a line or an endless subject', () => {
  const bird = `A] x [\r\nBcc: b@c\u202E${'y'.repeat(5_000)}`;
  const long = subject(group({ groupLabels: { alertname: `A\r\n${bird}`, nest: 'z'.repeat(900) } }));
  expect(long).not.toMatch(/[\r\n\u202E]/);
  expect([...long].length).toBeLessThanOrEqual(240);
  expect(long).toMatch(/^\[nestwatch\] z+…?: A A\] x \[ Bcc/);
});

/** Gmail: `Re:` does not start another conversation; the rest of the subject must be the same. */
const gmail = (text: string) => text.replace(/^(\s*(re:|fwd?:))+\s*/i, '');

/** RFC 5256, 2.1: without `Re:`, `Fwd:` and brackets before them or before the rest, as long as something is left. */
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
  test('in Gmail, by RFC 5256 and in Outlook, whatever they say [long]', () => {
    fc.assert(
      fc.property(
        fc.array(anyGroupNotification, { minLength: 2, maxLength: 4 }),
        fc.constantFrom(BIRD, NEST, {}),
        (all, groupLabels) => {
          const mails = all.map((one, threadPosition) =>
            mailMessage({ ...one, groupLabels, threadPosition }, URL, undefined, STABLE),
          );
          const [first] = mails;
          for (const mail of mails) {
            expect(gmail(mail.subject)).toBe(gmail(first!.subject));
            expect(baseSubject(mail.subject)).toBe(baseSubject(first!.subject));
            // MS-OXCMAIL 2.2.3.2.7: the end of the subject is taken for the topic of the conversation.
            expect(mail.topic).toBe(first!.topic);
            expect(mail.subject.endsWith(mail.topic)).toBe(true);
          }
        },
      ),
      { numRuns: 100 },
    );
  });

  test('and another group is another conversation', () => {
    expect(gmail(subject(group({ groupLabels: BIRD })))).not.toBe(
      gmail(subject(group({ groupLabels: NEST }))),
    );
  });
});
