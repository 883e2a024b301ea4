import { expect, test } from 'vitest';
import { mailView } from '../../src/channels/message/message-view.ts';
import { withAcknowledgeUrl } from '../../src/delivery/attempt.ts';
import { createAcknowledgeLinks } from '../../src/operator/acknowledge-link.ts';
import { secret } from '../../src/secret.ts';
import { alert, group } from '../channels/sample-notifications.ts';

const links = createAcknowledgeLinks(secret('a key'), 'http://watch.example.com');

test('a mail about one alert that fires has a link that names this episode of it', () => {
  const notification = group({ alerts: [alert()] });
  const reported = withAcknowledgeUrl(notification, links);
  const view = mailView(reported as typeof notification, 'http://watch.example.com');
  const { url } = view.links.find(({ text }) => text === 'Acknowledge')!;
  const link = new URL(url).searchParams.get('link')!;
  const { id, startsAtUs } = notification.alerts[0]!;
  expect(links.read(link, notification.createdAtUs)).toEqual({ id, startsAtUs });
  // Every try says the same.
  expect(withAcknowledgeUrl(notification, links)).toEqual(reported);
});

test.each([
  ['nothing fires', group({ alerts: [alert({ status: 'resolved' })], status: 'resolved', firingTotal: 0 })],
  ['several fire', group({ alerts: [alert(), alert({ id: 'other' })], firingTotal: 2 })],
  ['it is forwarded', { kind: 'forward', id: 'f', receiver: 'lake', createdAtUs: 1, events: [] } as const],
])('there is none where %s', (_, notification) => {
  expect(withAcknowledgeUrl(notification, links)).toBe(notification);
});

test('there is none where nobody signs', () => {
  const notification = group({ alerts: [alert()] });
  expect(withAcknowledgeUrl(notification, undefined)).toBe(notification);
  const view = mailView(notification, 'http://watch.example.com');
  expect(view.links.map(({ text }) => text)).not.toContain('Acknowledge');
});
