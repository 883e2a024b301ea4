import * as z from 'zod';
import { isRefused, refused, withoutEffect } from '../../document/value-shape.ts';
import { actionShape } from './actions-section.ts';
import { contextShape } from './context-section.ts';
import { digestShape } from './digests-section.ts';
import { forwardShape } from './forward-section.ts';
import { heartbeatShape } from './heartbeat-section.ts';
import { inhibitRuleShape } from './inhibit-rules-section.ts';
import { metricsShape } from './metrics-section.ts';
import { objectiveShape } from './objectives-section.ts';
import { pollShape } from './poll-section.ts';
import { globalShape, wholeReceiverShape } from './receivers-section.ts';
import { regionsShape } from './regions-section.ts';
import { wholeRouteShape } from './route-section.ts';
import { rulesShape } from './rules-section.ts';
import { storeShape } from './store-section.ts';
import { namedTimeIntervalShape } from './time-intervals-section.ts';
import { webShape } from './web-section.ts';

/** Sections that are lists or maps are checked entry by entry, so that one mistake hides no other. */
export const fileShape = z.strictObject({
  regions: regionsShape,
  store: storeShape.optional().describe('Where nestwatch keeps events, alerts and deliveries.'),
  poll: pollShape.optional().describe('How nestwatch reads the service.'),
  rules: rulesShape
    .optional()
    .describe(
      'What to alert on. Each kind of alert has a default rule, except those that need to be asked for. If several rules of one kind match, only the first applies. Kinds that need to be asked for are different: there every rule that matches applies, and has alerts of its own, with the label `rule`.',
    ),
  global: globalShape.optional().describe('Defaults for receivers that do not set these keys themselves.'),
  route: wholeRouteShape
    .optional()
    .describe(
      'Which receiver is notified of which alerts, and how often. Without this section, all alerts go to the receiver `default`.',
    ),
  receivers: z.array(wholeReceiverShape).optional().describe('Who can be notified, and how.'),
  forward: z
    .array(forwardShape)
    .optional()
    .describe(
      'Sends every matching event once, ungrouped, to a CloudEvents webhook, for example of a SIEM or a data lake; or ended Flights as traces to a collector of OpenTelemetry.',
    ),
  metrics: metricsShape.optional().describe('What `/metrics` contains.'),
  web: webShape.optional().describe('The web page, the API and `/metrics`.'),
  inhibit_rules: z
    .array(inhibitRuleShape)
    .optional()
    .describe(
      'While a source alert fires, no message is sent about its target alerts. Built in: while `RegionDown` or `RegionUnauthorized` fires, no other alert of that region is sent, and while `SharedCause` fires, no `FlightFailed` with its label `error`, to receivers that are told of the cause.',
    ),
  time_intervals: z
    .array(namedTimeIntervalShape)
    .optional()
    .describe('Named times of the week or year that routes can refer to.'),
  mute_time_intervals: z
    .array(namedTimeIntervalShape)
    .optional()
    .describe("Alertmanager's older name for `time_intervals`. Both may be given."),
  digests: z
    .array(digestShape)
    .optional()
    .describe(
      'Summaries, for example of a day or a week: Flights, causes of failure, open alerts, and how complete the watch was.',
    ),
  objectives: z
    .array(objectiveShape)
    .optional()
    .describe(
      'What share of Flights must succeed. Alerts when failures come so fast that it will not be met.',
    ),
  actions: z
    .array(actionShape)
    .optional()
    .describe(
      'What nestwatch itself does when an alert fires: it starts Birds again, once and within limits, in regions with `fly: true`. The first whose `match` fits applies.',
    ),
  context: contextShape
    .optional()
    .describe('What messages say about why an alert fires now, and who can act.'),
  heartbeat: heartbeatShape
    .optional()
    .describe('A regular call to an external watchdog, which alerts people when the call is missing.'),
  templates: withoutEffect(
    z.array(z.string()),
    'write Liquid in `title`, `text`, `html` or `headers` of a receiver',
  ),
  tracing: withoutEffect(z.record(z.string(), z.unknown()), 'leave it out'),
  event_recorder: refused('use `forward`: it sends every event once'),
});

/** Only the top level of the file: each section is read by itself. */
export const sectionsShape = z.strictObject(
  Object.fromEntries(
    Object.entries(fileShape.shape).map(([key, shape]) => [
      key,
      isRefused(shape) ? shape : z.unknown().optional(),
    ]),
  ),
);
