import { describe, expect, test } from 'vitest';
import type { Alert } from '../../../src/domain/alert/alert.ts';
import type { Rule } from '../../../src/domain/alert/rule.ts';
import { isEndedByProbe, isResolvable, resolveByHand, tick } from '../../../src/domain/evaluate/decide.ts';
import { ALERT_KINDS, DEFAULT_RULES } from '../../../src/domain/kinds/kinds.ts';
import { FIRES_AT, RAISING_FACTS } from '../kinds/raising-facts.ts';
import {
  birdLog,
  connectionLost,
  flight,
  minute,
  regionHealth,
  rule,
  schemaDrift,
  storyOf,
  storyUnder,
  type Watch,
  watch,
} from '../world.ts';

const BY = { createdBy: 'ann', comment: 'reconnected' };
const EXHAUSTED = 'All retries were exhausted. Please reconnect.';
const ASKED = 'the region is asked again now, and the alert ends once it answers as it should';
const MEASURED = 'it is measured again and again and is still so: acknowledge or silence it instead';

const rulesWith = (rules: readonly Rule[]) => [...rules, ...DEFAULT_RULES];

/** The alert after somebody said at this minute that it is over. */
function ended(alert: Alert, at: number, rules: readonly Rule[] = [], by = BY): Alert {
  const result = resolveByHand(alert, by, rulesWith(rules), minute(at));
  if (!result.ok) throw new Error(result.message);
  return result.alert;
}

describe('an alert that somebody resolves', () => {
  test('ends at once with who said so and why, and time changes nothing more', () => {
    const story = storyOf([1, connectionLost(1, EXHAUSTED)]);
    const over = ended(story.the('ConnectionDisconnected'), 3);
    expect(over).toMatchObject({
      state: 'resolved',
      endsAtUs: minute(3),
      ending: 'by_hand',
      dueAtUs: null,
      memory: null,
      annotations: { resolved_by: 'it was resolved by hand by ann: reconnected' },
    });
    expect(tick([over], rulesWith([]), minute(10_000)).alerts).toEqual([]);
  });

  test('needs no reason, and the typed text stays on one line', () => {
    const story = storyOf([1, connectionLost(1, EXHAUSTED)]);
    const alert = story.the('ConnectionDisconnected');
    const words = (createdBy: string, comment: string) =>
      ended(alert, 3, [], { createdBy, comment }).annotations.resolved_by;
    expect(words('ann', '')).toBe('it was resolved by hand by ann');
    expect(words('a\u202enn\n', ' back\r\nagain ')).toBe('it was resolved by hand by ann: back again');
  });

  test('counts as a change that makes it flap, as any other end does', () => {
    const rules = [rule('FlightFailed', { flapping: { changes: 2, withinMs: 3_600_000, calmMs: 600_000 } })];
    const story = storyUnder(rules, [1, flight('failed', { started: 0, at: 1 })]);
    expect(story.the('FlightFailed').flapping?.isFlapping).toBeUndefined();
    expect(ended(story.the('FlightFailed'), 3, rules).flapping?.changesUs).toEqual([minute(1), minute(3)]);
  });

  test('is not held as its rule would hold it, nor if it is held already', () => {
    const rules = [rule('FlightFailed', { keepFiringForMs: 3_600_000 })];
    const story = storyUnder(rules, [1, flight('failed', { started: 0, at: 1 })]);
    expect(ended(story.the('FlightFailed'), 3, rules)).toMatchObject({
      state: 'resolved',
      ending: 'by_hand',
    });
    story.tell(5, flight('succeeded', { started: 4, at: 5 }));
    expect(story.the('FlightFailed').state).toBe('firing');
    const over = ended(story.the('FlightFailed'), 7, rules);
    expect(over).toMatchObject({ state: 'resolved', endsAtUs: minute(5), ending: 'over', dueAtUs: null });
    expect(over.flapping?.held).toBeUndefined();
    expect(over.annotations.resolved_by).toContain('by ann');
  });

  test.each<[string, (story: Watch) => void]>([
    ['pending', (story) => void story.tell(1, birdLog('EventError', 1))],
    [
      'waiting to have lasted',
      (story) => void story.tell(1, connectionLost(1, 'Retrying connection, please wait.')),
    ],
    [
      'over',
      (story) => {
        story.tell(1, flight('failed', { started: 0, at: 1 }));
        story.tell(3, flight('succeeded', { started: 2, at: 3 }));
      },
    ],
  ])('must fire: one that is %s does not', (_, happen) => {
    const rules = [rule('ConnectionDisconnected', { forMs: 600_000 })];
    const story = watch(rules);
    happen(story);
    const [alert] = story.alerts();
    expect(resolveByHand(alert!, BY, rulesWith(rules), minute(4))).toEqual({
      ok: false,
      problem: 'invalid',
      message: 'the alert is not firing',
    });
    expect(isResolvable(alert!)).toBe(false);
  });
});

describe('for each kind', () => {
  const HOUR = 60;
  const REFUSED: ReadonlySet<string> = new Set([
    ...['RegionDown', 'RegionUnauthorized', 'FeedBehind', 'FeedIncomplete', 'DeliveryFailing'],
    ...['FlightStuck', 'BirdStale', 'WatchImpaired', 'FlightOverdue', 'FlightSlow', 'FlightsUnusual'],
    ...['FlightWaiting', 'ObjectiveBurning', 'BirdNotAsDeclared', 'NestWithoutOwner', 'SharedCause'],
  ]);

  test.each(ALERT_KINDS)('%s: an alert that the next look would raise again is refused', (kind) => {
    const story = storyOf([FIRES_AT, ...RAISING_FACTS[kind]]);
    const alert = story.the(kind);
    expect(alert.state).toBe('firing');
    expect(isResolvable(alert)).toBe(!REFUSED.has(kind));
    const result = resolveByHand(alert, BY, rulesWith([]), minute(FIRES_AT + HOUR));
    const isProbed = ['RegionDown', 'RegionUnauthorized'].includes(kind);
    expect(isEndedByProbe(alert)).toBe(isProbed);
    const refused = isProbed ? { probes: 'eu', message: ASKED } : { message: MEASURED };
    expect(result).toMatchObject(REFUSED.has(kind) ? { ok: false, ...refused } : { ok: true });
  });

  test('SchemaDrift of the inventory is refused: the next listing would raise it again', () => {
    const story = storyOf([1, schemaDrift(1, 1, 'a Bird: no usable id', 'inventory')]);
    const alert = story.the('SchemaDrift');
    expect(isResolvable(alert)).toBe(false);
    expect(resolveByHand(alert, BY, rulesWith([]), minute(2))).toMatchObject({
      ok: false,
      message: MEASURED,
    });
  });

  test('a measured alert that is over and only held may be ended', () => {
    const rules = [rule('RegionDown', { keepFiringForMs: 3_600_000 })];
    const story = watch(rules);
    story.tell(HOUR, regionHealth('down', 0));
    story.tell(HOUR + 1, regionHealth('up', HOUR + 1));
    const alert = story.the('RegionDown');
    expect([alert.state, isResolvable(alert)]).toEqual(['firing', true]);
    expect(ended(alert, HOUR + 2, rules)).toMatchObject({ state: 'resolved', endsAtUs: minute(HOUR + 1) });
  });
});
