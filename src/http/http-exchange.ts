/**
 * One request over a pool and its whole answer. What undici makes for everybody of it (a stream, an event target, a
 * promise for each chunk) costs as much again as the exchange itself, so this listens to its dispatcher directly.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { type Dispatcher, errors } from 'undici';
import type { BytesInFlight } from './bytes-in-flight.ts';

interface ExchangeRequest {
  readonly origin: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  /** Names and values by turns. */
  readonly headers: string[];
  readonly body: string | null;
}

export interface Answer {
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

  /** A larger answer rejects with `ResponseExceededMaxSizeError`, also over what does not count its bytes itself. */
  constructor(inFlight: BytesInFlight | undefined, maxBytes: number) {
    this.#inFlight = inFlight;
    this.#maxBytes = maxBytes;
  }

  /** Of the answer; undefined while none has begun. */
  get status(): number | undefined {
    return this.#status;
  }

  /** Of the answer; none while none has begun. */
  get headers(): IncomingHttpHeaders {
    return this.#headers;
  }

  /** Once. Rejects with undici's errors; with `RequestAbortedError` where it took longer than `timeoutMs`. */
  async through(dispatcher: Dispatcher, request: ExchangeRequest, timeoutMs: number): Promise<Answer> {
    // A timer of ours costs a fraction of what `AbortSignal.timeout` does.
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
    // It waited for a connection until its time was over.
    if (this.#isGivenUp) controller.abort(new errors.RequestAbortedError());
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    // Others only say that an answer will come.
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
