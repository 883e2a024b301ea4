import * as z from 'zod';
import { type Check, checkName, namesIn, readList } from '../../document/check.ts';
import { readMatchers } from '../../document/read-matchers.ts';
import { matcherList, words } from '../../document/value-shape.ts';
import type { Matcher } from '../../domain/matchers/matcher.ts';

export const forwardShape = z.strictObject({
  matchers: matcherList
    .prefault([])
    .describe(
      'Matchers on `region`, `feed`, `type`, `nest_id`, `nest`, `bird_id` and `bird` of an event. The feeds are `notification`, `bird_log`, `flight`, [`inventory`](#events-of-the-inventory) and [`action`](#flying-again).',
    ),
  receiver: words.describe('A receiver with a webhook of `format: cloudevents` or `otlp`.'),
});

/**
 * Forwards every matching event once, ungrouped. Labels of an event: `region, feed, type, nest_id, nest, bird_id,
 * bird`.
 */
export interface Forward {
  readonly matchers: readonly Matcher[];
  readonly receiver: string;
}

export function readForward(check: Check): Forward[] {
  const names = namesIn(check, 'receivers');
  return readList(check, ['forward']).flatMap((path) => {
    const name = check.raw([...path, 'receiver']);
    checkName(check, [...path, 'receiver'], names, 'receiver');
    if (typeof name === 'string' && names.includes(name) && !takesEvents(check, names.indexOf(name)))
      check.problem([...path, 'receiver'], 'must have a webhook with `format: cloudevents` or `otlp`');
    const matchers = readMatchers(check, [...path, 'matchers']);
    const forward = check.read(forwardShape, path);
    return forward ? [{ matchers, receiver: forward.receiver }] : [];
  });
}

/** Looks at the file itself: a webhook with another mistake still takes events. */
function takesEvents(check: Check, receiver: number): boolean {
  const webhooks = check.raw(['receivers', receiver, 'webhook_configs']);
  return (
    Array.isArray(webhooks) && webhooks.some((one) => one?.format === 'cloudevents' || one?.format === 'otlp')
  );
}
