/**
 * Sends one request over a pool and collects the whole answer. undici's usual API (a stream, an event target, a
 * promise per chunk) costs as much again as the exchange itself, so this class is a dispatch handler instead.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { BytesInFlight } from './bytes-in-flight.ts';
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
