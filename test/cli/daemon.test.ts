import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { NestwatchError } from '../../src/errors.ts';
import { secret } from '../../src/secret.ts';
import { makeAuthority, makeCertificate } from '../http/certificates.ts';
import { listenInTest, tempFolder } from '../http/servers.ts';
import { RENEWAL } from '../store/contract/sample-records.ts';
import { anImpairment, aStatus, putAlert, putDeliveries } from '../web/sample.ts';
import { serve } from '../web/served.ts';
import { containing, done, failed, matching, nestwatch, refused, tempFile } from './test-io.ts';

/** Something that is not nestwatch. */
async function answering(status: number, body: string): Promise<string> {
  const { url } = await listenInTest(
    createServer((_request, response) => response.writeHead(status).end(body)),
  );
  return url;
}

describe('status', () => {
  test('shows regions, feeds, alerts and deliveries in columns', async () => {
    const { web, store, clock } = await serve();
    await putAlert(store, { id: 'a' });
    await putDeliveries(store, [{ id: '1' }, { id: '2', state: 'dead' }]);
    const { exit, stdout, stderr } = await nestwatch(['status', '--url', web.url], { clock });
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
    expect(stdout).toMatch(/^nestwatch 0\.1\.0, started 26 h ago\n/);
    expect(stdout).toMatch(/^REGION +STATE +SINCE +NESTS +BIRDS +REQUESTS\/S/m);
    expect(stdout).toMatch(/^us +up +26 h ago +2 +7 +2\.5$/m);
    expect(stdout).toMatch(/^REGION +FEED +STREAMS +OVERDUE +OLDEST READING +COMPLETE TO +ACTIVE FLIGHTS$/m);
    expect(stdout).toMatch(/^us +notification +1 +0 +50 s ago +2 min ago +-$/m);
    expect(stdout).toMatch(/^us +flight .* 3$/m);
    expect(stdout).toMatch(/^FlightFailed +critical +1$/m);
    expect(stdout).toMatch(/^ops +1 pending, 1 dead$|^ops +1 dead, 1 pending$/m);
  });

  test('says first what impairs the watch and what to do, and exits 1', async () => {
    const impairments = async () => ({ impairments: [anImpairment()], space: undefined });
    const { web, store, clock } = await serve({ impairments });
    await putAlert(store, { id: 'a' });
    const { exit, stdout, stderr } = await nestwatch(['status', '--url', web.url], { clock });
    expect({ exit, stderr }).toEqual({ exit: 1, stderr: '' });
    expect(stdout.split('\n').slice(1, 6)).toEqual([
      '1 active alert neither acknowledged nor silenced.',
      'The watch is impaired:',
      '  warning streams_overdue, since 12 min ago',
      '    The Flights of 2 of 12 Birds in EU were not read in time: the oldest reading is 12 min old.',
      `    ${anImpairment().action}`,
    ]);
    expect((await nestwatch(['status', '--url', web.url, '--json'], { clock })).exit).toBe(1);
    const narrow = await nestwatch(['status', '--url', web.url], { clock, columns: 80 });
    expect(narrow.stdout).toContain(
      '\n    The Flights of 2 of 12 Birds in EU were not read in time: the oldest reading\n    is 12 min old.\n',
    );
  });

  test('says that all is quiet when it is, and exits 0', async () => {
    const { web, clock } = await serve();
    const { exit, stdout } = await nestwatch(['status', '--url', web.url], { clock });
    expect([exit, stdout.split('\n')[1]]).toEqual([0, 'All quiet.']);
  });

  test('says how many are known while all that fire are, as the page does', async () => {
    const { web, clock, store, post, ask } = await serve();
    await putAlert(store, { id: 'a' });
    await post('/api/v1/alerts/acknowledge', { ids: ['a'], author: 'Anna' });
    const { exit, stdout } = await nestwatch(['status', '--url', web.url], { clock });
    expect([exit, stdout.split('\n')[1]]).toEqual([0, '1 known alert.']);
    expect((await ask('/')).body).toContain('>1 known alert<');
  });

  test('shows which configuration is in force if it is not the one in the file', async () => {
    const inForce = aStatus().configuration;
    let configuration = { ...inForce, mistakes: ['n.yaml:4:1: receiver: unknown key'] };
    const { web, clock, ask } = await serve({ status: () => aStatus({ configuration }) });
    const shown = async () => (await nestwatch(['status', '--url', web.url], { clock })).stdout;
    expect(await shown()).toContain(
      'The configuration file has mistakes, so the configuration read 26 h ago stays in force:\n  n.yaml:4:1: receiver: unknown key\n',
    );
    expect((await ask('/')).body).toContain('<li><bdi>n.yaml:4:1: receiver: unknown key</bdi></li>');
    configuration = { ...inForce, mistakes: [], needsRestart: ['store.url', 'web'] } as typeof configuration;
    expect(await shown()).toContain('Changed, and changes only at a restart: store.url, web\n');
    expect((await ask('/')).body).toContain('<code>store.url</code> <code>web</code>');
  });

  test('lists the replicas that share the store, as the page and the API do', async () => {
    const { web, store, clock, ask } = await serve({ status: () => aStatus({ replica: 2 }) });
    const shown = async () => (await nestwatch(['status', '--url', web.url], { clock })).stdout;
    expect(await shown()).not.toContain('REPLICA');
    expect((await ask('/')).body).not.toContain('Replicas');
    await store.transaction(async ({ ownership }) => {
      const [a, b] = [
        await ownership.join('host-a', '0.1.0', 15_000),
        await ownership.join('host-b\u001b<b>', '0.1.0', 60_000),
      ];
      const lease = await ownership.take('region us', a);
      await ownership.release(lease!);
      for (const duty of ['region eu', 'region us', 'alerting']) await ownership.take(duty, a);
      await ownership
        .join('host-c', '0.2.0', 60_000)
        .then((c) => ownership.renew(c, { ...RENEWAL, isLeaving: true }));
      expect([a, b]).toEqual([1, 2]);
    });
    await clock.advance(20_000);
    const text = await shown();
    expect(text).toMatch(/^REPLICA +VERSION +STARTED +STATE +READS \(EPOCH\) +ALERTING$/m);
    expect(text).toMatch(/^host-a +0\.1\.0 +20 s ago +silent +eu \(1\), us \(3\) +yes$/m);
    expect(text).toMatch(/^host-b <b> +0\.1\.0 +20 s ago +working, this one +- *$/m);
    expect(text).toMatch(/^host-c +0\.2\.0 +20 s ago +leaving +- *$/m);
    const { json } = await ask<{ replicas: unknown[] }>('/api/v1/status');
    const since = '2026-07-02T12:00:00.000000Z';
    expect(json.replicas[0]).toEqual({
      ...{ replica: 1, name: 'host-a', own: false, version: '0.1.0', started_at: since },
      ...{ state: 'silent', alerting: true },
      regions: [
        { region: 'eu', epoch: 1, since },
        { region: 'us', epoch: 3, since },
      ],
    });
    expect(json.replicas[1]).toMatchObject({ replica: 2, own: true });
    const page = (await ask('/')).body;
    expect(page).toContain('<h2>Replicas');
    expect(page).toContain(
      'reads EU (epoch 1), reads US (epoch 3), alerts <span class="pill warn">not heard of</span>',
    );
    expect(page).toContain('<bdi>host-b &lt;b&gt;</bdi> <span class="pill quiet">this one</span>');
  });

  test('an empty list is said in words', async () => {
    const { web, clock } = await serve({ status: () => aStatus({ regions: [] }) });
    const { stdout } = await nestwatch(['status', '--url', web.url], { clock });
    expect(stdout).toContain('No active alerts.\n');
    expect(stdout).toContain('No deliveries yet.\n');
  });

  test('what only the store knows is not called empty while it does not answer', async () => {
    const error = new NestwatchError('store_down', 'it is away');
    const store = { transaction: () => Promise.reject(error), space: () => undefined, close: async () => {} };
    const { web, clock } = await serve({ store });
    const { stdout } = await nestwatch(['status', '--url', web.url], { clock });
    expect(stdout).not.toMatch(/^No /m);
    expect(stdout).toContain('Alerts are not known while the store does not answer.\n');
  });

  test('text from the service cannot steer the terminal', async () => {
    const [eu] = aStatus().regions;
    const health = { health: 'down', reason: '\u001b[2Jgone\n\u202Eevil', sinceUs: 0 } as const;
    const { web, clock } = await serve({ status: () => aStatus({ regions: [{ ...eu!, health }] }) });
    const { stdout } = await nestwatch(['status', '--url', web.url], { clock });
    expect(stdout).toMatch(/^eu +down +- .*\[2Jgone evil$/m);
    expect(stdout).not.toContain('\u001b');
  });

  test('--json prints what the daemon answered', async () => {
    const { web, ask } = await serve();
    const { stdout } = await nestwatch(['status', '--url', `${web.url}/`, '--json']);
    expect(JSON.parse(stdout)).toEqual((await ask('/api/v1/status')).json);
  });

  test('the address and the token come from the configuration, or from --url with --token-file [long]', async () => {
    const { web } = await serve({ web: { bearerToken: secret('b3arer-token') } });
    const port = new URL(web.url).port;
    const config = (auth: string) => tempFile('n.yaml', `web: { listen: "127.0.0.1:${port}"${auth} }`);
    const status = (...args: string[]) => nestwatch(['status', '--json', ...args]);
    expect((await status('--config.file', config(', auth: { bearer_token: b3arer-token }'))).exit).toBe(0);
    expect((await status('--url', web.url, '--token-file', tempFile('t', 'b3arer-token\n'))).exit).toBe(0);
    expect(await status('--config.file', config(''))).toEqual(
      failed(containing('the daemon asks for its token: give --token-file or --config.file')),
    );
    const withToken = config(', auth: { bearer_token: b3arer-token }');
    expect(await status('--config.file', withToken, '--url', web.url)).toEqual(
      failed(expect.stringMatching(/the daemon asks for its token: give --token-file$/m)),
    );
  });

  test('over TLS it accepts only the certificate of the configuration, and uses the token with the most rights [long]', async () => {
    const folder = tempFolder();
    makeAuthority(folder, 'authority');
    makeCertificate(folder, 'authority', 'own', 'watch.example.com');
    makeCertificate(folder, 'authority', 'other', 'watch.example.com');
    const read = (name: string) => secret(readFileSync(join(folder, name), 'utf8'));
    const tokens = [
      { name: 'a', token: secret('only-reads'), scopes: new Set(['read'] as const) },
      { name: 'b', token: secret('does-more'), scopes: new Set(['read', 'write'] as const) },
    ];
    const { web } = await serve({
      web: { access: { tokens, users: new Map() }, tls: { cert: read('own.pem'), key: read('own.key') } },
    });
    const pem = (name: string) => readFileSync(join(folder, name), 'utf8');
    const file = (name: string, more = '', cert = pem(`${name}.pem`)) =>
      tempFile(
        'n.yaml',
        `web:
  listen: "127.0.0.1:${new URL(web.url).port}"
  auth: { tokens: [{ token: only-reads, scopes: [read] }, { token: does-more, scopes: [read, write] }] }
  tls: { cert: ${JSON.stringify(cert)}, key: ${JSON.stringify(pem(`${name}.key`))} }
  ${more}
`,
      );
    const status = (config: string) => nestwatch(['status', '--config.file', config]);
    expect(await status(file('own'))).toMatchObject({ exit: 0 });
    expect(await status(file('own', 'external_url: https://proxy.example.com'))).toMatchObject({ exit: 0 });
    expect(await status(file('own', '', pem('own.pem') + pem('authority.pem')))).toMatchObject({ exit: 0 });
    // The daemon's certificate is signed by the same authority, for the same name, but it is not the configured one.
    const chain = pem('other.pem') + pem('authority.pem');
    expect(await status(file('other', 'external_url: https://watch.example.com', chain))).toEqual(
      failed(containing('nobody who is trusted here signed its certificate')),
    );
  });

  test('with several limited tokens it uses the one that may do what is asked', async () => {
    const tokens = [
      { name: 'a', token: secret('only-scrapes'), scopes: new Set(['metrics'] as const) },
      { name: 'b', token: secret('only-reads'), scopes: new Set(['read'] as const) },
      { name: 'c', token: secret('only-writes'), scopes: new Set(['write'] as const) },
    ];
    const { web } = await serve({
      web: { access: { tokens, users: new Map() } },
    });
    const file = tempFile(
      'n.yaml',
      `web:
  listen: ${new URL(web.url).host}
  auth:
    tokens:
      - { token: only-scrapes, scopes: [metrics] }
      - { token: only-reads, scopes: [read] }
      - { token: only-writes, scopes: [write] }
`,
    );
    expect(await nestwatch(['status', '--config.file', file])).toMatchObject({ exit: 0 });
    const words = ['silence', 'add', 'FlightFailed', '--comment', 'On it', '--config.file', file];
    expect(await nestwatch(words)).toMatchObject({ exit: 0, stderr: '' });
  });

  test('the token of the configuration is not sent to another address', async () => {
    const { web } = await serve({ web: { bearerToken: secret('b3arer-token') } });
    const file = tempFile('n.yaml', 'web: { auth: { bearer_token: b3arer-token } }');
    expect((await nestwatch(['status', '--config.file', file, '--url', web.url])).exit).toBe(1);
  });

  test('if none runs, the exit code is 1, not that of a failed delivery or test', async () => {
    const { web, close } = await serve();
    await close();
    expect(await nestwatch(['status', '--url', web.url])).toEqual(
      failed(
        matching(/^nestwatch: no answer from .*: it refused the connection: is nestwatch running there\?\n/),
      ),
    );
  });

  test.each([
    ['a page', 200, '<html>', 'the answer is not JSON'],
    ['other JSON', 200, '{"a":1}', 'this is not the answer of a nestwatch daemon'],
    ['an error', 500, 'no', 'the daemon answered 500'],
  ])('%s is not a daemon', async (_what, code, body, message) => {
    expect(await nestwatch(['status', '--url', await answering(code, body)])).toEqual(
      failed(containing(message)),
    );
  });

  test('an answer of another program is not taken for an ended silence', async () => {
    const url = await answering(200, '{"status":"ok"}');
    expect(await nestwatch(['silence', 'expire', 'some-id', '--url', url])).toEqual(
      failed(containing('this is not the answer of a nestwatch daemon')),
    );
  });

  test.each([
    [
      'has too much to do',
      503,
      '{"error":"Too many requests wait already."}',
      'Too many requests wait already.',
    ],
    ['is not served by this name', 421, '{"error":"Not served here."}', 'Not served here.'],
    ['failed', 500, '"This could not be answered."', 'This could not be answered.'],
    ['says it hostilely', 500, '{"error":"a\\u001b[2Jb"}', 'a [2Jb'],
  ])('a daemon that %s is quoted in its own words', async (_what, code, body, words) => {
    expect(await nestwatch(['status', '--url', await answering(code, body)])).toEqual(
      failed(containing(`nestwatch: the daemon answered ${code}: ${words}\n`)),
    );
  });

  test.each([
    [['--url', 'nestwatch'], '--url must be a URL that begins with http:// or https://'],
    [
      ['--config.file', 'PORT0'],
      '`web.listen` has port 0, so only the log says where it listens: give --url',
    ],
  ])('an unknown address is wrong usage: %j', async (args, message) => {
    const file = tempFile('n.yaml', 'web: { listen: "127.0.0.1:0" }');
    expect(await nestwatch(['status', ...args.map((arg) => (arg === 'PORT0' ? file : arg))])).toEqual(
      refused(`nestwatch: ${message}\nSee \`nestwatch status --help\`.\n`),
    );
  });
});

describe('healthcheck', () => {
  test('says nothing when all is well', async () => {
    const { web } = await serve();
    expect(await nestwatch(['healthcheck', '--url', web.url])).toEqual(done());
  });

  test('needs no token', async () => {
    const { web } = await serve({ web: { bearerToken: secret('b3arer-token') } });
    expect((await nestwatch(['healthcheck', '--url', web.url])).exit).toBe(0);
  });

  test('exits 1 with the reasons when it is not', async () => {
    const { web } = await serve({
      health: () => ({ healthy: true, working: false, ready: false, reasons: ['The disk is full.'] }),
    });
    const stderr = 'nestwatch: not healthy: The disk is full.\n';
    expect(await nestwatch(['healthcheck', '--url', web.url])).toEqual(failed(stderr));
    const { exit, stdout } = await nestwatch(['healthcheck', '--url', web.url, '--json']);
    expect([exit, JSON.parse(stdout)]).toEqual([
      1,
      { healthy: false, ready: false, reasons: ['The disk is full.'] },
    ]);
  });

  test('a daemon that has only just started is healthy', async () => {
    const { web } = await serve({
      health: () => ({ healthy: true, working: true, ready: false, reasons: ['eu was not read yet.'] }),
    });
    expect(await nestwatch(['healthcheck', '--url', web.url])).toEqual(done());
    const { exit, stdout } = await nestwatch(['healthcheck', '--url', web.url, '--json']);
    expect([exit, JSON.parse(stdout)]).toEqual([
      0,
      { healthy: true, ready: false, reasons: ['eu was not read yet.'] },
    ]);
  });

  test('exits 1 when nobody answers', async () => {
    const { web, close } = await serve();
    await close();
    expect(await nestwatch(['healthcheck', '--url', web.url])).toEqual(
      failed(
        matching(
          /^nestwatch: not healthy: no answer from 127\.0\.0\.1:\d+: it refused the connection: is nestwatch running there\?\n$/,
        ),
      ),
    );
  });

  test('needs nothing of the configuration but the address of the daemon', async () => {
    const { web } = await serve();
    const file = tempFile(
      'n.yaml',
      `regions: { eu: { token: "\${UNSET}" } }\nweb: { listen: "${new URL(web.url).host}" }`,
    );
    expect(await nestwatch(['healthcheck'], { environment: { NESTWATCH_CONFIG: file } })).toEqual(done());
  });

  /** A daemon with a certificate for its public name. */
  async function overTls(): Promise<string> {
    const folder = tempFolder();
    makeAuthority(folder, 'authority');
    makeCertificate(folder, 'authority', 'own', 'watch.example.com');
    const read = (name: string) => secret(readFileSync(join(folder, name), 'utf8'));
    const { web } = await serve({
      web: { tls: { cert: read('own.pem'), key: read('own.key') } },
    });
    return new URL(web.url).host;
  }

  test.each([
    ['has a mistake', 'web: { listen: "HOST", tls: { cert_file: gone.pem, key_file: gone.key }, pages: x }'],
    ['is not YAML', 'regions:\n  eu: { token: "x }\nweb:\n  listen: "HOST"\n  tls: { cert_file: gone.pem'],
    ['no longer says that it serves HTTPS', 'web: { listen: "HOST" }'],
  ])('needs no valid configuration: one that %s', async (_what, text) => {
    const host = await overTls();
    const config = tempFile('n.yaml', text.replace('HOST', host));
    expect(await nestwatch(['healthcheck', '--config.file', config])).toEqual(done());
  });
});
