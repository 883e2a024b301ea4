import { expect, onTestFinished, test } from 'vitest';
import { createDigests } from '../../src/alerting/send-digests.ts';
import type { EndedFlight } from '../../src/domain/digest/flight-tally.ts';
import type { Happening } from '../../src/report.ts';
import { changedStore, countInARow } from '../store/changed-transaction.ts';
import { openMemory } from '../store/test-store.ts';
import { createVirtualClock } from '../virtual-clock.ts';
import { NOTHING_CONFIGURED } from './desk.ts';

const FLIGHTS = 300;
/** Checks between two turns of the event loop whether one succeeded; each Flight takes some. */
const MOST_LOOKS = 40;

test('other work goes on while Flights with long messages are counted', async () => {
  const clock = createVirtualClock();
  const inner = await openMemory(clock);
  const { count, pause, done } = countInARow();
  let next = setImmediate(turn);
  function turn(): void {
    void pause();
    next = setImmediate(turn);
  }
  onTestFinished(() => clearImmediate(next));
  const place = { region: 'eu', nest: 'Marketing', nestId: '682', bird: 'Translate blog' };
  const flights = Array.from({ length: FLIGHTS }, (_, at): EndedFlight & { readonly number: number } => ({
    ...place,
    number: at + 1,
    birdId: String(at),
    occurredAtUs: clock.nowUs(),
    message: 'the same\n'.repeat(1_800),
    durationUs: null,
    get status(): 'failed' {
      count();
      return 'failed';
    },
  }));
  const repositories = {
    arrivals: async () => ({ before: 0, last: FLIGHTS }),
    endedFlights: async (from: number, upTo: number) => flights.slice(from, upTo),
  };
  const store = changedStore(inner, () => ({ digests: repositories }));
  const daily = { name: 'd', cron: '* * * * *', timezone: 'UTC', receiver: 'ops', skipEmpty: false };
  const reported: Happening[] = [];
  const stop = new AbortController();
  const digests = createDigests({
    ...{ store, clock, config: { ...NOTHING_CONFIGURED, digests: [daily] } },
    ...{ report: (one) => reported.push(one), queued: () => {}, regions: () => [] },
  });
  const ended = digests.run(stop.signal);
  await clock.advance(60_000);
  await expect.poll(() => reported).toMatchObject([{ what: 'notified', reason: 'digest' }]);
  stop.abort();
  await clock.advance(60_000);
  await ended;
  expect(done.all).toBeGreaterThanOrEqual(FLIGHTS);
  expect(done.most).toBeLessThanOrEqual(MOST_LOOKS);
});
