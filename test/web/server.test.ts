import { randomBytes } from 'node:crypto';
import { Agent, get } from 'node:http';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { text } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { request } from 'undici';
import { describe, expect, test } from 'vitest';
import type { Happening } from '../../src/report.ts';
import { secret, secretFrom } from '../../src/secret.ts';
import { openDoor } from '../../src/web/server.ts';
import { createVirtualClock } from '../virtual-clock.ts';
import { anImpairment } from './sample.ts';
import { type ServeOptions, serve, WEB_CONFIG } from './served.ts';

describe('metrics and health', () => {
  test('metrics are returned with their type', async () => {
    const { status, headers, body } = await (await serve()).ask('/metrics');
    expect([status, headers['content-type'], body]).toEqual([
      200,
      'text/plain; version=0.0.4',
      'nestwatch_up 1\n',
    ]);
  });

  test.each(['/-/healthy', '/healthz'])('%s answers 200 or 503 with the reasons', async (path) => {
    let isHealthy = true;
    const { ask, clock } = await serve({
      health: () => ({
        healthy: isHealthy,
        working: true,
        ready: false,
        reasons: ['The store cannot be written.'],
      }),
    });
    expect(await ask(path)).toMatchObject({ status: 200, body: 'Healthy.\n' });
    isHealthy = false;
    await clock.advance(1_000);
    expect(await ask(path)).toMatchObject({
      status: 503,
      body: 'Not healthy.\nThe store cannot be written.\n',
    });
  });

  test.each(['/-/healthy', '/metrics'])(
    '%s answers a program that speaks HTTP/1.0 and names no host',
    async (path) => {
      const { web } = await serve();
      const { port } = new URL(web.url);
      const socket = connect(Number(port), '127.0.0.1');
      socket.end(`GET ${path} HTTP/1.0\r\n\r\n`);
      expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    },
  );

  test.each(['/-/ready', '/readyz'])('%s waits for what is not ready', async (path) => {
    let isReady = false;
    const { ask, clock } = await serve({
      health: () => ({
        healthy: true,
        working: true,
        ready: isReady,
        reasons: ['eu was not read yet.', 'us was not read yet.'],
      }),
    });
    expect(await ask(path)).toMatchObject({
      status: 503,
      body: 'Not ready.\neu was not read yet.\nus was not read yet.\n',
    });
    isReady = true;
    await clock.advance(1_000);
    expect(await ask(path)).toMatchObject({ status: 200, body: 'Ready.\n' });
  });

  test('programs get readiness as JSON, with the same status', async () => {
    const health = { healthy: true, working: false, ready: false, reasons: ['The store is full.'] };
    const { ask } = await serve({ health: () => health });
    expect(await ask('/-/ready', { accept: 'application/json' })).toMatchObject({
      status: 503,
      json: health,
    });
  });
});

describe('requests', () => {
  test.each(['POST', 'PUT', 'DELETE'])('%s is refused if there is nothing to write', async (method) => {
    const { status, headers } = await (await serve()).ask('/api/v1/status', {}, method);
    expect([status, headers.allow]).toEqual([405, 'GET, HEAD']);
  });

  test('the allowed methods are named', async () => {
    const { ask } = await serve();
    const { status, headers, json } = await ask('/api/v2/silences', {}, 'PUT');
    expect([status, headers.allow, json]).toEqual([405, 'GET, HEAD, POST', 'This method does nothing here.']);
    expect((await ask('/api/v2/silence/x', {}, 'PATCH')).headers.allow).toBe('GET, HEAD, DELETE');
    for (const path of ['/-/reload', '/acknowledge-preview', '/silence-preview', '/note']) {
      const { status, headers } = await ask(path, { accept: 'text/html' });
      expect([path, status, headers.allow]).toEqual([path, 405, 'POST']);
    }
  });

  test('a reload is refused unless it is enabled, and the answer says what to do instead', async () => {
    const { ask } = await serve();
    expect(await ask('/-/reload', {}, 'POST')).toMatchObject({
      status: 403,
      body: 'Not allowed: web.enable_lifecycle is not set. SIGHUP reads the configuration again, and so does a change of its file.\n',
    });
  });

  test('a reload answers with its result', async () => {
    let outcome = { mistakes: [] as string[], needsRestart: [] as string[] };
    const enabled = await serve({
      web: { enableLifecycle: true },
      reload: async () => outcome,
    });
    const post = () => enabled.ask('/-/reload', {}, 'POST');
    expect(await post()).toMatchObject({ status: 200, body: 'The configuration was read.\n' });
    outcome = { mistakes: [], needsRestart: ['store.url'] };
    expect((await post()).body).toBe('The configuration was read.\nstore.url changes only at a restart.\n');
    outcome = {
      mistakes: ['n.yaml:1:1: regions: is missing', 'n.yaml:2:1: x: is not a key'],
      needsRestart: [],
    };
    expect(await post()).toMatchObject({
      status: 500,
      body: 'The configuration was not read; the one before stays in force.\nn.yaml:1:1: regions: is missing\nn.yaml:2:1: x: is not a key\n',
    });
    const foreign = { origin: 'http://evil.example' };
    expect((await enabled.ask('/-/reload', foreign, 'POST')).status).toBe(403);
  });

  test('HEAD answers like GET, without the body', async () => {
    expect(await (await serve()).ask('/metrics', {}, 'HEAD')).toMatchObject({ status: 200, body: '' });
  });

  test.each(['/', '/metrics', '/-/healthy', '/api/v1/status', '/nowhere'])(
    '%s has the headers that protect a browser',
    async (path) => {
      const { headers } = await (await serve()).ask(path);
      expect(headers['content-security-policy']).toMatch(
        /^default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+' 'sha256-[^']+'; worker-src 'self'; connect-src 'self'; img-src 'self' data:; manifest-src 'self'; .*frame-ancestors 'none'$/,
      );
      expect(headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'same-origin',
        'cache-control': 'no-store',
      });
    },
  );

  test.each(['evil.example', 'evil.example:9465', '127.0.0.1.evil.example', 'localhost.evil.example'])(
    'on loopback the name %s is not served',
    async (host) => {
      const { ask } = await serve();
      expect(await ask('/api/v1/status', { host })).toMatchObject({
        status: 421,
        json: { error: expect.stringContaining('web.external_url') },
      });
    },
  );

  test.each([
    'localhost',
    'LOCALHOST:9465',
    '127.0.0.1:1',
    '[::1]:9465',
    'watch.example.com',
    'watch.example.com:80',
  ])('on loopback the name %s is served', async (host) => {
    expect((await (await serve()).ask('/metrics', { host })).status).toBe(200);
  });

  test('on every interface any name is served', async () => {
    const { ask } = await serve({ web: { host: '0.0.0.0' } });
    expect((await ask('/metrics', { host: 'evil.example' })).status).toBe(200);
  });

  test('an unknown address is a page for people, with the navigation', async () => {
    const { ask } = await serve();
    const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
    const { status, body } = await ask('/no/such', html);
    expect(status).toBe(404);
    expect(body).toContain('<h1>There is nothing at this address</h1>');
    expect(body).toContain('href="../alerts"');
    expect(body).not.toContain('aria-current="page"');
    expect((await ask('/api/v1/event', html)).json).toMatchObject({ error: expect.any(String) });
  });

  test('pages are compressed for those who accept that', async () => {
    const { web } = await serve();
    const plain = await fetch(web.url, { headers: { 'accept-encoding': 'identity' } });
    expect(plain.headers.get('content-encoding')).toBeNull();
    expect(plain.headers.get('vary')).toBe('Accept-Encoding');
    const packed = await fetch(web.url, { headers: { 'accept-encoding': 'gzip' } });
    expect(packed.headers.get('content-encoding')).toBe('gzip');
    expect(packed.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(await packed.text()).toBe(await plain.text());
  });

  test('an unknown address lists the existing ones', async () => {
    const { ask } = await serve();
    expect(await ask('/api/v1/event')).toMatchObject({
      status: 404,
      json: { error: expect.stringContaining('/api/v1/events') },
    });
    expect((await ask('/status')).body).toMatch(/^There is nothing at this address; there are: .*\n$/);
    const named = (await ask('/status')).body.slice(0, -2).split(/: |, /).slice(1);
    const [, navigation = ''] = /<nav[^>]*>([\s\S]*?)<\/nav>/.exec((await ask('/')).body) ?? [];
    const links = [...navigation.matchAll(/href="([a-z]+)"/g)].map(([, path]) => `/${path}`);
    expect(links.length).toBeGreaterThan(5);
    expect(named).toEqual(expect.arrayContaining([...links, '/search', '/writes', '/-/reload']));
  });

  test('a failure inside is a 500 that says nothing more, and is reported', async () => {
    const error = new Error('unforeseen at /secret/path');
    const { ask, reported } = await serve({ metrics: () => Promise.reject(error) });
    const { status, body } = await ask('/metrics');
    expect(status).toBe(500);
    expect(body).not.toContain('secret');
    expect(reported).toEqual([{ what: 'trouble', stage: 'web', error }]);
  });
});

describe('a scrape', () => {
  const scrape = async (headers: Record<string, string>) => {
    const { web, close } = await serve({
      metrics: async (format) => ({ contentType: `text/${format}`, body: ['nestwatch_up 1\n', 'é 2\n'] }),
    });
    const { statusCode, headers: answered, body } = await request(`${web.url}/metrics`, { headers });
    const bytes = Buffer.from(await body.arrayBuffer());
    await close();
    return { status: statusCode, answered, bytes };
  };

  test('is compressed for clients that accept gzip, and plain for others', async () => {
    const packed = await scrape({ 'accept-encoding': 'gzip' });
    expect(packed.answered).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept, Accept-Encoding' });
    expect(gunzipSync(packed.bytes).toString()).toBe('nestwatch_up 1\né 2\n');
    for (const headers of [{}, { 'accept-encoding': 'gzip;q=0' }, { 'accept-encoding': 'br' }] as const) {
      const { status, answered, bytes } = await scrape(headers);
      expect([status, answered['content-encoding'], bytes.toString()]).toEqual([
        200,
        undefined,
        'nestwatch_up 1\né 2\n',
      ]);
    }
  });

  test.each(['gzip', 'identity'])(
    'that fails half way is cut off, and nothing else is (%s)',
    async (packing) => {
      const error = new Error('half way');
      const { web, ask, reported } = await serve({
        metrics: async () => ({
          contentType: 'text/plain',
          body: (function* () {
            yield 'nestwatch_up 1\n'.repeat(100_000);
            throw error;
          })(),
        }),
      });
      const headers = { 'accept-encoding': packing };
      const { body } = await request(`${web.url}/metrics`, { headers });
      await expect(body.arrayBuffer()).rejects.toThrow();
      expect(reported).toEqual([{ what: 'trouble', stage: 'web', error }]);
      expect((await ask('/-/healthy')).status).toBe(200);
    },
  );

  test('requested by HEAD has no body, and one that is given up is not read to its end', async () => {
    let ended = 0;
    const { web, close } = await serve({
      metrics: async () => ({
        contentType: 'text/plain',
        body: (function* () {
          try {
            for (let part = 0; part < 1_000; part += 1) yield 'nestwatch_up 1\n'.repeat(10_000);
            ended += 1_000;
          } finally {
            ended += 1;
          }
        })(),
      }),
    });
    const head = await request(`${web.url}/metrics`, { method: 'HEAD' });
    expect([head.statusCode, await head.body.text()]).toEqual([200, '']);
    const given = await request(`${web.url}/metrics`, { headers: { 'accept-encoding': 'gzip' } });
    given.body.on('error', () => {});
    given.body.destroy();
    await expect.poll(() => ended).toBeGreaterThan(0);
    await close();
    expect(ended).toBeLessThan(1_000);
  });

  test.each([
    // As Prometheus 2 and 3 send it.
    ['application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1', 'openmetrics'],
    [
      'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;version=0.0.4;q=0.4',
      'openmetrics',
    ],
    ['text/plain;version=0.0.4;q=0.7,application/openmetrics-text;q=0.5', 'text'],
    ['text/html,application/xhtml+xml,*/*;q=0.8', 'text'],
    ['', 'text'],
  ])('for %s comes as %s', async (accept, format) => {
    const { answered } = await scrape(accept ? { accept } : {});
    expect(answered['content-type']).toBe(`text/${format}`);
  });
});

describe('with a token', () => {
  const guarded = () => serve({ web: { bearerToken: secret('s3cret-#[…]') } });
  const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`;

  test.each(['/', '/metrics', '/api/v1/status', '/api/v1/events', '/nowhere'])(
    '%s requires it',
    async (path) => {
      const { status, headers, body } = await (await guarded()).ask(path);
      expect(status).toBe(401);
      expect(headers['www-authenticate']).toContain('Basic realm="nestwatch"');
      expect(body).toContain('A token is needed');
    },
  );

  test.each(['/-/healthy', '/healthz', '/-/ready', '/readyz'])('%s does not', async (path) => {
    expect((await (await guarded()).ask(path)).status).toBe(200);
  });

  test.each([
    ['as bearer', 'Bearer s3cret-#[â\u0080¦]', 200],
    ['as bearer in any case', 'bearer s3cret-#[â\u0080¦]', 200],
    ['as the password of any user', basic('anna:s3cret-#[…]'), 200],
    ['as the password of nobody', basic(':s3cret-#[…]'), 200],
    ['cut short', 'Bearer s3cret', 401],
    ['as the user', basic('s3cret-#[…]:'), 401],
    ['as user without a password', basic('s3cret-#[…]'), 401],
    ['without a scheme', 's3cret', 401],
    ['empty', 'Bearer ', 401],
    ['of another scheme', 'Digest s3cret', 401],
  ])('given %s', async (_, authorization, status) => {
    expect((await (await guarded()).ask('/metrics', { authorization })).status).toBe(status);
  });

  test('a rotated token is accepted at once', async () => {
    let token = 'old';
    const { ask } = await serve({ web: { bearerToken: secretFrom(() => token) } });
    token = 'new';
    expect((await ask('/metrics', { authorization: 'Bearer old' })).status).toBe(401);
    expect((await ask('/metrics', { authorization: 'Bearer new' })).status).toBe(200);
  });
});

describe('what was set aside', () => {
  const FAULT = { sort: 'group', name: '{}:{bird="<Bad>"}', reason: 'TypeError: no' } as const;
  const JSON_ANSWER = { accept: 'application/json' };

  async function withFault(options: ServeOptions = {}) {
    const served = await serve(options);
    const nowUs = served.clock.nowUs();
    await served.store.transaction((tx) => tx.faults.note([FAULT], nowUs, nowUs + 60_000_000));
    return served;
  }

  test('is listed in readiness, on the page and in the status', async () => {
    const fault = anImpairment({
      reason: 'faults_set_aside',
      finding: { sort: 'set_aside', facts: { count: 1, first: 'a rule' } },
    });
    const { ask } = await withFault({
      impairments: async () => ({ impairments: [fault], space: undefined }),
    });
    const ready = await ask<{ set_aside: unknown[] }>('/-/ready', JSON_ANSWER);
    expect(ready.status).toBe(200);
    expect(ready.json.set_aside).toEqual([{ ...FAULT, since: expect.any(String) }]);
    const status = await ask<{ set_aside: unknown[] }>('/api/v1/status');
    expect(status.json.set_aside).toEqual(ready.json.set_aside);
    const { body } = await ask('/');
    expect(body).toContain('was set aside');
    expect(body).toContain('&lt;Bad&gt;');
    expect(body).not.toContain('All quiet');
  });

  test('is only counted for requests without a token', async () => {
    const { ask } = await withFault({ web: { bearerToken: secret('s3cret') } });
    const counted = await ask<{ set_aside: unknown[] }>('/-/ready', JSON_ANSWER);
    expect(counted.json.set_aside).toEqual([{ sort: 'group', count: 1 }]);
    const named = await ask('/-/ready', { ...JSON_ANSWER, authorization: 'Bearer s3cret' });
    expect(named.body).toContain('TypeError: no');
  });
});

describe('a read request', () => {
  const sent = (site: string, mode: string, dest?: string) => ({
    ...{ 'sec-fetch-site': site, 'sec-fetch-mode': mode, ...(dest && { 'sec-fetch-dest': dest }) },
  });

  test.each([
    ['a program', {}, 200],
    ['the page itself', sent('same-origin', 'cors', 'empty'), 200],
    ['the address bar', sent('none', 'navigate', 'document'), 200],
    ['a link elsewhere', sent('cross-site', 'navigate', 'document'), 200],
    ['a frame elsewhere', sent('cross-site', 'navigate', 'iframe'), 403],
    ['an image elsewhere', sent('cross-site', 'no-cors', 'image'), 403],
    ['a script of a sibling site', sent('same-site', 'cors'), 403],
    ['a script elsewhere in an old browser', { origin: 'https://evil.example' }, 403],
    ['a script of our own in an old browser', { origin: 'http://watch.example.com' }, 200],
  ])('from %s', async (_, headers: Record<string, string>, expected) => {
    const { ask } = await serve();
    for (const path of [
      '/',
      '/silence?matchers=a',
      '/metrics',
      '/api/v2/alerts?filter=a%3Db',
      '/api/v1/events',
    ]) {
      expect([path, (await ask(path, headers)).status]).toEqual([path, expected]);
    }
  });
});

describe('a write', () => {
  const JSON_TYPE = { 'content-type': 'application/json' };
  const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
  const path = '/api/v1/deliveries/retry';
  const body = JSON.stringify({ ids: ['x'] });

  test.each([
    ['a program', {}, 200],
    ['the page itself', { origin: 'OWN', 'sec-fetch-site': 'same-origin' }, 200],
    ['the page under its external address', { origin: 'http://watch.example.com' }, 200],
    ['another page', { origin: 'https://evil.example' }, 403],
    ['another page on this machine', { origin: 'http://127.0.0.1:1' }, 403],
    ['the external name with another scheme', { origin: 'https://watch.example.com' }, 403],
    ['a page that hides where it is', { origin: 'null' }, 403],
    ['another site, as the browser says', { 'sec-fetch-site': 'cross-site' }, 403],
    ['a sibling site, as the browser says', { 'sec-fetch-site': 'same-site' }, 403],
  ])('from %s', async (_, headers: Record<string, string>, expected) => {
    const { ask, web } = await serve();
    const origin = headers.origin === 'OWN' ? { origin: web.url } : {};
    expect((await ask(path, { ...JSON_TYPE, ...headers, ...origin }, 'POST', body)).status).toBe(expected);
  });

  test('from a form must say where it comes from', async () => {
    const { ask, submit, store } = await serve();
    const withoutOrigin = await ask('/expire-silence', FORM, 'POST', 'id=x');
    expect(withoutOrigin).toMatchObject({ status: 403, body: expect.stringContaining('content-type') });
    expect((await ask(path, { 'content-type': 'text/plain' }, 'POST', body)).status).toBe(403);
    expect((await submit('/expire-silence', { id: 'x' })).status).toBe(303);
    expect(await store.transaction((tx) => tx.silences.list())).toEqual([]);
  });

  test('to a name that is not configured is refused, even from itself', async () => {
    const { ask } = await serve({ web: { host: '0.0.0.0' } });
    const rebound = { host: 'evil.example', origin: 'http://evil.example' };
    expect((await ask(path, { ...JSON_TYPE, ...rebound }, 'POST', body)).status).toBe(403);
  });

  test('a silence cannot be ended from elsewhere', async () => {
    const { ask } = await serve();
    const { status, json } = await ask('/api/v2/silence/x', { origin: 'https://evil.example' }, 'DELETE');
    expect([status, json]).toEqual([403, expect.stringContaining('another origin')]);
  });

  test('requires the token as well', async () => {
    const { ask, post } = await serve({ web: { bearerToken: secret('s3cret') } });
    expect((await post(path, { ids: ['x'] })).status).toBe(401);
    expect((await ask('/api/v2/silence/x', {}, 'DELETE')).status).toBe(401);
    expect((await post(path, { ids: ['x'] }, { authorization: 'Bearer s3cret' })).status).toBe(200);
  });

  test('has a limited body [long]', async () => {
    const { post } = await serve();
    expect((await post(path, { ids: ['x'.repeat(600_000)] })).status).toBe(413);
  });

  test('ends the connection with a body that it does not read, so that no next request is lost on it', async () => {
    const { web } = await serve();
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: 'x'.repeat(600_000),
    };
    const answer = await fetch(web.url + path, init);
    expect([answer.status, answer.headers.get('connection')]).toEqual([413, 'close']);
  });
});

describe('listening', () => {
  test('without a host is on the addresses of IPv4, and on those of IPv6 if the machine has any', async () => {
    const hasIpv6 = Object.values(networkInterfaces()).some((all) =>
      all?.some((one) => one.address === '::1'),
    );
    const { web, reported } = await serve({ web: { host: '' } });
    const { hostname, port } = new URL(web.url);
    expect(['[::]', '0.0.0.0']).toContain(hostname);
    const headers = { 'content-type': 'application/json' };
    for (const host of hasIpv6 ? ['127.0.0.1', '[::1]'] : ['127.0.0.1']) {
      const silence = { method: 'POST', headers, body: '{}' };
      expect((await fetch(`http://${host}:${port}/api/v2/silences`, silence)).status).toBe(400);
      expect(reported.at(-1)).toMatchObject({ what: 'write', from: host.replace(/[[\]]/g, '') });
    }
  });

  test('a port in use is one clear sentence that names the address', async () => {
    const { web } = await serve();
    const port = Number(new URL(web.url).port);
    const second = serve({ web: { port } });
    await expect(second).rejects.toMatchObject({
      code: 'port_in_use',
      message: `Cannot listen on 127.0.0.1:${port}: another process listens there.`,
    });
  });

  test('kept-alive connections do not delay the end', async () => {
    const { web, close, clock } = await serve();
    const agent = new Agent({ keepAlive: true });
    await new Promise<void>((resolve) => {
      get(`${web.url}/metrics`, { agent }, (incoming) => incoming.resume().on('end', resolve));
    });
    await close();
    expect(clock.pending()).toBe(0);
    agent.destroy();
  });

  test('a running request is answered before the end, and its connection then closed', async () => {
    const answer = Promise.withResolvers<{ contentType: string; body: string }>();
    const asked = Promise.withResolvers<void>();
    const { web, close } = await serve({
      metrics: () => {
        asked.resolve();
        return answer.promise;
      },
    });
    const agent = new Agent({ keepAlive: true });
    const response = new Promise<[number | undefined, string | undefined]>((resolve, reject) => {
      get(`${web.url}/metrics`, { agent }, (incoming) => {
        incoming.resume();
        resolve([incoming.statusCode, incoming.headers.connection]);
      }).on('error', reject);
    });
    await asked.promise;
    const closed = close();
    answer.resolve({ contentType: 'text/plain', body: 'x' });
    expect(await response).toEqual([200, 'close']);
    await closed;
    agent.destroy();
  });

  test('a request that never ends is cut off', async () => {
    const clock = createVirtualClock();
    const asked = Promise.withResolvers<void>();
    const { web, close } = await serve({
      clock,
      metrics: () => {
        asked.resolve();
        return new Promise(() => {});
      },
    });
    const response = new Promise<string>((resolve) => {
      get(`${web.url}/metrics`).on('error', (error) => resolve(error.message));
    });
    await asked.promise;
    const closed = close();
    await clock.advance(2_000);
    expect(await response).toBe('socket hang up');
    await closed;
  });
});

test.each(['identity', 'gzip'])(
  'a client that leaves in the middle of a scrape is no failure: %s [long]',
  async (packing) => {
    const left = Promise.withResolvers<void>();
    async function* endless() {
      try {
        // Random, so that it cannot be compressed.
        for (;;) yield randomBytes(40_000).toString('hex');
      } finally {
        left.resolve();
      }
    }
    const { web, reported } = await serve({
      metrics: async () => ({ contentType: 'text/plain', body: endless() }),
    });
    await new Promise<void>((resolve) => {
      const asked = get(`${web.url}/metrics`, { headers: { 'accept-encoding': packing } }, (answer) => {
        answer.once('data', () => {
          asked.destroy();
          resolve();
        });
      });
      asked.on('error', () => {});
    });
    await left.promise;
    // Consequences follow in the next turns.
    await setImmediate();
    expect(reported.filter(({ what }) => what === 'trouble')).toEqual([]);
  },
);

test.each([
  ['/api/v2/silences', 'application/json', '{"matchers":'],
  ['/api/v1/alerts/acknowledge', 'application/json', '{"ids":'],
  ['/expire-silence', 'application/x-www-form-urlencoded', 'id='],
  ['/silence', 'application/x-www-form-urlencoded', 'bird='],
])(
  'a client that leaves in the middle of a body is no failure either: %s [long]',
  async (path, type, half) => {
    const answered = Promise.withResolvers<void>();
    const reported: Happening[] = [];
    const { web } = await serve({
      report(one) {
        reported.push(one);
        // Each write is reported when it has finished.
        if (one.what === 'write') answered.resolve();
      },
    });
    const { port } = new URL(web.url);
    const socket = connect(Number(port), '127.0.0.1');
    const head = [
      `POST ${path} HTTP/1.1`,
      `host: 127.0.0.1:${port}`,
      `origin: ${web.url}`,
      `content-type: ${type}`,
    ];
    socket.write(`${[...head, 'content-length: 500'].join('\r\n')}\r\n\r\n${half}`, () =>
      socket.resetAndDestroy(),
    );
    await answered.promise;
    await setImmediate();
    expect(reported.filter(({ what }) => what === 'trouble')).toEqual([]);
  },
);

test('until there is a store, the process is healthy, and everything else says what it waits for', async () => {
  const opening = 'The store is being opened, since 2026-11-28 03:25:00 UTC.';
  const door = await openDoor(
    { config: WEB_CONFIG, openFiles: 1024, clock: createVirtualClock(), report: () => {} },
    () => opening,
  );
  const ask = async (path: string, headers: Record<string, string> = {}) => {
    const { statusCode, headers: answered, body } = await request(`${door.url}${path}`, { headers });
    return { status: statusCode, again: answered['retry-after'], body: await body.text() };
  };
  expect(await ask('/-/healthy')).toEqual({ status: 200, body: `Healthy.\n${opening}\n` });
  expect(await ask('/-/ready')).toEqual({ status: 503, body: `Not ready.\n${opening}\n` });
  expect(JSON.parse((await ask('/readyz', { accept: 'application/json' })).body)).toEqual({
    ...{ healthy: true, working: true, ready: false },
    reasons: [opening],
  });
  for (const path of ['/', '/metrics', '/api/v1/alerts']) {
    expect(await ask(path)).toMatchObject({
      status: 503,
      again: '10',
      body: expect.stringContaining(opening),
    });
  }
  expect(await ask('/', { host: 'evil.example' })).toMatchObject({ status: 421 });
  await door.close();
});
