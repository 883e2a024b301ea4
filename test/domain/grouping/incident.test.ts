import { expect, test } from 'vitest';
import type { Alert } from '../../../src/domain/alert/alert.ts';
import type { AlertInGroup } from '../../../src/domain/grouping/group.ts';
import { isAcknowledged } from '../../../src/domain/grouping/incident.ts';
import { acknowledgementsByAlert, type Silence } from '../../../src/domain/muting/silence.ts';
import { anAlert, NOW_US } from '../../web/sample.ts';

const ALERTS = 1_000;

function acknowledging({ id, startsAtUs }: Alert, change: Partial<Silence> = {}): Silence {
  return {
    ...{
      id: `of ${id}`,
      matchers: [],
      startsAtUs: NOW_US - 1,
      endsAtUs: NOW_US + 1,
      updatedAtUs: NOW_US - 1,
    },
    ...{ createdBy: 'ann', comment: '', recurrence: null, alertId: id, alertStartsAtUs: startsAtUs },
    ...change,
  };
}

test('an incident of many alerts is acknowledged once each is, which looks at each only a few times', () => {
  let looked = 0;
  const inGroup = Array.from({ length: ALERTS }, (_, at): AlertInGroup => {
    const { id, ...alert } = anAlert({ id: `a${at}` });
    const counting = {
      ...alert,
      get id() {
        looked += 1;
        return id;
      },
    };
    const member = { groupKey: 'g', alertId: id, notifiedSeq: 1, notifiedState: 'firing', sort: 'route' };
    return { alert: counting, member } as AlertInGroup;
  });
  const all = inGroup.map(({ alert }) => acknowledging(alert));
  const isSo = (some: readonly Silence[]) => isAcknowledged(inGroup, acknowledgementsByAlert(some), NOW_US);
  looked = 0;
  expect(isSo(all)).toBe(true);
  expect(looked).toBeLessThanOrEqual(5 * ALERTS);
  const [first, ...others] = all as [Silence, ...Silence[]];
  expect(isSo(others)).toBe(false);
  expect(isSo([...others, { ...first, alertStartsAtUs: NOW_US }])).toBe(false);
  expect(isSo([...others, { ...first, endsAtUs: NOW_US }])).toBe(false);
  expect(isSo([...others, { ...first, alertId: null }])).toBe(false);
});
