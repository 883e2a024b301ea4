/**
 * The watched service for several replicas: many simulated regions, with a separate port for each replica, so that
 * its log knows who made requests to which region and when.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createExchange } from '../../../src/simulator/answers/simulator-server.ts';
import { pick, seededRandom } from '../../../src/simulator/world/seeded-random.ts';
import { createWorld, type World } from '../../../src/simulator/world/world.ts';
import { type Clock, sleep } from '../../../src/time/clock.ts';

/** Consecutive requests to one region by the same life of a replica. */
export interface Turn {
  readonly life: string;
  readonly fromMs: number;
  untilMs: number;
  count: number;
}

export interface WatchedService {
  readonly regions: readonly string[];
  /** The base URL of a region for a replica, by its place. */
  urlOf(replica: number, region: string): string;
  /** From now on, requests to the port of this replica belong to this life. */
  isLife(replica: number, life: string): void;
  world(region: string): World;
  /** Who made requests to a region, in order. */
  turnsOf(region: string): readonly Turn[];
  /** The keys of all events that happened. */
  truth(): readonly string[];
  /** Stops all events, and shows those that have happened. */
  becomeQuiet(): void;
  close(): Promise<void>;
}

export interface Load {
  readonly clock: Clock;
  readonly seed: number;
  readonly regions: number;
  readonly birds: number;
  /** Between two rounds of events in a region (a Flight, a saved Bird, a notification); 0 for none. */
  readonly everyMs: number;
  readonly onFly?: OnFly | undefined;
}

/** A request to start a Bird has come, or its answer is about to be sent. */
export type OnFly = (
  at: 'received' | 'answered',
  post: { readonly life: string; readonly region: string; readonly bird: string },
) => Promise<void>;

export async function openWatchedService(replicas: number, load: Load): Promise<WatchedService> {
  const worlds = new Map<string, World>();
  const ends: (() => void)[] = [];
  for (let index = 0; index < load.regions; index += 1) {
    const region = `r${String(index).padStart(2, '0')}`;
    const { world, end } = createBusyWorld(region, load, index);
    worlds.set(region, world);
    ends.push(end);
  }
  const turns = new Map([...worlds.keys()].map((region) => [region, [] as Turn[]]));
  const exchanges = new Map([...worlds].map(([region, world]) => [region, createExchange(world)]));
  const lives = Array.from({ length: replicas }, (_, replica) => `${replica}`);

  function note(region: string, life: string): void {
    const all = turns.get(region)!;
    const last = all.at(-1);
    const nowMs = Date.now();
    if (last?.life === life) Object.assign(last, { untilMs: nowMs, count: last.count + 1 });
    else all.push({ life, fromMs: nowMs, untilMs: nowMs, count: 1 });
  }

  async function answer(replica: number, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, region = '', path = ''] = /^\/(\w+)(\/.*)$/.exec(request.url!) ?? [];
    const exchange = exchanges.get(region);
    if (!exchange) return void response.writeHead(404).end();
    const life = lives[replica]!;
    note(region, life);
    let body = '';
    for await (const chunk of request) body += chunk;
    const { authorization } = request.headers;
    const post = request.method === 'POST' ? { life, region, bird: path.split('/').at(-1)! } : undefined;
    if (post) await load.onFly?.('received', post);
    const reply = exchange({ method: request.method!, path, headers: { authorization }, body });
    if (post) await load.onFly?.('answered', post);
    if (reply.delayMs > 0) await sleep(load.clock, reply.delayMs);
    if (reply.kind === 'reset') return void response.socket?.resetAndDestroy();
    const bytes = Buffer.from(reply.response.body);
    response.writeHead(reply.response.status, {
      ...reply.response.headers,
      'content-length': String(bytes.length),
    });
    if (reply.kind === 'cut') response.write(bytes.subarray(0, bytes.length / 2), () => response.destroy());
    else response.end(bytes);
  }

  const doors = await Promise.all(
    lives.map(async (_, replica) => {
      const door = createServer((request, response) => {
        // A client that is killed during a request is no failure of the service.
        answer(replica, request, response).catch(() => response.destroy());
      });
      door.keepAliveTimeout = 65_000;
      door.listen(0, '127.0.0.1');
      await once(door, 'listening');
      return door;
    }),
  );
  const ports = doors.map((door) => (door.address() as AddressInfo).port);

  return {
    regions: [...worlds.keys()],
    urlOf: (replica, region) => `http://127.0.0.1:${ports[replica]}/${region}/api-rest`,
    isLife(replica, life) {
      lives[replica] = life;
    },
    world: (region) => worlds.get(region)!,
    turnsOf: (region) => turns.get(region)!,
    truth: () => [...worlds.values()].flatMap((world) => world.truth().events.map(({ key }) => key)),
    becomeQuiet() {
      for (const end of ends) end();
      for (const { behaviours } of worlds.values()) behaviours.lateShare = 0;
    },
    async close() {
      for (const end of ends) end();
      for (const door of doors) {
        door.closeAllConnections();
        door.close();
      }
      await Promise.all(doors.map((door) => once(door, 'close')));
    },
  };
}

/** A badly behaved region, in which something happens all the time. */
function createBusyWorld(region: string, { clock, seed, birds, everyMs }: Load, index: number) {
  const random = seededRandom(seed * 1_000 + index);
  const world = createWorld({
    region,
    clock,
    random: seededRandom(seed * 1_000 + index + 500_000),
    token: 'token',
    behaviours: {
      bounds: 'exclusive',
      comparedPrecision: 'second',
      maxPageSize: 37,
      lateShare: 0.1,
      lateMaxMs: 4_000,
      error503: 0.005,
      retryAfterMs: 100,
      reset: 0.005,
      cut: 0.002,
    },
  });
  const nest = world.addNest({ name: `Nest of ${region}` });
  const all = Array.from({ length: birds }, (_, bird) =>
    world.addBird(nest.id, { name: `Bird ${bird}`, triggerType: 'event' }),
  );
  if (everyMs === 0) return { world, end: () => {} };
  const end = world.every(everyMs * (0.8 + 0.4 * random()), () => {
    const { id } = pick(random, all);
    world.save(id);
    const endsAs = random() < 0.2 ? 'failed' : 'succeeded';
    world.startFlight(id, { endsAs, fliesForMs: 50 + random() * 2_000 });
    world.appendNotification({ fields: { eventType: 'Announcement', entityType: 'Plan', entityId: 1 } });
  });
  return { world, end };
}
