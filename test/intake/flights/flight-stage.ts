/**
 * Watches one Bird's Flights in a region of the simulator, through the real client. The world is set up in words
 * (`show`, `ends`, `vanishes`). At the transport, requests are counted and answers altered. Flights have names here,
 * which are translated to the simulator's ids.
 */
import type { Fact } from '../../../src/domain/alert/fact.ts';
import { NestwatchError } from '../../../src/errors.ts';
import type { HttpRequest, HttpResponse, Transport } from '../../../src/http/transport.ts';
import { createCommit } from '../../../src/intake/commit.ts';
import { createFlightWatches, type FlightWatch } from '../../../src/intake/flights/flight-watch.ts';
import type { Happening } from '../../../src/report.ts';
import { secret } from '../../../src/secret.ts';
import { createServiceClient, type ServiceClient } from '../../../src/service/client.ts';
import { seededRandom } from '../../../src/simulator/world/seeded-random.ts';
import type { FlightOutcome } from '../../../src/simulator/world/simulated-record.ts';
import { createWorld } from '../../../src/simulator/world/world.ts';
import { formatInstant, parseInstant } from '../../../src/time/instant.ts';
import { simulatorTransport } from '../../simulator/simulator-transport.ts';
import { openMemory } from '../../store/test-store.ts';
import { createVirtualClock, TEST_START_US } from '../../virtual-clock.ts';

export const SECOND_US = 1_000_000;
export const MINUTE_US = 60 * SECOND_US;
export const HOUR_US = 60 * MINUTE_US;
export const OVERLAP_US = 2 * MINUTE_US;

const BASE_URL = 'https://eu.example/api-rest';
const OUTCOMES: ReadonlySet<string> = new Set(['succeeded', 'failed', 'cancelled']);

/** What the service says about a Flight besides its start. What is absent is not said, except for the status. */
export interface Shown {
  readonly status?: string;
  readonly errorMessages?: string;
  readonly durationSeconds?: number | null;
  /** False if the service does not say when it started. */
  readonly isDated?: boolean;
}

interface ShownFlight {
  readonly id: string;
  isDated: boolean;
  shown: Shown;
  isThere: boolean;
}

/** How the service answers, and what the rate allows; may be changed at any time. */
export interface Answers {
  /** Names of Flights that the list leaves out, but that can be requested by their id. */
  unlisted: ReadonlySet<string>;
  /** Names of Flights for which requests fail. */
  unreadable: ReadonlySet<string>;
  /** The most Flights that an answer can hold without being too large. */
  receivable: number;
  /** Bounds of start dates exclude what lies exactly on them, with the precision at which the service compares. */
  isExclusive: boolean;
  /** What the client throws instead of an answer to `list`, `get` or `log`. */
  trouble: Readonly<Record<string, unknown>>;
  /** The Flights' logs, as JSON; the simulator's own would always contain a reason. */
  log: readonly unknown[];
  /** False for a service without a `Date` header. */
  tellsTime: boolean;
  /** How far the service's clock is ahead of ours. */
  aheadUs: number;
  hasSlack: boolean;
  health: 'up' | 'down';
  pausedMs: number;
  /** For how long open Flights that no list shows are not requested again. */
  openPauseMs: number;
}

export type FlightStage = Awaited<ReturnType<typeof openFlightStage>>;

export async function openFlightStage() {
  const clock = createVirtualClock();
  let store = await openMemory(clock);
  const world = createWorld({
    region: 'eu',
    clock,
    random: seededRandom(1),
    token: 't0ken',
    behaviours: { flightsOrder: 'oldest_first' },
  });
  const nest = world.addNest({ name: 'Marketing' });
  const bird = world.addBird(nest.id, { name: 'Translate blog', triggerType: 'event' });
  const flights = new Map<string, ShownFlight>();
  const nameOf = new Map<string, string>();
  const answers: Answers = {
    unlisted: new Set(),
    unreadable: new Set(),
    receivable: Number.POSITIVE_INFINITY,
    isExclusive: false,
    trouble: {},
    log: [],
    tellsTime: true,
    aheadUs: 0,
    hasSlack: true,
    health: 'up',
    pausedMs: 0,
    openPauseMs: 0,
  };
  /** The requests so far: `list` with the requested status, `get` and `log`. */
  const asked: string[] = [];
  const happenings: Happening[] = [];
  const facts: Fact[] = [];
  const lateUs: number[] = [];
  let commits = 0;

  const flightOf = (id: unknown) => flights.get(nameOf.get(String(id)) ?? '');

  /** A Flight as the service writes it, with the test's changes. */
  function written(json: Record<string, unknown>): Record<string, unknown> {
    const { shown, isDated } = flightOf(json.id)!;
    const { status = 'active', errorMessages, durationSeconds = null } = shown;
    const own = { ...json, status, errorMessages, duration: durationSeconds };
    const isMalformed = nameOf.get(String(json.id)) === 'malformed';
    return { ...own, ...(isDated ? {} : { startDate: null }), ...(isMalformed ? { id: null } : {}) };
  }

  function listed(body: string): string {
    const rows = JSON.parse(body) as Record<string, unknown>[];
    const there = rows.filter(
      ({ id }) => flightOf(id)?.isThere && !answers.unlisted.has(nameOf.get(String(id))!),
    );
    if (there.length > answers.receivable) throw new NestwatchError('too_large', 'more than 16 MiB');
    return JSON.stringify(there.map(written));
  }

  /** Moves the bounds of a list by the service's precision, so that they are exclusive. */
  function narrowed({ url, ...rest }: HttpRequest): HttpRequest {
    const given = new URL(url);
    const stepUs = { second: SECOND_US, millisecond: 1_000, microsecond: 1 }[
      world.behaviours.comparedPrecision
    ];
    for (const [name, sign] of [['MinStartDate', 1] as const, ['MaxStartDate', -1] as const]) {
      const us = parseInstant(given.searchParams.get(name) ?? '')?.us;
      if (us !== undefined) given.searchParams.set(name, formatInstant(us + sign * stepUs));
    }
    return { ...rest, url: given.href };
  }

  function bodyOf(request: HttpRequest, { status, body }: HttpResponse): string {
    const { pathname } = new URL(request.url);
    const [id, isLog] = pathname.split('/flights/')[1]?.split('/') ?? [];
    if (status !== 200) return body;
    if (id === undefined) return listed(body);
    if (!isLog) return JSON.stringify(written(JSON.parse(body)));
    const items = answers.log;
    return JSON.stringify({ items, totalCount: items.length, page: 0, pageSize: 50 });
  }

  const simulated = simulatorTransport({ [BASE_URL]: world });
  const transport: Transport = {
    async send(request) {
      const { pathname, searchParams } = new URL(request.url);
      const [id, isLog] = pathname.split('/flights/')[1]?.split('/') ?? [];
      const status = searchParams.get('Status');
      asked.push(isLog ? 'log' : id ? 'get' : status ? `list ${status}` : 'list');
      const isGone = id !== undefined && !isLog && !flightOf(id)?.isThere;
      if (isGone) return { status: 404, headers: {}, body: '{}' };
      const response = await simulated.send(answers.isExclusive ? narrowed(request) : request);
      const headers = answers.tellsTime
        ? { date: new Date((clock.nowUs() + answers.aheadUs) / 1000).toUTCString() }
        : {};
      return { ...response, headers, body: bodyOf(request, response) };
    },
    close: () => simulated.close(),
  };
  const real = createServiceClient({
    region: {
      name: 'eu',
      baseUrl: BASE_URL,
      token: secret('t0ken'),
      requestsPerSecond: 1e12,
      concurrency: 8,
    },
    transport,
    clock,
    random: () => 0,
    report: () => {},
    startPerSecond: 1e12,
  });

  /** Throws what the real client would throw after its retries; counts as one request. */
  function meets(operation: 'list' | 'get' | 'log', name = operation as string): void {
    if (!(operation in answers.trouble)) return;
    asked.push(name);
    throw answers.trouble[operation];
  }
  const client: ServiceClient = {
    ...real,
    async searchFlights(nestId, birdId, filter = {}) {
      meets('list', filter.status === undefined ? 'list' : `list ${filter.status}`);
      return real.searchFlights(nestId, birdId, filter);
    },
    async getFlight(nestId, birdId, flightId) {
      meets('get');
      if (answers.unreadable.has(nameOf.get(flightId)!)) {
        asked.push('get');
        throw new NestwatchError('unavailable', 'the service answered 500');
      }
      return real.getFlight(nestId, birdId, flightId);
    },
    async getFlightLogs(nestId, birdId, flightId, query, isOnce) {
      meets('log');
      return real.getFlightLogs(nestId, birdId, flightId, query, isOnce);
    },
    slack: () => answers.hasSlack,
    health: () => ({ health: answers.health, reason: '', sinceUs: 0 }),
    pausedMs: () => answers.pausedMs,
  };

  function openWatches(): (birdId: string) => FlightWatch {
    const report = (happening: Happening) => void happenings.push(happening);
    const commit = createCommit({ store, rules: [], forward: [], clock, report, changed: () => {} });
    return createFlightWatches({
      region: 'eu',
      client,
      store,
      commit(batch) {
        commits += 1;
        facts.push(...(batch.facts ?? []));
        return commit(batch);
      },
      clock,
      random: () => 0.99,
      report,
      names: { nest: () => nest.name, bird: () => bird.name, nestOf: () => nest.id },
      status: () => 'active',
      retentionMs: 30 * 86_400_000,
      pageSize: () => 100,
      openPauseMs: () => answers.openPauseMs,
      overlapUs: () => OVERLAP_US,
      late: (us) => void lateUs.push(us),
      firstFromUs: () => TEST_START_US - HOUR_US,
      watchedSinceUs: () => TEST_START_US,
      reasonWaitUs: MINUTE_US,
    });
  }
  let watchOf = openWatches();
  let watch = watchOf(bird.id);

  const stage = {
    clock,
    world,
    bird,
    answers,
    client,
    happenings,
    facts,
    lateUs,
    get store() {
      return store;
    },
    get watch() {
      return watch;
    },
    /** The watch of another Bird, which the service does not have. */
    watchOf: (birdId: string) => watchOf(birdId),
    /** The requests since the last call. */
    takeAsked: () => asked.splice(0),
    asked,
    pass: (seconds: number) => clock.advance(seconds * 1000),

    /** Shows a Flight that started this many seconds ago; `null` if the service does not say when it started. */
    show(name: string, secondsAgo: number | null, shown: Shown = {}): void {
      const { status = 'active', durationSeconds, errorMessages = '' } = shown;
      const startedAtUs = clock.nowUs() - Math.round((secondsAgo ?? 0) * SECOND_US);
      const endsAs = OUTCOMES.has(status) ? (status as FlightOutcome) : undefined;
      const lastsUs =
        durationSeconds === undefined || durationSeconds === null ? Infinity : durationSeconds * 1e6;
      const fliesForMs = Math.max(0, Math.min(lastsUs, clock.nowUs() - startedAtUs)) / 1000;
      const plan = endsAs ? { endsAs, fliesForMs, errorMessages } : {};
      const { id } = world.startFlight(bird.id, { startedAtUs, ...plan });
      flights.set(name, {
        id,
        isDated: secondsAgo !== null && shown.isDated !== false,
        shown,
        isThere: true,
      });
      nameOf.set(id, name);
    },
    /** The Flight ends or becomes active again, or the service says something else about it. */
    ends(name: string, changes: Shown): void {
      const flight = flights.get(name)!;
      const before = flight.shown.status ?? 'active';
      flight.shown = { ...flight.shown, ...changes };
      const { status = 'active', errorMessages = '' } = flight.shown;
      if (status === before) return;
      if (OUTCOMES.has(before)) world.reopenFlight(flight.id);
      if (OUTCOMES.has(status)) world.endFlight(flight.id, status as FlightOutcome, { errorMessages });
    },
    /** From now on the service says when it started. */
    dated(name: string): void {
      flights.get(name)!.isDated = true;
    },
    vanishes(name: string): void {
      flights.get(name)!.isThere = false;
    },
    comesBack(name: string): void {
      flights.get(name)!.isThere = true;
    },

    newLife(): void {
      watchOf = openWatches();
      watch = watchOf(bird.id);
    },
    async emptyStore(): Promise<void> {
      await store.close();
      store = await openMemory(clock);
    },
    /** How many batches were committed since the last call. */
    takeCommits(): number {
      const count = commits;
      commits = 0;
      return count;
    },
    /** The text with Flights' names instead of their ids. */
    named: (text: string) => text.replace(/[0-9a-f-]{36}/g, (id) => nameOf.get(id) ?? id),
    nameOf: (flightId: string) => nameOf.get(flightId) ?? flightId,
    /** One poll; returns the types of its new events with the names of their Flights. */
    async poll(): Promise<string[]> {
      const { fresh } = await watch.poll();
      return fresh.map(({ type, key }) => `${type} ${nameOf.get(key.split('/')[2]!)}`);
    },
    close: () => store.close(),
  };
  return stage;
}
