/**
 * What a storm takes at the least: the bare path from failed Flights to a webhook in one Node process, built up step
 * by step out of nothing but `node:sqlite` and undici, beside Alertmanager and beside nestwatch on the same work. From
 * the third step on it promises what nestwatch does (an event is committed before it is notified of, an attempt before
 * it is sent, how it ended after it, each commit on the disk), in one commit for a hundred alerts and in as few rows as
 * can be. It has no silences, inhibitions, retries, lanes, repeats, retention, search, explanations, or pages.
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
import { alertmanagerBody } from '../../src/channels/message/alertmanager-body.ts';
import type { Alert } from '../../src/domain/alert/alert.ts';
import type { Event } from '../../src/domain/alert/event.ts';
import { decide } from '../../src/domain/evaluate/decide.ts';
import { assignGroups } from '../../src/domain/grouping/assign-groups.ts';
import { flush, notificationOf } from '../../src/domain/grouping/flush.ts';
import type { Group } from '../../src/domain/grouping/group.ts';
import { createStormHeap } from '../../src/storm-heap.ts';
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

/** Each does what the one before it does, and more. */
const STEPS = [
  ['post', 'a POST for each alert, with the body that nestwatch sends'],
  ['event', '… and its event in a row before it'],
  ['delivery', '… and its message and attempt in rows before it, and how it ended after it'],
  ['state', '… and its alert and group in rows: what comes later depends on them'],
  ['decide', "… and nestwatch's pure functions decide: rule, labels, texts, group, message"],
  ['thread', 'the same, the POSTs in a thread of their own'],
] as const;
type Step = (typeof STEPS)[number][0];

const PAGE = 100;
/** As many as nestwatch has on their way to a webhook. */
const IN_FLIGHT = 8;
/** Alerts that are committed ahead of what was accepted. */
const AHEAD = 4 * PAGE;
/** Numbers of accepted messages that the thread says at once, or after so many milliseconds. */
const SAID_AT_ONCE = 20;
const SAID_AFTER_MS = 20;

interface Message {
  readonly seq: number;
  readonly body: string;
}

/** Posts messages, so many at a time, and says which were accepted. */
function openPosts(port: number, accepted: (seq: number) => void): (messages: readonly Message[]) => void {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: IN_FLIGHT });
  const waiting: Message[] = [];
  let inFlight = 0;
  async function work(): Promise<void> {
    inFlight += 1;
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const headers = { 'content-type': 'application/json', 'webhook-id': String(next.seq) };
      const answer = await pool.request({ path: '/', method: 'POST', headers, body: next.body });
      await answer.body.dump();
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

interface Made {
  readonly event: Event;
  readonly alert: Alert;
  readonly group: Group;
  readonly body: string;
}

const CONFIG = load(
  `${REGION}route: ${routeYaml('bird_id')}\nreceivers: [{ name: hook, webhook_configs: [{ url: "http://127.0.0.1/" }] }]\n`,
);

/** Decides a page as nestwatch does, one group for each alert. */
function decidePage(first: number, count: number, nowUs: number): Made[] {
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
    const body = JSON.stringify(alertmanagerBody(notification, 'http://127.0.0.1', 0));
    return { event, alert, group: flushed.group, body };
  });
}

/** Pages that nobody decided: one of the right size is made once, and differs by its number alone. */
function createPattern(): typeof decidePage {
  const [pattern] = decidePage(0, 1, Date.now() * 1000);
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

/** The rows of a step, and its commits. */
function openRows(file: string, step: Step) {
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
  const make = has('decide') ? decidePage : createPattern();
  return {
    /** One commit: a page, and what was accepted since the one before. */
    commit(first: number, count: number, accepted: readonly number[]): Message[] {
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
    close: () => db.close(),
  };
}

/** A step in a process of its own. */
async function run(port: number, alerts: number, step: Step): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'nestwatch-bound-'));
  const hear = createStormHeap({ monotonicMs: () => performance.now() });
  const rows = openRows(join(folder, 'store.db'), step);
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
    : openPosts(port, (seq) => accept([seq]));
  process.once('disconnect', async () => {
    await worker?.terminate();
    rows.close();
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
      const messages = rows.commit(next, count, settled);
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
  const post = openPosts(port, (seq) => {
    if (accepted.push(seq) >= SAID_AT_ONCE) say();
  });
  setInterval(say, SAID_AFTER_MS);
  parentPort!.on('message', post);
  // It is there.
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
