import { expect, test } from 'vitest';
import type { Alert } from '../../../../src/domain/alert/alert.ts';
import type { SwitchedOff } from '../../../../src/domain/alert/fact.ts';
import { birdNotAsDeclared } from '../../../../src/domain/kinds/inventory/bird-not-as-declared.ts';
import type { ListedBird } from '../../../../src/domain/kinds/inventory/compare-birds.ts';
import type { RegionToJudge } from '../../../../src/domain/kinds/judge.ts';
import { birdDrift, minute, rule, watch } from '../../world.ts';

const bird = (id: string, name: string, change: Partial<ListedBird> = {}): ListedBird => ({
  ...{ region: 'eu', nest: 'Prod', nestId: '1', bird: name, id },
  ...{ status: 'active', trigger: 'manual', published: true },
  ...change,
});

const region = (birds: readonly ListedBird[], change: Partial<RegionToJudge> = {}): RegionToJudge => ({
  ...{ region: 'eu', birds, isRead: () => true, deactivated: new Set() },
  ...{ nests: [], readAtUs: minute(5), readBeforeUs: undefined },
  switchedOff: async () => undefined,
  ...change,
});

const declared = [{ region: 'eu', nest: 'Prod', bird: 'A', id: '1', status: 'active' }];
const RULE = rule('BirdNotAsDeclared', { declared });

/** What is new, in words. */
async function judged(now: RegionToJudge, open: Readonly<Record<string, string>> = {}, asked = RULE) {
  const alerts = Object.entries(open).map(([subject, differs]): [string, Alert] => {
    const birdId = /^bird\/(.*)/.exec(subject)?.[1];
    const scope = birdId ? `eu/${subject}` : 'eu';
    const labels = birdId ? { bird_id: birdId } : {};
    return [subject, { subject, scope, labels, memory: { differs } } as unknown as Alert];
  });
  const facts = await birdNotAsDeclared.judgeRegion!(now, asked, new Map(alerts));
  return facts.map((fact) => {
    if (fact.fact === 'bird_drift') return `${birdNotAsDeclared.topic(fact)!.subject}: ${fact.told}`;
    return fact.fact === 'put_right' ? `${fact.subject} ends (${fact.ending}): ${fact.by}` : fact.fact;
  });
}

test('a Bird that differs is told once, with since when and by whom as far as that is known', async () => {
  const off: SwitchedOff = { status: 'suspended', atUs: minute(2), by: 'editor@example.com' };
  const suspended = [bird('1', 'B', { status: 'suspended' })];
  const since = 'since 2 Jul 2026, 12:02 UTC, by editor@example.com';
  expect(await judged(region(suspended, { switchedOff: async () => off }))).toEqual([
    `bird/1: Suspended, declared active (${since}); its name is B.`,
  ]);
  expect(await judged(region(suspended), { 'bird/1': 'suspended, declared active; its name is B' })).toEqual(
    [],
  );
  expect(await judged(region(suspended), { 'bird/1': 'suspended, declared active' })).toEqual([
    'bird/1: Suspended, declared active; its name is B.',
  ]);
});

test('it ends when the Bird is as declared, or gone without being declared', async () => {
  const open = { 'bird/1': 'suspended, declared active', 'bird/2': 'not declared' };
  expect(await judged(region([bird('1', 'A')]), open)).toEqual([
    'bird/1 ends (over): it is as declared',
    'bird/2 ends (gone): the Bird is gone, and not declared',
  ]);
});

test('while BirdDeactivated fires, only what else differs is told', async () => {
  const deactivated = new Set(['1']);
  const now = (name: string) => region([bird('1', name, { status: 'suspended' })], { deactivated });
  expect(await judged(now('A'))).toEqual([]);
  expect(await judged(now('A'), { 'bird/1': 'suspended, declared active' })).toEqual([
    'bird/1 ends (superseded): BirdDeactivated says it',
  ]);
  expect(await judged(now('B'))).toEqual(['bird/1: Its name is B.']);
});

test('a declared Bird is missing only if its Nest was read; what was told before stays', async () => {
  expect(await judged(region([]))).toEqual([
    'bird/1: Missing: the service has no such Bird in a Nest that nestwatch watches.',
  ]);
  const unread = region([], { isRead: () => false });
  expect(await judged(unread)).toEqual([]);
  expect(await judged(unread, { 'bird/1': 'missing' })).toEqual([]);
});

test('one that is only known by its name is an alert of its region, for as long as it is missing', async () => {
  const byName = rule('BirdNotAsDeclared', { declared: [{ region: 'eu', nest: 'Prod', bird: 'A' }] });
  const [told] = await judged(region([]), {}, byName);
  expect(told).toMatch(/^declared\/[0-9a-f]+: Missing/);
  const subject = told!.split(':')[0]!;
  expect(await judged(region([]), { [subject]: 'missing' }, byName)).toEqual([]);
  expect(await judged(region([bird('7', 'A')]), { [subject]: 'missing' }, byName)).toEqual([
    `${subject} ends (over): it is as declared`,
  ]);
});

test.each([
  ['of its Nest', ['1'], '1'],
  ['of none where two Nests have its name', ['1', '2'], ''],
])('a missing Bird is %s', async (_, ids, expected) => {
  const nests = ids.map((nestId) => ({
    ...{ place: { region: 'eu', nestId, nest: 'Prod', birdId: '', bird: '' } },
    ...{ members: undefined, maybeActive: [], membersBefore: undefined },
  }));
  const [fact] = await birdNotAsDeclared.judgeRegion!(region([], { nests }), RULE, new Map());
  expect(fact).toMatchObject({ place: { nest: 'Prod', nestId: expected } });
});

test('without a file every Bird must have the state of the rule; other regions of a file do not matter', async () => {
  const active = rule('BirdNotAsDeclared', { state: 'active', published: true });
  const birds = [bird('1', 'A'), bird('2', 'B', { status: 'unpublished', published: false })];
  expect(await judged(region(birds), {}, active)).toEqual(['bird/2: Unpublished, declared active.']);
  const elsewhere = rule('BirdNotAsDeclared', { declared: [{ ...declared[0]!, region: 'us' }] });
  expect(await judged(region(birds), {}, elsewhere)).toEqual([]);
});

test('it fires after `for`, and not at all if it is put right before', () => {
  const put = (subject: string) => ({
    ...({ fact: 'put_right', subject, by: 'it is as declared', ending: 'over' } as const),
    scope: 'eu/bird/148890',
  });
  const story = watch([{ ...rule('BirdNotAsDeclared', { forMs: 15 * 60_000 }), id: 'mine' }]);
  const drift = { ...birdDrift('suspended, declared active'), rule: 'mine' };
  story.tell(0, drift);
  story.tell(14, put('bird/148890'));
  story.tell(20, drift);
  expect(story.the('BirdNotAsDeclared').state).toBe('pending');
  story.pass(35);
  const alert = story.the('BirdNotAsDeclared');
  expect(alert).toMatchObject({
    state: 'firing',
    startsAtUs: minute(20),
    annotations: { summary: 'Translate blog is not as declared in Marketing (EU)' },
  });
  story.tell(40, put('bird/148890'));
  expect(story.the('BirdNotAsDeclared')).toMatchObject({
    state: 'resolved',
    annotations: { resolved_by: 'it is as declared' },
  });
});
