/** Simulates one exchange on the wire: outages, the rate limit and faults come first, then the service's own answer. */
import type { HttpResponse } from '../../http/transport.ts';
import type { World } from '../world/world.ts';
import { type ApiRequest, dated, handle, operationOf } from './answer-operations.ts';
import { emptyAnswer, gatewayAnswer, problemAnswer } from './simulated-answer.ts';

/** What a client gets after `delayMs`: a whole answer, one whose connection breaks within the body, or none. */
export type Reply =
  | { readonly kind: 'answer' | 'cut'; readonly delayMs: number; readonly response: HttpResponse }
  | { readonly kind: 'reset'; readonly delayMs: number };

/** The order in which one random draw is divided among the faults. */
const FAULTS = [
  'tooManyRequests',
  'error500',
  'error502',
  'error503',
  'error504',
  'html',
  'reset',
  'htmlOk',
  'cut',
  'truncated',
] as const;

type Fault = (typeof FAULTS)[number];

/** Faults that only spoil the answer: the service has already carried out the request. */
const AFTER_THE_ANSWER: ReadonlySet<Fault> = new Set(['htmlOk', 'cut', 'truncated']);

export type Exchange = (request: ApiRequest) => Reply;

/** Creates the exchange of one world. All requests made through it share one rate limit. */
export function createExchange(world: World): Exchange {
  const mayPass = createBucket(world);

  return (request) => {
    world.settle();
    const { behaviours, faultRandom } = world;
    const isSlow = faultRandom() < behaviours.slow;
    const delayMs = behaviours.latencyMs + (isSlow ? behaviours.slowMs : 0);
    const fault = drawn(world);
    const outage = world.outage(operationOf(request));
    const path = request.path.split('?')[0]!;

    const instead = (response: HttpResponse): Reply => {
      world.count(operationOf(request), response.status);
      return { kind: 'answer', delayMs, response: dated(world, response) };
    };
    const reset = (): Reply => {
      world.count(operationOf(request), 'reset');
      return { kind: 'reset', delayMs };
    };

    if (outage === 'reset') return reset();
    if (outage === 'html') return instead(gatewayAnswer(502, '502 Bad Gateway'));
    if (outage !== undefined) return instead(outageAnswer(world, path, outage));
    if (!mayPass()) return instead(tooManyRequests(world, path));
    if (fault && !AFTER_THE_ANSWER.has(fault)) {
      switch (fault) {
        case 'tooManyRequests':
          return instead(tooManyRequests(world, path));
        case 'reset':
          return reset();
        case 'html':
          return instead(gatewayAnswer(502, '502 Bad Gateway'));
        case 'error500':
          return instead(problemAnswer(500, path, 'An unexpected error happened.'));
        default:
          return instead(emptyAnswer(Number(fault.slice('error'.length))));
      }
    }
    const response = handle(world, request);
    if (!fault) return { kind: 'answer', delayMs, response };
    if (fault === 'htmlOk') {
      return { kind: 'answer', delayMs, response: dated(world, gatewayAnswer(200, 'Please wait')) };
    }
    const body = response.body.slice(0, Math.floor(response.body.length / 2));
    return fault === 'cut'
      ? { kind: 'cut', delayMs, response }
      : { kind: 'answer', delayMs, response: { ...response, body } };
  };
}

/** Draws at most one fault for a request. Each share is of all requests, not of those that earlier faults left over. */
function drawn({ behaviours, faultRandom }: World): Fault | undefined {
  let chance = faultRandom();
  for (const fault of FAULTS) {
    chance -= behaviours[fault];
    if (chance < 0) return fault;
  }
  return undefined;
}

function outageAnswer(world: World, path: string, status: number): HttpResponse {
  if (status === 429) return tooManyRequests(world, path);
  return status > 500 ? emptyAnswer(status) : problemAnswer(status, path, 'An outage was asked for.');
}

function tooManyRequests(world: World, path: string): HttpResponse {
  const { retryAfter, retryAfterMs } = world.behaviours;
  const problem = problemAnswer(429, path, 'The rate limit is exceeded.');
  const untilMs = world.nowUs() / 1000 + retryAfterMs;
  const value = {
    seconds: String(Math.ceil(retryAfterMs / 1000)),
    date: new Date(Math.ceil(untilMs / 1000) * 1000).toUTCString(),
    garbled: 'in a while',
    none: undefined,
  }[retryAfter];
  return value === undefined
    ? problem
    : { ...problem, headers: { ...problem.headers, 'retry-after': value } };
}

/** A token bucket that holds one second's worth of requests and starts full. */
function createBucket({ clock, behaviours }: World): () => boolean {
  let tokens = Number.POSITIVE_INFINITY;
  let filledAtMs = clock.monotonicMs();
  return () => {
    const rate = behaviours.requestsPerSecond;
    const nowMs = clock.monotonicMs();
    tokens = Math.min(Math.max(1, rate), tokens + ((nowMs - filledAtMs) / 1000) * rate);
    filledAtMs = nowMs;
    if (rate === 0) return true;
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  };
}
