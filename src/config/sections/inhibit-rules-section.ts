import * as z from 'zod';
import { type Check, isMap, readList } from '../../document/check.ts';
import type { Path } from '../../document/problem.ts';
import { oldMatcherKeys, readAllMatchers } from '../../document/read-matchers.ts';
import { labelName, matcherList, words } from '../../document/value-shape.ts';
import type { Matcher } from '../../domain/matchers/matcher.ts';
import { BUILT_IN_INHIBITIONS, type InhibitRule } from '../../domain/muting/muting.ts';

export const inhibitRuleShape = z.strictObject({
  name: words.optional().describe('A name for people to read.'),
  source_matchers: matcherList.prefault([]).describe('While an alert that matches these fires … Required.'),
  target_matchers: matcherList
    .prefault([])
    .describe('… no message is sent about alerts that match these. Required.'),
  equal: z
    .array(labelName)
    .prefault([])
    .describe('Labels that must have the same value in the source and the target.'),
  ...oldMatcherKeys('source_'),
  ...oldMatcherKeys('target_'),
});

/** The rules of the file, then the built-in ones. */
export function readInhibitRules(check: Check): InhibitRule[] {
  const configured = readList(check, ['inhibit_rules']).flatMap((path) => {
    const sourceMatchers = readRequired(check, path, 'source_');
    const targetMatchers = readRequired(check, path, 'target_');
    const rule = check.read(inhibitRuleShape, path);
    return rule ? [{ sourceMatchers, targetMatchers, equal: rule.equal }] : [];
  });
  return [...configured, ...BUILT_IN_INHIBITIONS];
}

/**
 * Matchers are required: without them a rule would mute everything, or mute because of anything, which is hardly
 * intended.
 */
function readRequired(check: Check, path: Path, prefix: 'source_' | 'target_'): Matcher[] {
  const isThere = ['matchers', 'match', 'match_re'].some((key) => {
    const value = check.raw([...path, `${prefix}${key}`]);
    return typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : value !== undefined;
  });
  const at = [...path, `${prefix}matchers`];
  if (!isThere && isMap(check.raw(path))) {
    check.problem(at, check.raw(at) === undefined ? 'is missing' : 'must not be empty');
  }
  return readAllMatchers(check, path, prefix);
}
