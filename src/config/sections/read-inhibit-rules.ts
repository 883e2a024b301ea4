import { BUILT_IN_INHIBITIONS, type InhibitRule } from '../../domain/muting/inhibit.ts';
import type { Check } from '../document/check.ts';
import { readList, readMatchers, refuseOldMatchers } from '../values/read-list.ts';
import { inhibitRuleShape } from './muting-shape.ts';

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
