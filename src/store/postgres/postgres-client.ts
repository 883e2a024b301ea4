/** How the driver is told where a store on PostgreSQL is, and what goes there and comes back. */
import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import pg from 'pg';
import type { Secret } from '../../secret.ts';
import type { Clock } from '../../time/clock.ts';
import { VERSION } from '../../version.ts';
import { decodeText, encodeText } from './exact-text.ts';
import type { Parameter, Value } from './statements.ts';

const CONNECT_TIMEOUT_MS = 10_000;
/** What an answer may take beyond `statement_timeout`, which the server keeps. */
const ANSWER_GRACE_MS = 5_000;
/** What a goodbye may take. */
const GOODBYE_MS = 1_000;

/** Where the store is. */
export interface PostgresPlace {
  /** A name, an address, or a directory in which the server has its socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  readonly password: Secret | null;
  readonly sslmode: 'disable' | 'require' | 'verify-ca' | 'verify-full';
  /** A file with the certificates that are believed; those of the system where it is undefined. */
  readonly sslrootcert: string | undefined;
  /** Lower-case letters, digits and underscores. */
  readonly schema: string;
  readonly statementTimeoutMs: number;
  /** The address as it is shown to people. */
  readonly shown: string;
}

/** Closes the socket at once: nobody answers there. */
export function destroy(client: pg.Client | undefined): void {
  client?.end().catch(() => {});
  const { stream } =
    (client as unknown as { connection?: { stream?: { destroy(): void } } } | undefined)?.connection ?? {};
  stream?.destroy();
}

/** Ends it in good order; at once where nobody answers, as where the server's machine is lost. */
export async function endClient(client: pg.Client | undefined, clock: Clock): Promise<void> {
  const giveUp = clock.setTimer(GOODBYE_MS, () => destroy(client));
  await client?.end().catch(() => {});
  giveUp();
}

/**
 * `statementMs` is what the server lets a statement take there. One that is not answered for longer is given up: a machine
 * or a network that is lost says nothing.
 */
export function clientConfig(place: PostgresPlace, statementMs = place.statementTimeoutMs): pg.ClientConfig {
  return {
    host: place.host,
    port: place.port,
    user: place.user,
    database: place.database,
    ...(place.password && { password: place.password.reveal() }),
    ssl: tlsOf(place),
    application_name: `nestwatch ${VERSION}`,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: statementMs + ANSWER_GRACE_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: { getTypeParser: parserOf as pg.CustomTypesConfig['getTypeParser'] },
  };
}

/**
 * As libpq's `sslmode`: `require` encrypts and believes any certificate, unless it is said which are to be believed;
 * `verify-full` checks the name as well.
 */
function tlsOf({ sslmode, sslrootcert }: PostgresPlace): false | ConnectionOptions {
  if (sslmode === 'disable') return false;
  const ca = sslrootcert === undefined ? {} : { ca: readFileSync(sslrootcert, 'utf8') };
  if (sslmode === 'require' && sslrootcert === undefined) return { rejectUnauthorized: false };
  return sslmode === 'verify-full' ? ca : { ...ca, checkServerIdentity: () => undefined };
}

const INT8 = 20;
const TEXT = 25;

function parserOf(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (oid === INT8) return readInteger;
  if (oid === TEXT) return decodeText;
  return pg.types.getTypeParser(oid, format as 'text') as (value: string) => unknown;
}

/** Instants, numbers of rows and counts: all of them fit a number of JavaScript. */
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
