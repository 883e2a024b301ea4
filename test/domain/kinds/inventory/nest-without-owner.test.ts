import { expect, test } from 'vitest';
import type { Alert } from '../../../../src/domain/alert/alert.ts';
import { nestWithoutOwner } from '../../../../src/domain/kinds/inventory/nest-without-owner.ts';
import type { NestToJudge, RegionToJudge } from '../../../../src/domain/kinds/judge.ts';
import { minute, rule } from '../../world.ts';

const nest = (members: readonly string[] | undefined, membersBefore?: readonly string[]): NestToJudge => ({
  place: { region: 'eu', nestId: '4', nest: 'Customer 4', birdId: '', bird: '' },
  ...{ members, membersBefore, maybeActive: [] },
});

async function judged(nests: readonly NestToJudge[], open?: string, asked = {}): Promise<string[]> {
  const region: RegionToJudge = {
    ...{ region: 'eu', birds: [], nests, isRead: () => true, deactivated: new Set() },
    ...{ readAtUs: minute(5), readBeforeUs: minute(0), switchedOff: async () => undefined },
  };
  const alert = { subject: 'nest/4', scope: 'eu', memory: { active: open } } as unknown as Alert;
  const alerts = new Map(open === undefined ? [] : [['nest/4', alert]]);
  const facts = await nestWithoutOwner.judgeRegion!(region, rule('NestWithoutOwner', asked), alerts);
  return facts.map((fact) => {
    if (fact.fact === 'nest_unowned') return fact.told;
    return fact.fact === 'put_right' ? `${fact.ending}: ${fact.by}` : fact.fact;
  });
}

const ONLY = { only: ['*@example.com', '*@Agency.com'] };

test.each([
  ['nobody is left', [], undefined, {}, ['Customer 4 has no active member.']],
  [
    'others do not count',
    ['a@x.com'],
    undefined,
    ONLY,
    ['Customer 4 has no active member of @example.com or @Agency.com.'],
  ],
  ['in any case of letters', ['A@EXAMPLE.com'], undefined, ONLY, []],
  [
    'who left is named',
    ['b@x.com'],
    ['a@example.com', 'b@x.com', 'c@x.com'],
    ONLY,
    [
      'Customer 4 has no active member of @example.com or @Agency.com; the last, a@example.com, left or was deactivated between 2 Jul 2026, 12:00 UTC and 2 Jul 2026, 12:05 UTC.',
    ],
  ],
  [
    'several left',
    [],
    ['a@x.com', 'b@x.com'],
    {},
    [
      'Customer 4 has no active member; a@x.com, b@x.com left or were deactivated between 2 Jul 2026, 12:00 UTC and 2 Jul 2026, 12:05 UTC.',
    ],
  ],
  [
    'several are asked for',
    ['a@x.com'],
    undefined,
    { activeMembers: 2 },
    ['Customer 4 has only 1 of 2 active members, a@x.com.'],
  ],
  ['what was never listed is not judged', undefined, undefined, {}, []],
])('%s', async (_, members, before, asked, expected) => {
  expect(await judged([nest(members, before)], undefined, asked)).toEqual(expected);
});

test('it is told once, stays while the members are not known, and ends', async () => {
  expect(await judged([nest([])], '')).toEqual([]);
  expect(await judged([nest(undefined)], '')).toEqual([]);
  expect(await judged([nest(['a@x.com'])], '')).toEqual(['over: it has a@x.com as an active member']);
  expect(await judged([], '')).toEqual(['gone: the Nest is gone, or no longer watched']);
});

test('whether members are active whom the service does not call so is not guessed', async () => {
  const maybe = (maybeActive: readonly string[]) => [{ ...nest(['a@x.com']), maybeActive }];
  expect(await judged(maybe(['b@example.com']), undefined, ONLY)).toEqual([]);
  // Nor is an alert put right by it.
  expect(await judged(maybe(['b@example.com']), '', ONLY)).toEqual([]);
  expect(await judged(maybe(['b@elsewhere.com']), undefined, ONLY)).toHaveLength(1);
});
