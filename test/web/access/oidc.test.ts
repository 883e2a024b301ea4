/** People log in at an identity provider: a real one, and one that answers what it should not. */

import { createSign, generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import Provider from 'oidc-provider';
import { describe, expect, test } from 'vitest';
import type { OidcConfig } from '../../../src/config/sections/access-section.ts';
import { secret } from '../../../src/secret.ts';
import { freePort, listenInTest } from '../../http/servers.ts';
import { read } from '../pages/read.ts';
import { serve } from '../served.ts';

const MINUTE_MS = 60_000;

async function watched(
  issuer: string,
  port: number,
  changes: Partial<OidcConfig> = {},
  externalUrl = `http://127.0.0.1:${port}`,
) {
  const oidc: OidcConfig = {
    ...{ issuer, clientId: 'nestwatch', clientSecret: secret('s3cret') },
    ...{ scopes: new Set(), asked: 'openid profile email groups', groupsClaim: 'groups' },
    groups: new Map([
      ['ops', new Set(['read', 'write'] as const)],
      ['viewers', new Set(['read'] as const)],
    ]),
    sessionMs: 480 * MINUTE_MS,
    ...changes,
  };
  const access = { tokens: [], users: new Map(), oidc };
  return { ...(await serve({ web: { port, externalUrl, access } })), externalUrl };
}

/** A browser: it keeps the cookies of each host, and follows redirections. */
function browser() {
  const jars = new Map<string, Map<string, string>>();
  const set: string[] = [];
  return {
    set,
    jars,
    async open(
      address: string,
      init: RequestInit = {},
    ): Promise<{ url: string; status: number; body: string }> {
      let url = new URL(address);
      for (let hops = 0; hops < 12; hops += 1) {
        const jar = jars.getOrInsertComputed(url.host, () => new Map<string, string>());
        const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
        const headers = { accept: 'text/html', ...(cookie && { cookie }), ...init.headers };
        const answer = await fetch(url, { ...(hops === 0 && init), redirect: 'manual', headers });
        for (const line of answer.headers.getSetCookie()) {
          set.push(line);
          const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
          if (value === '') jar.delete(name);
          else jar.set(name, value);
        }
        const to = answer.headers.get('location');
        if (to === null) return { url: url.href, status: answer.status, body: await answer.text() };
        url = new URL(to, url);
      }
      throw new Error('too many redirections');
    },
  };
}

/** A provider in which somebody is always logged in. */
async function realProvider(port: number, groups: Readonly<Record<string, readonly string[]>>, who: string) {
  let provider: Provider | undefined;
  const server = createServer(async (request, response) => {
    if (!request.url?.startsWith('/interaction/')) return provider!.callback()(request, response);
    await provider!.interactionDetails(request, response);
    await provider!.interactionFinished(request, response, { login: { accountId: who } });
  });
  const { url } = await listenInTest(server);
  provider = new Provider(url, {
    clients: [
      {
        ...{ client_id: 'nestwatch', client_secret: 's3cret' },
        redirect_uris: [`http://127.0.0.1:${port}/login/callback`],
      },
    ],
    claims: { openid: ['sub'], email: ['email'], profile: ['name'], groups: ['groups'] },
    scopes: ['openid', 'profile', 'email', 'groups'],
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    cookies: { keys: ['a key'] },
    findAccount: (_, id) => ({
      accountId: id,
      claims: async () => ({ sub: id, email: `${id}@example.com`, groups: [...(groups[id] ?? [])] }),
    }),
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({ clientId: 'nestwatch', accountId: oidc.session!.accountId! });
      grant.addOIDCScope('openid profile email groups');
      await grant.save();
      return grant;
    },
  });
  return url;
}

const GROUPS = { anna: ['ops'], ben: ['viewers'], cleo: ['others'] };

describe('with a real provider', () => {
  async function opened(who: string, path = '/alerts?name=FlightFailed') {
    const port = await freePort();
    const daemon = await watched(await realProvider(port, GROUPS, who), port);
    const person = browser();
    return { ...daemon, person, answer: await person.open(daemon.externalUrl + path) };
  }
  const silence = (origin: string): RequestInit => ({
    method: 'POST',
    headers: { origin, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({
      matchers: 'nest="A"',
      duration: '1h',
      author: 'somebody else',
      comment: 'c',
    }).toString(),
  });

  test('somebody logs in, comes back to the page, and is known by name in what they change [long]', async () => {
    const { answer, person, externalUrl, ask } = await opened('anna');
    expect(answer).toMatchObject({ status: 200, url: `${externalUrl}/alerts?name=FlightFailed` });
    expect(read(answer.body)).toContain('anna@example.com Log out');
    const session = person.set.findLast((line) => line.startsWith('nestwatch_session='));
    expect(session).toMatch(/; Max-Age=28800; Path=\/; HttpOnly; SameSite=Lax$/);
    expect((await person.open(`${externalUrl}/silence`, silence('https://evil.example'))).status).toBe(403);
    expect((await person.open(`${externalUrl}/silence`, silence(externalUrl))).status).toBe(200);
    const cookie = person.set.findLast((line) => line.startsWith('nestwatch_session='))!.split(';')[0]!;
    const { json } = await ask('/api/v1/writes', { cookie });
    expect(json).toMatchObject({ writes: [{ who: 'anna@example.com', by: 'oidc', status: 303 }] });
  });

  test('groups decide: to read only, or nothing at all [long]', async () => {
    const { person, externalUrl, answer } = await opened('ben');
    expect(answer.status).toBe(200);
    const refused = await person.open(`${externalUrl}/silence`, silence(externalUrl));
    expect(refused).toMatchObject({ status: 403, body: expect.stringContaining('the scope write') });
    const { answer: nothing, person: cleo } = await opened('cleo');
    expect(nothing).toMatchObject({
      status: 403,
      body: 'cleo@example.com is in no group that may do anything here.\n',
    });
    expect(cleo.set.some((line) => line.startsWith('nestwatch_session='))).toBe(false);
  });

  test.each([
    ['may only read now', { groups: new Map([['ops', new Set(['read'] as const)]]) }, 200, 403],
    ['has no rights any more', { groups: new Map([['viewers', new Set(['read'] as const)]]) }, 401, 401],
  ])('a session whose group %s follows the configuration [long]', async (_, changes, reads, writes) => {
    const { person } = await opened('anna');
    const cookie = person.set.findLast((line) => line.startsWith('nestwatch_session='))!.split(';')[0]!;
    const { externalUrl } = await watched('http://127.0.0.1:9', await freePort(), changes);
    const ask = (path: string, { headers, ...init }: RequestInit) =>
      fetch(externalUrl + path, { ...init, redirect: 'manual', headers: { ...headers, cookie } });
    expect((await ask('/api/v1/alerts', {})).status).toBe(reads);
    expect((await ask('/silence', silence(externalUrl))).status).toBe(writes);
  });

  test('whoever logs out must log in again, also with the old cookie; another site cannot do it for them [long]', async () => {
    const { person, externalUrl, ask } = await opened('anna');
    const cookie = person.set.findLast((line) => line.startsWith('nestwatch_session='))!.split(';')[0]!;
    const logOut = (origin: string) =>
      person.open(`${externalUrl}/logout`, { method: 'POST', headers: { origin } });
    expect((await logOut('https://evil.example')).status).toBe(403);
    expect((await ask('/alerts', { cookie })).status).toBe(200);
    expect((await logOut(externalUrl)).body).toContain('You are logged out.');
    expect((await ask('/alerts', { cookie })).status).toBe(401);
  });

  test('a session ends by itself, and programs are asked for a token as before [long]', async () => {
    const { person, ask, clock } = await opened('anna');
    const cookie = person.set.findLast((line) => line.startsWith('nestwatch_session='))!.split(';')[0]!;
    await clock.advance(479 * MINUTE_MS);
    expect((await ask('/alerts', { cookie })).status).toBe(200);
    await clock.advance(2 * MINUTE_MS);
    expect((await ask('/alerts', { cookie })).status).toBe(401);
    expect((await ask('/api/v1/alerts', { accept: 'text/html' })).status).toBe(401);
  });

  test.each(['//evil.example/', '/\\evil.example', 'https://evil.example/', '/a b'])(
    'a link to log in leads to no other site: %s [long]',
    async (to) => {
      const { person, externalUrl, answer } = await opened('anna', `/login?${new URLSearchParams({ to })}`);
      expect(answer).toMatchObject({ status: 200, url: `${externalUrl}/` });
      expect(person.jars.size).toBe(2);
    },
  );

  test('a session that was put into a browser beforehand does not become that of who logs in there [long]', async () => {
    const { externalUrl, ask } = await opened('anna');
    const session = (person: ReturnType<typeof browser>) =>
      person.jars.get(new URL(externalUrl).host)!.get('nestwatch_session')!;
    const attacker = browser();
    await attacker.open(externalUrl);
    const put = session(attacker);
    const victim = browser();
    victim.jars.set(new URL(externalUrl).host, new Map([['nestwatch_session', put]]));
    await victim.open(`${externalUrl}/login?to=/`);
    expect(session(victim)).not.toBe(put);
    await victim.open(`${externalUrl}/logout`, { method: 'POST', headers: { origin: externalUrl } });
    expect((await ask('/', { cookie: `nestwatch_session=${put}` })).status).toBe(200);
  });

  test('nobody can log in a browser in which no login was begun, or with a cookie of their own making', async () => {
    const { externalUrl, ask } = await opened('anna');
    const stranger = browser();
    const begun = await stranger.open(`${externalUrl}/login/callback?code=stolen&state=known`);
    expect(begun).toMatchObject({ status: 400, body: expect.stringContaining('not begun in this browser') });
    const content = { name: 'eve', groups: ['ops'], id: 'x', untilUs: Number.MAX_SAFE_INTEGER };
    const forged = Buffer.from(JSON.stringify(content)).toString('base64url');
    for (const signature of ['', Buffer.alloc(16).toString('base64url')]) {
      expect((await ask('/', { cookie: `nestwatch_session=${forged}.${signature}` })).status).toBe(401);
    }
  });
});

type Claims = Record<string, unknown>;

/** A provider that signs whatever claims a test asks for. */
async function ownProvider() {
  let key = { id: 'first', ...generateKeyPairSync('rsa', { modulusLength: 2048 }) };
  const state = { change: (claims: Claims) => claims, isAway: false, signs: key.privateKey, discoveries: 0 };
  let nonce = '';
  const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://x');
    const json = (body: object) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (state.isAway && pathname !== '/auth') return void response.destroy();
    if (pathname === '/.well-known/openid-configuration') {
      state.discoveries += 1;
      const paths = {
        authorization_endpoint: `${url}/auth`,
        token_endpoint: `${url}/token`,
        jwks_uri: `${url}/jwks`,
      };
      return json({ issuer: url, ...paths, id_token_signing_alg_values_supported: ['RS256'] });
    }
    if (pathname === '/jwks') {
      const jwk = key.publicKey.export({ format: 'jwk' });
      return json({ keys: [{ ...jwk, kid: key.id, use: 'sig', alg: 'RS256' }] });
    }
    if (pathname === '/auth') {
      nonce = searchParams.get('nonce')!;
      const back = new URLSearchParams({ code: 'c', state: searchParams.get('state')! });
      return response.writeHead(303, { location: `${searchParams.get('redirect_uri')}?${back}` }).end();
    }
    const nowS = Math.floor(Date.now() / 1000);
    const times = { iat: nowS, exp: nowS + 60 };
    const claims = state.change({ iss: url, sub: 'anna', aud: 'nestwatch', nonce, groups: 'ops', ...times });
    const body = `${encoded({ alg: 'RS256', kid: key.id })}.${encoded(claims)}`;
    const signature = createSign('RSA-SHA256').update(body).sign(state.signs).toString('base64url');
    return json({ access_token: 'a', token_type: 'Bearer', id_token: `${body}.${signature}` });
  });
  const { url } = await listenInTest(server);
  const rotate = () => {
    key = { id: 'second', ...generateKeyPairSync('rsa', { modulusLength: 2048 }) };
    state.signs = key.privateKey;
  };
  return { url, state, rotate };
}

describe('with a provider that answers wrongly', () => {
  async function opened(changes: Partial<OidcConfig> = {}) {
    const provider = await ownProvider();
    const port = await freePort();
    const daemon = await watched(provider.url, port, changes);
    const logIn = async () => {
      const person = browser();
      const { status, body } = await person.open(daemon.externalUrl);
      return { status, body, hasSession: person.set.some((line) => line.startsWith('nestwatch_session=')) };
    };
    return { ...provider, ...daemon, logIn };
  }

  const nowS = () => Math.floor(Date.now() / 1000);
  test.each<[string, (claims: Claims) => Claims]>([
    ['for another program', (claims) => ({ ...claims, aud: 'another' })],
    ['that expired', (claims) => ({ ...claims, iat: nowS() - 900, exp: nowS() - 600 })],
    ['of another login', (claims) => ({ ...claims, nonce: 'another' })],
    ['of another issuer', (claims) => ({ ...claims, iss: 'https://evil.example' })],
  ])('a statement %s logs nobody in', async (_, change) => {
    const { logIn, state, reported } = await opened();
    state.change = change;
    expect(await logIn()).toMatchObject({ status: 403, hasSession: false });
    expect(reported).toContainEqual(expect.objectContaining({ what: 'trouble', stage: 'web' }));
    state.change = (claims) => claims;
    expect(await logIn()).toMatchObject({ status: 200, hasSession: true });
  });

  test('nor does one that another key signed; a new key of the provider is found [long]', async () => {
    const { logIn, state, rotate, clock } = await opened();
    const right = state.signs;
    state.signs = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
    expect(await logIn()).toMatchObject({ status: 403, hasSession: false });
    state.signs = right;
    expect(await logIn()).toMatchObject({ status: 200 });
    rotate();
    await clock.advance(11 * MINUTE_MS);
    expect(await logIn()).toMatchObject({ status: 200, hasSession: true });
  });

  test('it is asked what it is no more than once a minute, however many logins strangers begin', async () => {
    const { ask, state, clock } = await opened();
    for (let login = 0; login < 20; login += 1) expect((await ask('/login')).status).toBe(303);
    expect(state.discoveries).toBe(1);
    await clock.advance(MINUTE_MS);
    await ask('/login');
    expect(state.discoveries).toBe(2);
  });

  test('while it is away nobody logs in, and who is logged in stays so [long]', async () => {
    const { logIn, state, externalUrl } = await opened();
    const person = browser();
    expect((await person.open(externalUrl)).status).toBe(200);
    state.isAway = true;
    expect(await logIn()).toMatchObject({ status: 503, hasSession: false });
    expect((await person.open(externalUrl)).status).toBe(200);
    state.isAway = false;
    expect(await logIn()).toMatchObject({ status: 200 });
  });

  test('cookies of a page with HTTPS are sent by HTTPS only [long]', async () => {
    const { url } = await ownProvider();
    const { ask } = await watched(url, await freePort(), {}, 'https://watch.example.com');
    const { status, headers } = await ask('/login');
    expect([status, headers['set-cookie']]).toEqual([
      303,
      [expect.stringMatching(/^nestwatch_login=\S+; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Lax$/)],
    ]);
  });

  test('without groups everybody who logs in may do what `scopes` says [long]', async () => {
    const { logIn } = await opened({ groups: new Map(), scopes: new Set(['read']) });
    expect(await logIn()).toMatchObject({ status: 200, hasSession: true });
  });
});
