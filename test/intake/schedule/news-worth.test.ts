import { expect, test } from 'vitest';
import type { Event, Feed } from '../../../src/domain/alert/event.ts';
import { newsWorth, QUIET_ENTRY } from '../../../src/intake/schedule/poll-value.ts';
import { event } from '../../store/contract/sample-records.ts';

const of = (type: string, message = ''): Event => ({
  ...event(type),
  feed: type.split('.', 1)[0] as Feed,
  type,
  birdId: '1',
  message,
});

test.each([
  ['flight.failed', 1],
  ['flight.succeeded', 1],
  ['flight.cancelled', 1],
  ['notification.ConnectionDisconnected', 1],
  ['bird_log.EventError', 1],
  ['bird_log.Deactivated', 1],
  ['bird_log.Activated', QUIET_ENTRY],
  ['bird_log.Suspended', QUIET_ENTRY],
  ['bird_log.Published', QUIET_ENTRY],
  ['bird_log.Saved', QUIET_ENTRY],
  ['bird_log.Unheard', QUIET_ENTRY],
])('%s counts %f', (type, counted) => {
  expect(newsWorth([of(type)])).toBe(counted);
});

test('the entries of a poll are added', () => {
  expect(newsWorth([])).toBe(0);
  expect(newsWorth([of('bird_log.Saved'), of('bird_log.EventError')])).toBe(1 + QUIET_ENTRY);
});
