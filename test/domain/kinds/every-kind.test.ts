import { expect, test } from 'vitest';
import type { Fact } from '../../../src/domain/alert/fact.ts';
import { rulesConcerning } from '../../../src/domain/evaluate/choose-rule.ts';
import { ALERT_KINDS, type AlertKind, KINDS, kindOf } from '../../../src/domain/kinds/kinds.ts';
import { parseMatchers } from '../../../src/domain/matchers/matcher.ts';
import { birdStatus, connectionLost, rule } from '../world.ts';
import { RAISING_FACTS } from './raising-facts.ts';

const EVERY_LABEL = new Set([...KINDS.flatMap(({ labels }) => labels), 'alertname', 'severity', 'team']);

test.each(ALERT_KINDS)('the matchers of %s see the labels that are listed for it', (kind) => {
  const seen = [...EVERY_LABEL].filter((name) => {
    const rules = [rule(kind, { match: parseMatchers(`${name}!=""`) })];
    return rulesConcerning(RAISING_FACTS[kind][0]!, rules).some((one) => one.kind === kind && one.rule === 0);
  });
  expect(seen.toSorted()).toEqual([...kindOf(kind)!.labels, 'alertname'].toSorted());
});

/** Facts that raise a kind with another severity than its `RAISING_FACTS` do. */
const OTHERS: Partial<Record<AlertKind, readonly Fact[]>> = {
  BirdDeactivated: [birdStatus('suspended', 1, 'active')],
  ConnectionDisconnected: [connectionLost(1, 'Retrying')],
};

test.each(KINDS)('the severities of $name are those that its topics have', (kind) => {
  const facts = [...RAISING_FACTS[kind.name], ...(OTHERS[kind.name] ?? [])];
  const topics = facts.map((fact) => kind.topic(fact));
  const given = topics.flatMap((topic) => topic?.severity ?? kind.severities[0]!);
  expect(new Set(given)).toEqual(new Set(kind.severities));
});

test.each(KINDS)('what takes over from $name is a kind', ({ supersededBy = 'FlightFailed' }) => {
  expect(ALERT_KINDS).toContain(supersededBy);
});
