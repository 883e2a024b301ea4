import { expect, test } from 'vitest';
import { eventJson } from '../../../src/domain/alert/event.ts';
import { event } from '../../store/contract/sample-records.ts';

const EVENT = event('f-1/failed', {
  ...{ feed: 'flight', type: 'flight.failed' },
  occurredAtUs: Date.UTC(2026, 6, 2, 12) * 1000 + 123_456,
  observedAtUs: Date.UTC(2026, 6, 2, 12, 0, 1) * 1000,
  message: 'The provider answered 429.',
  attributes: {
    flight_id: 'f-1',
    started_at: '2026-07-02T11:59:00.000001Z',
    started_at_us: Date.UTC(2026, 6, 2, 11, 59) * 1000 + 1,
    duration_seconds: 60,
    manual: true,
  },
});

test('an event has its fixed names, every digit of its instant, and nothing internal', () => {
  expect(eventJson(EVENT)).toEqual({
    key: 'eu/flight/f-1/failed',
    short_id: expect.stringMatching(/^\w{6}-\w{3}$/),
    type: 'flight.failed',
    region: 'eu',
    feed: 'flight',
    occurred_at: '2026-07-02T12:00:00.123456Z',
    observed_at: '2026-07-02T12:00:01.000000Z',
    nest_id: '682',
    nest: 'Marketing',
    bird_id: '148890',
    bird: 'Translate blog',
    message: 'The provider answered 429.',
    attributes: {
      flight_id: 'f-1',
      started_at: '2026-07-02T11:59:00.000001Z',
      duration_seconds: 60,
      manual: true,
    },
  });
  expect(EVENT.attributes).toHaveProperty('started_at_us');
});

test.each([
  ['NUL', 'a\0b', 'a\uFFFDb'],
  ['the first half of a pair alone', 'a\uD83Db', 'a\uFFFDb'],
  ['the second half', 'a\uDC00', 'a\uFFFD'],
])('%s becomes U+FFFD wherever the service can put it', (_, given, shown) => {
  const hostile = eventJson({
    ...EVENT,
    type: given,
    nestId: given,
    nest: given,
    birdId: given,
    bird: given,
    message: given,
    attributes: { scope: given },
  });
  expect([hostile.type, hostile.nest_id, hostile.nest, hostile.bird_id, hostile.bird]).toEqual(
    Array(5).fill(shown),
  );
  expect([hostile.message, hostile.attributes]).toEqual([shown, { scope: shown }]);
});

test('other text is unchanged', () => {
  const message = '<b>\u202e😀\t\r\n\u0007"\\';
  expect(eventJson({ ...EVENT, message }).message).toBe(message);
});
