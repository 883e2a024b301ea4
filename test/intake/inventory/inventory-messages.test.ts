/** What people read of a change between two readings. */
import { expect, test } from 'vitest';
import { createNotice } from '../../../src/intake/inventory/compare-listed.ts';
import { TEST_START_US } from '../../virtual-clock.ts';

const notice = createNotice('eu', () => TEST_START_US);
const noticing = { atUs: TEST_START_US, sinceUs: TEST_START_US - 300e6 };

test('says what happened, however long and odd a name is', () => {
  const email = `m\u202e\n<b>@evil.example${'x'.repeat(10_000)}`;
  const person = { id: '9', email, firstName: '', lastName: '' };
  const { message, attributes } = notice({
    ...noticing,
    ...{ change: 'member_added', nestId: '4', nest: 'Customer 4'.padEnd(5_000, '4'), person },
  });
  expect(message).toMatch(/^m <b>@evil\.examplex+… became a member of Customer 44+… between /);
  expect(message.length).toBeLessThan(300);
  expect(attributes.email).toBe(email);
});

test('names what has no name by its id', () => {
  const place = { nestId: '4', nest: '\u200b', birdId: '31', bird: '' };
  expect(notice({ ...noticing, ...place, change: 'bird_gone' }).message).toBe(
    'Bird 31 is no longer listed in Nest 4',
  );
});
