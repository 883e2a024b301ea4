/** What the configuration of channels that post to a known service has in common. */
import * as z from 'zod';
import type { Check } from '../document/check.ts';
import { httpShape } from '../document/http-config.ts';
import type { Path } from '../document/problem.ts';
import { duration } from '../document/value-shape.ts';
import { mistakeInUrl } from '../http/web-address.ts';

/** Keys of every such integration; `sendResolved` where nothing is said. */
export function postKeys(sendResolved: boolean) {
  return {
    timeout: duration(100).prefault('10s').describe('Longest wait for the answer to one message.'),
    send_resolved: z.boolean().prefault(sendResolved).describe('Whether the end of an alert is sent.'),
    http_config: httpShape.optional(),
  };
}

/** The address at a path, with a problem where it is none. */
export function urlAt(check: Check, path: Path): string | undefined {
  const text = check.raw(path);
  if (typeof text !== 'string' || text === '') return undefined;
  const mistake = mistakeInUrl(text);
  if (mistake) check.problem(path, mistake);
  return text;
}

/**
 * Refuses a cap on the receiver of the integration at `path`: what a cap holds back is sent as one message, in the
 * state of that moment, so no incident would ever end by it.
 */
export function refuseCap(check: Check, path: Path, why: string): void {
  for (const key of ['max_notifications_per_hour', 'fold_storms']) {
    const at = [...path.slice(0, -2), key];
    if (check.raw(at) === undefined) continue;
    check.problem(at, `is not for a receiver with ${String(path.at(-2))}: leave it out, ${why}`);
  }
}
