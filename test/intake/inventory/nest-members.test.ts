import { expect, test } from 'vitest';
import { createMemberBook } from '../../../src/intake/inventory/inventory-reading.ts';
import type { Happening } from '../../../src/report.ts';
import type { Nest, User } from '../../../src/service/resources.ts';
import { changedStore } from '../../store/changed-transaction.ts';
import { openMemory } from '../../store/test-store.ts';

const user = (email: string, isActive = true): User => ({
  id: email,
  firstName: 'Anna',
  lastName: 'Kowalska',
  email,
  isActive,
});
const nest = (id: string, ...members: User[]): Nest => ({ id, name: `Nest ${id}`, members });

async function open() {
  const store = await openMemory();
  let writes = 0;
  const reported: Happening[] = [];
  const counting = changedStore(store, (tx) => ({
    inventory: {
      putNestMembers(members) {
        writes += 1;
        return tx.inventory.putNestMembers(members);
      },
    },
  }));
  return {
    book: () => createMemberBook('eu', counting, (one) => reported.push(one)),
    reported,
    writes: () => writes,
    kept: async () =>
      Object.fromEntries((await store.inventory.nestMembers('eu')).map((one) => [one.nestId, one.addresses])),
  };
}

test('the active members of each Nest are kept, each once', async () => {
  const { book, kept } = await open();
  await book().keep([
    nest('1', user('bo@example.com'), user('anna@example.com'), user('gone@example.com', false)),
    nest('2', user('bo@example.com'), user('bo@example.com')),
    nest('3'),
  ]);
  expect(await kept()).toEqual({
    1: ['anna@example.com', 'bo@example.com'],
    2: ['bo@example.com'],
    3: [],
  });
});

test('where the service lists no members, those before stay, and nothing is known of others', async () => {
  const { book, kept } = await open();
  const members = book();
  await members.keep([nest('1', user('anna@example.com'))]);
  await members.keep([
    { ...nest('1'), lacksMembers: true },
    { ...nest('2'), lacksMembers: true },
    { ...nest('3', user('bo@example.com')), lacksMembers: true },
  ]);
  expect(await kept()).toEqual({ 1: ['anna@example.com'], 3: ['bo@example.com'] });
});

test('only changes are written, also in another life, and a deleted Nest has nobody', async () => {
  const { book, kept, writes } = await open();
  const first = book();
  await first.keep([nest('1', user('anna@example.com')), nest('2', user('bo@example.com'))]);
  await first.keep([nest('1', user('anna@example.com')), nest('2', user('bo@example.com'))]);
  const second = book();
  await second.keep([nest('1', user('anna@example.com')), nest('2', user('bo@example.com'))]);
  expect(writes()).toBe(1);
  await second.keep([nest('1', user('anna@example.com'))]);
  expect(await kept()).toEqual({ 1: ['anna@example.com'], 2: [] });
  await second.keep([nest('1', user('anna@example.com'))]);
  expect(writes()).toBe(2);
});

test('a Nest that may only be unreadable keeps its members', async () => {
  const { book, kept } = await open();
  const one = book();
  await one.keep([nest('1', user('anna@example.com')), nest('2', user('bo@example.com'))]);
  await one.keep([nest('1')], false);
  expect(await kept()).toEqual({ 1: [], 2: ['bo@example.com'] });
});

test('who cannot be mailed is kept and reported, each time the Nests are read', async () => {
  const { book, kept, reported } = await open();
  const nameless = { ...user(''), id: 'u-1' };
  await book().keep([nest('1', user('bo@example.com'), user('an na@example.com'), nameless)]);
  expect(await kept()).toEqual({ 1: ['Anna Kowalska <>', 'an na@example.com', 'bo@example.com'] });
  expect(reported).toEqual([
    {
      ...{ what: 'left_out', region: 'eu', nestId: '1', recipient: 'Anna Kowalska <>' },
      why: 'the service has no address of this member',
    },
    {
      ...{ what: 'left_out', region: 'eu', nestId: '1', recipient: 'an na@example.com' },
      why: 'the address has a blank in it',
    },
  ]);
});
