import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/time/clock.ts';
import { containing, nestwatch, refused, tempFile } from '../test-io.ts';

interface Received {
  readonly path: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** The recipients that the server for mail does not take. */
const REFUSALS: Readonly<Record<string, readonly [number, string]>> = {
  'gone@example.com': [550, 'no such user'],
  'full@example.com': [452, 'mailbox full'],
};

/** One server that stands in for every service, and one for mail, both on loopback. */
async function setUp(status = 200, password = '') {
  const posts: Received[] = [];
  const mails: string[] = [];
  const logins: string[] = [];
  const http = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    posts.push({ path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks).toString() });
    const words = status === 200 && request.url?.startsWith('/slack') ? 'ok' : 'said no to key-canary';
    response.writeHead(request.url === '/pagerduty' ? 202 : status).end(words);
  });
  http.listen(0, '127.0.0.1');
  const smtp = new SMTPServer({
    authOptional: true,
    allowInsecureAuth: true,
    disabledCommands: ['STARTTLS'],
    onAuth(auth, _session, done) {
      logins.push(auth.username ?? '');
      if (auth.password === 'right') done(null, { user: auth.username });
      else done(new Error('wrong password'));
    },
    onRcptTo({ address }, _session, done) {
      const [responseCode, said] = REFUSALS[address] ?? [];
      done(said === undefined ? null : Object.assign(new Error(said), { responseCode }));
    },
    onData(stream, _session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        mails.push(Buffer.concat(chunks).toString());
        done();
      });
    },
  });
  smtp.listen(0, '127.0.0.1');
  await Promise.all([once(http, 'listening'), once(smtp.server, 'listening')]);
  onTestFinished(() => void http.close());
  onTestFinished(() => new Promise<void>((resolve) => smtp.close(() => resolve())));
  const base = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const file = tempFile(
    'n.yaml',
    `regions: { eu: { base_url: https://x, token: t } }
global: { smtp_smarthost: "127.0.0.1:${(smtp.server.address() as AddressInfo).port}", smtp_from: n@example.com, smtp_require_tls: false, pagerduty_url: "${base}/pagerduty" }
route: { receiver: all }
receivers:
  - name: all
    email_configs: [{ to: a@example.com }, { to: nest_members }]
    webhook_configs: [{ url: "${base}/hook" }, { url: "${base}/own", format: template, template: '{"t":"{{ title }}"}' }]
    slack_configs: [{ api_url: "${base}/slack/key-canary" }]
    msteamsv2_configs: [{ webhook_url: "${base}/teams" }]
    pagerduty_configs: [{ routing_key: routing-canary }]
    alertmanager_configs: [{ url: "${base}" }]
  - name: nobody
  - name: members
    email_configs: [{ to: nest_members${password && `, auth_username: watch, auth_password: ${password}`} }]
  - name: one-gone
    email_configs: [{ to: "a@example.com, gone@example.com" }]
  - name: one-full
    email_configs: [{ to: "a@example.com, full@example.com" }, { to: b@example.com }]
  - name: unreachable
    email_configs: [{ to: nest_members, smarthost: "127.0.0.1:1" }]
`,
  );
  const run = (...args: string[]) => nestwatch([...args, '--config.file', file], { clock: systemClock() });
  /** With a clock that stands still. */
  const print = (...args: string[]) => nestwatch([...args, '--config.file', file]);
  return { run, print, posts, mails, logins };
}

describe('test-receiver', () => {
  test('sends a sample through every integration [long]', async () => {
    const { run, posts, mails } = await setUp();
    const { exit, stdout, stderr } = await run('test-receiver', 'all');
    expect([exit, stderr]).toEqual([0, '']);
    expect(stdout.replaceAll(/127\.0\.0\.1:\d+/g, 'HOST').split('\n')).toEqual([
      'email 1 (a@example.com by HOST): accepted',
      'email 2 (members of a Nest by HOST): not sent: the server takes mails; this one goes to the members of a Nest alone',
      'webhook 1 (HOST): accepted',
      'webhook 2 (HOST): accepted',
      'slack 1 (HOST): accepted',
      'msteamsv2 1 (HOST): accepted',
      'pagerduty 1 (HOST): accepted',
      'alertmanager 1 (HOST): accepted',
      '',
    ]);
    expect(posts.map(({ path }) => path)).toEqual([
      ...['/hook', '/own', '/slack/key-canary', '/teams', '/pagerduty', '/api/v2/alerts'],
    ]);
    expect(JSON.parse(posts[1]!.body)).toEqual({ t: 'Sample Bird failed' });
    expect(JSON.parse(posts[4]!.body)).toMatchObject({
      event_action: 'trigger',
      routing_key: 'routing-canary',
    });
    expect(mails).toHaveLength(1);
    for (const text of [mails[0]!, posts[0]!.body, posts[2]!.body, posts[3]!.body]) {
      expect(text).toContain('This is a test of the receiver: nothing has failed.');
    }
  });

  test('--resolved ends what the previous sample opened [long]', async () => {
    const { run, posts } = await setUp();
    await run('test-receiver', 'all');
    await run('test-receiver', 'all', '--resolved');
    const [first, last] = posts
      .filter(({ path }) => path === '/pagerduty')
      .map(({ body }) => JSON.parse(body));
    expect(last).toMatchObject({ event_action: 'resolve', dedup_key: first.dedup_key });
  });

  test('exits 4 and says what was not accepted, without its key', async () => {
    const { run } = await setUp(400);
    const { exit, stdout } = await run('test-receiver', 'all');
    expect(exit).toBe(4);
    expect(stdout).toMatch(/slack 1 \(.*\): not accepted: HTTP 400: said no to \[secret\]\n/);
    expect(stdout).toMatch(/pagerduty 1 \(.*\): accepted/);
    expect(stdout).not.toContain('routing-canary');
  });

  test.each([
    ['one-gone', ['partly accepted: not sent to gone@example.com: 550 no such user']],
    ['one-full', ['partly accepted: deferred for full@example.com: 452 mailbox full', 'accepted']],
  ])('exits 4 if only some recipients of a mail are accepted: %s [long]', async (name, words) => {
    const { run, mails } = await setUp();
    const { exit, stdout } = await run('test-receiver', name);
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => line.replace(/^.*?\): /, '')),
    ).toEqual(words);
    expect([exit, mails.length]).toEqual([4, words.length]);
    const asJson = await run('test-receiver', name, '--json');
    expect([asJson.exit, JSON.parse(asJson.stdout)[0].outcome]).toEqual([4, 'partly_accepted']);
  });

  test('--json says the same to programs', async () => {
    const { run } = await setUp(400);
    const { exit, stdout } = await run('test-receiver', 'all', '--json');
    const HOST = expect.stringMatching(/^127\.0\.0\.1:\d+$/);
    const refused = { outcome: 'not_accepted', detail: expect.stringMatching(/^HTTP 400: said no to/) };
    expect([exit, JSON.parse(stdout)]).toEqual([
      4,
      [
        {
          integration: 'email',
          to: expect.stringMatching(/^a@example\.com by /),
          outcome: 'accepted',
          detail: '',
        },
        {
          integration: 'email',
          to: expect.stringMatching(/^members of a Nest by /),
          outcome: 'left_out',
          detail: 'the server takes mails; this one goes to the members of a Nest alone',
        },
        { integration: 'webhook', to: HOST, ...refused },
        { integration: 'webhook', to: HOST, ...refused },
        { integration: 'slack', to: HOST, ...refused },
        { integration: 'msteamsv2', to: HOST, ...refused },
        { integration: 'pagerduty', to: HOST, outcome: 'accepted', detail: '' },
        { integration: 'alertmanager', to: HOST, ...refused },
      ],
    ]);
    expect(stdout).not.toMatch(/routing-canary/);
  });

  test('for members of a Nest only it connects and logs in, and sends nothing', async () => {
    const { run, mails, logins } = await setUp(200, 'right');
    const { exit, stdout } = await run('test-receiver', 'members');
    expect([exit, mails, logins]).toEqual([0, [], ['watch']]);
    expect(stdout).toMatch(
      /^email 1 \(members of a Nest by .*\): not sent: the server takes mails; this one goes to the members of a Nest alone\n$/,
    );
  });

  test('exits 4 if the server refuses the login for members', async () => {
    const { run } = await setUp(200, 'canary');
    const { exit, stdout } = await run('test-receiver', 'members');
    expect(exit).toBe(4);
    expect(stdout).toMatch(/^email 1 \(members of a Nest by .*\): not accepted: .*wrong password/);
    expect(stdout).not.toContain('canary');
  });

  test('exits 4 if the server for members cannot be reached', async () => {
    const { run } = await setUp();
    const { exit, stdout } = await run('test-receiver', 'unreachable');
    expect(exit).toBe(4);
    expect(stdout).toMatch(
      /^email 1 \(members of a Nest by 127.0.0.1:1\): not accepted: no answer from 127.0.0.1:1: it refused the connection$/m,
    );
  });

  test('--dry-run prints everything, sends nothing and shows no keys', async () => {
    const { run, posts, mails } = await setUp();
    const { exit, stdout, stderr } = await run('test-receiver', 'all', '--dry-run');
    expect([exit, posts, mails]).toEqual([0, [], []]);
    expect(stdout).toContain('Subject: ✕ Sample Bird failed · EU Sample Nest');
    expect(stdout).toContain('"t": "Sample Bird failed"');
    expect(stdout).toContain('"routing_key": "[secret]"');
    expect(stdout).toContain('"error": "This is a sample: the provider answered # … <retry later>"');
    expect(stdout + stderr).not.toMatch(/canary/);
  });

  test.each([
    ['opps', 'no receiver has the name opps; there is all, nobody, members, one-gone, one-full, unreachable'],
    ['nobody', 'receiver nobody has no integrations: it notifies nobody'],
  ])('%s: %s', async (name, words) => {
    const { run } = await setUp();
    const { exit, stderr } = await run('test-receiver', name);
    expect([exit, stderr.split('\n')[0]]).toEqual([2, `nestwatch: ${words}`]);
  });
});

describe('render', () => {
  test('prints what a receiver would be sent', async () => {
    const { print, posts } = await setUp();
    const [first, dry] = [await print('render', 'all'), await print('test-receiver', 'all', '--dry-run')];
    expect(first).toEqual(dry);
    const asJson = await print('render', 'all', '--json');
    const samples = JSON.parse(asJson.stdout) as { integration: string; to: string; text: string }[];
    expect([asJson.exit, asJson.stderr, samples.map(({ integration }) => integration)]).toEqual([
      0,
      '',
      ['email', 'email', 'webhook', 'webhook', 'slack', 'msteamsv2', 'pagerduty', 'alertmanager'],
    ]);
    expect(samples.map(({ text }) => `${text}\n`).join('')).toBe(first.stdout);
    expect((await print('render', 'all', '--resolved')).stdout).toContain('Sample Bird lands again');
    expect(posts).toEqual([]);
  });

  test('prints one template, escaped for its use', async () => {
    const file = tempFile('t.liquid', '{{ title }}: {{ message }}');
    const { exit, stdout } = await nestwatch(['render', '--template', file, '--use', 'html']);
    const json = await nestwatch(['render', '--template', file, '--use', 'html', '--json']);
    expect(`${JSON.parse(json.stdout).text}\n`).toBe(stdout);
    expect([exit, stdout]).toEqual([
      0,
      'Sample Bird failed: This is a sample: the provider answered 429 &quot;Too Many Requests&quot; &lt;retry later&gt;\n',
    ]);
  });

  test('names what is wrong with it', async () => {
    const file = tempFile('t.liquid', 'a\n{{ .Status }}');
    expect(await nestwatch(['render', '--template', file])).toEqual(
      refused(containing(`${file}: line 2, column 1: this is a Go template`)),
    );
    expect((await nestwatch(['render', '--template', '/no/such'])).stderr).toContain(
      '/no/such does not exist',
    );
    expect((await nestwatch(['render'])).stderr).toContain('name a receiver, or give --template FILE');
  });

  test('a template that fails with this sample exits 2', async () => {
    const file = tempFile(
      'n.yaml',
      `regions: { eu: { base_url: https://x, token: t } }
route: { receiver: a }
receivers: [{ name: a, slack_configs: [{ api_url: https://x.example, text: '{{ commonLabels.nobody }}' }] }]`,
    );
    const { exit, stdout, stderr } = await nestwatch(['render', 'a', '--config.file', file]);
    expect(exit).toBe(2);
    expect(stderr).toContain('The template text failed: undefined variable: commonLabels.nobody');
    expect(stdout).toContain('The built-in text is used instead.');
  });
});
