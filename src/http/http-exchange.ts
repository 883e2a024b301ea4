/**
 * Sends one request over a pool and collects the whole answer. undici's usual API (a stream, an event target, a
 * promise per chunk) costs as much again as the exchange itself, so this class is a dispatch handler instead.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { errors } from './undici.ts';

interface ExchangeRequest {
  readonly origin: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  /** Alternating names and values. */
  readonly headers: string[];
  readonly body: string | Uint8Array | null;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Uint8Array;
}

export class Exchange implements Dispatcher.DispatchHandler {
  readonly #inFlight: BytesInFlight | undefined;
  readonly #ended = Promise.withResolvers<Answer>();
  readonly #chunks: Buffer[] = [];
  #status: number | undefined;
  #headers: IncomingHttpHeaders = {};
  #controller: Dispatcher.DispatchController | undefined;
  #isGivenUp = false;
  #size = 0;
  readonly #maxBytes: number;

  /**
   * An answer larger than `maxBytes` rejects with `ResponseExceededMaxSizeError`, even if the dispatcher does not
   * check.
   */
  constructor(inFlight: BytesInFlight | undefined, maxBytes: number) {
    this.#inFlight = inFlight;
    this.#maxBytes = maxBytes;
  }

  /** The answer's status; undefined before it begins. */
  get status(): number | undefined {
    return this.#status;
  }

  /** The answer's headers; empty before it begins. */
  get headers(): IncomingHttpHeaders {
    return this.#headers;
  }

  /** Call this once. Rejects with undici's errors, and with `RequestAbortedError` after `timeoutMs`. */
  async through(
    dispatcher: Pick<Dispatcher, 'dispatch'>,
    request: ExchangeRequest,
    timeoutMs: number,
  ): Promise<Answer> {
    // Costs a fraction of `AbortSignal.timeout`.
    const timer = setTimeout(() => this.#giveUp(), timeoutMs);
    try {
      dispatcher.dispatch(request, this);
      return await this.#ended.promise;
    } finally {
      clearTimeout(timer);
    }
  }

  #giveUp(reason: Error = new errors.RequestAbortedError()): void {
    this.#isGivenUp = true;
    this.#ended.reject(reason);
    this.#controller?.abort(reason);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // It timed out while waiting for a connection.
    if (this.#isGivenUp) controller.abort(new errors.RequestAbortedError());
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    // 1xx responses only announce that an answer will follow.
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isGivenUp) return;
    this.#size += chunk.length;
    if (this.#size > this.#maxBytes) {
      this.#giveUp(new errors.ResponseExceededMaxSizeError());
      return;
    }
    this.#chunks.push(chunk);
    const room = this.#inFlight?.take(this, chunk.length);
    if (!room) return;
    controller.pause();
    void room.then(() => controller.resume());
  }

  onResponseEnd(): void {
    const [first, ...others] = this.#chunks;
    const bytes = first && others.length === 0 ? first : Buffer.concat(this.#chunks);
    this.#ended.resolve({ status: this.#status!, headers: this.#headers, bytes });
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#ended.reject(error);
  }
}

// Bounds the bytes of answers held at once. An answer counts from its first byte until its caller has read it. Above
// the bound only the oldest answer continues, so that all of them finish in turn. Small answers never wait.

export interface BytesInFlight {
  /** Counts `bytes` more for the answer. Resolves when there is room for them; undefined if there is room at once. */
  take(answer: object, bytes: number): Promise<void> | undefined;
  /** Call this when the answer was read or failed. */
  release(answer: object): void;
}

/** Answers up to this size never wait for larger ones. */
const SMALL_BYTES = 256 * 1024;

export function createBytesInFlight(most: number, waits: () => void): BytesInFlight {
  /** Oldest first. */
  const held = new Map<object, number>();
  let total = 0;
  const waiting: { readonly answer: object; readonly resolve: () => void }[] = [];

  const mayGoOn = (answer: object) =>
    total <= most || held.get(answer)! <= SMALL_BYTES || held.keys().next().value === answer;

  return {
    take(answer, bytes) {
      held.set(answer, (held.get(answer) ?? 0) + bytes);
      total += bytes;
      if (mayGoOn(answer)) return undefined;
      waits();
      return new Promise<void>((resolve) => waiting.push({ answer, resolve }));
    },
    release(answer) {
      total -= held.get(answer) ?? 0;
      held.delete(answer);
      for (let at = waiting.length - 1; at >= 0; at -= 1) {
        const one = waiting[at]!;
        if (held.has(one.answer) && !mayGoOn(one.answer)) continue;
        waiting.splice(at, 1);
        one.resolve();
      }
    },
  };
}
