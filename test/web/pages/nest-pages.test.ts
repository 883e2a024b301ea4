import { describe, expect, test } from 'vitest';
import { anEvent, LABELS, NOW_US, putAlert, putAlertsOf, putEvents } from '../sample.ts';
import { putBirds } from '../sample-birds.ts';
import { serve } from '../served.ts';
import { links, read } from './read.ts';

const DAY_US = 86_400_000_000;

async function nests() {
  const served = await serve();
  await putBirds(served.store);
  return served;
}

test('the strip of a day marks publishes, and when a region could not be read', async () => {
  const { ask, store } = await nests();
  const marks = async () => {
    const { body } = await ask('/');
    const drawn = ['blind', 'published'].map(
      (kind) => body.match(new RegExp(`<rect class="${kind}"`, 'g'))?.length,
    );
    return [...drawn, /Last 24 hours <span[^>]*>(.*?)<\/span>/.exec(body)?.[1]?.replaceAll(/<[^>]*>/g, '')];
  };
  expect(await marks()).toEqual([
    undefined,
    undefined,
    '14 Flights, 4 failed; the most, 1, from 2026-07-02 05:00:00 UTC',
  ]);
  const atUs = NOW_US - DAY_US / 24;
  const published = { type: 'bird_log.Published', feed: 'bird_log', birdId: '148890' } as const;
  await putEvents(store, [
    { id: 'p', occurredAtUs: atUs, ...published },
    { id: 'before', occurredAtUs: NOW_US - 2 * DAY_US, ...published },
  ]);
  const down = { alertname: 'RegionDown', scope: 'eu', labels: { alertname: 'RegionDown', region: 'eu' } };
  await putAlert(store, { id: 'd', ...down, startsAtUs: atUs });
  expect((await marks()).slice(0, 2)).toEqual([3, 1]);
  expect((await marks()).at(-1)).toMatch(/; 1 publish; not all could be read \(shaded\)$/);
});

test('tiles and problems have a strip of the last day, whatever the number of alerts', async () => {
  const { ask, store } = await nests();
  await putAlertsOf(store, ['148890', '2', '3'], { error: 'Quota' });
  const down = { alertname: 'RegionDown', scope: 'eu', labels: { alertname: 'RegionDown', region: 'eu' } };
  await putAlert(store, { id: 'd', ...down });
  const { body } = await ask('/');
  // Of the cause, and of the alert that the Birds began with; a region has none. A bar that failed is drawn twice.
  const said = 'Its Nest in 24 h: 14 Flights, 4 failed';
  expect(read(body).match(/Its Nest in 24 h: .*? failed/g)).toEqual([said, said]);
  const [, whole = '', red = ''] =
    /spark".*?succeeded" d="([^"]*)"\/><path class="failed" d="([^"]*)"/.exec(body) ?? [];
  expect([whole, red].map((path) => path.match(/M[\d.]+ 48v-[\d.]+/g)?.length)).toEqual([14, 4]);
  expect(body.match(/ spark"/g)!.length).toBe(2 + body.match(/<li class="\w+"><a href="nests/g)!.length);
  await putAlertsOf(store, ['4'], { error: 'Quota', nest_id: '683' });
  expect(read((await ask('/')).body)).toContain('Its Nests in 24 h: 14 Flights, 4 failed');
});

test('what happened to many Birds by one cause is one entry, which says if older ones were not read [long]', async () => {
  const { ask, store } = await nests();
  const failures = (count: number) =>
    Array.from({ length: count }, (_, index) =>
      anEvent({ id: `s${index}/failed`, birdId: `s${index % 7}`, message: `No answer in ${index} s` }),
    );
  await putEvents(store, [...failures(5), { id: 'q/failed', message: 'Quota' }]);
  const happened = async () => /What happened .*? Nests/.exec(read((await ask('/')).body))?.[0];
  expect(await happened()).toContain('Flight failed ×5 EU · Marketing / Translate blog and 4 other Birds');
  await putEvents(store, failures(330).slice(5));
  expect(await happened()).toMatch(/Flight failed ×\d+ or more EU · .* and 6 other Birds/);
  // Older ones of any cause may be among what was not read.
  const newer = (id: string) => ({ id, message: 'Licence expired', occurredAtUs: NOW_US - 1 });
  await putEvents(store, ['n1/failed', 'n2/failed'].map(newer));
  expect(await happened()).toMatch(/Flight failed ×2 or more EU/);
  const failed = (error: string) =>
    putAlert(store, {
      id: error,
      labels: { ...LABELS, bird_id: error, error: `${error > 'bz'}` },
    });
  for (const error of ['a', 'b', 'c']) await failed(error);
  await putAlert(store, { id: 'd', labels: { alertname: 'BirdStale', bird_id: 'd', error: 'e' } });
  await putAlert(store, { id: 'e', labels: { alertname: 'BirdStale', bird_id: 'f', error: 'e' } });
  expect(read((await ask('/')).body)).not.toContain('Most have one cause');
  for (const error of ['b1', 'b2']) await failed(error);
  expect(read((await ask('/')).body)).toContain('Most have one cause: 4 × Flight failed.');
});

test('what nothing hides is shown, behind a page of inhibited alerts and a cause of many', async () => {
  const { ask, store } = await nests();
  const down = { alertname: 'RegionDown', severity: 'critical', region: 'us' };
  await putAlert(store, { id: 'down', labels: down });
  await putAlertsOf(store, ['1', '2', '3', '4'], { error: 'Quota' });
  for (let at = 0; at < 18; at += 1) {
    const labels = { ...LABELS, region: 'us', bird_id: `us${at}`, error: `No answer ${at}` };
    await putAlert(store, { id: `us/${at}`, labels });
  }
  await putAlert(store, { id: 'open', labels: { ...LABELS, severity: 'info', bird: 'Sync orders' } });
  expect(read((await ask('/')).body)).toContain('Sync orders');
});

test('alerts that ended are counted as far as they were read', async () => {
  const { ask, store } = await nests();
  const ended = async (from: number, until: number) => {
    for (let at = from; at < until; at += 1) {
      const over = { state: 'resolved', ending: 'over', endsAtUs: NOW_US - at } as const;
      await putAlert(store, { id: `over/${at}`, ...over, labels: { ...LABELS, bird_id: `${at}` } });
    }
    return /Recovered (.*?) EU/.exec(read((await ask('/')).body))?.[1];
  };
  expect(await ended(0, 12)).toBe('×12');
  expect(await ended(12, 13)).toBe('×12 or more');
});

test('the page for a wall says how all stands, with nothing to press', async () => {
  const { ask, store } = await nests();
  await putAlert(store, { id: 'a' });
  const { body } = await ask('/wall');
  expect(body).toContain('<body class="wall"');
  expect(read(body)).toMatch(/1 new alert .* 14 Flights, 4 failed.* Translate blog .* Marketing EU · /);
  expect(body).not.toContain('<nav');
});

test('a browser can install the pages', async () => {
  const { ask } = await nests();
  const [, manifest = ''] = (await ask('/alerts/none')).body.match(/rel="manifest" href="([^"]*)"/) ?? [];
  expect(manifest).toBe('../manifest.webmanifest');
  const { icons, start_url: start } = JSON.parse((await ask('/manifest.webmanifest')).body);
  expect(start).toBe('./');
  expect((await ask(`/${icons[0].src}`)).headers['content-type']).toBe('image/svg+xml');
});

describe('the page of a Nest', () => {
  test('shows how its Flights ended, what fires, its Birds, and what happened', async () => {
    const { ask, store } = await nests();
    await store.transaction((tx) => tx.inventory.regionSince('eu', NOW_US - 2 * DAY_US));
    await putAlert(store, { id: 'a', labels: { ...LABELS, nest_id: '682' } });
    const { body, status } = await ask('/nests/eu/682');
    expect(status).toBe(200);
    const text = read(body);
    expect(text).toContain('Marketing');
    expect(text).toMatch(/Within 24 h: 14 Flights, 4 failed, 71.4 % succeeded/);
    expect(text).toContain('Within 7 days (EU watched for 2 days): 14 Flights');
    expect(text).not.toContain('Within 30 days');
    expect(text).toContain('Flight failed critical');
    expect(links(body)).toContain('../../birds/eu/148890');
    expect(body.match(/<rect class="failed"/g)).toHaveLength(1);
  });

  test.each(['/nests/eu/none', '/nests/asia/682'])('%s is unknown', async (path) => {
    const { ask } = await nests();
    const { body, status } = await ask(path);
    expect(status).toBe(404);
    expect(read(body)).toContain('No such Nest is known');
  });
});

test('the overview shows a day by half hours, each leading to its events, and the worst Nests', async () => {
  const { ask, store } = await nests();
  await putEvents(store, [{ id: 'x/failed', message: 'boom' }]);
  const { body } = await ask('/');
  const day = links(body).filter((href) => href.startsWith('events?since='));
  expect(day).toHaveLength(48);
  expect(day.at(-1)).toBe('events?since=2026-07-02T12%3A00%3A00Z&until=2026-07-02T12%3A30%3A00Z');
  expect(read(body)).toMatch(/\d+ Flights, \d failed/);
  expect(links(body)).toContain('nests/eu/682');
});

test('the list of Flights shows the latest first', async () => {
  const { ask } = await nests();
  const { body } = await ask('/flights?status=failed');
  expect(read(body)).toContain('Translate blog');
  expect(links(body)).toContain('flights/eu/f0');
});
