import * as z from 'zod';
import type { Check } from '../../document/check.ts';
import { duration, twins, words } from '../../document/value-shape.ts';
import { formatHostPort, isEscaped, isLoopback, NOT_ESCAPED } from '../../http/web-address.ts';
import type { Secret } from '../../secret.ts';
import type { PostgresHost, PostgresPlace } from '../../store/postgres/postgres-client.ts';
import type { PollConfig } from './poll-section.ts';

export const storeShape = z.strictObject({
  url: words
    .prefault('sqlite:data/nestwatch.db')
    .describe(
      '`sqlite:FILE`, relative to the working directory, `sqlite::memory:` for trials, or `postgres://user@host/database`. Of several hosts (`postgres://user@db1,db2:5433/database`) the first that answers and is no standby is used. After a `?` it may have `sslmode` (`disable`, `require`, `verify-ca`, `verify-full`; default: `verify-full`, on the same machine `disable`), `sslrootcert` (a file of certificates to trust, which `require` then checks as well), `sslcert` and `sslkey` (files with a certificate of the user and its key) and `host` (the directory of a socket). A connection pooler must use session mode.',
    ),
  ...twins('password', 'Password of the user on PostgreSQL.'),
  schema: z
    .string()
    .regex(/^[a-z_][a-z0-9_]{0,62}$/, {
      error: 'must be lower-case letters, digits and underscores, no digit first, at most 63',
    })
    .optional()
    .describe('Schema in the database, created if it is missing. Default: `nestwatch`. PostgreSQL only.'),
  statement_timeout: duration(1_000, 3_600_000)
    .optional()
    .describe('Time limit of one statement. Default: 30s. With replicas, it is 8s at most. PostgreSQL only.'),
  retention: duration(60_000)
    .prefault('30d')
    .describe(
      'How long events and deliveries are kept. The numbers of Flights that ended, by Nest and half hour, are kept for 90 days at least. A longer value does not bring back deleted ones, and nothing is sent again because of it.',
    ),
});

export interface StoreConfig {
  readonly url: string;
  /** The parsed `url`, if it is a PostgreSQL URL. */
  readonly postgres?: PostgresPlace;
  readonly retentionMs: number;
}

const DEFAULT_SCHEMA = 'nestwatch';
const DEFAULT_STATEMENT_TIMEOUT_MS = 30_000;

/** Keys that have no meaning for a store in a file. */
const OF_POSTGRES = ['password', 'password_file', 'schema', 'statement_timeout'];

export function readStore(check: Check, poll: PollConfig | undefined): StoreConfig | undefined {
  const url = check.raw(['store', 'url']);
  const address = typeof url === 'string' && isPostgres(url) ? readPostgresAddress(url) : undefined;
  if (typeof address === 'string') check.problem(['store', 'url'], address);
  else if (!address && typeof url === 'string' && url !== '' && !/^sqlite:./.test(url)) {
    check.problem(['store', 'url'], 'must be sqlite:FILE, sqlite::memory: or postgres://user@host/database');
  }
  const store = check.read(storeShape.prefault({}), ['store']);
  if (!address) refusePostgresKeys(check);
  const password = address ? check.secret(['store'], 'password', {}) : null;
  if (!store) return undefined;
  // An event that is deleted while a sweep still reads it would count as new, and people would be notified again.
  const neededMs = poll ? Math.max(poll.initialLookbackMs, poll.overlapMs) : 0;
  if (store.retention < neededMs) {
    check.problem(
      ['store', 'retention'],
      'must not be shorter than `poll.initial_lookback` and `poll.overlap`',
    );
  }
  const { schema, statement_timeout: statementTimeoutMs } = store;
  const isServer = typeof address === 'object';
  return {
    url: store.url,
    ...(isServer && { postgres: storeAt(address, { password, schema, statementTimeoutMs }) }),
    retentionMs: store.retention,
  };
}

/** A store on PostgreSQL, with defaults for what is not given. */
export function storeAt(
  address: PostgresAddress,
  given: {
    readonly password: Secret | null;
    readonly schema: string | undefined;
    readonly statementTimeoutMs: number | undefined;
  },
): PostgresPlace {
  const { password, schema = DEFAULT_SCHEMA, statementTimeoutMs = DEFAULT_STATEMENT_TIMEOUT_MS } = given;
  return { ...address, password, schema, statementTimeoutMs };
}

function refusePostgresKeys(check: Check): void {
  for (const key of OF_POSTGRES) {
    if (check.raw(['store', key]) === undefined) continue;
    check.problem(['store', key], 'is of no use here: `url` is no address of PostgreSQL');
  }
}

// Reads `store.url` of a store on PostgreSQL, as libpq does.

const SSL_MODES: readonly PostgresPlace['sslmode'][] = ['disable', 'require', 'verify-ca', 'verify-full'];

/** What the address says of the place. */
type PostgresAddress = Omit<PostgresPlace, 'password' | 'schema' | 'statementTimeoutMs'>;

/** The query parameters that an address may have. */
const PARAMETERS: readonly string[] = ['host', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey'];
const DEFAULT_PORT = 5432;

export function isPostgres(url: string): boolean {
  return /^postgres(?:ql)?:/.test(url);
}

/** The address, or what is wrong with it, as the end of a sentence that begins with its key. */
export function readPostgresAddress(text: string): PostgresAddress | string {
  const [, before = '', list = '', after = ''] = /^(\w+:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s.exec(text) ?? [];
  const all = list.includes(',') ? list.split(',').map((one) => before + one + after) : [text];
  const read = all.map(readOne);
  const mistake = read.find((one) => typeof one === 'string');
  if (mistake !== undefined) return mistake;
  const addresses = read as readonly OneAddress[];
  const { host, port, isEncrypted, ...same } = addresses[0]!;
  const hosts = addresses.map((one) => ({ host: one.host, port: one.port }));
  const named = hosts.map((one) => (one.host.startsWith('/') ? `:${one.port}` : formatHostPort(one)));
  return {
    ...same,
    hosts,
    // Connections that leave the machine are encrypted, and the server's identity is verified: one such host is enough.
    sslmode: same.sslmode ?? (addresses.some((one) => one.isEncrypted) ? 'verify-full' : 'disable'),
    shown: `postgres://${same.user}@${named.join(',')}/${same.database}`,
  };
}

/** An address with one of its hosts. */
interface OneAddress extends PostgresHost, Omit<PostgresAddress, 'hosts' | 'shown' | 'sslmode'> {
  /** Undefined if none is given. */
  readonly sslmode: PostgresAddress['sslmode'] | undefined;
  /** Whether connections are encrypted if no `sslmode` is given. */
  readonly isEncrypted: boolean;
}

function readOne(text: string): OneAddress | string {
  const url = URL.canParse(withHost(text)) ? new URL(withHost(text)) : undefined;
  if (!url) return 'must look like postgres://user@host/database';
  if (url.password !== '') return 'must not hold the password: give `password_file` beside it';
  const parts = [url.username, url.pathname.slice(1), url.hostname];
  if (!parts.every(isEscaped)) return NOT_ESCAPED;
  const [user, database, host] = parts.map(decodeURIComponent) as [string, string, string];
  if (user === '' || database === '' || database.includes('/')) {
    return 'must name a user and a database: postgres://user@host/database';
  }
  const unknown = [...url.searchParams.keys()].find((key) => !PARAMETERS.includes(key));
  if (unknown !== undefined) return `has a parameter that is not known; known here: ${PARAMETERS.join(', ')}`;
  const wanted = url.searchParams.get('sslmode');
  const sslmode = SSL_MODES.find((mode) => mode === wanted);
  if (wanted !== null && !sslmode)
    return `has an sslmode that is not known; known here: ${SSL_MODES.join(', ')}`;
  const named = url.searchParams.get('host') ?? host.replace(/^\[(.*)\]$/, '$1');
  if (named === NO_HOST)
    return 'must name a host, or the directory of a socket: postgres://user@/database?host=/run/postgresql';
  const [sslrootcert, sslcert, sslkey] = ['sslrootcert', 'sslcert', 'sslkey'].map(
    (name) => url.searchParams.get(name) ?? undefined,
  );
  if ((sslcert === undefined) !== (sslkey === undefined))
    return 'must name both sslcert and sslkey, or neither';
  const port = url.port === '' ? DEFAULT_PORT : Number(url.port);
  const isEncrypted = !isLocal(named) || sslcert !== undefined;
  return { host: named, port, user, database, sslmode, sslrootcert, sslcert, sslkey, isEncrypted };
}

const NO_HOST = 'none.invalid';

/** A socket's address has no host, and most parsers refuse such a URL. */
function withHost(text: string): string {
  return text.replace(/^(postgres(?:ql)?:\/\/[^/?#]*@)(?=[:/])/, `$1${NO_HOST}`);
}

/** Whether connections to this host never leave the machine. */
export function isLocal(host: string): boolean {
  return host.startsWith('/') || isLoopback(host);
}
