/**
 * Floods the real daemon with pipelined health checks, which need no credentials, while Flights fail in a simulated
 * service beside it. Prints how late webhooks and the page are without and with the flood. Everything is on loopback.
 * Run it by hand with `node test/acceptance/pipelined-run.ts [--seconds 30] [--main OTHER/src/main.ts]`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pass } from 'node:timers/promises';
import { parseArgs } from 'node:util';

const CONNECTIONS = 10;
const REQUESTS = 1_400;
const HEALTH_CHECKS = 'GET /-/healthy HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'.repeat(REQUESTS);

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '30' },
    main: { type: 'string', default: join(import.meta.dirname, '../../src/main.ts') },
    flood: { type: 'string' },
  },
});

if (values.flood) flood(Number(values.flood));
else await run(Number(values.seconds) * 1000, values.main);

async function run(spanMs: number, main: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'nestwatch-pipelined-'));
  const children: ChildProcess[] = [];
  const start = (...args: string[]) => {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    children.push(child);
    return child;
  };
  const told: { readonly occurredMs: number; readonly delayMs: number }[] = [];
  const receiver = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const atMs = Date.now();
    for (const { events } of JSON.parse(body).alerts) {
      for (const { occurred_at } of events) {
        const occurredMs = Date.parse(occurred_at);
        told.push({ occurredMs, delayMs: atMs - occurredMs });
      }
    }
    response.end();
  });
  await once(receiver.listen(0, '127.0.0.1'), 'listening');
  const hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  try {
    const load = ['--birds', '10', '--flights', '3600', '--failures', '0.5'];
    const simulator = start(main, 'simulate', '--listen', '127.0.0.1:0', ...load);
    const file = join(folder, 'nestwatch.yaml');
    const service = await said(simulator.stdout!, /base_url: (\S+)/);
    writeFileSync(file, configuration(folder, service, hook));
    const daemon = start(main, 'run', '--config.file', file, '--log.format', 'json');
    const page = await said(daemon.stderr!, /"(http:\/\/127\.0\.0\.1:\d+)/);
    while (!(await fetch(`${page}/-/ready`).catch(() => undefined))?.ok) await pass(200);
    await pass(10_000);

    for (const isFlooded of [false, true]) {
      const sinceMs = Date.now();
      const flooding = isFlooded && start(import.meta.filename, '--flood', new URL(page).port);
      const answers = await askPage(page, spanMs);
      const untilMs = Date.now();
      if (flooding) {
        flooding.kill('SIGTERM');
        console.log('health checks answered:', await said(flooding.stdout!, /(\d+)/));
        // What was held back arrives now.
        while (!(await fetch(page).catch(() => undefined))?.ok) await pass(200);
        await pass(5_000);
      }
      const within = told.filter(({ occurredMs }) => occurredMs >= sinceMs && occurredMs < untilMs - 5_000);
      const delays = within.map(({ delayMs }) => delayMs);
      const counts = { events: delays.length, pages: answers.length };
      const figures = { ...counts, webhookMs: spread(delays), pageMs: spread(answers) };
      console.log(isFlooded ? 'flooded' : 'quiet  ', JSON.stringify(figures));
    }
  } finally {
    for (const child of children) child.kill('SIGTERM');
    receiver.close();
    receiver.closeAllConnections();
    rmSync(folder, { recursive: true, force: true });
  }
}

function configuration(folder: string, service: string, hook: string): string {
  return JSON.stringify({
    regions: { eu: { base_url: service, token: 'demo-token', requests_per_second: 20 } },
    store: { url: `sqlite:${join(folder, 'nestwatch.db')}` },
    poll: { interval: '2s', min_interval: '1s', max_interval: '4s' },
    rules: [{ kind: 'FlightFailed', for_each: 'flight' }],
    route: { receiver: 'hook', group_by: ['...'], group_wait: '0s', group_interval: '1s' },
    receivers: [{ name: 'hook', webhook_configs: [{ url: hook, send_resolved: false }] }],
    web: { listen: '127.0.0.1:0' },
  });
}

/** The first match of a pattern in what a process prints. */
async function said(stream: NodeJS.ReadableStream, pattern: RegExp): Promise<string> {
  for await (const line of createInterface({ input: stream })) {
    const match = pattern.exec(line);
    if (match) {
      stream.resume();
      return match[1]!;
    }
  }
  throw new Error(`nothing was printed like ${pattern}`);
}

/** Asks for the page once a second. Returns how long each answer took, in milliseconds. */
async function askPage(page: string, spanMs: number): Promise<number[]> {
  const taken: number[] = [];
  const untilMs = performance.now() + spanMs;
  while (performance.now() < untilMs) {
    const sinceMs = performance.now();
    const isAnswered = await fetch(page, { signal: AbortSignal.timeout(spanMs) }).then(
      async (answer) => answer.ok && (await answer.text()) !== '',
      () => false,
    );
    taken.push(isAnswered ? performance.now() - sinceMs : Number.POSITIVE_INFINITY);
    await pass(Math.max(0, 1_000 - (performance.now() - sinceMs)));
  }
  return taken;
}

function spread(values: readonly number[]): object {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) =>
    String(Math.round(sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN));
  return { median: at(0.5), p95: at(0.95), most: at(1) };
}

/** Writes all requests at once on each connection, and again once they are answered or the connection is closed. */
function flood(port: number): void {
  let answered = 0;
  function open(): void {
    const socket = connect(port, '127.0.0.1');
    let left = 0;
    const write = () => {
      left = REQUESTS;
      socket.write(HEALTH_CHECKS);
    };
    socket.on('connect', write);
    socket.on('data', (data) => {
      const count = data.toString('latin1').split('HTTP/1.1 200').length - 1;
      answered += count;
      left -= count;
      if (left <= 0) write();
    });
    socket.on('error', () => {});
    socket.on('close', () => setTimeout(open, 10));
  }
  for (let at = 0; at < CONNECTIONS; at += 1) open();
  process.on('SIGTERM', () => {
    console.log(answered);
    process.exit();
  });
}
