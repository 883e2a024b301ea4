/**
 * Each secret key of the configuration has a canary. Everything that is asked or notified repeats what it was sent, as
 * it came, decoded and in base64. No output may contain a canary in any form.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { unescape as unescaped } from 'node:querystring';
import { expect, onTestFinished, test } from 'vitest';
import { configJsonSchema } from '../../src/config/effective.ts';
import { systemClock } from '../../src/time/clock.ts';
import { makeAuthority, makeCertificate } from '../http/certificates.ts';
import { listenInTest, tempFolder } from '../http/servers.ts';
import { MAIN } from '../program.ts';
import { nestwatch } from './test-io.ts';

const CANARY = 'cAnArY';
const SEEN_BEFORE = 'told-by-the-other-side';
/** The number of integrations of the one receiver in the first configuration below. */
const INTEGRATIONS = 24;

/** Parts of a canary's base64 that are the same whatever stands around it. */
const IN_BASE64 = [0, 1, 2].map((before) =>
  Buffer.from(`${'.'.repeat(before)}${CANARY}`)
    .toString('base64')
    .slice(before === 0 ? 0 : before + 1)
    .replace(/.?=+$/, ''),
);

/** The keys with a canary, in order. */
const keys: string[] = [];

/** A secret for this key of the configuration, in quotes for YAML; with `end`, it has characters that are escaped. */
function canary(key: string, end = ''): string {
  return JSON.stringify(bare(key) + end);
}

function bare(key: string): string {
  if (!keys.includes(key)) keys.push(key);
  return `${CANARY}-${keys.indexOf(key)}.`;
}

/** Ends a secret with characters that are written otherwise in JSON, HTML, addresses and forms. */
const ODD = `"<&'/+ é`;

/** The canaries that have arrived somewhere, by their key. */
const told = new Set<string>();

/** Everything that another program may say about what it was sent. */
function repeated(sent: string): string {
  const encoded = sent.match(/[A-Za-z0-9+/_-]{12,}=*/g) ?? [];
  const plain = [sent, ...encoded.map((one) => Buffer.from(one, 'base64').toString())]
    .flatMap(decoded)
    .join(' ');
  const text = `${plain} ${Buffer.from(plain).toString('base64')}`.replace(/[^ -\uffff]/g, ' ');
  for (const [, index] of text.matchAll(new RegExp(`${CANARY}-(\\d+)`, 'g'))) told.add(keys[Number(index)]!);
  return `${SEEN_BEFORE} ${text}`;
}

/** The text as it is, and decoded if it was written for an address or a form. */
function decoded(text: string): string[] {
  if (!/%[0-9a-f]{2}/i.test(text)) return [text];
  const form = text.replaceAll('+', ' ');
  return [text, form.replace(/(?:%[0-9a-f]{2})+/gi, (bytes) => unescaped(bytes))];
}

interface DeliveryList {
  readonly deliveries: readonly { readonly last_error: string }[];
}

type Answer = (sent: string, request: IncomingMessage, response: ServerResponse) => void;

async function listen(answer: Answer): Promise<string> {
  const server = createServer(async (request, response) => {
    const { url, headers } = request;
    const body = Buffer.concat(await request.toArray()).toString();
    answer(repeated(`${url} ${JSON.stringify(headers)} ${body}`), request, response);
  });
  // A proxy for https.
  server.on('connect', ({ headers }, socket) => {
    const words = repeated(JSON.stringify(headers));
    socket.end(`HTTP/1.1 407 No\r\nproxy-authenticate: ${encodeURIComponent(words)}\r\n\r\n${words}`);
  });
  return (await listenInTest(server)).url;
}

/** Repeats what each connection says, in the words of `answer`; undefined for nothing. */
async function listenToLines(
  greeting: string,
  answer: (line: string) => string | Buffer | undefined,
): Promise<number> {
  const server = createTcpServer((socket) => {
    socket.on('error', () => {});
    socket.write(greeting);
    socket.on('data', (bytes) => {
      const said = answer(bytes.toString());
      if (said !== undefined) socket.write(said);
    });
  });
  return (await listenInTest(server)).port;
}

/** A mail server that refuses every login. */
function mailServer(methods: string): Promise<number> {
  return listenToLines('220 mail.example.com\r\n', (line) => {
    if (/^EHLO/i.test(line)) return `250-mail.example.com\r\n250 AUTH ${methods}\r\n`;
    if (/^AUTH LOGIN/i.test(line)) return '334 VXNlcm5hbWU6\r\n';
    if (line.trim() === Buffer.from('user').toString('base64')) return '334 UGFzc3dvcmQ6\r\n';
    if (/^QUIT/i.test(line)) return '221 bye\r\n';
    return `535 5.7.8 ${repeated(line)}\r\n`;
  });
}

/** A PostgreSQL server that asks for the password and refuses it. */
function databaseServer(): Promise<number> {
  const message = (type: string, content: Buffer) => {
    const head = Buffer.alloc(5);
    head.write(type);
    head.writeInt32BE(content.length + 4, 1);
    return Buffer.concat([head, content]);
  };
  return listenToLines('', (said) => {
    if (!said.startsWith('p')) return message('R', Buffer.from([0, 0, 0, 3]));
    const words = repeated(said.slice(5));
    return message('E', Buffer.from(`SFATAL\0C08004\0M${words}\0\0`));
  });
}

/** A service that repeats what it was sent in every text it returns, including error messages. */
const service: Answer = (sent, { url = '' }, response) => {
  const path = url.split('?')[0]!;
  const entry = { id: 'n1', createdAt: new Date().toISOString(), message: sent, entityName: sent };
  if (path.endsWith('/nests')) response.end(JSON.stringify([{ id: '1', name: sent }]));
  else if (path.endsWith('/birds')) response.end(JSON.stringify([{ id: '2', name: sent, status: 'active' }]));
  else if (path.endsWith('/notifications')) {
    response.end(JSON.stringify({ items: [{ ...entry, eventType: `Odd-${sent}` }], totalCount: 1 }));
  } else {
    response.statusCode = 400;
    response.end(JSON.stringify({ title: sent, detail: sent }));
  }
};

const refusal: Answer = (sent, { url }, response) => {
  response.statusCode = url === '/token' ? 401 : 400;
  response.end(url?.startsWith('/token') ? JSON.stringify({ error: sent, error_description: sent }) : sent);
};

/** Every page that can be reached by links, by its path; of lists only one order. */
async function crawl(page: string, headers: Record<string, string>): Promise<ReadonlyMap<string, string>> {
  const seen = new Map<string, string>();
  const waiting = ['/'];
  for (let path = waiting.pop(); path !== undefined && seen.size < 150; path = waiting.pop()) {
    if (seen.has(path)) continue;
    const body = await (await fetch(`${page}${path}`, { headers })).text();
    seen.set(path, body);
    for (const [, href = ''] of body.matchAll(/href="([^"#]+)/g)) {
      const url = new URL(href.replaceAll('&amp;', '&'), `${page}${path}`);
      if (url.origin === new URL(page).origin && !url.search) waiting.push(url.pathname);
    }
  }
  return seen;
}

/** What a command prints to stdout and stderr, however it ends. */
async function outputOf(config: string, args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await nestwatch(args, {
    environment: { NESTWATCH_CONFIG: config },
    clock: systemClock(),
  });
  const text = stdout + stderr;
  expect(text, args.join(' ')).not.toBe('');
  return text;
}

interface Schema {
  readonly writeOnly?: boolean;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly definitions?: Readonly<Record<string, Schema>>;
}

/** Every secret key of the schema, such as `store.password`; within a definition, without what refers to it. */
function secretKeys(schema: unknown, path: readonly string[] = []): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { writeOnly, properties, definitions, ...others } = schema as Schema;
  return [
    ...(writeOnly ? [path.join('.')] : []),
    ...Object.entries(properties ?? {}).flatMap(([key, one]) => secretKeys(one, [...path, key])),
    ...Object.entries(definitions ?? {}).flatMap(([name, one]) => secretKeys(one, [name])),
    ...Object.values(others).flatMap((one) => secretKeys(one, path)),
  ];
}

/** Keys of texts in PEM, of which the second line is looked for. */
const IN_PEM = ['tls_config.ca', 'tls_config.cert', 'tls_config.key', 'web.tls.cert', 'web.tls.key'];
IN_PEM.push('receivers.email_configs.dkim.private_key');

/** Secrets that only sign or compare. The heartbeat is not sent while the watch is impaired. */
const NEVER_SENT = [
  'receivers.slack_configs.signing_secret',
  'receivers.webhook_configs.secret',
  'receivers.webhook_configs.secret_previous',
];
NEVER_SENT.push('web.auth.users.password_hash', 'web.auth.tokens.token', 'heartbeat.url');
NEVER_SENT.push('web.auth.oidc.client_secret');

test('a secret that the other side repeats is in no log, page, answer, metric or file [long]', async () => {
  const eu = await listen(service);
  const hook = await listen(refusal);
  const { port: proxyPort } = new URL(await listen(refusal));
  const proxy = (key: string) => JSON.stringify(`http://u:${bare(key)}%26@127.0.0.1:${proxyPort}`);
  const [plain, login, xoauth2] = [
    await mailServer('PLAIN'),
    await mailServer('LOGIN'),
    await mailServer('XOAUTH2'),
  ];
  const database = await databaseServer();
  const folder = tempFolder();
  makeAuthority(folder, 'authority');
  makeCertificate(folder, 'authority', 'mine');
  const key = readFileSync(join(folder, 'mine.key'), 'utf8');
  const [, , ofKey = ''] = key.split('\n');
  const pem = JSON.stringify(key);
  const hash = `$$scrypt$$ln=14,r=8,p=1$$${CANARY.repeat(4).slice(0, 22)}$$${'A'.repeat(43)}`;
  keys.push('web.auth.users.password_hash');
  const address = (name: string) => `${hook}/${encodeURIComponent(bare(name) + ODD)}?key=${bare(name)}`;
  const url = (name: string) => JSON.stringify(address(name));
  const token = bare('regions.token');
  writeFileSync(join(folder, 'token'), token);
  const bearer = `${bare('web.auth.bearer_token')}-long-enough`;
  writeFileSync(join(folder, 'bearer'), bearer);
  const config = join(folder, 'nestwatch.yaml');
  writeFileSync(
    config,
    `regions:
  eu: { base_url: "${eu}/api-rest", token_file: token }
  us: { base_url: "http://localhost:1/api-rest", token: ${canary('regions.token')}, proxy_url: ${proxy('regions.proxy_url')} }
global:
  smtp_smarthost: "127.0.0.1:${plain}"
  smtp_from: n@example.com
  smtp_require_tls: false
  smtp_auth_username: user
  smtp_auth_password: ${canary('global.smtp_auth_password', ODD)}
  slack_api_url: ${url('global.slack_api_url')}
  mattermost_webhook_url: ${url('global.mattermost_webhook_url')}
  rocketchat_api_url: "${hook}"
  rocketchat_token: ${canary('global.rocketchat_token')}
  rocketchat_token_id: ${canary('global.rocketchat_token_id')}
  telegram_api_url: "${hook}"
  telegram_bot_token: ${canary('global.telegram_bot_token')}
  victorops_api_url: "${hook}/victorops"
  victorops_api_key: ${canary('global.victorops_api_key')}
route: { receiver: a, group_wait: 0s }
receivers:
  - name: a
    email_configs:
      - { to: a@example.com, dkim: { domain: example.com, selector: a, private_key: ${pem} } }
      - { to: b@example.com, smarthost: "127.0.0.1:${login}", auth_password: ${canary('receivers.email_configs.auth_password', ODD)} }
    webhook_configs:
      - { url: ${url('receivers.webhook_configs.url')}, secret: ${canary('receivers.webhook_configs.secret')}, secret_previous: ${canary('receivers.webhook_configs.secret_previous')} }
      - { url: "${hook}/bearer", http_config: { authorization: { credentials: ${canary('http_config.authorization.credentials')} } } }
      - { url: "${hook}/basic", http_config: { basic_auth: { username: ${canary('http_config.basic_auth.username')}, password: ${canary('http_config.basic_auth.password', ODD)} } } }
      - { url: "${hook}/oauth2", http_config: { oauth2: { client_id: c, client_secret: ${canary('http_config.oauth2.client_secret', ODD)}, token_url: "${hook}/token?key=${bare('http_config.oauth2.client_secret')}", endpoint_params: { audience: ${canary('http_config.oauth2.endpoint_params', ODD)} } } } }
      - { url: "${hook}/oauth2", http_config: { oauth2: { client_id: c, client_secret: ${canary('http_config.oauth2.client_secret')}, token_url: "http://localhost:1/token", proxy_url: ${proxy('http_config.oauth2.proxy_url')} } } }
      - { url: "${hook}/header", http_config: { http_headers: { X-Key: { secrets: [${canary('http_config.http_headers.secrets')}] } } } }
      - { url: "${hook}/tls", http_config: { tls_config: { cert_file: mine.pem, key: ${pem} } } }
      - { url: "http://localhost:1/proxy", http_config: { proxy_url: ${proxy('http_config.proxy_url')} } }
      - { url: "https://localhost:1/proxy", http_config: { proxy_url: ${proxy('http_config.proxy_url')} } }
    alertmanager_configs: [{ url: ${JSON.stringify(`${hook}/${bare('receivers.alertmanager_configs.url')}`)} }]
    discord_configs: [{ webhook_url: ${url('receivers.discord_configs.webhook_url')} }]
    msteamsv2_configs: [{ webhook_url: ${url('receivers.msteamsv2_configs.webhook_url')} }]
    slack_configs: [{ channel: c }, { api_url: ${url('receivers.slack_configs.api_url')} }]
    pagerduty_configs: [{ url: "${hook}/pagerduty", routing_key: ${canary('receivers.pagerduty_configs.routing_key')} }]
    mattermost_configs: [{ text: t }, { webhook_url: ${url('receivers.mattermost_configs.webhook_url')} }]
    rocketchat_configs: [{ channel: "#a" }]
    telegram_configs: [{ chat_id: 1 }]
    webex_configs: [{ api_url: "${hook}/webex", room_id: r, http_config: { authorization: { credentials: ${canary('http_config.authorization.credentials')} } } }]
    pushover_configs: [{ api_url: "${hook}/pushover", token: ${canary('receivers.pushover_configs.token')}, user_key: ${canary('receivers.pushover_configs.user_key')} }]
    victorops_configs: [{ routing_key: r }]
store: { url: "sqlite:store.db" }
heartbeat: { url: ${url('heartbeat.url')}, interval: 1s }
web:
  listen: "127.0.0.1:0"
  external_url: http://127.0.0.1
  auth:
    oidc: { issuer: "${hook}", client_id: n, client_secret: ${canary('web.auth.oidc.client_secret')} }
    bearer_token_file: bearer
    tokens: [{ token: ${canary('web.auth.tokens.token', '-long-enough')}, scopes: [read] }]
    users: { anna: { password_hash: "${hash}" } }
`,
  );
  const another = join(folder, 'another.yaml');
  writeFileSync(
    another,
    `regions: { eu: { base_url: "${eu}/api-rest", token_file: token, tls_config: { ca_file: authority.pem } } }
global:
  slack_app_url: "${hook}/chat.postMessage"
  slack_app_token: ${canary('global.slack_app_token')}
  smtp_smarthost: "127.0.0.1:${xoauth2}"
  smtp_from: n@example.com
  smtp_require_tls: false
  smtp_auth_username: user
route: { receiver: a }
receivers:
  - name: a
    email_configs:
      - { to: a@example.com, oauth2: { access_token: ${canary('receivers.email_configs.oauth2.access_token')} } }
      - { to: b@example.com, oauth2: { client_id: c, client_secret: ${canary('receivers.email_configs.oauth2.client_secret')}, refresh_token: ${canary('receivers.email_configs.oauth2.refresh_token')}, token_url: "${hook}/token?key=${bare('receivers.email_configs.oauth2.client_secret')}" } }
    slack_configs: [{ channel: c }, { channel: C01, app_token: ${canary('receivers.slack_configs.app_token')}, signing_secret: ${canary('receivers.slack_configs.signing_secret')}, team_id: T01 }]
    rocketchat_configs: [{ api_url: "${hook}", token: ${canary('receivers.rocketchat_configs.token')}, token_id: ${canary('receivers.rocketchat_configs.token_id')}, channel: "#a" }]
    telegram_configs: [{ api_url: "${hook}", bot_token: ${canary('receivers.telegram_configs.bot_token')}, chat_id: 1 }]
    victorops_configs: [{ api_url: "${hook}/victorops", api_key: ${canary('receivers.victorops_configs.api_key')}, routing_key: r }]
store: { url: "postgres://u@127.0.0.1:${database}/d", password: ${canary('store.password', ODD)} }
web: { external_url: https://nestwatch.example.com, tls: { cert_file: mine.pem, key: ${pem} } }
`,
  );
  const secret = new Set(secretKeys(configJsonSchema()).filter((one) => !IN_PEM.includes(one)));
  expect(new Set(keys)).toEqual(secret);

  const child = spawn(process.execPath, [MAIN, 'run', '--log.level', 'debug', '--log.format', 'json'], {
    cwd: folder,
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let log = '';
  child.stderr.on('data', (text) => {
    log += text;
  });
  child.stdout.on('data', (text) => {
    log += text;
  });
  await expect.poll(() => /"page":"([^"]+)"/.exec(log)?.[1]).toBeTruthy();
  const page = /"page":"([^"]+)"/.exec(log)![1]!;
  const headers = { authorization: `Bearer ${bearer}` };
  const get = async (path: string) => (await fetch(`${page}/${path}`, { headers })).text();
  // Each integration has made one attempt, and its result is recorded.
  const failed = async () => {
    const list = JSON.parse(await get('api/v1/deliveries?limit=100')) as DeliveryList;
    return list.deliveries.filter(({ last_error }) => last_error !== '').length;
  };
  await expect.poll(failed, { timeout: 60_000 }).toBeGreaterThanOrEqual(INTEGRATIONS);
  await expect.poll(() => log).toContain('A delivery failed');
  // A request with a token that may not do this is kept for `/writes`.
  const readOnly = { authorization: `Bearer ${bare('web.auth.tokens.token')}-long-enough` };
  await fetch(`${page}/-/reload?token=${bearer}`, { method: 'POST', headers: readOnly });

  const paths = [
    ...['', 'metrics', '-/ready', 'silence', 'config', 'deliveries', 'writes'],
    ...['status', 'events', 'alerts', 'birds', 'deliveries', 'writes', 'health'].map(
      (one) => `api/v1/${one}`,
    ),
    ...['api/v1/events/eu%2Fnotification%2Fn1/explain', 'api/v2/alerts', 'api/v2/status'],
  ];
  const answers = new Map<string, string>();
  for (const path of paths) answers.set(path, await get(path));
  const linked = await crawl(page, headers);
  expect([...linked.keys()].filter((path) => /^\/deliveries\/./.test(path)).length).toBeGreaterThan(5);
  for (const path of linked.keys()) {
    if (/^\/(?:deliveries|alerts)\/[^?]+$/.test(path))
      answers.set(`api/v1${path}`, await get(`api/v1${path}`));
  }
  const said = new Map<string, string>();
  const daemon = ['--url', page, '--token-file', join(folder, 'bearer')];
  for (const args of [
    ['explain', 'eu/notification/n1', ...daemon],
    ['status', ...daemon],
    ['deliveries', ...daemon],
    // A program at the daemon's address that repeats its token.
    ['status', '--url', hook, '--token-file', join(folder, 'bearer')],
  ]) {
    said.set(args.join(' '), await outputOf(config, args));
  }
  child.kill('SIGTERM');
  await once(child, 'exit');
  for (const [file, ...args] of [
    [config, 'config', 'show'],
    [config, 'test-receiver', 'a'],
    [config, 'test-receiver', 'a', '--dry-run'],
    [config, 'render', 'a', '--json'],
    [config, 'check-config', '--online', config],
    [config, 'check-config', '--online', '--json', config],
    [config, 'api', 'searchNests', '--region', 'eu'],
    [config, 'api', 'searchNests', '--region', 'us'],
    [config, 'api', 'getBirdLogs', '--region', 'eu', '--nestId', '1', '--birdId', '2'],
    [config, 'backfill', '--from', '1h'],
    [another, 'config', 'show', '--json'],
    [another, 'test-receiver', 'a'],
    [another, 'render', 'a'],
    [another, 'check-config', '--online', another],
    [another, 'store', 'check'],
  ]) {
    said.set(`${args.join(' ')} of ${file}`, await outputOf(file!, args));
  }
  // Each waits for connections that nobody accepts.
  const doctors = [config, another].map((file) => outputOf(file, ['doctor', '--watch', '1s']));
  for (const [at, text] of (await Promise.all(doctors)).entries()) said.set(`doctor ${at}`, text);
  const files = readdirSync(folder).filter((name) => name.startsWith('store.db'));
  const outputs = new Map([
    ['log', log],
    ...answers,
    ...linked,
    ...said,
    ...files.map((name) => [name, readFileSync(join(folder, name), 'latin1')] as const),
  ]);
  // The canaries were there to be repeated, and what surrounded them is still there.
  expect([...secret].filter((one) => !told.has(one)).toSorted()).toEqual(NEVER_SENT.toSorted());
  for (const name of ['log', 'api/v1/events', '/', 'api/v1/deliveries']) {
    expect(outputs.get(name), name).toContain(SEEN_BEFORE);
  }
  expect(ofKey).toHaveLength(64);
  const found = [...outputs].flatMap(([name, text]) =>
    [CANARY, ofKey, ...IN_BASE64].flatMap((form) => {
      const at = text.indexOf(form);
      return at === -1 ? [] : [`${name}: ${text.slice(Math.max(0, at - 150), at + 60)}`];
    }),
  );
  expect(found).toEqual([]);
});
