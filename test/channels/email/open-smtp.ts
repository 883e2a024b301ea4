import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server';
import { onTestFinished } from 'vitest';
import { openMails } from '../../../src/channels/email/email-channel.ts';
import { createVirtualClock } from '../../virtual-clock.ts';

type Mails = Parameters<typeof openMails>[0];

/** A real SMTP server on loopback, and a channel that can mail to it. Both close with the test. */
export async function openSmtp(options: SMTPServerOptions, more: Partial<Mails> = {}) {
  const server = new SMTPServer({ authOptional: true, disabledCommands: ['STARTTLS'], ...options });
  // Connections that break are part of these tests.
  server.on('error', () => {});
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  const clock = createVirtualClock();
  const channel = openMails({ clock, version: '1.2.3', ...more });
  onTestFinished(async () => {
    await channel.close();
    await new Promise<void>((resolve) => server.close(resolve));
  });
  const { port } = server.server.address() as AddressInfo;
  return { server, port, smarthost: { host: '127.0.0.1', port }, clock, channel };
}

/** Accepts every mail, of which only the envelope is kept. */
export function accepting(
  took: (session: SMTPServerSession) => void,
): NonNullable<SMTPServerOptions['onData']> {
  return (stream, session, done) => {
    stream.resume();
    stream.on('end', () => {
      took(session);
      done();
    });
  };
}
