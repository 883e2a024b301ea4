import { expect, test } from 'vitest';
import type { RuledFact } from '../../../../src/domain/alert/fact.ts';
import { isPart } from '../../../../src/domain/kinds/failures/shared-cause.ts';
import { flight, minute, rule, sharedError, watch } from '../../world.ts';

const CAUSE = 'SharedCause critical';

/** A story in which this rule decides. */
function watched(parameters: Parameters<typeof rule<'SharedCause'>>[1] = {}) {
  const own = rule('SharedCause', { id: 'own', ...parameters });
  const story = watch([own]);
  const tell = (at: number, fact: RuledFact) => story.tell(at, { ...fact, rule: own.id });
  return { ...story, tell };
}

test('it fires for as many Birds as the rule asks for that began to fail close to each other, and lists them', () => {
  const story = watched();
  story.tell(20, sharedError(20, 4));
  expect(story.alerts()).toEqual([]);
  story.tell(21, sharedError(21, 5));
  expect(story.the('SharedCause')).toMatchObject({
    state: 'firing',
    startsAtUs: minute(17),
    labels: { severity: 'critical', region: 'eu', error: 'Quota # of DeepL exceeded' },
    annotations: {
      summary: '5 Birds in 2 Nests (EU) fail with "Quota … of DeepL exceeded" since 2 Jul 2026, 12:17 UTC',
      description: [
        ...[
          'Bird 0 in Nest 0, since 2 Jul 2026, 12:21 UTC',
          'Bird 1 in Nest 1, since 2 Jul 2026, 12:20 UTC',
          'Bird 2 in Nest 0, since 2 Jul 2026, 12:19 UTC',
        ],
        ...['Bird 3 in Nest 1, since 2 Jul 2026, 12:18 UTC', 'Bird 4 in Nest 0, since 2 Jul 2026, 12:17 UTC'],
      ].join('\n'),
    },
  });
});

test('Birds that began to fail far apart share nothing, unless the rule says so', () => {
  const far = sharedError(60, 5);
  const parts = far.parts.map((part, index) => ({ ...part, startsAtUs: minute(60 - 10 * index) }));
  const story = watched();
  story.tell(60, { ...far, parts });
  expect(story.firing()).toEqual([]);
  const patient = watched({ withinMs: 3_600_000 });
  patient.tell(60, { ...far, parts });
  expect(patient.the('SharedCause').startsAtUs).toBe(minute(20));
});

test('it ends ten minutes after fewer Birds fail, and not if they fail again meanwhile', () => {
  const story = watched();
  story.tell(10, sharedError(10, 5));
  story.tell(15, sharedError(14, 4));
  story.tell(18, sharedError(17, 3));
  story.pass(24);
  story.tell(24, sharedError(24, 6));
  story.tell(26, sharedError(26, 4));
  story.pass(35);
  expect(story.firing()).toEqual([CAUSE]);
  story.pass(36);
  expect(story.the('SharedCause')).toMatchObject({
    ...{ state: 'resolved', endsAtUs: minute(36) },
    annotations: { resolved_by: 'fewer than 5 Birds failed with this error for 10 min' },
  });
});

test('it has the failures of all of them, and says how many more there are than it lists', () => {
  const story = watched({ birds: 3 });
  story.tell(10, sharedError(10, 3));
  story.tell(11, { ...sharedError(11, 30), isAll: false });
  const { eventsTotal, annotations } = story.the('SharedCause');
  expect(eventsTotal).toBe(2);
  expect(annotations.summary).toContain('at least 30 Birds in 2 Nests');
  expect(annotations.description?.split('\n').slice(-1)).toEqual(['and at least 10 more Birds']);
});

test('a rule turns it off', () => {
  const story = watched({ birds: 0 });
  story.tell(10, sharedError(10, 50));
  expect(story.alerts()).toEqual([]);
});

test('it says what the newest failure says, and of all regions in which each Bird is', () => {
  const story = watched({ across: 'all' });
  const fact = sharedError(10, 5);
  story.tell(10, { ...fact, region: 'all', said: 'Quota 7 of DeepL exceeded\n  at Translate()' });
  expect(story.the('SharedCause').annotations.description?.split('\n').slice(0, 2)).toEqual([
    'The newest: Quota 7 of DeepL exceeded',
    'Bird 0 in Nest 0 (EU), since 2 Jul 2026, 12:10 UTC',
  ]);
});

const CALLS = Array.from(
  { length: 100 },
  (_, at) => `  File "/srv/plugins/translate.py", line ${at}, in call`,
);
const TRACEBACK = ['Traceback (most recent call last):', ...CALLS, 'QuotaError: exceeded'].join('\n');
const LONG_JSON = JSON.stringify({ request: 'x'.repeat(3_000), message: 'Quota exceeded' });

test.each([
  ['a long traceback', TRACEBACK, {}],
  ['a long JSON object', LONG_JSON, {}],
  ["a rule's own description", 'Quota exceeded', { annotations: { description: 'See the wiki.' } }],
  ['an error that the rule waits for', TRACEBACK, { forMs: 300_000 }],
])('%s is a part until the Bird fails with something else', (_, message, own) => {
  const story = watch([rule('FlightFailed', own)]);
  story.tell(10, flight('failed', { started: 9, at: 10, message }));
  story.pass(16);
  expect(isPart(story.the('FlightFailed'))).toBe(true);
  story.tell(17, flight('failed', { started: 16, at: 17, message: 'Licence expired' }));
  expect(isPart(story.the('FlightFailed'))).toBe(false);
  story.tell(18, flight('failed', { started: 17, at: 18, message }));
  expect(isPart(story.the('FlightFailed'))).toBe(true);
});

test('of an alert stored by an earlier version, its text says what fails', () => {
  const story = watch();
  story.tell(10, flight('failed', { started: 9, at: 10, message: 'Quota 7 exceeded' }));
  const { error: _, ...memory } = story.the('FlightFailed').memory as Record<string, unknown>;
  const before = { ...story.the('FlightFailed'), memory };
  expect(isPart(before)).toBe(true);
  expect(isPart({ ...before, annotations: { description: 'Licence expired' } })).toBe(false);
});
