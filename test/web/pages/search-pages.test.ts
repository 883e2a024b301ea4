import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { fingerprint } from '../../../src/domain/alert/alert.ts';
import { shortId } from '../../../src/domain/alert/event.ts';
import type { GroupNotification } from '../../../src/domain/grouping/notification.ts';
import { createMatcher } from '../../../src/domain/matchers/matcher.ts';
import { alertPath, eventPath } from '../../../src/http/page-path.ts';
import { load, REGION } from '../../config/load.ts';
import { groupNotification } from '../../store/contract/sample-records.ts';
import { aDelivery, anEvent, NOW_US, putAlert, putDeliveries, putEvents } from '../sample.ts';
import { serve } from '../served.ts';
import { links, read } from './read.ts';

const GROUP = '{}:{nest="Marketing"}';

async function filled() {
  const served = await serve();
  const event = anEvent({ id: 'f1/failed', message: 'The quota of DeepL is used up' });
  const bird = { region: 'eu', nestId: '682', triggerType: '', present: true, status: 'active' };
  await served.store.transaction(async (tx) => {
    await tx.inventory.putNests([{ region: 'eu', nestId: '682', name: 'Marketing', present: true }]);
    await tx.inventory.putBirds([
      { ...bird, birdId: '148890', name: 'Translate blog', statusSinceUs: NOW_US },
    ]);
  });
  await putAlert(served.store, { id: 'FlightFailed/x' }, [event]);
  await putDeliveries(served.store, [{ id: 'd-1' }]);
  return { ...served, event };
}

describe('the search', () => {
  test('leads to the page for an id, whatever it belongs to', async () => {
    const { ask, event } = await filled();
    const each = [
      [shortId(event), eventPath(event.key)],
      [event.key, eventPath(event.key)],
      [`https://watch.example.com/${eventPath(event.key)}`, eventPath(event.key)],
      ['FlightFailed/x', alertPath('FlightFailed/x')],
      ['d-1', 'deliveries/d-1'],
      ['148890', 'birds/eu/148890'],
    ] as const;
    for (const [text, path] of each) {
      const { status, headers } = await ask(`/search?${new URLSearchParams({ text })}`);
      expect([status, headers.location], text).toEqual([303, path]);
    }
  });

  test('and explain and alerts show take what other programs call an alert [long]', async () => {
    const { ask, store, event } = await filled();
    const alert = (await store.transaction((tx) => tx.alerts.find('FlightFailed/x')))!;
    const silence = {
      ...{ matchers: [createMatcher('bird', '=~', 'Trans.*')], createdBy: 'Ben', comment: 'x' },
      ...{ startsAtUs: NOW_US, endsAtUs: NOW_US + 3_600_000_000, updatedAtUs: NOW_US, recurrence: null },
    };
    const ofLabels = '0b6ac2a1-0000-4000-8000-000000000001';
    const ofAlert = '0b6ac2a1-0000-4000-8000-000000000002';
    await store.transaction(async (tx) => {
      await tx.silences.put([
        { ...silence, id: ofLabels, alertId: null, alertStartsAtUs: null },
        { ...silence, id: ofAlert, alertId: alert.id, alertStartsAtUs: alert.startsAtUs },
      ]);
      const sent = groupNotification('n-2') as GroupNotification;
      const alerts = sent.alerts.map((one) => ({ ...one, id: alert.id }));
      await tx.outbox.enqueue({ ...sent, alerts, groupKey: GROUP }, [
        aDelivery({ id: 'd-2', notificationId: 'n-2', integration: 'pagerduty', lane: `0 ${GROUP}` }),
      ]);
    });
    const dedupKey = createHash('sha256').update(GROUP).digest('hex');
    const each = [
      [fingerprint(alert.labels), alertPath(alert.id)],
      [fingerprint(alert.labels).toUpperCase(), alertPath(alert.id)],
      [dedupKey, 'deliveries/d-2'],
      [ofLabels, `silences#silence-${ofLabels}`],
      [ofAlert, alertPath(alert.id)],
    ] as const;
    for (const [text, path] of each) {
      const { status, headers } = await ask(`/search?${new URLSearchParams({ text })}`);
      expect([status, headers.location], text).toEqual([303, path]);
      const explained = await ask<{ event: { key: string } }>(`/api/v1/events/${text}/explain`);
      expect(explained.json.event?.key, text).toBe(event.key);
      expect((await ask<{ id: string }>(`/api/v1/alerts/${text}`)).json.id, text).toBe(alert.id);
    }
    for (const unknown of ['0123456789abcdef', '0'.repeat(64), ofAlert.replace('2', '3')]) {
      expect((await ask(`/api/v1/events/${unknown}/explain`)).status).toBe(404);
      expect((await ask(`/api/v1/alerts/${unknown}`)).status).toBe(404);
    }
  });

  test('lists what contains the words, by kind', async () => {
    const { ask, event } = await filled();
    const quota = await ask('/search?text=QUOTA+of');
    expect(links(quota.body)).toContain(eventPath(event.key));
    expect(links(quota.body)).toContain('events?text=QUOTA+of');
    const bird = await ask('/search?text=translate');
    expect(links(bird.body)).toContain('birds/eu/148890');
    expect(links(bird.body)).toContain('alerts/FlightFailed/x');
  });

  test('says when nothing is found, and shows what was typed as text', async () => {
    const { ask } = await filled();
    const { status, body } = await ask(`/search?text=${encodeURIComponent('<b>"\u202enone')}`);
    expect(status).toBe(200);
    expect(read(body)).toContain('Nothing found.');
    expect(body).not.toContain('<b>"');
    expect(body).not.toContain('\u202e');
    expect((await ask('/search')).status).toBe(200);
  });
});

describe('the page of silences', () => {
  test('lists active and expired ones', async () => {
    const { ask, submit, store, clock } = await serve();
    await putAlert(store, { id: 'a' });
    const fields = { matchers: 'nest="Marketing"', duration: '1h', author: 'Ben', comment: 'TMS is down' };
    await submit('/silence', fields);
    const text = read((await ask('/silences')).body);
    expect(text).toContain('nest="Marketing" Mutes 1 alert');
    await clock.advance(2 * 3_600_000);
    const over = read((await ask('/silences')).body);
    expect(over).toContain('There is none.');
    expect(over).toContain('silenced by Ben: TMS is down 60 min ago');
  });

  test('selections become matchers, which are shown with what they mute', async () => {
    const { ask, store } = await serve();
    await putAlert(store, { id: 'a' });
    const form = (await ask('/silences')).body;
    for (const name of ['alertname', 'severity', 'region', 'nest', 'bird']) {
      expect(form).toContain(`name="${name}"`);
    }
    const { body } = await ask(
      '/silence?alertname=FlightFailed&severity=&region=eu&nest=&bird=Translate+%22blog',
    );
    expect(body).toContain(
      'alertname=&quot;FlightFailed&quot;\nregion=&quot;eu&quot;\nbird=&quot;Translate \\&quot;blog&quot;</textarea>',
    );
    const chosen = await ask('/silence?alertname=FlightFailed&severity=&region=eu&nest=Marketing&bird=');
    expect(read(chosen.body)).toContain('What it mutes now Flight failed EU · Marketing / Translate blog');
  });
});

describe('the page of the configuration', () => {
  test('shows what is in force with its defaults, and no secret', async () => {
    const config = load(`${REGION}receivers:
  - name: default
    webhook_configs: [{ url: "https://hook.example.com/s3cret" }]
web: { external_url: "https://watch.example.com" }
`);
    const { ask } = await serve({ alerting: config });
    const { body } = await ask('/config');
    expect(body).toContain('base_url: https://eu.example.com/api-rest');
    expect(body).toContain('min_interval: 10s');
    expect(body).toContain('token: &lt;secret&gt;');
    expect(body).not.toContain('t0');
    expect(body).not.toContain('s3cret');
  });
});

test('every page of the navigation exists', async () => {
  const { ask } = await serve();
  const all = links((await ask('/')).body).filter((href) => /^[a-z]+$/.test(href));
  expect(all).toEqual(expect.arrayContaining(['alerts', 'events', 'deliveries', 'silences', 'config']));
  for (const path of all) expect((await ask(`/${path}`)).status, path).toBe(200);
});

// That fields are labelled, and a page has one main part and heading, is seen in `system/pages/accessible.system.ts`.
test('pages close what they open', async () => {
  const { ask, store } = await serve();
  await putEvents(store, [{ id: 'f1/failed' }]);
  await putAlert(store, { id: 'a' });
  for (const path of [
    '/alerts',
    '/alerts/a',
    '/events',
    '/events/eu/flight/f1/failed',
    '/deliveries',
    '/silences',
    '/config',
    '/writes',
    '/search',
  ]) {
    const { body } = await ask(path);
    for (const tag of 'main section ul ol dl form table p div pre li span a'.split(' ')) {
      const opened = body.match(new RegExp(`<${tag}[\\s>]`, 'g'))?.length ?? 0;
      expect(body.match(new RegExp(`</${tag}>`, 'g'))?.length ?? 0, `${path} ${tag}`).toBe(opened);
    }
  }
});
