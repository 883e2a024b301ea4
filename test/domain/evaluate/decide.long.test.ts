import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Alert } from '../../../src/domain/alert/alert.ts';
import { type Fact, scopeOf } from '../../../src/domain/alert/fact.ts';
import { decide, tick } from '../../../src/domain/evaluate/decide.ts';
import { defaultRule } from '../../../src/domain/kinds/kinds.ts';
import { parseMatchers } from '../../../src/domain/matchers/matcher.ts';
import {
  birdIdle,
  birdLog,
  birdStatus,
  birdVanished,
  connectionLost,
  ends,
  flight,
  flightGone,
  flightStarted,
  inAir,
  minute,
  NO_BIRD,
  notification,
  OF_DEFAULT,
  regionHealth,
  rule,
  schemaDrift,
  storyOf,
  watch,
} from '../world.ts';

const RUNS = 100;

/** A Flight of a minute. */
const failed = (at: number, message?: string) =>
  flight('failed', { started: at - 1, at, ...(message && { message }) });
const landed = (at: number) => flight('succeeded', { started: at - 1, at });

const FAILED_BY_DEFAULT = `FlightFailed/${OF_DEFAULT.FlightFailed}/eu/bird/148890`;

describe('decide', () => {
  test('one event can concern several kinds', () => {
    const story = watch();
    story.tell(6, birdLog('EventError', 1), birdLog('EventError', 5));
    story.tell(8, birdLog('Deactivated', 7));
    expect(story.alerts().map((alert) => `${alert.alertname} ${alert.state}`)).toEqual([
      'BirdTriggerFailing resolved',
      'BirdDeactivated firing',
    ]);
  });

  test('scopes are separate: another Bird changes nothing', () => {
    const story = storyOf([6, flight('failed', { started: 0, at: 5 })]);
    const other = flight('succeeded', { started: 6, at: 7 });
    story.tell(8, { ...other, event: { ...other.event, birdId: '9' } });
    expect(story.firing()).toEqual(['FlightFailed warning']);
  });

  test('a batch returns each alert once, in its final state, with links in their order', () => {
    const story = watch();
    const decision = story.tell(
      9,
      flight('failed', { started: 4, at: 5, message: 'second' }),
      flight('failed', { started: 0, at: 1, message: 'first' }),
      flight('succeeded', { started: 5, at: 8 }),
    );
    expect(decision.alerts.map((alert) => [alert.state, alert.lastSeq, alert.labels.error])).toEqual([
      ['resolved', 2, 'first'],
    ]);
    expect(decision.links.map((link) => [link.seq, link.event.message])).toEqual([
      [1, 'first'],
      [2, 'second'],
    ]);
  });

  test('the order of the events of a batch makes no difference', () => {
    const events = [
      flight('failed', { started: 0, at: 5, message: 'a' }),
      flight('failed', { started: 3, at: 4, message: 'b' }),
      flight('succeeded', { started: 2, at: 6 }),
      flight('succeeded', { started: 4, at: 7 }),
      birdLog('EventError', 1),
      birdLog('EventError', 2),
      birdLog('Deactivated', 3),
      birdLog('Activated', 4),
    ];
    const kinds = ['FlightFailed', 'BirdDeactivated', 'BirdTriggerFailing'] as const;
    const rules = kinds.map((kind) => defaultRule(kind));
    const expected = decide(events, [], rules, minute(9));
    expect(expected.alerts).toHaveLength(3);
    fc.assert(
      fc.property(fc.shuffledSubarray(events, { minLength: events.length }), (shuffled) => {
        expect(decide(shuffled, [], rules, minute(9))).toEqual(expected);
      }),
    );
  });

  test('nor does the order of facts about time, whatever the rules hold back', () => {
    const facts = [
      { ...flight('failed', { started: 0, at: 5 }), latestEnds: ends('xx.xx', 1) },
      { ...flight('failed', { started: 3, at: 4 }), latestEnds: ends('xx.xx', 1) },
      inAir(-100, 9, { usualMs: 600_000 }),
      inAir(-80, 9, { usualMs: 600_000 }),
      flightGone(-80, 9),
      birdIdle(-200, 9, { usualMs: 600_000 }),
      schemaDrift(3, 2, 'a'),
      schemaDrift(3, 2, 'a'),
    ];
    const rules = [
      rule('FlightFailed', { ratio: 0.5, ofLast: 5, keepFiringForMs: 60_000 }),
      rule('FlightStuck', { forMs: 60_000 }),
      defaultRule('BirdStale'),
      defaultRule('SchemaDrift'),
    ];
    const byId = (shuffled: readonly Fact[]) =>
      decide(shuffled, [], rules, minute(9)).alerts.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    const expected = byId(facts);
    expect(expected.map(({ state }) => state)).toEqual(['firing', 'firing', 'firing', 'resolved', 'firing']);
    fc.assert(
      fc.property(fc.shuffledSubarray(facts, { minLength: facts.length }), (shuffled) => {
        expect(byId(shuffled)).toEqual(expected);
      }),
    );
  });

  test('without a matching rule there is no alert', () => {
    expect(decide([failed(5)], [], [], minute(6))).toEqual({ alerts: [], links: [] });
  });

  test('a stored alert whose rule has moved still ends', () => {
    const rules = [defaultRule('BirdDeactivated'), defaultRule('FlightFailed')];
    const stored = decide([failed(5)], [], rules, minute(6)).alerts;
    const { alerts } = decide([landed(7)], stored, [defaultRule('RegionDown')], minute(8));
    expect(alerts[0]!.state).toBe('resolved');
    const long = tick(stored, [rule('FlightFailed', { resolveAfterMs: 1000 })], minute(6 + 1440));
    expect(long.alerts[0]!.state).toBe('resolved');
  });

  test('an alert that waits to fire when its rule moves fires once', () => {
    const rules = [rule('RegionDown', { forMs: 60_000 })];
    const { alerts: waiting } = decide([regionHealth('down', 5)], [], rules, minute(5));
    const others = [rule('BirdStale'), ...rules];
    const { alerts } = decide([regionHealth('down', 5)], waiting, others, minute(5.5));
    const all = new Map([...waiting, ...alerts].map((alert) => [alert.id, alert]));
    const fired = tick([...all.values()], others, minute(6)).alerts;
    expect(fired.map(({ id, state }) => [id, state])).toEqual([[waiting[0]!.id, 'firing']]);
  });

  test('a rule that moves continues its alerts, and another in its place has its own', () => {
    const facts = [failed(5), birdLog('Deactivated', 5), inAir(-60, 6, { usualMs: 600_000 })];
    const kinds = ['FlightFailed', 'BirdDeactivated', 'FlightStuck'] as const;
    const rules = kinds.toReversed().map((kind) => defaultRule(kind));
    const before = decide(facts, [], rules.toReversed(), minute(6)).alerts;
    const again = [
      failed(7),
      notification('FlowSuspended', 7, { place: NO_BIRD, entity: { id: '148890' } }),
      inAir(-60, 8, { usualMs: 600_000 }),
    ];
    const after = decide(again, before, rules, minute(8));
    expect(after.alerts.map(({ id, lastSeq }) => [id, lastSeq])).toEqual([
      [FAILED_BY_DEFAULT, 2],
      [`BirdDeactivated/${OF_DEFAULT.BirdDeactivated}/eu/bird/148890/critical`, 2],
    ]);
    const over = decide([landed(9)], after.alerts, rules, minute(9)).alerts;
    const next = decide([failed(11)], over, rules, minute(12)).alerts;
    expect(next.map(({ id }) => id)).toEqual([FAILED_BY_DEFAULT]);
    const first = rule('FlightFailed', { match: parseMatchers('bird="Other"') });
    const inserted = decide([failed(13)], next, [first, ...rules], minute(14));
    expect(inserted.alerts.map(({ id, rule: own, lastSeq }) => [id, own, lastSeq])).toEqual([
      [FAILED_BY_DEFAULT, OF_DEFAULT.FlightFailed, 4],
    ]);
  });

  test('a stored alert that another rule now matches is not raised a second time', () => {
    const judge = (facts: Fact[], before: readonly Alert[], id: string, at: number) =>
      decide(
        facts,
        before,
        [rule('FlightFailed', { id }), rule('BirdDeactivated', { id: `${id}-too` })],
        minute(at),
      ).alerts;
    const before = judge([failed(5), birdLog('Deactivated', 5)], [], 'old', 6);
    const again = [failed(7), notification('FlowSuspended', 7, { place: NO_BIRD, entity: { id: '148890' } })];
    const after = judge(again, before, 'new', 8);
    expect(after.map(({ id, rule: own, lastSeq }) => [id, own, lastSeq])).toEqual([
      ['FlightFailed/old/eu/bird/148890', 'new', 2],
      ['BirdDeactivated/old-too/eu/bird/148890/critical', 'new-too', 2],
    ]);
    // A resolved alert starts again under the rule that applies now.
    const over = judge([landed(9)], after, 'new', 9);
    const next = judge([failed(11)], over, 'new', 12);
    expect(next.map(({ id }) => id)).toEqual(['FlightFailed/new/eu/bird/148890']);
  });

  describe('of two rules of a kind', () => {
    const critical = rule('FlightFailed', {
      match: parseMatchers('error=~".*quota.*"'),
      severity: 'critical',
      labels: { team: 'pager' },
    });
    const shown = ({ id, state, labels, eventsTotal }: Alert) => [id, state, labels.severity, eventsTotal];
    const first = `FlightFailed/${critical.id}/eu/bird/148890`;
    const second = FAILED_BY_DEFAULT;

    test('each has its own alert, with what that rule says; a success ends both', () => {
      const story = watch([critical, rule('FlightFailed', { severity: 'warning' })]);
      story.tell(6, failed(5, 'Timeout'));
      story.tell(8, failed(7, 'quota exceeded'));
      story.tell(10, failed(9, 'Timeout'));
      expect(story.alerts().map(shown)).toEqual([
        [second, 'firing', 'warning', 2],
        [first, 'firing', 'critical', 1],
      ]);
      expect(story.alerts().map(({ labels }) => labels.team)).toEqual([undefined, 'pager']);
      story.tell(12, flight('succeeded', { started: 10, at: 11 }));
      expect(story.firing()).toEqual([]);
    });

    test('each counts for itself and waits for itself', () => {
      const story = watch([critical, rule('FlightFailed', { threshold: 3, windowMs: 3_600_000 })]);
      story.tell(6, failed(5, 'Timeout'));
      story.tell(8, failed(7, 'quota exceeded'));
      expect(story.firing()).toEqual(['FlightFailed critical']);
      expect(story.alerts().map(({ annotations }) => annotations.summary)).toEqual([
        undefined,
        'Flight of Translate blog failed in Marketing (EU)',
      ]);
      const waits = watch([critical, rule('FlightFailed', { forMs: 3_600_000 })]);
      waits.tell(6, failed(5, 'Timeout'));
      waits.tell(8, failed(7, 'quota exceeded'));
      expect(waits.firing()).toEqual(['FlightFailed critical']);
    });

    test('the order of a batch makes no difference', () => {
      const facts = [failed(3, 'Timeout'), failed(4, 'quota exceeded'), failed(5, 'Timeout')];
      const rules = [critical, rule('FlightFailed', { threshold: 2 })];
      const expected = decide(facts, [], rules, minute(9));
      expect(expected.alerts.map(shown)).toEqual([
        [second, 'firing', 'warning', 2],
        [first, 'firing', 'critical', 1],
      ]);
      fc.assert(
        fc.property(fc.shuffledSubarray(facts, { minLength: facts.length }), (shuffled) => {
          expect(decide(shuffled, [], rules, minute(9))).toEqual(expected);
        }),
      );
    });

    test('the new one has its own alert even if it has the name of one whose alert continues', () => {
      const before = decide(
        [failed(5, 'Timeout')],
        [],
        [rule('FlightFailed', { id: 'a' })],
        minute(6),
      ).alerts;
      const rules = [{ ...critical, id: 'a' }, rule('FlightFailed', { id: 'a-2' })];
      const keep = (...facts: Fact[]) => {
        const all = new Map(known.map((alert) => [alert.id, alert]));
        for (const alert of decide(facts, known, rules, minute(20)).alerts) all.set(alert.id, alert);
        known = [...all.values()];
      };
      let known = before;
      keep(failed(7, 'quota exceeded'));
      keep(failed(8, 'Timeout'));
      keep(failed(9, 'quota exceeded'));
      expect(known.map(shown)).toEqual([
        ['FlightFailed/a/eu/bird/148890', 'firing', 'warning', 2],
        ['FlightFailed/a-3/eu/bird/148890', 'firing', 'critical', 2],
      ]);
      keep(flight('succeeded', { started: 10, at: 11 }));
      expect(known.map(({ state }) => state)).toEqual(['resolved', 'resolved']);
    });
  });

  test('tick does not change what is not due', () => {
    const { alerts } = decide([failed(5)], [], [defaultRule('FlightFailed')], minute(6));
    const nothing = { alerts: [], links: [] };
    expect(tick(alerts, [], minute(7))).toEqual(nothing);
    expect(tick([{ ...alerts[0]!, dueAtUs: null }], [], minute(9999))).toEqual(nothing);
    expect(tick([{ ...alerts[0]!, alertname: 'Unknown' }], [], minute(9999))).toEqual(nothing);
  });

  test('whatever happens, in any order: labels stay while firing, seqs have no gap, memory is bounded JSON [long]', () => {
    const at = fc.integer({ min: 0, max: 300 });
    const seen = { message: 'x'.repeat(5000) };
    const errors = fc.constantFrom(seen.message, 'quota exceeded');
    const fact: fc.Arbitrary<Fact> = fc.oneof(
      fc
        .tuple(at, at, errors)
        .map(([a, b, message]) => flight('failed', { started: Math.min(a, b), at: Math.max(a, b), message })),
      fc.tuple(at, at).map(([a, b]) => flight('succeeded', { started: Math.min(a, b), at: Math.max(a, b) })),
      fc
        .tuple(fc.constantFrom('EventError', 'Deactivated', 'Activated', 'Suspended', 'Published', 'New'), at)
        .map(([type, when]) =>
          birdLog(type, when, { ...seen, historic: when < 20, birdStatus: 'suspended' }),
        ),
      fc
        .tuple(fc.constantFrom('FlowDeactivated', 'FlowSuspended', 'Quota'), at)
        .map(([type, when]) =>
          notification(type, when, { place: NO_BIRD, entity: { type: 'Flow', id: '148890' } }),
        ),
      fc
        .tuple(fc.constantFrom('Retrying', 'exhausted', '?'), at)
        .map(([words, when]) => connectionLost(when, words)),
      fc
        .tuple(fc.constantFrom('active', 'suspended'), fc.constantFrom('active', undefined), at)
        .map(([status, previous, when]) => birdStatus(status, when, previous)),
      at.map((when) => birdVanished(when)),
      at.map((when) => flightStarted(when)),
      fc
        .tuple(at, at, fc.option(fc.integer({ min: 0, max: 3_600_000 })))
        .map(([a, b, usualMs]) => inAir(Math.min(a, b), Math.max(a, b), { usualMs })),
      fc.tuple(at, at).map(([a, b]) => flightGone(Math.min(a, b), Math.max(a, b))),
      fc.tuple(at, at).map(([a, b]) => birdIdle(Math.min(a, b), Math.max(a, b), { usualMs: 600_000 })),
      fc
        .tuple(at, fc.nat(9), fc.string())
        .map(([when, count, reason]) => schemaDrift(when, count + 1, reason)),
      fc.tuple(at, fc.stringMatching(/^[x.]{1,12}$/)).map(([when, pattern]) => ({
        ...flight('failed', { started: when - 1, at: when, ...seen }),
        latestEnds: ends(pattern, when - pattern.length),
      })),
      fc
        .tuple(fc.constantFrom('up', 'down', 'unauthorized'), at, fc.string())
        .map(([health, when, reason]) => regionHealth(health, when, reason)),
    );
    const kinds = fc.constantFrom(
      [],
      [
        rule('FlightFailed', { threshold: 3, windowMs: 3_600_000, severity: 'critical' }),
        rule('BirdTriggerFailing', { threshold: 3 }),
        rule('ConnectionDisconnected', { severity: 'info', resolveAfterMs: 60_000 }),
      ],
      [
        rule('FlightFailed', { consecutive: 3, forMs: 1_800_000, keepFiringForMs: 600_000 }),
        rule('FlightStuck', { maxDurationMs: 3_600_000 }),
        rule('BirdStale', { expectEveryMs: 3_600_000, keepFiringForMs: 1_200_000 }),
        rule('BirdDeactivated', { forMs: 1_200_000 }),
        rule('ConnectionDisconnected', {
          forMs: 600_000,
          flapping: { changes: 2, withinMs: 3_600_000, calmMs: 60_000 },
        }),
      ],
      [
        rule('FlightFailed', { ratio: 0.4, ofLast: 5, flapping: null }),
        rule('RegionDown', { keepFiringForMs: 1_200_000 }),
        rule('BirdTriggerFailing', { forMs: 60_000 }),
      ],
      [
        rule('FlightFailed', { match: parseMatchers('error=~".*quota.*"'), forMs: 600_000 }),
        rule('FlightFailed', { threshold: 3, windowMs: 3_600_000, keepFiringForMs: 600_000 }),
      ],
    );
    fc.assert(
      fc.property(
        kinds,
        fc.array(fc.array(fact, { minLength: 1, maxLength: 5 }), { maxLength: 40, size: 'max' }),
        (rules, batches) => {
          const story = watch(rules);
          for (const [index, facts] of batches.entries()) {
            // `watch` checks what must be true of every decision.
            story.tell(310 + index, ...facts);
            if (index % 5 === 0) story.pass(310 + index);
          }
          const scopes = new Set(batches.flat().map(scopeOf));
          for (const alert of story.alerts()) {
            expect(scopes).toContain(alert.scope);
            expect(JSON.stringify(alert.memory).length).toBeLessThan(60_000);
            expect(JSON.stringify(alert.flapping ?? null).length).toBeLessThan(300_000);
            expect(alert.labels).toMatchObject({ alertname: alert.alertname, region: 'eu' });
            expect(alert.labels.severity).toBeTruthy();
            if (alert.state === 'firing') expect(alert.annotations.summary).toBeTruthy();
            if (alert.state === 'resolved') expect(alert.annotations.resolved_by).toBeTruthy();
          }
        },
      ),
      { numRuns: RUNS },
    );
  });
});

describe('scopeOf', () => {
  test.each([
    [flight('failed', { started: 0, at: 5 }), 'eu/bird/148890'],
    [connectionLost(5, ''), 'eu/entity/Connection/77'],
    [notification('FlowDeactivated', 5, { place: NO_BIRD, entity: { id: '9' } }), 'eu/bird/9'],
    [notification('Quota', 5, { place: NO_BIRD }), 'eu'],
    [birdStatus('active', 5), 'eu/bird/148890'],
    [regionHealth('up', 5), 'eu'],
    [inAir(1, 5), 'eu/bird/148890'],
    [birdIdle(1, 5), 'eu/bird/148890'],
    [schemaDrift(5), 'eu'],
  ])('%j', (fact, scope) => {
    expect(scopeOf(fact)).toBe(scope);
  });
});
