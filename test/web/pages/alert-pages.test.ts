import { describe, expect, test } from 'vitest';
import { alertPath } from '../../../src/http/page-path.ts';
import type { Store } from '../../../src/store/store.ts';
import { anAlert, anEvent, NOW_US, putAlert } from '../sample.ts';
import { type Answer, serve } from '../served.ts';
import { read } from './read.ts';

const MINUTE = 60_000_000;

const links = (body: string) => [...body.matchAll(/ href="([^"]+)"/g)].map(([, href]) => href!);
const labels = (change: Record<string, string> = {}) => ({
  alertname: 'FlightFailed',
  severity: 'critical',
  region: 'eu',
  nest_id: '682',
  nest: 'Marketing',
  bird_id: '148890',
  bird: 'Translate blog',
  ...change,
});
const failing = (id: string, description: string, change: Record<string, string> = {}) =>
  anAlert({
    id,
    scope: `${change.region ?? 'eu'}/bird/${id}`,
    labels: labels({ bird: `Bird of ${id}`, ...change }),
    annotations: { description },
  });
const put = async (store: Store, ...alerts: ReturnType<typeof anAlert>[]) => {
  for (const alert of alerts) await putAlert(store, alert);
};

describe('the page of alerts', () => {
  test('shows those with the same cause as one, and links to each', async () => {
    const { ask, store } = await serve();
    for (let index = 0; index < 7; index += 1) {
      await put(store, failing(`FlightFailed/${index}`, `Request ${index} timed out`));
    }
    await put(store, failing('FlightFailed/other', 'The quota is used up'));
    const { body } = await ask('/alerts');
    const text = read(body);
    expect(text).toContain('8 active.');
    expect(text).toContain('7 × Flight failed critical for 12 min Request # timed out');
    expect(text).toContain('The quota is used up');
    expect(links(body).filter((href) => href.startsWith('alerts/'))).toHaveLength(6);
    const each = links(body).find((href) => href.includes('cause='))!;
    const all = await ask(new URL(each.replaceAll('&amp;', '&'), 'http://x/alerts').href.slice(8));
    for (let index = 0; index < 7; index += 1) {
      expect(links(all.body)).toContain(`alerts/FlightFailed/${index}`);
    }
    expect(all.body).not.toContain('quota');
  });

  test('filters by the form, and keeps the values in the form', async () => {
    const { ask, store } = await serve();
    await put(store, failing('a', 'one'), failing('b', 'two', { severity: 'warning', region: 'us' }));
    const { body } = await ask('/alerts?region=us&severity=warning&text=TWO');
    expect(links(body)).toContain('alerts/b');
    expect(links(body)).not.toContain('alerts/a');
    expect(body).toContain('<option value="us" selected>');
    expect(body).toContain('value="TWO"');
    expect(read((await ask('/alerts?region=us&severity=critical')).body)).toContain('Nothing matches.');
  });

  test('says which filters make no sense', async () => {
    const { ask } = await serve();
    const { status, body } = await ask('/alerts?region=mars&since=<b>');
    expect(status).toBe(400);
    expect(read(body)).toContain('since: must be a duration like 2h, or an instant');
    expect((await ask('/alerts?colour=red')).status).toBe(400);
  });

  test('an acknowledged alert is not red, and comes after those that nobody has acknowledged', async () => {
    const { ask, submit, store } = await serve();
    await put(store, failing('seen', 'one'), failing('unseen', 'two', { severity: 'warning' }));
    await submit('/acknowledge?alert=seen', { author: 'Ben', comment: 'on it' });
    const { body } = await ask('/alerts');
    expect(body.indexOf('alerts/unseen')).toBeLessThan(body.indexOf('alerts/seen'));
    expect(body).not.toMatch(/class="(alert|pill) bad"/);
    expect((await ask('/alerts/seen')).body).not.toMatch(/class="pill bad"/);
    expect(read(body)).toContain('acknowledged by Ben: on it');
    expect(links((await ask('/alerts?acknowledged=false')).body)).not.toContain('alerts/seen');
    expect(links((await ask('/alerts?acknowledged=true')).body)).toContain('alerts/seen');
  });

  test('distinguishes silenced ones from others', async () => {
    const { ask, submit, store } = await serve();
    await put(store, failing('quiet', 'one'), failing('loud', 'one', { nest: 'Sales' }));
    const fields = { matchers: 'nest="Marketing"', duration: '1h', author: 'Ben', comment: 'c' };
    await submit('/silence', fields);
    expect(links((await ask('/alerts?silenced=true')).body).filter((one) => /^alerts\//.test(one))).toEqual([
      'alerts/quiet',
    ]);
    expect(links((await ask('/alerts?silenced=false')).body).filter((one) => /^alerts\//.test(one))).toEqual([
      'alerts/loud',
    ]);
  });

  test('every alert can be reached, page by page', async () => {
    const { ask, store } = await serve();
    for (let index = 0; index < 120; index += 1) await put(store, failing(`a${index}`, 'the same'));
    let path: string | undefined = '/alerts?cause=the+same';
    const found = new Set<string>();
    for (let pages = 0; path !== undefined && pages < 10; pages += 1) {
      const { body }: Answer = await ask(path);
      for (const href of links(body)) if (/^alerts\/a\d+$/.test(href)) found.add(href);
      const next: string | undefined = /rel="next" href="([^"]+)"/.exec(body)?.[1];
      path = next === undefined ? undefined : `/alerts${next.replaceAll('&amp;', '&')}`;
    }
    expect(found.size).toBe(120);
  });

  test('resolved ones can still be reached after they are deleted', async () => {
    const { ask, store } = await serve();
    const over = { state: 'resolved', endsAtUs: NOW_US - MINUTE, updatedAtUs: NOW_US - MINUTE } as const;
    await put(store, { ...failing('FlightFailed/over', 'one'), ...over });
    await store.transaction((tx) => tx.alerts.delete(['FlightFailed/over']));
    expect(links((await ask('/alerts')).body)).not.toContain('alerts/FlightFailed/over');
    expect(links((await ask('/alerts?state=resolved&nest=market')).body)).toContain(
      'alerts/FlightFailed/over',
    );
    expect(links((await ask('/alerts?state=resolved&nest=sales')).body)).not.toContain(
      'alerts/FlightFailed/over',
    );
    const { status, body } = await ask('/alerts/FlightFailed/over');
    expect(status).toBe(200);
    expect(read(body)).toContain('Over 60 s ago, lasted 11 min. It is resolved and no longer stored');
  });
});

describe('the page of an alert', () => {
  const id = 'FlightFailed/1d9a4c07/eu/bird/148890';

  test('has its subject, its events, and who was notified', async () => {
    const { ask, store } = await serve();
    const alert = anAlert({
      id,
      annotations: { description: 'said', runbook_url: 'https://wiki.example.com/x' },
    });
    const event = anEvent({ id: 'f1/failed', message: 'The quota\nis used up' });
    await putAlert(store, alert, [event]);
    await store.transaction(async (tx) => {
      await tx.outbox.enqueue(
        {
          ...{ kind: 'group', id: 'n', receiver: 'pager', createdAtUs: NOW_US, reason: 'first' },
          ...{ groupKey: 'k', groupSort: 'route', groupLabels: {}, status: 'firing', thread: 't' },
          alerts: [{ ...alert, status: 'firing', fingerprint: '', events: [], eventsOmitted: 0 }],
          ...{ truncatedAlerts: 0, firingTotal: 1, resolvedTotal: 0, threadPosition: 0 },
        },
        [
          {
            ...{
              id: 'd-1',
              notificationId: 'n',
              receiver: 'pager',
              integration: 'email',
              position: 0,
              lane: '',
            },
            ...{ state: 'pending', attempts: 0, createdAtUs: NOW_US, nextAttemptAtUs: NOW_US },
            ...{ settledAtUs: 0, lastError: '' },
          },
        ],
      );
    });
    const { body } = await ask(`/${alertPath(id)}`);
    const text = read(body);
    expect(text).toContain('Flight failed: Marketing / Translate blog');
    expect(text).toContain('Active for 12 min');
    expect(text).toContain('pager first of its group 0 s ago email Waiting');
    expect(text).toContain('Its labels lead to pager, ops.');
    const root = '../../../../../';
    expect(links(body)).toContain(`${root}deliveries/d-1`);
    expect(links(body)).toContain(`${root}events/eu/flight/f1/failed`);
    expect(links(body)).toContain(`${root}alerts`);
    expect(links(body)).toContain('https://wiki.example.com/x');
    expect(body).toContain(`href="${root}acknowledge?alert=FlightFailed%2F1d9a4c07`);
    expect(body).toContain('<pre><bdi>The quota\nis used up</bdi></pre>');
  });

  test('is the same at an address with encoded slashes', async () => {
    const { ask, store } = await serve();
    await putAlert(store, anAlert({ id }));
    const { status, body } = await ask(`/alerts/${encodeURIComponent(id)}`);
    expect(status).toBe(200);
    expect(links(body)).toContain('../alerts');
  });

  test('lists its earlier episodes, and how each ended', async () => {
    const { ask, store } = await serve();
    const over = { state: 'resolved', ending: 'by_hand' } as const;
    const startsAtUs = NOW_US - 60 * MINUTE;
    await putAlert(store, anAlert({ id, ...over, startsAtUs, endsAtUs: startsAtUs + 5 * MINUTE }));
    await putAlert(store, anAlert({ id }));
    const text = read((await ask(`/alerts/${id}`)).body);
    expect(text).toContain('Earlier episodes');
    expect(text).toContain('2026-07-02 11:00:00 UTC 5 min somebody resolved it');
  });

  test.each(['/alerts/nothing', '/alerts/100%'])('%s is not found, with a way back', async (path) => {
    const { ask } = await serve();
    const { status, body } = await ask(path);
    expect(status).toBe(404);
    expect(read(body)).toContain('This alert is not known');
  });

  test('shows text from outside escaped and cleaned, and follows no link in it', async () => {
    const hostile = '<script>alert(1)</script>\u202e"';
    const { ask, store } = await serve();
    const own = { summary: hostile, runbook_url: 'javascript:alert(1)', [hostile]: hostile };
    const alert = anAlert({ id, labels: labels({ bird: hostile, [hostile]: hostile }), annotations: own });
    await putAlert(store, alert, [anEvent({ id: hostile, message: hostile })]);
    for (const path of [`/alerts/${id}`, '/alerts', '/alerts?cause=x']) {
      const { body } = await ask(path);
      expect(body).not.toContain('<script>alert');
      expect(body).not.toContain('\u202e');
      expect(body).not.toContain('href="javascript:');
    }
  });
});
