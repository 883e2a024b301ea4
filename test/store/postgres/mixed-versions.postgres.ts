/** Replicas of two versions on one store: they work side by side if the tables allow it, and say so if not. */
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { migrate, tableNames } from '../../../src/store/postgres/migrate.ts';
import { Session } from '../../../src/store/postgres/session.ts';
import type { OpenStore } from '../../../src/store/store.ts';
import { STEPS, type Step } from '../../../src/store/versions/steps.ts';
import { VERSION } from '../../../src/version.ts';
import {
  alert,
  delivery,
  event,
  group,
  insert,
  member,
  NOW_US,
  notification,
  RENEWAL,
} from '../contract/sample-records.ts';
import { failure } from '../test-store.ts';
import { openWire, type Wire } from './cut-wire.ts';
import { eachSchema } from './each-schema.ts';
import { findServer, openDatabase, type PlaceChanges } from './postgres-server.ts';

const bin = findServer()!;
const NOW = STEPS.length;
const OWN = STEPS.map(({ oldest }, index) => ({ step: index + 1, oldest }));
/** Longer than the time for which a server that was away is left alone. */
const LATER_MS = 1_500;

describe('replicas of two versions', () => {
  const each = eachSchema(() => openDatabase(bin));
  let wire: Wire;
  beforeEach(async () => {
    wire = await openWire(each.server);
    onTestFinished(() => wire.close());
  });

  /** A replica of this version. */
  const start = (changes?: PlaceChanges): Promise<OpenStore> => each.open(true, changes);

  /** The next version, which has one more migration step. */
  async function startNewer(step: Step, changes?: PlaceChanges): Promise<Session> {
    const place = each.place(changes);
    const steps = [...STEPS, step];
    const session: Session = new Session({
      ...{ place, clock: each.clock, isShared: true },
      async prepare(statements, alone) {
        await migrate({ statements, exec: (sql) => session.exec(sql), ...place, alone, steps });
      },
    });
    onTestFinished(() => session.close());
    await session.ready();
    return session;
  }

  /** Additional columns in every table of the store, as the next version may have. */
  async function moreColumns(): Promise<string> {
    const tables = await inSession((session) => tableNames(session, each.schema()));
    return tables.map((table) => `ALTER TABLE ${table} ADD COLUMN later TEXT NOT NULL DEFAULT ''`).join(';');
  }

  async function inSession<T>(ask: (session: Session) => Promise<T>): Promise<T> {
    const as = { place: each.place(), clock: each.clock, isShared: false, isGuest: true };
    const session = new Session({ ...as, prepare: async () => {} });
    await session.ready();
    return ask(session).finally(() => session.close());
  }

  const steps = () =>
    inSession((session) =>
      session.rows<{ step: number; oldest: number }>('SELECT step, oldest FROM schema_step ORDER BY step'),
    );

  /** Everything that a replica does with most of the tables; `id` is new each time. */
  async function works({ store, sharing }: OpenStore, id: string): Promise<void> {
    await store.transaction(async (tx) => {
      await insert(tx, [event(id)]);
      await tx.alerts.put([alert(id)]);
      await tx.groups.put([group(id)]);
      await tx.groups.putMembers([member(id, id)]);
      await tx.outbox.enqueue(notification(id), [delivery(id)]);
    });
    const seen = await store.transaction(async (tx) => ({
      alerts: (await tx.alerts.changed(100)).map((one) => one.id),
      members: (await tx.groups.members(id)).map((one) => one.alert.id),
      claimed: (await tx.outbox.claim('ops', 0, NOW_US, 100, 1)).map((one) => one.delivery.id),
      troubles: await tx.troubles.read({ deadAfterUs: 0, quarantinedFromUs: 0, nowUs: NOW_US }),
    }));
    expect(seen.alerts).toContain(id);
    expect(seen.members).toEqual([id]);
    expect(seen.claimed).toContain(id);
    const replica = await sharing!.turns.transaction((tx) => tx.ownership.join(id, VERSION, 60_000));
    const view = await sharing!.turns.renew(replica, RENEWAL);
    expect(view?.replicas.at(-1)).toMatchObject({ replica, name: id });
    await sharing!.turns.transaction((tx) => tx.ownership.leave(replica));
  }

  test('work side by side if the newer one has added to the tables, and the older one starts beside it', async () => {
    const one = await start();
    await works(one, 'a');
    const newer = await startNewer({ sql: await moreColumns(), oldest: NOW });
    expect(await steps()).toEqual([...OWN, { step: NOW + 1, oldest: NOW }]);
    await works(one, 'b');
    await works(await start(), 'c');
    expect(await newer.first('SELECT later FROM alert WHERE id = $1', 'c')).toEqual({ later: '' });
  });

  test('repeat what was planned before the tables were changed, even within a part that may fail', async () => {
    const { store } = await start();
    const find = () =>
      store.transaction(async (tx) => {
        await tx.streams.open('eu', 'notification', '');
        return tx.attempt(() => tx.events.find('eu/notification/a'));
      });
    await store.transaction((tx) => insert(tx, [event('a')]));
    expect(await find()).toEqual({ ok: true, value: event('a') });
    await startNewer({ sql: `ALTER TABLE event ADD COLUMN later TEXT NOT NULL DEFAULT ''`, oldest: NOW });
    expect(await find()).toEqual({ ok: true, value: event('a') });
  });

  test('wait for tables that take longer to change than a statement may', async () => {
    const changes = { statementTimeoutMs: 300 };
    await works(await start(changes), 'a');
    const sql = `SELECT pg_sleep(1); ${await moreColumns()}`;
    await inSession(async (watcher) => {
      const newer = startNewer({ sql, oldest: NOW }, changes);
      const changing = () =>
        watcher.rows(`SELECT 1 FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'`);
      await expect.poll(changing, { interval: 20, timeout: 10_000 }).toHaveLength(1);
      await works(await start(changes), 'b');
      const [setting] = await (await newer).rows(`SELECT current_setting('statement_timeout') AS now`);
      expect(setting).toEqual({ now: '300ms' });
    });
    expect(await steps()).toHaveLength(NOW + 1);
  });

  test('do not if the older one could not continue: the newer one says who must be stopped, and changes nothing', async () => {
    const one = await start();
    const breaking = { sql: 'ALTER TABLE alert RENAME COLUMN due_us TO later_us', oldest: NOW + 1 };
    await expect(startNewer(breaking)).rejects.toMatchObject({
      code: 'store_locked',
      message: expect.stringMatching(
        `^Another nestwatch uses the schema ${each.schema()} .*: nestwatch ${VERSION} at .*stop all of those first\\.$`,
      ),
    });
    expect(await steps()).toHaveLength(NOW);
    await works(one, 'a');
    const other = await start();
    await works(other, 'b');

    for (const { store } of [one, other]) await store.close();
    await startNewer(breaking);
    expect(await steps()).toHaveLength(NOW + 1);
    await startNewer(breaking);
    await expect(start()).rejects.toMatchObject(
      failure('store_newer', expect.stringContaining(`this one, ${VERSION}, knows version ${NOW}.`)),
    );
  });

  test('an older one that was cut off while the tables were changed writes nothing more, and says why', async () => {
    const one = await start({ host: wire.host });
    await works(one, 'a');
    wire.cut();
    // The server must also notice that the client is gone.
    await expect(works(one, 'b')).rejects.toMatchObject({ code: 'store_down' });
    await startNewer({ sql: 'ALTER TABLE alert RENAME COLUMN due_us TO later_us', oldest: NOW + 1 });
    wire.mend();
    await each.clock.advance(LATER_MS);
    const refused = { code: 'store_newer' };
    const opening = one.store.transaction((tx) => tx.streams.open('us', 'flight', ''));
    await expect(opening).rejects.toMatchObject(refused);
    await expect(one.sharing!.turns.renew(1, RENEWAL)).rejects.toMatchObject(refused);
    expect(await inSession((session) => session.rows('SELECT region FROM stream'))).toEqual([
      { region: 'eu' },
    ]);
  });
});
