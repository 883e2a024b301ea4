/** What a server says of time in an answer: what its clock shows, and when it wants to be asked again. */
import { LIMITS } from '../limits.ts';

/** Of an answer. */
interface Headers {
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The last instant of the year 9999. */
const LATEST_MS = 253_402_300_799_999;

/** The server's clock from the `Date` header (RFC 9110, 6.6.1), in whole seconds; null when unreadable. */
export function serverTimeUs({ headers }: Headers): number | null {
  const ms = Date.parse(headers.date ?? '');
  // Beyond the year 9999 microseconds are no exact numbers any more, and no store can keep them.
  return ms >= 0 && ms <= LATEST_MS ? ms * 1000 : null;
}

/** `Retry-After` (RFC 9110, 10.2.3) in seconds or as a date; undefined when absent or garbled. */
export function retryAfterMs(response: Headers, nowUs: number): number | undefined {
  const value = response.headers['retry-after']?.trim() ?? '';
  // A date is meant on the server's clock, whatever ours says.
  const sinceMs = (serverTimeUs(response) ?? nowUs) / 1000;
  const isDate = /^[A-Za-z]{3,9},? /.test(value);
  const ms = /^\d+(\.\d+)?$/.test(value) ? Number(value) * 1000 : isDate ? Date.parse(value) - sinceMs : NaN;
  return Number.isNaN(ms) ? undefined : Math.min(LIMITS.retry_after_ms.most, Math.max(0, ms));
}

/** Of an answer's headers those that are read here. */
export function timeHeaders(headers: Headers['headers']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => name === 'date' || name === 'retry-after'),
  );
}
