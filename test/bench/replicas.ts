/**
 * One, two and four replicas as processes on one durable PostgreSQL: how soon a burst of failures in all regions is
 * stored, decided on, forwarded and notified, and how many requests a replica makes to the database while nothing
 * happens, though an alert fires for each Bird. The simulated service, the receiver and the server use the same cores.
 * Run it by hand: `node test/bench/replicas.ts [--regions 40] [--replicas 1,2,4] [--flights 25]`.
 */
import { parseArgs } from 'node:util';
import pg from 'pg';
import { sleep, systemClock } from '../../src/time/clock.ts';
import { openScene, type Scene, until } from '../acceptance/replicas/scene.ts';
import { readBy } from '../acceptance/replicas/taken-over.ts';
import { isServerHere } from './postgres.ts';

const BIRDS = 20;
const IDLE_MS = 60_000;
const WITHIN_MS = 600_000;
/** Longer than a duty stays where it is at least (`plan-duties.ts`). */
const SETTLED_MS = 90_000;
/** Settings of a server that keeps what it has committed; it counts the statements of each user. */
const SETTINGS = [
  ...['fsync=on', 'full_page_writes=on', 'shared_buffers=256MB'],
  'shared_preload_libraries=pg_stat_statements',
];

interface ReplicasFigures {
  readonly replicas: number;
  /** How many regions each replica had when the burst came. */
  readonly shares: readonly number[];
  readonly events: number;
  /** From the burst until all of its events were accepted. */
  readonly eventsPerSecond: number;
  /** Notifications accepted by both receivers, over the same time. */
  readonly deliveriesPerSecond: number;
  /** For each replica, in a minute in which nothing happened. */
  readonly idleStatements: readonly number[];
  readonly idleRequests: readonly number[];
  readonly idleTransactions: readonly number[];
}

async function asked<Row extends object>(scene: Scene, sql: string): Promise<Row[]> {
  const client = new pg.Client({ host: scene.server.host, user: 'nestwatch', database: 'postgres' });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

/**
 * Until every replica reads some regions, and none has moved for a while. The one that alerts reads fewer: alerting
 * weighs a quarter of all regions.
 */
async function untilSettled(shares: () => readonly number[]): Promise<void> {
  let last = '';
  let sinceMs = performance.now();
  const isSettled = await until(() => {
    const now = shares();
    if (now.join() !== last) sinceMs = performance.now();
    last = now.join();
    return now.every((share) => share > 0) && performance.now() - sinceMs >= SETTLED_MS;
  }, WITHIN_MS);
  if (!isSettled) throw new Error(`the regions still move: ${last}`);
}

/** In each region every Bird fails this many times at once. */
export async function benchReplicas(
  replicas: number,
  regions: number,
  flights: number,
): Promise<ReplicasFigures> {
  const grouping = { groupBy: 'alertname, region, bird', groupInterval: '5m' };
  const load = { seed: 1, replicas, regions, birds: BIRDS, interval: '30s', everyMs: 0 };
  const scene = await openScene({ ...load, ...grouping, settings: SETTINGS });
  const { fleet, service, witness } = scene;
  try {
    await asked(scene, 'CREATE EXTENSION pg_stat_statements');
    for (let place = 0; place < replicas; place += 1) await fleet.start(place);
    const shares = () => fleet.running().map(({ life }) => readBy(service, life).length);
    await untilSettled(shares);
    await until(async () => (await fleet.ask(0, '/-/ready'))?.status === 200, WITHIN_MS);
    // By then, what the first readings found has been sent.
    await sleep(systemClock(), 30_000);
    const before = { shares: shares(), accepted: witness.accepted(), known: witness.forwarded.size };
    const beganMs = performance.now();
    for (const region of service.regions) {
      const world = service.world(region);
      for (const { id } of world.birds.values())
        for (let flight = 0; flight < flights; flight += 1)
          world.endFlight(world.startFlight(id).id, 'failed', { errorMessages: 'The TMS refused the job' });
    }
    const events = regions * BIRDS * flights;
    const isAll = await until(() => service.truth().every((key) => witness.forwarded.has(key)), WITHIN_MS);
    if (!isAll) throw new Error(`${witness.forwarded.size - before.known} of ${events} events were sent`);
    const tookS = (performance.now() - beganMs) / 1000;
    const deliveries = witness.accepted() - before.accepted;
    await sleep(systemClock(), 30_000);
    await asked(scene, 'SELECT pg_stat_statements_reset()');
    await sleep(systemClock(), IDLE_MS);
    // The lock of a transaction is sent with its beginning, and its seal with its end.
    const idle = await asked<{ who: string; statements: string; requests: string; transactions: string }>(
      scene,
      `SELECT rolname AS who, sum(calls) AS statements, sum(calls) FILTER (WHERE query = 'COMMIT') AS transactions,
         sum(calls) FILTER (WHERE query NOT LIKE 'LOCK TABLE%' AND query NOT LIKE 'INSERT INTO writer%') AS requests
       FROM pg_stat_statements JOIN pg_roles ON oid = userid WHERE rolname LIKE 'replica%' GROUP BY 1 ORDER BY 1`,
    );
    return {
      ...{ replicas, shares: before.shares, events },
      eventsPerSecond: events / tookS,
      deliveriesPerSecond: deliveries / tookS,
      idleStatements: idle.map(({ statements }) => Number(statements)),
      idleRequests: idle.map(({ requests }) => Number(requests)),
      idleTransactions: idle.map(({ transactions }) => Number(transactions ?? 0)),
    };
  } finally {
    await scene.close();
  }
}

export async function printReplicas(
  counts: readonly number[],
  regions: number,
  flights: number,
): Promise<void> {
  if (!isServerHere()) {
    console.log('  skipped: there is no PostgreSQL on this machine');
    return;
  }
  for (const count of counts) {
    const one = await benchReplicas(count, regions, flights);
    console.log(
      `  ${count} (${one.shares.join(', ')} regions): ${Math.round(one.eventsPerSecond)} events/s, ${Math.round(one.deliveriesPerSecond)} deliveries/s, idle ${one.idleStatements.join(', ')} statements as ${one.idleRequests.join(', ')} requests in ${one.idleTransactions.join(', ')} transactions a minute`,
    );
  }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      regions: { type: 'string', default: '40' },
      replicas: { type: 'string', default: '1,2,4' },
      flights: { type: 'string', default: '25' },
    },
  });
  await printReplicas(values.replicas.split(',').map(Number), Number(values.regions), Number(values.flights));
}
