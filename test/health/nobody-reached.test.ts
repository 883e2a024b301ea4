import { expect, test } from 'vitest';
import { positioned } from '../../src/channels/integration-identity.ts';
import type { Receiver } from '../../src/channels/receiver.ts';
import { readKept } from '../../src/health/health.ts';
import { delivery, email, group, NOW_US, webhook } from '../channels/sample-notifications.ts';
import { openMemory } from '../store/test-store.ts';
import { createVirtualClock } from '../virtual-clock.ts';

const EVENTS_ALONE = webhook({ format: 'cloudevents' });

/** How long a single failed attempt may last before it counts. */
const COUNTS_AFTER_US = 10_000_000;

/**
 * What the health answer reads, `laterUs` after an attempt of each integration: `+` accepted it, `-` did not, `.` was
 * not tried. Each attempt is made `times` times.
 */
async function keptAfter(
  tries: Readonly<Record<string, string>>,
  receivers: readonly Receiver[],
  { laterUs = COUNTS_AFTER_US, times = 1 } = {},
) {
  const clock = createVirtualClock();
  const store = await openMemory(clock);
  const answer = await store.transaction(async (tx) => {
    for (const [receiver, marks] of Object.entries(tries)) {
      const places = positioned(receivers.find(({ name }) => name === receiver)!.integrations);
      for (const [index, mark] of [...marks].entries()) {
        if (mark === '.') continue;
        const [position, { kind }] = places[index]!;
        const id = `${receiver}-${position}`;
        const one = delivery({ id, notificationId: id, receiver, integration: kind, position });
        await tx.outbox.enqueue(group({ id }), [one]);
        const [state, failed] = mark === '+' ? (['delivered', false] as const) : (['retry', true] as const);
        for (let time = 0; time < times; time += 1) {
          await tx.outbox.claim(receiver, position, NOW_US, 1);
          await tx.outbox.settle([{ id, state, failed, nextAttemptAtUs: NOW_US, lastError: '' }], NOW_US);
        }
      }
    }
    return readKept(tx, receivers, NOW_US + laterUs);
  });
  await store.close();
  return answer;
}

const TWO: Receiver = { name: 'two', integrations: [email(), webhook()] };
const ONE: Receiver = { name: 'one', integrations: [webhook()] };
const LAKE: Receiver = { name: 'lake', integrations: [EVENTS_ALONE] };
const BOTH: Receiver = { name: 'both', integrations: [webhook(), EVENTS_ALONE] };

test.each<[string, Record<string, string>, readonly Receiver[], boolean]>([
  ['nothing was tried', {}, [TWO], false],
  ['a receiver has one of two ways left', { two: '+-' }, [TWO], false],
  ['both ways of it fail', { two: '--' }, [TWO], true],
  ['one way fails, and nothing was accepted yet', { two: '.-' }, [TWO], true],
  ['another receiver accepts', { two: '--', one: '+' }, [TWO, ONE], false],
  ['another receiver has never been tried', { two: '--' }, [TWO, ONE], true],
  ['each fails whole', { two: '--', one: '-' }, [TWO, ONE], true],
  ['one fails whole and the other in part', { two: '+-', one: '-' }, [TWO, ONE], false],
  ['only events are accepted, which call nobody', { both: '-+' }, [BOTH], true],
  ['who takes events alone accepts', { one: '-', lake: '+' }, [ONE, LAKE], true],
  ['who takes events alone fails', { one: '+', lake: '-' }, [ONE, LAKE], false],
])('if %s: %j', async (_, tries, receivers, expected) => {
  expect((await keptAfter(tries, receivers)).isNobodyReached).toBe(expected);
});

test.each([
  ['one answer that was dropped a moment ago', { laterUs: COUNTS_AFTER_US - 1 }, 0],
  ['one that was dropped ten seconds ago', { laterUs: COUNTS_AFTER_US }, 1],
  ['several that were dropped at the same moment', { laterUs: 0, times: 3 }, 0],
  ['two in a row', { laterUs: 1_000_000, times: 2 }, 1],
])('impairs the watch or not: %s', async (_, spent, failing) => {
  const kept = await keptAfter({ one: '-' }, [ONE], spent);
  expect([kept.failing.length, kept.isNobodyReached]).toEqual([failing, failing > 0]);
});
