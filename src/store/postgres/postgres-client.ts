/** Configures the driver for a store on PostgreSQL, and converts the values it sends and receives. */
import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import pg from 'pg';
import { formatHostPort } from '../../http/web-address.ts';
import type { Secret } from '../../secret.ts';
import type { Clock } from '../../time/clock.ts';
import { VERSION } from '../../version.ts';
import type { Parameter, Value } from '../sql/sql.ts';
import { decodeText, encodeText } from '../sql/stored-text.ts';
import { failureOfAll, type HostFailure, standby } from './postgres-failure.ts';

/** For all hosts together. */
const CONNECT_TIMEOUT_MS = 10_000;
/** How much longer than `statement_timeout`, which the server enforces, an answer may take. */
const ANSWER_GRACE_MS = 5_000;
/** How long closing a connection may take. */
const GOODBYE_MS = 1_000;

export interface PostgresHost {
  /** A name, an address, or the directory of the server's socket. */
  readonly host: string;
  readonly port: number;
}

/** Where the store is. */
export interface PostgresPlace {
  /** Of several, the first that answers and is no standby is used. */
  readonly hosts: readonly PostgresHost[];
  readonly user: string;
  readonly database: string;
  readonly password: Secret | null;
  readonly sslmode: 'disable' | 'require' | 'verify-ca' | 'verify-full';
  /** A file with trusted certificates; undefined means those of the system. */
  readonly sslrootcert: string | undefined;
  /** Files with a certificate of the user and its key; undefined for none. */
  readonly sslcert: string | undefined;
  readonly sslkey: string | undefined;
  /** Lower-case letters, digits and underscores. */
  readonly schema: string;
  readonly statementTimeoutMs: number;
  /** The address as shown to people. */
  readonly shown: string;
}

/** Closes the socket at once, for a server that does not answer. */
export function destroy(client: pg.Client | undefined): void {
  client?.end().catch(() => {});
  const { stream } =
    (client as unknown as { connection?: { stream?: { destroy(): void } } } | undefined)?.connection ?? {};
  stream?.destroy();
}

/** Closes the connection properly, or at once if nobody answers, for example because the server's machine is gone. */
export async function endClient(client: pg.Client | undefined, clock: Clock): Promise<void> {
  const giveUp = clock.setTimer(GOODBYE_MS, () => destroy(client));
  await client?.end().catch(() => {});
  giveUp();
}

/**
 * Connects to the first host that answers and is no standby. A lost connection is only known from `error` and `end`
 * of the client. `statementMs` is how long the server lets a statement take. A statement that takes even longer is
 * abandoned here, because a lost machine or network sends no error. Throws what a file of the place or the last host
 * fails with, for `connectFailure`.
 */
export async function connectTo(
  place: PostgresPlace,
  statementMs = place.statementTimeoutMs,
): Promise<pg.Client> {
  const failures: HostFailure[] = [];
  for (const host of place.hosts) {
    const client = new pg.Client(clientConfig(place, host, statementMs));
    client.on('error', () => {});
    try {
      await client.connect();
      // A single host is checked later, as any connection is that is to hold a store.
      if (place.hosts.length > 1 && (await isStandby(client))) throw standby(place.shown);
      return client;
    } catch (error) {
      destroy(client);
      failures.push({ at: formatHostPort(host), error });
    }
  }
  throw failureOfAll(place.shown, failures);
}

async function isStandby(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby');
  return rows[0]!.standby;
}

/** A second connection to the server of `client`. */
export function clientBeside(client: pg.Client, place: PostgresPlace): pg.Client {
  const beside = new pg.Client(clientConfig(place, client, place.statementTimeoutMs));
  beside.on('error', () => {});
  return beside;
}

function clientConfig(
  place: PostgresPlace,
  { host, port }: PostgresHost,
  statementMs: number,
): pg.ClientConfig {
  return {
    host,
    port,
    user: place.user,
    database: place.database,
    ...(place.password && { password: place.password.reveal() }),
    ssl: tlsOf(place),
    application_name: `nestwatch ${VERSION}`,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS / place.hosts.length,
    query_timeout: statementMs + ANSWER_GRACE_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: { getTypeParser: parserOf as pg.CustomTypesConfig['getTypeParser'] },
  };
}

/**
 * As libpq's `sslmode`: `require` encrypts, and accepts any certificate unless trusted ones are configured;
 * `verify-full` also checks the name.
 */
function tlsOf({ sslmode, sslrootcert, sslcert, sslkey }: PostgresPlace): false | ConnectionOptions {
  if (sslmode === 'disable') return false;
  const options = {
    ...(sslrootcert !== undefined && { ca: readFileSync(sslrootcert, 'utf8') }),
    ...(sslcert !== undefined && { cert: readFileSync(sslcert, 'utf8') }),
    ...(sslkey !== undefined && { key: readFileSync(sslkey, 'utf8') }),
  };
  if (sslmode === 'require' && sslrootcert === undefined) return { ...options, rejectUnauthorized: false };
  return sslmode === 'verify-full' ? options : { ...options, checkServerIdentity: () => undefined };
}

const INT8 = 20;
const TEXT = 25;

function parserOf(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (oid === INT8) return readInteger;
  if (oid === TEXT) return decodeText;
  return pg.types.getTypeParser(oid, format as 'text') as (value: string) => unknown;
}

/** Instants, row numbers and counts all fit a JavaScript number. */
function readInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value))
    throw new RangeError(`The store holds the number ${text}, which is too large.`);
  return value;
}

/** A parameter as the driver takes it. */
export function written(parameter: Parameter): unknown {
  return Array.isArray(parameter)
    ? (parameter as readonly Value[]).map(writtenValue)
    : writtenValue(parameter as Value);
}

function writtenValue(value: Value): unknown {
  if (typeof value === 'string') return encodeText(value);
  return value instanceof Uint8Array ? Buffer.from(value) : value;
}
