/**
 * How long events wait to be seen by the whole daemon, from a cold start, with a simulated service that answers 429
 * beyond a rate. It includes the real cost of polls, learning the rate, audits and the inventory. It runs on a
 * virtual clock and compares with a uniform reader that knows the rate and uses all of it. Run it alone: `node
 * test/bench/delay-daemon.ts`.
 */
import type { OpenChannels } from '../../src/channels/channel.ts';
import { createDaemon } from '../../src/daemon.ts';
import type { Happening } from '../../src/report.ts';
import { createScenario, type ScenarioOptions } from '../../src/simulator/story/scenario.ts';
import { forked, seededRandom } from '../../src/simulator/world/seeded-random.ts';
import type { TrueEvent } from '../../src/simulator/world/truth.ts';
import { createWorld, type World } from '../../src/simulator/world/world.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import { baseUrl, stageConfig } from '../acceptance/stage-config.ts';
import { simulatorTransport } from '../simulator/simulator-transport.ts';
import { createVirtualClock, TEST_START_US } from '../virtual-clock.ts';

export interface DelayDaemonOptions {
  readonly requestsPerSecond: number;
  readonly birds: number;
  readonly flightsPerHour: number;
  readonly failureShare: number;
  readonly minutes: number;
  /** 1 if absent. */
  readonly seed?: number;
  /** How Birds are edited, their triggers fail, and Flights are spread over them; absent for the scenario's defaults. */
  readonly life?: Pick<ScenarioOptions, 'editsPerHour' | 'eventErrorsPerHour' | 'skew'>;
  /** After this time the daemon ends and another life begins at once, on the same store. */
  readonly restartAfterMinutes?: number;
}

const REGION = 'eu';
const LATENCY_MS = 60;
/** Time in which the last events can be seen. */
const GRACE_MS = 6 * 60_000;

/** Delays in seconds, for one way of reading. */
export interface Told {
  readonly entries: number;
  readonly meanS: number;
  readonly p95S: number;
  readonly p99S: number;
  /** All of them, in order. */
  readonly delaysS: readonly number[];
}

/** Which events count; absent for all events about Birds. */
export type IsMeant = (event: TrueEvent) => boolean;

export interface Outcome {
  readonly ours: (fromS: number, toS: number, isMeant?: IsMeant) => Told;
  readonly uniform: (fromS: number, toS: number, isMeant?: IsMeant) => Told;
  /** By a reader that polls nothing but Flights. */
  readonly uniformFlights: (fromS: number, toS: number, isMeant?: IsMeant) => Told;
  /** Polls of the Birds' Flights by fifths of activity, the busiest first. */
  readonly pollsByFifth: (toS: number) => number[];
  /** The number of requests up to then, and of those that were refused. */
  readonly requests: (toS: number) => { readonly sent: number; readonly refused: number };
  /** Requests for one poll of a Bird's Flights and of its log, measured in the last third of the time. */
  readonly costOfLook: { readonly flight: number; readonly log: number };
  readonly neededPerSecond: { readonly longest: number; readonly interval: number };
}

export async function runDelayDaemon(options: DelayDaemonOptions): Promise<Outcome> {
  const clock = createVirtualClock(TEST_START_US);
  const random = seededRandom(options.seed ?? 1);
  const { requestsPerSecond, birds, flightsPerHour, failureShare, minutes } = options;
  const behaviours = { requestsPerSecond, latencyMs: LATENCY_MS };
  const world = createWorld({ region: REGION, clock, random: forked(random), token: 'token', behaviours });
  const scenario = createScenario(world, { random, birds, flightsPerHour, failureShare, ...options.life });
  const store = await openSqliteStore({ path: ':memory:', clock });
  const happenings: { readonly atS: number; readonly happening: Happening }[] = [];
  const channels: OpenChannels = {
    email: { send: async () => ({ kind: 'accepted' }), close: async () => {} },
    webhook: { send: async () => ({ kind: 'accepted' }), close: async () => {} },
  };
  const live = async (forMs: number) => {
    const daemon = createDaemon({
      config: stageConfig([REGION]),
      store,
      transportOf: () => simulatorTransport({ [baseUrl(REGION)]: world }),
      channels,
      clock,
      random: seededRandom(7),
      report: (happening) => happenings.push({ atS: clock.monotonicMs() / 1000, happening }),
    });
    const stop = new AbortController();
    const running = daemon.run(stop.signal);
    await clock.advance(forMs);
    stop.abort();
    await clock.advance(1_000);
    await running;
  };
  const restartMs = (options.restartAfterMinutes ?? 0) * 60_000;
  if (restartMs > 0) await live(restartMs);
  await live(minutes * 60_000 - restartMs + GRACE_MS);

  const { events } = world.truth();
  const seenAtUs = await observed(store);
  const reader = (feeds: readonly string[]) =>
    uniformReader(world, scenario.nests.length, requestsPerSecond, feeds);
  await store.close();
  const inTime =
    (of: (event: TrueEvent) => number) =>
    (fromS: number, toS: number, isMeant: IsMeant = ({ feed }) => feed !== 'notification') =>
      delaysOf(events.filter(isMeant), of, fromS, Math.min(toS, minutes * 60));
  const upTo = (toS: number) => happenings.filter(({ atS }) => atS < toS).map(({ happening }) => happening);
  const polls = (of: readonly Happening[], feed: string) =>
    of.flatMap((one) => (one.what === 'poll' && one.feed === feed ? [one.birdId] : []));
  const settled = happenings.filter(({ atS }) => atS > minutes * 40).map(({ happening }) => happening);
  const requestsOf = (of: readonly Happening[], operations: readonly string[]) =>
    of.filter((one) => one.what === 'request' && operations.includes(one.operation)).length;
  const costOfLook = {
    flight:
      requestsOf(settled, ['searchFlights', 'getFlight', 'getFlightLogs']) / polls(settled, 'flight').length,
    log: requestsOf(settled, ['getBirdLogs']) / polls(settled, 'bird_log').length,
  };
  const perSecondAt = (intervalS: number) =>
    (birds * (costOfLook.flight + costOfLook.log)) / intervalS + 1 / 30 + (1 + scenario.nests.length) / 300;
  return {
    ours: inTime((event) => seenAtUs.get(event.key) ?? Number.POSITIVE_INFINITY),
    uniform: inTime(reader(['flight', 'bird_log'])),
    uniformFlights: inTime(reader(['flight'])),
    pollsByFifth: (toS) =>
      byFifth(
        scenario.birds.map(({ id }) => id),
        polls(upTo(toS), 'flight'),
      ),
    requests(toS) {
      const all = upTo(toS).filter((one) => one.what === 'request');
      return { sent: all.length, refused: all.filter(({ failure }) => failure === 'rate_limited').length };
    },
    costOfLook,
    neededPerSecond: { longest: perSecondAt(300), interval: perSecondAt(30) },
  };
}

async function observed(store: Store): Promise<Map<string, number>> {
  const seen = new Map<string, number>();
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const { events, next } = await store.transaction((tx) => tx.events.page({ limit: 1000, cursor }));
    for (const { key, observedAtUs } of events) seen.set(key, observedAtUs);
    cursor = next;
  }
  return seen;
}

/** When an event would be seen by somebody who reads the Nests and their Birds, and then each Bird's feeds in turn. */
function uniformReader(
  world: World,
  nests: number,
  perSecond: number,
  feeds: readonly string[],
): (event: TrueEvent) => number {
  const streams = [...world.birds.keys()].flatMap((id) => feeds.map((feed) => `${feed}/${id}`));
  const places = new Map(streams.map((stream, at) => [stream, at]));
  const round = streams.length;
  return ({ feed, birdId, visibleAtUs }) => {
    const firstS = (1 + nests + (places.get(`${feed}/${birdId}`) ?? 0)) / perSecond;
    const atS = (visibleAtUs - TEST_START_US) / 1e6;
    const rounds = Math.max(0, Math.ceil(((atS - firstS) * perSecond) / round));
    return TEST_START_US + (firstS + (rounds * round) / perSecond) * 1e6;
  };
}

function delaysOf(
  events: readonly TrueEvent[],
  seenAtUs: (event: TrueEvent) => number,
  fromS: number,
  toS: number,
): Told {
  const delays: number[] = [];
  for (const event of events) {
    const atS = (event.visibleAtUs - TEST_START_US) / 1e6;
    if (atS < fromS || atS >= toS) continue;
    delays.push((seenAtUs(event) - event.visibleAtUs) / 1e6);
  }
  return toldOf(delays);
}

function toldOf(delays: readonly number[]): Told {
  const delaysS = delays.toSorted((a, b) => a - b);
  const [p95S, p99S] = [0.95, 0.99].map((part) => delaysS[Math.floor(part * delaysS.length)] ?? 0);
  const meanS = delaysS.reduce((sum, delay) => sum + delay, 0) / delaysS.length;
  return { entries: delaysS.length, meanS, p95S: p95S!, p99S: p99S!, delaysS };
}

function byFifth(birdIds: readonly string[], polled: readonly (string | undefined)[]): number[] {
  const rank = new Map(birdIds.map((id, at) => [id, at]));
  const sums = [0, 0, 0, 0, 0];
  for (const id of polled) sums[Math.floor((5 * (rank.get(id ?? '') ?? 0)) / birdIds.length)]! += 1;
  return sums.map((sum) => (5 * sum) / birdIds.length);
}

const WINDOWS = [
  { name: 'first 3 min', fromS: 0, toS: 180 },
  { name: 'first 10 min', fromS: 0, toS: 600 },
  { name: 'later', fromS: 600, toS: Number.POSITIVE_INFINITY },
];

export async function printDelayDaemon(): Promise<void> {
  const options = { birds: 150, flightsPerHour: 1800, failureShare: 0.3, minutes: 60 };
  console.log(
    'The daemon itself from a cold start on: 150 Birds, 1,800 Flights an hour by Zipf, 429 beyond a rate',
  );
  console.log(
    '  requests/s   when            entries   uniform: mean     p99   ours: mean     p99   mean   p99',
  );
  let least: Outcome | undefined;
  for (const requestsPerSecond of [2, 4, 8]) {
    const outcome = await runDelayDaemon({ ...options, requestsPerSecond });
    for (const { name, fromS, toS } of WINDOWS) {
      const [ours, uniform] = [outcome.ours(fromS, toS), outcome.uniform(fromS, toS)];
      const figures = [uniform, ours].map(
        ({ meanS, p99S }) => `${meanS.toFixed(1).padStart(9)} ${p99S.toFixed(1).padStart(7)}`,
      );
      const ratios = `${(ours.meanS / uniform.meanS).toFixed(2)}  ${(ours.p99S / uniform.p99S).toFixed(2)}`;
      console.log(
        `  ${String(requestsPerSecond).padStart(10)}   ${name.padEnd(14)} ${String(ours.entries).padStart(8)}         ${figures.join('    ')}   ${ratios}`,
      );
    }
    const fifths = outcome.pollsByFifth(180).map((polls) => polls.toFixed(1));
    const { sent, refused } = outcome.requests(180);
    console.log(
      `               polls of Flights by fifths of activity in 3 min: ${fifths.join(', ')}; ${refused} of ${sent} requests refused`,
    );
    least = outcome;
  }
  const { costOfLook, neededPerSecond } = least!;
  console.log(
    `  One look takes ${costOfLook.flight.toFixed(2)} requests of Flights, ${costOfLook.log.toFixed(2)} of a log. So 150 Birds need ` +
      `${neededPerSecond.longest.toFixed(1)} requests/s to be read each 5 min, ${neededPerSecond.interval.toFixed(1)} each 30 s.`,
  );
}

const TIGHT_SEEDS = 8;

/**
 * The first minutes at a tight limit, in worlds whose Birds are often edited: what reading their logs costs the failed
 * Flights, and how long entries of the logs wait.
 */
export async function printTightLimit(): Promise<void> {
  const life = { editsPerHour: 60, eventErrorsPerHour: 10 };
  const options = { birds: 150, flightsPerHour: 1800, failureShare: 0.3, minutes: 5, requestsPerSecond: 4 };
  const sorts: readonly [string, IsMeant][] = [
    ['failed Flights', ({ type }) => type === 'flight.failed'],
    ['all Flights', ({ feed }) => feed === 'flight'],
    ['failed triggers', ({ type }) => type === 'bird_log.EventError'],
    ['other log entries', ({ feed, type }) => feed === 'bird_log' && type !== 'bird_log.EventError'],
  ];
  const outcomes: Outcome[] = [];
  for (let seed = 1; seed <= TIGHT_SEEDS; seed += 1) {
    outcomes.push(await runDelayDaemon({ ...options, seed, life }));
  }
  console.log('  The first 5 min at 4 requests/s, with 60 edits and 10 failed triggers an hour, in 8 worlds');
  console.log(
    '                       entries   uniform: mean     p95   only of Flights   ours: mean     p95',
  );
  for (const [name, isMeant] of sorts) {
    const all = (reader: 'ours' | 'uniform' | 'uniformFlights') =>
      toldOf(outcomes.flatMap((outcome) => outcome[reader](0, 300, isMeant).delaysS));
    const [uniform, flights, ours] = [all('uniform'), all('uniformFlights'), all('ours')];
    const [a, b, c, d, e, f] = [uniform, flights, ours].flatMap(({ meanS, p95S }) =>
      [meanS, p95S].map((value) => (Number.isFinite(value) ? value.toFixed(1) : '-').padStart(7)),
    );
    const entries = String(ours.entries).padStart(7);
    console.log(`    ${name.padEnd(18)} ${entries}         ${a} ${b}   ${c} ${d}      ${e} ${f}`);
  }
}

if (import.meta.main) {
  await printDelayDaemon();
  await printTightLimit();
}
