/**
 * The service that the scale run watches, in a separate process: one simulated world per region, full of Birds whose
 * Flights follow Zipf's law. It has no clock of its own: each request says what time it is.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createExchange } from '../../src/simulator/answers/simulator-server.ts';
import { seededRandom } from '../../src/simulator/world/seeded-random.ts';
import { createWorld, type World } from '../../src/simulator/world/world.ts';
import type { Random } from '../../src/time/clock.ts';
import { TEST_START_US } from '../virtual-clock.ts';

/** The request header with the instant at which it is answered, in microseconds. */
export const INSTANT_HEADER = 'x-instant-us';

export interface ServiceSettings {
  readonly regions: readonly string[];
  readonly birds: number;
  /** The average of all Birds; the busiest has a thousand times as many as the median. */
  readonly flightsPerBirdAndDay: number;
}

const ZIPF = 1.1;
const BIRDS_PER_NEST = 200;
const DAY_US = 86_400e6;
/** The share of all events other than Flights: edits, failing triggers, lost connections. */
const EDIT_SHARE = 0.05;
const TRIGGER_SHARE = 0.01;
const CONNECTION_SHARE = 0.001;
const FAILURE_SHARE = 0.02;

function populate(world: World, { birds, flightsPerBirdAndDay }: ServiceSettings, random: Random): void {
  world.addUser();
  const ids: string[] = [];
  let nestId = '';
  for (let bird = 0; bird < birds; bird += 1) {
    if (bird % BIRDS_PER_NEST === 0) nestId = world.addNest({ name: `Nest ${bird / BIRDS_PER_NEST}` }).id;
    const triggerType = (['scheduled', 'event', 'manual'] as const)[bird % 3]!;
    ids.push(world.addBird(nestId, { name: `Bird ${bird}`, triggerType, status: 'active' }).id);
  }
  const upTo: number[] = [];
  let total = 0;
  for (const rank of ids.keys()) {
    total += (rank + 1) ** -ZIPF;
    upTo.push(total);
  }
  const someBird = (): string => {
    const at = random() * total;
    let [low, high] = [0, ids.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (upTo[middle]! <= at) low = middle + 1;
      else high = middle;
    }
    return ids[low]!;
  };
  const meanGapUs = DAY_US / (birds * flightsPerBirdAndDay);
  const next = (fromUs: number) => {
    const atUs = fromUs - Math.log(1 - random()) * meanGapUs;
    world.at(atUs, () => {
      happen(world, someBird(), random);
      next(atUs);
    });
  };
  next(world.nowUs());
}

function happen(world: World, birdId: string, random: Random): void {
  const chance = random();
  if (chance < CONNECTION_SHARE) world.disconnectConnection({ exhausted: random() < 0.5, wording: 'new' });
  else if (chance < TRIGGER_SHARE) world.eventError(birdId);
  else if (chance < EDIT_SHARE) world.save(birdId);
  const endsAs = random() < FAILURE_SHARE ? 'failed' : 'succeeded';
  world.startFlight(birdId, { fliesForMs: 1000 + random() * 120_000, endsAs });
}

function serve(settings: ServiceSettings): void {
  let nowUs = TEST_START_US;
  const clock = {
    nowUs: () => nowUs,
    monotonicMs: () => nowUs / 1000,
    setTimer: () => () => {},
  };
  const exchanges = new Map(
    settings.regions.map((region, at) => {
      const world = createWorld({ region, clock, random: seededRandom(at + 1), token: 'token' });
      populate(world, settings, seededRandom(at + 101));
      return [region, createExchange(world)];
    }),
  );
  const server = createServer((request, response) => {
    const { headers, method = 'GET', url = '/' } = request;
    nowUs = Math.max(nowUs, Number(headers[INSTANT_HEADER]));
    const [, region = '', ...rest] = url.split('/');
    const reply = exchanges.get(region)!({
      method,
      path: `/${rest.join('/')}`,
      headers: headers as Record<string, string>,
      body: '',
    });
    if (reply.kind === 'reset') {
      response.destroy();
      return;
    }
    const body = Buffer.from(reply.response.body);
    response.writeHead(reply.response.status, { ...reply.response.headers, 'content-length': body.length });
    response.end(body);
  });
  server.keepAliveTimeout = 600_000;
  server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
  process.once('disconnect', () => process.exit());
}

if (import.meta.main) process.once('message', (settings) => serve(settings as ServiceSettings));
