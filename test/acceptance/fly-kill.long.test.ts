/**
 * Kills the real daemon with SIGKILL between a wish, the request for it and the answer, and starts it again. The service
 * never sees a wish twice, and each ends as done, refused or unknown.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { request as ask, createServer } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { buffer } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { openSimulator } from '../../src/simulator/answers/simulator-server.ts';
import { seededRandom } from '../../src/simulator/world/seeded-random.ts';
import { createWorld } from '../../src/simulator/world/world.ts';
import { systemClock } from '../../src/time/clock.ts';
import { listenInTest, tempFolder } from '../http/servers.ts';
import { MAIN } from '../program.ts';

/** When the daemon is killed: once the wish is taken, when the service has the request, or when it has answered. */
const MOMENTS = ['taken', 'received', 'answered'] as const;

interface Told {
  readonly action: { readonly id: string; readonly state: string };
}

test('killed between a wish, its request and the answer, the daemon never asks twice [long]', {
  timeout: 900_000,
}, async () => {
  const kills = 12;
  const world = createWorld({
    ...{ region: 'eu', clock: systemClock(), random: seededRandom(1), token: 'token', behaviours: {} },
  });
  const nest = world.addNest({ name: 'Marketing' });
  const birds = Array.from({ length: kills }, (_, index) =>
    world.addBird(nest.id, { name: `Bird ${index}`, triggerType: 'manual' }),
  );
  const simulator = await openSimulator({ world, host: '127.0.0.1', port: 0 });
  const posts = new Map<string, number>();
  let child: ChildProcess | undefined;
  let moment: (typeof MOMENTS)[number] = 'taken';
  const kill = () => child!.kill('SIGKILL');
  const front = createServer(async (incoming, outgoing) => {
    const body = await buffer(incoming).catch(() => undefined);
    const isFlying = incoming.method === 'POST';
    const bird = incoming.url!.split('/').at(-1)!;
    if (isFlying) posts.set(bird, (posts.get(bird) ?? 0) + 1);
    if (isFlying && moment === 'received') kill();
    const { method, headers } = incoming;
    const onward = ask(new URL(incoming.url!, simulator.url), { method, headers }, async (answer) => {
      const text = await buffer(answer);
      if (isFlying && moment === 'answered') return kill();
      outgoing.writeHead(answer.statusCode!, answer.headers).end(text);
      return undefined;
    });
    onward.end(body);
  });
  const service = (await listenInTest(front)).url + new URL(simulator.url).pathname;
  const folder = tempFolder();
  const file = join(folder, 'nestwatch.yaml');
  const config = {
    regions: { eu: { base_url: service, token: 'token', fly: true, requests_per_second: 100 } },
    store: { url: `sqlite:${join(folder, 'store.db')}` },
    poll: { interval: '1s', min_interval: '500ms', max_interval: '5s', inventory_interval: '5s' },
    web: { listen: '127.0.0.1:0' },
  };
  writeFileSync(file, JSON.stringify(config));

  /** Starts the daemon; resolves to its address once it serves. */
  async function start(): Promise<string> {
    const options = ['--config.file', file, '--log.format', 'json'];
    child = spawn(process.execPath, [MAIN, 'run', ...options], { stdio: ['ignore', 'ignore', 'pipe'] });
    for await (const line of createInterface({ input: child.stderr! })) {
      const url = /"(?:url|page)":"(http[^"]+)"/.exec(line)?.[1];
      if (url !== undefined && line.includes('nestwatch has started')) return url;
    }
    throw new Error('the daemon ended before it served');
  }

  const told = async (url: string, path: string, sent?: object) => {
    const body = sent && { method: 'POST', body: JSON.stringify(sent) };
    return fetch(new URL(path, url), { ...body, headers: { 'content-type': 'application/json' } });
  };
  const until = async (fits: () => Promise<boolean>) => {
    while (!(await fits())) await new Promise((resolve) => setTimeout(resolve, 50));
  };

  try {
    const ids = new Map<string, string>();
    for (const [index, { id: bird }] of birds.entries()) {
      const url = await start();
      await until(async () => (await told(url, `/api/v1/birds/eu/${bird}`)).ok);
      moment = MOMENTS[index % MOMENTS.length]!;
      const ended = once(child!, 'exit');
      const answer = await told(url, `/api/v1/birds/eu/${bird}/fly`, { author: 'Ann' });
      expect(answer.status).toBe(202);
      ids.set(bird, ((await answer.json()) as Told).action.id);
      if (moment === 'taken') kill();
      await ended;
    }
    moment = 'taken';
    const url = await start();
    const stateOf = async (id: string) =>
      ((await (await told(url, `/api/v1/actions/${id}`)).json()) as Told).action.state;
    const ends = new Map<string, string>();
    for (const [bird, id] of ids) {
      await until(async () => !['wanted', 'asked'].includes(await stateOf(id)));
      ends.set(bird, await stateOf(id));
    }
    const seen = [...ends].map(([bird, end]) => ({ end, posts: posts.get(bird) ?? 0 }));
    expect(seen.filter((one) => one.posts > 1)).toEqual([]);
    expect(seen.filter(({ end, posts: sent }) => end === 'done' && sent !== 1)).toEqual([]);
    expect(new Set(seen.map(({ end }) => end)).isSubsetOf(new Set(['done', 'refused', 'unknown']))).toBe(
      true,
    );
    expect(seen.filter(({ end }) => end === 'unknown').length).toBeGreaterThanOrEqual((2 * kills) / 3);
  } finally {
    kill();
    await simulator.close();
  }
});
