/** A server that is away, one that lacks what it had confirmed, and one that others block. */
import { cpSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { LEASE_MS } from '../../../src/replicas/membership.ts';
import { openStore } from '../../../src/store/open-store.ts';
import { SHARED_LIMITS } from '../../../src/store/postgres/settle-in.ts';
import type { VirtualClock } from '../../virtual-clock.ts';
import { nest } from '../contract/sample-records.ts';
import { type TestStore, testStore } from '../test-store.ts';
import { eachSchema } from './each-schema.ts';
import {
  findServer,
  ownedByServer,
  type PlaceChanges,
  type PostgresServer,
  startServer,
} from './postgres-server.ts';

const bin = findServer()!;
/** Longer than the time for which a server that was away is left alone. */
const LATER_MS = 1_500;

describe('a server', () => {
  const each = eachSchema(() => startServer(bin, ['fsync=on']));
  let server: PostgresServer;
  let clock: VirtualClock;
  beforeEach(() => {
    ({ server, clock } = each);
  });
  const open = each.openStore;
  const putNest = (store: TestStore, name: string) => store.inventory.putNests([nest(name)]);
  const nests = async (store: TestStore) => (await store.inventory.nests('eu')).map(({ name }) => name);
  const newReplica = (store: TestStore) => store.ownership.join('r', '1', 60_000);
  const data = () => join(server.host, 'data');

  /** The server forgets what is done meanwhile, as after a failover to a lagging standby. */
  async function forgetting(work: () => Promise<void>): Promise<void> {
    const copy = join(server.host, 'before');
    await server.stop('fast');
    cpSync(data(), copy, { recursive: true, preserveTimestamps: true });
    await server.start();
    await clock.advance(LATER_MS);
    await work();
    await server.stop('immediate');
    rmSync(data(), { recursive: true });
    renameSync(copy, data());
    ownedByServer(data());
    await server.start();
  }

  /** Another server with the same data takes over: it has the next timeline. */
  async function promote(): Promise<void> {
    await server.stop('fast');
    writeFileSync(join(data(), 'standby.signal'), '');
    ownedByServer(join(data(), 'standby.signal'));
    await server.start();
    const admin = new pg.Client({ host: server.host, user: 'nestwatch', database: 'postgres' });
    await admin.connect();
    await admin.query('SELECT pg_promote()');
    await admin.end();
  }

  /** Queries the store that was away until it answers. */
  async function back<T>(ask: () => Promise<T>): Promise<T> {
    for (let turns = 0; ; turns += 1) {
      await clock.advance(LATER_MS);
      try {
        return await ask();
      } catch (error) {
        if (turns > 20 || (error as { code?: string }).code !== 'store_down') throw error;
      }
    }
  }

  test('that lacks commits ends all leases, whose epochs are never used again', async () => {
    const [a, b] = [await open(true), await open(true)];
    const [replica, other] = [await newReplica(a), await newReplica(b)];
    let lost = { duty: '', epoch: 0 };
    await forgetting(async () => {
      lost = (await back(() => a.ownership.take('region eu', replica)))!;
      await back(() => newReplica(b));
    });
    await expect(back(() => a.ownership.check(lost))).rejects.toMatchObject({
      code: 'lease_lost',
    });
    expect(await back(() => b.ownership.isMember(other))).toBe(false);
    const next = await newReplica(b);
    expect(next).toBeGreaterThan(other + 1_000);
    const taken = (await b.ownership.take('region eu', next))!;
    expect(taken.epoch).toBeGreaterThan(lost.epoch + 1_000);
    await expect(a.ownership.check(lost)).rejects.toMatchObject({
      code: 'lease_lost',
    });
    await putNest(a, 'goes on');
    expect(await nests(b)).toEqual(['goes on']);
  });

  test('that lacks commits ends the process that has the store to itself, and the next one begins from what there is', async () => {
    const store = await open(false);
    await putNest(store, 'kept');
    await forgetting(() => back(() => putNest(store, 'lost')));
    await expect(back(() => nests(store))).rejects.toMatchObject({ code: 'store_failed' });
    await expect(back(() => putNest(store, 'more'))).rejects.toMatchObject({ code: 'store_failed' });
    await store.close();
    expect(await nests(await open(false))).toEqual(['kept']);
  });

  test('that may lack some, because another one took over, ends all leases, but not a single process', async () => {
    const a = await open(true);
    const replica = await newReplica(a);
    const lease = (await a.ownership.take('region eu', replica))!;
    const [taken] = (await a.ownership.view()).duties;
    await promote();
    await expect(back(() => a.ownership.check(lease))).rejects.toMatchObject({
      code: 'lease_lost',
    });
    // It is as free as any that was just given back: for a while it is left to those it should go to.
    const [freed] = (await a.ownership.view()).duties;
    expect(freed).toMatchObject({ owner: 0, sinceUs: expect.toSatisfy((us) => us > taken!.sinceUs) });
    await a.close();
    const alone = await open(false);
    await putNest(alone, 'kept');
    await promote();
    expect(await back(() => nests(alone))).toEqual(['kept']);
  });

  test('that was only away ends no lease, also where nothing was written for a month', async () => {
    const a = await open(true);
    const replica = await newReplica(a);
    const lease = (await a.ownership.take('region eu', replica))!;
    const admin = await each.connect();
    await admin.query(`SET search_path = ${each.schema()}`);
    await admin.query(`INSERT INTO writer VALUES ('ended', 1, now());
      UPDATE writer SET at = now() - interval '31 days'`);
    await open(true);
    expect((await admin.query(`SELECT 1 FROM writer WHERE life = 'ended'`)).rowCount).toBe(0);
    await server.stop('immediate');
    await server.start();
    await back(() => a.ownership.check(lease));
  });

  test('that is away is left alone for a second, and is available again by itself', async () => {
    const store = await open(false);
    await putNest(store, 'a');
    await server.stop('immediate');
    for (let tries = 0; tries < 3; tries += 1) {
      await expect(putNest(store, 'b')).rejects.toMatchObject({ code: 'store_down' });
    }
    await server.start();
    await expect(putNest(store, 'b')).rejects.toMatchObject({ code: 'store_down' });
    await clock.advance(LATER_MS);
    await putNest(store, 'c');
    expect(await nests(store)).toEqual(['a', 'c']);
  });

  /** Opens the store as a start does, while time passes; `heard` is what it said of the server. */
  async function starting(changes: PlaceChanges, patienceMs = 120_000) {
    const heard: unknown[] = [];
    let isOver = false;
    const started = openStore({
      ...{ url: server.url, postgres: each.place(changes), clock },
      ...{ isShared: true, patienceMs, away: (error: unknown) => heard.push(error) },
    })
      .then(({ store }) => {
        onTestFinished(() => store.close());
        return testStore(store);
      })
      .finally(() => {
        isOver = true;
      });
    started.catch(() => {});
    return {
      heard,
      started,
      async pass(ms: number) {
        for (let leftMs = ms; leftMs > 0 && !isOver; leftMs -= 1_000) {
          await clock.advance(1_000);
          // A refused connection is refused at once.
          await expect.poll(() => isOver || clock.pending() > 0, { interval: 2 }).toBe(true);
        }
      },
    };
  }

  test('is waited for at a start, for two minutes', async () => {
    await server.stop('fast');
    const late = await starting({});
    await late.pass(130_000);
    await expect(late.started).rejects.toMatchObject({ code: 'store_down' });
    const start = await starting({});
    await start.pass(100_000);
    expect(start.heard).toMatchObject([
      { code: 'store_down', message: expect.stringMatching('cannot be reached') },
    ]);
    await server.start();
    await start.pass(20_000);
    expect(await nests(await start.started)).toEqual([]);
  });

  test.each<[string, PlaceChanges]>([
    ['refuses the user', { user: 'nobody at all' }],
    ['lacks the database', { database: 'none' }],
    [
      'is not trusted, because the certificates cannot be read',
      { sslmode: 'verify-full', sslrootcert: '/none' },
    ],
  ])('that %s is not waited for', async (_, changes) => {
    const { started, heard } = await starting(changes);
    await expect(started).rejects.toMatchObject({ code: 'store_down' });
    expect(heard).toEqual([]);
  });

  test('ends a transaction of a suspended process before others lose their leases', async () => {
    const { silenceMs, lockMs, statementMs } = SHARED_LIMITS;
    expect(silenceMs).toBeLessThan(lockMs);
    expect(lockMs).toBeLessThan(statementMs);
    expect(statementMs).toBeLessThan(LEASE_MS);
    const [a, b] = [await open(true), await open(true)];
    await a.inventory.putRate('eu', { perSecond: 1, keptUs: 1 });
    const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
    const { promise: gate, resolve: goOn } = Promise.withResolvers<void>();
    const stopped = a.transaction(async (tx) => {
      await tx.inventory.putRate('eu', { perSecond: 2, keptUs: 2 });
      reach();
      await gate;
      await tx.inventory.putRate('eu', { perSecond: 3, keptUs: 3 });
    });
    stopped.catch(() => {});
    await reached;
    await b.inventory.putRate('eu', { perSecond: 4, keptUs: 4 });
    goOn();
    await expect(stopped).rejects.toMatchObject({ code: 'store_down' });
    expect(await b.inventory.rate('eu')).toMatchObject({ perSecond: 4 });
  });
});
