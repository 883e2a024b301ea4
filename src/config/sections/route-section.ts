import * as z from 'zod';
import { formatMatcher, type Matcher } from '../../domain/matchers/matcher.ts';
import type { Route } from '../../domain/muting/route.ts';
import type { Check } from '../document/check.ts';
import type { Path } from '../document/problem.ts';
import { refused, writeMatchers } from '../document/refused-key.ts';
import { checkReceiver, receiverNames } from '../values/known-receiver.ts';
import { readList, readMatchers, refuseOldMatchers } from '../values/read-list.ts';
import { duration, durationOrNever, groupLabel, matcherList, words } from '../values/value-shape.ts';
import { checkTimeIntervalNames } from './time-intervals-section.ts';

const routeShape = z.strictObject({
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

/** A route with its children, for the JSON schema: the checks read each of them by itself. */
export const wholeRouteShape = routeShape.extend({
  get routes() {
    return z.array(wholeRouteShape).optional().describe('Children: the first that fits gets the alert.');
  },
});

/** Where alerts go when the file has no `route`. */
const DEFAULT_RECEIVER = 'default';

type Settings = Pick<
  Route,
  | 'receiver'
  | 'groupBy'
  | 'groupWaitMs'
  | 'groupIntervalMs'
  | 'repeatIntervalMs'
  | 'repeatBackoff'
  | 'escalation'
>;

/** Alertmanager's own defaults. */
const ROUTE_DEFAULTS: Settings = {
  receiver: DEFAULT_RECEIVER,
  groupBy: [],
  groupWaitMs: 30_000,
  groupIntervalMs: 300_000,
  repeatIntervalMs: 14_400_000,
};

/** The route tree; without one, everything goes to the receiver `default`. */
export function readRoute(check: Check): Route {
  const names = receiverNames(check);
  const root = { path: '0', key: '{}', matchers: [], continue: false };
  if (check.raw(['route']) === undefined) {
    const isTold = names.length === 0 || names.includes(DEFAULT_RECEIVER);
    if (!isTold && readList(check, ['forward']).length === 0) {
      check.problem(['route'], 'is missing: without it nothing reaches the receivers');
    }
    return { ...root, ...ROUTE_DEFAULTS, routes: [] };
  }
  for (const key of ['matchers', 'continue', 'mute_time_intervals', 'active_time_intervals']) {
    if (isSet(check.raw(['route', key]))) {
      check.keyProblem(['route', key], 'the root takes every alert: move this to a route below `routes`');
    }
  }
  if (check.raw(['route', 'receiver']) === undefined && typeof check.raw(['route']) === 'object') {
    check.problem(['route', 'receiver'], 'is missing: the root names the receiver of what no child takes');
  }
  return readNode(check, ['route'], '0', undefined, names);
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== false && !(Array.isArray(value) && value.length === 0);
}

/** One node and those below it; a node that is wrong inherits, so that its children are checked all the same. */
function readNode(
  check: Check,
  path: Path,
  position: string,
  parent: Route | undefined,
  names: readonly string[],
): Route {
  const inherited: Settings = parent ?? ROUTE_DEFAULTS;
  const receiver = check.raw([...path, 'receiver']);
  if (typeof receiver === 'string') checkReceiver(check, [...path, 'receiver'], receiver, names);
  checkGroupBy(check, [...path, 'group_by']);
  checkEscalation(check, path, names);
  checkTimeIntervalNames(check, [...path, 'mute_time_intervals']);
  checkTimeIntervalNames(check, [...path, 'active_time_intervals']);
  const matchers = readMatchers(check, [...path, 'matchers']);
  refuseOldMatchers(check, path);
  const node = check.read(routeShape, path);
  const repeatBackoff = node?.repeat_backoff ?? inherited.repeatBackoff;
  const escalation = escalationOf(node?.escalate_after, node?.escalate_to, inherited.escalation);
  const route: Omit<Route, 'routes'> = {
    path: position,
    key: parent ? `${parent.key}/${keyOf(matchers)}` : '{}',
    receiver: node?.receiver ?? inherited.receiver,
    matchers,
    continue: node?.continue ?? false,
    groupBy: node?.group_by ? (node.group_by.includes('...') ? 'all' : node.group_by) : inherited.groupBy,
    groupWaitMs: node?.group_wait ?? inherited.groupWaitMs,
    groupIntervalMs: node?.group_interval ?? inherited.groupIntervalMs,
    repeatIntervalMs: node?.repeat_interval ?? inherited.repeatIntervalMs,
    ...(repeatBackoff !== undefined && { repeatBackoff }),
    ...(escalation && { escalation }),
    // Not inherited, as in Alertmanager.
    ...(node && node.mute_time_intervals.length > 0 && { muteTimeIntervals: node.mute_time_intervals }),
    ...(node && node.active_time_intervals.length > 0 && { activeTimeIntervals: node.active_time_intervals }),
  };
  const routes = readList(check, [...path, 'routes']).map((child, index) =>
    readNode(check, child, `${position}.${index}`, { ...route, routes: [] }, names),
  );
  return { ...route, routes };
}

const OPS = ['=', '!=', '=~', '!~'];

/** Alertmanager's form: the matchers sorted, so that their order in the file does not matter. */
function keyOf(matchers: readonly Matcher[]): string {
  const sorted = matchers.toSorted(
    (a, b) => compare(a.name, b.name) || compare(a.value, b.value) || OPS.indexOf(a.op) - OPS.indexOf(b.op),
  );
  return `{${sorted.map(formatMatcher).join(',')}}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** One of the two keys alone says nothing, unless it is `never`. */
function checkEscalation(check: Check, path: Path, names: readonly string[]): void {
  const after = check.raw([...path, 'escalate_after']);
  const to = check.raw([...path, 'escalate_to']);
  if (typeof to === 'string') checkReceiver(check, [...path, 'escalate_to'], to, names);
  if (to !== undefined && after === undefined) {
    check.problem([...path, 'escalate_after'], 'is missing: say how long to wait, such as 15m');
  }
  if (to === undefined && after !== undefined && after !== 'never') {
    check.problem([...path, 'escalate_to'], 'is missing: name the receiver that is told then');
  }
}

function escalationOf(
  afterMs: number | null | undefined,
  receiver: string | undefined,
  inherited: Route['escalation'],
): Route['escalation'] {
  if (afterMs === undefined) return inherited;
  return afterMs === null || receiver === undefined ? undefined : { afterMs, receiver };
}

function checkGroupBy(check: Check, path: Path): void {
  const list = check.raw(path);
  if (!Array.isArray(list)) return;
  if (list.includes('...') && list.length > 1) check.problem(path, '`...` means all labels and stands alone');
  list.forEach((label, index) => {
    if (list.indexOf(label) < index) check.problem([...path, index], 'stands here twice');
  });
}
