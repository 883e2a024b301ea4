/**
 * The least that a storm can cost: the bare path from failed Flights to a webhook in one Node process, built step by
 * step from only `node:sqlite` and undici, and compared with Alertmanager and nestwatch on the same work. From the
 * third step on it promises what nestwatch does: an event is committed before it is notified, an attempt before it is
 * sent, the outcome after it, each commit on disk. It commits a hundred alerts at once and uses as few rows as
 * possible. It has no silences, inhibitions, retries, lanes, repetitions, retention, search, explanations or pages.
 * The last step has nestwatch's own rows, with the indexes that they need, and its own sending. Each stage passes its
 * result on to the next, and no row is read again except by a settlement.
 *
 *   node test/bench/bound.ts [alerts]
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { Pool } from 'undici';
import { newDelivery } from '../../src/alerting/destination.ts';
import { alertmanagerBody } from '../../src/channels/message/alertmanager-body.ts';
import { openWebhooks, type WebhookIntegration } from '../../src/channels/webhook/webhook-channel.ts';
import type { Alert } from '../../src/domain/alert/alert.ts';
import type { Event } from '../../src/domain/alert/event.ts';
import { decide } from '../../src/domain/evaluate/decide.ts';
import { assignGroups } from '../../src/domain/grouping/assign-groups.ts';
import { flush, notificationOf } from '../../src/domain/grouping/flush.ts';
import type { Group, GroupMember } from '../../src/domain/grouping/group.ts';
import type { GroupNotification, Notification } from '../../src/domain/grouping/notification.ts';
import { openTransport } from '../../src/http/transport.ts';
import type { Delivery, Settlement } from '../../src/store/outbox-store.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { createStormHeap } from '../../src/storm-heap.ts';
import { systemClock } from '../../src/time/clock.ts';
import { load, REGION } from '../config/load.ts';
import { forkAsProgram } from './as-program.ts';
import {
  deliverAlerts,
  deliverByAlertmanager,
  failure,
  isAlertmanagerHere,
  measure,
  routeYaml,
  type Side,
} from './beside-alertmanager.ts';

/** Each step does what the previous one does, and more. */
const STEPS = [
  ['post', 'a POST for each alert, with the body that nestwatch sends'],
  ['event', '… and its event in a row before it'],
  ['delivery', '… and its message and attempt in rows before it, and how it ended after it'],
  ['state', '… and its alert and group in rows: what comes later depends on them'],
  ['decide', "… and nestwatch's pure functions decide: rule, labels, texts, group, message"],
  ['thread', 'the same, the POSTs in a thread of their own'],
  ['store', "the same in one thread, in nestwatch's own rows, and by its own way out"],
] as const;
type Step = (typeof STEPS)[number][0];

const PAGE = 100;
/** As many as nestwatch has in flight to a webhook. */
const IN_FLIGHT = 8;
/** How many alerts may be committed before the earlier ones were accepted. */
const AHEAD = 4 * PAGE;
/** The thread reports accepted messages once there are this many, or after this many milliseconds. */
const SAID_AT_ONCE = 20;
const SAID_AFTER_MS = 20;

interface Message {
  readonly seq: number;
  readonly body: string;
}

/** Posts messages, a limited number at once, and reports which were accepted. */
function openPosts(
  postOne: (message: Message) => Promise<void>,
  accepted: (seq: number) => void,
): (messages: readonly Message[]) => void {
  const waiting: Message[] = [];
  let inFlight = 0;
  async function work(): Promise<void> {
    inFlight += 1;
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      await postOne(next);
      accepted(next.seq);
    }
    inFlight -= 1;
  }
  return (messages) => {
    waiting.push(...messages);
    const free = Math.min(IN_FLIGHT - inFlight, waiting.length);
    for (let at = 0; at < free; at += 1) void work();
  };
}

/** Posts with undici and nothing else. */
function barePost(port: number): (message: Message) => Promise<void> {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: IN_FLIGHT });
  return async ({ seq, body }) => {
    const headers = { 'content-type': 'application/json', 'webhook-id': String(seq) };
    const answer = await pool.request({ path: '/', method: 'POST', headers, body });
    await answer.body.dump();
  };
}

interface Made {
  readonly event: Event;
  readonly alert: Alert;
  readonly group: Group;
}

interface Decided extends Made {
  readonly member: GroupMember;
  readonly notification: GroupNotification;
}

const CONFIG = configOf(80);

function configOf(port: number) {
  const receivers = `[{ name: hook, webhook_configs: [{ url: "http://127.0.0.1:${port}/" }] }]`;
  return load(`${REGION}route: ${routeYaml('bird_id')}\nreceivers: ${receivers}\n`);
}

/** Decides on a page as nestwatch does, with one group for each alert. */
function decidePage(first: number, count: number, nowUs: number): Decided[] {
  const events = Array.from({ length: count }, (_, at) => failure(first + at, nowUs));
  const facts = events.map((event) => ({
    fact: 'event' as const,
    event,
    historic: false,
    birdStatus: undefined,
    latestEnds: undefined,
  }));
  const { alerts } = decide(facts, [], CONFIG.rules, nowUs);
  return alerts.map((alert, at) => {
    const { groups, members } = assignGroups(alert, CONFIG.route, { members: [], groups: new Map() }, nowUs);
    const open = [{ alert, member: members[0]! }];
    const flushed = flush({ group: groups[0]!, open, waiting: [], route: CONFIG.route, nowUs });
    const notifying = { ...flushed, reason: flushed.reason! };
    const event = events[at]!;
    const notification = notificationOf(notifying, new Map([[alert.id, [event]]]), `${flushed.thread}-0`);
    return { event, alert, group: flushed.group, member: flushed.members[0]!, notification };
  });
}

interface WithBody extends Made {
  readonly body: string;
}

type MakePage = (first: number, count: number, nowUs: number) => WithBody[];

function decideBodies(first: number, count: number, nowUs: number): WithBody[] {
  return decidePage(first, count, nowUs).map((made) => ({
    ...made,
    body: JSON.stringify(alertmanagerBody(made.notification, 'http://127.0.0.1', 0)),
  }));
}

/** Pages without decisions: one of the right size is made once, and only its number changes. */
function createPattern(): MakePage {
  const [pattern] = decideBodies(0, 1, Date.now() * 1000);
  const fingerprint = /"fingerprint":"[0-9a-f]+"/;
  return (first, count, nowUs) =>
    Array.from({ length: count }, (_, at) => {
      const index = first + at;
      const { alert, group } = pattern!;
      return {
        event: failure(index, nowUs),
        alert: { ...alert, id: `${alert.id}${index}` },
        group: { ...group, key: `{}:{bird_id="${index}"}` },
        body: pattern!.body.replace(fingerprint, `"fingerprint":"${index.toString(16).padStart(16, '0')}"`),
      };
    });
}

const SCHEMA = `
  PRAGMA page_size = 8192;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  CREATE TABLE event (event INTEGER PRIMARY KEY, occurred_us INTEGER NOT NULL, key TEXT NOT NULL, body TEXT NOT NULL) STRICT;
  CREATE UNIQUE INDEX event_key ON event (occurred_us, key);
  CREATE TABLE alert (alert INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, body TEXT NOT NULL) STRICT;
  CREATE TABLE alert_group (key TEXT PRIMARY KEY, next_us INTEGER NOT NULL, body TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX alert_group_due ON alert_group (next_us);
  CREATE TABLE message (seq INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;
  CREATE TABLE delivery (seq INTEGER PRIMARY KEY, state TEXT NOT NULL, attempts INTEGER NOT NULL) STRICT;
  CREATE INDEX delivery_unsettled ON delivery (state) WHERE state <> 'delivered';`;

/** The rows of a step, its commits, and how their content is posted. */
interface Rows {
  /** One commit: a page, and what was accepted since the previous commit. */
  commit(first: number, count: number, accepted: readonly number[]): Promise<Message[]>;
  post(message: Message): Promise<void>;
  close(): Promise<void>;
}

function openRows(file: string, port: number, step: Step): Rows {
  const db = new DatabaseSync(file);
  db.exec(SCHEMA);
  const event = db.prepare('INSERT OR IGNORE INTO event VALUES (?, ?, ?, ?)');
  const alert = db.prepare('INSERT INTO alert VALUES (?, ?, ?)');
  const group = db.prepare('INSERT INTO alert_group VALUES (?, ?, ?)');
  const message = db.prepare('INSERT INTO message VALUES (?, ?)');
  const delivery = db.prepare("INSERT INTO delivery VALUES (?, 'leased', 1)");
  const settle = db.prepare(
    "UPDATE delivery SET state = 'delivered' WHERE seq IN (SELECT value FROM json_each(?))",
  );
  const place = (of: Step) => STEPS.findIndex(([name]) => name === of);
  const has = (least: Step) => place(step) >= place(least);
  const make = has('decide') ? decideBodies : createPattern();
  return {
    async commit(first, count, accepted) {
      const nowUs = Date.now() * 1000;
      if (has('event')) db.exec('BEGIN IMMEDIATE');
      const messages = make(first, count, nowUs).map((made, at): Message => {
        const seq = first + at;
        if (has('event')) event.run(seq, nowUs, made.event.key, JSON.stringify(made.event));
        if (has('delivery')) {
          message.run(seq, made.body);
          delivery.run(seq);
        }
        if (has('state')) {
          alert.run(seq, made.alert.id, JSON.stringify(made.alert));
          group.run(made.group.key, made.group.nextFlushAtUs, JSON.stringify(made.group));
        }
        return { seq, body: made.body };
      });
      if (has('delivery')) settle.run(JSON.stringify(accepted));
      if (has('event')) db.exec('COMMIT');
      return messages;
    },
    post: barePost(port),
    close: async () => db.close(),
  };
}

/** nestwatch's own rows and its own sending, without the stages between which it commits. */
async function openOwnRows(file: string, port: number): Promise<Rows> {
  const clock = systemClock();
  const store = await openSqliteStore({ path: file, clock });
  const webhook = openWebhooks({ clock, version: 'bench', openTransport });
  const integration = configOf(port).receivers[0]!.integrations[0] as WebhookIntegration;
  const { stream } = await store.transaction((tx) => tx.streams.open('eu', 'flight', ''));
  const underWay = new Map<number, { readonly delivery: Delivery; readonly notification: Notification }>();
  return {
    async commit(first, count, accepted) {
      const nowUs = clock.nowUs();
      const ended = accepted.map((seq): Settlement => {
        const { id } = underWay.get(seq)!.delivery;
        return { id, state: 'delivered', nextAttemptAtUs: nowUs, lastError: '' };
      });
      const page = await store.transaction(async (tx) => {
        await tx.outbox.settle(ended, nowUs);
        const made = decidePage(first, count, nowUs);
        const alerts = made.map(({ alert }) => alert);
        await tx.events.insert(
          stream,
          made.map(({ event }) => event),
        );
        await tx.alerts.put(alerts);
        await tx.alerts.linkEvents(made.map(({ alert, event }) => ({ alertId: alert.id, seq: 1, event })));
        await tx.groups.put(made.map(({ group }) => group));
        await tx.groups.putMembers(made.map(({ member }) => member));
        await tx.alerts.markRouted(alerts.map(({ id }) => id));
        await tx.streams.advanceCursor(stream, nowUs);
        const queued = made.map(({ alert, group, notification }) => {
          const named = { id: notification.id, receiver: group.receiver, groupKey: group.key };
          const delivery = { ...newDelivery(named, [0, integration], nowUs), ...CLAIMED };
          return { delivery, notification, covers: [{ alertId: alert.id, afterSeq: 0, lastSeq: 1 }] };
        });
        for (const { delivery, notification, covers } of queued) {
          await tx.outbox.enqueue(notification, [delivery], covers);
        }
        return queued;
      });
      for (const seq of accepted) underWay.delete(seq);
      for (const [at, one] of page.entries()) underWay.set(first + at, one);
      return page.map((_, at) => ({ seq: first + at, body: '' }));
    },
    async post({ seq }) {
      const { delivery, notification } = underWay.get(seq)!;
      const outcome = await webhook.send(integration, delivery, notification, 'http://127.0.0.1');
      if (outcome.kind !== 'accepted') throw new Error(`The receiver did not accept: ${outcome.kind}`);
    },
    async close() {
      await webhook.close();
      await store.close();
    },
  };
}

/** The attempt is recorded together with the delivery. */
const CLAIMED = { state: 'leased', attempts: 1 } as const;

/** Runs a step in a separate process. */
async function run(port: number, alerts: number, step: Step): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'nestwatch-bound-'));
  const hear = createStormHeap({ monotonicMs: () => performance.now() });
  const file = join(folder, 'store.db');
  const rows = step === 'store' ? await openOwnRows(file, port) : openRows(file, port, step);
  let accepted: number[] = [];
  let unaccepted = 0;
  let wake = () => {};
  const accept = (seqs: readonly number[]) => {
    accepted.push(...seqs);
    unaccepted -= seqs.length;
    wake();
  };
  const worker = step === 'thread' ? new Worker(import.meta.filename, { workerData: { port } }) : undefined;
  worker?.on('message', accept);
  const post = worker
    ? (messages: readonly Message[]) => worker.postMessage(messages)
    : openPosts(rows.post, (seq) => accept([seq]));
  process.once('disconnect', async () => {
    await worker?.terminate();
    await rows.close();
    rmSync(folder, { recursive: true });
    process.exit();
  });
  if (worker) await once(worker, 'message');
  process.send?.('ready');
  await once(process, 'message');
  for (let next = 0; next < alerts || unaccepted > 0 || accepted.length > 0; ) {
    const page = Math.min(PAGE, alerts - next);
    const count = unaccepted + page <= AHEAD ? page : 0;
    if (count > 0 || accepted.length >= PAGE || unaccepted === 0) {
      const settled = accepted;
      accepted = [];
      const messages = await rows.commit(next, count, settled);
      for (const { seq } of messages) {
        hear({ what: 'alert', alertname: '', region: '', state: 'firing', alertId: String(seq) });
      }
      next += messages.length;
      unaccepted += messages.length;
      post(messages);
      await new Promise((resolve) => setImmediate(resolve));
    } else {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }
}

/** The thread that posts. */
function runPosts(port: number): void {
  let accepted: number[] = [];
  const say = () => {
    if (accepted.length > 0) parentPort!.postMessage(accepted);
    accepted = [];
  };
  const post = openPosts(barePost(port), (seq) => {
    if (accepted.push(seq) >= SAID_AT_ONCE) say();
  });
  setInterval(say, SAID_AFTER_MS);
  parentPort!.on('message', post);
  // Reports that the thread has started.
  parentPort!.postMessage([]);
}

function measureStep(step: Step, alerts: number): Promise<Side> {
  return measure(alerts, async (port) => {
    const child = forkAsProgram(import.meta.filename, ['process', String(port), String(alerts), step]);
    await once(child, 'message');
    return {
      pid: child.pid!,
      feed: () => void child.send('go'),
      async end() {
        const ended = once(child, 'exit');
        child.disconnect();
        await ended;
      },
    };
  });
}

async function printBound(alerts: number): Promise<void> {
  const work = { name: '', alerts, groupBy: 'bird_id' };
  const theirs = isAlertmanagerHere() ? await deliverByAlertmanager(work) : undefined;
  function print(name: string, side: Side): void {
    const { cpuUs, writtenKiB, writes, alertsPerSecond, peakMiB } = side;
    const rate = theirs ? `, ${(alertsPerSecond / theirs.alertsPerSecond).toFixed(2)} of its rate` : '';
    console.log(
      `  ${name.padEnd(80)}${cpuUs.toFixed(0).padStart(5)} µs, ${writtenKiB.toFixed(1).padStart(4)} KiB in ${writes.toFixed(1)} writes${rate}; ${peakMiB.toFixed(0)} MiB`,
    );
  }
  console.log(`Processor time and writes for each of ${alerts} alerts in groups of their own`);
  if (theirs) print('Alertmanager', theirs);
  for (const [step, name] of STEPS) print(name, await measureStep(step, alerts));
  print('nestwatch', await deliverAlerts(work));
}

if (!isMainThread) runPosts((workerData as { port: number }).port);
else if (process.argv[2] === 'process') {
  const [port, alerts, step] = process.argv.slice(3);
  await run(Number(port), Number(alerts), step as Step);
} else if (import.meta.main) await printBound(Number(process.argv[2] ?? 20_000));
