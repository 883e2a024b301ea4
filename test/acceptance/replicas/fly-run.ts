/**
 * People fly Birds again at three real processes on one real PostgreSQL. At each wish the process that reads the region
 * is killed with SIGKILL, or the server of the store goes away for seconds, or both: once the wish is taken, when the
 * service has the request, or when it is about to answer. The service must never be asked twice for one wish, and each
 * wish must end as done, refused or unknown. Run it by hand with `node test/acceptance/replicas/fly-run.ts --kills 200
 * [--seed 1] [--keep]`.
 */
import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import { pick, seededRandom } from '../../../src/simulator/world/seeded-random.ts';
import { sleep, systemClock } from '../../../src/time/clock.ts';
import { openScene, type Scene, until } from './scene.ts';

const MOMENTS = ['taken', 'received', 'answered'] as const;
type Moment = (typeof MOMENTS)[number];

interface Fault {
  readonly name: string;
  readonly kills: boolean;
  readonly serverAway?: 'fast' | 'immediate';
}

const FAULTS: readonly Fault[] = [
  { name: 'killed', kills: true },
  { name: 'killed while the store is away', kills: true, serverAway: 'fast' },
  { name: 'store away', kills: false, serverAway: 'immediate' },
  { name: 'killed', kills: true },
];

const REPLICAS = 3;
const REGIONS = 6;
const AWAY_MS = 6_000;
/** A wish that is not asked for is refused within 2 minutes. */
const GIVEN_UP_MS = 150_000;

export interface FlyRunOptions {
  readonly kills: number;
  readonly seed: number;
  readonly log?: (line: string) => void;
  readonly keep?: boolean;
}

export interface FlyFigures {
  readonly kills: number;
  readonly aways: number;
  readonly wishes: number;
  /** Wishes by fault, moment and end. */
  readonly ends: ReadonlyMap<string, number>;
  /** Wishes for which the service was asked more than once. */
  readonly repeated: readonly string[];
  readonly unsettled: readonly string[];
  /** Wishes whose end is not what the service did. */
  readonly untrue: readonly string[];
  readonly crashes: readonly string[];
  /** What the logs said, above `info`. */
  readonly said: ReadonlyMap<string, number>;
}

interface Wish {
  readonly id: string;
  readonly region: string;
  readonly bird: string;
  readonly fault: Fault;
  /** Undefined for one that is sent together with another, at which the fault happens. */
  readonly moment: Moment | undefined;
}

export async function flyRun({ kills, seed, ...options }: FlyRunOptions): Promise<FlyFigures> {
  const random = seededRandom(seed);
  const clock = systemClock();
  const posts = new Map<string, number>();
  const wishes: Wish[] = [];
  /** What becomes whole again by itself. */
  const mending: Promise<unknown>[] = [];
  let struck = Promise.withResolvers<void>();
  let waiting: Wish | undefined;
  const scene = await openScene({
    ...{ ...options, seed, replicas: REPLICAS, regions: REGIONS, birds: 1, interval: '30s', everyMs: 0 },
    async onFly(at, { life, region, bird }) {
      const place = `${region}/${bird}`;
      if (at === 'received') posts.set(place, (posts.get(place) ?? 0) + 1);
      if (waiting && placeOf(waiting) === place && waiting.moment === at) await strike(waiting, life);
    },
  });
  const { fleet, service, server, log } = scene;

  async function strike({ fault: { kills: isKilled, serverAway } }: Wish, life: string): Promise<void> {
    waiting = undefined;
    const reader = fleet.running().find((one) => one.life === life);
    if (isKilled && reader) {
      reader.child.kill('SIGKILL');
      mending.push(sleep(clock, random() * 3_000).then(() => fleet.start(reader.place)));
    }
    if (serverAway) {
      await server.stop(serverAway);
      mending.push(sleep(clock, random() * AWAY_MS).then(() => server.start()));
    }
    struck.resolve();
  }

  const readerOf = (region: string) => service.turnsOf(region).at(-1)?.life;
  const isRead = (region: string) => fleet.running().some(({ life }) => life === readerOf(region));

  async function wishFor(wish: Wish, other: Wish): Promise<void> {
    wishes.push(wish, other);
    if (wish.moment !== 'taken') waiting = wish;
    struck = Promise.withResolvers();
    const isTaken = (one: Wish) => until(async () => (await send(scene, random, one)) === 202, GIVEN_UP_MS);
    const others = isTaken(other);
    await isTaken(wish);
    if (wish.moment === 'taken') await strike(wish, readerOf(wish.region)!);
    const end = await Promise.race([struck.promise, sleep(clock, GIVEN_UP_MS).then(() => 'not asked for')]);
    if (end !== undefined) log(`${placeOf(wish)}: ${end}`);
    await others;
    await Promise.all(mending.splice(0));
  }

  try {
    const plan = planned(kills);
    const left = plan.flatMap((_, at) => {
      const region = service.regions[at % REGIONS]!;
      const [nest] = service.world(region).nests.keys();
      const birds = [0, 1].map((one) =>
        service.world(region).addBird(nest!, { name: `Manual ${at}.${one}`, triggerType: 'manual' }),
      );
      return { region, birds: birds.map(({ id }) => id) };
    });
    await Promise.all(Array.from({ length: REPLICAS }, (_, place) => fleet.start(place)));
    for (const { region, birds } of left.slice(-REGIONS))
      await until(
        async () => (await fleet.ask(0, `/api/v1/birds/${region}/${birds[1]}`))?.status === 200,
        GIVEN_UP_MS,
      );
    for (const [at, { moment, fault }] of plan.entries()) {
      // Without a reader there is nobody to kill.
      await until(() => left.some(({ region }) => isRead(region)), GIVEN_UP_MS);
      const readable = left.filter(({ region }) => isRead(region));
      const next = pick(random, readable.length > 0 ? readable : left);
      left.splice(left.indexOf(next), 1);
      const [wish, other] = next.birds.map((bird) => ({
        id: randomUUID(),
        region: next.region,
        bird,
        fault,
      }));
      await wishFor({ ...wish!, moment }, { ...other!, moment: undefined });
      if (at % 10 === 9) log(`${at + 1} of ${plan.length} faults`);
    }
    const ends = await endsOf(scene, wishes);
    const postsOf = (one: Wish) => posts.get(placeOf(one)) ?? 0;
    const flightsOf = ({ region, bird }: Wish) => {
      const world = service.world(region);
      // A Flight appears with the next request, of which the last wish may have none.
      world.settle();
      return world.birds.get(bird)!.flights.length;
    };
    const said = (one: Wish) => `${one.fault.name}, ${one.moment ?? 'at the same time'}: ${ends.get(one.id)}`;
    const named = (one: Wish) =>
      `${placeOf(one)}, ${said(one)}, asked for ${postsOf(one)} times, ${flightsOf(one)} Flights`;
    const isTrue = (one: Wish) => {
      const end = ends.get(one.id);
      return end === 'unknown' || flightsOf(one) === (end === 'done' ? 1 : 0);
    };
    await Promise.all(fleet.running().map(({ place }) => fleet.end(place, 'SIGTERM')));
    return {
      kills: plan.filter(({ fault }) => fault.kills).length,
      aways: plan.filter(({ fault }) => fault.serverAway).length,
      wishes: wishes.length,
      ends: counted(wishes.map(said)),
      repeated: wishes.filter((one) => postsOf(one) > 1).map(named),
      unsettled: wishes.filter(({ id }) => !isEnd(ends.get(id))).map(named),
      untrue: wishes.filter((one) => !isTrue(one)).map(named),
      crashes: scene.crashes,
      said: fleet.said(),
    };
  } finally {
    await Promise.allSettled(mending);
    await scene.close();
  }
}

const placeOf = ({ region, bird }: Wish) => `${region}/${bird}`;
const isEnd = (state: string | undefined) => ['done', 'refused', 'unknown'].includes(state ?? '');

/** Each fault at each moment in turn, until there are as many kills. */
function planned(kills: number): Pick<Wish, 'moment' | 'fault'>[] {
  const all = FAULTS.flatMap((fault) => MOMENTS.map((moment) => ({ fault, moment })));
  const plan: Pick<Wish, 'moment' | 'fault'>[] = [];
  for (let at = 0, killed = 0; killed < kills; at += 1) {
    const next = all[at % all.length]!;
    plan.push(next);
    if (next.fault.kills) killed += 1;
  }
  return plan;
}

/** Asks any replica; the status, or undefined without an answer. */
async function send({ fleet }: Scene, random: () => number, { id, region, bird }: Wish) {
  try {
    const { place } = pick(random, fleet.running());
    const response = await fetch(`${fleet.urlOf(place)}/api/v1/birds/${region}/${bird}/fly`, {
      method: 'POST',
      body: JSON.stringify({ author: 'Ann', id }),
      headers: { 'content-type': 'application/json' },
      signal: AbortSignal.timeout(5_000),
    });
    await response.body?.cancel();
    return response.status;
  } catch {
    return undefined;
  }
}

/** The state of each wish, once it has ended or nothing more comes of it. */
async function endsOf({ fleet }: Scene, wishes: readonly Wish[]): Promise<Map<string, string>> {
  const ends = new Map<string, string>();
  const look = async (id: string) => {
    const answer = await fleet.ask(fleet.running()[0]!.place, `/api/v1/actions/${id}`);
    ends.set(id, answer?.status === 200 ? JSON.parse(answer.text).action.state : 'not kept');
    return isEnd(ends.get(id));
  };
  const endMs = Date.now() + GIVEN_UP_MS;
  for (const { id } of wishes) await until(() => look(id), Math.max(1, endMs - Date.now()));
  return ends;
}

function counted(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      kills: { type: 'string', default: '200' },
      seed: { type: 'string', default: '1' },
      keep: { type: 'boolean', default: false },
    },
  });
  const figures = await flyRun({
    ...{ kills: Number(values.kills), seed: Number(values.seed), keep: values.keep },
    log: (line) => console.log(new Date().toISOString().slice(11, 19), line),
  });
  console.log(figures);
}
