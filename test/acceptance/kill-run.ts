/**
 * Kills the real daemon with SIGKILL at random moments under load and starts it again, over real HTTP and with a real
 * store file. Afterwards nothing may be lost, and every repetition must have the id of the first attempt; of a Flight that is
 * sent as a trace, those of the trace and its span. Between two
 * kills, the daemon can also be made to reload good and bad configurations. Run it by hand with `node
 * test/acceptance/kill-run.ts --kills 50 [--reloads 200]`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { openSimulator } from '../../src/simulator/answers/simulator-server.ts';
import { pick, seededRandom } from '../../src/simulator/world/seeded-random.ts';
import { createWorld, type World } from '../../src/simulator/world/world.ts';
import { type Clock, systemClock } from '../../src/time/clock.ts';
import { MAIN } from '../program.ts';
import { openWebhook } from './accepting-webhook.ts';

export interface KillFigures {
  readonly kills: number;
  /** Reloads of the configuration while the daemon ran. */
  readonly reloads: number;
  /** Reloads with another result than the file deserved. */
  readonly wrongReloads: readonly string[];
  /** Requests to an address that only a refused configuration contains. */
  readonly callsOfRefused: number;
  readonly events: number;
  readonly lost: readonly string[];
  /** Events that a receiver got more than once under one webhook-id, which is unavoidable and recognisable. */
  readonly repeatedUnderOneId: number;
  readonly repeatedUnderAnotherId: readonly string[];
  /** Ended Flights of which no trace was sent. */
  readonly untraced: readonly string[];
  readonly tracedUnderAnotherId: readonly string[];
  /** How a daemon ended that was not killed by this test. */
  readonly crashes: readonly string[];
}

interface KillRunOptions {
  readonly kills: number;
  readonly seed: number;
  /** In all lives of the daemon together. */
  readonly reloads?: number;
}

export async function killRun({ kills, seed, reloads = 0 }: KillRunOptions): Promise<KillFigures> {
  const clock = systemClock();
  const random = seededRandom(seed);
  const folder = mkdtempSync(join(tmpdir(), 'nestwatch-kill-'));
  const activity = new EventEmitter();
  const world = createLoad(clock, seed);
  const simulator = await openSimulator({ world, host: '127.0.0.1', port: 0 });
  const receiver = await openReceiver(activity);
  const file = join(folder, 'nestwatch.yaml');
  const draftOf = (change: Change) =>
    draft({ folder, service: simulator.url, receiver: receiver.url }, change);
  const crashes: string[] = [];
  const wrongReloads: string[] = [];

  const start = async () => {
    writeFileSync(file, draftOf({}));
    const options = ['--config.file', file, '--log.format', 'json', '--config.auto-reload-interval', '0'];
    const child = spawn(process.execPath, [MAIN, 'run', ...options], { stdio: ['ignore', 'ignore', 'pipe'] });
    const errors: string[] = [];
    createInterface({ input: child.stderr! }).on('line', (line) => {
      const { level, message } = lineOf(line);
      if (level === 'error' && !RELOADED.has(message)) errors.push(line);
      activity.emit('said', message);
    });
    child.on('exit', (code, signal) => {
      if (signal !== 'SIGKILL' && code !== 0) crashes.push(errors.join('\n'));
      activity.emit('seen');
      activity.emit('said', '');
    });
    await said((message) => message === 'nestwatch has started' || message === '');
    return child;
  };

  /** Resolves to the first message of the daemon's log that matches; several lines may arrive in one turn. */
  const said = (fits: (message: string) => boolean): Promise<string> =>
    new Promise((resolve) => {
      const hear = (message: string) => {
        if (!fits(message)) return;
        activity.off('said', hear);
        resolve(message);
      };
      activity.on('said', hear);
    });

  /** Resolves after this many webhook calls have begun, so that a kill hits whatever the daemon is doing. */
  const calls = async (count: number, child: ChildProcess) => {
    for (let seen = 0; seen < count && child.exitCode === null; seen += 1) await once(activity, 'seen');
  };

  const reload = async (child: ChildProcess) => {
    const { what, isGood, text } = nextFile(random, draftOf);
    // It will not answer; the reason why it ended is among the crashes.
    if (child.exitCode !== null) return void wrongReloads.push(`${what}, of a process that had ended`);
    writeFileSync(file, text);
    const answer = said((message) => RELOADED.has(message) || message === '');
    child.kill('SIGHUP');
    if (RELOADED.get(await answer) !== isGood) wrongReloads.push(what);
  };

  try {
    for (let kill = 0; kill < kills; kill += 1) {
      const child = await start();
      for (let count = share(reloads, kills, kill); count > 0; count -= 1) {
        await reload(child);
        await calls(Math.floor(random() * 3), child);
      }
      await calls(1 + Math.floor(random() * 12), child);
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    }
    const last = await start();
    world.behaviours.lateShare = 0;
    const truth = world.truth().events.map((event) => event.key);
    const flights = truth.flatMap((key) => /\/flight\/(.+)\/(?!started)/.exec(key)?.[1] ?? []);
    const isAll = () =>
      truth.every((key) => receiver.idsOf.has(key)) && flights.every((id) => receiver.spansOf.has(id));
    while (!isAll() && last.exitCode === null) await once(activity, 'seen');
    last.kill('SIGTERM');
    if (last.exitCode === null) await once(last, 'exit');

    const repeated = [...receiver.idsOf].filter(([, ids]) => ids.length > 1);
    return {
      kills,
      reloads,
      wrongReloads,
      callsOfRefused: receiver.paths.get('/refused') ?? 0,
      events: truth.length,
      lost: truth.filter((key) => !receiver.idsOf.has(key)),
      repeatedUnderOneId: repeated.filter(([, ids]) => new Set(ids).size === 1).length,
      repeatedUnderAnotherId: repeated.filter(([, ids]) => new Set(ids).size > 1).map(([key]) => key),
      untraced: flights.filter((id) => !receiver.spansOf.has(id)),
      tracedUnderAnotherId: [...receiver.spansOf].filter(([, ids]) => ids.size > 1).map(([id]) => id),
      crashes,
    };
  } finally {
    await Promise.all([simulator.close(), receiver.close()]);
    rmSync(folder, { recursive: true });
  }
}

/** What the log says about a reload, and whether the new configuration is then in force. */
const RELOADED = new Map([
  ['The configuration was read', true],
  ['The new configuration has mistakes and changes nothing', false],
]);

function lineOf(line: string): { readonly level: string; readonly message: string } {
  try {
    return JSON.parse(line);
  } catch {
    return { level: 'error', message: line };
  }
}

/** Distributes the reloads over the lives. */
function share(reloads: number, kills: number, kill: number): number {
  return Math.floor(((kill + 1) * reloads) / kills) - Math.floor((kill * reloads) / kills);
}

/** How one configuration differs from another. */
interface Change {
  readonly interval?: string;
  readonly concurrency?: number;
  readonly groupWait?: string;
  readonly path?: string;
  readonly store?: string;
  readonly more?: string;
}

function draft(
  at: { readonly folder: string; readonly service: string; readonly receiver: string },
  { interval = '1s', concurrency = 8, groupWait = '30s', path = '', store = 'store.db', more = '' }: Change,
): string {
  return `
regions: { eu: { base_url: "${at.service}", token: token, requests_per_second: 500, concurrency: ${concurrency} } }
store: { url: "sqlite:${join(at.folder, store)}" }
poll: { interval: ${interval}, min_interval: 1s, inventory_interval: 10s, overlap: 10s }
receivers:
  - { name: lake, webhook_configs: [{ url: "${at.receiver}${path}", format: cloudevents }] }
  - { name: tempo, webhook_configs: [{ url: "${at.receiver}v1/traces", format: otlp }] }
route: { receiver: lake, group_wait: ${groupWait} }
forward: [{ receiver: lake }, { matchers: ['feed="flight"'], receiver: tempo }]
web: { listen: "127.0.0.1:0" }
${more}
`;
}

/** The next file that the daemon is made to read: good, bad, or cut off. */
function nextFile(random: () => number, draftOf: (change: Change) => string) {
  const good = (what: string, change: Change) => ({ what, isGood: true, text: draftOf(change) });
  const bad = (what: string, text: string) => ({ what, isGood: false, text });
  const refused = { path: 'refused' };
  return pick(random, [
    good('the same', {}),
    good('another receiver', { path: `path-${Math.floor(random() * 3)}` }),
    good('another region', { concurrency: 1 + Math.floor(random() * 8) }),
    good('another poll', { interval: pick(random, ['1s', '2s', '3s']) }),
    good('another route', { groupWait: pick(random, ['1s', '10s', '30s']) }),
    good('more of everything', {
      more: 'digests: [{ name: daily, cron: "0 8 * * *", receiver: lake }]\nrules: [{ kind: FlightFailed, threshold: 2, window: 5m }]',
    }),
    good('a part that needs a restart', { store: 'other.db', path: 'path-0' }),
    bad('an unknown key', draftOf({ ...refused, more: 'reciever: lake' })),
    bad(
      'a receiver that is not there',
      draftOf({ ...refused, more: 'digests: [{ name: d, cron: "* * * * *", receiver: x }]' }),
    ),
    bad('half of a file', halfOf(draftOf(refused), random)),
    bad('no YAML', 'regions: [}'),
    bad('nothing', ''),
  ]);
}

/** Cut off within quotes, because the beginning of a configuration up to a line end may be valid by itself. */
function halfOf(text: string, random: () => number): string {
  const quotes = [...text.matchAll(/"/g)].map(({ index }) => index);
  return text.slice(0, quotes[2 * Math.floor((random() * quotes.length) / 2)]! + 2);
}

/** About fifty events a second, in every feed, from a badly behaved service. */
function createLoad(clock: Clock, seed: number): World {
  const random = seededRandom(seed + 1);
  const world = createWorld({
    region: 'eu',
    clock,
    random: seededRandom(seed + 2),
    token: 'token',
    behaviours: {
      bounds: 'exclusive',
      comparedPrecision: 'second',
      maxPageSize: 37,
      lateShare: 0.1,
      lateMaxMs: 4_000,
      error503: 0.01,
      retryAfterMs: 100,
      reset: 0.01,
      cut: 0.005,
      htmlOk: 0.005,
    },
  });
  const nest = world.addNest({ name: 'Marketing' });
  const birds = Array.from({ length: 6 }, (_, index) =>
    world.addBird(nest.id, { name: `Bird ${index}`, triggerType: 'event' }),
  );
  world.every(60, () => {
    const { id } = pick(random, birds);
    world.save(id);
    world.startFlight(id, { endsAs: 'succeeded', fliesForMs: 50 + random() * 2_000 });
    world.appendNotification({ fields: { eventType: 'Announcement', entityType: 'Plan', entityId: 1 } });
  });
  return world;
}

interface Traces {
  readonly resourceSpans: readonly [{ readonly scopeSpans: readonly [{ readonly spans: readonly Span[] }] }];
}

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly attributes: readonly { readonly key: string; readonly value: { readonly stringValue: string } }[];
}

async function openReceiver(activity: EventEmitter) {
  const idsOf = new Map<string, string[]>();
  const paths = new Map<string, number>();
  /** The ids of the traces and spans that a Flight had. */
  const spansOf = new Map<string, Set<string>>();
  const trace = ({ resourceSpans }: Traces) => {
    for (const { traceId, spanId, attributes } of resourceSpans[0].scopeSpans[0].spans) {
      const flight = attributes.find(({ key }) => key === 'cicd.pipeline.run.id')!.value.stringValue;
      spansOf.getOrInsertComputed(flight, () => new Set()).add(`${traceId} ${spanId}`);
    }
  };
  const webhook = await openWebhook((sent, request) => {
    const id = String(request.headers['webhook-id']);
    paths.set(request.url!, (paths.get(request.url!) ?? 0) + 1);
    if (request.url === '/v1/traces') trace(sent as Traces);
    else
      for (const event of sent as { id: string }[]) {
        // By contract, the alert's own notification contains some events again under another id, so only forwards
        // count.
        if (id.startsWith('forward-')) idsOf.set(event.id, [...(idsOf.get(event.id) ?? []), id]);
      }
    activity.emit('seen');
  });
  return { ...webhook, idsOf, paths, spansOf };
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      kills: { type: 'string', default: '50' },
      seed: { type: 'string', default: '1' },
      reloads: { type: 'string', default: '0' },
    },
  });
  const { kills, seed, reloads } = values;
  console.log(await killRun({ kills: Number(kills), seed: Number(seed), reloads: Number(reloads) }));
}
