/**
 * Kills the real daemon with SIGKILL at random moments under load and starts it again, over real HTTP and a real
 * store file: what must hold afterwards is that nothing is lost and that a repeat carries the id of the first try.
 * By hand: `node test/acceptance/kill-run.ts --kills 50`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openSimulator } from '../../src/simulator/answers/simulator-server.ts';
import { pick, seededRandom } from '../../src/simulator/world/seeded-random.ts';
import { createWorld, type World } from '../../src/simulator/world/world.ts';
import { type Clock, systemClock } from '../../src/time/clock.ts';

const MAIN = join(import.meta.dirname, '../../src/main.ts');

export interface KillFigures {
  readonly kills: number;
  readonly events: number;
  readonly lost: readonly string[];
  /** Events that a receiver got more than once under one webhook-id: unavoidable, and recognisable. */
  readonly repeatedUnderOneId: number;
  readonly repeatedUnderAnotherId: readonly string[];
  /** What a daemon that was not killed by us ended with. */
  readonly crashes: readonly string[];
}

export async function killRun({ kills, seed }: { kills: number; seed: number }): Promise<KillFigures> {
  const clock = systemClock();
  const random = seededRandom(seed);
  const folder = mkdtempSync(join(tmpdir(), 'nestwatch-kill-'));
  const activity = new EventEmitter();
  const world = createLoad(clock, seed);
  const simulator = await openSimulator({ world, host: '127.0.0.1', port: 0 });
  const receiver = await openReceiver(activity);
  const file = join(folder, 'nestwatch.yaml');
  writeFileSync(
    file,
    `
regions: { eu: { base_url: "${simulator.url}", token: token, requests_per_second: 500 } }
store: { url: "sqlite:${join(folder, 'store.db')}" }
poll: { interval: 1s, min_interval: 1s, inventory_interval: 10s, overlap: 10s }
receivers: [{ name: lake, webhook_configs: [{ url: "${receiver.url}", format: cloudevents }] }]
route: { receiver: lake }
forward: [{ receiver: lake }]
web: { listen: "127.0.0.1:0" }
`,
  );
  const crashes: string[] = [];

  const start = (): ChildProcess => {
    const child = spawn(process.execPath, [MAIN, 'run', '--config.file', file, '--log.level', 'error'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr!.on('data', (chunk) => {
      said += String(chunk);
    });
    child.on('exit', (code, signal) => {
      if (signal !== 'SIGKILL' && code !== 0) crashes.push(said);
      activity.emit('seen');
    });
    return child;
  };

  /** Resolves after so many webhook calls have begun; a kill then falls into whatever the daemon does. */
  const calls = async (count: number, child: ChildProcess) => {
    for (let seen = 0; seen < count && child.exitCode === null; seen += 1) await once(activity, 'seen');
  };

  try {
    for (let kill = 0; kill < kills; kill += 1) {
      const child = start();
      await calls(1 + Math.floor(random() * 12), child);
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    }
    const last = start();
    world.behaviours.lateShare = 0;
    const truth = world.truth().events.map((event) => event.key);
    while (!truth.every((key) => receiver.idsOf.has(key)) && last.exitCode === null)
      await once(activity, 'seen');
    last.kill('SIGTERM');
    if (last.exitCode === null) await once(last, 'exit');

    const repeated = [...receiver.idsOf].filter(([, ids]) => ids.length > 1);
    return {
      kills,
      events: truth.length,
      lost: truth.filter((key) => !receiver.idsOf.has(key)),
      repeatedUnderOneId: repeated.filter(([, ids]) => new Set(ids).size === 1).length,
      repeatedUnderAnotherId: repeated.filter(([, ids]) => new Set(ids).size > 1).map(([key]) => key),
      crashes,
    };
  } finally {
    await Promise.all([simulator.close(), receiver.close()]);
    rmSync(folder, { recursive: true });
  }
}

/** About fifty events a second, in every feed, of a service with bad manners. */
function createLoad(clock: Clock, seed: number): World {
  const random = seededRandom(seed + 1);
  const world = createWorld({
    region: 'eu',
    clock,
    random: seededRandom(seed + 2),
    token: 'token',
    behaviours: {
      bounds: 'exclusive',
      comparedPrecision: 'second',
      maxPageSize: 37,
      lateShare: 0.1,
      lateMaxMs: 4_000,
      error503: 0.01,
      retryAfterMs: 100,
      reset: 0.01,
      cut: 0.005,
      htmlOk: 0.005,
    },
  });
  const nest = world.addNest({ name: 'Marketing' });
  const birds = Array.from({ length: 6 }, (_, index) =>
    world.addBird(nest.id, { name: `Bird ${index}`, triggerType: 'event' }),
  );
  world.every(60, () => {
    const { id } = pick(random, birds);
    world.save(id);
    world.startFlight(id, { endsAs: 'succeeded', fliesForMs: 50 + random() * 2_000 });
    world.appendNotification({ fields: { eventType: 'Announcement', entityType: 'Plan', entityId: 1 } });
  });
  return world;
}

/** Accepts everything, after a moment in which a kill leaves the sender without its answer. */
async function openReceiver(activity: EventEmitter) {
  const idsOf = new Map<string, string[]>();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      // The sender was killed in the middle: nothing was accepted.
      return;
    }
    const id = String(request.headers['webhook-id']);
    for (const event of JSON.parse(Buffer.concat(chunks).toString('utf8')) as {
      id: string;
      type: string;
    }[]) {
      // The alert's own notification tells some events again, by contract under another id: only forwards count.
      if (id.startsWith('forward-')) idsOf.set(event.id, [...(idsOf.get(event.id) ?? []), id]);
    }
    activity.emit('seen');
    setImmediate(() => response.writeHead(204).end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    idsOf,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { kills: { type: 'string', default: '50' }, seed: { type: 'string', default: '1' } },
  });
  console.log(await killRun({ kills: Number(values.kills), seed: Number(values.seed) }));
}
