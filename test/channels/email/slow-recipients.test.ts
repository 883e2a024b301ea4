/** Recipients that a mail server takes long to check, and others on the same server. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { expect, onTestFinished, test } from 'vitest';
import { openMails } from '../../../src/channels/email/email-channel.ts';
import { createVirtualClock } from '../../virtual-clock.ts';
import { delivery, email, group } from '../sample-notifications.ts';

/** A mail server that does not answer for recipients called `slow` until a test lets it. */
async function slowServer() {
  const hanging: (() => void)[] = [];
  let heard = () => {};
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onRcptTo({ address }, _session, done) {
      if (!address.startsWith('slow')) return done();
      hanging.push(done);
      heard();
    },
    onData(stream, _session, done) {
      stream.resume();
      stream.on('end', () => done());
    },
  });
  server.on('error', () => {});
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  const { port } = server.server.address() as AddressInfo;
  const clock = createVirtualClock();
  const channel = openMails({ clock, version: '1' });
  onTestFinished(async () => {
    await channel.close();
    await new Promise<void>((resolve) => server.close(resolve));
  });
  let sent = 0;
  const send = (receiver: string) =>
    channel.send(
      email({ smarthost: { host: '127.0.0.1', port }, to: [`${receiver}@example.com`] }),
      delivery({ id: `d-${++sent}`, receiver }),
      group(),
      'https://watch.example.com',
    );
  return {
    clock,
    send,
    /** Sends this many mails, none of which the server answers yet. */
    async hang(receiver: string, count: number) {
      const before = hanging.length;
      const outcomes = Array.from({ length: count }, () => send(receiver));
      while (hanging.length < before + count) await new Promise<void>((resolve) => (heard = resolve));
      return outcomes;
    },
    answer(): void {
      for (const done of hanging.splice(0)) done();
    },
  };
}

test('the greatest number of slow mails of one receiver delays no other receiver', async () => {
  const { hang, send, answer } = await slowServer();
  const slow = await hang('slow', 5);
  expect((await send('ops')).kind).toBe('accepted');
  answer();
  expect((await Promise.all(slow)).map(({ kind }) => kind)).toEqual(
    Array.from({ length: 5 }, () => 'accepted'),
  );
});

test('several receivers with slow mails delay no other, once this is known [long]', async () => {
  const { clock, hang, send, answer } = await slowServer();
  const slow = [...(await hang('slow-1', 1)), ...(await hang('slow-2', 1)), ...(await hang('slow-3', 1))];
  await clock.advance(10_000);
  slow.push(...(await hang('slow-1', 2)), ...(await hang('slow-2', 2)), ...(await hang('slow-3', 2)));
  for (let mail = 0; mail < 3; mail += 1) expect((await send('ops')).kind).toBe('accepted');
  answer();
  expect((await Promise.all(slow)).map(({ kind }) => kind)).toEqual(
    Array.from({ length: 9 }, () => 'accepted'),
  );
});
