import { basename } from 'node:path';
import * as z from 'zod';
import { type Check, isMap, readList, refuseRepeated } from '../../document/check.ts';
import { ConfigError, formatProblem, type Path } from '../../document/problem.ts';
import { readMatchers } from '../../document/read-matchers.ts';
import { compileAt, renderedWithin } from '../../document/read-template.ts';
import { duration, durationOrNever, labelMap, matcherList, words } from '../../document/value-shape.ts';
import { freeId, type Labels } from '../../domain/alert/alert.ts';
import {
  type DeclaredBird,
  keyOf,
  type Parameter,
  PLAIN_RULE,
  type Rule,
  ruleId,
  type WhatIsAnnotated,
} from '../../domain/alert/rule.ts';
import { sharedCause } from '../../domain/kinds/failures/shared-cause.ts';
import { isRuleOf, type Kind } from '../../domain/kinds/kind.ts';
import { ALERT_KINDS, DEFAULT_RULES, KINDS, kindOf } from '../../domain/kinds/kinds.ts';
import type { Matcher } from '../../domain/matchers/matcher.ts';
import { compileTemplate, type Template } from '../../templates/liquid.ts';
import { meantOr } from '../../text/mistake-words.ts';
import { formatDuration } from '../../time/duration.ts';
import { readDeclaredBirds } from '../declared-birds.ts';
import { checkTimeIntervalNames } from './time-intervals-section.ts';

/** A resolved alert is kept for an hour, so its changes are known that far back. */
const LONGEST_FLAPPING_MS = 3_600_000;

const steady = PLAIN_RULE.flapping;
const flappingShape = z.strictObject({
  changes: z
    .int()
    .min(0)
    .max(100)
    .prefault(steady.changes)
    .refine((changes) => changes !== 1, { error: 'must be at least 2, or 0 for never' })
    .describe('How many times it must fire or resolve, including the last time. 0 disables it.'),
  within: duration(60_000, LONGEST_FLAPPING_MS)
    .prefault(formatDuration(steady.withinMs))
    .describe('The time within which these changes count.'),
  calm: duration(60_000)
    .prefault(formatDuration(steady.calmMs))
    .describe('How long the cause must be gone before the alert resolves.'),
});

const commonShape = z.strictObject({
  name: words
    .optional()
    .describe('With a name, firing alerts stay with the rule even if its `match` changes.'),
  match: matcherList.prefault([]).describe('Matchers on labels, all of which must match.'),
  severity: words.optional().describe("Replaces the kind's own severity."),
  labels: labelMap.prefault({}).describe('Labels added to the alert.'),
  annotations: labelMap
    .prefault({})
    .describe(
      'Annotations added to the alert. A value with `{{ … }}` is a Liquid template, which may use `labels`, `summary` and `description`: `{{ labels.bird }}`. Messages show `runbook_url` as a link.',
    ),
  keep_firing_for: duration()
    .prefault('0s')
    .describe(
      'How long an alert keeps firing after its cause has gone. New events during that time belong to the same alert.',
    ),
  flapping: flappingShape
    .prefault({})
    .describe(
      'An alert that fires and resolves too often is marked once as flapping (annotation `flapping`) and keeps firing until it is calm.',
    ),
});

/** The keys that every rule has, and the parameters of its kind. */
type RuleInFile = z.output<typeof commonShape> & Readonly<Record<string, unknown>>;

/** Each kind has only the parameters that affect it. */
function ruleShape({ name, fires, resolves, parameters }: Kind) {
  const own: Record<string, z.ZodType> = {};
  for (const [field, parameter] of Object.entries(parameters)) {
    own[keyOf(field)] = parameterShape(parameter).describe(parameter.description);
  }
  return z
    .strictObject({
      kind: z.literal(name).describe('The kind of alert that the rule applies to.'),
      ...commonShape.shape,
      ...own,
    })
    .describe(`Fires when ${fires}. Resolves when ${resolves}.`);
}

const WHAT_A_PART_IS = { error: 'must be more than 0 and at most 1' };

const WHAT_A_FACTOR_IS = { error: 'must be more than 1 and at most 100' };

function parameterShape(parameter: Parameter): z.ZodType {
  switch (parameter.type) {
    case 'duration': {
      const preset = parameter.default === undefined ? undefined : formatDuration(parameter.default);
      return orPreset(duration(parameter.leastMs, parameter.mostMs), preset);
    }
    case 'duration or never': {
      const preset = parameter.default === null ? 'never' : formatDuration(parameter.default);
      return durationOrNever().prefault(preset);
    }
    case 'count':
      return orPreset(z.int().min(parameter.least).max(parameter.most), parameter.default);
    case 'part':
      return orPreset(z.number().gt(0, WHAT_A_PART_IS).max(1, WHAT_A_PART_IS), parameter.default);
    case 'factor':
      return orPreset(z.number().gt(1, WHAT_A_FACTOR_IS).max(100, WHAT_A_FACTOR_IS), parameter.default);
    case 'choice':
      return orPreset(z.enum(parameter.of), parameter.default);
    case 'flag':
      return orPreset(z.boolean(), parameter.default);
    case 'text':
      return orPreset(words, parameter.default);
    case 'birds file':
      return words.optional();
    case 'texts':
      return z.array(words).min(1, { error: 'must name at least one' }).optional();
    case 'time intervals':
      return z.array(words).prefault([...parameter.default]);
  }
}

function orPreset<Shape extends z.ZodType>(shape: Shape, preset: z.input<Shape> | undefined): z.ZodType {
  return preset === undefined ? shape.optional() : shape.prefault(preset as never);
}

const SHAPES = new Map<string, ReturnType<typeof ruleShape>>(
  KINDS.map((kind) => [kind.name, ruleShape(kind)]),
);

const [firstShape, ...otherShapes] = SHAPES.values();
export const rulesShape = z.array(z.discriminatedUnion('kind', [firstShape!, ...otherShapes]));

/** Labels that rules may still set, because they could before nestwatch had them. A rule's own label is kept. */
const FREE_LABELS = new Set([
  ...['type', 'receiver', 'integration', 'error_type', 'step'],
  ...['initiator', 'status'],
]);

/** Labels by which nestwatch says what an alert is about: a rule that changed them would hide it. */
const OWN_LABELS = new Set(
  ['alertname', ...KINDS.flatMap(({ labels }) => labels)].filter((name) => !FREE_LABELS.has(name)),
);

/** The configured rules, then one of each kind with its defaults. */
export function readRules(check: Check): Rule[] {
  const paths = readList(check, ['rules']);
  refuseRepeated(check, paths, 'rule');
  const read = paths.map((path) => ({ path, rule: readRule(check, path) }));
  const rules = read.flatMap(({ rule }) => rule ?? []);
  refuseRegions(check, read);
  const taken = new Set(rules.flatMap(({ name }) => name ?? []));
  return [...rules, ...DEFAULT_RULES].map(({ name, ...rule }: ReadRule) => {
    const id = name ?? freeId(rule.id, (one) => taken.has(one));
    taken.add(id);
    return { ...rule, id };
  });
}

type ReadRule = Rule & { readonly name?: string | undefined };

function readRule(check: Check, path: Path): ReadRule | undefined {
  const kind = readKind(check, path);
  if (!kind) return undefined;
  const match = readMatchers(check, [...path, 'match']);
  checkMatched(check, path, kind, match);
  checkLabels(check, [...path, 'labels']);
  for (const { key, isOfKey, message } of kind.mistakes?.((key) => check.plain([...path, key])) ?? []) {
    if (isOfKey) check.keyProblem([...path, key], message);
    else check.problem([...path, key], message);
  }
  for (const [field, { type }] of Object.entries(kind.parameters)) {
    if (type === 'time intervals') checkTimeIntervalNames(check, [...path, keyOf(field)]);
  }
  const rule = check.read(SHAPES.get(kind.name)!, path) as RuleInFile | undefined;
  if (!rule) return undefined;
  const { changes, within: withinMs, calm: calmMs } = rule.flapping;
  const own = Object.entries(kind.parameters).map(([field, { type }]) => {
    const key = keyOf(field);
    return [field, type === 'birds file' ? readBirdsFile(check, [...path, key]) : rule[key]];
  });
  return {
    ...PLAIN_RULE,
    id: ruleId(kind.name, match),
    name: rule.name,
    kind: kind.name,
    match,
    severity: rule.severity,
    labels: rule.labels,
    ...readAnnotations(check, [...path, 'annotations'], kind, rule),
    keepFiringForMs: rule.keep_firing_for,
    flapping: changes === 0 || kind.words.isMoment ? null : { changes, withinMs, calmMs },
    ...Object.fromEntries(own),
  };
}

/** What is declared in the file named at `path`; undefined if it is wrong. */
function readBirdsFile(check: Check, path: Path): readonly DeclaredBird[] | undefined {
  const part = check.part(path);
  if (!part) return undefined;
  try {
    return readDeclaredBirds(part.file, part.text, Object.keys(check.raw(['regions']) ?? {})).birds;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const [first, ...others] = error.problems;
    const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
    check.problem(path, `${formatProblem(basename(part.file), first!)}${more}`);
    return undefined;
  }
}

/** A negative matcher with a mistyped name would match everything. */
function checkMatched(check: Check, path: Path, kind: Kind, match: readonly Matcher[]): void {
  if (!kind.matchedOnly) return;
  const known = ['alertname', ...kind.labels, ...kind.matchedOnly].toSorted();
  for (const { name } of match.filter((one) => !known.includes(one.name))) {
    check.problem([...path, 'match'], `no event has ${name}; ${meantOr(name, known)}`);
  }
}

/**
 * An alert about a cause in all regions stands in for the failures of each, so no earlier rule can take those of some.
 * A later one gets only the errors that those across all regions leave.
 */
function refuseRegions(check: Check, read: readonly { path: Path; rule: Rule | undefined }[]): void {
  const last = read.findLastIndex(
    ({ rule }) => rule && isRuleOf(rule, sharedCause) && rule.across === 'all' && rule.birds > 0,
  );
  for (const { path, rule } of read.slice(0, last + 1)) {
    if (rule?.kind !== sharedCause.name || !rule.match.some(({ name }) => name === 'region')) continue;
    const message =
      'no rule of SharedCause can match region if it or a later one has `across: all`, whose alerts are about every region: leave out one or the other, or put this one after it';
    check.problem([...path, 'match'], message);
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

function readKind(check: Check, path: Path): Kind | undefined {
  const rule = check.raw(path);
  if (!isMap(rule)) {
    check.problem(path, 'must be a map with `kind` and its parameters');
    return undefined;
  }
  const name = check.raw([...path, 'kind']);
  // Not `String(name)`: a map could define its own conversion to text.
  const kind = typeof name === 'string' ? kindOf(name) : undefined;
  if (kind) return kind;
  const at = [...path, 'kind'];
  const known = `the kinds are ${ALERT_KINDS.join(', ')}`;
  if (name === undefined) check.problem(at, `is missing: ${known}`);
  else check.problem(at, `unknown kind; ${meantOr(name, ALERT_KINDS, known)}`);
  return undefined;
}

// Reads annotations of rules. Those that contain `{{` or `{%` are Liquid templates: they are tried when the
// configuration is read, and rendered with the labels of an alert whenever it fires or has news.

const SAMPLE_TEXT = 'Flight of Translate blog failed in Marketing (EU)';

/** A rule's annotations: the constant ones, and a function that renders the others. */
function readAnnotations(
  check: Check,
  path: Path,
  kind: Kind,
  { labels, annotations }: { readonly labels: Labels; readonly annotations: Labels },
): Pick<Rule, 'annotations' | 'writtenAnnotations'> {
  const names = ['alertname', 'severity', ...kind.labels, ...Object.keys(labels)];
  const sample: WhatIsAnnotated = {
    labels: Object.fromEntries(names.map((name) => [name, name])),
    summary: SAMPLE_TEXT,
    description: SAMPLE_TEXT,
  };
  const templates = Object.entries(annotations).flatMap(([name, text]): [string, Template][] => {
    if (!/\{[{%]/.test(text)) return [];
    const template = compileAt(check, [...path, name], () => compile(text, sample));
    return template ? [[name, template]] : [];
  });
  if (templates.length === 0) return { annotations };
  const written = new Set(templates.map(([name]) => name));
  return {
    annotations: Object.fromEntries(Object.entries(annotations).filter(([name]) => !written.has(name))),
    writtenAnnotations: (about) =>
      Object.fromEntries(
        templates.flatMap(([name, template]): [string, string][] => {
          const text = renderedWithin(() => template.render(about, 'lenient'));
          return text === undefined ? [] : [[name, text]];
        }),
      ),
  };
}

function compile(text: string, sample: WhatIsAnnotated): Template {
  const template = compileTemplate(text, 'text', sample);
  // A label that no alert of the kind has is a mistake; a label that only some alerts have is empty for the others.
  template.render(sample, 'strict');
  return template;
}
