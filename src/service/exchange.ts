/**
 * Sends requests to one region. Every request waits for the pace and carries the raw token. Reads are retried where
 * that may help. A write is sent once, whatever happens.
 */
import pRetry from 'p-retry';
import { codeOf, NestwatchError } from '../errors.ts';
import type { ProxySettings } from '../http/http-settings.ts';
import type { HttpRequest, HttpResponse, Transport } from '../http/transport.ts';
import { LIMITS } from '../limits.ts';
import type { Report } from '../report.ts';
import { removerOf, type Secret, secretsIn } from '../secret.ts';
import { type Clock, type Random, sleep } from '../time/clock.ts';
import { checkStatus } from './answer.ts';
import { FailingAlone, ForbiddenRequests, type Sent } from './failing-alone.ts';
import { type Operation, targetOf } from './operations.ts';
import { type Outcome, Pace } from './pace.ts';

/** What the client of a region needs of its configuration. */
export interface ServiceRegion {
  readonly name: string;
  /** Without a trailing slash. */
  readonly baseUrl: string;
  readonly token: Secret;
  readonly proxy?: ProxySettings;
  readonly requestsPerSecond: number;
  readonly concurrency: number;
}

export interface ServiceClientOptions {
  readonly region: ServiceRegion;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
  /** The initial requests a second, if known: a client that replaces another continues at its rate. */
  readonly startPerSecond?: number | undefined;
}

/** Reads an answer with a 2xx status; `where` names the operation and the region, for messages. */
type Read<T> = (response: HttpResponse, where: string) => T | Promise<T>;

/** Retries of a read. Each waits a random part of a time that doubles (full jitter). */
const RETRIES = 3;
const FIRST_BACKOFF_MS = 500;

/**
 * A call of an operation that is skipped for now is refused after this, so that a caller that asks again at once does
 * not loop without time passing.
 */
const SKIPPED_ANSWER_MS = 1;

/** When a request about a Nest that was answered 403 is sent again: a rate limit may allow it by then. */
const FORBIDDEN_PAUSE_MS = 2_000;

/** How often a refused token is compared with its source. */
const TOKEN_CHECK_MS = 30_000;

/** Shorter secrets, and those of digits only, might occur anywhere in an answer. */
const isUnmistakable = (secret: string) => secret.length >= 8 && !/^\d+$/.test(secret);

export class Exchange {
  readonly #region: ServiceRegion;
  readonly #transport: Transport;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #report: Report;
  readonly #closing = new AbortController();
  readonly pace: Pace;
  readonly #failing = new FailingAlone();
  readonly #forbidden = new ForbiddenRequests();
  #refusedToken: string | undefined;
  /** Removes the secrets of the last answer from texts. */
  #cleaned = { of: '', clean: (text: string) => text };
  #cancelTokenCheck = () => {};

  constructor(options: ServiceClientOptions) {
    this.#region = options.region;
    this.#transport = options.transport;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#report = options.report;
    this.pace = new Pace({
      requestsPerSecond: this.#region.requestsPerSecond,
      concurrency: this.#region.concurrency,
      startPerSecond: options.startPerSecond,
      clock: this.#clock,
      random: this.#random,
      onRate: (requestsPerSecond) =>
        this.#report({ what: 'rate_limit', region: this.#region.name, requestsPerSecond }),
    });
    this.pace.onHealthChange(() => this.#checkTokenLater());
  }

  /** Sends a request, with retries unless `isOnce`. Rejects with one `NestwatchError`, or with what `read` throws. */
  async send<T>(
    operation: Operation,
    parameters: Readonly<Record<string, string>>,
    body: string | undefined,
    read: Read<T>,
    isOnce = false,
  ): Promise<T> {
    const target = targetOf(operation, parameters);
    let sentMs = 0;
    const sends = (nowMs: number) => (sentMs = nowMs);
    /** When the request that was answered 403 was sent. */
    let forbiddenMs: number | undefined;
    const isForbidden = (error: unknown) => codeOf(error) === 'forbidden' && isOfNest(operation);
    const once = async () => {
      try {
        return await this.#attempt(operation, target, body, read, sends);
      } catch (error) {
        // Here, since nobody is asked whether to retry after the last attempt.
        if (isForbidden(error) && sentMs > (forbiddenMs ?? Infinity)) this.#forbidden.again(target);
        throw error;
      }
    };
    if (operation.writes) return once();
    const value = await pRetry(once, {
      retries: isOnce ? 0 : RETRIES,
      // We do all waiting ourselves, on our clock.
      minTimeout: 0,
      shouldRetry: async ({ error, attemptNumber }) => {
        // While the region is up, `unauthorized` means that the token was replaced meanwhile, or refused for the first
        // time. So it is read again and tried once more.
        if (!(error instanceof NestwatchError) || error.facts.isAlone || this.#skippedFor(operation, target))
          return false;
        const mayBeLimit = isForbidden(error) && this.#forbidden.mayBeLimit(target);
        const mayHelp = error.retryable || outcomeOf(error).met === 'unauthorized' || mayBeLimit;
        const isWorthIt = mayHelp && this.pace.health().health === 'up';
        if (!isWorthIt || !this.pace.takeRetry()) return false;
        if (mayBeLimit) forbiddenMs = sentMs;
        const backoffMs = this.#random() * FIRST_BACKOFF_MS * 2 ** (attemptNumber - 1);
        await sleep(this.#clock, mayBeLimit ? FORBIDDEN_PAUSE_MS : backoffMs, this.#closing.signal);
        // If the region has gone down meanwhile, a retry would only meet the open breaker: the first failure says more.
        return this.pace.health().health === 'up';
      },
    });
    const isLimitFound = this.#forbidden.answered(target, forbiddenMs !== undefined);
    if (isLimitFound) this.pace.wasLimited(forbiddenMs!);
    return value;
  }

  /**
   * Removes the token, and the proxy's password, from an answer: whoever repeats them must not bring them into the
   * store, mails and pages.
   */
  #withoutSecrets(response: HttpResponse, token: string): HttpResponse {
    const of = [token, ...secretsIn(this.#region.proxy)].join('\n');
    if (this.#cleaned.of !== of) this.#cleaned = { of, clean: removerOf(of.split('\n'), isUnmistakable) };
    const { clean } = this.#cleaned;
    const headers = Object.entries(response.headers).map(([name, value]) => [name, clean(value)] as const);
    return { ...response, headers: Object.fromEntries(headers), body: clean(response.body) };
  }

  /** Rejects waiting calls with `cancelled`. Resolves when those in flight have ended. */
  close(): Promise<void> {
    this.#closing.abort();
    this.#cancelTokenCheck();
    return this.pace.close();
  }

  /** While the token is refused, tries a new one soon, without waiting for the next probe. */
  #checkTokenLater(): void {
    this.#cancelTokenCheck();
    if (this.pace.health().health !== 'unauthorized' || this.#closing.signal.aborted) return;
    this.#cancelTokenCheck = this.#clock.setTimer(TOKEN_CHECK_MS, () => {
      if (this.#isTokenNew(this.#refusedToken)) this.pace.probeNow();
      this.#checkTokenLater();
    });
  }

  /** Whether the token's source has another token now. */
  #isTokenNew(than: string | undefined): boolean {
    try {
      return this.#region.token.reveal() !== than;
    } catch {
      return false;
    }
  }

  /** Tries once: waits for its turn, says when it `sends`, sends, and tells the pace and the report the outcome. */
  async #attempt<T>(
    operation: Operation,
    target: string,
    body: string | undefined,
    read: Read<T>,
    sends: (nowMs: number) => void,
  ): Promise<T> {
    await this.#refuseSkipped(operation, target);
    const permit = await this.pace.admit();
    const where = `${operation.id} of ${this.#region.name}`;
    const startedMs = this.#clock.monotonicMs();
    sends(startedMs);
    const sent: Sent = { operation: operation.id, target, sentAtMs: startedMs };
    const happening = { what: 'request', region: this.#region.name, operation: operation.id } as const;
    let token: string | undefined;
    let response: HttpResponse | undefined;
    try {
      token = this.#region.token.reveal();
      const request = this.#requestOf(operation, target, body, token);
      response = this.#withoutSecrets(await this.#transport.send(request).catch(asRefusal), token);
      checkStatus(response, where, this.#clock.nowUs());
      const value = await read(response, where);
      this.#failing.answered(sent, this.#clock.monotonicMs());
      permit.settle({ met: 'answer' });
      this.#report({ ...happening, durationMs: this.#clock.monotonicMs() - startedMs });
      return value;
    } catch (error) {
      const failure = codeOf(error);
      let outcome = outcomeOf(error);
      if (outcome.met === 'unauthorized') {
        // A token that was replaced while the request was in flight says nothing about the new one.
        if (this.#isTokenNew(token)) outcome = { met: 'nothing' };
        else this.#refusedToken = token;
      }
      // A 403 about one Nest says nothing about the token, which may have no rights there. For a probe it is an answer.
      const isUp = this.pace.health().health === 'up';
      if (outcome.met === 'forbidden' && isOfNest(operation) && isUp) {
        outcome = { met: this.#forbidden.isLimit(target) ? 'refusal' : 'nothing' };
      }
      const isAlone = this.#failsAlone(sent, outcome, error) && isUp;
      if (isAlone) outcome = { met: 'nothing' };
      permit.settle(outcome);
      if (failure === 'too_large') {
        const limit = (error instanceof NestwatchError && error.facts.limit) || operation.bytes;
        this.#report({ what: 'limit_reached', region: this.#region.name, limit });
      }
      this.#report({ ...happening, durationMs: this.#clock.monotonicMs() - startedMs, failure });
      throw isAlone ? alone(error) : error;
    } finally {
      response?.release?.();
    }
  }

  /** Whether the request failed or was refused while others are answered. */
  #failsAlone(sent: Sent, { met }: Outcome, error: unknown): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (met === 'answer') this.#failing.answered(sent, nowMs);
    if (!(error instanceof NestwatchError)) return false;
    const isFailing = met === 'failure' || met === 'refusal' || met === 'unauthorized';
    return isFailing && this.#failing.failed(sent, met, error, nowMs);
  }

  /**
   * The last error of an operation that is skipped for now; undefined if it may be called. A write is sent all the
   * same, since a person waits for it.
   */
  #skippedFor(operation: Operation, target: string): NestwatchError | undefined {
    if (operation.writes || this.pace.health().health !== 'up') return undefined;
    return this.#failing.skippedFor({ operation: operation.id, target }, this.#clock.monotonicMs());
  }

  async #refuseSkipped(operation: Operation, target: string): Promise<void> {
    const error = this.#skippedFor(operation, target);
    if (error === undefined) return;
    await sleep(this.#clock, SKIPPED_ANSWER_MS, this.#closing.signal);
    throw error;
  }

  /** Builds the request. The header is the raw token, without a scheme (specification, Authentication). */
  #requestOf(operation: Operation, target: string, body: string | undefined, token: string): HttpRequest {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
    if (token === '' || /[\u0000-\u001f\u007f]/.test(token)) {
      const fault = token === '' ? 'is empty' : 'holds a control character, such as a line break';
      throw new NestwatchError('secret_unreadable', `the token of ${this.#region.name} ${fault}`);
    }
    const headers = { accept: 'application/json', 'user-agent': 'nestwatch', authorization: token };
    const { method, bytes } = operation;
    const common = { method, url: this.#region.baseUrl + target, maxBodyBytes: LIMITS[bytes].most };
    if (body === undefined) return { ...common, headers };
    return { ...common, headers: { ...headers, 'content-type': 'application/json' }, body };
  }
}

function isOfNest({ path }: Operation): boolean {
  return path.includes('{nestId}');
}

/** The same error, marked as that of a request that fails alone. */
function alone(error: unknown): unknown {
  if (!(error instanceof NestwatchError)) return error;
  const facts = { ...error.facts, isAlone: true };
  return new NestwatchError(error.code, error.message, { cause: error.cause, facts });
}

/**
 * Turns an error with a status of refusal into a response: even if its body was lost, the headers say how long to wait.
 * Throws all other errors.
 */
function asRefusal(error: unknown): HttpResponse {
  const { status, headers = {} } = error instanceof NestwatchError ? error.facts : {};
  if (status !== 429 && status !== 503) throw error;
  return { status, headers, body: '' };
}

/** What a failed try says about the region as a whole. */
function outcomeOf(error: unknown): Outcome {
  if (!(error instanceof NestwatchError)) return { met: 'nothing' };
  const { message: reason, facts } = error;
  switch (error.code) {
    case 'rate_limited':
      return { met: 'refusal', retryAfterMs: facts.retryAfterMs };
    case 'unavailable':
      // 503 asks for a pause like 429, and is also what an outage looks like.
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
