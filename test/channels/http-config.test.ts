/** Each form of `http_config`, from the configuration to a server that requires it. */
import { copyFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Outcome } from '../../src/channels/channel.ts';
import { channelOf, closeChannels, openChannels } from '../../src/channels/registry.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { openAuthorizedTransport } from '../../src/http/authorized-transport.ts';
import { secret } from '../../src/secret.ts';
import { makeAuthority, makeCertificate } from '../http/certificates.ts';
import { type Arrived, openFolder, serveHttp, serveProxy, serveSocks, serveTls } from '../http/servers.ts';
import { createVirtualClock } from '../virtual-clock.ts';
import { delivery, group } from './sample-notifications.ts';

const CANARY = 'cAnArY-41d9';

const folder = openFolder();
const closing: (() => Promise<unknown>)[] = [];
const later = <Opened extends { close(): Promise<unknown> }>(opened: Opened): Opened => {
  closing.push(() => opened.close());
  return opened;
};
const http = async (answer: Parameters<typeof serveHttp>[0]) => later(await serveHttp(answer));
const tls = async (name: string, answer: Parameters<typeof serveTls>[2], authority?: string) =>
  later(await serveTls(folder.path, name, answer, authority));
const OK = () => ({ status: 200 });
const ACCEPTED = { kind: 'accepted' };
const UNREACHABLE = { kind: 'failed', reason: 'unreachable' };
const REDIRECTED = { kind: 'refused', reason: 'redirected' };
const path = (name: string) => join(folder.path, name);
const write = (name: string, text: string) => {
  writeFileSync(path(name), text);
  return path(name);
};

beforeAll(() => {
  makeAuthority(folder.path, 'authority');
  makeAuthority(folder.path, 'stranger');
  makeCertificate(folder.path, 'authority', 'server');
  makeCertificate(folder.path, 'authority', 'elsewhere', 'pager.example.com');
  makeCertificate(folder.path, 'authority', 'nestwatch');
  makeCertificate(folder.path, 'authority', 'rotated');
  makeCertificate(folder.path, 'stranger', 'stranger-client');
  return () => folder.close();
});

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

interface Given {
  /** Lines of a map, in YAML's flow style. */
  readonly own?: string;
  readonly global?: string;
  readonly kind?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** One receiver with one integration that posts to the address, as the daemon would use it. */
function receiver(url: string, { own, global, kind = 'webhook', environment = {} }: Given) {
  const keys: Readonly<Record<string, string>> = {
    webhook: `url: "${url}/hook"`,
    slack: `api_url: "${url}/hook"`,
    msteamsv2: `webhook_url: "${url}/hook"`,
    pagerduty: `url: "${url}/hook", routing_key: abc`,
    alertmanager: `url: "${url}"`,
    discord: `webhook_url: "${url}/hook"`,
    mattermost: `webhook_url: "${url}/hook"`,
    rocketchat: `api_url: "${url}", token: t, token_id: i, channel: "#a"`,
    telegram: `api_url: "${url}", bot_token: "1:a", chat_id: 1`,
    pushover: `api_url: "${url}", token: t, user_key: u`,
    victorops: `api_url: "${url}", api_key: k, routing_key: r`,
  };
  const config = loadConfig({
    file: path('nestwatch.yaml'),
    text: `
regions: { eu: { base_url: https://eu.example.com/api-rest, token: t0 } }
${global === undefined ? '' : `global: { http_config: ${global} }`}
route: { receiver: ops }
receivers:
  - name: ops
    ${kind}_configs: [{ ${keys[kind]}, timeout: 5s${own === undefined ? '' : `, http_config: ${own}`} }]
`,
    environment,
    readFile: (file) => readFileSync(file, 'utf8'),
  });
  const [integration] = config.receivers[0]!.integrations;
  const clock = createVirtualClock();
  const channels = openChannels({ clock, version: '1.2.3', openTransport: openAuthorizedTransport });
  closing.push(() => closeChannels(channels));
  const send = (): Promise<Outcome> =>
    channels[kind]!.send(integration!, delivery(), group(), 'https://watch.example.com');
  return { config, integration: integration!, clock, send };
}

/** Accepts only requests with this header. */
const demands =
  (name: string, value: string, body = 'ok') =>
  ({ headers }: Arrived) =>
    headers[name] === value ? { status: 200, body } : { status: 401, body: `no: ${headers[name]}` };

const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`;

describe('authorization', () => {
  test.each(['webhook', 'slack', 'msteamsv2', 'pagerduty', 'alertmanager'])(
    '%s sends a token',
    async (kind) => {
      const { url, arrived } = await http(demands('authorization', `Bearer ${CANARY}`));
      const own = `{ authorization: { credentials: ${CANARY} } }`;
      expect(await receiver(url, { kind }).send()).toMatchObject({ kind: 'refused' });
      expect(await receiver(url, { kind, own }).send()).toEqual(ACCEPTED);
      expect(await receiver(url, { kind, global: own }).send()).toEqual(ACCEPTED);
      expect(arrived).toHaveLength(3);
    },
  );

  test.each(['discord', 'mattermost', 'rocketchat', 'telegram', 'pushover', 'victorops'])(
    '%s uses a proxy, with its own headers, to a server with its own authority [long]',
    async (kind) => {
      const proxy = later(await serveProxy(`user:${CANARY}`));
      const yes = '{"ok":true,"success":true,"status":1}';
      const { url, arrived } = await tls('server', demands('x-key', CANARY, yes), 'authority');
      const own = (more: string) =>
        `{ tls_config: { ca_file: ${path('authority.pem')}, cert_file: ${path('nestwatch.pem')}, key_file: ${path('nestwatch.key')} }, proxy_url: "${proxy.url.replace('//', `//user:${CANARY}@`)}"${more} }`;
      expect(await receiver(url, { kind }).send()).toMatchObject(UNREACHABLE);
      expect(await receiver(url, { kind, own: own('') }).send()).not.toMatchObject({ kind: 'accepted' });
      const whole = own(`, http_headers: { X-Key: { secrets: [${CANARY}] } }`);
      expect(await receiver(url, { kind, own: whole }).send()).toMatchObject({ kind: 'accepted' });
      expect(new Set(arrived.map(({ client }) => client))).toEqual(new Set(['nestwatch']));
      expect(new Set(proxy.targets)).toEqual(new Set([`CONNECT ${new URL(url).host}`]));
    },
  );

  test('another scheme, from a file that is read again', async () => {
    let expected = 'GenieKey first';
    const { url } = await http((request) => demands('authorization', expected)(request));
    const file = write('token', 'first\n');
    const { send } = receiver(url, {
      own: `{ authorization: { type: GenieKey, credentials_file: ${file} } }`,
    });
    expect(await send()).toEqual(ACCEPTED);
    expected = 'GenieKey second';
    expect(await send()).toMatchObject({ kind: 'refused' });
    write('token', 'second\n');
    expect(await send()).toEqual(ACCEPTED);
  });

  test('basic_auth, with a colon and letters beyond ASCII in the password', async () => {
    const { url } = await http(demands('authorization', basic('näst:p:äss')));
    const file = write('password', 'p:äss');
    const own = `{ basic_auth: { username: näst, password_file: ${file} } }`;
    expect(await receiver(url, { own }).send()).toEqual(ACCEPTED);
  });

  test("an integration's own settings replace those of global, as a whole", async () => {
    const { url, arrived } = await http(OK);
    const global = `{ authorization: { credentials: global }, http_headers: { X-All: { values: [a] } } }`;
    await receiver(url, { global, own: '{ basic_auth: { username: me } }' }).send();
    await receiver(url, { global, own: '{}' }).send();
    expect(arrived.map(({ headers }) => [headers.authorization, headers['x-all']])).toEqual([
      [basic('me:'), undefined],
      [undefined, undefined],
    ]);
  });

  test('headers with values, secrets and files', async () => {
    const { url, arrived } = await http(OK);
    const file = write('header', 'from the file\n');
    const own = `{ http_headers: { X-Tenant: { values: [a, b] }, X-Key: { secrets: [${CANARY}], files: [${file}] } } }`;
    expect(await receiver(url, { own }).send()).toEqual(ACCEPTED);
    expect(arrived[0]!.headers).toMatchObject({ 'x-tenant': 'a, b', 'x-key': `${CANARY}, from the file` });
  });
});

describe('oauth2', () => {
  /** Issues tokens t1, t2, … and accepts only the newest; `style` says where it expects the client's credentials. */
  async function oauth({
    style = 'header',
    lives = 3600,
  }: {
    style?: 'header' | 'body';
    lives?: number;
  } = {}) {
    let given = 0;
    let secret = CANARY;
    const tokens = await http(({ headers, body }) => {
      const form = new URLSearchParams(body);
      const isClient =
        style === 'header'
          ? headers.authorization === basic(`nest%20watch:${secret}`.replace('%20', '+'))
          : form.get('client_id') === 'nest watch' && form.get('client_secret') === secret;
      if (!isClient) return { status: 401, body: `{"error":"invalid_client ${secret}"}` };
      given += 1;
      return {
        status: 200,
        body: JSON.stringify({ access_token: `t${given}`, token_type: 'bearer', expires_in: lives }),
      };
    });
    const service = await http((request) => demands('authorization', `Bearer t${given}`)(request));
    const file = write('client', CANARY);
    const own = `{ oauth2: { client_id: nest watch, client_secret_file: ${file}, token_url: "${tokens.url}/token", scopes: [a, b], endpoint_params: { audience: pager } } }`;
    return {
      tokens,
      service,
      own,
      given: () => given,
      revoke: () => (given += 1),
      change: (text: string) => {
        secret = text;
      },
    };
  }

  test.each(['header', 'body'] as const)('a server that expects the client in its %s', async (style) => {
    const { tokens, service, own } = await oauth({ style });
    const { send } = receiver(service.url, { own });
    expect(await Promise.all([send(), send(), send()])).toEqual(Array(3).fill(ACCEPTED));
    expect(await send()).toEqual(ACCEPTED);
    const form = Object.fromEntries(new URLSearchParams(tokens.arrived.at(-1)!.body));
    expect(form).toMatchObject({ grant_type: 'client_credentials', scope: 'a b', audience: 'pager' });
    // One token exchange for all of them.
    expect(tokens.arrived).toHaveLength(style === 'header' ? 1 : 2);
    expect(tokens.arrived[0]!.body).not.toContain(CANARY);
  });

  test('a token is renewed before it expires, and after it was refused', async () => {
    const { service, own, given, revoke } = await oauth({ lives: 60 });
    const { send, clock } = receiver(service.url, { own });
    await send();
    await clock.advance(49_000);
    await send();
    expect(given()).toBe(1);
    await clock.advance(2_000);
    expect(await send()).toEqual(ACCEPTED);
    expect(given()).toBe(2);
    revoke();
    expect(await send()).toMatchObject({ kind: 'refused', error: expect.stringContaining('401') });
    expect(await send()).toEqual(ACCEPTED);
  });

  test('a new secret is used at once', async () => {
    const { service, own, given, change } = await oauth();
    const { send } = receiver(service.url, { own });
    await send();
    change('another');
    write('client', 'another');
    expect(await send()).toEqual(ACCEPTED);
    expect(given()).toBe(2);
  });

  test('without a token nothing is posted, and it is retried; the reason contains no secret', async () => {
    const { service, own, change } = await oauth();
    change('not ours');
    const outcome = await receiver(service.url, { own }).send();
    expect(outcome).toMatchObject({ kind: 'failed', reason: 'unauthorized' });
    expect(outcome).toMatchObject({ error: expect.stringContaining('invalid_client') });
    const gone = own.replace(/localhost:\d+/, 'localhost:1');
    expect(await receiver(service.url, { own: gone }).send()).toMatchObject({
      kind: 'failed',
      reason: 'unreachable',
      error: 'no access token: no answer from localhost:1: it refused the connection',
    });
    expect(service.arrived).toEqual([]);
  });

  test.each([
    ['no JSON', 200, '<html>'],
    ['no token', 200, '{}'],
    ['a token of another type', 200, '{"access_token":"x","token_type":"mac"}'],
    ['a token that is no header', 200, '{"access_token":"a\\nb","token_type":"bearer"}'],
    ['a failure', 503, '{"access_token":"x"}'],
    ['a list', 200, '[]'],
  ])('an answer with %s is not a token', async (_name, status, body) => {
    const tokens = await http(() => ({ status, body }));
    const service = await http(OK);
    const own = `{ oauth2: { client_id: a, client_secret: b, token_url: "${tokens.url}" } }`;
    expect(await receiver(service.url, { own }).send()).toMatchObject({
      kind: 'failed',
      reason: 'unauthorized',
    });
    expect(service.arrived).toEqual([]);
  });
});

describe('tls_config', () => {
  test('its own authority is trusted, and no other', async () => {
    const { url } = await tls('server', OK);
    const with_ = (name: string) =>
      receiver(url, { own: `{ tls_config: { ca_file: ${path(name)} } }` }).send();
    expect(await with_('authority.pem')).toEqual(ACCEPTED);
    expect(await with_('stranger.pem')).toMatchObject(UNREACHABLE);
    expect(await receiver(url, {}).send()).toMatchObject(UNREACHABLE);
    const own = '{ tls_config: { insecure_skip_verify: true } }';
    expect(await receiver(url, { own }).send()).toEqual(ACCEPTED);
  });

  test('the name of the certificate', async () => {
    const { url } = await tls('elsewhere', OK);
    const own = (more: string) => ({ own: `{ tls_config: { ca_file: ${path('authority.pem')}${more} } }` });
    expect(await receiver(url, own('')).send()).toMatchObject({
      kind: 'failed',
      error: expect.stringContaining('its certificate is for another name'),
    });
    expect(await receiver(url, own(', server_name: pager.example.com')).send()).toEqual(ACCEPTED);
  });

  test('a client certificate, which is read again when it changes', async () => {
    const { url, arrived } = await tls('server', OK, 'authority');
    const ca = `ca_file: ${path('authority.pem')}`;
    const pair = (name: string) => `, cert_file: ${path(`${name}.pem`)}, key_file: ${path(`${name}.key`)}`;
    const own = (more: string) => ({ own: `{ tls_config: { ${ca}${more} } }` });
    for (const more of ['', pair('stranger-client')])
      expect(await receiver(url, own(more)).send()).not.toMatchObject(ACCEPTED);
    expect(arrived).toEqual([]);

    for (const end of ['pem', 'key']) copyFileSync(path(`nestwatch.${end}`), path(`mine.${end}`));
    const { send } = receiver(url, own(pair('mine')));
    expect(await send()).toEqual(ACCEPTED);
    for (const end of ['pem', 'key']) copyFileSync(path(`rotated.${end}`), path(`mine.${end}`));
    expect(await send()).toEqual(ACCEPTED);
    expect(arrived.map(({ client }) => client)).toEqual(['nestwatch', 'rotated']);

    // While a file is being replaced it may contain anything: the last valid text is used.
    write('mine.pem', 'half a certif');
    expect(await send()).toEqual(ACCEPTED);
    renameSync(path('mine.pem'), path('gone.pem'));
    copyFileSync(path('rotated.pem'), path('mine.pem'));
    expect(await send()).toEqual(ACCEPTED);
  });

  test('versions of TLS', async () => {
    const { url } = await tls('server', OK);
    const own = (more: string) => ({ own: `{ tls_config: { ca_file: ${path('authority.pem')}, ${more} } }` });
    expect(await receiver(url, own('min_version: TLS13')).send()).toEqual(ACCEPTED);
    const old = own('max_version: TLS11, min_version: TLS10');
    expect(await receiver(url, old).send()).toMatchObject(UNREACHABLE);
  });

  test('check-config --online tests the address with the same certificates', async () => {
    const { url } = await tls('server', OK);
    const probe = (own?: string) => {
      const { integration } = receiver(url, own === undefined ? {} : { own });
      return channelOf(integration).probe(integration);
    };
    await expect(probe().run()).rejects.toThrow();
    const trusting = probe(`{ tls_config: { ca_file: ${path('authority.pem')} } }`);
    await trusting.run();
    expect(trusting.key).not.toBe(probe().key);
  });
});

describe('a proxy for SOCKS 5', () => {
  test('carries requests, plain and over TLS, and looks names up itself', async () => {
    const proxy = later(await serveSocks());
    const plain = await http(OK);
    const secure = await tls('server', OK);
    const trust = `tls_config: { ca_file: ${path('authority.pem')} }`;
    const far = `http://pager.invalid:${plain.port}`;
    expect(await receiver(far, { own: `{ proxy_url: "${proxy.url}" }` }).send()).toEqual(ACCEPTED);
    const own = `{ proxy_url: "${proxy.url.replace('socks5', 'socks5h')}", ${trust} }`;
    expect(await receiver(secure.url, { own }).send()).toMatchObject({ kind: 'accepted' });
    expect(proxy.targets).toEqual([`pager.invalid:${plain.port}`, `localhost:${secure.port}`]);
  });

  test('that requires a user and password', async () => {
    const proxy = later(await serveSocks(`user:${CANARY}`));
    const { url, arrived } = await http(OK);
    const asking = (credentials: string) =>
      receiver(url, { own: `{ proxy_url: "${proxy.url.replace('//', `//${credentials}`)}" }` }).send();
    expect(await asking(`user:${CANARY}@`)).toEqual(ACCEPTED);
    for (const wrong of ['', `user:x${CANARY}@`]) {
      const outcome = await asking(wrong);
      expect(outcome).toMatchObject(UNREACHABLE);
      expect(JSON.stringify(outcome)).not.toContain(CANARY);
    }
    expect(arrived).toHaveLength(1);
  });

  test('that does not exist: nothing was sent', async () => {
    const { url } = await http(OK);
    const outcome = await receiver(url, { own: '{ proxy_url: "socks5://localhost:1" }' }).send();
    expect(outcome).toMatchObject(UNREACHABLE);
  });

  test('does not make an answer larger than allowed', async () => {
    const proxy = later(await serveSocks());
    const { url } = await http(() => ({ status: 200, body: 'x'.repeat(2_000_000) }));
    const transport = later(
      openAuthorizedTransport({
        connections: 1,
        timeoutMs: 5_000,
        maxBodyBytes: 1_000_000,
        http: { proxy: { http: secret(proxy.url) }, headers: [], followRedirects: false },
        nowUs: () => 0,
      }),
    );
    const asked = { method: 'GET', url, headers: {} } as const;
    await expect(transport.send(asked)).rejects.toMatchObject({ code: 'too_large' });
  });
});

describe('a proxy', () => {
  test('passes on plain HTTP, and tunnels TLS [long]', async () => {
    const proxy = later(await serveProxy());
    const plain = await http(demands('authorization', 'Bearer x'));
    const secure = await tls('server', demands('authorization', 'Bearer x'), 'authority');
    const pair = `cert_file: ${path('nestwatch.pem')}, key_file: ${path('nestwatch.key')}`;
    const own = `{ proxy_url: "${proxy.url}", authorization: { credentials: x }, tls_config: { ca_file: ${path('authority.pem')}, ${pair} } }`;
    expect(await receiver(plain.url, { own }).send()).toEqual(ACCEPTED);
    expect(await receiver(secure.url, { own }).send()).toEqual(ACCEPTED);
    expect(proxy.targets).toEqual([`POST ${plain.url}/hook`, `CONNECT localhost:${secure.port}`]);
    expect(secure.arrived[0]!.client).toBe('nestwatch');
  });

  test('that requires a user and password', async () => {
    const proxy = later(await serveProxy(`user:${CANARY}`));
    const plain = await http(OK);
    const secure = await tls('server', OK);
    const trust = `tls_config: { ca_file: ${path('authority.pem')} }`;
    const own = (credentials: string) => ({
      own: `{ proxy_url: "${proxy.url.replace('//', `//${credentials}`)}", ${trust} }`,
    });
    for (const { url } of [plain, secure]) {
      expect(await receiver(url, own(`user:${CANARY}@`)).send()).toEqual(ACCEPTED);
      expect(await receiver(url, own('user:wrong@')).send()).toMatchObject({
        kind: 'failed',
        reason: 'unreachable',
        error: expect.stringMatching(/^the proxy answered 407 when it was asked for localhost:\d+$/),
      });
    }
    for (const { arrived } of [plain, secure]) {
      expect(arrived).toHaveLength(1);
      expect(arrived[0]!.headers).not.toHaveProperty('proxy-authorization');
    }
  });

  test('that does not exist', async () => {
    const { url } = await http(OK);
    const outcome = await receiver(url, { own: '{ proxy_url: "http://localhost:1" }' }).send();
    expect(outcome).toMatchObject(UNREACHABLE);
  });

  test('from the environment, but not for this machine', async () => {
    const proxy = later(await serveProxy());
    const { url } = await http(OK);
    const own = '{ proxy_from_environment: true }';
    const environment = { http_proxy: `localhost:${proxy.port}`, NO_PROXY: 'x.example.com' };
    expect(await receiver(url, { own, environment }).send()).toEqual(ACCEPTED);
    expect(proxy.targets).toEqual([]);
    await receiver('http://pager.invalid', { own, environment }).send();
    await receiver('http://x.example.com.invalid', {
      own,
      environment: { ...environment, NO_PROXY: '*' },
    }).send();
    expect(proxy.targets).toEqual(['POST http://pager.invalid/hook']);
  });
});

describe('redirects', () => {
  const own = `{ follow_redirects: true, authorization: { credentials: ${CANARY} }, http_headers: { X-Key: { secrets: [${CANARY}] } } }`;
  const to = (status: number, location: string) => () => ({ status, headers: { location } });

  test('are failures unless they are allowed', async () => {
    const end = await http(OK);
    const start = await http(to(307, `${end.url}/there`));
    expect(await receiver(start.url, {}).send()).toMatchObject(REDIRECTED);
    expect(end.arrived).toEqual([]);
  });

  test('keep the message, and drop the credentials', async () => {
    const end = await http(OK);
    const start = await http(to(308, `${end.url}/there`));
    expect(await receiver(start.url, { own }).send()).toEqual(ACCEPTED);
    expect(start.arrived[0]!.headers).toMatchObject({ authorization: `Bearer ${CANARY}`, 'x-key': CANARY });
    expect(end.arrived).toMatchObject([{ method: 'POST', url: '/there', body: start.arrived[0]!.body }]);
    expect(JSON.stringify(end.arrived)).not.toContain(CANARY);
  });

  test('within an origin keep the credentials', async () => {
    const server = await http(({ url }) => (url === '/hook' ? to(307, '/there')() : { status: 200 }));
    expect(await receiver(server.url, { own }).send()).toEqual(ACCEPTED);
    expect(server.arrived[1]!.headers.authorization).toBe(`Bearer ${CANARY}`);
  });

  test('without a host stay on the same server', async () => {
    const end = await http(({ url }) => (url === '/v2/there' ? to(307, 'here')() : { status: 200 }));
    const start = await http(to(307, `${end.url}/v2/there`));
    expect(await receiver(start.url, { own }).send()).toEqual(ACCEPTED);
    expect(end.arrived.map(({ url }) => url)).toEqual(['/v2/there', '/v2/here']);
    expect(start.arrived).toHaveLength(1);
    expect(JSON.stringify(end.arrived)).not.toContain(CANARY);
  });

  test.each([301, 302, 303])('%i would lose the message', async (status) => {
    const end = await http(OK);
    const start = await http(to(status, end.url));
    expect(await receiver(start.url, { own }).send()).toMatchObject(REDIRECTED);
    expect(end.arrived).toEqual([]);
  });

  test('without end are given up', async () => {
    const server = await http(to(307, '/again'));
    expect(await receiver(server.url, { own }).send()).toMatchObject(REDIRECTED);
    expect(server.arrived).toHaveLength(11);
  });

  test('from TLS to plain HTTP are not followed', async () => {
    const end = await http(OK);
    const start = await tls('server', to(307, end.url));
    const trusting = own.replace('{ ', `{ tls_config: { ca_file: ${path('authority.pem')} }, `);
    expect(await receiver(start.url, { own: trusting }).send()).toMatchObject({ kind: 'refused' });
    expect(end.arrived).toEqual([]);
  });
});

describe('secrets', () => {
  test.each([
    ['authorization', `{ authorization: { credentials: ${CANARY} } }`],
    ['basic_auth', `{ basic_auth: { username: u, password: ${CANARY} } }`],
    ['a header', `{ http_headers: { X-Key: { secrets: [${CANARY}] } } }`],
  ])('of %s are not repeated from the answer, nor printed', async (_name, own) => {
    const { url } = await http(({ headers }) => ({
      status: 400,
      body: `bad: ${JSON.stringify(headers)} ${CANARY}`,
    }));
    const { send, config } = receiver(url, { own });
    const outcome = JSON.stringify(await send());
    expect(outcome).toContain('HTTP 400: bad');
    expect(outcome).toContain('[secret]');
    const printed = outcome + JSON.stringify(config) + inspect(config, { depth: 20 });
    expect(printed).not.toContain(CANARY);
    expect(printed).not.toContain(Buffer.from(`u:${CANARY}`).toString('base64'));
  });

  test('nor of an access token', async () => {
    const tokens = await http(() => ({ status: 200, body: `{"access_token":"${CANARY}","expires_in":99}` }));
    const service = await http(({ headers }) => ({ status: 400, body: `bad: ${headers.authorization}` }));
    const own = `{ oauth2: { client_id: a, client_secret: b123, token_url: "${tokens.url}" } }`;
    const outcome = JSON.stringify(await receiver(service.url, { own }).send());
    expect(outcome).toContain('bad: Bearer [secret]');
  });
});
