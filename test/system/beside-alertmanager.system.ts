/** The same alerts at the same moments, notified by a real Alertmanager and by nestwatch. */
import { expect, test } from 'vitest';
import { playToAlertmanager } from './beside/alertmanager.ts';
import { playToNestwatch } from './beside/nestwatch.ts';
import { STORIES } from './beside/stories.ts';
import type { Heard } from './beside/story.ts';

/** What a busy machine may add to Alertmanager's real seconds. */
const TOLERANCE = 1;

// Alertmanager runs on the real clock, so a story in which a busy machine delayed it is repeated. A real difference
// between the two would show each time.
test.concurrent.each(STORIES)('$name', { retry: 2 }, async (story) => {
  const [theirs, ours] = await Promise.all([playToAlertmanager(story), playToNestwatch(story)]);
  expect(bySender(ours)).toEqual(bySender(theirs));
  const instants = instantsOf(theirs);
  for (const [at, ourAt] of instantsOf(ours).entries()) {
    expect(Math.abs(ourAt - instants[at]!), `notification ${at + 1}, of ${instants}`).toBeLessThan(TOLERANCE);
  }
});

/** What each receiver was told about each group, in order; groups that are due together may come in any order. */
function bySender(all: readonly Heard[]): Record<string, Omit<Heard, 'at'>[]> {
  const heard: Record<string, Omit<Heard, 'at'>[]> = {};
  for (const { at: _, ...one } of inOrder(all)) {
    heard[`${one.receiver} ${one.groupKey}`] ??= [];
    heard[`${one.receiver} ${one.groupKey}`]!.push(one);
  }
  return heard;
}

function instantsOf(all: readonly Heard[]): number[] {
  return inOrder(all).map(({ at }) => at);
}

function inOrder(all: readonly Heard[]): Heard[] {
  const key = ({ receiver, groupKey }: Heard) => `${receiver} ${groupKey}`;
  return all.toSorted((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : a.at - b.at));
}
