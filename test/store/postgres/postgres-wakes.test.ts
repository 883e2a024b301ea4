import type pg from 'pg';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { openPostgresWakes } from '../../../src/store/postgres/postgres-wakes.ts';
import type { WakeUp } from '../../../src/store/store.ts';
import type { VirtualClock } from '../../virtual-clock.ts';
import { openWire, type Wire } from './cut-wire.ts';
import { eachSchema } from './each-schema.ts';
import { findServer, openDatabase } from './postgres-server.ts';

const bin = findServer();

describe.skipIf(bin === undefined)('wake-ups of replicas on PostgreSQL', () => {
  const each = eachSchema(() => openDatabase(bin!));
  let admin: pg.Client;
  let wire: Wire;
  let clock: VirtualClock;
  /** The wake-ups that anybody sent to the server. */
  let payloads: string[] = [];
  let channel = '';

  beforeEach(async () => {
    ({ clock } = each);
    wire = await openWire(each.server);
    onTestFinished(() => wire.close());
    admin = await each.connect();
  });

  async function open(schema = 'nestwatch', host = each.server.host) {
    const wakes = await openPostgresWakes({ place: each.place({ schema, host }), clock });
    onTestFinished(() => wakes.close());
    const heard: WakeUp[] = [];
    wakes.listen((what) => heard.push(what));
    return { wakes, heard };
  }

  /** Counts what is sent from now on. */
  async function count(): Promise<void> {
    const known = await admin.query(
      `SELECT query FROM pg_stat_activity WHERE query LIKE '%LISTEN%' AND pid <> pg_backend_pid()`,
    );
    channel = /LISTEN "(\w+)"/.exec(known.rows[0].query)![1]!;
    payloads = [];
    admin.on('notification', ({ payload }) => void payloads.push(payload!));
    await admin.query(`LISTEN ${channel}`);
  }

  /** Advances the clock until it is true; messages from the server take real time. */
  async function until(holds: () => boolean): Promise<void> {
    for (let turns = 0; !holds(); turns += 1) {
      if (turns > 1_000_000) throw new Error('It never came to that.');
      await clock.advance(5);
    }
  }

  test('are heard by the others on the schema, and by nobody else', async () => {
    const [a, b, other] = [await open(), await open(), await open('another')];
    a.wakes.ring('alerting');
    b.wakes.ring('probe eu');
    await until(() => a.heard.length > 0 && b.heard.length > 0);
    expect([a.heard, b.heard]).toEqual([['probe eu'], ['alerting']]);
    expect(other.heard).toEqual([]);
  });

  test('are heard until nobody listens', async () => {
    const [a, b] = [await open(), await open()];
    const last: WakeUp[] = [];
    const deafen = b.wakes.listen((what) => last.push(what));
    a.wakes.ring('alerting');
    await until(() => last.length === 1);
    deafen();
    a.wakes.ring('delivery');
    await until(() => b.heard.length === 2);
    expect(last).toEqual(['alerting']);
  });

  test('are few notifications, however often they are sent', async () => {
    const [a, b] = [await open(), await open()];
    await count();
    for (let times = 0; times < 5_000; times += 1) a.wakes.ring(times % 2 === 0 ? 'alerting' : 'delivery');
    a.wakes.ring('probe us');
    await until(() => b.heard.includes('probe us') && payloads.length >= 2);
    expect(payloads).toHaveLength(2);
    expect(b.heard).toEqual(['alerting', 'delivery', 'alerting', 'probe us']);
  });

  test('omit what is too long for a notification, and can contain any text', async () => {
    const [a, b] = [await open(), await open()];
    const odd: WakeUp = `probe "\0\ud800é`;
    a.wakes.ring('alerting');
    a.wakes.ring(`probe ${'x'.repeat(9_000)}`);
    a.wakes.ring(odd);
    await until(() => b.heard.length === 2);
    expect(b.heard).toEqual(['alerting', odd]);
  });

  test('ignore what others send on the channel', async () => {
    const [a, b] = [await open(), await open()];
    await count();
    for (const words of ['', 'x', '"alerting"', '{"a":1}', '[1, null]', '["life", 7]']) {
      await admin.query('SELECT pg_notify($1, $2)', [channel, words]);
    }
    a.wakes.ring('delivery');
    await until(() => b.heard.length > 0);
    expect(b.heard).toEqual(['delivery']);
  });

  test('reconnect by themselves, send what was missed, and make up for what was not heard', async () => {
    const [a, b, c] = [await open('nestwatch', wire.host), await open(), await open()];
    wire.cut();
    await clock.advance(5_000);
    a.wakes.ring('probe eu');
    b.wakes.ring('probe us');
    // The server has passed it on, so nobody who connects later gets it.
    await until(() => c.heard.length > 0);
    expect([a.heard, b.heard, c.heard]).toEqual([[], [], ['probe us']]);
    wire.mend();
    await until(() => b.heard.length > 0 && a.heard.length > 0);
    expect(b.heard).toEqual(['probe eu']);
    expect(a.heard).toEqual(['alerting', 'delivery', 'ownership']);
    b.wakes.ring('alerting');
    await until(() => a.heard.length === 4);
  });

  test('end at once if nobody answers, without a report', async () => {
    const { wakes } = await open('nestwatch', wire.host);
    wire.hush();
    const closing = wakes.close();
    await clock.advance(2_000);
    await closing;
    expect(clock.pending()).toBe(0);
  });

  test('never throw, and keep nobody from ending, if there is no server', async () => {
    wire.cut();
    const { wakes } = await open('nestwatch', wire.host);
    wakes.ring('alerting');
    await clock.advance(60_000);
    await wakes.close();
    wakes.ring('alerting');
    await clock.advance(60_000);
    expect(clock.pending()).toBe(0);
  });
});
