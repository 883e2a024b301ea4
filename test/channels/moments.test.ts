/** What messages say about moments, which rules on events ask for: what happened, once, and nothing of what lasts. */
import { expect, test } from 'vitest';
import { mailView } from '../../src/channels/message/message-view.ts';
import type { Labels } from '../../src/domain/alert/alert.ts';
import { event } from '../store/contract/sample-records.ts';
import { alert, group, labelled, NOW_US } from './sample-notifications.ts';

const URL = 'https://nestwatch.example.com';
const BIRD = { nest: 'Marketing', nest_id: '682', bird: 'sync-orders', bird_id: '31' };

/** A moment with one event, as EventMatched makes it. */
function moment(rule: string, title: string, summary: string, about: Labels = BIRD, isNew = true) {
  const happened = event(rule, {
    ...{ feed: 'inventory', type: 'inventory.bird_moved', occurredAtUs: NOW_US, attributes: {} },
    message: summary,
  });
  const labels = { alertname: 'EventMatched', severity: 'info', region: 'eu', rule, ...about };
  const own = { id: rule, labels, annotations: { title, summary }, events: [happened], eventsTotal: 1 };
  return alert({ ...own, ...(isNew && { isNew: true }) });
}

const MOVED = 'sync-orders moved from Customer 3 to Customer 4';
const moved = moment('moved', 'Bird moved', MOVED);
const renamed = moment('renamed', 'Bird renamed', 'Bird renamed from "a" to "sync-orders"');

test('what nestwatch noticed itself is said once, with names as they are', () => {
  const { lead, message } = mailView(group({ alerts: [moved] }), URL);
  expect([lead, message]).toEqual([[`${MOVED}.`], []]);
  const summary = `${MOVED}, and 3 other events like it`;
  const several = alert({ ...moved, annotations: { ...moved.annotations, summary } });
  expect(mailView(group({ alerts: [several] }), URL)).toMatchObject({ lead: [`${summary}.`], message: [] });
});

test('what the service says of an event stands below what happened', () => {
  const published = alert({
    ...moment('published', 'Changed', 'Bird published: sync-orders, by a@example.com'),
    events: [event('published', { feed: 'bird_log', type: 'bird_log.Published', message: 'Glossary' })],
  });
  expect(mailView(group({ alerts: [published] }), URL)).toMatchObject({
    lead: ['Bird published: sync-orders, by a@example.com.'],
    message: ['Glossary'],
  });
});

test('several are counted, and none of them is open or has a cause', () => {
  expect(mailView(group({ alerts: [moved, renamed] }), URL).headline).toBe('Bird moved: sync-orders, 1 more');
  const failed = labelled({ bird: 'Other', bird_id: '7' }, { id: 'f', isNew: true });
  expect(mailView(group({ alerts: [failed, moved] }), URL).headline).toBe(
    'Other failed, 1 more open, 2 causes',
  );
});

test('one that happens again is news, not something that goes on', () => {
  const again = moment('moved', 'Bird moved', MOVED, BIRD, false);
  const later = group({ alerts: [again, renamed], threadPosition: 1, reason: 'new_alerts', newTotal: 1 });
  expect(mailView(later, URL).headline).toBe('Bird moved: sync-orders, 1 more');
});

test('one for each person who does something is about that person', () => {
  const by = moment('by', 'Much changed', 'said', { initiator: 'editor@example.com' });
  const view = mailView(group({ alerts: [by] }), URL);
  expect(view.subject).toBe('– Much changed: editor@example.com · EU');
});

test('what the labels keep of its first event is not shown beside a later one', () => {
  const labels = { ...BIRD, initiator: 'first@example.com', type: 'bird_log.Published', team: 'loc' };
  const view = mailView(
    group({ alerts: [moment('published', 'Changed', 'by second@example.com', labels)] }),
    URL,
  );
  expect(new Map(view.details).get('Labels')).toBe('rule=published, team=loc');
});
