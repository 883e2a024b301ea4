/** A backlog of a day: read from its oldest end, part by part, so that no more than one part is ever in memory. */
import { beforeEach, describe, expect, test } from 'vitest';
import { NestwatchError } from '../../../src/errors.ts';
import { type Batch, type Commit, createCommit } from '../../../src/intake/commit.ts';
import { birdLogEvent } from '../../../src/intake/feeds.ts';
import { createFlightWatches } from '../../../src/intake/flights/flight-watch.ts';
import { createLogStreams } from '../../../src/intake/logs/log-stream.ts';
import { PageReader } from '../../../src/intake/logs/page-reader.ts';
import type { ServiceClient } from '../../../src/service/client.ts';
import type { Flight } from '../../../src/service/resources.ts';
import { formatInstant } from '../../../src/time/instant.ts';
import { openMemory, type TestStore } from '../../store/test-store.ts';
import { createVirtualClock, TEST_START_US } from '../../virtual-clock.ts';

const SECOND_US = 1_000_000;
const DAY_US = 86_400 * SECOND_US;
const COUNT = 10_000;

const clock = createVirtualClock();
const names = { nest: () => '', bird: () => '', nestOf: () => '1' };
/** One every 8.64 s. */
const instantsUs = Array.from({ length: COUNT }, (_, at) => TEST_START_US - DAY_US + at * 8_640_000);

let store: TestStore;
let batches: Batch[];
let commit: Commit;

beforeEach(async () => {
  store = await openMemory(clock);
  batches = [];
  const real = createCommit({ store, rules: [], forward: [], clock, report: () => {}, changed: () => {} });
  commit = (batch) => {
    batches.push(batch);
    return real(batch);
  };
});

const shared = () => ({
  store,
  commit,
  clock,
  report: () => {},
  pageSize: () => 100,
  overlapUs: () => 120 * SECOND_US,
  late: () => {},
  firstFromUs: () => TEST_START_US - DAY_US,
  reasonWaitUs: 60_000_000,
  watchedSinceUs: () => 0,
});

/** Every part was committed with its cursor, and is newer than the previous part. */
function expectOldestFirst(most: number): void {
  let reachedUs = 0;
  for (const { events = [], cursorUs = 0 } of batches) {
    expect(events.length).toBeLessThanOrEqual(most);
    if (events.length === 0) continue;
    const occurredUs = events.map(({ event }) => event.occurredAtUs);
    expect(Math.min(...occurredUs)).toBeGreaterThan(reachedUs);
    reachedUs = Math.max(...occurredUs);
    expect(cursorUs).toBeGreaterThan(0);
  }
  const keys = batches.flatMap(({ events = [] }) => events.map(({ event }) => event.key));
  expect([keys.length, new Set(keys).size]).toEqual([COUNT, COUNT]);
}

describe('the logs of a Bird', () => {
  test('are committed page by page, and other streams have their turn in between [long]', async () => {
    const streams = createLogStreams(
      {
        region: 'eu',
        feed: 'bird_log',
        async read(_birdId, { page, pageSize, fromUs = 0 }) {
          const all = instantsUs.filter((us) => us >= fromUs);
          const items = all.slice(page * pageSize, (page + 1) * pageSize).map((us) => ({
            ok: true as const,
            entry: {
              id: String(us),
              createdAt: { us, text: formatInstant(us) },
              birdId: '7',
              nestId: '1',
              eventType: 'Saved',
              message: '',
              eventFailedBy: '',
              errorType: '',
              initiator: '',
            },
          }));
          return {
            value: { items, totalCount: all.length, page, pageSize },
            serverTimeUs: clock.nowUs(),
          };
        },
        toEvent: (birdId, entry, observedAtUs) => birdLogEvent('eu', birdId, entry, names, observedAtUs),
        birdStatus: () => 'active',
      },
      { ...shared(), pages: new PageReader(100, clock) },
    );
    const log = streams('7');
    const requests: number[] = [];
    for (let more = true; more; ) {
      const polled = await log.poll(new AbortController().signal);
      requests.push(polled.requests);
      more = polled.more;
    }
    expect(requests.length).toBeGreaterThan(4);
    expect(Math.max(...requests)).toBe(20);
    expectOldestFirst(100);
  });
});

describe('the Flights of a Bird, whose list has no pages', () => {
  function open(most: number) {
    const flights = instantsUs.map(
      (us, at): Flight => ({
        id: `flight-${at}`,
        birdId: '7',
        nestId: '1',
        startedAt: { us, text: formatInstant(us) },
        durationSeconds: 1,
        status: 'succeeded',
        errorMessages: '',
      }),
    );
    let requests = 0;
    const client: Partial<ServiceClient> = {
      slack: () => false,
      async searchFlights(_nestId, _birdId, filter = {}) {
        requests += 1;
        const { minStartUs = 0, maxStartUs = Number.POSITIVE_INFINITY, status } = filter;
        const found = flights.filter(
          ({ startedAt }) => startedAt!.us >= minStartUs && startedAt!.us <= maxStartUs && !status,
        );
        if (found.length > most) throw new NestwatchError('too_large', 'more than a client takes');
        return { value: found.map((entry) => ({ ok: true, entry })), serverTimeUs: clock.nowUs() };
      },
    };
    const watches = createFlightWatches({
      ...shared(),
      client: client as ServiceClient,
      region: 'eu',
      names,
      random: () => 0.5,
      retentionMs: 30 * 86_400_000,
      status: () => 'active',
    });
    return { watch: watches('7'), requests: () => requests };
  }

  test('are read in parts if one answer cannot hold them [long]', async () => {
    const { watch } = open(900);
    let polls = 0;
    for (let more = true; more; polls += 1) ({ more } = await watch.poll());
    expect(polls).toBeGreaterThan(2);
    // At most two answers more than would be enough.
    expectOldestFirst(2_000 + 2 * 900);
    expect(watch.cursorUs()).toBe(instantsUs.at(-1));
    expect((await watch.poll()).more).toBe(false);
  });

  test('are read in parts even if the answer is the longest ever, since it may be cut off [long]', async () => {
    const { watch, requests } = open(COUNT);
    for (let more = true; more; ) ({ more } = await watch.poll());
    expectOldestFirst(COUNT);
    expect(requests()).toBeLessThan(40);
  });
});
