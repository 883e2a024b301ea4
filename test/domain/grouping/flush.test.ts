import { expect, test } from 'vitest';
import { isFlooded } from '../../../src/domain/grouping/flush.ts';
import { newGroup } from '../../../src/domain/grouping/group.ts';

const DUE_US = 1_700_000_000_000_000;
const GROUP = newGroup({
  sort: 'route',
  key: '{}:{}',
  route: '0',
  receiver: 'ops',
  labels: {},
  nextFlushAtUs: DUE_US,
});

test.each([
  { gained: 0, afterMs: 0, waits: false, why: 'nothing came' },
  { gained: 99, afterMs: 0, waits: false, why: 'less than a page came' },
  { gained: 100, afterMs: 0, waits: true, why: 'a page came' },
  { gained: 400, afterMs: 1_999, waits: true, why: 'pages still come' },
  { gained: 400, afterMs: 2_000, waits: false, why: 'it waited for long enough' },
  { gained: 400, afterMs: 3_600_000, waits: false, why: 'the process was away for an hour' },
])('$gained alerts, $afterMs ms past its instant: a group waits ($waits), since $why', (row) => {
  expect(isFlooded(GROUP, row.gained, DUE_US + row.afterMs * 1_000)).toBe(row.waits);
});
