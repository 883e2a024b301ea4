import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { runCommandLine } from '../../src/cli/program.ts';
import { type Clock, systemClock } from '../../src/time/clock.ts';
import { listenInTest } from '../http/servers.ts';
import { TEST_START_US } from '../virtual-clock.ts';
import { openService, TOKEN } from './service.ts';
import { createTestEdge, tempFile } from './test-io.ts';

/** Twenty times as fast as the machine's clock. */
function createFastClock(): Clock & { pending(): number } {
  const { monotonicMs, setTimer } = systemClock();
  const beganMs = monotonicMs();
  const timers = new Set<object>();
  return {
    nowUs: () => TEST_START_US + Math.round((monotonicMs() - beganMs) * 20_000),
    monotonicMs: () => monotonicMs() * 20,
    setTimer(ms, wake) {
      const timer = {};
      timers.add(timer);
      const cancel = setTimer(ms / 20, () => {
        timers.delete(timer);
        wake();
      });
      return () => {
        timers.delete(timer);
        cancel();
      };
    },
    pending: () => timers.size,
  };
}

/** A receiver with this answer; `undefined` for none. */
async function openReceiver(status: number | undefined): Promise<string> {
  const server = createServer((_request, response) => {
    if (status !== undefined) response.writeHead(status).end();
  });
  return (await listenInTest(server)).url;
}

async function open(receiver: number | undefined, token = TOKEN) {
  const { url, world } = await openService();
  world.disconnectConnection({ exhausted: true, wording: 'old' });
  const file = tempFile(
    'n.yaml',
    `regions: { eu: { base_url: "${url}", token: "${token.replaceAll('$', '$$$$')}" } }
store: { url: "sqlite::memory:" }
route: { receiver: ops }
receivers: [{ name: ops, webhook_configs: [{ url: "${await openReceiver(receiver)}" }] }]
web: { listen: 127.0.0.1:0 }
`,
  );
  const edge = createTestEdge({ clock: createFastClock() });
  const exit = runCommandLine(edge.edge, ['run', '--once', '--config.file', file]);
  return { ...edge, exit };
}

test('run --once exits 0 when all was read and accepted [long]', async () => {
  const { exit, stderr } = await open(200);
  expect([await exit, stderr()]).toEqual([0, expect.stringContaining('A notification was delivered')]);
});

test('run --once exits 4 when a delivery was not accepted [long]', async () => {
  const { exit, stderr, listeners } = await open(500);
  expect(await exit).toBe(4);
  expect(stderr()).toMatch(/^nestwatch: 1 delivery was not accepted; the log says why\n$/m);
  expect(stderr()).not.toContain('5xx');
  expect(listeners()).toBe(0);
});

test('run --once exits 4 when a region refuses the token [long]', async () => {
  const { exit, stderr } = await open(200, 'other');
  expect(await exit).toBe(4);
  expect(stderr()).toContain(
    'nestwatch: region eu could not be read (searchNests of eu: the service answered 401); the log says why\n',
  );
  expect(stderr()).not.toContain('5xx');
});

test('run --once continues at a SIGHUP and says that it is ignored, and logs everything from a SIGUSR2 on [long]', async () => {
  const { exit, stderr, signal, listeners } = await open(200);
  while (listeners() === 0) await new Promise((resolve) => setImmediate(resolve));
  signal('SIGHUP');
  signal('SIGUSR2');
  expect(await exit).toBe(0);
  expect(stderr()).toContain('SIGHUP is ignored: a run with --once reads its configuration once');
  expect(stderr()).toContain('The level of the log has changed');
  expect(listeners()).toBe(0);
});

test.each([
  [
    'a further pod of a StatefulSet',
    '1',
    2,
    'nestwatch: This is pod 1 of its StatefulSet (NESTWATCH_POD_INDEX)',
  ],
  ['the first one', '0', 0, 'nestwatch has stopped'],
  ['one of a Kubernetes that does not number its pods', '', 0, 'nestwatch has stopped'],
])('run with a store in a file: %s [long]', async (_, podIndex, code, said) => {
  const file = tempFile(
    'n.yaml',
    'regions: { eu: { base_url: "http://127.0.0.1:1", token: t } }\nstore: { url: "sqlite::memory:" }\nweb: { listen: 127.0.0.1:0 }\n',
  );
  const environment = { NESTWATCH_POD_INDEX: podIndex };
  const { edge, stderr, signal } = createTestEdge({ clock: createFastClock(), environment });
  let isOver = false;
  const exit = runCommandLine(edge, ['run', '--config.file', file]).finally(() => {
    isOver = true;
  });
  while (!isOver && !stderr().includes('nestwatch has started'))
    await new Promise((resolve) => setImmediate(resolve));
  signal('SIGTERM');
  expect([await exit, stderr()]).toEqual([code, expect.stringContaining(said)]);
});

test('run continues if its file is broken right after it was read [long]', async () => {
  const text = `regions: { eu: { base_url: "http://127.0.0.1:1", token: t } }
store: { url: "sqlite::memory:" }
web: { listen: 127.0.0.1:0 }
`;
  const file = tempFile('n.yaml', text);
  const clock = createFastClock();
  const { edge, stderr, signal } = createTestEdge({ clock });
  const { stderr: stream } = edge;
  const write = stream.write.bind(stream) as (chunk: unknown) => boolean;
  stream.write = (chunk: unknown) => {
    if (String(chunk).includes('nestwatch has started')) writeFileSync(file, text.slice(0, 40));
    return write(chunk);
  };
  const exit = runCommandLine(edge, ['run', '--config.file', file]);
  while (!stderr().includes('The new configuration has mistakes'))
    await new Promise((resolve) => setImmediate(resolve));
  signal('SIGTERM');
  expect([await exit, stderr()]).toEqual([0, expect.stringContaining('nestwatch has stopped')]);
  expect(clock.pending()).toBe(0);
});

test.each([1, 2])(
  'run --once ends with exit 1 after %i signals, however long a receiver takes [long]',
  async (signals) => {
    const { exit, stderr, signal } = await open(undefined);
    while (!stderr().includes('A notification was queued'))
      await new Promise((resolve) => setImmediate(resolve));
    for (let sent = 0; sent < signals; sent += 1) signal('SIGTERM');
    expect(await exit).toBe(1);
    expect(stderr()).toContain('nestwatch is stopping');
    if (signals === 1) expect(stderr()).toContain('nestwatch: not everything was read and sent\n');
  },
);
