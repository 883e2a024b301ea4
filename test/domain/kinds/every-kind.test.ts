import { expect, test } from 'vitest';
import type { Fact } from '../../../src/domain/alert/fact.ts';
import { rulesConcerning } from '../../../src/domain/evaluate/choose-rule.ts';
import { ALERT_KINDS, type AlertKind, KINDS, kindOf } from '../../../src/domain/kinds/kinds.ts';
import { parseMatchers } from '../../../src/domain/matchers/matcher.ts';
import {
  birdIdle,
  birdLog,
  birdStatus,
  connectionLost,
  flight,
  inAir,
  notification,
  regionHealth,
  rule,
} from '../world.ts';

const entity = { type: 'Connection', id: '77', name: 'Acme CMS' };
const SINCE = { sinceUs: 1, reason: 'x' };

/** A fact of each kind with everything that it can say. */
const FACTS: Readonly<Record<AlertKind, Fact>> = {
  FlightFailed: flight('failed', { started: 0, at: 1, message: 'boom' }),
  FlightStuck: inAir(0, 1, {}),
  BirdStale: birdIdle(0, 1, {}),
  BirdDeactivated: birdLog('Deactivated', 1),
  BirdTriggerFailing: birdLog('EventError', 1, { message: 'boom' }),
  ConnectionDisconnected: notification('ConnectionDisconnected', 1, { entity }),
  ServiceNotification: notification('SomethingNew', 1, { entity }),
  RegionDown: regionHealth('down', 0),
  RegionUnauthorized: regionHealth('unauthorized', 0),
  FeedBehind: { fact: 'polling_pace', region: 'eu', kept: false, ...SINCE },
  FeedIncomplete: { fact: 'feed_gap', region: 'eu', feed: 'flight', missing: 1, sinceUs: 1 },
  SchemaDrift: { fact: 'schema_drift', region: 'eu', feed: 'flight', count: 1, reason: 'x', atUs: 1 },
  DeliveryFailing: {
    fact: 'delivery_health',
    receiver: 'ops',
    integration: 'email',
    accepts: false,
    ...SINCE,
  },
};

const EVERY_LABEL = new Set([...KINDS.flatMap(({ labels }) => labels), 'alertname', 'severity', 'team']);

test.each(ALERT_KINDS)('the matchers of %s see the labels that are listed for it', (kind) => {
  const seen = [...EVERY_LABEL].filter((name) => {
    const rules = [rule(kind, { match: parseMatchers(`${name}!=""`) })];
    return rulesConcerning(FACTS[kind], rules).some((one) => one.kind === kind && one.rule === 0);
  });
  expect(seen.toSorted()).toEqual([...kindOf(kind)!.labels, 'alertname'].toSorted());
});

/** Facts that raise a kind with a severity other than the one in `FACTS` does. */
const OTHERS: Partial<Record<AlertKind, Fact>> = {
  BirdDeactivated: birdStatus('suspended', 1, 'active'),
  ConnectionDisconnected: connectionLost(1, 'Retrying'),
};

test.each(KINDS)('the severities of $name are those that its topics have', (kind) => {
  const topics = [FACTS[kind.name], OTHERS[kind.name]].flatMap((fact) => (fact ? kind.topic(fact) : []));
  const given = topics.flatMap((topic) => topic?.severity ?? kind.severities[0]!);
  expect(new Set(given)).toEqual(new Set(kind.severities));
});

test.each(KINDS)('what takes over from $name is a kind', ({ supersededBy = 'FlightFailed' }) => {
  expect(ALERT_KINDS).toContain(supersededBy);
});
