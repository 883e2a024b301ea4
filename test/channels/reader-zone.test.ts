/** Messages in their reader's time zone. */
import { describe, expect, test } from 'vitest';
import { emailText, mailMessage } from '../../src/channels/email/mail-message.ts';
import { viewOf } from '../../src/channels/message/digest-view.ts';
import { slackBody } from '../../src/channels/slack/slack-body.ts';
import { teamsBody } from '../../src/channels/teams/teams-channel.ts';
import { instantsIn } from '../../src/text/instant-words.ts';
import { digestNotification } from './digest-samples.ts';
import { alert, failedFlight, group } from './sample-notifications.ts';

const URL = 'https://nestwatch.example.com';
const ZONE = 'Europe/Amsterdam';

describe('an instant in another zone', () => {
  test.each([
    ['since 2 Jul 2026, 11:56 UTC, for 4 min', ZONE, 'since 2 Jul 2026, 13:56 CEST, for 4 min'],
    ['2 Jan 2026, 11:56:07 UTC', ZONE, '2 Jan 2026, 12:56:07 CET'],
    [
      '31 Dec 2025, 23:30 UTC to 1 Jan 2026, 00:10 UTC',
      'Asia/Kolkata',
      '1 Jan 2026, 05:00 GMT+5:30 to 1 Jan 2026, 05:40 GMT+5:30',
    ],
    // If an hour occurs twice, the text says which one it is.
    [
      '25 Oct 2026, 00:30 UTC, 25 Oct 2026, 01:30 UTC',
      ZONE,
      '25 Oct 2026, 02:30 CEST, 25 Oct 2026, 02:30 CET',
    ],
    ['2 Jul 2026 at noon, 2026-07-02T11:56:00Z', ZONE, '2 Jul 2026 at noon, 2026-07-02T11:56:00Z'],
  ])('%s', (text, zone, expected) => {
    expect(instantsIn(text, zone)).toBe(expected);
  });
});

const said = 'The provider said no on 2 Jul 2026, 11:56 UTC';
const stuck = alert({
  labels: { ...alert().labels, alertname: 'FlightStuck' },
  annotations: { summary: 'x', description: 'Active since 2 Jul 2026, 10:00 UTC, for more than 1 h.' },
});
const several = group({
  alerts: [alert({ events: [failedFlight(4, { message: said })] }), alert({ id: 'b' })],
});

test("a mail has no instant in UTC, except in somebody else's words", () => {
  for (const notification of [group({ alerts: [stuck] }), several, digestNotification()]) {
    const { text, html, subject } = mailMessage(notification, URL, undefined, { timezone: ZONE });
    expect(text).toContain('CEST');
    expect([text, html, subject].join('\n').replaceAll(said, '')).not.toMatch(/\d UTC\b/);
  }
  expect(mailMessage(several, URL, undefined, { timezone: ZONE }).text).toContain(said);
});

test('nor have messages to Slack and Teams, and none changes without a zone', () => {
  const style = { channel: '', username: '', iconEmoji: '', iconUrl: '' };
  const bodies = (zone?: string) => [
    JSON.stringify(slackBody(group(), URL, style, {}, [], zone)),
    JSON.stringify(teamsBody(group(), URL, {}, [], zone)),
    emailText(viewOf(group(), URL, zone)),
  ];
  for (const body of bodies(ZONE)) expect(body).toMatch(/13:56 CEST/);
  for (const body of bodies()) expect(body).toMatch(/11:56 UTC/);
});
