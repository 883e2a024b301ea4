import * as z from 'zod';
import { refused, writeMatchers } from '../document/refused-key.ts';
import { duration, durationOrNever, groupLabel, matcherList, words } from '../values/value-shape.ts';

/** Who is told of what: the routes of alerts, and the events that are forwarded one by one. */

export const routeShape = z.strictObject({
  receiver: words.optional().describe('Name of a receiver; a child inherits it.'),
  matchers: matcherList.prefault([]).describe('All must fit, e.g. severity="critical".'),
  continue: z.boolean().prefault(false).describe('Whether the siblings after this one are asked as well.'),
  group_by: z
    .array(groupLabel)
    .optional()
    .describe('Labels whose values make a group: one message for each.'),
  group_wait: duration().optional().describe('How long a new group waits for more; 30s at first.'),
  group_interval: duration(10).optional().describe('How often a group may tell of changes; 5m at first.'),
  repeat_interval: duration(10).optional().describe('How often what still fires is told again; 4h at first.'),
  repeat_backoff: z
    .number()
    .min(1)
    .max(10)
    .optional()
    .describe(
      'Each repetition waits this many times as long as the one before, until there is news; 1 at first.',
    ),
  escalate_to: words
    .optional()
    .describe('Told as well of what still fires and is not silenced after a while.'),
  escalate_after: durationOrNever()
    .optional()
    .describe('How long after an alert was told that is, or never.'),
  routes: z.array(z.unknown()).prefault([]).describe('Children: the first that fits gets the alert.'),
  labels: refused('leave it out; `labels` of a rule add some to its alerts'),
  match: writeMatchers('matchers', '\'name="value"\''),
  match_re: writeMatchers('matchers', '\'name=~"regex"\''),
  mute_time_intervals: z.array(words).prefault([]).describe('Time intervals in which nothing is told.'),
  active_time_intervals: z
    .array(words)
    .prefault([])
    .describe('Time intervals outside of which nothing is told.'),
});

export const forwardShape = z.strictObject({
  matchers: matcherList
    .prefault([])
    .describe('On region, feed, type, nest_id, nest, bird_id, bird of an event.'),
  receiver: words.describe('A receiver with a webhook of `format: cloudevents`.'),
});

/** A route with its children, for the JSON schema: the checks read each of them by itself. */
export const wholeRouteShape = routeShape.extend({
  get routes() {
    return z.array(wholeRouteShape).optional().describe('Children: the first that fits gets the alert.');
  },
});
