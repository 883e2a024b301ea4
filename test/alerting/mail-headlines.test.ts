/** What the subjects of mails say that leave out what only ended, which is the default. */
import { expect, test } from 'vitest';
import { mailMessage } from '../../src/channels/email/mail-message.ts';
import { email } from '../channels/sample-notifications.ts';
import { openDesk } from './desk.ts';

test.each([
  ['fails A B C, 1, fails D, 1, succeeds D, 6', '✓ D lands again, 3 still failing'],
  ['fails A B, 0.2, succeeds A B, 2', '✓ 2 Birds land again'],
  ['fails A, 1, fails B C, 1, succeeds A B C, 8', '✓ 2 Birds land again'],
  ['fails A B C, 1, fails B, 1, succeeds A, 6', '✕ B still fails, 1 more still failing'],
])('%s: %s', async (story, subject) => {
  const receivers = [{ name: 'ops', integrations: [email({ sendResolved: false })] }];
  const desk = await openDesk({ receivers });
  await desk.story(story);
  const { notification } = desk.mails.at(-1)!;
  expect(mailMessage(notification, 'http://x', undefined).subject.split(' · ')[0]).toBe(subject);
});
