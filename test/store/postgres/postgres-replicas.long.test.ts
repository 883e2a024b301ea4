/** What several replicas do to one store at the same time, each with its own connection. */
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { codeOf } from '../../../src/errors.ts';
import type { Lease } from '../../../src/store/ownership-store.ts';
import type { Store, Transaction } from '../../../src/store/store.ts';
import {
  alert,
  delivery,
  event,
  flight,
  group,
  NOW_US,
  notification,
  RENEWAL,
  settlement,
} from '../contract/sample-records.ts';
import type { TestStore } from '../test-store.ts';
import { eachSchema } from './each-schema.ts';
import { findServer, openDatabase } from './postgres-server.ts';

const bin = findServer();
const MINUTE_MS = 60_000;
const DELIVERIES = 210;
const READS = 500;

describe.skipIf(bin === undefined)('replicas on one PostgreSQL', () => {
  const each = eachSchema(() => openDatabase(bin!));
  const open = () => each.openStore(true);
  let a: TestStore;
  let b: TestStore;
  beforeEach(async () => {
    [a, b] = await Promise.all([open(), open()]);
  });

  /**
   * Begins a transaction that does `first`, and continues to its end when `goOn` is called; it may be repeated once.
   */
  async function held<T, U>(
    store: Store,
    first: (tx: Transaction) => Promise<T>,
    then: (tx: Transaction, value: T) => Promise<U>,
  ) {
    const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
    const { promise: gate, resolve: goOn } = Promise.withResolvers<void>();
    let times = 0;
    const done = store.transaction(async (tx) => {
      times += 1;
      const value = await first(tx);
      reach();
      await gate;
      return then(tx, value);
    });
    done.catch(() => {});
    await Promise.race([reached, done]);
    return { done, goOn, times: () => times };
  }

  test('a replica renews its lease during a long transaction of its own [long]', async () => {
    const { store, sharing } = await each.open(true);
    const replica = await a.ownership.join('a', '1', MINUTE_MS);
    const long = await held(
      store,
      (tx) => tx.ownership.isMember(replica),
      (tx) => tx.alerts.put([alert('x')]),
    );
    const queued = store.alerts.put([alert('y')]);
    const view = await sharing!.turns.renew(replica, RENEWAL);
    expect(view?.replicas.map((one) => one.replica)).toEqual([replica]);
    long.goOn();
    await Promise.all([long.done, queued]);
    const changed = await b.alerts.changed(10);
    expect(changed.map(({ id }) => id)).toEqual(['x', 'y']);
  });

  test('a replica that has renewed its lease has done so, whatever becomes of its other work [long]', async () => {
    const { turns } = (await each.open(true)).sharing!;
    const replica = await turns.transaction((tx) => tx.ownership.join('a', '1', 1));
    let renewing: Promise<unknown> | undefined;
    const beside = turns.transaction(async (tx) => {
      await tx.ownership.view();
      renewing = turns.renew(replica, RENEWAL);
      await tx.ownership.view();
      throw new Error('taken back');
    });
    await expect(beside).rejects.toThrow('taken back');
    await renewing;
    const { nowUs, replicas } = await b.ownership.view();
    expect(replicas[0]!.expiresUs).toBeGreaterThan(nowUs);
  });

  test('what one has answered for is seen by what another is asked afterwards, even during its long work [long]', async () => {
    const long = await held(
      a,
      (tx) => tx.alerts.find('x'),
      async () => {},
    );
    await b.alerts.put([alert('x')]);
    const asked = a.alerts.find('x');
    long.goOn();
    expect(await asked).toBeDefined();
    await long.done;
  });

  test('… also when a transaction fails that was queued beside that work [long]', async () => {
    const working = held(
      a,
      (tx) => tx.alerts.find('x'),
      async () => {},
    );
    const failing = a.transaction(() => Promise.reject(new Error('taken back')));
    failing.catch(() => {});
    const long = await working;
    await b.alerts.put([alert('x')]);
    const asked = a.alerts.find('x');
    long.goOn();
    await expect(failing).rejects.toThrow('taken back');
    expect(await asked).toBeDefined();
  });

  test('a long transaction gets through although others keep writing what it has read [long]', async () => {
    let isDone = false;
    async function writeOn(): Promise<void> {
      while (!isDone) await b.alerts.put([alert('x')]);
    }
    const others = writeOn();
    let tries = 0;
    await a.transaction(async (tx) => {
      tries += 1;
      for (let count = 0; count < READS; count += 1) await tx.alerts.find('x');
      await tx.alerts.put([alert('x'), alert('y')]);
    });
    isDone = true;
    await others;
    expect(tries).toBeLessThanOrEqual(5);
    expect(await b.alerts.find('y')).toBeDefined();
  });

  test('one that ends while its second connection is being made leaves none behind', async () => {
    const { store, sharing } = await each.open(true);
    const asked = sharing!.turns.shown().catch(() => undefined);
    await store.close();
    await asked;
    const admin = await each.connect();
    const left = () =>
      admin.query(`SELECT count(*)::int AS count FROM pg_stat_activity
        WHERE application_name LIKE 'nestwatch %' AND datname = current_database()`);
    // Those of `a` and `b`: of each, one to the store and one that listens.
    await expect.poll(async () => (await left()).rows, { timeout: 5_000 }).toEqual([{ count: 4 }]);
  });

  describe('what is read and then written', () => {
    test('an alert that changes while its earlier state is being routed is routed again [long]', async () => {
      await a.alerts.put([alert('x')]);
      const routing = await held(
        a,
        (tx) => tx.alerts.changed(10),
        async (tx, changed) => {
          await tx.alerts.markRouted(changed.map(({ id }) => id));
          return changed.map(({ state }) => state);
        },
      );
      await b.alerts.put([alert('x', { state: 'resolved' })]);
      routing.goOn();
      const routed = await routing.done;
      const left = await a.alerts.changed(10);
      expect([...routed, ...left.map(({ state }) => state)]).toContain('resolved');
    });

    test('a delivery that arrives while the one before it settles gets its turn [long]', async () => {
      const own = (id: string) => delivery(id, { notificationId: id, lane: 'l' });
      const turn = () => a.outbox.claim('ops', 0, NOW_US + 9, 9);
      await a.outbox.enqueue(notification('1'), [own('1')]);
      expect((await turn()).map(({ delivery: one }) => one.id)).toEqual(['1']);
      const settling = await held(
        a,
        (tx) => tx.outbox.settle([settlement('1', 'delivered')], NOW_US),
        async () => {},
      );
      const queued = b.outbox.enqueue(notification('2'), [own('2')]);
      settling.goOn();
      await Promise.all([settling.done, queued]);
      expect((await turn()).map(({ delivery: one }) => one.id)).toEqual(['2']);
      expect(await turn()).toEqual([]);
    });

    test('a digest counts an event that was being committed when it looked for the newest [long]', async () => {
      const ended = (id: string) =>
        event(`${id}/failed`, { feed: 'flight', type: 'flight.failed', nestId: `nest of ${id}` });
      const streamOf = (store: Store, birdId: string) =>
        store.transaction(async (tx) => (await tx.streams.open('eu', 'flight', birdId)).stream);
      const [first, second] = [await streamOf(a, '1'), await streamOf(b, '2')];
      await a.digests.put({ name: 'daily', lastUs: 0 });
      const inserting = await held(
        a,
        (tx) => tx.events.insert(first, [ended('late')]),
        async () => {},
      );
      await b.events.insert(second, [ended('soon')]);
      const { last } = await b.digests.arrivals(0);
      inserting.goOn();
      await inserting.done;
      const numbers = (from: number, to: number) =>
        b.transaction(async (tx) => (await tx.digests.endedFlights(from, to)).length);
      const newest = (await b.digests.arrivals(0)).last;
      expect(inserting.times()).toBe(2);
      expect([await numbers(0, last), await numbers(last, newest)]).toEqual([1, 1]);
    });

    test('an event that was being committed when later ones were forwarded is forwarded as well [long]', async () => {
      const open = (tx: Transaction, region: string) => tx.streams.open(region, 'notification', '');
      const [eu, us] = await a.transaction(async (tx) => [await open(tx, 'eu'), await open(tx, 'us')]);
      const events = (region: string) =>
        [1, 2, 3].map((at) => event(`${at}`, { region, occurredAtUs: NOW_US + at }));
      async function take(tx: Transaction, id: string, limit: number): Promise<void> {
        const taken = await tx.forwards.take('lake', limit);
        const forwarded = { kind: 'forward', id, receiver: 'lake', createdAtUs: NOW_US } as const;
        await tx.outbox.enqueue({ ...forwarded, events: taken }, [delivery(id, { receiver: 'lake' })]);
      }
      const queue = (tx: Transaction, region: string) =>
        tx.forwards.queue(events(region).map((one) => ({ receiver: 'lake', event: one })));
      const late = await held(
        a,
        (tx) => tx.events.insert(eu!.stream, events('eu')),
        (tx) => queue(tx, 'eu'),
      );
      await b.transaction(async (tx) => {
        await tx.events.insert(us!.stream, events('us'));
        await queue(tx, 'us');
      });
      await b.transaction((tx) => take(tx, 'n1', 2));
      late.goOn();
      await late.done;
      expect(late.times()).toBe(1);
      await b.transaction((tx) => take(tx, 'n2', 2));
      await a.transaction((tx) => take(tx, 'n3', 9));
      await a.transaction(async (tx) => {
        await tx.events.insert(us!.stream, [event('4', { region: 'us', occurredAtUs: NOW_US + 4 })]);
        await tx.forwards.queue([{ receiver: 'lake', event: (await tx.events.find('us/notification/4'))! }]);
      });
      await b.transaction((tx) => take(tx, 'n4', 9));
      const found: Record<string, string[]> = {};
      for (const key of ['us/1', 'us/2', 'us/3', 'eu/1', 'eu/2', 'eu/3', 'us/4']) {
        const all = await b.outbox.notificationsOfEvent(key.replace('/', '/notification/'));
        found[key] = all.map((one) => one.notification.id);
      }
      expect(found).toEqual({
        ...{ 'us/1': ['n1'], 'us/2': ['n1'], 'us/3': ['n2'] },
        ...{ 'eu/1': ['n2'], 'eu/2': ['n3'], 'eu/3': ['n3'], 'us/4': ['n4'] },
      });
    });

    test('what two open at once is one and the same [long]', async () => {
      const stores = [a, b, await open()];
      for (const birdId of ['1', '2', '3', '4']) {
        const streams = await Promise.all(stores.map((store) => store.streams.open('eu', 'flight', birdId)));
        expect(new Set(streams.map(({ stream }) => stream)).size).toBe(1);
        const since = await Promise.all(
          stores.map((store, index) => store.inventory.regionSince(`r${birdId}`, NOW_US + index)),
        );
        expect(new Set(since).size).toBe(1);
      }
    });

    test('whatever several read, increase and write back at once, nothing of it is lost [long]', async () => {
      const stores = [a, b, await open()];
      const { stream } = await a.streams.open('eu', 'flight', '148890');
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.tuple(fc.nat(2), fc.constantFrom(...Object.keys(RECORDS))), {
            minLength: 20,
            maxLength: 60,
          }),
          async (steps) => {
            const before = await a.transaction(async (tx) => totals(tx, stream));
            await Promise.all(
              steps.map(([which, name]) =>
                stores[which]!.transaction((tx) => RECORDS[name]!.add(tx, stream)),
              ),
            );
            const expected = { ...before };
            for (const [, name] of steps) expected[name]! += 1;
            expect(await b.transaction((tx) => totals(tx, stream))).toEqual(expected);
          },
        ),
        { numRuns: 5 },
      );
    });
  });

  describe('deliveries', () => {
    test('are claimed once, however many claim at once, and in the order of their lanes [long]', async () => {
      const stores = [a, b, await open(), await open()];
      const LANES = 7;
      const [count, idleTurns] = [DELIVERIES, DELIVERIES / 7];
      await a.transaction(async (tx) => {
        for (let number = 0; number < count; number += 1) {
          const id = String(number).padStart(3, '0');
          const lane = number % 2 === 0 ? `lane ${number % LANES}` : '';
          await tx.outbox.enqueue(notification(id), [delivery(id, { notificationId: id, lane })]);
        }
      });
      const sent: { readonly id: string; readonly lane: string }[] = [];
      await Promise.all(
        stores.map(async (store, index) => {
          for (let idle = 0; idle < idleTurns; idle += 1) {
            const claimed = await store.outbox.claim('ops', 0, NOW_US + 9, 5, index + 1);
            if (claimed.length > 0) idle = 0;
            sent.push(...claimed.map(({ delivery: one }) => one));
            await store.outbox.settle(
              claimed.map(({ delivery: { id, attempts } }) =>
                settlement(id, 'delivered', { attempt: attempts }),
              ),
              NOW_US,
            );
          }
        }),
      );
      expect(sent.map(({ id }) => id).toSorted()).toEqual(
        Array.from({ length: count }, (_, number) => String(number).padStart(3, '0')),
      );
      for (const [lane, all] of Map.groupBy(sent, (one) => one.lane)) {
        const ids = all.map(({ id }) => id);
        if (lane !== '') expect(ids).toEqual(ids.toSorted());
      }
      expect(await b.outbox.count()).toEqual([{ receiver: 'ops', state: 'delivered', count }]);
    });

    test('that another one is just claiming are skipped, not waited for [long]', async () => {
      await a.transaction(async (tx) => {
        for (const id of ['1', '2'])
          await tx.outbox.enqueue(notification(id), [delivery(id, { notificationId: id })]);
      });
      const claim = (tx: Transaction) => tx.outbox.claim('ops', 0, NOW_US + 9, 1);
      const first = await held(a, claim, async (_, claimed) => claimed);
      const second = await held(b, claim, async (_, claimed) => claimed);
      first.goOn();
      second.goOn();
      const ids = [...(await first.done), ...(await second.done)].map(({ delivery: one }) => one.id);
      expect(ids.toSorted()).toEqual(['1', '2']);
    });
  });

  describe('a lease', () => {
    const join = (store: TestStore, forMs = MINUTE_MS) => store.ownership.join('r', '1.0.0', forMs);
    const take = async (store: TestStore, replica: number) =>
      (await store.ownership.take('region eu', replica))!;
    const write = (tx: Transaction) => tx.inventory.putRate('eu', { perSecond: 7, keptUs: 1 });
    const written = () => b.inventory.rate('eu');

    test('that was shown does not end before the transaction does, and nobody waits for that [long]', async () => {
      const lease = await take(a, await join(a, 0));
      const other = await join(b);
      const working = await held(a, (tx) => tx.ownership.check(lease), write);
      expect(await b.ownership.removeExpired()).toBe(0);
      expect(await b.ownership.take('region eu', other)).toBeUndefined();
      working.goOn();
      await working.done;
      expect(await written()).toMatchObject({ perSecond: 7 });
      expect(await b.ownership.removeExpired()).toBe(1);
      expect(await take(b, other)).toMatchObject({ duty: 'region eu' });
    });

    test('that ended while its owner had not shown it yet lets nothing be written [long]', async () => {
      const lease = await take(a, await join(a, 0));
      const other = await join(b);
      const late = await held(
        a,
        (tx) => tx.inventory.rate('eu'),
        async (tx) => {
          await tx.ownership.check(lease);
          await write(tx);
        },
      );
      await b.ownership.removeExpired();
      await take(b, other);
      late.goOn();
      await expect(late.done).rejects.toMatchObject({ code: 'lease_lost' });
      expect(await written()).toBeUndefined();
    });

    test('of a replica that is just renewing it is left to it [long]', async () => {
      const replica = await join(a, 0);
      const lease = await take(a, replica);
      const living = await held(
        a,
        (tx) => tx.ownership.renew(replica, RENEWAL),
        async (_, view) => view,
      );
      expect(await b.ownership.removeExpired()).toBe(0);
      living.goOn();
      const { nowUs, replicas } = (await living.done)!;
      expect(replicas[0]?.expiresUs).toBeGreaterThan(nowUs);
      expect(await b.ownership.removeExpired()).toBe(0);
      await a.ownership.check(lease);
    });

    test('belongs to one replica, however many take it at once [long]', async () => {
      const stores = [a, b, await open(), await open()];
      const replicas = await Promise.all(stores.map((store) => join(store)));
      expect(new Set(replicas).size).toBe(4);
      let holder: { readonly lease: Lease; readonly at: number } | undefined;
      for (let round = 0; round < 10; round += 1) {
        const leases = await Promise.all(
          stores.map((store, at) => store.ownership.take('region eu', replicas[at]!)),
        );
        const got = leases.flatMap((lease, at) => (lease ? [{ lease, at }] : []));
        expect(got).toHaveLength(1);
        expect(got[0]!.lease.epoch).toBeGreaterThan(holder?.lease.epoch ?? 0);
        if (holder) {
          const { lease } = holder;
          const shown = b.ownership.check(lease);
          expect(codeOf(await shown.catch((error) => error))).toBe('lease_lost');
        }
        holder = got[0]!;
        const { lease, at } = holder;
        await stores[at]!.transaction((tx) => tx.ownership.release(lease));
      }
    });
  });
});

/** Records of several parts, each with a number that is read and written back increased by one. */
const RECORDS: Readonly<
  Record<
    string,
    {
      add(tx: Transaction, stream: number): Promise<void>;
      total(tx: Transaction, stream: number): Promise<number>;
    }
  >
> = {
  alert: {
    add: async (tx) => {
      const found = await tx.alerts.find('x');
      await tx.alerts.put([alert('x', { eventsTotal: (found?.eventsTotal ?? 0) + 1 })]);
    },
    total: async (tx) => (await tx.alerts.find('x'))?.eventsTotal ?? 0,
  },
  group: {
    add: async (tx) => {
      const [found] = await tx.groups.list(['g']);
      await tx.groups.put([group('g', { notifications: (found?.notifications ?? 0) + 1 })]);
    },
    total: async (tx) => (await tx.groups.list(['g']))[0]?.notifications ?? 0,
  },
  pace: {
    add: async (tx) => {
      const pace = await tx.receivers.pace('ops');
      await tx.receivers.putPace({ ...pace, heldBack: pace.heldBack + 1 });
    },
    total: async (tx) => (await tx.receivers.pace('ops')).heldBack,
  },
  digest: {
    add: async (tx) => {
      const found = await tx.digests.find('daily');
      await tx.digests.put({ name: 'daily', lastUs: (found?.lastUs ?? 0) + 1 });
    },
    total: async (tx) => (await tx.digests.find('daily'))?.lastUs ?? 0,
  },
  flight: {
    add: async (tx, stream) => {
      const [found] = await tx.flights.find(stream, ['f']);
      await tx.flights.put([flight('f', { stream, ends: (found?.ends ?? 0) + 1 })]);
    },
    total: async (tx, stream) => (await tx.flights.find(stream, ['f']))[0]?.ends ?? 0,
  },
  deliveries: {
    add: async (tx) => {
      const all = await tx.outbox.page({ limit: 100_000 }).then((one) => one.deliveries);
      const id = String(all.length);
      await tx.outbox.enqueue(notification(id), [delivery(id, { notificationId: id })]);
    },
    total: async (tx) => (await tx.outbox.count()).reduce((sum, one) => sum + one.count, 0),
  },
};

async function totals(tx: Transaction, stream: number): Promise<Record<string, number>> {
  const all: Record<string, number> = {};
  for (const [name, record] of Object.entries(RECORDS)) all[name] = await record.total(tx, stream);
  return all;
}
