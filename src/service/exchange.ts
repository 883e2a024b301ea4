/**
 * Exchanges with one region: every request waits for the pace and carries the raw token. Reads are repeated where
 * that may help; what writes is sent once, whatever happens.
 */
import pRetry from 'p-retry';
import { codeOf, NestwatchError } from '../errors.ts';
import type { HttpRequest, HttpResponse, Transport } from '../http/transport.ts';
import type { Report } from '../report.ts';
import type { Secret } from '../secret.ts';
import { type Clock, type Random, sleep } from '../time/clock.ts';
import { checkStatus } from './answer.ts';
import { type Operation, targetOf } from './operations.ts';
import { createPace, type Outcome, type Pace } from './pace.ts';

/** What a region's client needs of its configuration. */
export interface ServiceRegion {
  readonly name: string;
  /** Without a trailing slash. */
  readonly baseUrl: string;
  readonly token: Secret;
  readonly requestsPerSecond: number;
  readonly concurrency: number;
}

export interface ServiceClientOptions {
  readonly region: ServiceRegion;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
  /** Requests a second to begin with, where they are known: a client that replaces another goes on at its rate. */
  readonly startPerSecond?: number;
}

/** Reads an answer with a 2xx status; `where` names the operation and the region, for messages. */
export type Read<T> = (response: HttpResponse, where: string) => T;

export interface Exchange {
  readonly pace: Pace;
  /** Rejects with one `NestwatchError`; also with what `read` throws. */
  send<T>(
    operation: Operation,
    parameters: Readonly<Record<string, string>>,
    body: string | undefined,
    read: Read<T>,
  ): Promise<T>;
  /** Ends waiting calls with `cancelled`, and resolves when those under way have ended. */
  close(): Promise<void>;
}

/** Tries of a read after the first; each waits a random part of a time that doubles (full jitter). */
const RETRIES = 3;
const FIRST_BACKOFF_MS = 500;

/** How often a refused token is compared with its source. */
const TOKEN_CHECK_MS = 30_000;

export function createExchange(options: ServiceClientOptions): Exchange {
  const { region, transport, clock, random, report } = options;
  const closing = new AbortController();
  const pace = createPace({
    requestsPerSecond: region.requestsPerSecond,
    concurrency: region.concurrency,
    startPerSecond: options.startPerSecond,
    clock,
    random,
    onRate: (requestsPerSecond) => report({ what: 'rate_limit', region: region.name, requestsPerSecond }),
  });
  let refusedToken: string | undefined;
  let cancelTokenCheck = () => {};
  pace.onHealthChange(checkTokenLater);

  /** While the token is refused, a new one is tried soon, not only at the next probe. */
  function checkTokenLater(): void {
    cancelTokenCheck();
    if (pace.health().health !== 'unauthorized' || closing.signal.aborted) return;
    cancelTokenCheck = clock.setTimer(TOKEN_CHECK_MS, () => {
      if (isTokenNew(refusedToken)) pace.probeNow();
      checkTokenLater();
    });
  }

  function isTokenNew(than: string | undefined): boolean {
    try {
      return region.token.reveal() !== than;
    } catch {
      return false;
    }
  }

  /** One try: waits for its turn, sends, and tells the pace and the report what was met. */
  async function attempt<T>(
    operation: Operation,
    target: string,
    body: string | undefined,
    read: Read<T>,
  ): Promise<T> {
    const permit = await pace.admit();
    const where = `${operation.id} of ${region.name}`;
    const startedMs = clock.monotonicMs();
    const happening = { what: 'request', region: region.name, operation: operation.id } as const;
    let token: string | undefined;
    try {
      token = region.token.reveal();
      const response = await transport.send(requestOf(operation, target, body, token));
      checkStatus(response, where, clock.nowUs());
      const value = read(response, where);
      permit.settle({ met: 'answer' });
      report({ ...happening, durationMs: clock.monotonicMs() - startedMs });
      return value;
    } catch (error) {
      const failure = codeOf(error);
      let outcome = outcomeOf(error);
      if (outcome.met === 'unauthorized') {
        // A token that was replaced while the old one was under way has not been refused.
        if (isTokenNew(token)) outcome = { met: 'nothing' };
        else refusedToken = token;
      }
      // What is refused of one Nest says nothing about the token: it may have no rights there. To a probe it is an answer.
      const isOfNest = operation.path.includes('{nestId}');
      if (outcome.met === 'forbidden' && isOfNest && pace.health().health === 'up')
        outcome = { met: 'nothing' };
      permit.settle(outcome);
      report({ ...happening, durationMs: clock.monotonicMs() - startedMs, failure });
      throw error;
    }
  }

  /** The header is the raw token, without a scheme (specification, Authentication). */
  function requestOf(
    operation: Operation,
    target: string,
    body: string | undefined,
    token: string,
  ): HttpRequest {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
    if (token === '' || /[\u0000-\u001f\u007f]/.test(token)) {
      const fault = token === '' ? 'is empty' : 'holds a control character, such as a line break';
      throw new NestwatchError('secret_unreadable', `the token of ${region.name} ${fault}`);
    }
    const headers = { accept: 'application/json', 'user-agent': 'nestwatch', authorization: token };
    const common = { method: operation.method, url: region.baseUrl + target };
    if (body === undefined) return { ...common, headers };
    return { ...common, headers: { ...headers, 'content-type': 'application/json' }, body };
  }

  async function send<T>(
    operation: Operation,
    parameters: Readonly<Record<string, string>>,
    body: string | undefined,
    read: Read<T>,
  ): Promise<T> {
    const target = targetOf(operation, parameters);
    const once = () => attempt(operation, target, body, read);
    if (operation.writes) return once();
    return pRetry(once, {
      retries: RETRIES,
      // All waiting is ours, on our clock.
      minTimeout: 0,
      async shouldRetry({ error, attemptNumber }) {
        // With the region up, `unauthorized` means that the token was replaced meanwhile.
        const mayHelp = error instanceof NestwatchError && (error.retryable || error.code === 'unauthorized');
        if (!mayHelp || pace.health().health !== 'up' || !pace.takeRetry()) return false;
        await sleep(clock, random() * FIRST_BACKOFF_MS * 2 ** (attemptNumber - 1), closing.signal);
        // A region that went down meanwhile would answer with its closed breaker: the first failure says more.
        return pace.health().health === 'up';
      },
    });
  }

  return {
    pace,
    send,
    close() {
      closing.abort();
      cancelTokenCheck();
      return pace.close();
    },
  };
}

/** What a failed try says about the region, rather than about the one thing that was asked. */
function outcomeOf(error: unknown): Outcome {
  if (!(error instanceof NestwatchError)) return { met: 'nothing' };
  const { message: reason, facts } = error;
  switch (error.code) {
    case 'rate_limited':
      return { met: 'refusal', retryAfterMs: facts.retryAfterMs };
    case 'unavailable':
      // 503 asks for a pause as 429 does, and is also how an outage looks.
      return facts.status === 503
        ? { met: 'refusal', retryAfterMs: facts.retryAfterMs, reason }
        : { met: 'failure', reason };
    case 'unreachable':
    case 'timeout':
    case 'not_json':
    case 'redirected':
      return { met: 'failure', reason };
    case 'unauthorized':
    case 'secret_unreadable':
      return { met: 'unauthorized', reason };
    case 'forbidden':
      return { met: 'forbidden', reason };
    case 'not_found':
    case 'bad_request':
    case 'unexpected_shape':
    case 'too_large':
      return { met: 'answer' };
    default:
      return { met: 'nothing' };
  }
}
