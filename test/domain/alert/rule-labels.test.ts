import { expect, test } from 'vitest';
import type { Fact } from '../../../src/domain/alert/fact.ts';
import { ALERT_KINDS, type AlertKind } from '../../../src/domain/alert/rule.ts';
import { RULE_LABELS } from '../../../src/domain/alert/rule-labels.ts';
import { rulesConcerning } from '../../../src/domain/evaluate/decide.ts';
import { parseMatchers } from '../../../src/domain/matchers/matcher.ts';
import { birdIdle, birdLog, flight, inAir, notification, regionHealth, rule } from '../world.ts';

const entity = { type: 'Connection', id: '77', name: 'Acme CMS' };
const SINCE = { sinceUs: 1, reason: 'x' };

/** A fact of each kind with everything that it can tell. */
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

const EVERY_LABEL = new Set([...Object.values(RULE_LABELS).flat(), 'alertname', 'severity', 'team']);

test.each(ALERT_KINDS)('the matchers of %s see the labels that are listed for it', (kind) => {
  const seen = [...EVERY_LABEL].filter((name) => {
    const rules = [rule(kind, { match: parseMatchers(`${name}!=""`) })];
    return rulesConcerning(FACTS[kind], rules).some((one) => one.kind === kind && one.rule === 0);
  });
  expect(seen.toSorted()).toEqual([...RULE_LABELS[kind], 'alertname'].toSorted());
});
