/**
 * Warns of matchers and label names that can never match an alert, a forwarded event or a Nest, which are usually typing
 * mistakes. Label names are a closed set, and so are the values of some labels. Matchers of rules have their own
 * check (`warnings.ts`).
 */
import type { Check } from '../document/check.ts';
import type { Path } from '../document/problem.ts';
import { type Labels, labelOf } from '../domain/alert/alert.ts';
import { EVENT_FEEDS, EVENT_TYPES } from '../domain/alert/event.ts';
import { ALERT_KINDS, KINDS, kindOf } from '../domain/kinds/kinds.ts';
import { formatMatcher, type Matcher, parseMatchers } from '../domain/matchers/matcher.ts';
import type { Route } from '../domain/routing/route.ts';
import { nearest } from '../text/mistake-words.ts';
import type { Config } from './config.ts';
import { OBJECTIVE_LABELS } from './sections/objectives-section.ts';

/** The rules, the names of the regions, and the labels of alerts that fire, which may be of other rules than these. */
interface KnownAlerts {
  readonly rules: Config['rules'];
  readonly regions: readonly string[];
  readonly firing: readonly Labels[];
}

/** Why matchers can never match an alert, or match all: one clause each. */
export function alertSlips(matchers: readonly Matcher[], known: KnownAlerts): string[] {
  const vocabulary = alertVocabulary(known);
  return matchers.flatMap((one) => slipIn(one, vocabulary) ?? []);
}

/** The label names that something can have, and all values of labels with a closed set. */
interface Vocabulary {
  /** `alert`, `event` or `Nest`. */
  readonly what: string;
  readonly names: readonly string[];
  readonly values: ReadonlyMap<string, readonly string[]>;
  /** Labels that may get other values as well: only a value close to a known one is reported. */
  readonly open: ReadonlySet<string>;
}

export function findLabelSlips(check: Check, config: Config): void {
  const regions = config.regions.map(({ name }) => name);
  const ofAlerts = alertVocabulary({ rules: config.rules, regions, firing: [] });
  checkRoute(check, ['route'], config.route, ofAlerts);
  for (const index of config.inhibitRules.keys()) {
    const path = ['inhibit_rules', index];
    checkMatchers(check, [...path, 'source_matchers'], ofAlerts);
    checkMatchers(check, [...path, 'target_matchers'], ofAlerts);
    checkNames(check, [...path, 'equal'], ofAlerts);
  }
  for (const index of config.actions?.keys() ?? [])
    checkMatchers(check, ['actions', index, 'match'], ofAlerts);
  const ofEvents = eventVocabulary(config);
  for (const index of config.forward.keys()) checkMatchers(check, ['forward', index, 'matchers'], ofEvents);
  const ofNests = nestVocabulary(config);
  for (const index of (config.objectives ?? []).keys())
    checkMatchers(check, ['objectives', index, 'match'], ofNests);
}

function alertVocabulary({ rules, regions, firing }: KnownAlerts): Vocabulary {
  const ofFiring = (name: string) => firing.flatMap((labels) => labelOf(labels, name) ?? []);
  const names = [
    'alertname',
    'severity',
    // Alerts of kinds on request have it.
    ...(rules.some(({ kind }) => kindOf(kind)?.isOnRequest) ? ['rule'] : []),
    ...KINDS.flatMap(({ labels, laterLabels = [] }) => [...labels, ...laterLabels]),
    ...[...rules.map(({ labels }) => labels), ...firing].flatMap((labels) => Object.keys(labels)),
  ];
  const severities = [
    ...KINDS.flatMap((kind): readonly string[] => kind.severities),
    ...rules.flatMap(({ severity }) => severity ?? []),
    ...ofFiring('severity'),
  ];
  return {
    what: 'alert',
    names: [...new Set(names)],
    values: new Map<string, readonly string[]>([
      ['alertname', [...new Set([...ALERT_KINDS, ...ofFiring('alertname')])]],
      ['severity', [...new Set(severities)]],
      ['region', [...new Set([...regions, 'all', ...ofFiring('region')])]],
    ]),
    open: new Set(),
  };
}

function eventVocabulary({ regions }: Config): Vocabulary {
  return {
    what: 'event',
    names: ['region', 'feed', 'type', 'nest_id', 'nest', 'bird_id', 'bird'],
    values: new Map<string, readonly string[]>([
      ['region', regions.map(({ name }) => name)],
      ['feed', EVENT_FEEDS],
      ['type', EVENT_FEEDS.flatMap((feed) => EVENT_TYPES[feed])],
    ]),
    open: new Set(['type']),
  };
}

/** Other labels than these are refused (`sections/objectives-section.ts`). */
function nestVocabulary({ regions }: Config): Vocabulary {
  return {
    what: 'Nest',
    names: OBJECTIVE_LABELS,
    values: new Map([['region', regions.map(({ name }) => name)]]),
    open: new Set(),
  };
}

function checkRoute(check: Check, path: Path, route: Route, vocabulary: Vocabulary): void {
  checkMatchers(check, [...path, 'matchers'], vocabulary);
  checkNames(check, [...path, 'group_by'], vocabulary);
  for (const [index, child] of route.routes.entries()) {
    checkRoute(check, [...path, 'routes', index], child, vocabulary);
  }
}

function checkNames(check: Check, path: Path, vocabulary: Vocabulary): void {
  for (const [index, name] of listAt(check, path).entries()) {
    if (name === '...' || vocabulary.names.includes(name)) continue;
    check.problem([...path, index], unknownName(name, vocabulary));
  }
}

function checkMatchers(check: Check, path: Path, vocabulary: Vocabulary): void {
  for (const [index, text] of listAt(check, path).entries()) {
    for (const matcher of parseMatchers(text)) {
      const slip = slipIn(matcher, vocabulary);
      if (slip) check.problem([...path, index], slip);
    }
  }
}

/** What is wrong with a matcher; undefined if it may match some things and not others. */
function slipIn(matcher: Matcher, vocabulary: Vocabulary): string | undefined {
  const { name, op, value } = matcher;
  if (!vocabulary.names.includes(name)) return unknownName(name, vocabulary);
  const values = vocabulary.values.get(name);
  // A missing label counts as empty, so an empty value asks whether the label is present.
  if (values === undefined || value === '') return undefined;
  const isNegated = op === '!=' || op === '!~';
  if (values.some((one) => matcher.matches({ [name]: one }) !== isNegated)) return undefined;
  const meant = op === '=' || op === '!=' ? nearest(value, values) : undefined;
  if (vocabulary.open.has(name)) {
    return (
      meant && `no ${vocabulary.what} is known with ${name} ${JSON.stringify(value)}; did you mean ${meant}?`
    );
  }
  const known = meant ? `did you mean ${meant}?` : `there are ${values.join(', ')}`;
  return `${formatMatcher(matcher)} matches ${isNegated ? 'every' : 'no'} ${vocabulary.what}; ${known}`;
}

function unknownName(name: string, { what, names }: Vocabulary): string {
  const meant = nearest(name, names);
  const known = meant ? `did you mean ${meant}?` : `there are ${names.toSorted().join(', ')}`;
  return `no ${what} has a label ${JSON.stringify(name)}; ${known}`;
}

function listAt(check: Check, path: Path): string[] {
  const list = check.raw(path);
  return Array.isArray(list) ? list.map(String) : [];
}
