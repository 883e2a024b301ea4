import type { LimitName } from './limits.ts';

/**
 * Lists every failure that nestwatch foresees, in one closed table. The code is the log's `code`, the metrics'
 * `reason` and a row of `observe/README.md`. Anything that is not a `NestwatchError` is treated as a bug.
 */
export const ERRORS = {
  // The watched service and receivers, over HTTP.
  unreachable: {
    retryable: true,
    exit: 4,
    help: 'No connection: check the address, DNS, firewall and TLS certificate.',
  },
  timeout: {
    retryable: true,
    exit: 4,
    help: 'No answer in time: raise `timeout`, or check the other side.',
  },
  rate_limited: {
    retryable: true,
    exit: 4,
    help: 'The service asked to slow down (429): lower `requests_per_second` if it goes on.',
  },
  unavailable: { retryable: true, exit: 4, help: 'The other side failed (5xx): the request is retried.' },
  not_json: {
    retryable: true,
    exit: 4,
    help: 'The answer was HTML or truncated JSON: a gateway answers instead of the service, or `base_url` is wrong.',
  },
  unexpected_shape: {
    retryable: false,
    exit: 4,
    help: 'The answer is JSON with an unexpected structure: check `base_url`; if it is right, report this with the operation.',
  },
  too_large: { retryable: false, exit: 4, help: 'The answer was larger than the limit: lower `page_size`.' },
  redirected: {
    retryable: false,
    exit: 4,
    help: 'The address answers with a redirect, which is never followed with a token: configure the final address.',
  },
  unauthorized: {
    retryable: false,
    exit: 4,
    help: 'The token was refused (401): create a new one and replace it.',
  },
  forbidden: {
    retryable: false,
    exit: 4,
    help: 'The token may not do this (403): use a token of an organisation admin.',
  },
  not_found: { retryable: false, exit: 4, help: 'There is no such Nest, Bird, Flight or User (404).' },
  bad_request: {
    retryable: false,
    exit: 4,
    help: 'The service refused the request (4xx): its problem detail says why.',
  },
  circuit_open: {
    retryable: false,
    exit: 4,
    help: 'The region failed repeatedly. It is only probed until it answers again.',
  },
  cancelled: {
    retryable: false,
    exit: 1,
    help: 'It was stopped before it was done: start it again.',
  },
  // Deliveries.
  rejected: {
    retryable: false,
    exit: 4,
    help: 'The receiver refused the message: see the delivery, fix the cause, then run `deliveries retry`.',
  },
  ambiguous: {
    retryable: true,
    exit: 4,
    help: 'It is unknown whether the receiver accepted the message: it is sent again with the same id.',
  },
  expired: {
    retryable: false,
    exit: 4,
    help: 'The receiver did not accept the message for 72 h: see the delivery, then run `deliveries retry`.',
  },
  // Usage and configuration.
  usage: { retryable: false, exit: 2, help: 'See `nestwatch --help`.' },
  config_invalid: {
    retryable: false,
    exit: 2,
    help: 'Correct the mistakes; `nestwatch check-config` lists them all.',
  },
  secret_unreadable: {
    retryable: false,
    exit: 2,
    help: 'The secret file cannot be read: check its path and permissions.',
  },
  // The machine.
  port_in_use: {
    retryable: false,
    exit: 1,
    help: 'Another process uses this port: stop it, or change `web.listen` (for `simulate`: `--listen`, `--control`).',
  },
  store_locked: {
    retryable: false,
    exit: 1,
    help: 'Another nestwatch uses this store: stop it, or give this one its own `store.url`.',
  },
  store_newer: {
    retryable: false,
    exit: 1,
    help: 'A newer nestwatch wrote this store: run that version, or restore a backup.',
  },
  store_other: {
    retryable: false,
    exit: 1,
    help: 'Run the build of nestwatch that made this store, or move the store away, so that a new one begins.',
  },
  store_unfinished: {
    retryable: false,
    exit: 1,
    help: 'A copy into this store was interrupted: run the same `store copy` again, or drop the schema.',
  },
  lease_lost: {
    retryable: false,
    exit: 1,
    help: "Another replica has taken over this one's work: it continues automatically with what it still has.",
  },
  store_corrupt: {
    retryable: false,
    exit: 1,
    help: 'The store fails its integrity check: restore a backup.',
  },
  store_down: {
    retryable: true,
    exit: 1,
    help: 'The database server of the store does not answer or refuses access, or another program has locked its file, as the message says. A daemon that runs continues automatically once that is over; start a command that ended again.',
  },
  disk_full: {
    retryable: true,
    exit: 1,
    help: 'No space left for the store: free some. A daemon that runs then continues automatically.',
  },
  store_failed: {
    retryable: false,
    exit: 1,
    help: 'The store or its backup cannot be read or written: check the path, the disk and permissions.',
  },
} as const satisfies Record<string, { retryable: boolean; exit: 1 | 2 | 4; help: string }>;

export type ErrorCode = keyof typeof ERRORS;

/** What a failed call carries besides its code. */
export interface ErrorFacts {
  /** The HTTP status, if there was an answer. */
  readonly status?: number;
  /** For an incomplete answer: its headers about time (`server-time.ts`), if any. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The service's complete ProblemDetails. */
  readonly problem?: Readonly<Record<string, unknown>>;
  /** The beginning of a non-JSON body from the service; never logged. */
  readonly text?: string;
  /** How long the other side asked us to wait. */
  readonly retryAfterMs?: number;
  /** The service fails or refuses only this request, and answers everything else (`failing-alone.ts`). */
  readonly isAlone?: boolean;
  /** With `too_large`: the limit that was exceeded; by default the one on an answer's bytes. */
  readonly limit?: LimitName;
}

export class NestwatchError extends Error {
  override readonly name = 'NestwatchError';
  readonly code: ErrorCode;
  readonly facts: ErrorFacts;

  constructor(code: ErrorCode, message: string, options: { cause?: unknown; facts?: ErrorFacts } = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : {});
    this.code = code;
    this.facts = options.facts ?? {};
  }

  get retryable(): boolean {
    return ERRORS[this.code].retryable;
  }
}

/** The running daemon did not answer a command as it should. The exit code is 1, whatever the error's code. */
export class DaemonError extends NestwatchError {}

/** The code of a failure, or `bug` for anything that the table does not foresee. */
export function codeOf(error: unknown): ErrorCode | 'bug' {
  return error instanceof NestwatchError ? error.code : 'bug';
}

/** Whether the store itself failed. Then nothing that it was asked to do can be assumed to be done. */
export function isStoreFailure(error: unknown): boolean {
  return error instanceof NestwatchError && (error.code === 'disk_full' || error.code.startsWith('store_'));
}
