import * as z from 'zod';
import type { Check } from '../../document/check.ts';
import { readList, readMatchers, refuseOldMatchers } from '../../document/read-list.ts';
import { writeMatchers } from '../../document/refused-key.ts';
import { labelName, matcherList, words } from '../../document/value-shape.ts';
import { BUILT_IN_INHIBITIONS, type InhibitRule } from '../../domain/muting/inhibit.ts';

export const inhibitRuleShape = z.strictObject({
  name: words.optional().describe('A name for people.'),
  source_matchers: matcherList.min(1).describe('While an alert fires that fits these …'),
  target_matchers: matcherList.min(1).describe('… no message is sent about those that fit these.'),
  equal: z.array(labelName).prefault([]).describe('Labels that must have the same values in both.'),
  source_match: writeMatchers('source_matchers', '\'name="value"\''),
  source_match_re: writeMatchers('source_matchers', '\'name=~"regex"\''),
  target_match: writeMatchers('target_matchers', '\'name="value"\''),
  target_match_re: writeMatchers('target_matchers', '\'name=~"regex"\''),
});

/** The rules of the file, then those that are built in. */
export function readInhibitRules(check: Check): InhibitRule[] {
  const configured = readList(check, ['inhibit_rules']).flatMap((path) => {
    const sourceMatchers = readMatchers(check, [...path, 'source_matchers']);
    const targetMatchers = readMatchers(check, [...path, 'target_matchers']);
    refuseOldMatchers(check, path, 'source_');
    refuseOldMatchers(check, path, 'target_');
    const rule = check.read(inhibitRuleShape, path);
    return rule ? [{ sourceMatchers, targetMatchers, equal: rule.equal }] : [];
  });
  return [...configured, ...BUILT_IN_INHIBITIONS];
}
