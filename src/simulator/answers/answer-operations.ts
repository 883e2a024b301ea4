/**
 * Implements all 14 operations of the service: turns a request into its answer. Checks run in the service's order:
 * token, path, parameters, and only then whether what the path names exists.
 */

import type { HttpResponse } from '../../http/transport.ts';
import { BIRD_STATUSES, FLIGHT_STATUSES, TRIGGER_TYPES } from '../../service/resources.ts';
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
import { openQuery, type PageRequest, pageOf, type Query, rangeOf, readPageRequest } from './entry-page.ts';
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
