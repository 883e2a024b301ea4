import * as z from 'zod';
import { type Check, checkName, isMap, namesIn, readList } from '../../document/check.ts';
import type { Path } from '../../document/problem.ts';
import { oldMatcherKeys, readAllMatchers } from '../../document/read-matchers.ts';
import { compileAt, renderedWithin } from '../../document/read-template.ts';
import { duration, durationOrNever, groupLabel, matcherList, words } from '../../document/value-shape.ts';
import type { Labels } from '../../domain/alert/alert.ts';
import { formatMatcher, type Matcher } from '../../domain/matchers/matcher.ts';
import type { LabelledGroup, Route } from '../../domain/routing/route.ts';
import { findGoSyntax } from '../../templates/go-syntax.ts';
import { compileTemplate, type Template, TemplateError } from '../../templates/liquid.ts';
import { manyLines } from '../../text/plain-text.ts';
import { formatDuration } from '../../time/duration.ts';
import { checkTimeIntervalNames } from './time-intervals-section.ts';

/** The receiver of all alerts if the file has no `route`. */
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

const CHILDREN =
  'Child routes, with the same keys. The first that matches gets the alert; an alert that none matches stays with this route.';

const routeShape = z.strictObject({
  receiver: words.optional().describe('Name of a receiver. The root route must have one.'),
  matchers: matcherList
    .prefault([])
    .describe(
      'Matchers on labels, all of which must match, such as `severity="critical"`. The root has none.',
    ),
  continue: z
    .boolean()
    .prefault(false)
    .describe('Whether matching continues with the next routes after this one matched.'),
  group_by: z
    .array(groupLabel)
    .optional()
    .describe(
      'Labels to group by: alerts with the same values share one message. `[alertname, region, error]` makes one message of one cause in eight Birds; with `nest` in place of `error`, each Nest has its own. `["..."]` puts every alert in a group of its own.',
    ),
  group_wait: duration()
    .optional()
    .meta({
      preset: formatDuration(ROUTE_DEFAULTS.groupWaitMs),
      description:
        'How long a new group waits for more alerts. So long also waits what is more severe than all that its group told since it was last at rest, even if `group_interval` is longer. While a hundred or more alerts at a time join a group that is due, it waits up to 2s longer, so that they all go into one message.',
    }),
  group_interval: duration(10)
    .optional()
    .meta({
      preset: formatDuration(ROUTE_DEFAULTS.groupIntervalMs),
      description: 'Minimum time between two messages about changes in a group.',
    }),
  repeat_interval: duration(10)
    .optional()
    .meta({
      preset: formatDuration(ROUTE_DEFAULTS.repeatIntervalMs),
      description: 'How long until a message about alerts that still fire is repeated.',
    }),
  repeat_backoff: z.number().min(1).max(10).optional().meta({
    preset: 1,
    description: 'Factor by which each repetition waits longer than the one before, until something changes.',
  }),
  escalate_to: words
    .optional()
    .describe(
      'A second receiver. It is notified once of the alerts that still fire and are not silenced `escalate_after` after the first notification.',
    ),
  escalate_after: durationOrNever()
    .optional()
    .describe(
      'How long after the first notification `escalate_to` is notified. `never` turns off an inherited escalation.',
    ),
  routes: z.array(z.unknown()).prefault([]).describe(CHILDREN),
  // Any name is allowed, as in Alertmanager: these are not labels of alerts.
  labels: z
    .record(words, z.string())
    .prefault({})
    .describe(
      'Labels of the route. Templates and webhook bodies receive them as `routeLabels`; alerts do not get them. Each is inherited on its own. A value with `{{ … }}` is a Liquid template, which may use `groupLabels`, `commonLabels` and other `routeLabels`.',
    ),
  ...oldMatcherKeys(''),
  mute_time_intervals: z
    .array(words)
    .prefault([])
    .describe(
      'Time intervals during which nothing is sent. Alerts that still fire at the end are sent then.',
    ),
  active_time_intervals: z
    .array(words)
    .prefault([])
    .describe(
      'Time intervals outside of which nothing is sent. Alerts that still fire when one begins are sent then.',
    ),
});

/** What a route takes from the one above it unless it says otherwise; its labels and its escalation apart. */
export const INHERITED_KEYS: ReadonlySet<string> = new Set([
  'receiver',
  'group_by',
  'group_wait',
  'group_interval',
  'repeat_interval',
  'repeat_backoff',
] satisfies readonly (keyof typeof routeShape.shape)[]);

/** A route with its children, for the JSON schema; the checks read each route by itself. */
export const wholeRouteShape = routeShape.extend({
  get routes() {
    return z.array(wholeRouteShape).optional().describe(CHILDREN);
  },
});

/** The route tree; without one, everything goes to the receiver `default`. */
export function readRoute(check: Check): Route {
  const names = namesIn(check, 'receivers');
  const root = { path: '0', key: '{}', matchers: [], continue: false };
  if (check.raw(['route']) === undefined) {
    const isReached = names.length === 0 || names.includes(DEFAULT_RECEIVER);
    if (!isReached && readList(check, ['forward']).length === 0) {
      check.problem(['route'], 'is missing: without it nothing reaches the receivers');
    }
    return { ...root, ...ROUTE_DEFAULTS, routes: [] };
  }
  for (const key of [
    'matchers',
    'match',
    'match_re',
    'continue',
    'mute_time_intervals',
    'active_time_intervals',
  ]) {
    if (isSet(check.plain(['route', key]))) {
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

/** A route with its labels as written, for routes that inherit them. */
type LabelledRoute = Route & { readonly labels: RouteLabels };

/** One node and those below it. A node with mistakes uses inherited values, so that its children are still checked. */
function readNode(
  check: Check,
  path: Path,
  position: string,
  parent: LabelledRoute | undefined,
  names: readonly string[],
): Route {
  const inherited: Settings = parent ?? ROUTE_DEFAULTS;
  checkName(check, [...path, 'receiver'], names, 'receiver');
  checkGroupBy(check, [...path, 'group_by']);
  checkEscalation(check, path, names, inherited.escalation);
  checkTimeIntervalNames(check, [...path, 'mute_time_intervals']);
  checkTimeIntervalNames(check, [...path, 'active_time_intervals']);
  const matchers = readAllMatchers(check, path);
  const node = check.read(routeShape, path);
  const repeatBackoff = node?.repeat_backoff ?? inherited.repeatBackoff;
  const escalation = escalationOf(node?.escalate_after, node?.escalate_to, inherited.escalation);
  const { labels, writeLabels } = readRouteLabels(
    check,
    [...path, 'labels'],
    parent?.labels ?? NO_ROUTE_LABELS,
  );
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
    ...(writeLabels && { writeLabels }),
  };
  const routes = readList(check, [...path, 'routes']).map((child, index) =>
    readNode(check, child, `${position}.${index}`, { ...route, labels, routes: [] }, names),
  );
  return { ...route, routes };
}

const OPS = ['=', '!=', '=~', '!~'];

/** Alertmanager's form: the matchers are sorted, so that their order in the file does not matter. */
function keyOf(matchers: readonly Matcher[]): string {
  const sorted = matchers.toSorted(
    (a, b) => compare(a.name, b.name) || compare(a.value, b.value) || OPS.indexOf(a.op) - OPS.indexOf(b.op),
  );
  return `{${sorted.map(formatMatcher).join(',')}}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

type Escalation = Route['escalation'];

/** One of the two keys alone has no effect unless the other is inherited, except `never`. */
function checkEscalation(check: Check, path: Path, names: readonly string[], inherited: Escalation): void {
  const after = check.raw([...path, 'escalate_after']);
  const to = check.raw([...path, 'escalate_to']);
  checkName(check, [...path, 'escalate_to'], names, 'receiver');
  if (inherited) return;
  if (to !== undefined && after === undefined) {
    check.problem([...path, 'escalate_after'], 'is missing: say how long to wait, such as 15m');
  }
  if (to === undefined && after !== undefined && after !== 'never') {
    check.problem([...path, 'escalate_to'], 'is missing: name the receiver that is notified then');
  }
}

/** `after` in milliseconds; null for `never`. */
function escalationOf(
  after: number | null | undefined,
  to: string | undefined,
  inherited: Escalation,
): Escalation {
  const afterMs = after === undefined ? inherited?.afterMs : after;
  const receiver = to ?? inherited?.receiver;
  return afterMs == null || receiver === undefined ? undefined : { afterMs, receiver };
}

function checkGroupBy(check: Check, path: Path): void {
  const list = check.raw(path);
  if (!Array.isArray(list)) return;
  if (list.includes('...') && list.length > 1) check.problem(path, '`...` means all labels and stands alone');
  list.forEach((label, index) => {
    if (list.indexOf(label) < index) check.problem([...path, index], 'stands here twice');
  });
}

// Reads labels of routes, with which Alertmanager tells templates and programs something about a group that its
// alerts do not say. A route inherits each of them separately. Labels that contain `{{` or `{%` are Liquid templates,
// tried when the configuration is read. One label may use another, which a child route may override.

/** By name: a text that is the same for every group, or a template. */
type RouteLabels = ReadonlyMap<string, string | Template>;

const NO_ROUTE_LABELS: RouteLabels = new Map();

/** In code points; a longer label that a template writes is cut. */
const MAX_LENGTH = 2_000;

interface ReadLabels extends Pick<Route, 'writeLabels'> {
  readonly labels: RouteLabels;
}

/**
 * The labels at a path, including inherited ones. A label in Go's template syntax is left out;
 * `../warnings.ts` warns of it.
 */
function readRouteLabels(check: Check, path: Path, inherited: RouteLabels): ReadLabels {
  const labels = new Map(inherited);
  const own = check.raw(path);
  for (const [name, text] of Object.entries(isMap(own) ? own : {})) {
    if (typeof text !== 'string') continue;
    labels.delete(name);
    if (findGoSyntax(text)) continue;
    const written = /\{[{%]/.test(text)
      ? compileAt(check, [...path, name], () => compileTemplate(text, 'text', { ...SAMPLE, routeLabels: {} }))
      : text;
    if (written !== undefined) labels.set(name, written);
  }
  if (labels.size === 0) return { labels };
  // A child that overrides a label may create a cycle.
  if (own !== undefined) tryOut(check, path, labels);
  return { labels, writeLabels: (group) => write(labels, group) };
}

const LABELS = { alertname: 'FlightFailed', severity: 'critical', region: 'eu', nest: 'Marketing' };
const SAMPLE: LabelledGroup = { groupLabels: LABELS, commonLabels: LABELS };

function tryOut(check: Check, path: Path, labels: RouteLabels): void {
  for (const name of labels.keys()) {
    try {
      valuesOf(labels, SAMPLE)(name);
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
      check.problem(path, `${name}: ${error.message}`);
      return;
    }
  }
}

/** Drops labels that exceed a limit for a group: a label must not keep a group from notifying. */
function write(labels: RouteLabels, group: LabelledGroup): Labels {
  const textOf = valuesOf(labels, group);
  const written = [...labels.keys()].flatMap((name): [string, string][] => {
    const text = renderedWithin(() => textOf(name));
    return text === undefined ? [] : [[name, text]];
  });
  return Object.fromEntries(written);
}

/** Returns a function that renders each label at most once, on first use. */
function valuesOf(
  labels: RouteLabels,
  { groupLabels, commonLabels }: LabelledGroup,
): (name: string) => string {
  const known = new Map<string, string>();
  const underWay = new Set<string>();
  const routeLabels = {};
  const textOf = (name: string): string => {
    const before = known.get(name);
    if (before !== undefined) return before;
    if (underWay.has(name)) throw new TemplateError(`routeLabels.${name} is written by means of itself`);
    underWay.add(name);
    const text = labels.get(name)!;
    const variables = { groupLabels, commonLabels, routeLabels };
    const value = typeof text === 'string' ? text : manyLines(text.render(variables, 'lenient'), MAX_LENGTH);
    underWay.delete(name);
    known.set(name, value);
    return value;
  };
  for (const name of labels.keys()) {
    Object.defineProperty(routeLabels, name, { enumerable: true, get: () => textOf(name) });
  }
  return textOf;
}
