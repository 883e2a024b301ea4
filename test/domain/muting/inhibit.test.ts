import { describe, expect, test } from 'vitest';
import { fingerprint, type Labels } from '../../../src/domain/alert/alert.ts';
import { createMatcher, type Matcher, parseMatchers } from '../../../src/domain/matchers/matcher.ts';
import {
  BUILT_IN_INHIBITIONS,
  createInhibitor,
  createMuting,
  type InhibitRule,
  sourceNames,
} from '../../../src/domain/muting/muting.ts';
import { createRecurrences } from '../../../src/domain/muting/silence.ts';
import { node, tree } from '../route-tree.ts';

const rule = (source: string, target: string, equal: string[] = []): InhibitRule => ({
  sourceMatchers: parseMatchers(source),
  targetMatchers: parseMatchers(target),
  equal,
});

/** The labels of the inhibiting alerts. */
function inhibitors(rules: readonly InhibitRule[], firing: readonly Labels[], labels: Labels): Labels[] {
  const sources = rules.flatMap((rule) => {
    const inhibitor = createInhibitor(rule);
    for (const one of firing) inhibitor.fires(one);
    return inhibitor.sourceOf(labels) ?? [];
  });
  expect(sources.map((source) => source.fingerprint)).toEqual(sources.map((one) => fingerprint(one.labels)));
  return sources.map((source) => source.labels);
}

describe('inhibition', () => {
  const RULE = rule('severity="critical"', 'severity="warning"', ['region', 'nest']);
  const source = { severity: 'critical', region: 'eu', nest: 'A' };

  test('needs a source with the same values of the labels that must be equal', () => {
    const target = { severity: 'warning', region: 'eu', nest: 'A', bird: 'x' };
    expect(inhibitors([RULE], [source], target)).toEqual([source]);
    expect(inhibitors([RULE], [source], { ...target, nest: 'B' })).toEqual([]);
    expect(inhibitors([RULE], [source], { ...target, severity: 'info' })).toEqual([]);
    expect(inhibitors([RULE], [], target)).toEqual([]);
  });

  test('counts a label that both lack, or that is empty, as equal', () => {
    const named = rule('severity="critical"', 'severity="warning"', ['toString']);
    expect(inhibitors([named], [source], { severity: 'warning', toString: '' } as Labels)).toEqual([source]);
    const bare = { severity: 'critical', region: 'eu' };
    expect(inhibitors([RULE], [bare], { severity: 'warning', region: 'eu' })).toEqual([bare]);
    expect(inhibitors([RULE], [bare], { severity: 'warning', region: 'eu', nest: '' })).toEqual([bare]);
    expect(inhibitors([RULE], [bare], { severity: 'warning', region: 'eu', nest: 'A' })).toEqual([]);
  });

  test('neither works by an alert on itself, nor between two that are both source and target', () => {
    const both = rule('alertname=~"A|B"', 'alertname=~"B|C"');
    const [a, b, c] = [{ alertname: 'A' }, { alertname: 'B' }, { alertname: 'C' }];
    expect(inhibitors([both], [b], b)).toEqual([]);
    expect(inhibitors([both], [b, { ...b, x: '1' }], b)).toEqual([]);
    expect(inhibitors([both], [b, a], b)).toEqual([a]);
    expect(inhibitors([both], [b], c)).toEqual([b]);
  });

  test('names one source for each rule', () => {
    const target = { severity: 'warning', region: 'eu', nest: 'A' };
    const other = { severity: 'critical', region: 'eu', nest: 'A', bird: 'x' };
    expect(inhibitors([RULE, RULE], [source, other], target)).toEqual([source, source]);
  });
});

describe('the built-in inhibitions', () => {
  const by = (alertname: string, region: string, target: Labels) =>
    inhibitors(BUILT_IN_INHIBITIONS, [{ alertname, region, severity: 'critical' }], target).length > 0;

  test.each(['RegionDown', 'RegionUnauthorized'])('%s mutes everything of its region', (alertname) => {
    for (const name of ['FlightFailed', 'FeedBehind', 'SchemaDrift', 'ServiceNotification']) {
      expect(by(alertname, 'eu', { alertname: name, region: 'eu' })).toBe(true);
      expect(by(alertname, 'eu', { alertname: name, region: 'us' })).toBe(false);
    }
  });

  test('mute neither regions nor deliveries', () => {
    expect(by('RegionDown', 'eu', { alertname: 'RegionUnauthorized', region: 'eu' })).toBe(false);
    expect(by('RegionDown', 'eu', { alertname: 'RegionDown', region: 'eu' })).toBe(false);
    expect(by('RegionDown', 'all', { alertname: 'DeliveryFailing', region: 'all' })).toBe(false);
    expect(by('FlightFailed', 'eu', { alertname: 'BirdStale', region: 'eu' })).toBe(false);
  });
});

describe('the names of sources', () => {
  test.each([
    ['alertname="A"', ['A']],
    ['alertname=~"A|B"', ['A', 'B']],
    ['region="eu",alertname="A"', ['A']],
    ['alertname!="A"', null],
    ['alertname=~"A.*"', null],
    ['alertname=~""', null],
    ['severity="critical"', null],
  ])('%s', (matchers, names) => {
    expect(sourceNames([rule(matchers, 'a="b"')])).toEqual(names);
  });

  test('of several rules are combined; one that leaves them open leaves all open', () => {
    expect(sourceNames([rule('alertname="A"', 'a="b"'), ...BUILT_IN_INHIBITIONS])).toEqual([
      'A',
      'RegionDown',
      'RegionUnauthorized',
      'SharedCause',
    ]);
    expect(sourceNames([rule('alertname="A"', 'a="b"'), rule('x="y"', 'a="b"')])).toBeNull();
    expect(sourceNames([])).toEqual([]);
  });
});

test('an alert takes the same work however many may inhibit it', async () => {
  let asked = 0;
  const either = createMatcher('severity', '=~', 'critical|warning');
  const counting: Matcher = {
    ...either,
    matches(labels) {
      asked += 1;
      return either.matches(labels);
    },
  };
  const atOnce = () => undefined;
  const options = {
    silences: [],
    inhibitRules: [{ sourceMatchers: [counting], targetMatchers: [counting], equal: ['region'] }],
    firing: Array.from({ length: 1_000 }, (_, bird) => ({ severity: 'warning', bird: String(bird) })),
    timeIntervals: new Map(),
    recurrences: createRecurrences(),
    nowUs: 0,
  };
  const muting = await createMuting(options, atOnce);
  asked = 0;
  const labels = { severity: 'warning', bird: '7' };
  const { inhibitedBy } = await muting.of(
    { id: 'a', labels, annotations: {}, state: 'firing', startsAtUs: 0, memory: null },
    atOnce,
  );
  expect(inhibitedBy).toEqual([]);
  expect(asked).toBeLessThanOrEqual(2);
});

test('a source that stands in for others mutes them only where it is told itself', async () => {
  const cause = { alertname: 'SharedCause', region: 'eu', error: 'boom' };
  const options = {
    ...{ silences: [], inhibitRules: BUILT_IN_INHIBITIONS, firing: [cause], timeIntervals: new Map() },
    ...{ recurrences: createRecurrences(), nowUs: 0 },
    isTold: (labels: Labels, receiver: string) => labels === cause && receiver === 'ops',
  };
  const muting = await createMuting(options, () => undefined);
  const labels = { alertname: 'FlightFailed', region: 'eu', error: 'boom', nest: 'Alfa' };
  const annotations = { description: 'boom' };
  const alert = { id: 'a', labels, annotations, state: 'firing', startsAtUs: 0, memory: null } as const;
  const why = (receiver: string) => muting.why(alert, tree(node('', { receiver })), () => undefined);
  expect(await why('ops')).toMatchObject({ reason: 'inhibited', standsIn: true });
  expect(await why('owners')).toBeNull();
  // It fails with something else now.
  const changed = { ...alert, annotations: { description: 'bang' } };
  expect(await muting.why(changed, tree(node('', { receiver: 'ops' })), () => undefined)).toBeNull();
  const other = { ...alert, labels: { ...labels, error: 'bang' } };
  expect(await muting.why(other, tree(node('', { receiver: 'ops' })), () => undefined)).toBeNull();
});
