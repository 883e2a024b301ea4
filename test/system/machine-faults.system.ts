/**
 * Faults of the machine, with the daemon as a separate process: few open files, a process that is suspended for a
 * while, a disk that becomes read-only. The last needs the right to mount a disk, which root in a container often
 * has.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openSimulator, type SimulatorServer } from '../../src/simulator/answers/simulator-server.ts';
import { seededRandom } from '../../src/simulator/world/seeded-random.ts';
import { createWorld, type World } from '../../src/simulator/world/world.ts';
import { systemClock } from '../../src/time/clock.ts';
import { freePort } from '../http/servers.ts';
import { MAIN } from '../program.ts';
import { until } from './live-daemon.ts';

let folder: string;
let world: World;
let birdId: string;
let service: SimulatorServer;
/** Keys of failed Flights that the receiver of events got, and under which ids. */
let told: Map<string, Set<string>>;
let hook: ReturnType<typeof createServer>;
const children: ChildProcess[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'nestwatch-machine-'));
  world = createWorld({ region: 'eu', clock: systemClock(), random: seededRandom(1), token: 'token' });
  birdId = world.addBird(world.addNest({ name: 'Marketing' }).id, {
    name: 'Translate',
    triggerType: 'manual',
  }).id;
  service = await openSimulator({ world, host: '127.0.0.1', port: 0 });
  told = new Map();
  hook = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const id = String(request.headers['webhook-id']);
    for (const event of JSON.parse(body) as { id: string; type: string }[]) {
      if (event.type !== 'nestwatch.flight.failed' || !id.startsWith('forward-')) continue;
      told.set(event.id, (told.get(event.id) ?? new Set()).add(id));
    }
    response.end();
  }).listen(0, '127.0.0.1');
  await once(hook, 'listening');
});

afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill('SIGCONT');
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
  await service.close();
  hook.closeAllConnections();
  hook.close();
  rmSync(folder, { recursive: true });
});

interface Running {
  readonly child: ChildProcess;
  readonly url: string;
  readonly said: () => string;
}

/** Starts the daemon with a store at `path`; `limits` are shell commands before it. */
async function start(path: string, limits = ''): Promise<Running> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const hookUrl = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/`;
  const file = join(folder, 'nestwatch.yaml');
  writeFileSync(
    file,
    `
regions: { eu: { base_url: "${service.url}", token: token, requests_per_second: 50 } }
store: { url: "sqlite:${path}" }
poll: { interval: 1s, min_interval: 1s, max_interval: 1s }
receivers: [{ name: lake, webhook_configs: [{ url: "${hookUrl}", format: cloudevents }] }]
route: { receiver: lake }
forward: [{ receiver: lake }]
web: { listen: "127.0.0.1:${port}" }
`,
  );
  const command = `${limits} exec "$0" "$@"`;
  const child = spawn('sh', ['-c', command, process.execPath, MAIN, 'run', '--config.file', file], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  children.push(child);
  let said = '';
  child.stderr!.on('data', (chunk) => {
    said += String(chunk);
  });
  const isReady = async () => {
    if (child.exitCode !== null) throw new Error(`it ended: ${said}`);
    return (await statusOf(`${url}/-/ready`)) === 200;
  };
  await until(isReady, 'ready');
  return { child, url, said: () => said };
}

async function statusOf(url: string): Promise<number | undefined> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(2_000) })).status;
  } catch {
    return undefined;
  }
}

/** Flights that fail at once. */
function fail(count: number): void {
  for (let flights = 0; flights < count; flights += 1) {
    const { id } = world.startFlight(birdId);
    world.endFlight(id, 'failed', { errorMessages: 'boom' });
  }
}

const failures = () =>
  world
    .truth()
    .events.map(({ key }) => key)
    .filter((key) => key.endsWith('/failed'));
const areAllTold = () => failures().every((key) => told.has(key));

test('with 64 open files, and a hundred silent connections, failures are notified', async () => {
  const { url, child } = await start(join(folder, 'store.db'), 'ulimit -n 64;');
  const { hostname, port } = new URL(url);
  const silent = Array.from({ length: 100 }, () => connect(Number(port), hostname).on('error', () => {}));
  fail(5);
  await until(areAllTold, 'told');
  for (const socket of silent) socket.destroy();
  await until(async () => (await statusOf(`${url}/-/ready`)) === 200, 'ready');
  expect(child.exitCode).toBeNull();
});

test('a suspended process notifies afterwards of what failed meanwhile, once', async () => {
  const { child, url } = await start(join(folder, 'store.db'));
  fail(1);
  await until(areAllTold, 'told');
  child.kill('SIGSTOP');
  fail(3);
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  expect(areAllTold()).toBe(false);
  child.kill('SIGCONT');
  await until(areAllTold, 'told');
  expect([...told.values()].every((ids) => ids.size === 1)).toBe(true);
  expect(await statusOf(`${url}/-/healthy`)).toBe(200);
});

test('a disk that becomes read-only ends the process with a message; once it can be written nothing is lost', async (context) => {
  const disk = openDisk();
  if (!disk) return context.skip('no disk can be mounted here that turns read-only');
  try {
    const { child, said } = await start(join(disk.path, 'store.db'));
    fail(2);
    await until(areAllTold, 'told');
    disk.turnReadOnly();
    fail(3);
    if (child.exitCode === null) await once(child, 'exit');
    expect(child.exitCode).toBe(1);
    expect(said()).toMatch(/The store .*store\.db (is read-only|cannot be read or written: the disk failed)/);
    disk.mend();
    await start(join(disk.path, 'store.db'));
    await until(areAllTold, 'told');
    expect([...told.values()].every((ids) => ids.size === 1)).toBe(true);
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await Promise.all(children.map((child) => child.exitCode ?? child.signalCode ?? once(child, 'exit')));
    disk.close();
  }
});

/**
 * A disk of its own, in a file, that becomes read-only as after a hardware error; undefined if that is not possible.
 */
function openDisk() {
  const image = join(folder, 'disk.img');
  const path = mkdtempSync(join(tmpdir(), 'nestwatch-disk-'));
  const run = (command: string, ...args: string[]) => spawnSync(command, args).status === 0;
  const mount = () => run('mount', '-o', 'loop,errors=remount-ro', image, path);
  const isMade = run('truncate', '-s', '64M', image) && run('mkfs.ext4', '-q', image) && mount();
  const device = spawnSync('findmnt', ['-n', '-o', 'SOURCE', path]).stdout?.toString().trim() ?? '';
  const trigger = `/sys/fs/ext4/${basename(device)}/trigger_fs_error`;
  const close = () => {
    run('umount', path);
    rmSync(path, { recursive: true });
  };
  if (!isMade || !existsSync(trigger)) {
    close();
    return undefined;
  }
  return {
    path,
    turnReadOnly: () => writeFileSync(trigger, 'test'),
    mend() {
      run('umount', path);
      run('fsck.ext4', '-p', '-f', image);
      if (!mount()) throw new Error('the disk cannot be mounted again');
    },
    close,
  };
}
