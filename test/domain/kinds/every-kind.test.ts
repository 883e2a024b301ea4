import { describe, expect, test } from 'vitest';
import { EVENT_TYPES, FEEDS } from '../../../src/domain/alert/event.ts';
import { type Fact, scopeOf } from '../../../src/domain/alert/fact.ts';
import { kindsConcerned, rulesConcerning } from '../../../src/domain/evaluate/choose-rule.ts';
import { decide, tick } from '../../../src/domain/evaluate/decide.ts';
import { ALERT_KINDS, type AlertKind, KINDS, kindOf } from '../../../src/domain/kinds/kinds.ts';
import { parseMatchers } from '../../../src/domain/matchers/matcher.ts';
import {
  birdStatus,
  birdVanished,
  connectionLost,
  flight,
  flightStarted,
  flightsCounted,
  minute,
  notification,
  regionHealth,
  rule,
  storyOf,
  watchHealth,
} from '../world.ts';
import { FIRES_AT, RAISING_FACTS } from './raising-facts.ts';

const EVERY_LABEL = new Set([...KINDS.flatMap(({ labels }) => labels), 'alertname', 'severity', 'team']);

test.each(ALERT_KINDS)('the matchers of %s see the labels listed for it', (kind) => {
  const seen = [...EVERY_LABEL].filter((name) => {
    const rules = [rule(kind, { match: parseMatchers(`${name}!=""`) })];
    return rulesConcerning(RAISING_FACTS[kind][0]!, rules).some((one) => one.kind === kind && one.rule === 0);
  });
  expect(seen.toSorted()).toEqual([...kindOf(kind)!.labels, 'alertname'].toSorted());
});

/** Facts that raise a kind with a severity other than its `RAISING_FACTS` do. */
const OTHERS: Partial<Record<AlertKind, readonly Fact[]>> = {
  BirdDeactivated: [birdStatus('suspended', 1, 'active')],
  ConnectionDisconnected: [connectionLost(1, 'Retrying')],
  FlightsUnusual: [flightsCounted(2, { count: 221, verdict: 'more', isRunaway: true })],
  WatchImpaired: [watchHealth('no_birds', { since: 1, severity: 'critical' })],
};

test.each(KINDS)('the severities of $name are those that its topics have', (kind) => {
  const facts = [...RAISING_FACTS[kind.name], ...(OTHERS[kind.name] ?? [])];
  const topics = facts.map((fact) => kind.topic(fact));
  const given = topics.flatMap((topic) => topic?.severity ?? kind.severities[0]!);
  expect(new Set(given)).toEqual(new Set(kind.severities));
});

test.each(KINDS)('$name does nothing with events of other types than it lists', (kind) => {
  const story = storyOf([FIRES_AT, ...RAISING_FACTS[kind.name]]);
  const alert = story.alerts().find(({ alertname }) => alertname === kind.name)!;
  const entity = { type: 'Connection', id: '77', name: 'Acme CMS' };
  const types = [...Object.values(EVENT_TYPES).flat(), 'bird_log.New', 'flight.new', 'notification.New'];
  const facts = types.flatMap((type): readonly Fact[] => {
    const fact = notification('', FIRES_AT + 1, { entity, message: 'all retries were exhausted' });
    const feed = FEEDS.find((one) => type.startsWith(`${one}.`))!;
    return [false, true].map((historic) => ({ ...fact, historic, event: { ...fact.event, feed, type } }));
  });
  for (const fact of facts) {
    if (kindsConcerned(fact).includes(kind)) continue;
    const context = { rule: rule(kind.name), labels: alert.labels, nowUs: minute(FIRES_AT + 2) };
    if (kind.raisedBy.includes('event')) expect(kind.topic(fact)).toBeUndefined();
    if (kind.observes.includes('event')) expect(kind.observe?.(alert, fact, context)).toBeUndefined();
  }
  const isAsked = facts.some((fact) => kindsConcerned(fact).includes(kind));
  expect(isAsked).toBe([...kind.raisedBy, ...kind.observes].includes('event'));
});

test.each(KINDS)('what supersedes $name is a kind', ({ supersededBy = 'FlightFailed' }) => {
  expect(ALERT_KINDS).toContain(supersededBy);
});

describe('an alert with an invalid memory', () => {
  const GARBAGE = [5, 'text', true, [], {}, { waiting: [null], errorsUs: 1 }, { sinceUs: '1', reason: {} }];
  const rules = ALERT_KINDS.map((kind) => rule(kind));
  /** Facts that concern most kinds without raising them. */
  const others: readonly Fact[] = [
    birdStatus('active', 600),
    birdStatus('suspended', 600),
    birdVanished(600),
    flightStarted(600),
    flight('succeeded', { started: 599, at: 600 }),
    regionHealth('up', 600),
  ];

  test.each(ALERT_KINDS)('is judged as one that remembers nothing, and named once: %s', (kind) => {
    const story = storyOf([FIRES_AT, ...RAISING_FACTS[kind]]);
    const [fired] = story.alerts().filter(({ alertname }) => alertname === kind);
    for (const state of ['firing', 'pending', 'resolved'] as const) {
      for (const memory of GARBAGE) {
        const alert = { ...fired!, state, memory, dueAtUs: minute(600) };
        const decided = [...RAISING_FACTS[kind], ...others].map((fact) => {
          const known = scopeOf(fact) === alert.scope ? [alert] : [];
          return known.length > 0 ? decide([fact], known, rules, minute(601)) : undefined;
        });
        for (const decision of [...decided, tick([alert], rules, minute(601))]) {
          if (!decision) continue;
          expect(decision.faults).toEqual([
            { sort: 'rule', name: expect.stringContaining(kind), reason: expect.stringContaining('without') },
          ]);
          const known = decision.alerts.find(({ id }) => id === alert.id)!;
          expect(known.memory).not.toEqual(memory);
          // What is stored of it is valid.
          expect(tick([{ ...known, dueAtUs: 0 }], rules, minute(602)).faults).toBeUndefined();
        }
      }
    }
  });

  test.each([
    ['BirdDeactivated', birdStatus('active', 700), 700],
    ['BirdStale', flightStarted(700), 700],
  ] as const)('still ends while it fires: %s', (kind, fact, at) => {
    const story = storyOf([FIRES_AT, ...RAISING_FACTS[kind]]);
    const alert = { ...story.the(kind), memory: 'nothing' };
    const [ended] = decide([fact], [alert], rules, minute(at)).alerts;
    expect(ended).toMatchObject({ state: 'resolved', endsAtUs: minute(at) });
  });
});
