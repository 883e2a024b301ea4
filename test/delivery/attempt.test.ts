import { expect, test } from 'vitest';
import { emailHtml } from '../../src/channels/email/email-html.ts';
import { emailText } from '../../src/channels/email/mail-message.ts';
import { mailView } from '../../src/channels/message/message-view.ts';
import { withAcknowledgeUrls } from '../../src/delivery/attempt.ts';
import type { GroupNotification } from '../../src/domain/grouping/notification.ts';
import { createAcknowledgeLinks } from '../../src/operator/acknowledge-link.ts';
import { secret } from '../../src/secret.ts';
import { alert, group, NOW_US } from '../channels/sample-notifications.ts';

const links = createAcknowledgeLinks(secret('a key'), 'http://watch.example.com');

test('a mail about one firing alert has a link for this episode of it', () => {
  const notification = group({ alerts: [alert()] });
  const reported = withAcknowledgeUrls(notification, links);
  const view = mailView(reported as typeof notification, 'http://watch.example.com');
  const { url } = view.links.find(({ text }) => text === 'Acknowledge')!;
  const link = new URL(url).searchParams.get('link')!;
  const { id, startsAtUs } = notification.alerts[0]!;
  expect(links.read(link, notification.createdAtUs)).toEqual({ id, startsAtUs });
  // Every attempt says the same.
  expect(withAcknowledgeUrls(notification, links)).toEqual(reported);
});

test('a mail about several has one for each that fires, in text and HTML', () => {
  const second = alert({ id: 'other', labels: { ...alert().labels, bird: 'Contracts', bird_id: '906' } });
  const over = alert({ id: 'over', status: 'resolved' });
  const reported = withAcknowledgeUrls(group({ alerts: [alert(), second, over], firingTotal: 2 }), links);
  const view = mailView(reported as GroupNotification, 'http://watch.example.com');
  const episodes = view.each.map(({ acknowledgeUrl = '' }) =>
    links.read(new URL(acknowledgeUrl).searchParams.get('link')!, NOW_US),
  );
  expect(episodes.map((episode) => episode?.id)).toEqual([alert().id, 'other']);
  expect(view.links.map(({ text }) => text)).not.toContain('Acknowledge');
  for (const { name, url, acknowledgeUrl = '' } of view.each) {
    expect(emailText(view)).toContain(`  ${name}: ${url}\n    Acknowledge: ${acknowledgeUrl}\n`);
    expect(emailHtml(view)).toContain(`href="${acknowledgeUrl}"`);
  }
});

test('in a storm the first ones have one, so that the mail stays small', () => {
  const alerts = Array.from({ length: 100 }, (_, at) => alert({ id: `FlightFailed/93f7e433/eu/bird/${at}` }));
  const reported = withAcknowledgeUrls(group({ alerts, firingTotal: 100 }), links) as GroupNotification;
  expect(reported.alerts.filter(({ acknowledgeUrl }) => acknowledgeUrl !== undefined)).toHaveLength(20);
  expect(Buffer.byteLength(emailHtml(mailView(reported, 'http://watch.example.com')))).toBeLessThan(30_000);
});

test.each([
  ['nothing fires', group({ alerts: [alert({ status: 'resolved' })], status: 'resolved', firingTotal: 0 })],
  ['it is forwarded', { kind: 'forward', id: 'f', receiver: 'lake', createdAtUs: 1, events: [] } as const],
])('there is none where %s', (_, notification) => {
  expect(withAcknowledgeUrls(notification, links)).toBe(notification);
});

test('there is none if nobody signs', () => {
  const notification = group({ alerts: [alert()] });
  expect(withAcknowledgeUrls(notification, undefined)).toBe(notification);
  const view = mailView(notification, 'http://watch.example.com');
  expect(view.links.map(({ text }) => text)).not.toContain('Acknowledge');
});
