import * as z from 'zod';
import { isRefused, refused } from '../document/refused-key.ts';
import { digestShape } from './digests-section.ts';
import { forwardShape } from './forward-section.ts';
import { globalShape } from './global-section.ts';
import { heartbeatShape } from './heartbeat-section.ts';
import { inhibitRuleShape } from './inhibit-rules-section.ts';
import { pollShape } from './poll-section.ts';
import { wholeReceiverShape } from './receiver-shape.ts';
import { regionsShape } from './regions-section.ts';
import { wholeRouteShape } from './route-section.ts';
import { RULE_SHAPES } from './rule-shape.ts';
import { storeShape } from './store-section.ts';
import { namedTimeIntervalShape } from './time-intervals-section.ts';
import { webShape } from './web-section.ts';

/** Sections that are lists or maps of entries are checked entry by entry, so that one mistake hides no other. */
export const fileShape = z.strictObject({
  regions: regionsShape,
  store: storeShape.optional(),
  poll: pollShape.optional(),
  rules: z.array(z.discriminatedUnion('kind', ruleShapes())).optional(),
  global: globalShape.optional(),
  route: wholeRouteShape.optional(),
  receivers: z.array(wholeReceiverShape).optional(),
  forward: z.array(forwardShape).optional().describe('Every event once, ungrouped.'),
  web: webShape.optional(),
  inhibit_rules: z
    .array(inhibitRuleShape)
    .optional()
    .describe('While a source fires, its targets are not told; beside the built-in ones.'),
  time_intervals: z.array(namedTimeIntervalShape).optional(),
  mute_time_intervals: z
    .array(namedTimeIntervalShape)
    .optional()
    .describe("Alertmanager's older name for `time_intervals`."),
  digests: z.array(digestShape).optional().describe('Summaries of a day or a week.'),
  heartbeat: heartbeatShape.optional().describe('Tells an outside watchdog that all is well here.'),
  templates: refused('write Liquid in `title`, `text`, `html` or `headers` of a receiver'),
  tracing: refused('leave it out'),
  event_recorder: refused('use `forward`: it tells every event once'),
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

function ruleShapes() {
  const { FlightFailed, ...others } = RULE_SHAPES;
  return [FlightFailed, ...Object.values(others)] as const;
}
