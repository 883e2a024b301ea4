import { describe, expect, test } from 'vitest';
import { alertmanagerBody } from '../../../src/channels/message/alertmanager-body.ts';
import { cloudEventBatches } from '../../../src/channels/webhook/webhook-bodies.ts';
import { alert, failedFlight, forward, group, MINUTE_US, NOW_US, storm } from '../sample-notifications.ts';

const URL = 'http://127.0.0.1:9465';

describe('the alertmanager format', () => {
  test('has every field of version 4 and our extensions', () => {
    const one = alert({ eventsTotal: 23, eventsOmitted: 3 });
    expect(alertmanagerBody(group({ alerts: [one] }), URL, 0)).toEqual({
      version: '4',
      groupKey: '{}:{alertname="FlightFailed", nest="Marketing", region="eu"}',
      truncatedAlerts: 0,
      status: 'firing',
      receiver: 'ops',
      groupLabels: { alertname: 'FlightFailed', region: 'eu', nest: 'Marketing' },
      commonLabels: one.labels,
      commonAnnotations: one.annotations,
      externalURL: URL,
      notification_reason: 'first notification',
      routeLabels: {},
      alerts: [
        {
          status: 'firing',
          labels: one.labels,
          annotations: one.annotations,
          startsAt: '2026-07-02T11:56:00.000000Z',
          endsAt: '0001-01-01T00:00:00Z',
          generatorURL: `${URL}/alerts/FlightFailed/93f7e433/eu/bird/148890`,
          fingerprint: '0123456789abcdef',
          events: [
            {
              key: 'eu/flight/5f0c9a52-0000-4000-8000-000000000004/failed',
              short_id: expect.stringMatching(/^\w{6}-\w{3}$/),
              type: 'flight.failed',
              region: 'eu',
              feed: 'flight',
              occurred_at: '2026-07-02T11:56:00.000000Z',
              observed_at: '2026-07-02T11:56:01.500000Z',
              nest_id: '682',
              nest: 'Marketing',
              bird_id: '148890',
              bird: 'Translate blog',
              message: 'Translation failed: the provider answered 429 Too Many Requests',
              attributes: failedFlight(4).attributes,
            },
          ],
          events_total: 23,
          events_omitted: 3,
        },
      ],
    });
  });

  test.each([
    ['first', 'firing', 'first notification'],
    ['new_alerts', 'firing', 'new alerts added'],
    ['new_events', 'firing', 'new events'],
    ['resolved', 'firing', 'some alerts resolved'],
    ['resolved', 'resolved', 'all alerts resolved'],
    ['repeat', 'firing', 'repeat interval elapsed'],
  ] as const)("gives the reason in Alertmanager's words: %s, %s", (reason, status, words) => {
    expect(alertmanagerBody(group({ reason, status }), URL, 0).notification_reason).toBe(words);
  });

  test('has what the labels of the route say', () => {
    const routeLabels = { team: 'loc-ops' };
    expect(alertmanagerBody(group({ routeLabels }), URL, 0).routeLabels).toEqual(routeLabels);
  });

  test('says when a resolved alert ended', () => {
    const ended = alert({ status: 'resolved', endsAtUs: NOW_US });
    const body = alertmanagerBody(group({ alerts: [ended] }), URL, 0);
    expect(body.status).toBe('resolved');
    expect(body.alerts[0]).toMatchObject({ status: 'resolved', endsAt: '2026-07-02T12:00:00.000000Z' });
  });

  test('marks a summary as one, with its counts', () => {
    const summary = {
      fromUs: NOW_US - 1_440 * MINUTE_US,
      toUs: NOW_US - 400 * MINUTE_US,
      events: 312,
      alerts: 240,
      firing: 12,
      kinds: [{ alertname: 'FlightFailed', events: 312, alerts: 240, firing: 12 }],
    };
    const one = alert({ events: [], eventsTotal: 40, eventsOmitted: 40 });
    const groupLabels = { summary: 'catching-up' };
    const body = alertmanagerBody(
      group({ alerts: [one], truncatedAlerts: 239, groupLabels, summary }),
      URL,
      0,
    );
    expect(body).toMatchObject({
      status: 'firing',
      truncatedAlerts: 239,
      groupLabels,
      commonAnnotations: { summary: 'Caught up: 312 events of 240 alerts, 12 still open' },
      alerts: [{ events: [], events_total: 40, events_omitted: 40 }],
    });
    expect(body.catching_up).toEqual({
      from: '2026-07-01T12:00:00.000000Z',
      to: '2026-07-02T05:20:00.000000Z',
      events: 312,
      alerts: 240,
      firing: 12,
      kinds: summary.kinds,
    });
    expect(alertmanagerBody(group(), URL, 0)).not.toHaveProperty('catching_up');
  });

  test('says which part of a large notification it is, and what else there is to know', () => {
    const notification = group({ part: { number: 2, of: 3 }, notices: ['1 notification was held back.'] });
    const body = alertmanagerBody(notification, 'http://x', 0);
    expect(body).toMatchObject({ part: 2, parts: 3, notices: ['1 notification was held back.'] });
    expect(alertmanagerBody(group(), 'http://x', 0)).not.toHaveProperty('parts');
  });

  test('common labels are those that all alerts share with the same value', () => {
    const other = alert({
      labels: { ...alert().labels, bird: 'Sync', extra: 'x' },
      annotations: { summary: 'y' },
    });
    const body = alertmanagerBody(group({ alerts: [alert(), other] }), URL, 0);
    expect(body.commonLabels).toMatchObject({ alertname: 'FlightFailed', nest: 'Marketing' });
    expect(body.commonLabels).not.toHaveProperty('bird');
    expect(body.commonLabels).not.toHaveProperty('extra');
    expect(body.commonAnnotations).toEqual({});
  });

  test('max_alerts cuts the list and adds what it cut to what was cut before', () => {
    const body = alertmanagerBody(storm(), URL, 10);
    expect(body.alerts).toHaveLength(10);
    expect(body.truncatedAlerts).toBe(190);
  });
});

describe('the cloudevents format', () => {
  test('an event is one CloudEvent under its own key', () => {
    const event = failedFlight(4, { occurredAt: '2026-07-02T11:56:00.1234567Z' });
    expect(cloudEventBatches(forward([event]))).toEqual([
      [
        {
          specversion: '1.0',
          id: 'eu/flight/5f0c9a52-0000-4000-8000-000000000004/failed',
          source: '/regions/eu',
          type: 'nestwatch.flight.failed',
          subject: 'nests/682/birds/148890/flights/5f0c9a52-0000-4000-8000-000000000004',
          time: '2026-07-02T11:56:00.1234567Z',
          datacontenttype: 'application/json',
          data: expect.objectContaining({ key: event.key, occurred_at: '2026-07-02T11:56:00.1234567Z' }),
        },
      ],
    ]);
  });

  test.each([
    [{ attributes: {} }, 'nests/682/birds/148890'],
    [{ birdId: '', attributes: {} }, 'nests/682'],
    [{ nestId: '', birdId: '', attributes: {} }, undefined],
    [{ nestId: 'a/b', birdId: '', attributes: {} }, 'nests/a%2Fb'],
  ])('the subject says as much as is known: %j', (changes, subject) => {
    const [[one] = []] = cloudEventBatches(forward([failedFlight(1, changes)]));
    expect(one?.subject).toBe(subject);
  });

  test('a group sends its new events once each, the oldest first', () => {
    const shared = failedFlight(3);
    const alerts = [
      alert({ events: [failedFlight(1), shared] }),
      alert({ events: [shared, failedFlight(9)] }),
    ];
    const [batch, ...more] = cloudEventBatches(group({ alerts }));
    expect(more).toEqual([]);
    expect(batch?.map((one) => one.time)).toEqual(
      [9, 3, 1].map((minutes) => failedFlight(minutes).occurredAt),
    );
  });

  test('more than 100 events are sent in several batches, none lost', () => {
    const alerts = Array.from({ length: 12 }, (_, index) =>
      alert({ events: Array.from({ length: 20 }, (_, at) => failedFlight(index * 20 + at)) }),
    );
    const batches = cloudEventBatches(group({ alerts }));
    expect(batches.map((batch) => batch.length)).toEqual([100, 100, 40]);
    expect(new Set(batches.flat().map((one) => one.id)).size).toBe(240);
  });

  test('a group that only resolves has nothing to send', () => {
    const over = alert({ status: 'resolved', endsAtUs: NOW_US - MINUTE_US, events: [] });
    expect(cloudEventBatches(group({ alerts: [over] }))).toEqual([]);
  });
});
