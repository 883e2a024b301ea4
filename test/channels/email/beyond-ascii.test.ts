/** Recipients whose addresses are not ASCII, by mail servers with and without SMTPUTF8. */
import type { SMTPServerOptions } from 'smtp-server';
import { expect, test } from 'vitest';
import { needsSmtpUtf8 } from '../../../src/channels/email/smtp.ts';
import { delivery, email, group } from '../sample-notifications.ts';
import { accepting, openSmtp } from './open-smtp.ts';

const NO_SMTPUTF8 = 'the mail server does not offer SMTPUTF8, which this address needs';
const TO = ['anna@example.com', 'jürgen@example.com', 'bo@münchen.example'];

async function opened(options: SMTPServerOptions = {}) {
  const mails: string[][] = [];
  let connections = 0;
  const { clock, channel, smarthost } = await openSmtp({
    onConnect(_session, done) {
      connections += 1;
      done();
    },
    onData: accepting(({ envelope }) => mails.push(envelope.rcptTo.map(({ address }) => address))),
    ...options,
  });
  const send = (to: readonly string[], remaining?: readonly string[], leftOut = false) =>
    channel.send(
      email({ smarthost, to: [] }),
      delivery({ ...(remaining && { remaining }) }),
      group({ to, ...(leftOut && { leftOut: [{ recipient: 'x', why: 'no address' }] }) }),
      'https://watch.example.com',
    );
  return { clock, mails, channel, smarthost, send, connections: () => connections };
}

const refusal = (responseCode: number) => Object.assign(new Error('no'), { responseCode });
/** Answers a RCPT for some addresses with a code, while it is set. */
function refusing(codes: Map<RegExp, number>): SMTPServerOptions {
  return {
    onRcptTo({ address }, _session, done) {
      const [, code] = [...codes].find(([of]) => of.test(address)) ?? [];
      done(code === undefined ? null : refusal(code));
    },
  };
}

test('they get a mail of their own [long]', async () => {
  const { mails, send } = await opened();
  expect(await send(TO)).toEqual({ kind: 'accepted' });
  expect(mails).toEqual([['anna@example.com', 'bo@münchen.example'], ['jürgen@example.com']]);
});

test('the server is asked once a minute, and only if there are any [long]', async () => {
  const { clock, send, connections } = await opened();
  await send(['anna@example.com']);
  expect(connections()).toBe(1);
  for (let mail = 0; mail < 3; mail += 1) await send(TO);
  expect(connections()).toBe(2);
  await clock.advance(60_000);
  await send(TO);
  expect(connections()).toBe(3);
});

test('without SMTPUTF8 the others are mailed and these are named [long]', async () => {
  const { mails, send } = await opened({ hideSMTPUTF8: true });
  const named = { recipient: 'jürgen@example.com', why: NO_SMTPUTF8 };
  expect(await send(TO)).toEqual({ kind: 'accepted', leftOut: [named] });
  expect(mails).toEqual([['anna@example.com', 'bo@münchen.example']]);
  expect(await send(['jürgen@example.com', 'почта@example.com'])).toEqual({
    ...{ kind: 'refused', reason: 'rejected' },
    error: `jürgen@example.com, почта@example.com: ${NO_SMTPUTF8}`,
  });
  expect(mails).toHaveLength(1);
});

test('a sender beyond ASCII is refused with the reason', async () => {
  const { channel, mails, smarthost } = await opened({ hideSMTPUTF8: true });
  const integration = email({ smarthost, from: 'Wächter <wächter@example.com>' });
  expect(await channel.send(integration, delivery(), group(), '')).toEqual({
    ...{ kind: 'refused', reason: 'rejected' },
    error: `Wächter <wächter@example.com>: ${NO_SMTPUTF8}`,
  });
  expect(mails).toEqual([]);
});

test.each([
  ['these', /^jürgen/, 'jürgen@example.com'],
  ['the others', /^anna|^bo/, 'anna@example.com'],
])('if %s are deferred, only they are tried again [long]', async (_, late, first) => {
  const codes = new Map([[late, 450]]);
  const { mails, send } = await opened(refusing(codes));
  const outcome = await send(TO, undefined, true);
  expect(outcome).toMatchObject({
    kind: 'failed',
    // Named once, when some have accepted it.
    leftOut: [{ recipient: 'x', why: 'no address' }],
  });
  const { remaining = [] } = outcome as { remaining?: readonly string[] };
  expect(remaining[0]).toBe(first);
  expect(mails).toHaveLength(1);
  const again = await send(TO, remaining, true);
  expect(again).toMatchObject({ kind: 'failed' });
  expect(again).not.toHaveProperty('leftOut');
  codes.clear();
  expect(await send(TO, remaining, true)).toEqual({ kind: 'accepted' });
  expect(mails.flat().toSorted()).toEqual(TO.toSorted());
});

test('if all others are refused, these are mailed, and the others are named', async () => {
  const { mails, send } = await opened(refusing(new Map([[/^anna|^bo/, 550]])));
  expect(await send(TO)).toMatchObject({
    kind: 'accepted',
    leftOut: [{ recipient: 'anna@example.com' }, { recipient: 'bo@münchen.example' }],
  });
  expect(mails).toEqual([['jürgen@example.com']]);
});

test('if all are refused, the mail is', async () => {
  const { send } = await opened(refusing(new Map([[/./, 550]])));
  expect(await send(TO, undefined, true)).toMatchObject({ kind: 'refused', reason: 'rejected' });
});

test('what has no recipients, such as a test of a receiver for members, is not sent', async () => {
  const { mails, send } = await opened();
  expect(await send([])).toEqual({
    kind: 'nothing',
    why: 'this belongs to no Nest: it is mailed to addresses, not to members',
  });
  expect(mails).toEqual([]);
});

test('a server that cannot be asked is tried again', async () => {
  const { channel } = await opened();
  const nowhere = email({ smarthost: { host: '127.0.0.1', port: 1 }, to: TO });
  expect(await channel.send(nowhere, delivery(), group(), '')).toMatchObject({
    kind: 'failed',
    reason: 'unreachable',
  });
});

test('a server that never greets ends the try, and closing does', async () => {
  let connected = () => {};
  const isConnected = () => new Promise<void>((resolve) => (connected = resolve));
  const { channel, clock, send } = await opened({ onConnect: () => connected() });
  const [first, late] = [isConnected(), send(TO)];
  await first;
  await clock.advance(120_000);
  expect(await late).toMatchObject({ kind: 'failed', reason: 'timeout' });
  const [second, closed] = [isConnected(), send(TO)];
  await second;
  await channel.close();
  expect(await closed).toMatchObject({ kind: 'failed' });
});

test('only what stands before the @ needs SMTPUTF8', () => {
  expect(['jürgen@x.example', 'Ops <jürgen@x.example>'].map(needsSmtpUtf8)).toEqual([true, true]);
  expect(['a@münchen.example', 'Jürgen <a@x.example>'].map(needsSmtpUtf8)).toEqual([false, false]);
});
