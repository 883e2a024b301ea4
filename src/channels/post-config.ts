/** Reads what the integrations of channels that post to a known service have in common. */
import * as z from 'zod';
import { type Check, isGiven } from '../document/check.ts';
import { httpShape } from '../document/http-config.ts';
import type { Path } from '../document/problem.ts';
import { duration } from '../document/value-shape.ts';
import type { HttpSettings } from '../http/http-settings.ts';
import { mistakeInUrl } from '../http/web-address.ts';
import type { Secret } from '../secret.ts';
import { isTimezone } from '../time/zone-format.ts';

/** The keys that every such integration has. `sendResolved`: the default of `send_resolved`. */
export function postKeys(sendResolved: boolean) {
  return {
    timeout: duration(100).prefault('10s').describe('How long to wait for the response to one message.'),
    send_resolved: z.boolean().prefault(sendResolved).describe('Also notifies when alerts are resolved.'),
    http_config: httpShape.optional(),
  };
}

/** The address at a path; reports a problem if it is not one. */
export function urlAt(check: Check, path: Path): string | undefined {
  const text = check.raw(path);
  if (typeof text !== 'string' || text === '') return undefined;
  const mistake = mistakeInUrl(text);
  if (mistake) check.problem(path, mistake);
  return text;
}

/**
 * Refuses a cap on the receiver of the integration at `path`. What a cap holds back is sent later as one message with
 * the state of that time, so an incident might never be resolved.
 */
export function refuseCap(check: Check, path: Path, why: string): void {
  for (const key of ['max_notifications_per_hour', 'fold_storms', 'fold_ends']) {
    const at = [...path.slice(0, -2), key];
    if (check.raw(at) === undefined) continue;
    check.problem(at, `is not for a receiver with ${String(path.at(-2))}: leave it out, ${why}`);
  }
}

/**
 * Reads a secret that an integration may have itself, or share with all of its kind by `global`. Reports a problem if
 * neither is given.
 */
export function sharedSecret(
  check: Check,
  key: string,
  globalKey: string,
  mistake?: (text: string) => string | undefined,
): (path: Path) => Secret | undefined {
  const options = mistake ? { mistake } : {};
  const shared = check.secret(['global'], globalKey, options);
  return (path) => {
    const own = check.secret(path, key, options);
    if (isGiven(check, path, key)) return own ?? undefined;
    if (!isGiven(check, ['global'], globalKey)) {
      check.problem([...path, key], `is missing: set it or \`global.${globalKey}\``);
    }
    return shared ?? undefined;
  };
}

/** For a service that has its own key: refuses credentials in `http_config`, which would replace it. */
export function refuseCredentials(
  check: Check,
  path: Path,
  key: string,
  http: HttpSettings | undefined,
): void {
  if (!http?.credentials) return;
  check.problem(
    [...path, key],
    'is used to log in to the service: remove the credentials from `http_config`',
  );
}

/** Appends a path to an address, whether or not that ends with a slash. */
export function below(url: string, path: string): string {
  return `${url.replace(/\/+$/, '')}/${path}`;
}

// The configuration's key for the time zone in which people read the messages of an integration.

export const timezoneKey = {
  timezone: z
    .string()
    .refine(isTimezone, { error: 'must be a time zone, such as Europe/Amsterdam' })
    .optional()
    .describe('Time zone of the times in the built-in message, such as Europe/Amsterdam. Default: UTC.'),
};

/** The part of integrations for people that holds it. */
export interface ReaderZone {
  readonly timezone?: string;
}
