/** What everybody may see of a Nest; nothing else becomes visible. */
import { describe, expect, test } from 'vitest';
import type { PublicStatusConfig } from '../../../src/config/sections/web-section.ts';
import { secret } from '../../../src/secret.ts';
import { HOSTILE_TEXTS } from '../../store/contract/sample-records.ts';
import { anAlert, anImpairment, LABELS, putAlert } from '../sample.ts';
import { putBirds } from '../sample-birds.ts';
import { type ServeOptions, serve } from '../served.ts';
import { read } from './read.ts';

const PAGE = '/public/eu/682';
const BADGE = `${PAGE}/badge.svg`;
const CROSS_SITE = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' };

async function served(changes: Partial<PublicStatusConfig> = {}, options: ServeOptions = {}) {
  const publicStatus = { nests: ['Marketing'], hasNames: false, ...changes };
  const all = await serve({ web: { bearerToken: secret('s3cret'), publicStatus }, ...options });
  await putBirds(all.store);
  return all;
}

describe('a public page', () => {
  test('shows how the Nest is and since when, with its Birds counted', async () => {
    const { ask } = await served();
    const { status, body, headers } = await ask(PAGE);
    expect(status).toBe(200);
    expect(read(body)).toMatch(/Marketing Some Birds are failing 1 well, 1 failing · began \d/);
    expect(headers['cache-control']).toBe('public, max-age=60');
    // Its times are in the zone of the reader's cookie.
    expect(headers.vary).toContain('Cookie');
    // Neither names of Birds, nor reasons, nor anything of other pages.
    expect(body).not.toMatch(/Translate|Post news|148890|429|provider|Sales|href="[^"?d]/);
  });

  test('names its Birds if that is allowed, those that fail first', async () => {
    const { ask } = await served({ hasNames: true });
    const text = read((await ask(PAGE)).body);
    expect(text).toMatch(/failing Translate blog began \d.* well Post news/);
    expect(text).not.toMatch(/429|provider|anna@|Old one/);
  });

  test('shows what was noted for everybody of what fires, without who did', async () => {
    const { ask, post, submit, store, clock } = await served();
    const signed = { authorization: 'Bearer s3cret' };
    const labels = { ...LABELS, region: 'eu', nest: 'Marketing', nest_id: '682' };
    await putAlert(store, { id: 'a', labels });
    const note = (text: string, isPublic: boolean) =>
      post('/api/v1/alerts/note', { id: 'a', author: 'Anna', text, public: isPublic }, signed);
    await note('Their support is <b>on it</b>', true);
    clock.advance(1_000);
    await note('It was Ben', false);
    const { body } = await ask(PAGE);
    expect(read(body)).toMatch(/What is being done Their support is &lt;b&gt;on it&lt;\/b&gt; 1 s ago/);
    expect(body).not.toMatch(/Anna|Ben|FlightFailed/);
    // The form, which alone offers to show it, replaces what everybody saw.
    expect((await ask('/alerts/a', signed)).body).toContain('name="public"');
    await submit('/note?alert=a', { author: 'Anna', text: 'Mended', public: 'true' }, signed);
    clock.advance(61_000);
    const later = read((await ask(PAGE)).body);
    expect(later).toContain('What is being done Mended');
    expect(later).not.toContain('support');
    await putAlert(store, { id: 'a', labels, state: 'resolved', endsAtUs: clock.nowUs() });
    clock.advance(61_000);
    expect(read((await ask(PAGE)).body)).not.toMatch(/being done|Mended/);
  });

  test('is linked from the list of Nests, for those who may see that', async () => {
    const { ask } = await served();
    const signed = { authorization: 'Bearer s3cret' };
    const links = (body: string) =>
      [...body.matchAll(/href="([^"]*public\/[^"]*)"/g)].map(([, href]) => href);
    const { body } = await ask('/nests', signed);
    expect(links(body)).toEqual([PAGE.slice(1)]);
    expect(body).toContain('Sales');
  });

  test('says that the state is unknown while the watch is interrupted, and only then [long]', async () => {
    for (const [change, known] of [
      [{ reason: 'region_down', region: 'eu', stopsHeartbeat: true }, false],
      [{ reason: 'store_failing', stopsHeartbeat: true }, false],
      [{ reason: 'region_down', region: 'us', stopsHeartbeat: true }, true],
      [{ reason: 'nobody_notified', stopsHeartbeat: true }, true],
      [{ reason: 'streams_overdue', region: 'eu', stopsHeartbeat: false }, true],
    ] as const) {
      const { impairments: _, ...space } = { impairments: [], space: { used: 1, free: 2, whole: 3 } };
      const impairments = async () => ({ ...space, impairments: [anImpairment(change)] });
      const { ask } = await served({}, { impairments });
      expect(read((await ask(PAGE)).body).includes('Currently unknown')).toBe(!known);
      expect((await ask(BADGE)).body.includes('unknown')).toBe(!known);
    }
  });

  test('is late, not interrupted, if streams are long overdue', async () => {
    const late = anImpairment({ reason: 'streams_overdue', region: 'eu', stopsHeartbeat: true });
    const down = anImpairment({ reason: 'region_down', region: 'eu', stopsHeartbeat: true });
    const space = { used: 1, free: 2, whole: 3 };
    const { ask } = await served({}, { impairments: async () => ({ space, impairments: [late] }) });
    const text = read((await ask(PAGE)).body);
    expect(text).toContain('The readings are late');
    expect(text).not.toContain('interrupted');
    expect((await ask(BADGE)).body).toContain('Marketing: late');
    const both = await served({}, { impairments: async () => ({ space, impairments: [late, down] }) });
    expect(read((await both.ask(PAGE)).body)).toContain('The watch is interrupted.');
  });

  test('is kept up to date, without the stream that only others may read', async () => {
    const { ask } = await served();
    const { body } = await ask(PAGE);
    expect(body).toContain('<noscript><meta http-equiv="refresh" content="60"></noscript>');
    expect(body).toContain(' data-stream=""');
    expect(read(body)).toContain('nestwatch does not answer this page');
  });

  test('reads the store once a minute, however many ask', async () => {
    const { ask, store, clock } = await served();
    const lead = async () => /\d+ well, \d+ failing/.exec(read((await ask(PAGE)).body))?.[0];
    expect(await lead()).toBe('1 well, 1 failing');
    const labels = { ...LABELS, bird: 'Post news', bird_id: '2' };
    await store.transaction((tx) =>
      tx.alerts.put([anAlert({ id: 'b', subject: 'bird/2', scope: 'eu/bird/2', labels })]),
    );
    expect(await lead()).toBe('1 well, 1 failing');
    await clock.advance(61_000);
    expect(await lead()).toBe('0 well, 2 failing');
    // Not for longer, even if our clock is set back.
    await store.transaction((tx) => tx.alerts.delete(['b']));
    clock.stepWall(-86_400_000);
    await clock.advance(61_000);
    expect(await lead()).toBe('1 well, 1 failing');
  });
});

describe('a badge', () => {
  test('is an image with a title, for any other page', async () => {
    const { ask } = await served();
    const { status, body, headers } = await ask(BADGE, CROSS_SITE);
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('image/svg+xml; charset=utf-8');
    expect(headers['cross-origin-resource-policy']).toBe('cross-origin');
    expect(headers['cache-control']).toBe('public, max-age=60');
    expect(headers['content-security-policy']).toContain("default-src 'none'");
    expect(body).toMatch(
      /^<svg [^>]*role="img" aria-label="Marketing: 1 of 2 failing">\n<title>Marketing: 1 of 2 failing<\/title>/,
    );
  });

  test.each(HOSTILE_TEXTS)('contains no markup from a name: %j [long]', async (name) => {
    const { ask, store } = await served({ nests: ['*'] });
    await store.transaction((tx) =>
      tx.inventory.putNests([{ region: 'eu', nestId: '682', name, present: true }]),
    );
    const { body } = await ask(BADGE);
    const tags = [...body.matchAll(/<\/?([^\s>]+)/g)].map(([, tag]) => tag);
    expect(new Set(tags)).toEqual(new Set(['svg', 'title', 'rect', 'g', 'text']));
    // biome-ignore lint/suspicious/noControlCharactersInRegex: XML allows none of them.
    expect(body).not.toMatch(/[\u0000-\u0008\u000b-\u001f]/);
    expect((await ask(PAGE)).body).not.toMatch(/<(img|script>alert)/);
  });
});

describe('nothing else is public', () => {
  test('no other Nest, and none without the configuration [long]', async () => {
    const { ask } = await served();
    for (const path of [
      '/public/us/7',
      '/public/us/7/badge.svg',
      '/public/eu/9',
      '/public/us/682',
      '/public/eu/constructor',
    ])
      expect((await ask(path)).status, path).toBe(404);
    const closed = await serve();
    await putBirds(closed.store);
    expect((await closed.ask(PAGE)).status).toBe(404);
    const locked = await serve({ web: { bearerToken: secret('s3cret') } });
    expect((await locked.ask(PAGE)).status).toBe(401);
  });

  test('no other address: all of them require the token as before', async () => {
    const { ask } = await served();
    const paths = [
      '/',
      '/nests',
      '/birds',
      '/birds/eu/148890',
      '/alerts',
      '/config',
      '/metrics',
      '/api/v1/nests',
    ];
    const within = [
      '/public',
      '/public/',
      '/public/eu',
      `${PAGE}/`,
      `${PAGE}/x`,
      '/public/../nests',
      '/public/%2e%2e/nests',
    ];
    for (const path of [...paths, ...within]) expect([401, 404], path).toContain((await ask(path)).status);
    for (const path of paths) expect((await ask(path)).status, path).toBe(401);
  });

  test('and other origins get no other image, and cannot write', async () => {
    const { ask } = await served();
    expect((await ask('/nests', CROSS_SITE)).status).toBe(403);
    expect((await ask(PAGE, {}, 'POST')).status).toBe(405);
    expect((await ask(PAGE, { host: 'evil.example' })).status).toBe(421);
  });

  test('what was refused or not found is not cached', async () => {
    const { ask } = await served();
    for (const path of ['/public/us/7', '/nests'])
      expect((await ask(path)).headers['cache-control'], path).toBe('no-store');
  });
});
