import { ALERT_KINDS, type AlertKind, RULE_DEFAULTS, type Rule } from '../alerts/rule.ts';
import type { Check } from './check.ts';
import { RULE_SHAPES } from './file-shape.ts';
import { nearest } from './nearest.ts';
import type { Path } from './problem.ts';
import { readList, readMatchers } from './read-list.ts';

/** Kinds of alerts that people may have read of and that this version does not judge. */
const LATER_KINDS = ['FlightStuck', 'BirdStale', 'SchemaDrift', 'DeliveryFailing'];

/** Labels by which nestwatch says what an alert is about: a rule that changed them would hide it. */
const OWN_LABELS = new Set([
  ...['alertname', 'region', 'nest_id', 'nest', 'bird_id', 'bird'],
  ...['entity_type', 'entity_id', 'entity_name', 'error'],
]);

/** The configured rules, then one of each kind with its defaults. */
export function readRules(check: Check): Rule[] {
  const configured = readList(check, ['rules']).flatMap((path) => readRule(check, path) ?? []);
  return [...configured, ...ALERT_KINDS.map(defaultRule)];
}

function defaultRule(kind: AlertKind): Rule {
  return { kind, match: [], severity: undefined, labels: {}, annotations: {}, ...RULE_DEFAULTS[kind] };
}

function readRule(check: Check, path: Path): Rule | undefined {
  const kind = readKind(check, path);
  if (!kind) return undefined;
  const match = readMatchers(check, [...path, 'match']);
  checkLabels(check, [...path, 'labels']);
  const rule = check.read(RULE_SHAPES[kind], path);
  if (!rule) return undefined;
  const defaults = RULE_DEFAULTS[kind];
  return {
    kind,
    match,
    severity: rule.severity,
    labels: rule.labels,
    annotations: rule.annotations,
    forEach: 'for_each' in rule ? rule.for_each : defaults.forEach,
    threshold: 'threshold' in rule ? rule.threshold : defaults.threshold,
    windowMs: 'window' in rule ? rule.window : defaults.windowMs,
    forMs: 'for' in rule ? rule.for : defaults.forMs,
    resolveAfterMs: 'resolve_after' in rule ? rule.resolve_after : defaults.resolveAfterMs,
  };
}

function checkLabels(check: Check, path: Path): void {
  for (const name of Object.keys(check.raw(path) ?? {})) {
    if (name === 'severity') {
      check.keyProblem([...path, name], 'write `severity` beside `kind` instead');
    } else if (OWN_LABELS.has(name)) {
      check.keyProblem([...path, name], 'is set by nestwatch: choose another name');
    }
  }
}

function readKind(check: Check, path: Path): AlertKind | undefined {
  const rule = check.raw(path);
  if (typeof rule !== 'object' || rule === null || Array.isArray(rule)) {
    check.problem(path, 'must be a map with `kind` and its parameters');
    return undefined;
  }
  const kind = check.raw([...path, 'kind']);
  const at = [...path, 'kind'];
  const known = `the kinds are ${ALERT_KINDS.join(', ')}`;
  if (kind === undefined) check.problem(at, `is missing: ${known}`);
  else if (isKind(kind)) return kind;
  else if (LATER_KINDS.includes(String(kind))) {
    check.problem(at, `is not supported by this version: ${known}`);
  } else {
    const meant = nearest(String(kind), ALERT_KINDS);
    check.problem(at, `unknown kind; ${meant ? `did you mean ${meant}?` : known}`);
  }
  return undefined;
}

function isKind(kind: unknown): kind is AlertKind {
  return (ALERT_KINDS as readonly unknown[]).includes(kind);
}
