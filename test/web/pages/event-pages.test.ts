import { describe, expect, test } from 'vitest';
import { shortId } from '../../../src/domain/alert/event.ts';
import { deliveryPath, eventPath } from '../../../src/http/page-path.ts';
import { anEvent, NOW_US, putAlert, putDeliveries, putEvents } from '../sample.ts';
import { serve } from '../served.ts';
import { links, read } from './read.ts';

const SECOND = 1_000_000;

describe('the page of events', () => {
  test('is a timeline, the newest first, with the short id of each', async () => {
    const { ask, store } = await serve();
    const events = [1, 2].map((id) =>
      anEvent({ id: `f${id}/failed`, occurredAtUs: NOW_US - id * SECOND, message: `message ${id}` }),
    );
    await putEvents(store, events);
    const { body } = await ask('/events');
    expect(links(body).filter((href) => href.startsWith('events/'))).toEqual([
      'events/eu/flight/f1/failed',
      'events/eu/flight/f2/failed',
    ]);
    for (const event of events) expect(body).toContain(shortId(event));
  });

  test('says who did it, if the service does, as text', async () => {
    const { ask, store } = await serve();
    const attributes = { initiator: '<b>anna@example.com' };
    await putEvents(store, [{ id: 'l1', feed: 'bird_log', type: 'bird_log.Published', attributes }]);
    expect((await ask('/events')).body).toMatch(/by (?:<[a-z]+>)*&lt;b&gt;anna@example\.com/);
  });

  test('filters, and links to older ones', async () => {
    const { ask, store } = await serve();
    const events = Array.from({ length: 103 }, (_, id) =>
      anEvent({ id: `f${id}/failed`, occurredAtUs: NOW_US - id * SECOND, message: 'Quota' }),
    );
    await putEvents(store, [...events, { id: 'other', feed: 'bird_log', message: 'Paris' }]);
    const first = await ask('/events?text=quota&feed=flight');
    expect(first.body).not.toContain('Paris');
    const next = /rel="next" href="([^"]+)"/.exec(first.body)![1]!.replaceAll('&amp;', '&');
    expect(next).toContain('text=quota');
    const second = await ask(`/events${next}`);
    expect(links(second.body).filter((href) => href.startsWith('events/'))).toHaveLength(3);
    expect(read((await ask('/events?text=nothing')).body)).toContain('Nothing matches.');
    expect((await ask('/events?feed=x')).status).toBe(400);
  });
});

describe('the page of an event', () => {
  const event = anEvent({ id: 'f1/failed', attributes: { flight_id: 'f1', step_id: '2' } });

  test('shows its path, with links to each step', async () => {
    const { ask, store } = await serve();
    await putAlert(store, { id: 'FlightFailed/x' }, [event]);
    const { body } = await ask(`/${eventPath(event.key)}`);
    const text = read(body);
    expect(text).toContain('Flight failed: Marketing / Translate blog');
    expect(text).toContain('Seen 2026-07-02 11:59:04 UTC, 4 s after it occurred.');
    expect(text).toContain('Alert Flight failed EU · Marketing / Translate blog, event 1 of it');
    expect(links(body)).toContain('../../../../alerts/FlightFailed/x');
    expect(links(body)).toContain('../../../../flights/eu/f1');
    expect(links(body)).toContain('../../../../birds/eu/148890');
  });

  test('is found by the short id in a printed mail, and by the id of what it belongs to', async () => {
    const { ask, store } = await serve();
    await putAlert(store, { id: 'FlightFailed/x' }, [event]);
    for (const id of [shortId(event), shortId(event).toUpperCase().replace('-', ''), 'FlightFailed/x']) {
      const { status, body } = await ask(`/events/${id}`);
      expect(status).toBe(200);
      expect(body).toContain(event.key);
      const { json } = await ask<{ event: object }>(`/api/v1/events/${encodeURIComponent(id)}/explain`);
      expect(json.event).toMatchObject({ key: event.key });
    }
    const link = encodeURIComponent(`https://watch.example.com/nestwatch/${eventPath(event.key)}?x=1`);
    expect((await ask(`/api/v1/events/${link}/explain`)).status).toBe(200);
  });

  test.each(['/events/eu/flight/gone/failed', '/events/000000-000', '/events/%'])(
    '%s is not stored, and says so',
    async (path) => {
      const { status, body } = await (await serve()).ask(path);
      expect(status).toBe(404);
      expect(read(body)).toContain('No such event is stored');
    },
  );

  test('a delivery links to its event, unless it has none', async () => {
    const { ask, store } = await serve();
    await putDeliveries(store, [{ id: 'd-1' }]);
    const path = `/api/v1/events/${deliveryPath('d-1').split('/')[1]}/explain`;
    expect(await ask(path)).toMatchObject({
      status: 404,
      json: { error: 'No event of this delivery is kept: d-1.' },
    });
  });

  test('shows text from outside escaped and cleaned', async () => {
    const hostile = '<script>alert(1)</script>\u202e"';
    const { ask, store } = await serve();
    const odd = anEvent({ id: hostile, message: hostile, nest: hostile, attributes: { [hostile]: hostile } });
    await putEvents(store, [odd]);
    for (const path of ['/events', `/${eventPath(odd.key)}`]) {
      const { body, status } = await ask(path);
      expect(status).toBe(200);
      expect(body).not.toContain('<script>alert');
      expect(body).not.toContain('\u202e');
    }
  });
});
