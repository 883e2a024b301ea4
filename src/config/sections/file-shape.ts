import * as z from 'zod';
import { isRefused, refused, withoutEffect } from '../../document/refused-key.ts';
import { digestShape } from './digests-section.ts';
import { forwardShape } from './forward-section.ts';
import { globalShape } from './global-section.ts';
import { heartbeatShape } from './heartbeat-section.ts';
import { inhibitRuleShape } from './inhibit-rules-section.ts';
import { metricsShape } from './metrics-section.ts';
import { pollShape } from './poll-section.ts';
import { wholeReceiverShape } from './receivers-section.ts';
import { regionsShape } from './regions-section.ts';
import { wholeRouteShape } from './route-section.ts';
import { rulesShape } from './rules-section.ts';
import { storeShape } from './store-section.ts';
import { namedTimeIntervalShape } from './time-intervals-section.ts';
import { webShape } from './web-section.ts';

/** Sections that are lists or maps of entries are checked entry by entry, so that one mistake hides no other. */
export const fileShape = z.strictObject({
  regions: regionsShape,
  store: storeShape.optional().describe('Where events, alerts and deliveries are kept.'),
  poll: pollShape.optional().describe('How the service is read.'),
  rules: rulesShape
    .optional()
    .describe(
      'What is worth an alert. Each kind has a rule by default; of several rules of one kind, the first whose `match` fits decides.',
    ),
  global: globalShape.optional().describe('What receivers use that do not say it themselves.'),
  route: wholeRouteShape
    .optional()
    .describe(
      'Which receiver is notified of which alerts, and how often. Without it, all alerts go to the receiver `default`.',
    ),
  receivers: z.array(wholeReceiverShape).optional().describe('Who can be notified, and by what.'),
  forward: z
    .array(forwardShape)
    .optional()
    .describe(
      'Every matching event once, ungrouped, to a CloudEvents webhook, as for a SIEM or a data lake.',
    ),
  metrics: metricsShape.optional().describe('What `/metrics` shows.'),
  web: webShape.optional().describe('The page, the API and `/metrics`.'),
  inhibit_rules: z
    .array(inhibitRuleShape)
    .optional()
    .describe(
      'While a source fires, no message is sent about its targets, beside the built-in rule: while `RegionDown` or `RegionUnauthorized` fires, about nothing else of that region.',
    ),
  time_intervals: z
    .array(namedTimeIntervalShape)
    .optional()
    .describe('Times of the week or year, for routes to name.'),
  mute_time_intervals: z
    .array(namedTimeIntervalShape)
    .optional()
    .describe("Alertmanager's older name for `time_intervals`. Both may be given."),
  digests: z
    .array(digestShape)
    .optional()
    .describe(
      'Summaries of a day or a week: Flights, causes, what is still open, how complete the watch was.',
    ),
  heartbeat: heartbeatShape
    .optional()
    .describe('A call to a watchdog outside, which alarms people when it stays out.'),
  templates: withoutEffect(
    z.array(z.string()),
    'write Liquid in `title`, `text`, `html` or `headers` of a receiver',
  ),
  tracing: withoutEffect(z.record(z.string(), z.unknown()), 'leave it out'),
  event_recorder: refused('use `forward`: it sends every event once'),
});

/** The top of the file alone: each section is read by itself. */
export const sectionsShape = z.strictObject(
  Object.fromEntries(
    Object.entries(fileShape.shape).map(([key, shape]) => [
      key,
      isRefused(shape) ? shape : z.unknown().optional(),
    ]),
  ),
);
