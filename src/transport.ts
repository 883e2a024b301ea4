/** One HTTP exchange. What goes out is prepared by the caller; what comes back is text, whole, with its status. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Absolute URL without credentials. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface HttpResponse {
  readonly status: number;
  /** Names in lower case; a header that came several times is joined with `, `. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Carries requests. It never retries, never follows a redirect and never throws anything but a `NestwatchError`
 * with `unreachable` (never sent or no answer), `timeout`, `too_large` or `not_json` (a body cut short).
 */
export interface Transport {
  send(request: HttpRequest): Promise<HttpResponse>;
  close(): Promise<void>;
}
