/** Lists all operations of the service in one table: what can be asked, where, and with which parameters. */
import { NestwatchError } from '../errors.ts';
import { parseInstant } from '../time/instant.ts';
import { BIRD_STATUSES, FLIGHT_STATUSES, TRIGGER_TYPES } from './resources.ts';

interface Parameter {
  /** As the service spells it. Callers may write it in any case. */
  readonly name: string;
  readonly place: 'path' | 'query';
  readonly type: 'id' | 'word' | 'integer' | 'boolean' | 'instant';
  /** The only values of a `word`. */
  readonly values?: readonly string[];
  /** The least value of an `integer`. */
  readonly least?: number;
}

export interface Operation {
  readonly id: OperationId;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below `base_url`, with `{name}` for each path parameter. */
  readonly path: string;
  /** Path parameters are required; query parameters are optional. */
  readonly parameters: readonly Parameter[];
  readonly hasBody: boolean;
  /** Whether it changes something: such a request is sent once and never repeated. */
  readonly writes: boolean;
  /** Whether it returns one page of many. */
  readonly isPaged: boolean;
  /** The limit on the bytes of its answer. */
  readonly bytes: 'answer_bytes' | 'page_bytes';
  readonly summary: string;
}

const word = (name: string, values: readonly string[]): Parameter => ({
  name,
  place: 'query',
  type: 'word',
  values,
});
const instant = (name: string): Parameter => ({ name, place: 'query', type: 'instant' });

const PAGING: readonly Parameter[] = [
  { name: 'page', place: 'query', type: 'integer', least: 0 },
  { name: 'pageSize', place: 'query', type: 'integer', least: 1 },
  { name: 'ascending', place: 'query', type: 'boolean' },
  instant('from'),
  instant('to'),
];

const NEST = '/nests/{nestId}';
const BIRD = `${NEST}/birds/{birdId}`;
const FLIGHT = `${BIRD}/flights/{flightId}`;

const read = { method: 'GET', query: [], hasBody: false, writes: false, bytes: 'page_bytes' } as const;
/** Nests, Birds and Users are returned as a whole. */
const list = { ...read, bytes: 'answer_bytes' } as const;
const paged = { ...read, query: PAGING } as const;
const write = { query: [], hasBody: false, writes: true, bytes: 'page_bytes' } as const;

const TABLE = {
  searchNests: { ...list, path: '/nests', summary: 'list all Nests' },
  getNest: { ...read, path: NEST, summary: 'one Nest' },
  addUserToNest: {
    ...write,
    method: 'PUT',
    path: `${NEST}/users`,
    hasBody: true,
    summary: 'add a User to a Nest',
  },
  removeUserFromNest: {
    ...write,
    method: 'DELETE',
    path: `${NEST}/users/{userId}`,
    summary: 'remove a User from a Nest',
  },
  searchBirds: {
    ...list,
    path: `${NEST}/birds`,
    query: [word('TriggerType', TRIGGER_TYPES), word('Status', BIRD_STATUSES)],
    summary: 'list Birds of a Nest, filtered',
  },
  getBird: { ...read, path: BIRD, summary: 'one Bird' },
  flyBird: { ...write, method: 'POST', path: BIRD, summary: 'start a Flight of a manual Bird' },
  getBirdLogs: { ...paged, path: `${BIRD}/logs`, summary: 'paginated Bird logs' },
  searchFlights: {
    ...read,
    path: `${BIRD}/flights`,
    query: [instant('MinStartDate'), instant('MaxStartDate'), word('Status', FLIGHT_STATUSES)],
    summary: 'list Flights of a Bird, filtered',
  },
  getFlight: { ...read, path: FLIGHT, summary: 'one Flight' },
  getFlightLogs: { ...paged, path: `${FLIGHT}/logs`, summary: 'paginated Flight logs' },
  getNotifications: { ...paged, path: '/notifications', summary: 'paginated admin notifications' },
  searchUsers: { ...list, path: '/users', summary: 'list all Users' },
  getUser: { ...read, path: '/users/{userId}', summary: 'one User' },
} as const;

export type OperationId = keyof typeof TABLE;

/** All 14 operations, in the order of the specification. */
export const OPERATIONS: readonly Operation[] = Object.entries(TABLE).map(([id, { query, ...row }]) => ({
  ...row,
  id: id as OperationId,
  parameters: [
    ...[...row.path.matchAll(/\{(\w+)\}/g)].map(
      (match): Parameter => ({ name: match[1]!, place: 'path', type: 'id' }),
    ),
    ...query,
  ],
  isPaged: query === PAGING,
}));

const BY_ID = new Map<string, Operation>(OPERATIONS.map((operation) => [operation.id, operation]));

/** The operation with this id. Throws `usage`, which names all operations, if there is none. */
export function operationOf(id: string): Operation {
  const operation = BY_ID.get(id);
  if (operation) return operation;
  throw new NestwatchError(
    'usage',
    `there is no operation ${JSON.stringify(id)}: it is one of ${[...BY_ID.keys()].join(', ')}`,
  );
}

/**
 * The path and query of a request, below `base_url`. Throws a `usage` error that names every mistake at once: what is
 * missing, unknown or of the wrong type, and which parameters exist.
 */
export function targetOf(operation: Operation, given: Readonly<Record<string, string>>): string {
  const mistakes: string[] = [];
  const known = new Map(operation.parameters.map((parameter) => [parameter.name.toLowerCase(), parameter]));
  const values = new Map<Parameter, string>();
  for (const [name, value] of Object.entries(given)) {
    const parameter = known.get(name.toLowerCase());
    if (!parameter) {
      mistakes.push(`there is no parameter ${JSON.stringify(name)}`);
      continue;
    }
    if (values.has(parameter)) mistakes.push(`${parameter.name} is given twice`);
    const mistake = mistakeIn(parameter, value);
    if (mistake) mistakes.push(`${parameter.name} ${mistake}, not ${JSON.stringify(value)}`);
    values.set(parameter, value);
  }
  let path = operation.path;
  const query: string[] = [];
  for (const parameter of operation.parameters) {
    const value = values.get(parameter);
    if (parameter.place === 'path') {
      if (value === undefined) mistakes.push(`${parameter.name} is missing`);
      else path = path.replace(`{${parameter.name}}`, encodeURIComponent(value.toWellFormed()));
    } else if (value !== undefined) {
      query.push(`${parameter.name}=${encodeURIComponent(value.toWellFormed())}`);
    }
  }
  if (mistakes.length > 0) {
    throw new NestwatchError('usage', `${operation.id}: ${mistakes.join('; ')} (${describe(operation)})`);
  }
  return query.length > 0 ? `${path}?${query.join('&')}` : path;
}

function mistakeIn({ type, values, least }: Parameter, value: string): string | undefined {
  switch (type) {
    case 'id':
      // A dot segment would be resolved, and address another resource.
      return value === '' || value === '.' || value === '..' ? 'must be an id' : undefined;
    case 'word':
      return values?.includes(value) ? undefined : `must be one of ${values?.join(', ')}`;
    case 'integer':
      return /^\d{1,10}$/.test(value) && Number(value) >= least! && Number(value) < 2 ** 31
        ? undefined
        : `must be a whole number from ${least} to ${2 ** 31 - 1}`;
    case 'boolean':
      return value === 'true' || value === 'false' ? undefined : 'must be true or false';
    case 'instant':
      return parseInstant(value) ? undefined : 'must be an instant like 2026-07-02T13:59:34.590833Z';
  }
}

function describe(operation: Operation): string {
  if (operation.parameters.length === 0) return 'it takes no parameters';
  const names = (place: Parameter['place']) =>
    operation.parameters.filter((parameter) => parameter.place === place).map((parameter) => parameter.name);
  const parts = [];
  if (names('path').length > 0) parts.push(`required: ${names('path').join(', ')}`);
  if (names('query').length > 0) parts.push(`optional: ${names('query').join(', ')}`);
  return parts.join('; ');
}
