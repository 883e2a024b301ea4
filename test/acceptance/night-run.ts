/**
 * A night of the daemon's life: one on SQLite and two replicas on PostgreSQL read the same two simulated regions of 500
 * Birds with faults, while each minute somebody scrapes them and opens pages, and now and then silences or reloads, and
 * each hour (`--kill-minutes`) one of them is killed. Prints memory, descriptors, size of the store and lines of the log over time, every
 * line at warn or above by message, and which events arrived twice under another id or not at all. Run it by hand with
 * `node test/acceptance/night-run.ts --hours 8`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pass } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { freePort } from '../http/servers.ts';
import { MAIN } from '../program.ts';
import { findServer, startServer } from '../store/postgres/postgres-server.ts';
import { openWebhook } from './accepting-webhook.ts';

const { values } = parseArgs({
  options: { hours: { type: 'string', default: '8' }, 'kill-minutes': { type: 'string', default: '60' } },
});
const killMinutes = Number(values['kill-minutes']);
const MINUTE_MS = 60_000;
const endMs = Date.now() + Number(values.hours) * 60 * MINUTE_MS;
const folder = mkdtempSync(join(tmpdir(), 'nestwatch-night-'));
const REGIONS = ['eu', 'us'];
const PAGES = [
  '/',
  '/alerts',
  '/birds',
  '/events',
  '/flights',
  '/deliveries',
  '/report',
  '/metrics',
  '/api/v1/status',
];
const FAULTS = 'requests_per_second: 8\nerror_500: 0.005\nreset: 0.005\ntruncated: 0.005\n';

interface Sample {
  readonly atMs: number;
  readonly memory: number;
  readonly descriptors: number;
  readonly store: number;
  readonly lines: number;
}

interface Member {
  readonly name: string;
  readonly store: string;
  readonly file: string;
  readonly port: number;
  child?: ChildProcess;
  lines: number;
  readonly samples: Sample[];
}

const server = await startServer(findServer() ?? fail('there is no PostgreSQL'));
const receivers = new Map<string, Receiver>();
const warned = new Map<string, { count: number; readonly example: string }>();
const processes: ChildProcess[] = [];

interface Receiver {
  readonly url: string;
  /** The webhook-ids under which each event came. */
  readonly idsOf: Map<string, Set<string>>;
}

try {
  const services = await Promise.all(REGIONS.map(startSimulator));
  for (const store of ['sqlite', 'postgres']) receivers.set(store, await openReceiver());
  const sqlite = `sqlite:${join(folder, 'nestwatch.db')}`;
  const members = await Promise.all(
    [
      ['sqlite', sqlite, 'sqlite'],
      ['replica-1', server.url, 'postgres'],
      ['replica-2', server.url, 'postgres'],
    ].map(([name = '', url = '', store = '']) => createMember(name, url, store, services)),
  );
  members.forEach(start);
  await live(members);
  printSamples(members, Math.round(Number(values.hours) * 60));
  await compareEvents(members);
} finally {
  for (const process of processes) process.kill('SIGKILL');
  await server.remove();
  rmSync(folder, { recursive: true });
}
process.exit();

async function live(members: readonly Member[]): Promise<void> {
  for (let minute = 1; Date.now() < endMs; minute++) {
    await pass(MINUTE_MS);
    for (const member of members) {
      const url = `http://127.0.0.1:${member.port}`;
      for (const path of PAGES)
        await fetch(url + path).then(
          (page) => page.text(),
          () => '',
        );
      if (minute % 10 === 3) await silence(url, minute);
      if (minute % 15 === 7) {
        writeFileSync(member.file, `${readFileSync(member.file, 'utf8')}# ${minute}\n`);
        member.child?.kill('SIGHUP');
      }
      member.samples.push(await sample(member));
    }
    if (minute % 30 === 0) printSamples(members, minute);
    if (minute % killMinutes === 0) {
      const member = members[Math.floor(minute / killMinutes) % members.length]!;
      member.child?.kill('SIGKILL');
      await pass(3_000);
      start(member);
    }
  }
}

async function silence(url: string, minute: number): Promise<void> {
  const matchers = [{ name: 'nest', value: `Nest ${minute}`, isRegex: false, isEqual: true }];
  const startsAt = new Date().toISOString();
  const endsAt = new Date(Date.now() + 5 * MINUTE_MS).toISOString();
  const body = JSON.stringify({ matchers, startsAt, endsAt, createdBy: 'night', comment: 'night' });
  await fetch(`${url}/api/v2/silences`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  }).catch(() => undefined);
}

async function sample({ child, store, lines }: Member): Promise<Sample> {
  const proc = `/proc/${child?.pid}`;
  const memory = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`${proc}/status`, 'utf8'))?.[1]) / 1024;
  const descriptors = readdirSync(`${proc}/fd`).length;
  const path = store.startsWith('sqlite:') ? store.slice('sqlite:'.length) : undefined;
  const bytes =
    path === undefined
      ? 0
      : statSync(path).size + (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0);
  return { atMs: Date.now(), memory, descriptors, store: bytes / 1024 / 1024, lines };
}

async function startSimulator(region: string): Promise<string> {
  const faults = join(folder, 'faults.yaml');
  writeFileSync(faults, FAULTS);
  const args = ['--region', region, '--birds', '500', '--flights', '1500', '--faults', faults];
  const child = spawn(process.execPath, [MAIN, 'simulate', '--listen', '127.0.0.1:0', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  processes.push(child);
  for await (const line of createInterface({ input: child.stdout! })) {
    const url = /base_url: (\S+)/.exec(line)?.[1];
    if (url) return url;
  }
  return fail('the simulator ended');
}

async function openReceiver(): Promise<Receiver> {
  const idsOf = new Map<string, Set<string>>();
  const { url } = await openWebhook((body, request) => {
    if (request.url !== '/events') return;
    for (const { id } of body as { id: string }[])
      idsOf.getOrInsertComputed(id, () => new Set()).add(String(request.headers['webhook-id']));
  });
  return { url, idsOf };
}

async function createMember(
  name: string,
  url: string,
  store: string,
  services: readonly string[],
): Promise<Member> {
  const port = await freePort();
  const file = join(folder, `${name}.yaml`);
  const regions = services.map(
    (service, index) => `  ${REGIONS[index]}: { base_url: "${service}", token: demo-token }`,
  );
  writeFileSync(
    file,
    `regions:
${regions.join('\n')}
store: { url: "${url}", retention: 30d }
route: { receiver: ops, group_by: [alertname, region, error], group_interval: 1m }
receivers:
  - { name: ops, webhook_configs: [{ url: "${receivers.get(store)!.url}alerts" }] }
  - { name: lake, webhook_configs: [{ url: "${receivers.get(store)!.url}events", format: cloudevents }] }
forward: [{ matchers: ['feed=~".*"'], receiver: lake }]
web: { listen: "127.0.0.1:${port}", enable_lifecycle: true }
`,
  );
  return { name, store: url, file, port, lines: 0, samples: [] };
}

function start(member: Member): void {
  const options = ['--config.file', member.file, '--log.format', 'json'];
  const child = spawn(process.execPath, [MAIN, 'run', ...options], { stdio: ['ignore', 'ignore', 'pipe'] });
  processes.push(child);
  createInterface({ input: child.stderr! }).on('line', (line) => {
    member.lines++;
    if (!/"level":"(?:warn|error|fatal)"/.test(line)) return;
    const key = /"message":"([^"]*)"/.exec(line)?.[1] ?? line;
    const seen = warned.get(key);
    if (seen) seen.count++;
    else warned.set(key, { count: 1, example: line.slice(0, 400) });
  });
  member.child = child;
}

function printSamples(members: readonly Member[], minute: number): void {
  console.log(`after ${minute} min`);
  for (const { name, samples } of members) {
    // The last three quarters: the first one fills caches.
    const late = samples.slice(Math.floor(samples.length / 4));
    const half = (list: readonly Sample[], of: (one: Sample) => number) =>
      (list.reduce((sum, one) => sum + of(one), 0) / list.length).toFixed(1);
    for (const key of ['memory', 'descriptors', 'store', 'lines'] as const) {
      const halves = [late.slice(0, late.length / 2), late.slice(late.length / 2)].map((list) =>
        half(list, (one) => one[key]),
      );
      console.log(
        name,
        key,
        `${halves.join(' → ')}, most ${Math.max(...samples.map((one) => one[key])).toFixed(1)}`,
      );
    }
  }
  for (const [message, { count, example }] of warned) console.log(`${count} × ${message}\n    ${example}`);
}

async function compareEvents(members: readonly Member[]): Promise<void> {
  for (const [store, { idsOf }] of receivers) {
    const port = members.find(({ name }) => name === (store === 'sqlite' ? 'sqlite' : 'replica-1'))!.port;
    await pass(MINUTE_MS);
    const stored = await eventsOf(`http://127.0.0.1:${port}`);
    const lost = stored.filter((id) => !idsOf.has(id));
    const twice = [...idsOf].filter(([, ids]) => ids.size > 1);
    console.log(
      `${store}: ${stored.length} events stored, ${idsOf.size} forwarded, ${lost.length} lost, ${twice.length} twice`,
    );
  }
}

async function eventsOf(url: string): Promise<string[]> {
  const keys: string[] = [];
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const page = await fetch(`${url}/api/v1/events?limit=100&cursor=${encodeURIComponent(cursor)}`);
    const { events, next } = (await page.json()) as { events: { key: string }[]; next?: string };
    keys.push(...events.map(({ key }) => key));
    cursor = next;
  }
  return keys;
}

function fail(reason: string): never {
  throw new Error(reason);
}
