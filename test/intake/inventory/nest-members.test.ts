import { afterEach, expect, test } from 'vitest';
import { createMemberBook } from '../../../src/intake/inventory/nest-members.ts';
import type { Nest, User } from '../../../src/service/resources.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { changed } from '../../store/changed-transaction.ts';
import { createVirtualClock } from '../../virtual-clock.ts';

let store: Store | undefined;
afterEach(() => store?.close());

const user = (email: string, isActive = true): User => ({
  id: email,
  firstName: 'Anna',
  lastName: 'Kowalska',
  email,
  isActive,
});
const nest = (id: string, ...members: User[]): Nest => ({ id, name: `Nest ${id}`, members });

async function open() {
  const opened = await openSqliteStore({ path: ':memory:', clock: createVirtualClock() });
  store = opened;
  let writes = 0;
  const counting: Store = {
    ...opened,
    transaction: (work) =>
      opened.transaction((tx) =>
        work(
          changed(tx, {
            inventory: {
              putNestMembers(members) {
                writes += 1;
                return tx.inventory.putNestMembers(members);
              },
            },
          }),
        ),
      ),
  };
  return {
    book: () => createMemberBook('eu', counting),
    writes: () => writes,
    kept: async () =>
      Object.fromEntries(
        (await opened.transaction((tx) => tx.inventory.nestMembers('eu'))).map((one) => [
          one.nestId,
          one.addresses,
        ]),
      ),
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

test.each([
  'anna@example.com, eve@example.net',
  'anna@example.com\r\nBcc: eve@example.net',
  'Anna <anna@example.com>',
  'anna@example.com\u202e',
  'anna',
  '',
  `${'a'.repeat(250)}@example.com`,
])('what is not a single address is nobody: %j', async (text) => {
  const { book, kept } = await open();
  await book().keep([nest('1', user(text), user('bo@example.com'))]);
  expect(await kept()).toEqual({ 1: ['bo@example.com'] });
});
