import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { resolve } from 'node:path';
import { SMTPServer } from 'smtp-server';
import { describe, expect, onTestFinished, test } from 'vitest';
import { makeAuthority, makeCertificate } from '../../http/certificates.ts';
import { listenInTest, serveProxy, serveTls, tempFolder } from '../../http/servers.ts';
import { openService, TOKEN } from '../service.ts';
import { done, nestwatch, tempFile } from '../test-io.ts';

const REGION = 'regions: { eu: { base_url: https://x/api-rest, token: t } }\n';
const WAYS = 'webhook_configs: [{ url: https://x }]';
/** With it, somebody is notified. */
const HOOK = `receivers: [{ name: default, ${WAYS} }]\n`;

describe('check-config', () => {
  test('says what a good file contains', async () => {
    const file = tempFile('n.yaml', REGION + HOOK);
    expect(await nestwatch(['check-config', file])).toEqual(
      done(`${file}: good: regions eu; receivers default\n`),
    );
  });

  test('names every mistake of every file, and exits 2', async () => {
    const bad = tempFile('bad.yaml', `${REGION}rulez: []\npoll: { page_size: 0 }`);
    const good = tempFile('good.yaml', REGION + HOOK);
    expect(await nestwatch(['check-config', bad, good, '/no/such.yaml', 'such.yaml'])).toEqual({
      exit: 2,
      stdout: `${bad}:2:1: rulez: unknown key; did you mean \`rules\`?
${bad}:3:20: poll.page_size: must be at least 1
${good}: good: regions eu; receivers default
/no/such.yaml:1:1: the file does not exist
${resolve('such.yaml')}:1:1: the file does not exist
`,
      stderr: '',
    });
  });

  test('--json prints the mistakes as data', async () => {
    const bad = tempFile('bad.yaml', `${REGION}rulez: []`);
    const { exit, stdout } = await nestwatch(['check-config', '--json', bad]);
    expect(exit).toBe(2);
    expect(JSON.parse(stdout)).toEqual([
      { file: bad, line: 2, column: 1, path: 'rulez', message: 'unknown key; did you mean `rules`?' },
    ]);
    expect((await nestwatch(['check-config', '--json', tempFile('good.yaml', REGION + HOOK)])).stdout).toBe(
      '[]\n',
    );
  });

  test('warnings are printed, and with --strict they exit 3 [long]', async () => {
    const file = tempFile(
      'n.yaml',
      `${REGION}route: { receiver: a }\nreceivers: [{ name: a, ${WAYS} }, { name: b, ${WAYS} }]`,
    );
    const good = `${file}: good: regions eu; receivers a, b\n`;
    const line = `${file}:3:73: receivers[1].name: warning: nothing leads to this receiver: name it in a route\n`;
    expect(await nestwatch(['check-config', file])).toEqual(done(good + line));
    expect(await nestwatch(['check-config', '--strict', file])).toMatchObject({
      exit: 3,
      stdout: good + line,
    });
    const { exit, stdout } = await nestwatch(['check-config', '--strict', '--json', file]);
    expect(exit).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject([
      { file, line: 3, path: 'receivers[1].name', level: 'warning' },
    ]);
    const bad = tempFile('bad.yaml', 'rulez: []');
    expect((await nestwatch(['check-config', '--strict', file, bad])).exit).toBe(2);
    const quiet = tempFile('quiet.yaml', REGION + HOOK);
    expect((await nestwatch(['check-config', '--strict', quiet])).exit).toBe(0);
  });

  test('takes the file by --config.file as other commands do', async () => {
    const file = tempFile('n.yaml', REGION + HOOK);
    const bad = tempFile('bad.yaml', 'regions: {}');
    const { exit, stdout } = await nestwatch(['check-config', '--config.file', file]);
    expect([exit, stdout.startsWith(`${file}: good`)]).toEqual([0, true]);
    expect((await nestwatch(['check-config', '--config.file', file, bad])).exit).toBe(2);
  });

  test('without a file it takes the one that $NESTWATCH_CONFIG names', async () => {
    const file = tempFile('n.yaml', REGION + HOOK);
    const { exit, stdout } = await nestwatch(['check-config'], { environment: { NESTWATCH_CONFIG: file } });
    expect([exit, stdout.startsWith(`${file}: good`)]).toEqual([0, true]);
  });
});

describe('check-config --online', () => {
  async function setUp({ password = 'right', token = TOKEN } = {}) {
    const { url, world } = await openService();
    const mails: string[] = [];
    const smtp = new SMTPServer({
      disabledCommands: ['STARTTLS'],
      allowInsecureAuth: true,
      onAuth: ({ password: given }, _session, done) =>
        given === 'right' ? done(null, { user: 'me' }) : done(new Error('535 no')),
      onMailFrom: ({ address }, _session, done) => {
        mails.push(address);
        done();
      },
    });
    smtp.on('error', () => {});
    const mail = await listenInTest(smtp.server);
    const posts: string[] = [];
    const hook = createServer((request, response) => {
      posts.push(request.url ?? '');
      response.end();
    });
    const { port } = await listenInTest(hook);
    const file = tempFile(
      'n.yaml',
      `regions: { eu: { base_url: "${url}", token: '${token}' } }
web: { external_url: https://x }
global: { smtp_smarthost: "127.0.0.1:${mail.port}", smtp_from: n@example.com, smtp_require_tls: false, smtp_auth_username: me, smtp_auth_password: ${password} }
route: { receiver: ops, routes: [{ receiver: lake, matchers: [bird=b] }] }
receivers:
  - name: ops
    email_configs: [{ to: a@example.com }, { to: b@example.com }]
    webhook_configs: [{ url: "http://127.0.0.1:${port}/key" }]
    slack_configs: [{ api_url: "http://localhost:${port}/key" }]
  - name: lake
    email_configs: [{ to: c@example.com }]
    webhook_configs: [{ url: "http://127.0.0.1:${port}/other" }]
`,
    );
    const connections = { smtp: 0, hook: 0 };
    smtp.server.on('connection', () => connections.smtp++);
    hook.on('connection', () => connections.hook++);
    return { file, world, mails, posts, smtpPort: mail.port, hook, connections };
  }

  test('tries each token, mail server and webhook once, reports it for every receiver, and sends nothing [long]', async () => {
    const { file, world, mails, posts, smtpPort, connections } = await setUp();
    const { exit, stdout } = await nestwatch(['check-config', '--online', file]);
    expect(stdout.split('\n').slice(1)).toEqual([
      `${file}: regions.eu: good: 2 Birds in 1 Nest, each is read about every 30 s`,
      `${file}: receiver ops, mail server 127.0.0.1:${smtpPort}: good`,
      `${file}: receiver ops, webhook 1: good`,
      `${file}: receiver ops, slack 1: good`,
      `${file}: receiver lake, mail server 127.0.0.1:${smtpPort}: good`,
      `${file}: receiver lake, webhook 1: good`,
      '',
    ]);
    expect(exit).toBe(0);
    expect(world.requests().byOperation).toEqual({ searchNests: 1, searchBirds: 1 });
    expect([mails, posts]).toEqual([[], []]);
    // One for each address: 127.0.0.1 and localhost.
    expect(connections).toEqual({ smtp: 1, hook: 2 });
  });

  test('says how many Birds each rule fits that asks for its kind, and warns of none and of more than 50 [long]', async () => {
    const { url, world, nest } = await openService();
    for (let number = 1; number <= 50; number += 1) {
      world.addBird(nest.id, { name: `Export ${number}`, triggerType: 'event' });
    }
    const file = tempFile(
      'rules.yaml',
      `regions: { eu: { base_url: "${url}", token: '${TOKEN}' } }
rules:
  - { kind: FlightOverdue, name: all, landed_by: 0 7 * * * }
  - { kind: FlightOverdue, name: exports, match: ['bird=~"Export.*"'], landed_by: 0 7 * * * }
  - { kind: FlightOverdue, name: nightly, match: ['bird="Nightly"'], landed_by: 0 7 * * * }
  - { kind: FlightFailed, match: ['bird="Nightly"'] }
  - { kind: BirdNotAsDeclared, name: active, state: active }
  - { kind: NestWithoutOwner, name: ours }
  - { kind: NestWithoutOwner, name: prod, match: ['nest=~"Prod.*"'] }
`,
    );
    const { exit, stdout } = await nestwatch(['check-config', '--online', '--strict', file]);
    expect(stdout.split('\n').filter((line) => line.includes('rule '))).toEqual([
      `${file}: rule all, FlightOverdue: good: fits 52 Birds`,
      `${file}: rule all, FlightOverdue: warning: it fits 52 Birds, each of which makes an alert of its own`,
      `${file}: rule exports, FlightOverdue: good: fits 50 Birds`,
      `${file}: rule nightly, FlightOverdue: good: fits 0 Birds`,
      `${file}: rule nightly, FlightOverdue: warning: it fits no Bird: check its \`match\``,
      `${file}: rule active, BirdNotAsDeclared: good: fits 52 Birds`,
      `${file}: rule ours, NestWithoutOwner: good: fits 1 Nest`,
      `${file}: rule prod, NestWithoutOwner: good: fits 0 Nests`,
      `${file}: rule prod, NestWithoutOwner: warning: it fits no Nest: check its \`match\``,
    ]);
    expect(exit).toBe(3);
    const { stdout: refused } = await nestwatch([
      ...['check-config', '--online'],
      tempFile('rules.yaml', readFileSync(file, 'utf8').replace(TOKEN, 'refus3d')),
    ]);
    expect(refused).toContain('rule nightly, FlightOverdue: good: fits 0 Birds of those that were listed');
    expect(refused).not.toContain('fits no Bird');
  });

  test('what does not work is reported without its secrets, and exits 4', async () => {
    const { file, hook, smtpPort } = await setUp({ password: 'wr0ng', token: 'refus3d' });
    hook.close();
    const { exit, stdout } = await nestwatch(['check-config', '--online', file]);
    expect(exit).toBe(4);
    expect(stdout).toContain(
      'regions.eu: searchNests of eu: the service answered 401. The token was refused',
    );
    expect(stdout).toMatch(new RegExp(`mail server 127.0.0.1:${smtpPort}: .*535`));
    const refused = 'it refused the connection. No connection: check the address';
    expect(stdout).toMatch(new RegExp(`receiver ops, webhook 1: no answer from 127.0.0.1:\\d+: ${refused}`));
    expect(stdout).toMatch(new RegExp(`receiver ops, slack 1: no answer from localhost:\\d+: ${refused}`));
    expect(stdout).not.toMatch(/wr0ng|refus3d|\/key/);
  });

  test('what does not work is told in words', async () => {
    const server = createServer((_, response) => response.end());
    const { port } = await listenInTest(server);
    const file = tempFile(
      'n.yaml',
      `${REGION}global: { smtp_smarthost: "127.0.0.1:1", smtp_from: n@example.com }
route: { receiver: ops }
receivers:
  - name: ops
    email_configs: [{ to: a@example.com }]
    webhook_configs: [{ url: "https://127.0.0.1:${port}/key" }, { url: "http://alertmanager.invalid/key" }]
`,
    );
    const { exit, stdout } = await nestwatch(['check-config', '--online', file]);
    expect(exit).toBe(4);
    const help = 'No connection: check the address, DNS, firewall and TLS certificate.';
    expect(stdout.split('\n').filter((line) => line.includes(': receiver '))).toEqual([
      `${file}: receiver ops, mail server 127.0.0.1:1: no answer from 127.0.0.1:1: it refused the connection`,
      `${file}: receiver ops, webhook 1: no answer from 127.0.0.1:${port}: it does not speak TLS there. ${help}`,
      expect.stringMatching(/: receiver ops, webhook 2: no answer from alertmanager\.invalid: its name /),
    ]);
  });

  test('says which address does not answer with the Nests if the path of base_url is wrong', async () => {
    const { url } = await openService();
    const wrong = url.replace('/api-rest', '/wrong');
    const text = `regions: { eu: { base_url: "${wrong}", token: '${TOKEN}' } }`;
    const { exit, stdout } = await nestwatch(['check-config', '--online', tempFile('wrong.yaml', text)]);
    expect(exit).toBe(4);
    expect(stdout).toContain(
      `regions.eu: searchNests of eu: the service answered 404. Check regions.eu.base_url: GET ${wrong}/nests must`,
    );
  });

  test('--json prints what was tried, and whether it works', async () => {
    const { file, smtpPort } = await setUp({ token: 'refus3d' });
    const { exit, stdout } = await nestwatch(['check-config', '--online', '--json', file]);
    expect(exit).toBe(4);
    const tried = (what: string) => ({ file, what, works: true, message: 'good' });
    expect(JSON.parse(stdout)).toEqual([
      { file, what: 'regions.eu', works: false, message: expect.stringContaining('401') },
      tried(`receiver ops, mail server 127.0.0.1:${smtpPort}`),
      tried('receiver ops, webhook 1'),
      tried('receiver ops, slack 1'),
      tried(`receiver lake, mail server 127.0.0.1:${smtpPort}`),
      tried('receiver lake, webhook 1'),
    ]);
  });

  test('a region behind a proxy and with its own authority [long]', async () => {
    const folder = tempFolder();
    makeAuthority(folder, 'authority');
    makeCertificate(folder, 'authority', 'server');
    const proxy = await serveProxy();
    const service = await serveTls(folder, 'server', () => ({ status: 200, body: '[]' }));
    onTestFinished(() => Promise.all([proxy.close(), service.close()]).then(() => {}));
    const region = (more: string) =>
      tempFile(
        'nestwatch.yaml',
        `regions: { eu: { base_url: "${service.url}/api-rest", token: "${TOKEN}"${more} } }\n`,
      );
    const trust = `, tls_config: { ca_file: "${folder}/authority.pem" }`;
    const good = await nestwatch([
      ...['check-config', '--online'],
      region(`${trust}, proxy_url: "${proxy.url}"`),
    ]);
    expect(good.stdout).toContain('regions.eu: good');
    expect(proxy.targets).toEqual([`CONNECT localhost:${service.port}`]);
    const api = await nestwatch(['api', 'searchNests', '--config.file', region(trust)]);
    expect(api).toMatchObject({ exit: 0, stdout: '[]\n' });
    expect(await nestwatch(['check-config', '--online', region('')])).toMatchObject({ exit: 4 });
  });
});
