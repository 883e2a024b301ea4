/** Warns of rules that can never decide anything: what they say is meant, and does not come about. */

import type { Check } from '../document/check.ts';
import { kindOf } from '../domain/kinds/kinds.ts';
import { formatMatcher, type Matcher, parseMatchers } from '../domain/matchers/matcher.ts';
import type { Config } from './config.ts';

/** The region of alerts that belong to none. */
const EVERYWHERE = 'all';

export function findIdleRules(check: Check, { rules, regions }: Config): void {
  const names = regions.map(({ name }) => name);
  const regionsOf = (name: string) => {
    const kind = kindOf(name);
    if (kind?.isOfNoRegion) return [EVERYWHERE];
    return kind?.isAlsoOfNoRegion ? [...names, EVERYWHERE] : names;
  };
  for (const [index, { kind, match }] of rules.entries()) {
    const path = ['rules', index];
    // Behind the configured ones stand the defaults.
    if (check.raw(path) === undefined) return;
    const before = rules
      .slice(0, index)
      .findIndex((rule) => rule.kind === kind && isWithin(rule.match, match));
    if (before !== -1) {
      const taken = rules[before]!.match.length === 0 ? '' : ' that this one would';
      check.problem(
        path,
        `this rule never acts: rules[${before}] takes all ${kind} before it${taken}; move it up or leave it out`,
      );
    }
    const texts = check.raw([...path, 'match']);
    for (const [position, text] of Array.isArray(texts) ? texts.entries() : []) {
      for (const matcher of parseMatchers(String(text))) {
        const why = whyNever(matcher, kind, regionsOf(kind));
        if (why) check.problem([...path, 'match', position], `this rule never acts: ${why}`);
      }
    }
  }
}

/** True when what fits `match` fits `wider` too, as far as their texts show. */
function isWithin(wider: readonly Matcher[], match: readonly Matcher[]): boolean {
  const texts = new Set(match.map(formatMatcher));
  return wider.every((matcher) => texts.has(formatMatcher(matcher)));
}

/** Why a matcher fits no alert of the kind, with what to do; undefined where it may fit one. */
function whyNever(matcher: Matcher, kind: string, regions: readonly string[]): string | undefined {
  const { name } = matcher;
  const fitsOne = (values: readonly string[]) => values.some((value) => matcher.matches({ [name]: value }));
  if (name === 'alertname') {
    return fitsOne([kind]) ? undefined : 'the alertname is the kind: take the matcher out';
  }
  if (name === 'region') {
    return fitsOne(regions) ? undefined : `no region fits: match on ${regions.join(', ')}`;
  }
  // What has no such label counts as empty.
  const labels = kindOf(kind)?.labels ?? [];
  if (labels.includes(name) || fitsOne([''])) return undefined;
  const known = ['alertname', ...labels].toSorted().join(', ');
  const hint = name === 'severity' ? ', it is what a rule decides' : '';
  return `there is no label ${name} yet${hint}: match on ${known}`;
}
