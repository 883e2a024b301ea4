import { NestwatchError } from '../../src/errors.ts';
import type { HttpRequest, HttpResponse, Transport } from '../../src/http/transport.ts';
import type { Happening } from '../../src/report.ts';
import { type Secret, secret } from '../../src/secret.ts';
import { createServiceClient } from '../../src/service/client.ts';
import { createVirtualClock } from '../virtual-clock.ts';

export type Reply = Partial<HttpResponse> | NestwatchError;

export const json = (value: unknown, status = 200): Reply => ({ status, body: JSON.stringify(value) });
/** What it answers at first, and an empty list from then on. */
export const atFirst =
  (reply: Reply, times = 1) =>
  (_: HttpRequest, number: number): Reply =>
    number <= times ? reply : json([]);

export const unreachable = () => new NestwatchError('unreachable', 'no answer from eu.example: ECONNRESET');

/**
 * A client of one region on a virtual clock. `answer` is the service: it answers each request, by its number from 1,
 * and may take its time.
 */
export function openRegion(
  answer: (request: HttpRequest, number: number) => Reply | Promise<Reply>,
  options: { token?: Secret; requestsPerSecond?: number; startPerSecond?: number; concurrency?: number } = {},
) {
  const clock = createVirtualClock();
  const sent: HttpRequest[] = [];
  const sentAtMs: number[] = [];
  const happened: Happening[] = [];
  const transport: Transport = {
    async send(request) {
      sent.push(request);
      sentAtMs.push(clock.monotonicMs());
      const reply = await answer(request, sent.length);
      if (reply instanceof Error) throw reply;
      return { status: 200, headers: {}, body: '', ...reply };
    },
    close: async () => {},
  };
  const client = createServiceClient({
    region: {
      name: 'eu',
      baseUrl: 'https://eu.example/api-rest',
      token: options.token ?? secret('t0ken'),
      requestsPerSecond: options.requestsPerSecond ?? 100,
      concurrency: options.concurrency ?? 8,
    },
    transport,
    clock,
    random: () => 0.5,
    report: (happening) => happened.push(happening),
    startPerSecond: options.startPerSecond ?? 100,
  });
  /** Advances the clock until the call has ended. */
  async function ends<T>(call: Promise<T>): Promise<T> {
    let ended = false;
    const end = () => {
      ended = true;
    };
    call.then(end, end);
    await clock.advanceUntil(() => ended);
    return call;
  }
  return {
    clock,
    client,
    sent,
    sentAtMs,
    happened,
    ends,
    /** Asks for the Nests. */
    asks: () => ends(client.searchNests()),
    /** Asks for the Nests; resolves to how that fails, or undefined. */
    fails: () =>
      ends(
        client.searchNests().then(
          () => undefined,
          (error: NestwatchError) => error,
        ),
      ),
    /** The reported results of the requests so far. */
    outcomes: () =>
      happened.flatMap((one) => (one.what === 'request' ? [one.failure ?? ('ok' as const)] : [])),
  };
}
