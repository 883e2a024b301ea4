/**
 * Implements all 14 operations of the service: turns a request into its answer. Checks run in the service's order:
 * token, path, parameters, and only then whether what the path names exists.
 */
import type { HttpResponse } from '../../http/transport.ts';
import { BIRD_STATUSES, FLIGHT_STATUSES, TRIGGER_TYPES } from '../../service/resources.ts';
import { parseInstant } from '../../time/instant.ts';
import type { Behaviours } from '../world/behaviours.ts';
import { flightLogOf } from '../world/flight-log.ts';
import {
  type BirdRecord,
  createdAtOf,
  type EntryRecord,
  endOf,
  type FlightLogRecord,
  type FlightRecord,
  type NestRecord,
  startedAtOf,
} from '../world/simulated-record.ts';
import { firstFrom } from '../world/state.ts';
import type { World } from '../world/world.ts';
import { type Route, route, routed } from './routing.ts';
import { emptyAnswer, invalidAnswer, jsonAnswer, problemAnswer } from './simulated-answer.ts';
import {
  birdJson,
  birdLogJson,
  flightJson,
  flightLogJson,
  nestJson,
  notificationJson,
  userJson,
} from './wire.ts';

export interface ApiRequest {
  readonly method: string;
  /** Includes the prefix and the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body?: string | undefined;
}

interface Call {
  readonly world: World;
  readonly request: ApiRequest;
  /** The path alone, as ProblemDetails name it. */
  readonly instance: string;
  readonly ids: Readonly<Record<string, string>>;
  readonly query: Query;
}

type Answer = (call: Call) => HttpResponse;

const NEST = 'nests/{nestId}';
const BIRD = `${NEST}/birds/{birdId}`;
const FLIGHT = `${BIRD}/flights/{flightId}`;

const ROUTES: readonly Route<Answer>[] = [
  route('searchNests', 'GET', 'nests', searchNests),
  route(
    'getNest',
    'GET',
    NEST,
    withNest(({ world }, nest) => jsonAnswer(nestJson(world.behaviours, nest, world.users))),
  ),
  route('addUserToNest', 'PUT', `${NEST}/users`, addUserToNest),
  route('removeUserFromNest', 'DELETE', `${NEST}/users/{userId}`, withNest(removeUserFromNest)),
  route('searchBirds', 'GET', `${NEST}/birds`, searchBirds),
  route(
    'getBird',
    'GET',
    BIRD,
    withBird(({ world }, bird) => jsonAnswer(birdJson(world.behaviours, bird))),
  ),
  route('flyBird', 'POST', BIRD, withBird(flyBird)),
  route('getBirdLogs', 'GET', `${BIRD}/logs`, getBirdLogs),
  route('searchFlights', 'GET', `${BIRD}/flights`, searchFlights),
  route('getFlight', 'GET', FLIGHT, withFlight(getFlight)),
  route('getFlightLogs', 'GET', `${FLIGHT}/logs`, getFlightLogs),
  route('getNotifications', 'GET', 'notifications', getNotifications),
  route('searchUsers', 'GET', 'users', ({ world }) =>
    jsonAnswer([...world.users.values()].map((user) => userJson(world.behaviours, user))),
  ),
  route('getUser', 'GET', 'users/{userId}', getUser),
];

export const OPERATIONS: readonly string[] = ROUTES.map(({ id }) => id);

/** Answers one request at the present instant, counts it, and carries it out. Adds no faults: see `createExchange`. */
export function handle(world: World, request: ApiRequest): HttpResponse {
  world.settle();
  const [path = '', ...rest] = request.path.split('?');
  const { route, ids, allowed } = routed(ROUTES, request.method, path);
  const answer = (): HttpResponse => {
    if (world.isTokenRefused() || headerOf(request, 'authorization') !== world.token) {
      return problemAnswer(401, path, 'The token is missing or not valid.');
    }
    if (!route && allowed.length > 0) {
      const problem = problemAnswer(405, path, `The method ${request.method} is not allowed here.`);
      return { ...problem, headers: { ...problem.headers, allow: allowed.join(', ') } };
    }
    if (!route) return problemAnswer(404, path, 'There is nothing under this path.');
    return route.answer({ world, request, instance: path, ids, query: openQuery(rest.join('?')) });
  };
  const response = answer();
  world.count(route?.id ?? 'unknown', response.status);
  return dated(world, response);
}

/** The operation a request addresses, or `unknown`. */
export function operationOf(request: ApiRequest): string {
  return routed(ROUTES, request.method, request.path.split('?')[0]!).route?.id ?? 'unknown';
}

/** Adds the service's own clock to an answer as a `Date` header, in whole seconds. */
export function dated(world: World, response: HttpResponse): HttpResponse {
  const date = new Date(Math.floor(world.nowUs() / 1000)).toUTCString();
  return { ...response, headers: { date, ...response.headers } };
}

function searchNests({ world }: Call): HttpResponse {
  return jsonAnswer([...world.nests.values()].map((nest) => nestJson(world.behaviours, nest, world.users)));
}

function addUserToNest(call: Call): HttpResponse {
  const { world, request, instance } = call;
  const type = (headerOf(request, 'content-type') ?? '').split(';')[0]!.trim().toLowerCase();
  if (!/^(application\/json|text\/json|application\/[^/]+\+json)$/.test(type)) {
    return problemAnswer(415, instance, 'The body must be JSON.');
  }
  const { userId, errors } = readAddUser(request.body ?? '');
  if (userId === undefined) return invalidAnswer(instance, errors);
  return withNest((_, nest) => {
    if (!world.users.has(userId)) return problemAnswer(404, instance, `There is no User ${userId}.`);
    world.addMember(nest.id, userId);
    return emptyAnswer(200);
  })(call);
}

/** `userId` is required; every other field is refused. */
function readAddUser(body: string): { userId?: string; errors: Record<string, string[]> } {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return { errors: { $: ['The body is not valid JSON.'] } };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { errors: { $: ['The body must be an object.'] } };
  }
  const { userId, ...others } = value as Readonly<Record<string, unknown>>;
  const errors: Record<string, string[]> = Object.fromEntries(
    Object.keys(others).map((name) => [name, [`The field ${name} is not accepted.`]]),
  );
  if (typeof userId !== 'string' || userId === '') errors.userId = ['The userId field is required.'];
  return Object.keys(errors).length > 0 ? { errors } : { userId: String(userId), errors };
}

function removeUserFromNest({ world, instance, ids }: Call, nest: NestRecord): HttpResponse {
  const userId = ids.userId!;
  if (world.removeMember(nest.id, userId)) return emptyAnswer(200);
  return problemAnswer(404, instance, `The User ${userId} is no member of the Nest.`);
}

function searchBirds(call: Call): HttpResponse {
  const triggerType = call.query.word('TriggerType', TRIGGER_TYPES);
  const status = call.query.word('Status', BIRD_STATUSES);
  return checked(
    call,
    withNest(({ world }, nest) => {
      const birds = [...nest.birds.values()].filter(
        (bird) => (!triggerType || bird.triggerType === triggerType) && (!status || bird.status === status),
      );
      return jsonAnswer(birds.map((bird) => birdJson(world.behaviours, bird)));
    }),
  );
}

function flyBird({ world, instance }: Call, bird: BirdRecord): HttpResponse {
  if (bird.triggerType !== 'manual') {
    return problemAnswer(
      400,
      instance,
      `Only Birds with a manual trigger can be flown; this one is ${bird.triggerType}.`,
    );
  }
  if (bird.status !== 'active') {
    return problemAnswer(400, instance, `Only active Birds can be flown; this one is ${bird.status}.`);
  }
  world.startFlight(bird.id, { fliesForMs: bird.flightDurationMs, endsAs: 'succeeded' });
  return emptyAnswer(200);
}

function getBirdLogs(call: Call): HttpResponse {
  const { behaviours } = call.world;
  const page = readPageRequest(call.query, behaviours, behaviours.defaultLogPageSize);
  return checked(
    call,
    withBird(({ world }, bird) =>
      paged(world, bird.logs, page, ENTRY, (entry) => birdLogJson(behaviours, entry)),
    ),
  );
}

function searchFlights(call: Call): HttpResponse {
  const { world, query } = call;
  const minUs = query.instantUs('MinStartDate');
  const maxUs = query.instantUs('MaxStartDate');
  const status = query.word('Status', FLIGHT_STATUSES);
  return checked(
    call,
    withBird((_, bird) => {
      // "On or after" and "on or before": the specification makes these bounds inclusive.
      const { comparedPrecision, flightsCap, flightsOrder } = world.behaviours;
      const { startUs, endUs } = rangeOf({ comparedPrecision, bounds: 'inclusive' }, minUs, maxUs);
      const isMatch = (flight: FlightRecord) =>
        (!status || (endOf(flight)?.status ?? 'active') === status) && !isExpired(world, flight);
      // A Bird has few active Flights but may have a long history: active ones are found without scanning it.
      const flights =
        status === 'active'
          ? [...bird.activeFlights]
              .filter(({ startedAtUs }) => startedAtUs >= startUs && startedAtUs < endUs)
              .sort((a, b) => a.startedAtUs - b.startedAtUs)
          : bird.flights
              .slice(
                firstFrom(bird.flights, startedAtOf, startUs),
                firstFrom(bird.flights, startedAtOf, endUs),
              )
              .filter(isMatch);
      if (flightsOrder === 'newest_first') flights.reverse();
      if (flightsOrder === 'by_id') flights.sort((a, b) => (a.id < b.id ? -1 : 1));
      const shown = flightsCap > 0 ? flights.slice(0, flightsCap) : flights;
      const nowUs = world.nowUs();
      return jsonAnswer(shown.map((flight) => flightJson(world.behaviours, flight, bird.nestId, nowUs)));
    }),
  );
}

function getFlight({ world }: Call, flight: FlightRecord, bird: BirdRecord): HttpResponse {
  return jsonAnswer(flightJson(world.behaviours, flight, bird.nestId, world.nowUs()));
}

function getFlightLogs(call: Call): HttpResponse {
  const { behaviours } = call.world;
  const page = readPageRequest(call.query, behaviours, behaviours.defaultLogPageSize);
  return checked(
    call,
    withFlight(({ world }, flight, bird) =>
      paged(world, flightLogOf(flight, world.nowUs()), page, FLIGHT_LOG, (entry) =>
        flightLogJson(behaviours, entry, bird.nestId),
      ),
    ),
  );
}

function getNotifications(call: Call): HttpResponse {
  const { behaviours } = call.world;
  const page = readPageRequest(call.query, behaviours, behaviours.defaultNotificationPageSize);
  return checked(call, ({ world }) =>
    paged(world, world.notifications, page, ENTRY, (entry) =>
      notificationJson(behaviours, entry, world.nowUs()),
    ),
  );
}

function getUser({ world, instance, ids }: Call): HttpResponse {
  const user = world.users.get(ids.userId!);
  if (!user) return problemAnswer(404, instance, `There is no User ${ids.userId}.`);
  return jsonAnswer(userJson(world.behaviours, user));
}

const ENTRY = { createdAtUs: createdAtOf, visibleAtUs: (entry: EntryRecord) => entry.visibleAtUs };
const ofFlightLog = (entry: FlightLogRecord) => entry.createdAtUs;
const FLIGHT_LOG = { createdAtUs: ofFlightLog, visibleAtUs: ofFlightLog };

function paged<T>(
  world: World,
  list: readonly T[],
  request: PageRequest,
  of: { readonly createdAtUs: (item: T) => number; readonly visibleAtUs: (item: T) => number },
  toJson: (item: T) => unknown,
): HttpResponse {
  const { items, ...envelope } = pageOf(list, request, world.behaviours, world.nowUs(), of);
  const isNull = items.length === 0 && world.behaviours.nullFields > 0;
  return jsonAnswer({ items: isNull ? null : items.map(toJson), ...envelope });
}

/** Refuses unreadable parameters before anything is looked up. */
function checked(call: Call, answer: Answer): HttpResponse {
  const errors = call.query.errors();
  return Object.keys(errors).length > 0 ? invalidAnswer(call.instance, errors) : answer(call);
}

function withNest(answer: (call: Call, nest: NestRecord) => HttpResponse): Answer {
  return (call) => {
    const nest = call.world.nests.get(call.ids.nestId!);
    if (!nest) return problemAnswer(404, call.instance, `There is no Nest ${call.ids.nestId}.`);
    return answer(call, nest);
  };
}

function withBird(answer: (call: Call, bird: BirdRecord) => HttpResponse): Answer {
  return withNest((call, nest) => {
    const bird = nest.birds.get(call.ids.birdId!);
    if (!bird) return problemAnswer(404, call.instance, `There is no Bird ${call.ids.birdId} in the Nest.`);
    return answer(call, bird);
  });
}

function withFlight(answer: (call: Call, flight: FlightRecord, bird: BirdRecord) => HttpResponse): Answer {
  return withBird((call, bird) => {
    const flight = bird.flightsById.get(call.ids.flightId!.toLowerCase());
    if (!flight || isExpired(call.world, flight)) {
      return problemAnswer(404, call.instance, `There is no Flight ${call.ids.flightId} of the Bird.`);
    }
    return answer(call, flight, bird);
  });
}

function isExpired({ behaviours, nowUs }: World, flight: FlightRecord): boolean {
  const end = endOf(flight);
  const { retentionMs } = behaviours;
  return retentionMs > 0 && end !== undefined && end.endedAtUs < nowUs() - retentionMs * 1000;
}

function headerOf({ headers }: ApiRequest, name: string): string | undefined {
  const found = Object.hasOwn(headers, name) ? headers[name] : undefined;
  if (found !== undefined) return found;
  return Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
}

// Cuts one page from a list ordered by instant: applies time filters, order and count, by binary search.

interface PageRequest {
  readonly page: number;
  readonly pageSize: number;
  readonly ascending: boolean;
  readonly fromUs: number | undefined;
  readonly toUs: number | undefined;
}

interface PageOf<T> {
  readonly items: readonly T[];
  readonly totalCount: number;
  readonly page: number;
  readonly pageSize: number;
}

/** Reads the five parameters of a paged operation. Mistakes in them are added to the query's errors. */
function readPageRequest(query: Query, behaviours: Behaviours, defaultSize: number): PageRequest {
  const asked = query.whole('pageSize', 1) ?? defaultSize;
  const { maxPageSize, overMaxPageSize } = behaviours;
  if (asked > maxPageSize && overMaxPageSize === 'refuse') {
    query.refuse('pageSize', `The field pageSize must be between 1 and ${maxPageSize}.`);
  }
  return {
    page: query.whole('page', 0) ?? 0,
    pageSize: Math.min(asked, maxPageSize),
    ascending: query.flag('ascending') ?? false,
    fromUs: query.instantUs('from'),
    toUs: query.instantUs('to'),
  };
}

const UNIT_US = { microsecond: 1, millisecond: 1000, second: 1_000_000 };

/**
 * The half-open range that two bounds select. Bounds and instants are cut to the precision before they are compared.
 */
function rangeOf(
  { comparedPrecision, bounds }: Pick<Behaviours, 'comparedPrecision' | 'bounds'>,
  fromUs: number | undefined,
  toUs: number | undefined,
): { readonly startUs: number; readonly endUs: number } {
  const unitUs = UNIT_US[comparedPrecision];
  const cut = (us: number) => Math.floor(us / unitUs) * unitUs;
  const isInclusive = bounds === 'inclusive';
  return {
    startUs: fromUs === undefined ? Number.NEGATIVE_INFINITY : cut(fromUs) + (isInclusive ? 0 : unitUs),
    endUs: toUs === undefined ? Number.POSITIVE_INFINITY : cut(toUs) + (isInclusive ? unitUs : 0),
  };
}

function pageOf<T>(
  list: readonly T[],
  request: PageRequest,
  behaviours: Behaviours,
  nowUs: number,
  of: { readonly createdAtUs: (item: T) => number; readonly visibleAtUs: (item: T) => number },
): PageOf<T> {
  const { startUs, endUs } = rangeOf(behaviours, request.fromUs, request.toUs);
  const keptUs =
    behaviours.retentionMs > 0 ? nowUs - behaviours.retentionMs * 1000 : Number.NEGATIVE_INFINITY;
  const start = firstFrom(list, of.createdAtUs, Math.max(startUs, keptUs));
  const end = Math.max(start, firstFrom(list, of.createdAtUs, endUs));
  const { page, pageSize, ascending } = request;
  const skipped = page * pageSize;
  const items = ascending
    ? list.slice(start + skipped, Math.max(start, Math.min(end, start + skipped + pageSize)))
    : list.slice(Math.max(start, end - skipped - pageSize), Math.max(start, end - skipped)).reverse();
  return { items, totalCount: countOf(), page, pageSize };

  function countOf(): number {
    const { totalCountCap, totalCountStaleMs } = behaviours;
    let count = end - start;
    if (totalCountStaleMs > 0) {
      // A stale count is the only case that has to look at every entry in the range.
      const asOfUs = nowUs - totalCountStaleMs * 1000;
      for (let at = start; at < end; at += 1) if (of.visibleAtUs(list[at]!) > asOfUs) count -= 1;
    }
    return totalCountCap > 0 ? Math.min(count, totalCountCap) : count;
  }
}

// Reads query parameters as the service does: names in any case, unknown ones ignored, empty values as absent. What
// cannot be read is collected per parameter for the `errors` of a 400.

type Query = ReturnType<typeof openQuery>;

const INT32_MAX = 2 ** 31 - 1;

const FLAGS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
]);

export function openQuery(text: string) {
  const values = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(text)) {
    const key = name.toLowerCase();
    if (value !== '' && !values.has(key)) values.set(key, value);
  }
  const errors = new Map<string, string[]>();
  const refuse = (name: string, why: string) => {
    errors.set(name, [...(errors.get(name) ?? []), why]);
  };
  const read = <T>(name: string, parse: (value: string) => T | undefined): T | undefined => {
    const value = values.get(name.toLowerCase());
    if (value === undefined) return undefined;
    const result = parse(value.trim());
    if (result === undefined) refuse(name, `The value '${value}' is not valid for ${name}.`);
    return result;
  };
  return {
    /** This and the other readers return undefined when the parameter is absent or invalid. */
    whole: (name: string, least: number) =>
      read(name, (value) => {
        const number = /^[+-]?\d{1,10}$/.test(value) ? Number(value) : Number.NaN;
        return number >= least && number <= INT32_MAX ? number : undefined;
      }),
    flag: (name: string) => read(name, (value) => FLAGS.get(value.toLowerCase())),
    instantUs: (name: string) => read(name, (value) => parseInstant(value)?.us),
    word: <T extends string>(name: string, words: readonly T[]) =>
      read(name, (value) => words.find((word) => word === value.toLowerCase())),
    /** Messages by parameter; empty when every parameter read so far is valid. */
    errors: (): Readonly<Record<string, readonly string[]>> => Object.fromEntries(errors),
    refuse,
  };
}
