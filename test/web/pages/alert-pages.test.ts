import { describe, expect, test } from 'vitest';
import { alertPath } from '../../../src/http/page-path.ts';
import type { Store } from '../../../src/store/store.ts';
import { anAlert, anEvent, LABELS, NOW_US, putAlert, putEvents } from '../sample.ts';
import { putFlights } from '../sample-birds.ts';
import { type Answer, serve } from '../served.ts';
import { links, read } from './read.ts';

const MINUTE = 60_000_000;

const failing = (id: string, description: string, change: Record<string, string> = {}) =>
  anAlert({
    id,
    scope: `${change.region ?? 'eu'}/bird/${id}`,
    labels: { ...LABELS, bird: `Bird of ${id}`, ...change },
    annotations: { description },
  });
const put = async (store: Store, ...alerts: ReturnType<typeof anAlert>[]) => {
  for (const alert of alerts) await putAlert(store, alert);
};

test('an alert that does not fire yet is not over', async () => {
  const { ask, store } = await serve();
  await put(store, { ...failing('FlightFailed/p', 'soon'), state: 'pending', startsAtUs: 0, endsAtUs: 0 });
  const text = read((await ask(`/${alertPath('FlightFailed/p')}`)).body);
  expect(text).toContain('Not yet firing.');
  expect(text).not.toMatch(/Over \d|\d{4,} days/);
});

describe('the page of alerts', () => {
  test('shows those with the same cause as one, and links to each', async () => {
    const { ask, store } = await serve();
    for (let index = 0; index < 7; index += 1) {
      await put(store, failing(`FlightFailed/${index}`, `Request ${index} timed out`));
    }
    await put(store, failing('FlightFailed/other', 'The quota is used up'));
    const { body } = await ask('/alerts');
    const text = read(body);
    expect(text).toContain('8 active: 8 new, 0 known.');
    expect(text).toMatch(
      /7 × Flight failed critical for 12 min (EU · Marketing \/ Bird of \S+ ){5}and 2 more Request 0 timed out/,
    );
    expect(text).toContain('The quota is used up');
    expect(links(body).filter((href) => href.startsWith('alerts/'))).toHaveLength(6);
    const each = links(body).find((href) => href.includes('cause='))!;
    const all = await ask(new URL(each, 'http://x/alerts').href.slice(8));
    for (let index = 0; index < 7; index += 1) {
      expect(links(all.body)).toContain(`alerts/FlightFailed/${index}`);
    }
    expect(all.body).not.toContain('quota');
  });

  test('shows one Bird of a cause on the overview, or both of two', async () => {
    const { ask, store } = await serve();
    const overview = async () => read((await ask('/')).body);
    await put(store, failing('FlightFailed/0', 'It timed out'), failing('FlightFailed/1', 'It timed out'));
    expect(await overview()).toMatch(/2 × Flight failed.*( Bird of \S+ .*){2}It timed out/);
    await put(store, failing('FlightFailed/2', 'It timed out'));
    expect(await overview()).toMatch(/3 × Flight failed.* Bird of \S+ and 2 more It timed out/);
  });

  test('names five Birds of a cause on the wall', async () => {
    const { ask, store } = await serve();
    for (let index = 0; index < 7; index += 1)
      await put(store, failing(`FlightFailed/${index}`, 'It timed out'));
    const wall = read((await ask('/wall')).body);
    expect(wall).toMatch(
      /7 × Flight failed critical for 12 min (EU · Marketing \/ Bird of \S+ ){5}and 2 more/,
    );
  });

  test('names the receiver that is not reached, in the list and on its own page', async () => {
    const { ask, store } = await serve();
    const about = { alertname: 'DeliveryFailing', region: 'all', receiver: 'ops', integration: 'browser' };
    await put(
      store,
      anAlert({ id: 'd', alertname: 'DeliveryFailing', labels: { ...about, severity: 'critical' } }),
    );
    for (const path of ['/alerts', '/alerts/d'])
      expect(read((await ask(path)).body).split('Labels, ids')[0]).toContain('ops (browser)');
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

  test.each([[1.5, 'a'], [1e300, 'a'], ['a']])(
    'refuse a cursor that nobody gave: %s %s',
    async (...place) => {
      const cursor = Buffer.from(JSON.stringify(place)).toString('base64url');
      const { ask } = await serve();
      expect((await ask(`/alerts?state=resolved&cursor=${cursor}`)).status).toBe(400);
    },
  );

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

test('every alert can be reached in the list of all, also if many fire', async () => {
  const { ask, store } = await serve();
  for (let index = 0; index < 60; index += 1)
    await put(store, failing(`a${index}`, 'x', { error: `e${index}` }));
  const over = { state: 'resolved', endsAtUs: NOW_US - MINUTE } as const;
  await put(store, { ...failing('over', 'y'), ...over });
  const found = new Set<string>();
  let path: string | undefined = '/alerts?state=all';
  for (let pages = 0; path !== undefined && pages < 5; pages += 1) {
    const { body }: Answer = await ask(path);
    for (const href of links(body)) if (/^alerts\/\w+$/.test(href)) found.add(href);
    const next: string | undefined = /rel="next" href="([^"]+)"/.exec(body)?.[1];
    path = next === undefined ? undefined : `/alerts${next.replaceAll('&amp;', '&')}`;
  }
  expect(found.size).toBe(61);
});

describe('what is over', () => {
  const over = (id: string, endsAtUs: number, change: Record<string, string> = {}) => ({
    ...failing(id, 'Request 17 timed out', { bird_id: id, error: 'Request # timed out', ...change }),
    ...({ state: 'resolved', ending: 'over', endsAtUs, startsAtUs: endsAtUs - 5 * MINUTE } as const),
  });

  test('is filtered by whether somebody acknowledged it; it is not silenced', async () => {
    const { ask, submit, store } = await serve();
    await put(store, failing('seen', 'one'), over('1', NOW_US - MINUTE));
    await submit('/acknowledge?alert=seen', { author: 'Ben' });
    await put(store, { ...failing('seen', 'one'), state: 'resolved', endsAtUs: NOW_US });
    const shown = async (query: string) =>
      links((await ask(`/alerts?${query}`)).body).filter((href) => /^alerts\/\w+$/.test(href));
    expect(await shown('state=resolved&acknowledged=true')).toEqual(['alerts/seen']);
    expect(await shown('state=all&acknowledged=false')).toEqual(['alerts/1']);
    for (const state of ['all', 'resolved']) {
      const { status, body } = await ask(`/alerts?state=${state}&silenced=true`);
      expect([status, read(body)]).toEqual([400, expect.stringContaining('silenced: only what fires')]);
    }
  });

  test('of a Flight is filtered by whether somebody acknowledged it', async () => {
    const { ask, submit, store } = await serve();
    const failed = [{ id: 'f1/failed' }];
    const flight = { id: 'f1', status: 'failed', startedAtUs: NOW_US - 2 * MINUTE };
    await putFlights(store, { birdId: '148890' }, [flight]);
    await putAlert(store, failing('seen', 'one'), failed);
    await submit('/acknowledge?alert=seen', { author: 'Ben' });
    await putAlert(store, { ...failing('seen', 'one'), state: 'resolved', endsAtUs: NOW_US }, failed);
    await putAlert(store, over('1', NOW_US - MINUTE), failed);
    const shown = async (query: string) =>
      links((await ask(`/alerts?flight=f1&${query}`)).body).filter((href) => /^alerts\/\w+$/.test(href));
    for (const state of ['all', 'resolved']) {
      expect(await shown(`state=${state}`)).toEqual(['alerts/seen', 'alerts/1']);
      expect(await shown(`state=${state}&acknowledged=true`)).toEqual(['alerts/seen']);
      expect(await shown(`state=${state}&acknowledged=false`)).toEqual(['alerts/1']);
    }
  });

  test('of a Nest or Bird by its id is not that of others whose names contain it', async () => {
    const { ask, store } = await serve();
    await store.transaction((tx) =>
      tx.inventory.putNests([{ region: 'eu', nestId: '12', name: 'Sales', present: true }]),
    );
    await put(store, over('1', NOW_US, { nest: 'Sales', nest_id: '12' }));
    await put(store, over('2', NOW_US, { nest: 'Team 12', nest_id: '99' }));
    await put(store, over('3', NOW_US, { nest: 'Team 13', nest_id: '98' }));
    const shown = async (query: string) =>
      links((await ask(`/alerts?state=resolved&${query}`)).body).filter((href) => /^alerts\/\w+$/.test(href));
    expect(await shown('nest=12')).toEqual(['alerts/1']);
    expect(await shown('nest=13')).toEqual(['alerts/3']);
  });

  test('is shown by cause, once, with the Birds and why each ended', async () => {
    const { ask, store } = await serve();
    for (const id of ['1', '2', '3', '4', '5', '6']) await put(store, over(id, NOW_US - MINUTE));
    const { body } = await ask('/alerts?state=resolved');
    const text = read(body);
    expect(text).toContain('6 × Flight failed');
    expect(text.split('Request 17 timed out')).toHaveLength(2);
    expect(text).not.toContain('#');
    expect(text).toContain('Bird of 6 ended 60 s ago, lasted 5 min: a Flight landed');
    expect(links(body).filter((href) => /^alerts\//.test(href))).toHaveLength(5);
    const each = links(body).find((href) => href.includes('cause='))!;
    const all = links((await ask(`/${each}`)).body);
    expect(all.filter((href) => /^alerts\//.test(href))).toHaveLength(6);
  });

  test('still says who can act, and who had acknowledged it, unless that was taken back', async () => {
    const { ask, store, submit, clock } = await serve();
    for (const id of ['1', '2']) {
      const ended = over(id, NOW_US + MINUTE, { error_type: 'PluginMisconfiguration', error: id });
      await put(store, { ...ended, state: 'firing', endsAtUs: 0 });
      await submit(`/acknowledge?alert=${id}`, { author: `Anna ${id}`, comment: 'on it' });
    }
    const silences = await store.transaction((tx) => tx.silences.list());
    await submit('/expire-silence', { id: silences.find(({ alertId }) => alertId === '2')!.id });
    clock.advance(2 * (MINUTE / 1000));
    for (const id of ['1', '2']) {
      const ended = over(id, NOW_US + MINUTE, { error_type: 'PluginMisconfiguration', error: id });
      await store.transaction((tx) => tx.alerts.put([ended]));
    }
    const shown = read((await ask('/alerts?state=resolved')).body);
    const page = read((await ask('/alerts/1')).body);
    for (const text of [shown, page]) {
      expect(text).toContain('To act: somebody who edits the Bird');
      expect(text).toContain('cknowledged by Anna 1: on it');
      expect(text).not.toContain('Undo');
    }
    expect(shown).not.toContain('Anna 2');
    expect(read((await ask('/alerts/2')).body)).not.toContain('Acknowledged acknowledged by Anna 2');
  });

  test('has its message after the alert was deleted, from the Flight that failed', async () => {
    const { ask, store } = await serve();
    const event = anEvent({
      ...{ id: 'f/failed', birdId: '1', message: 'Request 18 timed out' },
      occurredAtUs: NOW_US - 3 * MINUTE,
    });
    await putAlert(store, over('1', NOW_US - MINUTE), [event]);
    const bird = { region: 'eu', birdId: '1', nestId: '682', name: 'Bird of 1', status: 'active' };
    await store.transaction(async (tx) => {
      await tx.inventory.putBirds([{ ...bird, triggerType: 'event', present: true, statusSinceUs: 1 }]);
      await tx.alerts.delete(['1']);
    });
    expect(read((await ask('/alerts?state=resolved')).body)).toContain('Request 18 timed out');
    const text = read((await ask('/alerts/1')).body);
    expect(text).toContain('Why Request 18 timed out');
    expect(text).toContain('Over 60 s ago, lasted 5 min: a Flight landed.');
  });

  test('of last night is one link away, in the zone of the reader, with what still fires [long]', async () => {
    const { ask, store } = await serve();
    await put(store, over('night', Date.parse('2026-07-02T01:00:00Z') * 1000));
    await put(store, over('day', NOW_US - MINUTE, { error: 'another' }));
    const since = NOW_US - 600 * MINUTE;
    await put(store, { ...failing('still', 'Quota', { error: 'Quota' }), startsAtUs: since });
    const cookie = 'nestwatch_zone=Asia/Tokyo';
    const { body } = await ask('/alerts', { cookie });
    const night = links(body).find((href) => href.includes('until='))!;
    expect(night).toBe('?state=all&zone=Asia%2FTokyo&since=2026-07-01+18%3A00&until=2026-07-02+09%3A00');
    const found = links((await ask('/alerts?state=all&since=2026-07-01+18:00&until=2026-07-02+09:00')).body);
    expect(found).toContain('alerts/night');
    expect(found).toContain('alerts/still');
    expect(found).not.toContain('alerts/day');
  });

  test('alerts that share their first error but say different things now are told apart', async () => {
    const { ask, store } = await serve();
    const error = { error: 'The same' };
    await put(
      store,
      failing('1', 'The quota is used up', error),
      failing('2', 'The token was refused', error),
    );
    expect(read((await ask('/alerts')).body)).toContain('Several causes, first "The same", the newest: The');
  });
});

describe('the page of an alert', () => {
  const id = 'FlightFailed/1d9a4c07/eu/bird/148890';

  test('about a moment is called what its rule calls it, and any other by its kind', async () => {
    const { ask, store } = await serve();
    const labels = {
      severity: 'info',
      region: 'eu',
      nest: 'Marketing',
      bird: 'Translate blog',
      bird_id: '148890',
    };
    const annotations = { title: 'Changed <b>in</b> production', summary: 'said' };
    for (const alertname of ['EventMatched', 'FlightFailed']) {
      await putAlert(store, { id: alertname, labels: { ...labels, alertname }, annotations });
    }
    const shown = async (path: string) => read((await ask(path)).body);
    expect(await shown('/alerts/EventMatched')).toContain(
      'Changed &lt;b&gt;in&lt;/b&gt; production: Translate blog',
    );
    expect(await shown('/alerts/FlightFailed')).toContain('Flight failed: Translate blog');
    expect(await shown('/alerts')).toContain('Changed &lt;b&gt;in&lt;/b&gt; production');
    expect((await ask('/alerts')).body).not.toContain('<b>in</b>');
    // It happened, and does not last.
    expect(await shown('/alerts/EventMatched')).toMatch(/EU · Happened \S+ \S+ ago\./);
    expect(await shown('/alerts/FlightFailed')).toMatch(/EU · Active for /);
  });

  test('has its subject, its events, and who was notified', async () => {
    const { ask, store } = await serve();
    const alert = anAlert({
      id,
      annotations: { description: 'said', runbook_url: 'https://wiki.example.com/x' },
    });
    const event = anEvent({ id: 'f1/failed', message: 'The quota\nis used up' });
    await putAlert(store, alert, [event]);
    const annotations = { ...alert.annotations, changed_before: 'published by ann@example.com 2 min before' };
    await store.transaction(async (tx) => {
      const told = (number: number, reason: 'first' | 'new_alerts') =>
        tx.outbox.enqueue(
          {
            ...{ kind: 'group', id: `n-${number}`, receiver: 'pager', createdAtUs: NOW_US + number, reason },
            ...{ groupKey: 'k', groupSort: 'route', groupLabels: {}, status: 'firing', thread: 't' },
            alerts: [
              { ...alert, annotations, status: 'firing', fingerprint: '', events: [], eventsOmitted: 0 },
            ],
            ...{ truncatedAlerts: 0, firingTotal: 1, resolvedTotal: 0, threadPosition: 0 },
          },
          [
            {
              ...{
                id: `d-${number}`,
                notificationId: `n-${number}`,
                receiver: 'pager',
                integration: 'email',
              },
              ...{ position: 0, lane: '', state: 'pending', attempts: 0, createdAtUs: NOW_US + number },
              ...{ nextAttemptAtUs: NOW_US, settledAtUs: 0, lastError: '' },
            },
          ],
        );
      await told(1, 'first');
      await told(2, 'new_alerts');
    });
    const { body } = await ask(`/${alertPath(id)}`);
    const text = read(body);
    expect(text).toContain('Flight failed: Marketing / Translate blog');
    expect(text).toContain('Active for 12 min');
    expect(text).toContain('Message to pager first of its group email Waiting');
    expect(text).toContain('Message to pager new alerts beside this one email Waiting');
    expect(text).toContain('Notified pager, ops');
    const root = '../../../../../';
    expect(links(body)).toContain(`${root}deliveries/d-1`);
    expect(links(body)).toContain(`${root}events/eu/flight/f1/failed`);
    expect(links(body)).toContain(`${root}alerts`);
    expect(links(body)).toContain('https://wiki.example.com/x');
    expect(body).toContain(`href="${root}acknowledge?alert=FlightFailed%2F1d9a4c07`);
    expect(body).toContain('<pre><bdi>The quota\nis used up</bdi></pre>');
    // What people were told of why stays once it is over.
    expect(text).not.toContain('Published by ann@example.com');
    await putAlert(store, { ...alert, state: 'resolved', endsAtUs: NOW_US });
    expect(read((await ask(`/${alertPath(id)}`)).body)).toContain(
      'Published by ann@example.com 2 min before',
    );
  });

  test('says why once, where, what was done before, who can act, and everything that happened', async () => {
    const { ask, store, submit } = await serve();
    const guid = '0f8fad5b-d9cb-469f-a165-70867728950e';
    const failed = (minutes: number) =>
      anEvent({
        id: `f${minutes}/failed`,
        ...{ occurredAtUs: NOW_US - minutes * MINUTE, message: `Job ${guid} was refused` },
        attributes: { flight_id: `f${minutes}`, step_id: guid, scope: 'Translate' },
      });
    const published = anEvent({
      ...{ id: 'p', feed: 'bird_log', type: 'bird_log.Published', message: '' },
      ...{ occurredAtUs: NOW_US - 20 * MINUTE, attributes: { initiator: 'ann@example.com' } },
    });
    await putEvents(store, [published]);
    await putAlert(store, { id }, [failed(12), failed(6), failed(3)]);
    const members = { region: 'eu', nestId: '682', addresses: ['ben@example.com'] };
    await store.transaction((tx) => tx.inventory.putNestMembers([members]));
    await submit(`/acknowledge?alert=${encodeURIComponent(id)}`, { author: 'Ben', comment: 'on it' });
    const { body } = await ask(`/${alertPath(id)}`);
    const text = read(body);
    expect(text.split('was refused')).toHaveLength(2);
    expect(body).toContain(`<span title="${guid}">0f8fad5b</span>`);
    expect(text).toContain('It failed in the step Translate');
    expect(text).toContain('Do: fix what the message names, then start the Bird again.');
    expect(text).toContain('Last published Bird published by ann@example.com 20 min ago');
    expect(text).toContain('Members of the Nest ben@example.com');
    expect(text).toContain(
      'What happened Acknowledged by Ben: on it 0 s ago Flight failed ×3 3 to 12 min ago Bird published by ann@example.com 20 min ago',
    );
    const root = '../../../../../';
    expect(links(body)).toContain(`${root}birds/eu/148890`);
    expect(links(body)).toContain(`${root}flights/eu/f3`);
    expect(links(body).some((href) => href.endsWith('nests/eu/682'))).toBe(true);
  });

  test('is the same at an address with encoded slashes', async () => {
    const { ask, store } = await serve();
    await putAlert(store, { id });
    const { status, body } = await ask(`/alerts/${encodeURIComponent(id)}`);
    expect(status).toBe(200);
    expect(links(body)).toContain('../alerts');
  });

  test('lists its earlier episodes, and how each ended', async () => {
    const { ask, store } = await serve();
    const over = { state: 'resolved', ending: 'by_hand' } as const;
    const startsAtUs = NOW_US - 60 * MINUTE;
    await putAlert(store, { id, ...over, startsAtUs, endsAtUs: startsAtUs + 5 * MINUTE });
    await putAlert(store, { id });
    const text = read((await ask(`/alerts/${id}`)).body);
    expect(text).toContain('Earlier episodes');
    expect(text).toContain('2026-07-02 11:00:00 UTC 5 min resolved by hand');
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
    const alert = anAlert({ id, labels: { ...LABELS, bird: hostile, [hostile]: hostile }, annotations: own });
    await putAlert(store, alert, [{ id: hostile, message: hostile }]);
    for (const path of [`/alerts/${id}`, '/alerts', '/alerts?cause=x', `/acknowledge?alert=${id}`]) {
      const { body } = await ask(path);
      expect(body).not.toContain('<script>alert');
      expect(body).not.toContain('\u202e');
      expect(body).not.toContain('href="javascript:');
    }
  });
});

describe('a note', () => {
  test('is added on the page of the alert, stands in what happened, and stays text', async () => {
    const { ask, submit, store } = await serve();
    await put(store, failing('FlightFailed/1', 'one'));
    const text = '<img src=x> found\nnothing';
    const { status, headers } = await submit('/note?alert=FlightFailed%2F1', { author: 'Ben', text });
    expect([status, headers.location]).toEqual([303, 'alerts/FlightFailed/1']);
    const { body } = await ask('/alerts/FlightFailed/1');
    expect(read(body)).toMatch(
      /What happened Note of Ben 0 s ago &lt;img src=x&gt; found\s+nothing Add a note/,
    );
    expect(body).not.toContain('<img');
    // No public page shows this Nest.
    expect(body).not.toContain('name="public"');
    expect(read((await ask('/writes')).body)).toContain('POST /note?alert=FlightFailed%2F1');
  });

  test.each([
    [{ author: 'Ben', text: ' ' }, 'A note needs a text.'],
    [{ author: ' ', text: 'kept' }, 'Your name is missing'],
    [{ author: 'Ben', text: 'kept', public: 'true' }, 'No public page shows this alert'],
  ])('%j is refused, and what was typed is kept', async (fields, problem) => {
    const { ask, submit, store } = await serve();
    await put(store, failing('a', 'one'));
    const { status, body } = await submit('/note?alert=a', fields);
    expect(status).toBe(400);
    expect(read(body)).toContain(problem);
    expect(body).toContain(`>${fields.text.trim()}</textarea>`);
    expect(read((await ask('/alerts/a')).body)).not.toContain('Note of');
    expect((await submit('/note?alert=none', { author: 'Ben', text: 'x' })).status).toBe(404);
  });
});
