/**
 * Reads labels of routes, with which Alertmanager tells templates and programs something about a group that its
 * alerts do not say. A route inherits each of them separately. Labels that contain `{{` or `{%` are Liquid templates,
 * tried when the configuration is read. One label may use another, which a child route may override.
 */
import type { Check } from '../../document/check.ts';
import type { Path } from '../../document/problem.ts';
import { isMap } from '../../document/read-list.ts';
import { compileAt, renderedWithin } from '../../document/read-template.ts';
import type { Labels } from '../../domain/alert/alert.ts';
import type { LabelledGroup, Route } from '../../domain/routing/route.ts';
import { findGoSyntax } from '../../templates/go-syntax.ts';
import { compileTemplate, type Template, TemplateError } from '../../templates/liquid.ts';
import { manyLines } from '../../text/plain-text.ts';

/** By name: a text that is the same for every group, or a template. */
export type RouteLabels = ReadonlyMap<string, string | Template>;

export const NO_ROUTE_LABELS: RouteLabels = new Map();

const MAX_LENGTH = 2_000;

interface ReadLabels extends Pick<Route, 'writeLabels'> {
  readonly labels: RouteLabels;
}

/**
 * The labels at a path, including inherited ones. A label in Go's template syntax is left out;
 * `../warnings.ts` warns of it.
 */
export function readRouteLabels(check: Check, path: Path, inherited: RouteLabels): ReadLabels {
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
