/** What differs from a file because of the network, and because others use the server. */
import { once } from 'node:events';
import { createConnection } from 'node:net';
import type pg from 'pg';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { NestwatchError } from '../../../src/errors.ts';
import { lookAtServer } from '../../../src/store/postgres/look-at-server.ts';
import { postgresFailure } from '../../../src/store/postgres/postgres-failure.ts';
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { STEPS } from '../../../src/store/versions/steps.ts';
import { event, NOW_US, nest, silence } from '../contract/sample-records.ts';
import { failure, type TestStore } from '../test-store.ts';
import { openWire, type Wire } from './cut-wire.ts';
import { eachSchema } from './each-schema.ts';
import { openPooler } from './pooler.ts';
import { findServer, openDatabase, type PlaceChanges } from './postgres-server.ts';

const bin = findServer();
describe.skipIf(bin === undefined)('the store on PostgreSQL', () => {
  const each = eachSchema(() => openDatabase(bin!));
  let admin: pg.Client;
  let wire: Wire;
  let schema: string;
  beforeEach(async () => {
    schema = each.schema();
    admin = await each.connect();
    wire = await openWire(each.server);
    onTestFinished(() => wire.close());
  });

  const open = (changes: PlaceChanges = {}) => each.openStore(false, { host: wire.host, ...changes });
  const putNest = (store: TestStore, name: string) => store.inventory.putNests([nest(name)]);
  const nests = async (store: TestStore) => (await store.inventory.nests('eu')).map(({ name }) => name);
  /** Advances the clock while the work waits for a server that was away. */
  async function waiting<T>(work: Promise<T>): Promise<T> {
    let isDone = false;
    const done = work.finally(() => {
      isDone = true;
    });
    done.catch(() => {});
    for (let turns = 0; !isDone && turns < 20_000; turns += 1) await each.clock.advance(100);
    return done;
  }

  test('belongs to one process alone, and says to whose [long]', async () => {
    const store = await open();
    await expect(open()).rejects.toMatchObject(
      failure(
        'store_locked',
        /^Another nestwatch uses the schema s\d+ of the store postgres:\/\/.*: nestwatch .* at a socket of the server since /,
      ),
    );
    await putNest(store, 'a');
    await store.close();
    expect(await nests(await open())).toEqual(['a']);
  });

  test.each([
    ['alone', 'transaction', false],
    ['as one of several', 'transaction', true],
    ['after each statement', 'statement', true],
  ] as const)(
    'is refused behind a pooler that gives its connection to others in turn: %s',
    async (_, mode, isShared) => {
      const pooler = await openPooler(each.server, mode);
      const place = each.place({ host: pooler.host });
      const refused = {
        code: 'config_invalid',
        message: expect.stringMatching(
          /^A pooler at postgres:.* one connection of the server to several in turn/,
        ),
      };
      await expect(openPostgresStore({ place, clock: each.clock, isShared })).rejects.toMatchObject(refused);
      await expect(lookAtServer(place)).rejects.toMatchObject(refused);
      await pooler.close();
    },
  );

  test('commits durably, whatever is set for the role [long]', async () => {
    await admin.query(
      `CREATE ROLE hasty_${schema} LOGIN SUPERUSER; ALTER ROLE hasty_${schema} SET synchronous_commit = off`,
    );
    const store = await open({ user: `hasty_${schema}` });
    await putNest(store, 'a');
    await admin.query(`CREATE TABLE seen_${schema} (setting TEXT);
      CREATE FUNCTION ${schema}.look() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN INSERT INTO public.seen_${schema} SELECT current_setting('synchronous_commit'); RETURN NEW; END $$;
      CREATE TRIGGER look BEFORE INSERT ON ${schema}.nest FOR EACH ROW EXECUTE FUNCTION ${schema}.look()`);
    await putNest(store, 'b');
    expect((await admin.query(`SELECT DISTINCT setting FROM seen_${schema}`)).rows).toEqual([
      { setting: 'on' },
    ]);
  });

  test('repeats no commit whose answer was lost [long]', async () => {
    const store = await open();
    await putNest(store, 'a');
    let works = 0;
    wire.cutAt('answer');
    const done = waiting(
      store.transaction(async (tx) => {
        works += 1;
        const { stream } = await tx.streams.open('eu', 'notification', '');
        return (await tx.events.insert(stream, [event('e')])).length;
      }),
    );
    expect(await done).toBe(1);
    expect(works).toBe(1);
    expect((await store.events.page({ limit: 9 })).events).toHaveLength(1);
  });

  test('tells others that it is away while it is not known whether a commit took place [long]', async () => {
    const store = await open();
    await putNest(store, 'a');
    wire.cutAt('answer', 'stays');
    let isKnown = false;
    const done = putNest(store, 'b').finally(() => {
      isKnown = true;
    });
    await expect.poll(() => wire.isCut()).toBe(true);
    await expect(waiting(putNest(store, 'c'))).rejects.toMatchObject({ code: 'store_down' });
    expect(isKnown).toBe(false);
    wire.mend();
    await waiting(done);
    expect(await nests(store)).toEqual(['a', 'b']);
  });

  test('has done nothing if the commit never arrived, and says so [long]', async () => {
    const store = await open();
    await putNest(store, 'a');
    wire.cutAt('request');
    await expect(waiting(putNest(store, 'b'))).rejects.toMatchObject({ code: 'store_down' });
    expect(await nests(store)).toEqual(['a']);
  });

  test('has done nothing if the connection broke before, and continues with the next [long]', async () => {
    const store = await open();
    const broken = store.transaction(async (tx) => {
      await tx.inventory.putNests([nest('a')]);
      wire.cut();
      wire.mend();
      await tx.inventory.putNests([nest('b')]);
    });
    await expect(broken).rejects.toMatchObject({ code: 'store_down' });
    expect(await nests(store)).toEqual([]);
    await putNest(store, 'c');
    expect(await nests(store)).toEqual(['c']);
  });

  test('repeats conflicting transactions in their order [long]', async () => {
    const store = await open();
    await store.inventory.putRate('eu', { perSecond: 1, keptUs: 1 });
    const order: string[] = [];
    const first = putNest(store, 'before');
    const second = store.transaction(async (tx) => {
      const rate = await tx.inventory.rate('eu');
      order.push(`read ${rate?.perSecond}`);
      if (order.length === 1) await admin.query(`UPDATE ${schema}.region_rate SET per_second = 5`);
      await tx.inventory.putRate('eu', { perSecond: rate!.perSecond + 1, keptUs: 1 });
    });
    const third = store.transaction(async () => order.push('third'));
    await Promise.all([first, second, third]);
    expect(order).toEqual(['read 1', 'read 5', 'third']);
    expect(await store.inventory.rate('eu')).toMatchObject({ perSecond: 6 });
    expect(await nests(store)).toEqual(['before']);
  });

  test('ends what takes too long, and continues [long]', async () => {
    const store = await open({ statementTimeoutMs: 200 });
    await putNest(store, 'a');
    await admin.query('BEGIN');
    await admin.query(`LOCK TABLE ${schema}.nest IN ACCESS EXCLUSIVE MODE`);
    await expect(putNest(store, 'b')).rejects.toMatchObject(
      failure('store_down', /took longer than store\.statement_timeout/),
    );
    await admin.query('ROLLBACK');
    await putNest(store, 'c');
    expect(await nests(store)).toEqual(['a', 'c']);
  });

  test('rolls back nothing else with what takes too long [long]', async () => {
    const store = await open({ statementTimeoutMs: 200 });
    await putNest(store, 'a');
    await admin.query('BEGIN');
    await admin.query(`LOCK TABLE ${schema}.write_request IN ACCESS EXCLUSIVE MODE`);
    const settled = await Promise.allSettled([
      putNest(store, 'b'),
      store.writes.page({ limit: 1 }),
      putNest(store, 'c'),
    ]);
    await admin.query('ROLLBACK');
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(settled[1]).toMatchObject({ reason: { code: 'store_down' } });
    expect(await nests(store)).toEqual(['a', 'b', 'c']);
  });

  test('continues after a transaction could not begin because another process had an exclusive lock [long]', async () => {
    const store = await each.openStore(true, { statementTimeoutMs: 200 });
    await putNest(store, 'a');
    await admin.query('BEGIN');
    await admin.query(`LOCK TABLE ${schema}.server IN EXCLUSIVE MODE`);
    await expect(putNest(store, 'b')).rejects.toMatchObject({ code: 'store_down' });
    await admin.query('ROLLBACK');
    await putNest(store, 'c');
    expect(await nests(store)).toEqual(['a', 'c']);
  });

  test('refuses a schema of a newer version, and one of another program, and changes nothing in it [long]', async () => {
    await (await open()).close();
    await admin.query(`INSERT INTO ${schema}.schema_step VALUES (99, '9.0.0', now(), 99)`);
    await expect(open()).rejects.toMatchObject({ code: 'store_newer' });
    const other = `${schema}_other`;
    await admin.query(`CREATE SCHEMA ${other}; CREATE TABLE ${other}.theirs (id INTEGER)`);
    await expect(open({ schema: other })).rejects.toMatchObject(
      failure('config_invalid', /belongs to another program/),
    );
    const tables = 'SELECT relname FROM pg_class WHERE relnamespace = $1::regnamespace';
    const { rows } = await admin.query(tables, [other]);
    expect(rows).toEqual([{ relname: 'theirs' }]);
  });

  test('needs no more than its own schema [long]', async () => {
    await admin.query(
      `CREATE ROLE plain_${schema} LOGIN; CREATE SCHEMA ${schema} AUTHORIZATION plain_${schema}`,
    );
    await admin.query('REVOKE ALL ON SCHEMA public FROM PUBLIC');
    const store = await open({ user: `plain_${schema}` });
    await putNest(store, 'a');
    expect(await nests(store)).toEqual(['a']);
    await store.close();
    await expect(open({ user: `plain_${schema}`, schema: 'elsewhere' })).rejects.toMatchObject(
      failure('store_down', /may not be used by this user/),
    );
  });

  test('is opened at the first of several hosts that can be used, and says of each why not [long]', async () => {
    const [own] = each.place().hosts;
    const away = [{ host: '/nowhere', port: 5432 }];
    const store = await open({ hosts: [...away, own!] });
    await putNest(store, 'a');
    expect(await lookAtServer(each.place({ hosts: [...away, own!] }))).toMatchObject({
      schema: STEPS.length,
    });
    await store.close();
    await expect(open({ hosts: [...away, { ...own!, port: 1 }] })).rejects.toMatchObject(
      failure(
        'store_down',
        /cannot be reached: \/nowhere:5432: connect ENOENT .*; \/.*:1: connect ENOENT [^;]*\.$/,
      ),
    );
  });

  test.each([
    ['a database that is not there', { database: 'none' }, /does not exist: create the database/],
    ['a user that is not there', { user: 'nobody at all' }, /refuses the user/],
    ['a server that is not there', { host: '/nowhere' }, /cannot be reached/],
  ])('says what is wrong with %s', async (_, changes, message) => {
    await expect(open(changes)).rejects.toMatchObject({
      code: 'store_down',
      message: expect.stringMatching(message),
    });
  });

  test('says what is wrong with a server whose name has several addresses', async () => {
    const addresses = ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 }));
    const socket = createConnection({
      host: 'db',
      port: 1,
      lookup: (_, __, found) => found(null, addresses),
    });
    const [error] = await once(socket, 'error');
    expect(error).toBeInstanceOf(AggregateError);
    expect(postgresFailure(error, 'db')).toMatchObject({
      message: 'The store db cannot be reached: connect ECONNREFUSED 127.0.0.1:1.',
    });
  });

  test('sets a row aside that another program has corrupted [long]', async () => {
    const store = await open();
    await store.silences.put([silence('s', { startsAtUs: 1, endsAtUs: NOW_US * 2 })]);
    await admin.query(`UPDATE ${schema}.silence SET body = '{"id":'`);
    await store.close();
    const again = await open();
    expect(await again.silences.list()).toEqual([]);
    expect(await again.faults.list(NOW_US, 9)).toMatchObject([
      { sort: 'row', name: 'silence s', reason: 'its content cannot be read' },
    ]);
  });

  test('reports its size once it was asked, and no more often than it is worth [long]', async () => {
    const store = await open();
    expect(store.space()).toBeUndefined();
    await nests(store);
    const { used } = store.space()!;
    expect(store.space()).toEqual({ used: expect.any(Number), free: undefined, whole: 0 });
    expect(used).toBeGreaterThan(100_000);
    await store.inventory.putNests(
      Array.from({ length: 3_000 }, (_, index) => nest(`${index} ${'x'.repeat(200)}`)),
    );
    expect(store.space()?.used).toBe(used);
    await each.clock.advance(61_000);
    store.space();
    await nests(store);
    expect(store.space()?.used).toBeGreaterThan(used + 500_000);
  });

  test('distinguishes its failures from bugs [long]', async () => {
    const store = await open();
    const bug = store.inventory.putNests([{ ...nest('a'), nestId: null as never }]);
    await expect(bug).rejects.not.toBeInstanceOf(NestwatchError);
    expect(await nests(store)).toEqual([]);
  });

  test('reports what the server says about its own disk [long]', async () => {
    const store = await open();
    await admin.query(`SET search_path = ${schema};
      CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE 'could not read block 7 in file "base/5/1"' USING ERRCODE = 'io_error'; END $$;
      CREATE TRIGGER fail BEFORE INSERT ON nest EXECUTE FUNCTION fail()`);
    await expect(putNest(store, 'a')).rejects.toMatchObject(failure('store_down', /could not read block 7/));
    await admin.query('DROP TRIGGER fail ON nest');
    await putNest(store, 'a');
  });
});
