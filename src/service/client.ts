/**
 * The client of one region: one method for each operation, which returns a value of our own types or throws one
 * `NestwatchError`.
 */
import { NestwatchError } from '../errors.ts';
import { serverTimeUs } from '../http/server-time.ts';
import type { HttpResponse } from '../http/transport.ts';
import type { LimitName } from '../limits.ts';
import type { RegionHealth } from '../region-progress.ts';
import { formatInstant } from '../time/instant.ts';
import { itemsOf, jsonOf } from './answer.ts';
import { Exchange, type ServiceClientOptions } from './exchange.ts';
import { type Operation, type OperationId, operationOf } from './operations.ts';
import {
  type Bird,
  type BirdLogEntry,
  type Cut,
  type Flight,
  type FlightLogEntry,
  isRecord,
  type Nest,
  type NotificationEntry,
  type Page,
  type Parsed,
  pageIn,
  readBird,
  readBirdLogEntry,
  readFlight,
  readFlightLogEntry,
  readNest,
  readNotification,
  readUser,
  type User,
} from './resources.ts';

export type { RegionHealth } from '../region-progress.ts';
export type { ServiceClientOptions, ServiceRegion } from './exchange.ts';

export interface Answer<T> {
  readonly value: T;
  /** The service's own clock by the `Date` header, in microseconds (whole seconds); null if it is unreadable. */
  readonly serverTimeUs: number | null;
}

export interface PageQuery {
  readonly page: number;
  readonly pageSize: number;
  readonly ascending: boolean;
  readonly fromUs?: number;
  readonly toUs?: number;
}

interface BirdFilter {
  readonly status?: string;
  readonly triggerType?: string;
}

interface FlightFilter {
  readonly minStartUs?: number;
  readonly maxStartUs?: number;
  readonly status?: string;
}

export interface ServiceClient {
  searchNests(): Promise<Answer<readonly Parsed<Nest>[]>>;
  getNest(nestId: string): Promise<Answer<Parsed<Nest>>>;
  searchBirds(nestId: string, filter?: BirdFilter): Promise<Answer<readonly Parsed<Bird>[]>>;
  getBird(nestId: string, birdId: string): Promise<Answer<Parsed<Bird>>>;
  searchUsers(): Promise<Answer<readonly Parsed<User>[]>>;
  getUser(userId: string): Promise<Answer<Parsed<User>>>;
  searchFlights(
    nestId: string,
    birdId: string,
    filter?: FlightFilter,
  ): Promise<Answer<readonly Parsed<Flight>[]>>;
  getFlight(nestId: string, birdId: string, flightId: string): Promise<Answer<Parsed<Flight>>>;
  getNotifications(query: PageQuery): Promise<Answer<Page<NotificationEntry>>>;
  getBirdLogs(nestId: string, birdId: string, query: PageQuery): Promise<Answer<Page<BirdLogEntry>>>;
  /** `isOnce`: without retries, for a caller that can do without it rather than wait. */
  getFlightLogs(
    nestId: string,
    birdId: string,
    flightId: string,
    query: PageQuery,
    isOnce?: boolean,
  ): Promise<Answer<Page<FlightLogEntry>>>;
  /**
   * Calls any operation by its id, and returns the raw answer. Operations that write are sent once. `json` is null if
   * the answer to a write is not JSON.
   */
  call(
    operationId: string,
    parameters: Readonly<Record<string, string>>,
    body?: string,
  ): Promise<{ readonly status: number; readonly body: string; readonly json: unknown }>;
  /** Resolves when the pace would admit a request now, and also when `signal` aborts or the client closes. */
  ready(signal?: AbortSignal): Promise<void>;
  /** Lets the next request probe a region that is down or refuses the token, without waiting for the next probe. */
  probeNow(): void;
  /** The region's health by the latest requests. */
  health(): RegionHealth;
  onHealthChange(listener: (health: RegionHealth) => void): void;
  /** The requests a second that are allowed now. */
  rate(): number;
  /** The rate that the region is known to accept, for `rememberRate` after a restart. */
  bearableRate(): number;
  /** Starts from a rate that an earlier process learned `ageMs` ago. To be called before the first request. */
  rememberRate(perSecond: number, ageMs: number): void;
  /** How long nothing is sent because the service asked for a pause; 0 if it did not. */
  pausedMs(): number;
  /** Whether there is room for optional requests. */
  slack(): boolean;
  /** Rejects waiting calls with `cancelled`. Resolves when those in flight have ended. */
  close(): Promise<void>;
}

export function createServiceClient(options: ServiceClientOptions): ServiceClient {
  const { region, report } = options;
  const exchange = new Exchange(options);
  const { pace } = exchange;

  function ask<T>(
    id: OperationId,
    parameters: Readonly<Record<string, string>>,
    read: (response: HttpResponse, where: string, cut: Cut) => Promise<T | undefined>,
    isOnce = false,
  ): Promise<Answer<T>> {
    const readOf = async (response: HttpResponse, where: string) => {
      const reached = new Set<LimitName>();
      const value = await read(response, where, (limit) => reached.add(limit));
      // Reported once for each answer, however many of its texts were cut.
      for (const limit of reached) report({ what: 'limit_reached', region: region.name, limit });
      if (value !== undefined) return { value, serverTimeUs: serverTimeUs(response) };
      throw new NestwatchError('unexpected_shape', `${where}: the answer is JSON of another shape`, {
        facts: { status: response.status },
      });
    };
    return exchange.send(operationOf(id), parameters, undefined, readOf, isOnce);
  }

  /** Asks for one resource. */
  function askOne<T>(
    id: OperationId,
    parameters: Readonly<Record<string, string>>,
    read: (item: unknown, cut: Cut) => Parsed<T>,
  ): Promise<Answer<Parsed<T>>> {
    return ask(id, parameters, async (response, where, cut) => {
      const value = await itemsOf(response, where, AS_IT_IS);
      return isRecord(value) ? read(value, cut) : undefined;
    });
  }

  /** Asks for a list that is not paged. */
  function askList<T>(
    id: OperationId,
    parameters: Readonly<Record<string, string>>,
    isWhole: boolean,
    read: (item: unknown, cut: Cut) => Parsed<T>,
  ): Promise<Answer<readonly Parsed<T>[]>> {
    return ask(id, parameters, async (response, where, cut) => {
      const items = await itemsOf(response, where, { isWhole, read: (item) => read(item, cut) });
      return Array.isArray(items) ? (items as readonly Parsed<T>[]) : undefined;
    });
  }

  function askPage<T>(
    id: OperationId,
    parameters: Readonly<Record<string, string>>,
    read: (item: unknown, cut: Cut) => Parsed<T>,
    isOnce = false,
  ): Promise<Answer<Page<T>>> {
    const readPage = async (response: HttpResponse, where: string, cut: Cut) =>
      pageIn<T>(await itemsOf(response, where, { read: (item) => read(item, cut) }));
    return ask(id, parameters, readPage, isOnce);
  }

  return {
    searchNests: () => askList('searchNests', {}, true, (item, cut) => readNest(item, { cut })),
    getNest: (nestId) => askOne('getNest', { nestId }, (item, cut) => readNest(item, { cut })),
    searchBirds(nestId, filter = {}) {
      const parameters = { nestId, ...given({ TriggerType: filter.triggerType, Status: filter.status }) };
      return askList('searchBirds', parameters, true, (item, cut) => readBird(item, { nestId, cut }));
    },
    getBird: (nestId, birdId) =>
      askOne('getBird', { nestId, birdId }, (item, cut) => readBird(item, { nestId, cut })),
    searchUsers: () => askList('searchUsers', {}, true, (item, cut) => readUser(item, { cut })),
    getUser: (userId) => askOne('getUser', { userId }, (item, cut) => readUser(item, { cut })),
    searchFlights(nestId, birdId, filter = {}) {
      const parameters = given({
        MinStartDate: instantText(filter.minStartUs),
        MaxStartDate: instantText(filter.maxStartUs),
        Status: filter.status,
      });
      return askList('searchFlights', { nestId, birdId, ...parameters }, false, (item, cut) =>
        readFlight(item, { nestId, birdId, cut }),
      );
    },
    getFlight: (nestId, birdId, flightId) =>
      askOne('getFlight', { nestId, birdId, flightId }, (item, cut) =>
        readFlight(item, { nestId, birdId, cut }),
      ),
    getNotifications: (query) =>
      askPage('getNotifications', pageParameters(query), (item, cut) => readNotification(item, { cut })),
    getBirdLogs: (nestId, birdId, query) =>
      askPage('getBirdLogs', { nestId, birdId, ...pageParameters(query) }, (item, cut) =>
        readBirdLogEntry(item, { nestId, birdId, cut }),
      ),
    getFlightLogs(nestId, birdId, flightId, query, isOnce) {
      const parameters = { nestId, birdId, flightId, ...pageParameters(query) };
      const read = (item: unknown, cut: Cut) => readFlightLogEntry(item, { nestId, flightId, cut });
      return askPage('getFlightLogs', parameters, read, isOnce);
    },

    async call(operationId, parameters, body) {
      const operation = operationOf(operationId);
      checkBody(operation, body);
      return exchange.send(operation, parameters, body, (response, where) => ({
        status: response.status,
        body: response.body,
        // By now a write has happened, whatever its answer looks like.
        json: operation.writes ? jsonIfAny(response, where) : jsonOf(response, where),
      }));
    },

    ready: (signal) => pace.ready(signal),
    probeNow: () => pace.probeNow(),
    health: () => pace.health(),
    onHealthChange: (listener) => pace.onHealthChange(listener),
    rate: () => pace.rate(),
    bearableRate: () => pace.bearableRate(),
    rememberRate: (perSecond, ageMs) => pace.rememberRate(perSecond, ageMs),
    pausedMs: () => pace.pausedMs(),
    slack: () => pace.slack(),
    close: () => exchange.close(),
  };
}

/** For an answer that is one resource: it has no list to read, but may be as large. */
const AS_IT_IS = { isWhole: true, read: (item: unknown) => item } as const;

function given(values: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

/** With six digits, so that rounding moves no bound. */
function instantText(us: number | undefined): string | undefined {
  return us === undefined ? undefined : formatInstant(us);
}

function pageParameters(query: PageQuery): Record<string, string> {
  return given({
    page: String(query.page),
    pageSize: String(query.pageSize),
    ascending: String(query.ascending),
    from: instantText(query.fromUs),
    to: instantText(query.toUs),
  });
}

function checkBody(operation: Operation, body: string | undefined): void {
  if (!operation.hasBody) {
    if (body === undefined) return;
    throw new NestwatchError('usage', `${operation.id} takes no body`);
  }
  try {
    JSON.parse(body ?? '');
  } catch (cause) {
    const example = '{"userId": "…"}';
    throw new NestwatchError('usage', `${operation.id} needs a body of JSON, as ${example}`, { cause });
  }
}

function jsonIfAny(response: HttpResponse, where: string): unknown {
  try {
    return jsonOf(response, where);
  } catch {
    return null;
  }
}
