/**
 * A Nest of thirty members with odd addresses, from the service to a real mail server, with and without SMTPUTF8: who
 * can be mailed is mailed once, and everybody else is named wherever a person looks. It is made of the parts
 * themselves, since the stage has no mail server.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { domainToASCII } from 'node:url';
import { SMTPServer } from 'smtp-server';
import { expect, onTestFinished, test } from 'vitest';
import { flushGroups } from '../../src/alerting/flush-groups.ts';
import { joinGroups } from '../../src/alerting/join-groups.ts';
import { openMails } from '../../src/channels/email/email-channel.ts';
import { createDelivery } from '../../src/delivery/outbox.ts';
import { createRecurrences } from '../../src/domain/muting/silence.ts';
import { createMemberBook } from '../../src/intake/inventory/inventory-reading.ts';
import { createLogReport } from '../../src/observe/log.ts';
import { email } from '../channels/sample-notifications.ts';
import { openService, TOKEN } from '../cli/service.ts';
import { nestwatch, tempFile } from '../cli/test-io.ts';
import { anAlert, anAlertingConfig, anEvent, NOW_US, putAlert } from '../web/sample.ts';
import { serve } from '../web/served.ts';

/** As the service gives them, with the address that is mailed. */
const MAILED: ReadonlyMap<string, string> = new Map([
  ['anna@example.com', 'anna@example.com'],
  [' bo@example.com ', 'bo@example.com'],
  ['\tcy@example.com\r\n', 'cy@example.com'],
  ['Di@EXAMPLE.COM', 'Di@example.com'],
  ['ed@example.com.', 'ed@example.com'],
  ['flo@münchen.example', 'flo@xn--mnchen-3ya.example'],
  ['gus@xn--mnchen-3ya.example', 'gus@xn--mnchen-3ya.example'],
  ['gus@MÜNCHEN.example', 'gus@xn--mnchen-3ya.example'],
  ['gus@münchen.example', 'gus@xn--mnchen-3ya.example'],
  ["o'hara+nest@example.com", "o'hara+nest@example.com"],
]);
const BEYOND_ASCII: ReadonlyMap<string, string> = new Map([
  ['jürgen@example.com', 'jürgen@example.com'],
  ['jürgen@EXAMPLE.com', 'jürgen@example.com'],
  ['用户@例子.example', '用户@xn--fsqu00a.example'],
  ['почта@example.com', 'почта@example.com'],
]);
const NEVER = [
  ...['', '@example.com', 'ida@', 'jo', 'ka te@example.com', 'lu@exam ple.com', 'Mo <mo@example.com>'],
  ...['<nat@example.com>', 'olga@example.com, eve@evil.example', 'pim@example.com;eve@evil.example'],
  ...['quin@example.com\r\nBcc: eve@evil.example', 'ray\u202e@example.com', 'sam@example.com@evil.example'],
  ...['tom@[127.0.0.1]', 'una@127.1', `${'v'.repeat(250)}@example.com`, 'wim@example..com'],
];
/** What names somebody of `NEVER`, whatever else was cut or cleaned. */
const NAMES_OF_NEVER = [
  ...['Nameless Member', '@example.com', 'ida@', 'jo', 'ka te@', 'lu@exam', 'mo@', 'nat@', 'olga@', 'pim@'],
  ...['quin@', 'ray', 'sam@', 'tom@', 'una@', 'vvvvvvvv', 'wim@'],
];

function inAscii(address: string): string {
  const [local = '', domain = ''] = address.split('@');
  return `${local}@${domainToASCII(domain)}`;
}

async function mailServer(offersUtf8: boolean) {
  const mails: { readonly to: readonly string[]; readonly head: string; readonly isUtf8: boolean }[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    hideSMTPUTF8: !offersUtf8,
    onData(stream, { envelope }, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const [head = ''] = Buffer.concat(chunks).toString().split('\r\n\r\n');
        // The library shows domains in Unicode, however they were sent.
        const to = envelope.rcptTo.map(({ address }) => inAscii(address));
        const isUtf8 = 'smtpUtf8' in envelope && envelope.smtpUtf8 === true;
        const isBeyond = /[^\0-\x7f]/.test(`${to.join()}${head}`);
        if (isBeyond && !isUtf8) {
          done(Object.assign(new Error('SMTPUTF8 is required'), { responseCode: 554 }));
          return;
        }
        mails.push({ to, head, isUtf8 });
        done();
      });
    },
  });
  server.on('error', () => {});
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  onTestFinished(() => new Promise<void>((resolve) => server.close(resolve)));
  return { mails, port: (server.server.address() as AddressInfo).port };
}

test.each([
  ['with', true],
  ['without', false],
])('by a mail server %s SMTPUTF8 [long]', async (_, offersUtf8) => {
  const { mails, port } = await mailServer(offersUtf8);
  const { world, url, nest } = await openService();
  for (const address of [...MAILED.keys(), ...BEYOND_ASCII.keys(), ...NEVER]) {
    const user = world.addUser({ email: address, firstName: 'Nameless', lastName: 'Member' });
    world.addMember(nest.id, user.id);
  }
  const members = [...MAILED.keys(), ...BEYOND_ASCII.keys(), ...NEVER].map((address, at) => ({
    ...{ id: `u${at}`, firstName: 'Nameless', lastName: 'Member', email: address, isActive: true },
  }));
  const integration = email({
    ...{ to: [], toNestMembers: true, requireTls: false },
    smarthost: { host: '127.0.0.1', port },
  });
  const receivers = [{ name: 'ops', integrations: [integration] }];
  const { route, ...others } = anAlertingConfig();
  const alerting = { ...others, receivers, route: { ...route, groupWaitMs: 0, routes: [] } };
  const { web, store, clock, ask } = await serve({ alerting });
  const lines: string[] = [];
  const write = (sentence: string, data: unknown) => {
    lines.push(`${sentence} ${JSON.stringify(typeof data === 'function' ? data() : data)}`);
  };
  const report = createLogReport({ debug() {}, info: write, warn: write, error: write }, clock);

  const book = createMemberBook('eu', store, report);
  for (let reading = 0; reading < 3; reading += 1)
    await book.keep([{ id: '682', name: 'Marketing', members }]);
  const event = anEvent({ id: 'f1/failed' });
  await putAlert(store, { id: 'a' }, [event]);
  const flush = () =>
    store.transaction(async (tx) => {
      const config = { ...alerting, regions: [{ name: 'eu' }] };
      await joinGroups(tx, config, () => 1e12, new Map(), NOW_US);
      await flushGroups(tx, config, createRecurrences(), { everyGroup: true, growth: new Map() }, NOW_US);
    });
  await flush();
  const channel = openMails({ clock, version: '1' });
  onTestFinished(() => channel.close());
  const externalUrl = 'https://watch.example.com';
  const rest = { clock, random: () => 0.5, report, externalUrl };
  await createDelivery({ store, receivers, channels: { email: channel }, ...rest }).drain();

  const expected = [...MAILED.values(), ...(offersUtf8 ? BEYOND_ASCII.values() : [])];
  expect(mails.flatMap(({ to }) => to).toSorted()).toEqual([...new Set(expected)].toSorted());
  for (const { to, head, isUtf8 } of mails) {
    // Who can be mailed by any server is mailed so that any server can pass it on.
    expect(isUtf8).toBe(to.some((one) => /[^\0-\x7f]/.test(one)));
    if (!isUtf8) expect(head).not.toMatch(/[^\0-\x7f]/);
    expect(head).not.toContain('evil.example\r\n');
  }

  const named = [...NAMES_OF_NEVER, ...(offersUtf8 ? [] : BEYOND_ASCII.values())];
  const run = async (...args: string[]) => {
    const { exit, stdout } = await nestwatch([...args, '--url', web.url], { clock });
    expect(exit).toBe(0);
    return stdout;
  };
  const [one] = await store.transaction((tx) => tx.outbox.page({ limit: 10 }).then((one) => one.deliveries));
  expect(one).toMatchObject({ state: 'delivered' });
  const config = tempFile(
    'n.yaml',
    `regions: { eu: { base_url: "${url}", token: '${TOKEN}' } }
global: { smtp_smarthost: "127.0.0.1:${port}", smtp_from: n@example.com, smtp_require_tls: false }
receivers: [{ name: ops, email_configs: [{ to: nest_members }] }]
route: { receiver: ops }
`,
  );
  const doctor = await nestwatch(['doctor', '--watch', '1s', '--config.file', config]);
  expect(doctor.exit).toBe(0);
  const escaped = (await ask(`/deliveries/${one!.id}`)).body;
  const page = escaped.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&#39;', "'");
  const places = {
    delivery: await run('deliveries', 'show', one!.id),
    page,
    explain: await run('explain', event.key),
    doctor: doctor.stdout,
    log: lines.filter((line) => line.startsWith('Somebody is not notified')).join('\n'),
  };
  for (const [place, text] of Object.entries(places)) {
    for (const name of named) expect(text, `${place}: ${name}`).toContain(name);
  }
  const once = lines.filter((line) => line.startsWith('Somebody is not notified'));
  expect(once).toHaveLength(new Set(named).size);
  expect(new Set(once).size).toBe(once.length);

  // Of a Nest where nobody can be mailed, or not by this server, the delivery says so, and the receiver does not fail.
  const alone = { ...members[0]!, email: 'ka te@example.com' };
  const beyond = { ...members[0]!, email: 'jürgen@example.com' };
  const nests = [
    { id: '7', name: 'Sales', members: [alone] },
    { id: '8', name: 'Legal', members: [beyond] },
  ];
  await book.keep(nests, false);
  for (const { id } of nests) {
    const labels = { ...anAlert({ id }).labels, nest_id: id };
    await putAlert(store, { id, scope: `eu/bird/${id}`, labels }, [{ id: `${id}/failed` }]);
  }
  await flush();
  await createDelivery({ store, receivers, channels: { email: channel }, ...rest }).drain();
  const deliveries = await store.transaction((tx) =>
    tx.outbox.page({ limit: 10 }).then((one) => one.deliveries),
  );
  const reasons = deliveries.filter(({ state }) => state === 'suppressed').map(({ lastError }) => lastError);
  const why = 'the mail server does not offer SMTPUTF8, which this address needs';
  expect(reasons.toSorted()).toEqual([
    ...(offersUtf8 ? [] : [`nobody can be mailed: jürgen@example.com: ${why}`]),
    'nobody in Nest 7 can be mailed: ka te@example.com: the address has a blank in it',
  ]);
  // Both fall back at once.
  const fallbacks = await store.transaction((tx) => tx.outbox.takeFallbacks(clock.nowUs(), 10));
  expect(fallbacks).toHaveLength(reasons.length);
  expect(await store.transaction((tx) => tx.outbox.failingIntegrations())).toEqual([]);
});
