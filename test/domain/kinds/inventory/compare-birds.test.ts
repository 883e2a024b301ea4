import { expect, test } from 'vitest';
import type { DeclaredBird } from '../../../../src/domain/alert/rule.ts';
import {
  byPlace,
  compareBirds,
  type ListedBird,
} from '../../../../src/domain/kinds/inventory/compare-birds.ts';

function listed(id: string, bird: string, change: Partial<ListedBird> = {}): ListedBird {
  const { nest = 'Prod', status = 'active' } = change;
  const published = status !== 'unpublished';
  return {
    region: 'eu',
    nest,
    nestId: `of ${nest}`,
    bird,
    id,
    status,
    trigger: 'manual',
    published,
    ...change,
  };
}

const declared = (bird: string, change: Partial<DeclaredBird> = {}) => ({
  ...{ region: 'eu', nest: 'Prod', bird },
  ...change,
});

const saying = (file: readonly DeclaredBird[], birds: readonly ListedBird[]) =>
  compareBirds(file, birds).map(
    ({ what, declared, clauses }) => `${declared.bird} ${what}: ${clauses.join('; ')}`,
  );

test.each([
  ['all is as declared', [declared('A', { id: '1', status: 'active' })], [listed('1', 'A')], []],
  [
    'what is not declared of a Bird may be anything',
    [declared('A')],
    [listed('1', 'A', { status: 'suspended', trigger: 'event' })],
    [],
  ],
  [
    'each difference of a Bird is a clause',
    [declared('A', { id: '1', status: 'active', trigger: 'event', nest: 'Test' })],
    [listed('1', 'B', { status: 'suspended' })],
    ['A differs: suspended, declared active; trigger manual, declared event; its name is B; it is in Prod'],
  ],
  [
    'whether it is published is only said if its status does not say it',
    [declared('A', { status: 'active', published: true }), declared('B', { published: true })],
    [listed('1', 'A', { status: 'unpublished' }), listed('2', 'B', { status: 'unpublished' })],
    ['A differs: unpublished, declared active', 'B differs: not published, declared published'],
  ],
  [
    'a Bird that another has the name of is missing, and the other is not declared',
    [declared('A', { id: '1' })],
    [listed('2', 'A')],
    ['A missing: missing', 'A undeclared: not declared'],
  ],
  [
    'a name that two Birds have names neither',
    [declared('A')],
    [listed('1', 'A'), listed('2', 'A')],
    ['A ambiguous: 2 Birds of this Nest have this name: give the id'],
  ],
  [
    'Birds of Nests and regions that the file does not name do not matter',
    [declared('A')],
    [listed('1', 'A'), listed('2', 'B', { nest: 'Test' }), listed('3', 'C', { region: 'us' })],
    [],
  ],
  [
    'what is not known of a Bird is no difference',
    [declared('A', { status: 'active', published: true })],
    [listed('1', 'A', { status: undefined, published: undefined })],
    [],
  ],
  [
    'they are in order',
    [declared('C'), declared('A'), declared('B', { nest: 'Alpha' })],
    [],
    ['B missing: missing', 'A missing: missing', 'C missing: missing'],
  ],
])('%s', (_, file, birds, expected) => {
  expect(saying(file, birds)).toEqual(expected);
});

test('Birds are in the order of their names, also of names that begin with others', () => {
  const names = ['Sync', 'Sync 2', 'Sync "3"', 'sync'];
  const birds = names.map((bird) => declared(bird));
  expect([...birds, ...birds].toSorted(byPlace).map(({ bird }) => bird)).toEqual([
    'Sync',
    'Sync',
    'Sync "3"',
    'Sync "3"',
    'Sync 2',
    'Sync 2',
    'sync',
    'sync',
  ]);
  expect(byPlace(birds[0]!, { ...birds[0]! })).toBe(0);
});
