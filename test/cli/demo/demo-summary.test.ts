import { expect, test } from 'vitest';
import { createDemoProgress, summarise } from '../../../src/cli/demo/demo-command.ts';
import type { Happening } from '../../../src/report.ts';
import type { TrueEvent } from '../../../src/simulator/world/truth.ts';

function happened(key: string, visibleAtUs: number): TrueEvent {
  const names = { feed: 'flight', type: 'flight.failed', nestId: '1', birdId: '1' } as const;
  return { key, ...names, occurredAtUs: visibleAtUs, visibleAtUs, goneAtUs: undefined };
}

/** The end of the output, for a demo in which three events happened at 1, 2 and 3 s. */
function endOf(eventKeys: readonly string[], heard: readonly Happening[], webhooksAgain = 0): string {
  const truth = ['eu/flight/a/failed', 'eu/flight/b/failed', 'eu/flight/c/failed'].map((key, at) =>
    happened(key, (at + 1) * SECOND_US),
  );
  const regions = [{ region: 'eu', truth, fired: [], resolved: [] }];
  const progress = createDemoProgress();
  for (const one of heard) progress.hear(one);
  const caught = { mails: 1, webhooks: 2, webhooksAgain, eventKeys };
  const { text } = summarise({ seconds: 9, regions, ...caught, progress });
  return text.slice(text.indexOf('received\n') + 'received\n'.length);
}

function polled(atUs: number, failure?: 'timeout'): Happening {
  const poll = { what: 'poll', region: 'eu', feed: 'flight', birdId: '1', durationMs: 1_000, atUs } as const;
  return failure ? { ...poll, failure } : poll;
}

function stored(key: string): Happening {
  const times = { occurredAtUs: 0, delayMs: 0, historic: false };
  const event = { type: 'flight.failed', key, ...times };
  return { what: 'events', region: 'eu', feed: 'flight', events: [event] };
}

const SECOND_US = 1_000_000;
const [A, B, C] = ['eu/flight/a/failed', 'eu/flight/b/failed', 'eu/flight/c/failed'] as const;

const CHECKED = "checked against the simulated service's own truth";

test('what was not stored by a later reading is lost, what came twice is repeated, what never happened is invented', () => {
  expect(endOf([A, A, 'x'], [polled(60 * SECOND_US)])).toBe(`  2 lost, 1 repeated, 1 invented, ${CHECKED}`);
});

test('what is under way is not lost: it was not read yet, or is not delivered yet', () => {
  const heard = [polled(18.5 * SECOND_US), polled(60 * SECOND_US, 'timeout'), stored(B)];
  expect(endOf([], heard)).toBe(
    `  1 lost, 0 repeated, 0 invented, ${CHECKED}
  2 events not yet told:
    ${B} (read, not delivered yet)
    ${C} (not read yet)`,
  );
});

test('a call that came again under its id is counted separately, and repeats nothing', () => {
  expect(endOf([A, B, C], [], 2)).toBe(
    `  0 lost, 0 repeated, 0 invented, ${CHECKED}\n  2 webhooks came again under the id of the first try, since its answer was late`,
  );
});
