import { describe, expect, test } from 'vitest';
import { matchedFacts, rulesOnEvents } from '../../../src/domain/evaluate/choose-rule.ts';
import { parseMatchers } from '../../../src/domain/matchers/matcher.ts';
import {
  birdLog,
  eventMatched,
  flight,
  MARKETING,
  minute,
  notification,
  rule,
  storyUnder,
  watch,
} from '../world.ts';

const PUBLISHED = rule('EventMatched', {
  match: parseMatchers('type="bird_log.Published"'),
  title: 'Changed in production',
});

const inNest = (nestId: string, birdId = '1') => ({ ...MARKETING, nestId, nest: `Nest ${nestId}`, birdId });

describe('EventMatched', () => {
  test('a type that is not known is clean in the title', () => {
    const type = `bird_log.Paid\u202Etxt.exe\nRecovered \ud800 ${'x'.repeat(100)}`;
    const own = rule('EventMatched', { id: 'any' });
    const { title } = storyUnder([own], [1, eventMatched(type, 1, { rule: 'any' })]).the(
      'EventMatched',
    ).annotations;
    expect(title).toMatch(/^Paidtxt\.exe Recovered \ufffd x+…$/);
  });

  test('says what happened and by whom, and is over by itself', () => {
    const story = storyUnder([PUBLISHED], [1, eventMatched('bird_log.Published', 1, { rule: PUBLISHED.id })]);
    expect(story.the('EventMatched')).toMatchObject({
      state: 'firing',
      startsAtUs: minute(1),
      scope: 'eu/bird/148890',
      labels: { severity: 'info', bird: 'Translate blog', initiator: 'ops@example.com', rule: PUBLISHED.id },
      annotations: {
        title: 'Changed in production',
        summary: 'Bird published: Translate blog in Marketing (EU), by ops@example.com',
      },
    });
    story.tell(31, eventMatched('bird_log.Published', 31, { rule: PUBLISHED.id }));
    story.pass(90);
    expect(story.the('EventMatched')).toMatchObject({ state: 'firing', eventsTotal: 2 });
    story.pass(91);
    expect(story.the('EventMatched')).toMatchObject({ state: 'resolved', ending: 'quiet' });
  });

  test('each rule has an alert of its own', () => {
    const other = rule('EventMatched', { match: parseMatchers('nest="Marketing"'), title: 'In Marketing' });
    const story = watch([PUBLISHED, other]);
    const facts = [PUBLISHED, other].map(({ id }) => eventMatched('bird_log.Published', 1, { rule: id }));
    story.tell(1, ...facts);
    expect(story.alerts().map(({ annotations }) => annotations.title)).toEqual([
      'Changed in production',
      'In Marketing',
    ]);
    expect(new Set(story.alerts().map(({ id }) => id)).size).toBe(2);
  });

  test('counts what happens in a Nest, of whichever Bird', () => {
    const many = rule('EventMatched', {
      match: parseMatchers('type="flight.cancelled"'),
      forEach: 'nest',
      threshold: 3,
      windowMs: 900_000,
    });
    const story = watch([many]);
    const cancelled = (at: number, nestId: string, birdId: string) =>
      story.tell(
        at,
        eventMatched('flight.cancelled', at, {
          place: inNest(nestId, birdId),
          forEach: 'nest',
          rule: many.id,
        }),
      );
    // These are too far apart, or of another Nest.
    cancelled(1, '3', '11');
    cancelled(17, '3', '12');
    cancelled(18, '4', '20');
    cancelled(20, '3', '11');
    expect(story.firing()).toEqual([]);
    cancelled(25, '3', '13');
    expect(story.firing()).toEqual(['EventMatched info']);
    const [alert] = story.alerts().filter(({ state }) => state === 'firing');
    expect(alert).toMatchObject({ eventsTotal: 3, startsAtUs: minute(17), scope: 'eu/nest/3' });
    expect(alert!.labels.bird).toBeUndefined();
    expect(alert!.annotations.summary).toBe(
      '3 or more events in Nest 3 (EU) within 15 min, the last: Flight cancelled',
    );
  });
});

test('what happens in a region is counted there', () => {
  const many = rule('EventMatched', { id: 'many', forEach: 'region', threshold: 2 });
  const cancelled = (at: number) =>
    eventMatched('flight.cancelled', at, { forEach: 'region', rule: many.id });
  const story = watch([many]);
  story.tell(2, cancelled(1), cancelled(2));
  expect(story.the('EventMatched').annotations.summary).toBe(
    '2 or more events in EU within 10 min, the last: Flight cancelled',
  );
});

describe('rules on events', () => {
  const found = (match: string, event: ReturnType<typeof birdLog>) =>
    rulesOnEvents([rule('EventMatched', { match: parseMatchers(match) })])!(event.event).length;

  test.each([
    ['type="bird_log.Published"', birdLog('Published', 1), 1],
    ['type=~"bird_log.(Published|Saved)",nest=~"Prod.*"', birdLog('Published', 1), 0],
    ['message=~".*quota.*"', flight('failed', { started: 0, at: 1, message: 'over quota today' }), 1],
    ['status="cancelled"', flight('cancelled', { started: 0, at: 1 }), 1],
    [
      'entity_name="Acme CMS"',
      notification('New', 1, { entity: { type: 'Connection', name: 'Acme CMS' } }),
      1,
    ],
    ['initiator!~".*deploy.*"', birdLog('Published', 1, { attributes: { initiator: 'x deploy' } }), 0],
    ['email!~".*@example.com"', birdLog('X', 1, { attributes: { email: 'a@evil.example' } }), 1],
    ['event_failed_by="Trigger"', birdLog('X', 1, { attributes: { event_failed_by: 'Trigger' } }), 1],
  ])('%s [long]', (match, event, count) => {
    expect(found(match, event)).toBe(count);
  });

  test('there are none if nobody asks', () => {
    expect(rulesOnEvents([rule('FlightFailed')])).toBeUndefined();
  });

  test('types from outside are not remembered for ever', () => {
    const rulesOf = rulesOnEvents([PUBLISHED])!;
    for (let at = 0; at < 5_000; at += 1) expect(rulesOf(birdLog(`Type${at}`, 1).event)).toEqual([]);
    expect(rulesOf(birdLog('Published', 1).event)).toEqual([PUBLISHED]);
  });

  test('more than 200 of one reading of the inventory share an alert', () => {
    const renamed = rule('EventMatched', { match: parseMatchers('type="inventory.bird_renamed"') });
    const events = Array.from({ length: 201 }, (_, at) => ({
      ...birdLog('x', 1, { place: inNest('3', String(at)) }).event,
      feed: 'inventory' as const,
      type: 'inventory.bird_renamed',
    }));
    const scopesOf = (some: typeof events) =>
      new Set(matchedFacts(some, rulesOnEvents([renamed])!).map((fact) => 'scope' in fact && fact.scope));
    expect(scopesOf(events.slice(1)).size).toBe(200);
    expect(scopesOf(events)).toEqual(new Set(['eu']));
  });
});
