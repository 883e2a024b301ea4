import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/time/clock.ts';
import { makeAuthority, makeCertificate } from '../http/certificates.ts';
import { nestwatch } from './test-io.ts';

const MAIN = resolve(import.meta.dirname, '../../src/main.ts');
const CANARY = 'cAnArY-7f3e91';
const SEEN_BEFORE = 'told-by-the-other-side';
/** The number of integrations of the one receiver in the configuration below. */
const INTEGRATIONS = 14;

interface DeliveryList {
  readonly deliveries: readonly { readonly last_error: string }[];
}

async function listen(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    answer(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A service that repeats the token in every text it returns, including error messages. */
function answerWithToken({ url = '', headers }: IncomingMessage, response: ServerResponse): void {
  const token = `${SEEN_BEFORE} ${headers.authorization}`;
  const path = url.split('?')[0]!;
  const entry = { id: 'n1', createdAt: new Date().toISOString(), message: token, entityName: token };
  const page = path.endsWith('/notifications')
    ? [{ ...entry, eventType: `Odd-${headers.authorization}` }]
    : [];
  if (path.endsWith('/nests')) response.end(JSON.stringify([{ id: '1', name: token }]));
  else if (path.endsWith('/birds'))
    response.end(JSON.stringify([{ id: '2', name: token, status: 'active' }]));
  else if (path.endsWith('/notifications')) response.end(JSON.stringify({ items: page, totalCount: 1 }));
  else {
    response.statusCode = 400;
    response.end(JSON.stringify({ title: token, detail: token }));
  }
}

/** Every page that can be reached by links, by its path; of lists only one order. */
async function crawl(page: string): Promise<ReadonlyMap<string, string>> {
  const seen = new Map<string, string>();
  const waiting = ['/'];
  for (let path = waiting.pop(); path !== undefined && seen.size < 150; path = waiting.pop()) {
    if (seen.has(path)) continue;
    const body = await (await fetch(`${page}${path}`)).text();
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

test('a secret that the other side repeats is in no log, page, answer, metric or file', async () => {
  const service = await listen(answerWithToken);
  const hook = await listen((request, response) => {
    response.statusCode = 400;
    response.end(`${SEEN_BEFORE} ${request.url} ${JSON.stringify(request.headers)}`);
  });
  const folder = mkdtempSync(join(tmpdir(), 'canary-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'token'), CANARY);
  makeAuthority(folder, 'authority');
  makeCertificate(folder, 'authority', 'mine');
  const key = readFileSync(join(folder, 'mine.key'), 'utf8');
  const [, , ofKey] = key.split('\n');
  const config = join(folder, 'nestwatch.yaml');
  writeFileSync(
    config,
    `regions: { eu: { base_url: "${service}/api-rest", token_file: token } }
route: { receiver: a, group_wait: 0s }
receivers:
  - name: a
    webhook_configs:
      - url: "${hook}/${CANARY}?key=${CANARY}"
      - { url: "${hook}/bearer", http_config: { authorization: { credentials_file: token } } }
      - { url: "${hook}/basic", http_config: { basic_auth: { username: u, password: ${CANARY} } } }
      - { url: "${hook}/oauth2", http_config: { oauth2: { client_id: c, client_secret: ${CANARY}, token_url: "${hook}/token" } } }
      - { url: "${hook}/header", http_config: { http_headers: { X-Key: { secrets: [${CANARY}] } } } }
      - { url: "${hook}/tls", http_config: { tls_config: { cert_file: mine.pem, key: ${JSON.stringify(key)} } } }
      - { url: "http://localhost:1/proxy", http_config: { proxy_url: "http://u:${CANARY}@127.0.0.1:1" } }
    discord_configs: [{ webhook_url: "${hook}/${CANARY}" }]
    mattermost_configs: [{ webhook_url: "${hook}/mattermost/${CANARY}" }]
    rocketchat_configs: [{ api_url: "${hook}", token: ${CANARY}, token_id: ${CANARY}, channel: "#a" }]
    telegram_configs: [{ api_url: "${hook}", bot_token: "1:${CANARY}", chat_id: 1 }]
    webex_configs: [{ api_url: "${hook}/webex", room_id: r, http_config: { authorization: { credentials: ${CANARY} } } }]
    pushover_configs: [{ api_url: "${hook}/pushover", token: ${CANARY}, user_key: ${CANARY} }]
    victorops_configs: [{ api_url: "${hook}/victorops", api_key: ${CANARY}, routing_key: r }]
store: { url: "sqlite:store.db" }
web: { listen: "127.0.0.1:0" }
`,
  );
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
  // Each integration has made one attempt, and its result is recorded.
  const failed = async () => {
    const list = (await (await fetch(`${page}/api/v1/deliveries`)).json()) as DeliveryList;
    return list.deliveries.filter(({ last_error }) => last_error !== '').length;
  };
  await expect.poll(failed).toBeGreaterThanOrEqual(INTEGRATIONS);
  await expect.poll(() => log).toContain('A delivery failed');

  const paths = [
    '',
    'metrics',
    '-/ready',
    'silence',
    'api/v1/status',
    'api/v1/events',
    'api/v1/alerts',
    'api/v1/birds',
  ];
  paths.push(
    'api/v1/deliveries',
    'api/v1/events/eu%2Fnotification%2Fn1/explain',
    'api/v2/alerts',
    'api/v2/status',
    'config',
    'deliveries',
    'writes',
    'api/v1/writes',
    'api/v1/health',
  );
  const answers = await Promise.all(paths.map(async (path) => (await fetch(`${page}/${path}`)).text()));
  const linked = await crawl(page);
  expect([...linked.keys()].filter((path) => /^\/deliveries\/./.test(path)).length).toBeGreaterThan(5);
  const messages = await Promise.all(
    [...linked.keys()]
      .filter((path) => /^\/(?:deliveries|alerts)\/[^?]+$/.test(path))
      .map(async (path) => (await fetch(`${page}/api/v1${path}`)).text()),
  );
  child.kill('SIGTERM');
  await once(child, 'exit');
  const shown = await outputOf(config, ['config', 'show']);
  expect(shown).toContain('telegram_configs');
  // Failures are reported in the words of the other side.
  const said = await Promise.all(
    [
      ['test-receiver', 'a'],
      ['test-receiver', 'a', '--dry-run'],
      ['check-config', '--online', config],
      ['doctor', '--watch', '1s'],
      ['api', 'searchNests', '--region', 'eu'],
      ['api', 'getBirdLogs', '--region', 'eu', '--nestId', '1', '--birdId', '2'],
      ['backfill', '--from', '1h'],
    ].map((args) => outputOf(config, args)),
  );
  expect(said.join('')).toContain(SEEN_BEFORE);
  const files = readdirSync(folder).filter((name) => name.startsWith('store.db'));
  const outputs = [
    log,
    shown,
    ...answers,
    ...linked.values(),
    ...messages,
    ...said,
    ...files.map((name) => readFileSync(join(folder, name), 'latin1')),
  ];
  // What surrounded the secrets is still there.
  for (const output of [log, answers[0], answers[5], answers[8]]) expect(output).toContain(SEEN_BEFORE);
  expect(ofKey).toHaveLength(64);
  for (const output of outputs) {
    expect(output).not.toContain(CANARY);
    expect(output).not.toContain(ofKey);
  }
}, 300_000);
