/** Translates PostgreSQL's error codes (https://www.postgresql.org/docs/current/errcodes-appendix.html) into ours. */
import { type ErrorCode, NestwatchError } from '../../errors.ts';
import { secretsIn, withoutSecrets } from '../../secret.ts';

/** The server's error as the driver reports it. */
interface ServerError extends Error {
  readonly code: string;
  /** The routine in the server's source. */
  readonly routine?: string;
}

const FAILURES: ReadonlyMap<string, { readonly code: ErrorCode; readonly is: string }> = new Map([
  ['53100', { code: 'disk_full', is: 'has no space left to grow' }],
  ['XX001', { code: 'store_corrupt', is: 'is damaged' }],
  ['XX002', { code: 'store_corrupt', is: 'has a damaged index' }],
  ['25006', { code: 'store_down', is: 'is read-only: the server is a standby' }],
  // This process was silent for too long within a transaction, or the transaction took too long as a whole.
  ['25P03', { code: 'store_down', is: 'ended a transaction in which this process was stopped' }],
  ['25P04', { code: 'store_down', is: 'ended a transaction that took too long' }],
  ['57014', { code: 'store_down', is: 'took longer than store.statement_timeout' }],
  ['55P03', { code: 'store_down', is: 'is locked by another program' }],
  ['28P01', { code: 'store_down', is: 'refuses the password' }],
  ['28000', { code: 'store_down', is: 'refuses the user' }],
  ['3D000', { code: 'store_down', is: 'does not exist: create the database' }],
  ['42501', { code: 'store_down', is: 'may not be used by this user' }],
]);

/** Classes of codes: connections, resources of the server, an operator's intervention, the server's own system. */
const DOWN = /^(?:08|53|57|58)/;

/** Conflicts between two transactions; a retry may succeed. */
const AGAIN = new Set(['40001', '40P01']);

/**
 * A failure of the server or the connection as a `NestwatchError`. Violated constraints and malformed statements are
 * bugs.
 */
export function postgresFailure(error: unknown, store: string): unknown {
  if (error instanceof NestwatchError || isBug(error)) return error;
  if (!isServerError(error)) return down(store, 'cannot be reached', error);
  const failure = FAILURES.get(error.code);
  if (failure) return new NestwatchError(failure.code, `The store ${store} ${failure.is}.`, { cause: error });
  if (DOWN.test(error.code)) return down(store, 'is not available', error);
  if (AGAIN.has(error.code)) return down(store, 'is written to by others', error);
  return error;
}

/** Whether the same transaction may succeed if it is retried. */
export function isWorthAnotherTry(failure: unknown): boolean {
  const cause = failure instanceof NestwatchError ? failure.cause : failure;
  return isServerError(cause) && (AGAIN.has(cause.code) || isOfOldPlan(cause));
}

/** A refused user or password, and a missing database or right. */
const REFUSED = /^(?:28|3D|42)/;
/** Certificates that do not match, as Node's TLS reports them. */
const UNTRUSTED = /^(?:CERT_|DEPTH_ZERO|ERR_SSL|ERR_TLS|SELF_SIGNED|UNABLE_TO)/;

/** Whether a server that cannot be used may be usable soon, without anybody changing the configuration. */
export function isMendedByTime(failure: unknown): boolean {
  if (!(failure instanceof NestwatchError) || failure.code !== 'store_down') return false;
  const { cause } = failure;
  if (isServerError(cause)) return !REFUSED.test(cause.code);
  const { code = '', syscall } = (cause ?? {}) as NodeJS.ErrnoException;
  // A file of certificates that cannot be read.
  return !UNTRUSTED.test(code) && syscall !== 'open';
}

/**
 * Whether the server ended only one statement, because it took too long or waited too long for a lock; the connection
 * is fine.
 */
export function endsStatementAlone(failure: unknown): boolean {
  const cause = failure instanceof NestwatchError ? failure.cause : failure;
  return isServerError(cause) && (cause.code === '57014' || cause.code === '55P03');
}

/**
 * Whether the statement was planned before its tables changed. The message is in the server's language, hence
 * `routine`.
 */
export function isOfOldPlan(error: unknown): boolean {
  return isServerError(error) && error.code === '0A000' && error.routine === 'RevalidateCachedQuery';
}

/** Whether the connection is over: the server says so, or the error did not come from the server. */
export function endsConnection(error: unknown): boolean {
  if (isBug(error)) return false;
  return !isServerError(error) || /^(?:08|57P|25P0[34])/.test(error.code);
}

export function standby(store: string): NestwatchError {
  return new NestwatchError('store_down', `The server of ${store} is a standby, which takes no writes.`);
}

/** Why a host could not be used. */
export interface HostFailure {
  readonly at: string;
  readonly error: unknown;
}

/** The failure if no host could be used. */
export function failureOfAll(store: string, failures: readonly HostFailure[]): unknown {
  const [first, ...others] = failures;
  if (others.length === 0) return first?.error;
  const all = failures.map(({ at, error }) => `${at}: ${messageOf(error)}`).join('; ');
  // One that may be back soon is reason enough to wait.
  const awaited = failures.find(({ error }) => isMendedByTime(postgresFailure(error, store)));
  return new NestwatchError('store_down', `The store ${store} cannot be reached: ${all}.`, {
    cause: (awaited ?? first)?.error,
  });
}

function down(store: string, is: string, cause: unknown): NestwatchError {
  const said = messageOf(cause);
  const why = said === '' ? '' : `: ${said}`;
  return new NestwatchError('store_down', `The store ${store} ${is}${why}.`, { cause });
}

/** If a name has several addresses, the error is a list with one for each, and has no message of its own. */
function messageOf(cause: unknown): string {
  if (cause instanceof AggregateError && cause.message === '') return messageOf(cause.errors[0]);
  return cause instanceof Error ? cause.message : '';
}

/** The failure of an attempt to connect, in which the server may repeat the password. */
export function connectFailure(error: unknown, place: { readonly shown: string }): unknown {
  if (error instanceof Error) error.message = withoutSecrets(error.message, secretsIn(place));
  return postgresFailure(error, place.shown);
}

export function isServerError(error: unknown): error is ServerError {
  return error instanceof Error && 'severity' in error && 'code' in error && typeof error.code === 'string';
}

/** The driver reports connection failures as plain errors. */
function isBug(error: unknown): boolean {
  return error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError;
}
