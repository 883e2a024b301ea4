/** Reads time from a server's answer: its clock, and when it wants the next request. */
import { LIMITS } from '../limits.ts';

/** Headers of an answer. */
interface Headers {
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The last instant of the year 9999. */
const LATEST_MS = 253_402_300_799_999;

/** The server's clock from the `Date` header (RFC 9110, 6.6.1), in whole seconds; null when unreadable. */
export function serverTimeUs({ headers }: Headers): number | null {
  const ms = Date.parse(headers.date ?? '');
  // Beyond the year 9999 microseconds exceed the exact integers, and no store can keep them.
  return ms >= 0 && ms <= LATEST_MS ? ms * 1000 : null;
}

/** `Retry-After` (RFC 9110, 10.2.3), given in seconds or as a date; undefined when absent or garbled. */
export function retryAfterMs(response: Headers, nowUs: number): number | undefined {
  const value = response.headers['retry-after']?.trim() ?? '';
  // A date refers to the server's clock, which may differ from ours.
  const sinceMs = (serverTimeUs(response) ?? nowUs) / 1000;
  const isDate = /^[A-Za-z]{3,9},? /.test(value);
  const ms = /^\d+(\.\d+)?$/.test(value) ? Number(value) * 1000 : isDate ? Date.parse(value) - sinceMs : NaN;
  return boundedWaitMs(ms / 1000);
}

/** A wait in milliseconds, bounded, from seconds that a server gave; undefined if they are no number. */
export function boundedWaitMs(seconds: unknown): number | undefined {
  if (typeof seconds !== 'number' || Number.isNaN(seconds)) return undefined;
  return Math.min(LIMITS.retry_after_ms.most, Math.max(0, seconds * 1000));
}

/** Keeps only the headers that this file reads. */
export function timeHeaders(headers: Headers['headers']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => name === 'date' || name === 'retry-after'),
  );
}
