/**
 * Mails: 10,000 alerts in 200 groups to one SMTP server, from the commit of their events until every event of every
 * alert is in a mail that the server accepted.
 *
 *   node test/bench/mails.ts [alerts]
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { SMTPServer } from 'smtp-server';
import { forkAsProgram } from './as-program.ts';
import type { Progress } from './telling-process.ts';

interface Taken {
  readonly mails: number;
  /** The number of different Message-IDs. */
  readonly ids: number;
}

/** Waits no longer than this. */
const PATIENCE_MS = 300_000;

export async function printMails(alerts = 10_000): Promise<void> {
  const sink = fork(import.meta.filename, ['sink']);
  const [{ port }] = (await once(sink, 'message')) as [{ port: number }];
  const program = forkAsProgram(join(import.meta.dirname, 'telling-process.ts'), [
    String(port),
    String(alerts),
    'nest_id',
    'email',
  ]);
  await once(program, 'message');
  const began = performance.now();
  program.send('go');
  let progress: Progress = { told: 0, delivered: 0, undelivered: 0 };
  while (progress.told < alerts && performance.now() - began < PATIENCE_MS) {
    await wait(100);
    program.send('how far');
    [progress] = (await once(program, 'message')) as [Progress];
  }
  const seconds = (performance.now() - began) / 1000;
  sink.send('how many');
  const [taken] = (await once(sink, 'message')) as [Taken];
  const ended = once(program, 'exit');
  program.disconnect();
  await ended;
  sink.disconnect();
  const whole = (value: number) => Math.round(value).toLocaleString('en');
  console.log(`  ${whole(alerts - progress.told)} of ${whole(alerts)} alerts lost, ${seconds.toFixed(1)} s`);
  console.log(
    `  ${whole(taken.mails)} mails taken by the server, ${whole(taken.ids)} different ones; ${whole(progress.delivered)} deliveries, ${progress.undelivered} not delivered`,
  );
}

function take(): void {
  const ids = new Set<string>();
  let mails = 0;
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, _session, done) {
      let head = '';
      stream.on('data', (chunk: Buffer) => {
        if (head.length < 4_096) head += chunk.toString('latin1');
      });
      stream.on('end', () => {
        mails += 1;
        ids.add(/^Message-ID: *(\S+)/im.exec(head)?.[1] ?? '');
        done();
      });
    },
  });
  server.listen(0, '127.0.0.1', () => {
    process.send?.({ port: (server.server.address() as AddressInfo).port });
  });
  process.on('message', () => process.send?.({ mails, ids: ids.size } satisfies Taken));
  process.on('disconnect', () => process.exit());
}

if (process.argv[2] === 'sink') take();
else if (import.meta.main) await printMails(...process.argv.slice(2).map(Number));
