import * as z from 'zod';
import { type AlertKind, RULE_DEFAULTS } from '../../domain/alert/rule.ts';
import { formatDuration } from '../../time/duration.ts';
import { duration, durationOrNever, labelMap, matcherList, words } from '../values/value-shape.ts';

/** The shapes of `rules`, with their defaults. What one value has to do with another is checked in `read-rules.ts`. */

/** An alert that is over is kept for an hour: that is how far back its changes are known. */
const LONGEST_FLAPPING_MS = 3_600_000;

const { flapping: steady } = RULE_DEFAULTS.FlightFailed;
const flappingShape = z.strictObject({
  changes: z
    .int()
    .min(0)
    .max(100)
    .prefault(steady?.changes ?? 0)
    .refine((changes) => changes !== 1, { error: 'must be at least 2, or 0 for never' })
    .describe('So often it began to fire or was resolved, the last time included; 0: it never flaps.'),
  within: duration(60_000)
    .prefault(formatDuration(steady?.withinMs ?? 0))
    .refine((ms) => ms <= LONGEST_FLAPPING_MS, { error: 'must not be longer than 1h' })
    .describe('In so long a time.'),
  calm: duration(60_000)
    .prefault(formatDuration(steady?.calmMs ?? 0))
    .describe('It fires on until it has been over for so long.'),
});

const sharedByRules = {
  match: matcherList.prefault([]).describe('Matchers on labels; the first rule of a kind that fits decides.'),
  severity: words.optional().describe("In place of the kind's own."),
  labels: labelMap.prefault({}).describe('Added to the alert.'),
  annotations: labelMap.prefault({}).describe('Added to the alert.'),
  keep_firing_for: duration().prefault('0s').describe('It fires on for so long when it is over.'),
  flapping: flappingShape
    .prefault({})
    .describe('When an alert changes too often: it says so once and stays firing until it is calm.'),
};

const resolveAfter = (kind: AlertKind) => {
  const ms = RULE_DEFAULTS[kind].resolveAfterMs;
  return durationOrNever()
    .prefault(ms === null ? 'never' : formatDuration(ms))
    .describe('Resolved when nothing new came for this long, or never.');
};
const threshold = (kind: AlertKind, what: string) =>
  z.int().min(1).max(100).prefault(RULE_DEFAULTS[kind].threshold).describe(what);
const lasting = (kind: AlertKind) =>
  duration()
    .prefault(formatDuration(RULE_DEFAULTS[kind].forMs))
    .describe('How long it must last before the alert fires.');

/** Each kind has only the parameters that change something for it. */
export const RULE_SHAPES = {
  FlightFailed: z.strictObject({
    kind: z.literal('FlightFailed'),
    ...sharedByRules,
    for_each: z
      .enum(['bird', 'flight', 'error'])
      .prefault(RULE_DEFAULTS.FlightFailed.forEach)
      .describe('One alert per Bird, per Flight, or per Bird and sort of error.'),
    threshold: threshold('FlightFailed', 'Failures within `window`.'),
    window: duration(1000).prefault(formatDuration(RULE_DEFAULTS.FlightFailed.windowMs)),
    consecutive: z
      .int()
      .min(1)
      .max(100)
      .optional()
      .describe('In place of `threshold`: so many Flights of the Bird failed in a row.'),
    ratio: z
      .number()
      .gt(0, { error: 'must be more than 0 and at most 1' })
      .max(1, { error: 'must be more than 0 and at most 1' })
      .optional()
      .describe('In place of `threshold`: this part of the last `of_last` Flights of the Bird failed.'),
    of_last: z.int().min(2).max(100).optional().describe('Flights that `ratio` looks at.'),
    for: lasting('FlightFailed'),
    resolve_after: resolveAfter('FlightFailed'),
  }),
  FlightStuck: z.strictObject({
    kind: z.literal('FlightStuck'),
    ...sharedByRules,
    max_duration: duration(60_000)
      .optional()
      .describe(
        'How long a Flight may be active; without it three times what 99 of 100 of its Bird take, at least 15m.',
      ),
  }),
  BirdStale: z.strictObject({
    kind: z.literal('BirdStale'),
    ...sharedByRules,
    expect_every: duration(60_000)
      .optional()
      .describe(
        'How long a Bird may be without a Flight; without it a scheduled Bird tells by its own, after a week.',
      ),
  }),
  BirdDeactivated: z.strictObject({
    kind: z.literal('BirdDeactivated'),
    ...sharedByRules,
    for: lasting('BirdDeactivated'),
  }),
  BirdTriggerFailing: z.strictObject({
    kind: z.literal('BirdTriggerFailing'),
    ...sharedByRules,
    threshold: threshold(
      'BirdTriggerFailing',
      'Failed triggers in a row; at 5 the service deactivates the Bird.',
    ),
    for: lasting('BirdTriggerFailing'),
    resolve_after: resolveAfter('BirdTriggerFailing'),
  }),
  ConnectionDisconnected: z.strictObject({
    kind: z.literal('ConnectionDisconnected'),
    ...sharedByRules,
    for: lasting('ConnectionDisconnected'),
    resolve_after: resolveAfter('ConnectionDisconnected'),
  }),
  ServiceNotification: z.strictObject({
    kind: z.literal('ServiceNotification'),
    ...sharedByRules,
    resolve_after: resolveAfter('ServiceNotification'),
  }),
  RegionDown: z.strictObject({
    kind: z.literal('RegionDown'),
    ...sharedByRules,
    for: lasting('RegionDown'),
  }),
  RegionUnauthorized: z.strictObject({
    kind: z.literal('RegionUnauthorized'),
    ...sharedByRules,
    for: lasting('RegionUnauthorized'),
  }),
  FeedBehind: z.strictObject({
    kind: z.literal('FeedBehind'),
    ...sharedByRules,
    for: lasting('FeedBehind'),
  }),
  FeedIncomplete: z.strictObject({
    kind: z.literal('FeedIncomplete'),
    ...sharedByRules,
  }),
  SchemaDrift: z.strictObject({
    kind: z.literal('SchemaDrift'),
    ...sharedByRules,
    resolve_after: resolveAfter('SchemaDrift'),
  }),
  DeliveryFailing: z.strictObject({
    kind: z.literal('DeliveryFailing'),
    ...sharedByRules,
    for: lasting('DeliveryFailing'),
  }),
} as const satisfies Record<AlertKind, z.ZodType>;
