/** Warns of rules that can never apply to any alert. */

import type { Check } from '../document/check.ts';
import { kindOf } from '../domain/kinds/kinds.ts';
import { formatMatcher, type Matcher, parseMatchers } from '../domain/matchers/matcher.ts';
import type { Config } from './config.ts';

/** The region of alerts that belong to none. */
const EVERYWHERE = 'all';

export function findIneffectiveRules(check: Check, { rules, regions }: Config): void {
  const names = regions.map(({ name }) => name);
  const regionsOf = (name: string) => {
    const kind = kindOf(name);
    if (kind?.isOfNoRegion) return [EVERYWHERE];
    return kind?.isAlsoOfNoRegion ? [...names, EVERYWHERE] : names;
  };
  const firstThatTakes = createRulesBefore();
  for (const [index, { kind, match }] of rules.entries()) {
    const path = ['rules', index];
    // The default rules after the configured ones are not in the file.
    if (check.raw(path) === undefined) return;
    const before = firstThatTakes(kind, match);
    if (before !== undefined) {
      const taken = rules[before]!.match.length === 0 ? '' : ' that this one would';
      check.problem(
        path,
        `this rule never applies: rules[${before}] takes all ${kind} before it${taken}; move it up or leave it out`,
      );
    }
    const texts = check.raw([...path, 'match']);
    for (const [position, text] of Array.isArray(texts) ? texts.entries() : []) {
      for (const matcher of parseMatchers(String(text))) {
        const why = whyNever(matcher, kind, regionsOf(kind));
        if (why) check.problem([...path, 'match', position], `this rule never applies: ${why}`);
      }
    }
  }
}

/**
 * Call the result for one rule after another. It returns the position of the first earlier rule that matches
 * everything this rule would, as far as the texts of their matchers show. There may be a rule for each of thousands
 * of Birds, so each is compared only with rules that contain its last matcher, which is usually the narrowest.
 */
function createRulesBefore(): (kind: string, match: readonly Matcher[]) => number | undefined {
  const before = new Map<string, { readonly place: number; readonly texts: readonly string[] }[]>();
  const keyOf = (kind: string, text: string) => `${kind} ${text}`;
  let count = 0;

  return (kind, match) => {
    const texts = match.map(formatMatcher);
    const own = new Set(texts);
    const places = ['', ...own]
      .flatMap((text) => before.get(keyOf(kind, text)) ?? [])
      .flatMap((wider) => (wider.texts.every((text) => own.has(text)) ? wider.place : []));
    const key = keyOf(kind, texts.at(-1) ?? '');
    const alike = before.get(key) ?? [];
    before.set(key, alike);
    alike.push({ place: count, texts });
    count += 1;
    return places.length > 0 ? Math.min(...places) : undefined;
  };
}

/** Why a matcher matches no alert of the kind, and what to do; undefined if it may match one. */
function whyNever(matcher: Matcher, kind: string, regions: readonly string[]): string | undefined {
  const { name } = matcher;
  const fitsOne = (values: readonly string[]) => values.some((value) => matcher.matches({ [name]: value }));
  if (name === 'alertname') {
    return fitsOne([kind]) ? undefined : 'the alertname is the kind: remove the matcher';
  }
  if (name === 'region') {
    return fitsOne(regions) ? undefined : `no region matches: match on ${regions.join(', ')}`;
  }
  // A missing label counts as empty.
  const labels = kindOf(kind)?.labels ?? [];
  if (labels.includes(name) || fitsOne([''])) return undefined;
  const known = ['alertname', ...labels].toSorted().join(', ');
  const hint = name === 'severity' ? ', it is what a rule decides' : '';
  return `there is no label ${name} yet${hint}: match on ${known}`;
}
