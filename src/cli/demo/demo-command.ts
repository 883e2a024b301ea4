/**
 * Runs the complete system on one machine: the simulated service in two regions, catchers for mail and webhooks, the
 * daemon.
 */

import { type App, openApp } from '../../app.ts';
import { loadConfig } from '../../config/load-config.ts';
import { codeOf, NestwatchError } from '../../errors.ts';
import type { Edge } from '../../process-io.ts';
import type { Happening } from '../../report.ts';
import { openSimulator, type SimulatorServer } from '../../simulator/answers/simulator-server.ts';
import { OVERDUE_BIRD, playStory, SLOW_BIRD } from '../../simulator/story/story.ts';
import { seededRandom } from '../../simulator/world/seeded-random.ts';
import type { TrueEvent } from '../../simulator/world/truth.ts';
import { createWorld, type World } from '../../simulator/world/world.ts';
import { howMany } from '../../text/instant-words.ts';
import { regionName } from '../../text/plain-text.ts';
import { type Clock, sleep } from '../../time/clock.ts';
import { parseDuration } from '../../time/duration.ts';
import { untilStopped } from '../at-terminal.ts';
import { EXIT } from '../command-rows.ts';
import { type CaughtMail, openCatcher } from './demo-catcher.ts';

const REGIONS = ['eu', 'us'] as const;
const TOKEN = 'demo-token';
const PAGE_PORT = 9465;

/** How long to wait at the end for the last events, which are still on their way. */
const ARRIVAL_MS = 3_000;
/** The longest such wait, for a busy machine. It ends as soon as all events have arrived. */
const LONGEST_ARRIVAL_MS = 60_000;

interface DemoOptions {
  readonly for?: string | undefined;
}

export async function demo(edge: Edge, options: DemoOptions): Promise<number> {
  const { clock } = edge;
  const forMs = options.for === undefined ? undefined : parseDuration(options.for);
  if (options.for !== undefined && (forMs === undefined || forMs <= 0)) {
    throw new NestwatchError('usage', `--for must be a duration such as 60s, not ${options.for}`);
  }
  const print = (line: string) => edge.stdout.write(`${line}\n`);
  print(
    'nestwatch demo: a simulated service in two regions and the daemon that watches it, all on this machine.\n',
  );
  const regions: { readonly region: string; readonly world: World; readonly server: SimulatorServer }[] = [];
  for (const [index, region] of REGIONS.entries()) {
    const world = createWorld({ region, clock, random: seededRandom(index + 1), token: TOKEN });
    regions.push({ region, world, server: await openSimulator({ world, host: '127.0.0.1', port: 0 }) });
  }
  const deadlineUs = Math.floor(clock.nowUs() / 60_000_000) * 60_000_000;
  const alerts: Extract<Happening, { what: 'alert' }>[] = [];
  const progress = createDemoProgress();
  const catcher = await openCatcher((mail) => print(`${timeOf(clock)}  mail   ${firstLines(mail)}`));
  const configText = demoConfig(regions, catcher.smarthost, catcher.url, deadlineUs);
  const app = await assembleDemo(edge, configText, (happening) => {
    progress.hear(happening);
    if (happening.what !== 'alert') return;
    alerts.push(happening);
    const { region, alertname, state } = happening;
    print(
      `${timeOf(clock)}  alert  ${regionName(region)} ${alertname} ${state === 'firing' ? 'fires' : 'is resolved'}`,
    );
  });
  print(`  page     ${app.url}/          metrics  ${app.url}/metrics`);
  print(
    `  mails    ${catcher.url}/         service  ${regions.map(({ server }) => server.url).join('  ')}\n`,
  );

  const stop = new AbortController();
  const running = app.daemon.run(stop.signal);
  const startedMs = clock.monotonicMs();
  for (const { world } of regions) playStory(world, { deadlineUs });

  const stopped = untilStopped(edge).then(() => stop.abort());
  let truth = new Map<string, readonly TrueEvent[]>();
  const lookAtTruth = () => {
    truth = new Map(regions.map(({ region, world }) => [region, world.truth().events]));
  };
  const arrived = () => {
    const received = new Set(catcher.caught.eventKeys);
    return [...truth.values()].flat().every((event) => received.has(event.key));
  };
  const waiting = (async () => {
    if (forMs === undefined) return stopped;
    await sleep(clock, Math.max(0, forMs - ARRIVAL_MS), stop.signal);
    lookAtTruth();
    await sleep(clock, Math.min(forMs, ARRIVAL_MS), stop.signal);
    for (let ms = 0; ms < LONGEST_ARRIVAL_MS && !arrived(); ms += 100) await sleep(clock, 100, stop.signal);
  })();
  await Promise.race([waiting, stopped, app.fatal]);
  const wasInterrupted = stop.signal.aborted;
  if (wasInterrupted) lookAtTruth();
  stop.abort();
  await running;
  await app.close();
  await Promise.all([catcher.close(), ...regions.map(({ server }) => server.close())]);

  const asked = new Set([...truth.values()].flat().map((event) => event.key));
  const later = new Set(regions.flatMap(({ world }) => world.truth().events.map((event) => event.key)));
  const summary = summarise({
    seconds: Math.round((clock.monotonicMs() - startedMs) / 1000),
    regions: regions.map(({ region }) => ({
      region,
      truth: truth.get(region) ?? [],
      fired: namesOf(alerts, region, 'firing'),
      resolved: namesOf(alerts, region, 'resolved'),
    })),
    mails: catcher.caught.mails.length,
    webhooks: catcher.caught.webhooks.length,
    webhooksAgain: catcher.caught.webhooksAgain,
    progress,
    // Events after the truth was read are neither lost nor invented.
    eventKeys: catcher.caught.eventKeys.filter((key) => asked.has(key) || !later.has(key)),
  });
  print(`\n${summary.text}`);
  if (wasInterrupted) return 0;
  return summary.lost + summary.repeated + summary.invented === 0 ? 0 : EXIT.failed;
}

/** Uses the page's usual port if it is free, so that the address is always the same. */
async function assembleDemo(
  edge: Edge,
  configText: (port: number) => string,
  listener: (happening: Happening) => void,
): Promise<App> {
  const load = (port: number) =>
    openApp(edge, {
      config: loadConfig({
        file: 'demo',
        text: configText(port),
        environment: {},
        readFile: () => '',
      }),
      logLevel: 'error',
      logFormat: 'pretty',
      listener,
    });
  try {
    return await load(PAGE_PORT);
  } catch (error) {
    if (codeOf(error) !== 'port_in_use') throw error;
    return load(0);
  }
}

/** An ordinary configuration with shorter times, so that minutes become seconds. */
function demoConfig(
  regions: readonly { readonly region: string; readonly server: SimulatorServer }[],
  smarthost: string,
  catcherUrl: string,
  deadlineUs: number,
) {
  // Every ten minutes, so that the past hour shows when the Bird usually starts.
  const minute = new Date(deadlineUs / 1000).getUTCMinutes() % 10;
  const minutes = [0, 1, 2, 3, 4, 5].map((ten) => ten * 10 + minute).join(',');
  return (port: number) => `
regions:
${regions
  .map(
    ({ region, server }) =>
      `  ${region}: { base_url: "${server.url}", token: ${TOKEN}, requests_per_second: 50 }`,
  )
  .join('\n')}
store: { url: "sqlite::memory:" }
poll: { interval: 1s, max_interval: 5s, inventory_interval: 5s, overlap: 10s }
global: { smtp_smarthost: "${smarthost}", smtp_from: nestwatch@example.com, smtp_require_tls: false }
route:
  receiver: ops
  group_by: [alertname, region, nest]
  group_wait: 1s
  group_interval: 5s
receivers:
  - name: ops
    email_configs: [{ to: ops@example.com, send_resolved: true }]
    webhook_configs: [{ url: "${catcherUrl}/alerts" }]
  - name: lake
    webhook_configs: [{ url: "${catcherUrl}/events", format: cloudevents }]
forward: [{ receiver: lake }]
rules:
  - { kind: FlightOverdue, match: ['bird="${OVERDUE_BIRD}"'], landed_by: "${minutes} * * * *" }
  - { kind: FlightSlow, match: ['bird="${SLOW_BIRD}"'], at_least: 5s }
web: { listen: "127.0.0.1:${port}"${port === 0 ? '' : `, external_url: "http://127.0.0.1:${port}"`} }
`;
}

function namesOf(
  alerts: readonly Extract<Happening, { what: 'alert' }>[],
  region: string,
  state: 'firing' | 'resolved',
): string[] {
  return alerts.filter((one) => one.region === region && one.state === state).map((one) => one.alertname);
}

function timeOf(clock: Clock): string {
  return new Date(clock.nowUs() / 1000).toISOString().slice(11, 19);
}

/** The subject of the last mail in a thread already contains its first line. */
function firstLines(mail: CaughtMail): string {
  const first = mail.text.trim().split('\n')[0] ?? '';
  return mail.subject.includes(first) ? mail.subject : `${mail.subject} — ${first}`;
}

/** What the demo received, and what really happened at the simulated service. */
interface DemoFigures {
  readonly seconds: number;
  readonly regions: readonly {
    readonly region: string;
    readonly truth: readonly TrueEvent[];
    /** The names of alerts in the order in which they fired or were resolved. */
    readonly fired: readonly string[];
    readonly resolved: readonly string[];
  }[];
  readonly mails: number;
  readonly webhooks: number;
  /** Further calls that repeated an earlier id. */
  readonly webhooksAgain: number;
  readonly eventKeys: readonly string[];
  /** How far the daemon got with an event that was not received. */
  readonly progress: Pick<DemoProgress, 'of'>;
}

interface DemoSummary {
  readonly text: string;
  readonly lost: number;
  readonly repeated: number;
  readonly invented: number;
}

const WORDS = { unread: 'not read yet', read: 'read, not delivered yet' } as const;

/** The most events that are named one by one. */
const MOST_NAMED = 10;

export function summarise(figures: DemoFigures): DemoSummary {
  // What the inventory notices is not part of that truth: it depends on when it is read.
  const keys = figures.eventKeys.filter((key) => !['inventory', 'action'].includes(key.split('/')[1]!));
  const received = new Set(keys);
  const truth = figures.regions.flatMap((region) => region.truth);
  const known = new Set(truth.map((event) => event.key));
  const missing = truth.filter((event) => !received.has(event.key));
  const untold = missing.flatMap((event) => {
    const state = figures.progress.of(event);
    return state === 'shown' ? [] : [`${event.key} (${WORDS[state]})`];
  });
  const lost = missing.length - untold.length;
  const repeated = keys.length - received.size;
  const invented = [...received].filter((key) => !known.has(key)).length;
  const lines = figures.regions.map(({ region, truth: events, fired, resolved }) => {
    const counts = `${events.length} events, ${fired.length} alerts fired, ${resolved.length} resolved`;
    return `  ${regionName(region)}  ${counts} (${[...new Set(fired)].join(', ') || 'none'})`;
  });
  const text = [
    `After ${figures.seconds} s:`,
    ...lines,
    `  ${figures.mails} mails and ${figures.webhooks} webhooks received`,
    `  ${lost} lost, ${repeated} repeated, ${invented} invented, checked against the simulated service's own truth`,
    ...(figures.webhooksAgain > 0
      ? [
          `  ${howMany(figures.webhooksAgain, 'webhook')} came again under the id of the first try, since its answer was late`,
        ]
      : []),
    ...(untold.length > 0 ? [`  ${howMany(untold.length, 'event')} not yet told:`] : []),
    ...untold.slice(0, MOST_NAMED).map((event) => `    ${event}`),
    ...(untold.length > MOST_NAMED ? [`    and ${untold.length - MOST_NAMED} more`] : []),
  ].join('\n');
  return { text, lost, repeated, invented };
}

interface DemoProgress {
  /** Receives every report of the daemon. */
  hear(happening: Happening): void;
  /**
   * `read`: the event is stored. `unread`: its stream was not read since it was there. `shown`: the stream was read and
   * the event is not stored.
   */
  of(event: TrueEvent): 'read' | 'unread' | 'shown';
}

/** A failed Flight that shows no reason is held back for this long. */
const HELD_BACK_US = 15_000_000;

export function createDemoProgress(): DemoProgress {
  const stored = new Set<string>();
  /** When the last successful poll of each stream began. */
  const readUs = new Map<string, number>();
  const streamOf = (region: string, feed: string, birdId = '') =>
    `${region}/${feed}/${feed === 'notification' ? '' : birdId}`;
  return {
    hear(happening) {
      if (happening.what === 'events') for (const { key } of happening.events) stored.add(key);
      if (happening.what !== 'poll' || happening.failure !== undefined) return;
      const { region, feed, birdId, atUs, durationMs } = happening;
      readUs.set(streamOf(region, feed, birdId), atUs - durationMs * 1000);
    },
    of({ key, feed, birdId, visibleAtUs }) {
      if (stored.has(key)) return 'read';
      const lastReadUs = readUs.get(streamOf(key.split('/', 1)[0]!, feed, birdId)) ?? 0;
      return lastReadUs > visibleAtUs + HELD_BACK_US ? 'shown' : 'unread';
    },
  };
}
