import { expect, test } from 'vitest';
import { summarise } from '../../../src/cli/demo/demo-summary.ts';
import type { TrueEvent } from '../../../src/simulator/world/truth.ts';

function happened(key: string, visibleAtUs: number): TrueEvent {
  const names = { feed: 'flight', type: 'flight.failed', nestId: '1', birdId: '1' } as const;
  return { key, ...names, occurredAtUs: visibleAtUs, visibleAtUs, goneAtUs: undefined };
}

/** The end of the output, for a demo in which three events happened at 1, 2 and 3 µs. */
function endOf(eventKeys: readonly string[], underWaySinceUs: number, webhooksAgain = 0): string {
  const truth = ['a', 'b', 'c'].map((key, at) => happened(key, at + 1));
  const regions = [{ region: 'eu', truth, fired: [], resolved: [] }];
  const caught = { mails: 1, webhooks: 2, webhooksAgain, eventKeys };
  const { text } = summarise({ seconds: 9, regions, ...caught, underWaySinceUs });
  return text.slice(text.indexOf('received\n') + 'received\n'.length);
}

const CHECKED = "checked against the simulated service's own truth";

test('what did not arrive is lost, what arrived twice is repeated, and what never happened is invented', () => {
  expect(endOf(['a', 'a', 'x'], Number.POSITIVE_INFINITY)).toBe(
    `  2 lost, 1 repeated, 1 invented, ${CHECKED}`,
  );
});

test('what happened just before the end is not called lost', () => {
  expect(endOf(['a'], 2)).toBe(
    `  1 lost, 0 repeated, 0 invented, ${CHECKED}\n  1 event still under way when it was stopped`,
  );
});

test('a call that came again under its id is counted separately, and repeats nothing', () => {
  expect(endOf(['a', 'b', 'c'], 9, 2)).toBe(
    `  0 lost, 0 repeated, 0 invented, ${CHECKED}\n  2 webhooks came again under the id of the first try, since its answer was late`,
  );
});
