/** Who may do what: every route with every scope, each way to log in, and what is recorded of it. */
import { randomBytes } from 'node:crypto';
import { copyFileSync, readFileSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { describe, expect, test } from 'vitest';
import type { AccessConfig, Scope } from '../../src/config/sections/access-section.ts';
import { hashPassword } from '../../src/http/password-hash.ts';
import { createAcknowledgeLinks } from '../../src/operator/acknowledge-link.ts';
import type { Happening } from '../../src/report.ts';
import { secret, secretFrom } from '../../src/secret.ts';
import { BusyError } from '../../src/web/bounded-work.ts';
import { keepHealth } from '../../src/web/monitoring.ts';
import { createPush } from '../../src/web/push.ts';
import { createApp } from '../../src/web/routes.ts';
import { makeAuthority, makeCertificate } from '../http/certificates.ts';
import { tempFolder } from '../http/servers.ts';
import { serve, WEB_CONFIG } from './served.ts';

const SCOPES: readonly Scope[] = ['read', 'metrics', 'write', 'fly'];
const NOBODY: AccessConfig = { tokens: [], users: new Map() };

const token = (text: string, ...scopes: Scope[]) => ({
  name: text,
  token: secret(text),
  scopes: new Set(scopes),
});
const bearer = (text: string) => ({ authorization: `Bearer ${text}` });
const basic = (user: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
});

/** All routes of the application itself, so that a new one is tested from its first day. */
async function routes(): Promise<[method: string, path: string][]> {
  const { options } = await serve();
  const app = createApp(
    options,
    {
      isClosing: () => false,
      unreadBytes: () => 0,
      health: keepHealth(options),
      publicStore: options.store,
    },
    createPush(options.clock, 1024),
  );
  const found = app.routes.filter(({ method, path }) => method !== 'ALL' && !path.includes('*'));
  return found.map(({ method, path }) => [method, path.replaceAll(/:\w+(?:\{[^}]*\})?/g, 'x')]);
}

const HEALTH = new Set(['/-/healthy', '/healthz', '/-/ready', '/readyz']);

describe('scopes', () => {
  test('every route requires its scope, and accepts no other [long]', async () => {
    const all = await routes();
    expect(all.length).toBeGreaterThan(25);
    const { ask } = await serve({
      web: {
        enableLifecycle: true,
        access: { ...NOBODY, tokens: SCOPES.map((scope) => token(`only-${scope}`, scope)) },
      },
    });
    const wrong: string[] = [];
    const seen = new Set<Scope>();
    for (const [method, path] of all) {
      const change = /\/(fly|resume)$/.test(path) ? 'fly' : 'write';
      const isRead = method === 'GET' || path.endsWith('-preview');
      const needed: Scope = !isRead ? change : path === '/metrics' ? 'metrics' : 'read';
      const isOpen = HEALTH.has(path);
      if (!isOpen) seen.add(needed);
      const statusOf = async (headers: Record<string, string>) =>
        (
          await ask(
            path,
            { ...headers, 'content-type': 'application/json' },
            method,
            method === 'POST' ? '{}' : undefined,
          )
        ).status;
      const bare = await statusOf({});
      if (isOpen ? bare !== 200 : bare !== 401) wrong.push(`${method} ${path} without a token: ${bare}`);
      for (const scope of SCOPES) {
        const status = await statusOf(bearer(`only-${scope}`));
        const isIn = status !== 401 && status !== 403;
        if (isIn !== (isOpen || scope === needed)) wrong.push(`${method} ${path} with ${scope}: ${status}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(seen).toEqual(new Set(SCOPES));
  });

  test('an unknown address requires one as well', async () => {
    const { ask } = await serve({
      web: { access: { ...NOBODY, tokens: [token('only-metrics', 'metrics')] } },
    });
    expect((await ask('/nowhere')).status).toBe(401);
    expect(await ask('/nowhere', bearer('only-metrics'))).toMatchObject({
      status: 403,
      body: 'This needs the scope read; only-metrics has metrics.\n',
    });
    expect((await ask('/api/v1/status', bearer('only-metrics'))).json).toEqual({
      error: 'This needs the scope read; only-metrics has metrics.',
    });
  });

  test('bearer_token beside tokens has all scopes except fly; files are read at each request', async () => {
    let text = 'first-one';
    const { ask } = await serve({
      web: {
        bearerToken: secret('of everything'),
        access: {
          ...NOBODY,
          tokens: [{ name: 'a', token: secretFrom(() => text), scopes: new Set(['read'] as const) }],
        },
      },
    });
    expect((await ask('/metrics', bearer('of everything'))).status).toBe(200);
    const fly = { ...bearer('of everything'), 'content-type': 'application/json' };
    expect((await ask('/api/v1/birds/eu/1/fly', fly, 'POST', '{}')).status).toBe(403);
    expect((await ask('/', bearer('first-one'))).status).toBe(200);
    text = 'second-one';
    expect((await ask('/', bearer('first-one'))).status).toBe(401);
    expect((await ask('/', basic('anybody', 'second-one'))).status).toBe(200);
  });
});

describe('users', () => {
  async function guarded() {
    const users = new Map([
      ['anna', { hash: secret(await hashPassword('rïght', randomBytes)), scopes: new Set(SCOPES) }],
      ['ben', { hash: secret(await hashPassword('other', randomBytes)), scopes: new Set<Scope>(['read']) }],
    ]);
    return serve({ web: { access: { ...NOBODY, users } } });
  }

  test('log in with their own password [long]', async () => {
    const { ask } = await guarded();
    expect((await ask('/', basic('anna', 'rïght'))).status).toBe(200);
    expect((await ask('/', basic('ben', 'other'))).status).toBe(200);
    for (const [user, password] of [
      ['anna', 'other'],
      ['ben', 'rïght'],
      ['carl', 'rïght'],
      ['', ''],
      ['__proto__', 'x'],
    ]) {
      expect(await ask('/', basic(user!, password!))).toMatchObject({ status: 401 });
    }
    expect((await ask('/', bearer('rïght'))).status).toBe(401);
    expect((await ask('/')).body).toContain('People come with their own name and password.');
  });

  test('have their scopes [long]', async () => {
    const { submit } = await guarded();
    expect((await submit('/expire-silence', { id: 'x' }, basic('ben', 'other'))).status).toBe(403);
    expect((await submit('/expire-silence', { id: 'x' }, basic('anna', 'rïght'))).status).toBe(303);
  });

  test('who guess passwords must wait, and who is logged in need not [long]', async () => {
    const { ask } = await guarded();
    expect((await ask('/', basic('anna', 'rïght'))).status).toBe(200);
    const guesses = Array.from({ length: 40 }, (_, index) => ask('/', basic('anna', `guess ${index}`)));
    const known = ask('/', basic('anna', 'rïght'));
    const statuses = (await Promise.all(guesses)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([401, 429]));
    expect((await known).status).toBe(200);
  });
});

describe('a trusted proxy', () => {
  const behind = (isTrusted: boolean) =>
    serve({
      web: {
        access: {
          ...NOBODY,
          tokens: [token('a-token-here', 'metrics')],
          proxy: { header: 'x-forwarded-user', isTrusted: () => isTrusted, scopes: new Set(['read']) },
        },
      },
    });

  test('says who the user is', async () => {
    const { ask, submit } = await behind(true);
    const anna = { 'x-forwarded-user': 'anna' };
    expect((await ask('/', anna)).status).toBe(200);
    expect((await submit('/expire-silence', { id: 'x' }, anna)).status).toBe(403);
    expect((await ask('/')).status).toBe(401);
    expect((await ask('/', { 'x-forwarded-user': ' ' })).status).toBe(401);
    expect((await ask('/metrics', bearer('a-token-here'))).status).toBe(200);
  });

  test.each([
    ['UTF-8', Buffer.from('Jürgen Müller').toString('latin1')],
    ['Latin-1', 'Jürgen Müller'],
  ])('may send a name in %s', async (_, name) => {
    const { ask, reported } = await behind(true);
    // With a body, Node would send the header in the body's encoding.
    await ask('/expire-silence', { 'x-forwarded-user': name }, 'POST');
    expect(reported).toMatchObject([{ what: 'write', who: 'Jürgen Müller' }]);
  });

  test('from elsewhere the header is ignored', async () => {
    const { ask } = await behind(false);
    expect((await ask('/', { 'x-forwarded-user': 'anna' })).status).toBe(401);
  });
});

describe('the record of writes', () => {
  test('that there was no room for is in the log only, and no bug', async () => {
    const busy = () => Promise.reject(new BusyError('Too many requests wait already.'));
    const store = { transaction: busy, space: () => undefined, close: async () => {} };
    const { submit, reported } = await serve({ store });
    expect((await submit('/expire-silence', { id: 'x' })).status).toBe(503);
    expect(reported.map(({ what }) => what)).toEqual(['write']);
  });

  const writes = (reported: readonly Happening[]) => reported.filter(({ what }) => what === 'write');

  test('has each write, with who asked for it, from where, and how it ended, but no reads [long]', async () => {
    const users = new Map([
      ['anna', { hash: secret(await hashPassword('right', randomBytes)), scopes: new Set(SCOPES) }],
    ]);
    const { ask, post, submit, reported } = await serve({
      web: { access: { users, tokens: [token('reader-1', 'read'), token('robot-12', 'write')] } },
    });
    const silence = (createdBy: string) => ({
      matchers: [{ name: 'bird', value: 'x', isRegex: false }],
      endsAt: '2030-01-01T00:00:00Z',
      createdBy,
      comment: 'tells why',
    });
    await ask('/', basic('anna', 'right'));
    await post('/api/v2/silences', silence('somebody else'), basic('anna', 'right'));
    await post('/api/v2/silences', silence('somebody else'), bearer('robot-12'));
    await post('/api/v2/silences', {}, bearer('robot-12'));
    await post('/api/v2/silences', silence('me'), bearer('reader-1'));
    await submit('/resolve?alert=a%2F1', { author: 'Ben' }, basic('anna', 'right'));
    await post('/api/v2/silences', silence('nobody'), {});
    const json = { 'content-type': 'application/json', ...bearer('robot-12') };
    await ask('/api/v2/silences', json, 'POST', '"\u001b[31m\u202e');

    const common = { what: 'write', from: '127.0.0.1' };
    const asked = expect.stringContaining('"comment":"tells');
    expect(writes(reported)).toMatchObject([
      { ...common, who: 'anna', by: 'user', action: 'POST /api/v2/silences', status: 200, asked },
      { ...common, who: 'robot-12', by: 'token', action: 'POST /api/v2/silences', status: 200, asked },
      { ...common, who: 'robot-12', by: 'token', status: 400, asked: '{}' },
      { ...common, who: 'reader-1', by: 'token', status: 403 },
      { ...common, who: 'anna', by: 'user', action: 'POST /resolve?alert=a%2F1', asked: 'author=Ben' },
      { ...common, who: 'robot-12', status: 400, asked: expect.not.stringContaining('\u001b') },
    ]);

    // The page and the API show the same, the newest first, to whoever may read.
    const { json: kept } = await ask<{ writes: object[]; next?: string }>(
      '/api/v1/writes?limit=4',
      bearer('reader-1'),
    );
    expect(kept).toMatchObject({
      writes: [
        { who: 'robot-12', by: 'token', status: 400, asked: expect.not.stringContaining('\u001b') },
        {
          who: 'anna',
          by: 'user',
          from: '127.0.0.1',
          action: 'POST /resolve?alert=a%2F1',
          asked: 'author=Ben',
        },
        { who: 'reader-1', status: 403 },
        { who: 'robot-12', status: 400, asked: '{}' },
      ],
      next: expect.any(String),
    });
    const page = (await ask('/writes?who=reader-1', bearer('reader-1'))).body;
    expect(page).toContain('reader-1');
    expect(page).toContain('refused (403)');
    expect(page).not.toContain('<bdi>robot-12');
    expect((await ask('/writes?since=x', bearer('reader-1'))).status).toBe(400);
    expect((await ask('/api/v1/writes', bearer('robot-12'))).status).toBe(403);

    // A user's own name is recorded for what they do; the holder of a token may name somebody.
    const { json: silences } = await ask<{ createdBy: string }[]>('/api/v2/silences', bearer('reader-1'));
    expect(silences.map(({ createdBy }) => createdBy).sort()).toEqual(['anna', 'somebody else']);
    const form = await ask('/silence', basic('anna', 'right'));
    expect(form.body).toContain('name="author" value="anna"');
  });

  test('without authentication still has what was asked for', async () => {
    const { submit, reported } = await serve();
    await submit('/expire-silence', { id: 'gone' });
    expect(writes(reported)).toMatchObject([
      { who: '', by: 'nobody_asked', action: 'POST /expire-silence', asked: 'id=gone', status: 303 },
    ]);
  });

  test('a change is made even if the store cannot record who asked for it', async () => {
    const { submit, store, reported } = await serve();
    await store.close();
    await submit('/expire-silence', { id: 'gone' });
    expect(reported.map(({ what }) => what)).toEqual(expect.arrayContaining(['write', 'trouble']));
  });

  test('has a refused write of each sender once an hour', async () => {
    const { post, ask, reported, clock } = await serve({
      web: { access: { ...NOBODY, tokens: [token('reader-1', 'read'), token('reader-2', 'read')] } },
    });
    const refuse = async (times: number, name: string) => {
      for (let at = 0; at < times; at += 1) {
        expect((await post('/api/v2/silences', {}, bearer(name))).status).toBe(403);
      }
    };
    await refuse(5, 'reader-1');
    await refuse(5, 'reader-2');
    const kept = async () => {
      const { json } = await ask<{ writes: { who: string }[] }>('/api/v1/writes', bearer('reader-1'));
      return json.writes.map(({ who }) => who);
    };
    expect(writes(reported)).toHaveLength(2);
    expect(await kept()).toEqual(['reader-2', 'reader-1']);
    await clock.advance(3_600_000);
    await refuse(5, 'reader-1');
    expect(writes(reported)).toHaveLength(3);
    expect(await kept()).toEqual(['reader-1', 'reader-2', 'reader-1']);
  });

  test('says of a signed link that it was one, with the name that was typed, and nothing more', async () => {
    const links = createAcknowledgeLinks(secret('a key'), WEB_CONFIG.externalUrl);
    const { submit, reported, clock } = await serve({
      links,
      web: { bearerToken: secret('s3cret-token') },
    });
    const link = new URL(links.urlOf({ id: 'a/1', startsAtUs: 1 }, clock.nowUs())).searchParams.get('link')!;
    await submit(`/acknowledge?link=${encodeURIComponent(link)}`, { author: 'Ben' });
    expect(writes(reported)).toMatchObject([
      { who: 'Ben', by: 'link', action: 'POST /acknowledge?link=secret', asked: 'author=Ben' },
    ]);
    expect(JSON.stringify(reported)).not.toContain(link);
    await submit(`/acknowledge?link=${encodeURIComponent(link)}`, { author: 's3cret-token' });
    expect(writes(reported)[1]).toMatchObject({ by: 'link', action: 'POST /acknowledge?link=secret' });
    expect(JSON.stringify(writes(reported))).not.toContain('s3cret-token');
  });
});

describe('TLS', () => {
  test('is served, and a replaced certificate is used at once [long]', async () => {
    const folder = tempFolder();
    const path = (name: string) => join(folder, name);
    makeAuthority(folder, 'authority');
    for (const name of ['first', 'second']) makeCertificate(folder, 'authority', name);
    const use = (name: string, ...ends: string[]) => {
      for (const end of ends) copyFileSync(path(`${name}.${end}`), path(`used.${end}`));
    };
    use('first', 'pem', 'key');
    const read = (name: string) => secretFrom(() => readFileSync(path(name), 'utf8'));
    const { web } = await serve({
      web: { tls: { cert: read('used.pem'), key: read('used.key'), minVersion: 'TLSv1.3' } },
    });
    const { port } = new URL(web.url);
    expect(web.url).toBe(`https://127.0.0.1:${port}`);
    const ca = readFileSync(path('authority.pem'));

    const body = await new Promise<string>((resolve, reject) => {
      const asked = httpsRequest(
        { host: 'localhost', port, path: '/-/healthy', ca, agent: false },
        async (answer) => resolve(Buffer.concat(await answer.toArray()).toString()),
      );
      asked.on('error', reject).end();
    });
    expect(body).toBe('Healthy.\n');

    const shown = () =>
      new Promise<string>((resolve, reject) => {
        const socket = connectTls(
          { host: '127.0.0.1', port: Number(port), servername: 'localhost', ca },
          () => {
            const { CN } = socket.getPeerCertificate().subject;
            socket.end(() => resolve(String(CN)));
          },
        );
        socket.on('error', reject);
      });
    expect(await shown()).toBe('first');
    // Between the two copies, certificate and key do not match.
    use('second', 'pem');
    expect(await shown()).toBe('first');
    use('second', 'key');
    expect(await shown()).toBe('second');
  });
});
