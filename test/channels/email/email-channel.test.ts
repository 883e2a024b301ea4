import { createHash, createVerify, generateKeyPairSync } from 'node:crypto';
import { lookup } from 'node:dns';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import PostalMime, { type Email } from 'postal-mime';
import type { SMTPServerOptions } from 'smtp-server';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openMails } from '../../../src/channels/email/email-channel.ts';
import { createPools } from '../../../src/channels/email/smtp.ts';
import { createDelivery } from '../../../src/delivery/outbox.ts';
import type { Notification } from '../../../src/domain/grouping/notification.ts';
import { secret } from '../../../src/secret.ts';
import type { Delivery } from '../../../src/store/outbox-store.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { compileTemplate } from '../../../src/templates/liquid.ts';
import { SAMPLE_VARIABLES } from '../../../src/templates/variables.ts';
import { temporaryFolder } from '../../store/temporary-folder.ts';
import { createVirtualClock } from '../../virtual-clock.ts';
import { alert, delivery, email, failedFlight, forward, group, NOW_US } from '../sample-notifications.ts';
import { openSmtp } from './open-smtp.ts';

interface Received {
  readonly mail: Email;
  readonly raw: string;
  readonly to: readonly string[];
}

/** A real SMTP server on loopback that keeps what it accepts, and a channel to it. */
async function mailServer(options: SMTPServerOptions = {}) {
  const mails: Received[] = [];
  const sockets = new Set<Socket>();
  const { server, smarthost, channel } = await openSmtp(
    {
      onData(stream, session, done) {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', async () => {
          const raw = Buffer.concat(chunks);
          const to = session.envelope.rcptTo.map(({ address }) => address);
          mails.push({ mail: await PostalMime.parse(raw), raw: raw.toString('latin1'), to });
          done();
        });
      },
      ...options,
    },
    { lookUp: lookup },
  );
  server.server.on('connection', (socket: Socket) => sockets.add(socket));
  const hangUp = () => {
    for (const socket of sockets) socket.destroy();
  };
  const at = { smarthost };
  const send = (
    changes: Parameters<typeof email>[0] = {},
    notification: Notification = group(),
    id = 'd-1',
  ) => channel.send(email({ ...at, ...changes }), delivery({ id }), notification, URL);
  return { mails, channel, hangUp, at, send };
}

const refusal = (responseCode: number, words: string) => Object.assign(new Error(words), { responseCode });
const URL = 'https://watch.example.com';

describe('a mail through a real server', () => {
  test('is read back with its headers, text and HTML [long]', async () => {
    const { mails, send } = await mailServer();
    const to = ['Ops <ops@example.com>', 'second@example.com'];
    const first = alert({ labels: { ...alert().labels, bird: 'Übersetzen 日本語' } });
    const notification = group({
      alerts: [first],
      groupLabels: { alertname: 'FlightFailed', region: 'eu', nest: 'Marketing', bird: 'Übersetzen 日本語' },
    });
    expect(await send({ to }, notification)).toEqual({ kind: 'accepted' });
    expect(mails).toHaveLength(1);
    const [{ mail, raw, to: envelope }] = mails as [Received];
    const header = (name: string) => mail.headers.find(({ key }) => key === name)?.value;
    expect(mail.subject).toBe('✕ Übersetzen 日本語 failed · EU Marketing');
    expect(mail.from?.address).toBe('nestwatch@example.com');
    expect(envelope).toEqual(['ops@example.com', 'second@example.com']);
    // Before the subject, and as encoded words like the subject.
    expect(raw).toMatch(/^Thread-Topic: =\?UTF-8\?[\s\S]*^Subject: =\?UTF-8/m);
    expect(mail.date).toBe(new Date(NOW_US / 1000).toISOString());
    expect(header('auto-submitted')).toBe('auto-generated');
    expect(header('x-auto-response-suppress')).toBe('All');
    expect(mail.messageId).toMatch(/^<thread\.[0-9a-f]{32}@example\.com>$/);
    const [headline, whereAndWhen] = mail.text?.split('\n') ?? [];
    expect(headline).toBe('Übersetzen 日本語 failed');
    expect(whereAndWhen).toMatch(/^EU · Marketing · since 2 Jul 2026/);
    expect(mail.html).toContain('Übersetzen 日本語 failed');
    expect(mail.attachments).toEqual([]);
    expect(raw).toMatch(/multipart\/alternative/);
  });

  test("goes to the address found for the server's name", async () => {
    const { at, mails } = await mailServer();
    const asked: string[] = [];
    const channel = openMails({
      clock: createVirtualClock(),
      version: '1.2.3',
      lookUp(name, _options, answered) {
        asked.push(name);
        if (name === 'nowhere.example') answered(Object.assign(new Error('none'), { code: 'ENOTFOUND' }), []);
        else answered(null, [{ address: '127.0.0.1', family: 4 }]);
      },
    });
    onTestFinished(() => channel.close());
    const to = (host: string) => email({ smarthost: { ...at.smarthost, host } });
    expect((await channel.send(to('mail.example'), delivery(), group(), URL)).kind).toBe('accepted');
    expect(await channel.send(to('nowhere.example'), delivery({ id: 'd-2' }), group(), URL)).toEqual({
      ...{ kind: 'failed', reason: 'unreachable', error: 'none' },
    });
    expect(asked).toEqual(['mail.example', 'nowhere.example']);
    expect(mails).toHaveLength(1);
  });

  test('goes to the addresses of the notification if it has its own', async () => {
    const { mails, send } = await mailServer();
    const to = ['anna@example.com', 'bo@example.com'];
    const notification = group({ to, notices: ['2 notifications were held back & <b>more</b>.'] });
    expect(await send({ to: [] }, notification)).toEqual({ kind: 'accepted' });
    expect(mails[0]!.to).toEqual(to);
    expect(mails[0]!.mail.to?.map(({ address }) => address)).toEqual(to);
    expect(mails[0]!.mail.text).toContain('2 notifications were held back & <b>more</b>.');
    expect(mails[0]!.mail.html).toContain('2 notifications were held back &amp; &lt;b&gt;more&lt;/b&gt;.');
  });

  test.each([
    ['Watch <n@München.example>', 'xn--mnchen-3ya.example'],
    ['n@example.org', 'example.org'],
    ['n@[127.0.0.1]', 'localhost'],
  ])("has a Message-ID in the sender's domain, whatever the page's address is: %s", async (from, domain) => {
    const { at, channel, mails } = await mailServer();
    await channel.send(email({ ...at, from }), delivery(), group(), 'http://10.1.2.3:9465');
    expect(mails[0]?.mail.messageId).toMatch(new RegExp(`^<thread\\.[0-9a-f]{32}@${domain}>$`));
  });

  test('has the same Message-ID in every attempt, and replies refer to the first mail', async () => {
    const { mails, send } = await mailServer();
    await send();
    await send();
    await send({}, group({ threadPosition: 1, reason: 'new_events' }), 'd-2');
    const [first, again, reply] = mails.map(({ mail }) => mail);
    expect(again?.messageId).toBe(first?.messageId);
    expect([first, reply].map((mail) => mail?.subject)).toEqual([
      '✕ Translate blog failed · EU Marketing',
      '✕ Translate blog still fails · EU Marketing',
    ]);
    expect(reply).toMatchObject({ inReplyTo: first?.messageId, references: first?.messageId });
    expect(reply?.messageId).not.toBe(first?.messageId);
  });

  test('is sent over a new connection when the server has dropped the idle one [long]', async () => {
    const { mails, hangUp, send } = await mailServer();
    expect((await send()).kind).toBe('accepted');
    hangUp();
    expect((await send({}, group(), 'd-2')).kind).toBe('accepted');
    expect(mails).toHaveLength(2);
  });

  test('takes no headers or files from hostile names', async () => {
    const { mails, send } = await mailServer();
    const bad = 'x\r\nBcc: victim@example.com\r\n\r\n<b>\u2028data:text/plain,a';
    const labels = { alertname: bad, region: bad, nest: bad, bird: bad };
    const notification = group({
      groupLabels: labels,
      alerts: [alert({ labels, events: [failedFlight(1, { message: '\r\n.\r\nMAIL FROM:<x@y>\r\n' })] })],
    });
    expect((await send({}, notification, bad)).kind).toBe('accepted');
    const [{ mail, to }] = mails as [Received];
    expect(to).toEqual(['ops@example.com']);
    expect(mail.bcc).toBeUndefined();
    expect(mail.headers.map(({ key }) => key)).not.toContain('bcc');
    expect(mail.text).toContain('MAIL FROM:<x@y>');
    expect(mails).toHaveLength(1);
  });

  test('logs in with the password', async () => {
    const seen: unknown[] = [];
    const { send } = await mailServer({
      authOptional: false,
      allowInsecureAuth: true,
      onAuth({ username, password }, _session, done) {
        seen.push([username, password]);
        done(password === 'p$ss#1' ? null : refusal(535, 'no'), { user: username });
      },
    });
    const login = (password: string) => send({ username: 'me', password: secret(password) });
    expect((await login('p$ss#1')).kind).toBe('accepted');
    const refused = await login('canary');
    // A wrong password is corrected in the configuration; meanwhile the mail is not lost.
    expect(refused).toMatchObject({ kind: 'failed', reason: 'rejected' });
    expect(JSON.stringify(refused)).not.toContain('canary');
    expect(seen).toEqual([
      ['me', 'p$ss#1'],
      ['me', 'canary'],
    ]);
  });

  test('logs in with XOAUTH2, also with a token that was replaced', async () => {
    const seen: unknown[] = [];
    const { send } = await mailServer({
      authOptional: false,
      allowInsecureAuth: true,
      authMethods: ['XOAUTH2'],
      onAuth({ method, username, accessToken }, _session, done) {
        seen.push([method, username, accessToken]);
        done(null, { user: username });
      },
    });
    for (const token of ['first', 'second']) {
      const outcome = await send({ username: 'me', oauth2: { accessToken: secret(token) } });
      expect(outcome.kind).toBe('accepted');
    }
    expect(seen).toEqual([
      ['XOAUTH2', 'me', 'first'],
      ['XOAUTH2', 'me', 'second'],
    ]);
  });

  test('the login that is used stays connected, however many others come and go', () => {
    const pools = createPools(undefined, createVirtualClock());
    const used = pools.poolOf(email(), false);
    for (let n = 0; n < 40; n += 1) {
      pools.poolOf(email({ hello: `host-${n}` }), false);
      expect(pools.poolOf(email(), false)).toBe(used);
    }
    pools.close();
  });

  test('is signed with DKIM by the key of the domain [long]', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const { mails, send } = await mailServer();
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const dkim = { domain: 'example.com', selector: 'watch', privateKey: secret(pem) };
    expect((await send({ dkim })).kind).toBe('accepted');
    const { raw } = mails[0]!;
    const value = /^DKIM-Signature: ((?:.*\r\n[ \t])*.*)\r\n/m.exec(raw)![1]!;
    expect(value).toMatch(/d=example\.com/);
    expect(value).toMatch(/s=watch/);
    // The hash of the body is signed, and the body is what arrived (RFC 6376, 3.7; relaxed).
    const body = raw.slice(raw.indexOf('\r\n\r\n') + 4);
    const relaxed = `${body
      .replace(/[ \t]+(?=\r\n)/g, '')
      .replace(/[ \t]+/g, ' ')
      .replace(/(\r\n)*$/, '')}\r\n`;
    const hash = createHash('sha256').update(Buffer.from(relaxed, 'latin1')).digest('base64');
    expect(/bh=([^;]+)/.exec(value)![1]!.replace(/\s/g, '')).toBe(hash);
    const names = /[ ;\t\n]h=([^;]+)/.exec(value)![1]!.replace(/\s/g, '').split(':');
    const headers = raw.slice(0, raw.indexOf('\r\n\r\n') + 2);
    const canonical = (name: string, text: string) =>
      `${name.toLowerCase()}:${text.replace(/\s+/g, ' ').trim()}`;
    // A name without a header is signed as well, so that nobody can add such a header.
    const signed = names.flatMap((name) => {
      const found = new RegExp(`^${name}:((?:.*\\r\\n[ \\t])*.*)\\r\\n`, 'im').exec(headers);
      return found ? [`${canonical(name, found[1]!)}\r\n`] : [];
    });
    const signature = /[ ;\t\n]b=([^;]+)/.exec(value)![1]!.replace(/\s/g, '');
    const own = canonical('dkim-signature', value.replace(/([ ;\t\n]b=)[^;]+/, '$1'));
    const verifier = createVerify('RSA-SHA256').update(Buffer.from(signed.join('') + own, 'latin1'));
    expect(verifier.verify(publicKey, signature, 'base64')).toBe(true);
  });

  test('has the headers of its templates, but the required ones win', async () => {
    const { mails, send } = await mailServer();
    const liquid = (text: string) => compileTemplate(text, 'text', SAMPLE_VARIABLES);
    const templates = {
      subject: liquid('{{ status }}'),
      headers: { 'X-Team': liquid('loc'), 'X-Broken': liquid('{{ commonLabels.nobody }}') },
    };
    expect(await send({ templates })).toEqual({
      kind: 'accepted',
      templateError: expect.stringContaining('The template X-Broken failed'),
    });
    const [{ mail }] = mails as [Received];
    expect(mail.subject).toBe('firing');
    expect(mail.headers).toContainEqual(expect.objectContaining({ key: 'x-team', value: 'loc' }));
    expect(mail.headers.map(({ key }) => key)).toContain('auto-submitted');
  });

  test('is not sent unencrypted if TLS is required', async () => {
    const { mails, send } = await mailServer();
    expect((await send({ requireTls: true })).kind).toBe('failed');
    expect(mails).toEqual([]);
  });

  test('uses encryption that is offered, and checks the certificate only if TLS is required [long]', async () => {
    // The server's certificate is self-signed.
    const { mails, send } = await mailServer({ disabledCommands: [] });
    expect((await send({ requireTls: false })).kind).toBe('accepted');
    expect((await send({ requireTls: true })).kind).toBe('failed');
    expect((await send({ requireTls: true, tls: { insecureSkipVerify: true } })).kind).toBe('accepted');
    expect(mails).toHaveLength(2);
  });

  test('is for groups only', async () => {
    const { mails, send } = await mailServer();
    expect((await send({}, forward([failedFlight(1)]))).kind).toBe('nothing');
    expect(mails).toEqual([]);
  });
});

describe('a server that does not take the mail', () => {
  test.each([
    [450, 'failed', 'unavailable'],
    [452, 'failed', 'unavailable'],
    [550, 'refused', 'rejected'],
  ])('with %i for the address: %s', async (code, kind, reason) => {
    const { send } = await mailServer({
      onRcptTo: (_address, _session, done) => done(refusal(code, 'not\u0007 now')),
    });
    const outcome = await send();
    expect(outcome).toMatchObject({ kind, reason });
    expect('error' in outcome && outcome.error).toMatch(new RegExp(`${code} not now`));
  });

  test.each([
    [451, 'failed'],
    [554, 'refused'],
  ])('with %i for the content: %s', async (code, kind) => {
    const { send } = await mailServer({
      onData(stream, _session, done) {
        stream.resume();
        stream.on('end', () => done(refusal(code, 'spam?')));
      },
    });
    expect(await send()).toMatchObject({ kind });
  });

  test('in words that repeat the password, plain or as it was sent: they are stored without it', async () => {
    const password = 'cAnArY-7f3é';
    const plain = Buffer.from(`\0user\0${password}`).toString('base64');
    const { send } = await mailServer({
      authMethods: ['PLAIN'],
      onAuth: (_auth, _session, done) =>
        done(refusal(535, `no: ${password} ${Buffer.from(password).toString('base64')} ${plain}`)),
    });
    const outcome = await send({ username: 'user', password: secret(password) });
    expect(outcome).toMatchObject({ kind: 'failed', error: expect.stringContaining('[secret] [secret]') });
    expect(JSON.stringify(outcome)).not.toMatch(/cAnArY|Y0FuQXJZ|QW5Bcl|hbkFyWS/);
  });

  test('because it hangs up after the last byte: whether it accepted it is unknown', async () => {
    const { hangUp, send } = await mailServer({
      onData(stream) {
        stream.resume();
        stream.on('end', () => hangUp());
      },
    });
    const outcome = await send();
    expect(outcome).toMatchObject({ kind: 'unknown', reason: 'ambiguous' });
  });

  test('because nobody listens: it was certainly not sent', async () => {
    const channel = openMails({ clock: createVirtualClock(), version: '1' });
    const nowhere = email({ smarthost: { host: '127.0.0.1', port: 1 } });
    const outcome = await channel.send(nowhere, delivery(), group(), URL);
    expect(outcome).toMatchObject({ kind: 'failed', reason: 'unreachable' });
    await channel.close();
  });

  test('because it says nothing: the attempt times out, as not sent', async () => {
    let connected = () => {};
    const isConnected = new Promise<void>((resolve) => {
      connected = resolve;
    });
    const { at } = await mailServer({ onConnect: () => connected() });
    const clock = createVirtualClock();
    const channel = openMails({ clock, version: '1' });
    onTestFinished(() => channel.close());
    const sending = channel.send(email(at), delivery(), group(), URL);
    await isConnected;
    await clock.advance(120_000);
    expect(await sending).toMatchObject({ kind: 'failed', reason: 'timeout' });
  });

  test('for some addresses permanently: the others have it, and the result names who has not', async () => {
    const { mails, send } = await mailServer({
      onRcptTo: ({ address }, _session, done) =>
        done(address === 'gone@example.com' ? refusal(550, 'unknown') : null),
    });
    const to = ['ops@example.com', 'gone@example.com'];
    expect(await send({ to })).toEqual({
      kind: 'accepted',
      leftOut: [{ recipient: 'gone@example.com', why: expect.stringContaining('550 unknown') }],
    });
    expect(mails[0]?.to).toEqual(['ops@example.com']);
  });

  test('for some addresses temporarily: only they get the next attempt', async () => {
    let isFull = true;
    const { at, channel, mails } = await mailServer({
      onRcptTo: ({ address }, _session, done) =>
        done(address === 'full@example.com' && isFull ? refusal(452, 'mailbox full') : null),
    });
    const integration = email({ ...at, to: ['ops@example.com', 'full@example.com'] });
    const send = (remaining?: readonly string[]) =>
      channel.send(integration, delivery({ ...(remaining && { remaining }) }), group(), URL);
    const first = await send();
    expect(first).toMatchObject({ kind: 'failed', reason: 'unavailable', remaining: ['full@example.com'] });
    const remaining = first.kind === 'failed' ? first.remaining : undefined;
    const second = await send(remaining);
    // Nobody accepted it, so the remaining recipients are the same.
    expect(second).toMatchObject({ kind: 'failed' });
    expect(second).not.toHaveProperty('remaining');
    isFull = false;
    expect(await send(remaining)).toEqual({ kind: 'accepted' });
    expect(mails.map(({ to }) => to)).toEqual([['ops@example.com'], ['full@example.com']]);
  });

  test('for some addresses temporarily, and then the process restarts: only they get the next attempt [long]', async () => {
    let isFull = true;
    const { at, mails } = await mailServer({
      onRcptTo: ({ address }, _session, done) =>
        done(
          address === 'gone@example.com'
            ? refusal(550, 'unknown')
            : address === 'full@example.com' && isFull
              ? refusal(450, 'try later')
              : null,
        ),
    });
    const folder = temporaryFolder();
    const clock = createVirtualClock();
    const to = ['ops@example.com', 'gone@example.com', 'full@example.com'];
    const integration = email({ ...at, to });
    /** One life of the process: everything that is due is attempted once. */
    async function life(): Promise<Delivery> {
      const store = await openSqliteStore({ path: join(folder, 'n.db'), clock });
      const channel = openMails({ clock, version: '1' });
      const stage = createDelivery({
        store,
        receivers: [{ name: 'ops', integrations: [integration] }],
        channels: { email: channel },
        clock,
        random: () => 0.5,
        report: () => {},
        externalUrl: URL,
      });
      if (mails.length === 0) {
        for (const id of ['d-1', 'd-2']) {
          const one = delivery({ id, integration: 'email', lane: 'l' });
          await store.transaction((tx) => tx.outbox.enqueue(group(), [one]));
        }
      }
      await stage.drain();
      const found = await store.transaction((tx) => tx.outbox.find('d-1'));
      await channel.close();
      await store.close();
      return found!.delivery;
    }

    expect(await life()).toMatchObject({ state: 'retry', remaining: ['full@example.com'] });
    expect(mails).toHaveLength(2);
    await clock.advance(60_000);
    expect(await life()).toMatchObject({ state: 'retry', remaining: ['full@example.com'] });
    await clock.advance(60_000);
    isFull = false;
    const last = await life();
    expect(last).toMatchObject({ state: 'delivered', attempts: 3 });
    // The result of the other recipients does not hide who refused the first attempt permanently.
    expect(last.lastError).toMatch(/^not sent to gone@example\.com: 550 unknown/);
    expect(last.lastError).not.toContain('full@');
    expect(last).not.toHaveProperty('remaining');
    // The other mail in its lane did not have to wait.
    expect(mails.map(({ to }) => to.join())).toEqual([
      'ops@example.com',
      'ops@example.com',
      'full@example.com',
      'full@example.com',
    ]);
  });
});
