/** Recipients that a mail server takes long to check, and others on the same server. */
import { expect, test } from 'vitest';
import { delivery, email, group } from '../sample-notifications.ts';
import { accepting, openSmtp } from './open-smtp.ts';

/** A mail server that does not answer for recipients called `slow` until a test lets it. */
async function slowServer() {
  const hanging: (() => void)[] = [];
  let heard = () => {};
  const { clock, channel, smarthost } = await openSmtp({
    onRcptTo({ address }, _session, done) {
      if (!address.startsWith('slow')) return done();
      hanging.push(done);
      heard();
    },
    onData: accepting(() => {}),
  });
  let sent = 0;
  const send = (receiver: string) =>
    channel.send(
      email({ smarthost, to: [`${receiver}@example.com`] }),
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
  expect((await Promise.all(slow)).map(({ kind }) => kind)).toEqual(Array(5).fill('accepted'));
});

test('several receivers with slow mails delay no other, once this is known [long]', async () => {
  const { clock, hang, send, answer } = await slowServer();
  const slow = [...(await hang('slow-1', 1)), ...(await hang('slow-2', 1)), ...(await hang('slow-3', 1))];
  await clock.advance(10_000);
  slow.push(...(await hang('slow-1', 2)), ...(await hang('slow-2', 2)), ...(await hang('slow-3', 2)));
  for (let mail = 0; mail < 3; mail += 1) expect((await send('ops')).kind).toBe('accepted');
  answer();
  expect((await Promise.all(slow)).map(({ kind }) => kind)).toEqual(Array(9).fill('accepted'));
});
