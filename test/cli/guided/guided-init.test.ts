import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { openCatcher } from '../../../src/cli/demo/demo-catcher.ts';
import { guidedInit } from '../../../src/cli/guided/guided-init.ts';
import { loadConfig, loadWarnings } from '../../../src/config/load-config.ts';
import { systemClock } from '../../../src/time/clock.ts';
import { listenInTest, tempFolder } from '../../http/servers.ts';
import { openService, TOKEN } from '../service.ts';
import { createTestEdge } from '../test-io.ts';

/** A webhook that answers with these codes in turn, and then keeps repeating the last one. */
async function openHook(...codes: number[]) {
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    bodies.push(body);
    response.writeHead(codes[bodies.length - 1] ?? codes.at(-1)!).end();
  });
  const { url } = await listenInTest(server);
  return { url: `${url}/hook`, bodies };
}

/** A person who answers each question with the next of these lines, and leaves when there are no more. */
async function answer(folder: string, lines: readonly string[]) {
  const left = [...lines];
  let asked = '';
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  const stderr = new Writable({
    write(chunk, _encoding, done) {
      asked += chunk;
      if (stripVTControlCharacters(String(chunk)).endsWith(': ')) {
        const line = left.shift();
        if (line === undefined) stdin.end();
        else stdin.write(`${line}\n`);
      }
      done();
    },
  });
  const { edge } = createTestEdge({ clock: systemClock() });
  const exit = await guidedInit({ ...edge, stdin, stderr }, folder).catch((error: Error) => error.message);
  return { exit, asked };
}

const reads = (path: string) => readFileSync(path, 'utf8');

test('it tests the region and the receiver, and writes a configuration that notifies somebody [long]', async () => {
  const { url } = await openService();
  const hook = await openHook(204);
  const folder = tempFolder();
  const page = 'https://watch.example.com';
  const { exit, asked } = await answer(folder, ['', url, TOKEN, '', '4', hook.url, '', page]);

  expect(exit).toBe(0);
  expect(asked).toContain('It answers: 2 Birds in 1 Nest, each is read about every');
  expect(asked).toContain('The test was accepted.');
  expect(asked).not.toContain(TOKEN);
  expect(asked).not.toContain(hook.url);
  expect(hook.bodies).toHaveLength(1);

  const source = { file: join(folder, 'nestwatch.yaml'), environment: {}, readFile: reads };
  const config = loadConfig(source);
  expect(loadWarnings(source, config)).toEqual([]);
  expect(
    config.regions.map(({ name, baseUrl, token }) => ({ name, baseUrl, token: token.reveal() })),
  ).toEqual([{ name: 'eu', baseUrl: url, token: TOKEN }]);
  expect(config.web.externalUrl).toBe(page);
  const secrets = join(folder, 'nestwatch-secrets');
  expect(readdirSync(secrets).sort()).toEqual(['eu-token', 'webhook-url']);
  expect(statSync(secrets).mode & 0o777).toBe(0o700);
  for (const name of readdirSync(secrets)) expect(statSync(join(secrets, name)).mode & 0o777).toBe(0o600);
});

test('what does not work is reported with its reason, and asked again [long]', async () => {
  const { url } = await openService();
  const hook = await openHook(404, 204);
  const folder = tempFolder();
  const { exit, asked } = await answer(folder, [
    ...['eu', url, 'wrong', 'y', '', '', TOKEN, 'n'],
    ...['4', hook.url, 'y', 'y', '', hook.url, 'y', 'nonsense', ''],
  ]);
  expect(exit).toBe(0);
  expect(asked).toMatch(/401|token/);
  expect(asked).toContain('The test was not accepted: HTTP 404');
  expect(asked).toContain('external_url');
  expect(hook.bodies).toHaveLength(2);
  const text = reads(join(folder, 'nestwatch.yaml'));
  expect(text).toContain('# external_url:');
  expect(readdirSync(join(folder, 'nestwatch-secrets'))).toHaveLength(2);
});

test('each answer is checked at once, is no default if refused, and is in no file yet [long]', async () => {
  const { url } = await openService();
  const folder = tempFolder();
  const { exit, asked } = await answer(folder, [
    ...['EU West', 'all', '', 'ftp://example.com', url, TOKEN, 'n'],
    ...['1', 'nobody', 'ops@example.com', 'mail.example.com', 'mail.example.com:587', '@', '', '', 'n', ''],
  ]);
  expect(exit).toBe(0);
  const shown = stripVTControlCharacters(asked).replaceAll('\r', '');
  for (const [question, times] of [
    ['Name of the region [eu]: ', 3],
    ['Address of its REST interface [https://eu-1.blackbird.io/api-rest]: ', 2],
    ['API token of an organisation admin: ', 1],
    ['Recipient: ', 2],
    ['Mail server, as host:port: ', 2],
    ['Sender [nestwatch@example.com]: ', 2],
  ] as const) {
    expect(shown.split(question).length - 1, question).toBe(times);
  }
  expect(shown).toContain(
    'regions["EU West"]: a region name has only lower-case letters, digits and hyphens\n',
  );
  expect(shown).toContain('regions.eu.base_url: ');
  expect(shown).not.toContain('nestwatch.yaml:');
  expect(shown).toMatch(/Address, such as .*, or http:\/\/127\.0\.0\.1:9465 for a trial .*\[none\]: /);
});

test('an answer that fits no question is asked again with what would [long]', async () => {
  const { url } = await openService();
  const { exit, asked } = await answer(tempFolder(), ['', url, '', TOKEN, 'maybe', 'n', '9', '1', '']);
  expect(exit).toBe('interrupted; no configuration was written');
  expect(asked.match(/(?:It needs an answer here|Answer y or n|Answer with a number from 1 to 5)/g)).toEqual([
    ...['It needs an answer here', 'Answer y or n', 'Answer with a number from 1 to 5'],
    'It needs an answer here',
  ]);
});

test.each([
  ['2', 'slack'],
  ['3', 'msteamsv2'],
  ['4', 'webhook'],
])('way %s is recognised as %s by its address [long]', async (choice, kind) => {
  const { url } = await openService();
  const folder = tempFolder();
  const { exit } = await answer(folder, ['', url, TOKEN, '', choice, 'https://hook.example/x', 'n', 'n', '']);
  expect(exit).toBe(0);
  const config = loadConfig({ file: join(folder, 'nestwatch.yaml'), environment: {}, readFile: reads });
  expect(config.receivers[0]!.integrations).toMatchObject([{ kind, sendResolved: true }]);
});

test('mail with a login, and a second region, stand in the configuration [long]', async () => {
  const { url } = await openService();
  const folder = tempFolder();
  const { exit } = await answer(folder, [
    ...['', url, TOKEN, 'y', 'eu', '', url, TOKEN, ''],
    ...['1', 'ops@example.com', 'mail.example.com:587', '', 'watch', 'pass word', 'n', ''],
  ]);
  expect(exit).toBe(0);
  const config = loadConfig({ file: join(folder, 'nestwatch.yaml'), environment: {}, readFile: reads });
  expect(config.regions.map(({ name }) => name)).toEqual(['eu', 'us']);
  expect(config.receivers[0]!.integrations).toMatchObject([
    { kind: 'email', to: ['ops@example.com'], from: 'nestwatch@example.com' },
  ]);
  expect(reads(join(folder, 'nestwatch-secrets/smtp-password'))).toBe('pass word\n');
});

test('a mail server without encryption is asked about, and the mail arrives [long]', async () => {
  const { url } = await openService();
  const mails: string[] = [];
  const catcher = await openCatcher(({ subject }) => mails.push(subject));
  onTestFinished(() => catcher.close());
  const folder = tempFolder();
  const mail = ['1', 'ops@example.com', catcher.smarthost, '', '', ''];
  const { asked } = await answer(folder, ['', url, TOKEN, 'n', ...mail, 'y', '']);
  expect(asked).toContain('STARTTLS');
  expect(mails).toHaveLength(1);
  expect(reads(join(folder, 'nestwatch.yaml'))).toContain('smtp_require_tls: false');
  expect(asked).not.toContain('No test has arrived');

  const other = tempFolder();
  const refused = await answer(other, ['', url, TOKEN, 'n', ...mail, '', 'n', '']);
  expect(refused.asked).toMatch(/No test has arrived yet, .*: \S*node .*main\.ts test-receiver ops/);
});

test('whoever wants encryption is asked for another server, and gives no other answer twice [long]', async () => {
  const { url } = await openService();
  const catcher = await openCatcher(() => {});
  onTestFinished(() => catcher.close());
  const folder = tempFolder();
  const { exit, asked } = await answer(folder, [
    ...['', url, TOKEN, 'n', '1', 'ops@example.com', catcher.smarthost, 'watch@example.com', '', ''],
    ...['', '', '', 'mail.example.com:587', '', 'user', 'secret', 'n', ''],
  ]);
  expect(exit).toBe(0);
  expect(asked).toContain('Name another mail server or port?');
  expect(asked.split('Who is notified?')).toHaveLength(2);
  const text = reads(join(folder, 'nestwatch.yaml'));
  for (const said of ['to: "ops@example.com"', 'mail.example.com:587', 'watch@example.com', 'user'])
    expect(text).toContain(said);
  expect(text).not.toContain('smtp_require_tls');
});

test('after a failed test of mails the answers are the defaults, but not the password [long]', async () => {
  const { url } = await openService();
  const folder = tempFolder();
  const mail = ['ops@example.com', '127.0.0.1:1', 'watch@example.com', 'user', 'first'];
  const { exit, asked } = await answer(folder, [
    ...['', url, TOKEN, 'n', '1', ...mail, '', '', '', '', '', '', '', 'second', '', '', '', '', '', '', '-'],
    ...['n', ''],
  ]);
  expect(exit).toBe(0);
  for (const told of ['ops@example.com', '127.0.0.1:1', 'watch@example.com'])
    expect(asked.split(` [${told}]: `), told).toHaveLength(3);
  expect(asked).toContain('User name for the mail server, - for none [user]: ');
  expect(asked).not.toMatch(/first|second/);
  expect(reads(join(folder, 'nestwatch.yaml'))).not.toContain('smtp_auth');
});

test('an existing configuration is left alone, before anything is asked', async () => {
  const folder = tempFolder();
  writeFileSync(join(folder, 'nestwatch.yaml'), 'mine');
  expect(await answer(folder, [])).toEqual({
    exit: 'nestwatch.yaml exists already and stays as it is',
    asked: '',
  });
  expect(reads(join(folder, 'nestwatch.yaml'))).toBe('mine');
});

test('an existing secret file is not overwritten [long]', async () => {
  const { url } = await openService();
  const folder = tempFolder();
  const answers = ['', url, TOKEN, '', '5', ''];
  await answer(folder, answers);
  rmSync(join(folder, 'nestwatch.yaml'));
  expect((await answer(folder, answers)).exit).toBe(0);
  expect(readdirSync(join(folder, 'nestwatch-secrets')).sort()).toEqual(['eu-token', 'eu-token-2']);
});

test('when interrupted, it has written nothing [long]', async () => {
  const { url } = await openService();
  const folder = tempFolder();
  const { exit } = await answer(folder, ['', url, TOKEN, 'n']);
  expect(exit).toBe('interrupted; no configuration was written');
  expect(readdirSync(folder)).toEqual([]);
});

test('without a terminal it says what to use instead', async () => {
  const { edge } = createTestEdge();
  await expect(guidedInit(edge, tempFolder())).rejects.toThrow('it asks questions: run it in a terminal');
});
