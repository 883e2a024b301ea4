import { describe, expect, test } from 'vitest';
import type { FlightPlace } from '../../../src/domain/alert/fact.ts';
import { groupNotification, HOSTILE_TEXTS } from '../../store/contract/sample-records.ts';
import { aDelivery, NOW_US } from '../sample.ts';
import { MINUTE_US, putBirds, putFlights } from '../sample-birds.ts';
import { serve } from '../served.ts';

async function served() {
  const all = await serve();
  await putBirds(all.store);
  const page = async (path: string) => {
    const { status, body } = await all.ask(path);
    return { status, body, text: textOf(body) };
  };
  return { ...all, page };
}

/** The visible text, in one line. */
function textOf(html: string): string {
  return html
    .replace(/<(style|svg)\b.*?<\/\1>/gs, '')
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ');
}

/** The addresses of a page's links with this text. */
function linksTo(html: string, words: string): (string | undefined)[] {
  return [...html.matchAll(/<a [^>]*href="([^"]*)"[^>]*>(.*?)<\/a>/gs)].flatMap(([, href, inside]) =>
    textOf(inside!).trim() === words ? [href] : [],
  );
}

describe('/birds', () => {
  test('shows those in trouble first, with how their last Flights ended', async () => {
    const { page } = await served();
    const { status, text, body } = await page('/birds');
    expect(status).toBe(200);
    expect(text).toMatch(/Translate blog .* Alert .* Old one .* Switched off .* Post news .* Well/);
    expect(body).toContain('aria-label="4 succeeded, 4 failed"');
    expect(linksTo(body, 'Translate blog')).toEqual(['birds/eu/148890']);
    expect(linksTo(body, 'Marketing')[0]).toBe('nests/eu/682');
    expect(linksTo(body, 'failed')).toEqual(['flights/eu/f0']);
  });

  test.each([
    ['/birds?status=nope', 'No Birds match. (Known statuses: active, unpublished, suspended)'],
    ['/flights?status=faild', 'No Flights were seen. (Known statuses: active, succeeded, failed, cancelled)'],
  ])('%s says which statuses there are', async (path, expected) => {
    const { page } = await served();
    expect((await page(path)).text).toContain(expected);
  });

  test('one whose alerts are all acknowledged is not red, there and on its own page', async () => {
    const { page, post } = await served();
    expect((await page('/birds')).body).toContain('<span class="pill bad">Alert</span>');
    await post('/api/v1/alerts/acknowledge', { ids: ['a'], author: 'Anna' });
    for (const path of ['/birds', '/birds/eu/148890']) {
      const { body } = await page(path);
      expect(body, path).toContain('<span class="pill quiet">Alert, acknowledged</span>');
      expect(body, path).not.toContain('<span class="pill bad">Alert</span>');
    }
  });

  test('one that is not published is not well, and its page says how long it was watched', async () => {
    const { page, store } = await served();
    await store.transaction(async (tx) => {
      const [bird] = (await tx.inventory.birds('eu')).filter(({ name }) => name === 'Post news');
      await tx.inventory.putBirds([{ ...bird!, status: 'unpublished' }]);
      await tx.inventory.regionSince('eu', NOW_US - 26 * 3_600_000_000);
    });
    expect((await page('/birds')).body).toContain('<span class="pill quiet">Not published</span>');
    expect((await page('/birds')).body).not.toContain('>Well</span>');
    const { text } = await page('/birds/eu/148890');
    expect(text).toMatch(/24 h: .* 7 d \(EU watched for 26 h\): /);
    expect(text).not.toContain('30 d');
  });

  test('its page counts the Flights of less than a day once, and those read from before', async () => {
    const { page, store } = await served();
    await store.transaction((tx) => tx.inventory.regionSince('eu', NOW_US - 300_000_000));
    const first = '24 h (EU watched for 5 min): 50 % of 8 Flights';
    const before = (await page('/birds/eu/148890')).text;
    expect(before).toContain(first);
    expect(before).not.toMatch(/\b(7|30) d\b/);
    const startedAtUs = NOW_US - 3 * 86_400_000_000;
    await putFlights(store, { birdId: '148890' }, [{ id: 'old', status: 'succeeded', startedAtUs }]);
    const after = (await page('/birds/eu/148890')).text;
    expect(after).toContain(first);
    expect(after).toMatch(/7 d \(EU watched for 5 min\): 55\.6 % of 9 Flights/);
  });

  test('is filtered by its form, and says what is wrong with it', async () => {
    const { page } = await served();
    expect((await page('/birds?nest=sales')).text).not.toContain('Translate blog');
    expect((await page('/birds?standing=well')).text).not.toContain('Old one');
    expect((await page('/birds?text=nothing')).text).toContain('No Birds match.');
    const wrong = await page('/birds?standing=bad');
    expect(wrong.status).toBe(400);
    expect(wrong.text).toContain('must be one of well, off, failing, alerting');
  });

  test('a filter in the address that the form usually lacks has a field there', async () => {
    const { page } = await served();
    for (const path of ['/birds', '/nests']) {
      const usual = await page(path);
      expect(usual.body, path).not.toContain('name="severity"');
      const { status, body } = await page(`${path}?severity=critical`);
      expect(status, path).toBe(200);
      expect(body, path).toContain('name="severity" value="critical"');
    }
    expect((await page('/birds?severity=critical')).text).not.toContain('Post news');
    expect((await page('/birds?since=45m')).text).not.toContain('Translate blog');
  });

  test('continues where a page ends [long]', async () => {
    const { page, store } = await served();
    const birds = Array.from({ length: 60 }, (_, index) => ({
      ...{ region: 'us', birdId: `x${index}`, nestId: '7', name: `Extra ${index}.`, status: 'active' },
      ...{ triggerType: 'manual', present: true, statusSinceUs: NOW_US },
    }));
    await store.transaction((tx) => tx.inventory.putBirds(birds));
    const first = await page('/birds?region=us');
    const next = /rel="next" href="(\?[^"]*)"/.exec(first.body)?.[1]?.replaceAll('&amp;', '&');
    const second = await page(`/birds${next}`);
    const seen = [...`${first.text}${second.text}`.matchAll(/Extra \d+\./g)].map(([name]) => name);
    expect(new Set(seen).size).toBe(60);
    expect(seen).toHaveLength(60);
  });
});

describe('/birds/{region}/{id}', () => {
  test('shows how the Bird does', async () => {
    const { page } = await served();
    const { status, text, body } = await page('/birds/eu/148890');
    expect(status).toBe(200);
    expect(text).toContain('active this status first seen 60 min ago');
    expect(text).toContain('24 h: 50 % of 8 Flights');
    expect(text).toContain('half within 4 min, 95 % within 8 min');
    expect(text).toContain(
      '4 succeeded, 4 failed. The dashed line is the median, 4 min. Each bar is a Flight',
    );
    expect(text).toContain('Too Many Requests&quot; at Poll (line 12) 4 Translate text');
    expect(linksTo(body, 'Flight failed')).toEqual(['../../alerts/a']);
    expect(linksTo(body, 'all its events')).toEqual(['../../events?region=eu&amp;bird=148890']);
  });

  test('says that its last Flights were slow', async () => {
    const { page, ask, store } = await served();
    const flights = Array.from({ length: 43 }, (_, at) => ({
      ...{ id: `s${at}`, status: 'succeeded' },
      startedAtUs: NOW_US - (at < 40 ? 500 - at * 10 : 28 - (at - 40) * 9) * MINUTE_US,
      tookUs: at < 40 ? MINUTE_US : 9 * MINUTE_US,
    }));
    await putFlights(store, { birdId: '2' }, flights);
    expect((await page('/birds/eu/148890')).text).not.toContain('Unusual');
    expect((await page('/birds/eu/2')).text).toMatch(
      /Unusual Takes 9 min, usually up to 1 min \(last 3 Flights; slower since/,
    );
    const { unusual } = JSON.parse((await ask('/api/v1/birds/eu/2')).body);
    expect(unusual).toEqual([{ sort: 'slow', text: expect.stringContaining('Takes 9 min') }]);
  });

  test('shows its last Flights as bars, each a link, and the same as a table', async () => {
    const { page } = await served();
    const { body } = await page('/birds/eu/148890');
    const bars = [
      ...body.matchAll(/href="([^"]*)" tabindex="-1"><title>([^<]*)<\/title><rect class="(\w+)"/g),
    ];
    expect(bars.map(([, href]) => href?.split('/').at(-1))).toEqual([
      'f7',
      'f6',
      'f5',
      'f4',
      'f3',
      'f2',
      'f1',
      'f0',
    ]);
    expect(bars.at(-1)?.slice(2)).toEqual(['failed, 2026-07-02 11:00:00 UTC, 1 min', 'failed']);
    expect([...body.matchAll(/<th scope="row"[^>]*><time/g)]).toHaveLength(8);
  });

  test('shows when the next Flight is due, and who switched the Bird off', async () => {
    const { page, clock } = await served();
    expect((await page('/birds/eu/2')).text).toContain('Next Flight in 30 min about every 60 min');
    clock.advance(60 * 60_000);
    expect((await page('/birds/eu/2')).text).toContain('It was due then.');
    expect((await page('/birds/us/3')).text).toContain('Switched off Bird suspended by anna@example.com');
    expect((await page('/birds/us/3')).text).toContain('No Flights were seen.');
  });

  test.each(['/birds/eu/none', '/birds/asia/1', '/birds/eu/', '/birds/eu/%ff'])(
    '%s is not found',
    async (path) => {
      const { page } = await served();
      const { status, text } = await page(path);
      expect(status).toBe(404);
      expect(text).toContain('No such Bird is known');
    },
  );

  test('says how long the only one took that succeeded', async () => {
    const { page, store } = await served();
    await putFlights(store, { region: 'us', birdId: '3' }, [
      { id: 'x', status: 'succeeded', startedAtUs: NOW_US - 9e6, tookUs: 3e6 },
    ]);
    expect((await page('/birds/us/3')).text).toContain('Duration 3 s (the last Flight that succeeded)');
  });

  test('exists for any id, and has working links back at any depth', async () => {
    const { page, store } = await served();
    const bird = { region: 'eu', nestId: '1', name: 'x', status: 'active', triggerType: 'manual' };
    const put = { ...bird, birdId: 'a/b', present: true, statusSinceUs: NOW_US };
    await store.transaction((tx) => tx.inventory.putBirds([put]));
    expect(linksTo((await page('/birds/eu/a%2Fb')).body, 'Nests')).toEqual(['../../nests']);
    // A proxy may have decoded it.
    expect(linksTo((await page('/birds/eu/a/b')).body, 'Nests')).toEqual(['../../../nests']);
  });
});

describe('/flights/{region}/{id}', () => {
  test('shows which step failed with which error, and who was notified', async () => {
    const { page, store } = await served();
    await store.transaction(async (tx) => {
      const event = await tx.events.find('eu/flight/f0/failed');
      await tx.outbox.enqueue(groupNotification('n', [event!]), [
        aDelivery({ id: 'd', notificationId: 'n' }),
      ]);
    });
    const { status, text, body } = await page('/flights/eu/f0');
    expect(status).toBe(200);
    expect(text).toContain('Flight failed: Translate blog');
    expect(text).toContain('Took 1 min Step Translate text');
    expect(body).toContain('answered 429 &quot;Too Many Requests&quot;\n   at Poll (line 12)');
    expect(linksTo(body, 'Flight failed')).toEqual(['../../alerts/a']);
    expect(linksTo(body, 'email')).toEqual(['../../deliveries/d']);
    expect(linksTo(body, 'Why, or why not: what became of it')).toEqual(['../../events/eu/flight/f0/failed']);
    expect(linksTo(body, 'Translate blog')).toEqual(['../../birds/eu/148890']);
  });

  test('shows for a running one how long it has taken so far', async () => {
    const { page, store } = await served();
    await putFlights(store, { birdId: '2' }, [
      { id: 'now', status: 'active', startedAtUs: NOW_US - 5 * MINUTE_US },
      { id: 'odd', status: 'a new status', startedAtUs: NOW_US - 9 * MINUTE_US },
    ]);
    const { text } = await page('/flights/eu/now');
    expect(text).toContain('Flight active: Post news');
    expect(text).toContain('Took 5 min, so far');
    expect(text).not.toContain('Who was notified');
    expect((await page('/flights/eu/odd')).text).toContain('Flight: a new status: Post news');
  });

  test('reads its log from the service only when a person asks for it', async () => {
    const asked: FlightPlace[] = [];
    const step = { atUs: NOW_US, level: '', step: 'translate', scope: 'Translate', wentOn: null } as const;
    const { ask, store } = await serve({
      async flightLog(place) {
        asked.push(place);
        if (asked.length > 1) return { refused: 'The watch needs all requests.' };
        const steps = [
          { ...step, sort: 'start', message: 'The Flight took off' },
          { ...step, sort: 'error', message: 'Too many <b>requests', wentOn: 'retried' },
          { ...step, sort: 'error', message: 'Too many requests' },
        ] as const;
        return { steps, more: 3 };
      },
    });
    await putBirds(store);
    const { body } = await ask('/flights/eu/f0');
    expect(asked).toEqual([]);
    expect(linksTo(body, 'Read it from the service')).toEqual(['?log#log']);
    const read = textOf((await ask('/flights/eu/f0?log')).body);
    expect(asked).toMatchObject([{ region: 'eu', nestId: '682', birdId: '148890', flightId: 'f0' }]);
    expect(read).toContain('12:00:00 UTC Take-off Translate The Flight took off');
    expect(read).toContain('Error tried again Translate Too many &lt;b&gt;requests');
    expect(read).toContain('3 older entries are not shown.');
    expect(textOf((await ask('/flights/eu/f0?log')).body)).toContain(
      'The watch needs all requests. Ask again',
    );
    await ask('/flights/eu/none?log');
    expect(asked).toHaveLength(2);
  });

  test('one that is not stored is not found', async () => {
    const { page } = await served();
    for (const path of ['/flights/eu/none', '/flights/us/f0', '/flights/f0']) {
      expect((await page(path)).status).toBe(404);
    }
    expect((await page('/flights/eu/none')).text).toContain('No such Flight is stored');
  });
});

test('/nests shows the worst first', async () => {
  const { page } = await served();
  const { text, body } = await page('/nests');
  expect(text).toMatch(/Marketing 2 1 1 1 0 14 71.4 % .*Sales 1 0 0 0 1 0/);
  expect(linksTo(body, 'Sales')).toEqual(['nests/us/7']);
  expect((await page('/nests?nest=none')).text).toContain('No Nests match.');
  expect((await page('/nests?region=asia')).status).toBe(400);
});

test('pages and API link to the application of the service, if its addresses are configured', async () => {
  const { ask, store } = await serve({
    serviceLinks: ({ bird_id, flight_id }) => ({
      ...(bird_id && { bird: `https://app.example.com/b?id=${bird_id}&x` }),
      ...(flight_id && { flight: `https://app.example.com/f/${flight_id}` }),
    }),
  });
  await putBirds(store);
  const body = async (path: string) => (await ask(path)).body;
  expect(linksTo(await body('/birds/eu/2'), 'Open in the service')).toEqual([
    'https://app.example.com/b?id=2&amp;x',
  ]);
  expect(linksTo(await body('/flights/eu/f0'), 'Open in the service')).toEqual([
    'https://app.example.com/f/f0',
  ]);
  expect((await ask('/api/v1/birds/eu/2')).json).toMatchObject({
    links: { bird: 'https://app.example.com/b?id=2&x' },
  });
});

test('text of the service is only text', async () => {
  const { page, store } = await served();
  const evil = '<script>alert(1)</script>"><img src=x onerror=alert(1)>\u202e';
  const texts = [...HOSTILE_TEXTS, evil];
  await store.transaction(async (tx) => {
    await tx.inventory.putNests([{ region: 'eu', nestId: evil, name: evil, present: true }]);
    await tx.inventory.putBirds(
      texts.map((name, index) => ({
        ...{ region: 'eu', birdId: index === texts.length - 1 ? evil : `h${index}`, nestId: evil, name },
        ...{ status: evil, triggerType: evil, present: true, statusSinceUs: NOW_US },
      })),
    );
  });
  await putFlights(store, { birdId: evil }, [
    { id: 'evil', status: 'failed', startedAtUs: NOW_US, message: evil },
    { id: 'odd', status: evil, startedAtUs: NOW_US + 1 },
  ]);
  const paths = [
    '/birds',
    '/nests',
    `/birds/eu/${encodeURIComponent(evil)}`,
    '/flights/eu/evil',
    '/flights/eu/odd',
  ];
  for (const path of paths) {
    const { status, body } = await page(path);
    expect([path, status]).toEqual([path, 200]);
    expect(body).toContain('alert(1)');
    expect(body).not.toMatch(/<script>alert|<img|\u202e/);
  }
});
