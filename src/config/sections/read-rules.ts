import {
  ALERT_KINDS,
  type AlertKind,
  defaultRule,
  RULE_DEFAULTS,
  type Rule,
} from '../../domain/alert/rule.ts';
import type { Check } from '../document/check.ts';
import { nearest } from '../document/nearest.ts';
import type { Path } from '../document/problem.ts';
import { readList, readMatchers } from '../values/read-list.ts';
import { RULE_SHAPES } from './rule-shape.ts';

/** Labels by which nestwatch says what an alert is about: a rule that changed them would hide it. */
const OWN_LABELS = new Set([
  ...['alertname', 'region', 'nest_id', 'nest', 'bird_id', 'bird'],
  ...['entity_type', 'entity_id', 'entity_name', 'error', 'flight_id', 'feed'],
]);

/** The configured rules, then one of each kind with its defaults. */
export function readRules(check: Check): Rule[] {
  const configured = readList(check, ['rules']).flatMap((path) => readRule(check, path) ?? []);
  return [...configured, ...ALERT_KINDS.map(defaultRule)];
}

function readRule(check: Check, path: Path): Rule | undefined {
  const kind = readKind(check, path);
  if (!kind) return undefined;
  const match = readMatchers(check, [...path, 'match']);
  checkLabels(check, [...path, 'labels']);
  if (kind === 'FlightFailed') checkThreshold(check, path);
  const rule = check.read(RULE_SHAPES[kind], path);
  if (!rule) return undefined;
  const { changes, within: withinMs, calm: calmMs } = rule.flapping;
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
    ...('consecutive' in rule && { consecutive: rule.consecutive }),
    ...('ratio' in rule && {
      ratio: rule.ratio === undefined ? undefined : { least: rule.ratio, ofLast: rule.of_last ?? 1 },
    }),
    ...('max_duration' in rule && { maxDurationMs: rule.max_duration }),
    ...('expect_every' in rule && { expectEveryMs: rule.expect_every }),
    forMs: 'for' in rule ? rule.for : defaults.forMs,
    keepFiringForMs: rule.keep_firing_for,
    flapping: changes === 0 ? null : { changes, withinMs, calmMs },
    resolveAfterMs: 'resolve_after' in rule ? rule.resolve_after : defaults.resolveAfterMs,
  };
}

/** A rule has one way to say how many failures are too many, and each way its own companions. */
function checkThreshold(check: Check, path: Path): void {
  const given = (name: string) => check.raw([...path, name]) !== undefined;
  const [own = 'threshold', ...others] = ['threshold', 'consecutive', 'ratio'].filter(given);
  for (const name of others) {
    check.keyProblem([...path, name], 'give only one of `threshold`, `consecutive` and `ratio`');
  }
  const forEach = check.raw([...path, 'for_each']) ?? 'bird';
  const threshold = check.raw([...path, 'threshold']) ?? 1;
  if (own === 'threshold') {
    if (forEach === 'flight' && threshold !== 1) {
      check.keyProblem([...path, 'threshold'], 'a Flight fails once: leave it out with `for_each: flight`');
    }
  } else if (forEach !== 'bird') {
    check.problem(
      [...path, 'for_each'],
      `\`${own}\` looks at all Flights of a Bird: leave \`for_each\` out, or say bird`,
    );
  }
  if (own !== 'threshold' && given('window')) {
    check.keyProblem([...path, 'window'], 'belongs to `threshold`: leave it out');
  }
  if (own !== 'ratio' && given('of_last')) {
    check.keyProblem([...path, 'of_last'], 'belongs to `ratio`: give it, or leave this out');
  }
  if (own === 'ratio' && !given('of_last')) {
    check.keyProblem([...path, 'ratio'], 'needs `of_last`: how many of the last Flights it looks at');
  }
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
  else {
    const meant = nearest(String(kind), ALERT_KINDS);
    check.problem(at, `unknown kind; ${meant ? `did you mean ${meant}?` : known}`);
  }
  return undefined;
}

function isKind(kind: unknown): kind is AlertKind {
  return (ALERT_KINDS as readonly unknown[]).includes(kind);
}
