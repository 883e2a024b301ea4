import { expect, test } from 'vitest';
import type { Fact } from '../../src/domain/alert/fact.ts';
import { DEFAULT_RULES } from '../../src/domain/kinds/kinds.ts';
import { createCommit } from '../../src/intake/commit.ts';
import type { Store } from '../../src/store/store.ts';
import { changed } from '../store/changed-transaction.ts';
import { openMemory } from '../store/test-store.ts';
import { createVirtualClock } from '../virtual-clock.ts';
import { anEvent, NOW_US } from '../web/sample.ts';

const MANY = 4_500;
/** The most that are written, or reported, between two turns of the event loop. */
const MOST = 1_000;

/** A store that counts what is written of each sort between two pauses. */
async function openCounting() {
  const clock = createVirtualClock();
  const inner = await openMemory(clock);
  const row = new Map<string, number>();
  const most = new Map<string, number>();
  function counted<Item, Result>(sort: string, items: readonly Item[], write: () => Result): Result {
    row.set(sort, (row.get(sort) ?? 0) + items.length);
    most.set(sort, Math.max(most.get(sort) ?? 0, row.get(sort)!));
    return write();
  }
  const store: Store = {
    ...inner,
    async transaction(work) {
      row.clear();
      return inner.transaction((tx) =>
        work({
          ...changed(tx, {
            events: {
              insert: (stream, events) => counted('events', events, () => tx.events.insert(stream, events)),
            },
            flights: { put: (flights) => counted('flights', flights, () => tx.flights.put(flights)) },
            alerts: {
              put: (alerts) => counted('alerts', alerts, () => tx.alerts.put(alerts)),
              linkEvents: (links) => counted('links', links, () => tx.alerts.linkEvents(links)),
            },
            forwards: { queue: (queued) => counted('forwards', queued, () => tx.forwards.queue(queued)) },
          }),
          async pause() {
            row.clear();
          },
        }),
      );
    },
  };
  let [reported, mostReported] = [0, 0];
  let next = setImmediate(turn);
  function turn(): void {
    reported = 0;
    next = setImmediate(turn);
  }
  const commit = createCommit({
    store,
    rules: DEFAULT_RULES,
    forward: [{ matchers: [], receiver: 'lake' }],
    clock,
    report(one) {
      if (one.what === 'events') reported += one.events.length;
      mostReported = Math.max(mostReported, reported);
    },
    changed: () => {},
  });
  const inRow = () => {
    clearImmediate(next);
    return { ...Object.fromEntries(most), reported: mostReported };
  };
  return { store: inner, commit, inRow };
}

test('thousands of Flights of one answer are committed together, while other work continues [long]', async () => {
  const { store, commit, inRow } = await openCounting();
  const { stream } = await store.streams.open('eu', 'flight', '148890');
  const events = Array.from({ length: MANY }, (_, at) => {
    const attributes = { flight_id: `f${at}`, status: 'failed', started_at_us: NOW_US - at - 1 };
    return anEvent({ id: `f${at}/failed`, occurredAtUs: NOW_US - at, attributes });
  });
  const flights = events.map(({ occurredAtUs }, at) => {
    const ended = { open: false, ends: 1, status: 'failed' } as const;
    return { stream, flightId: `f${at}`, startedAtUs: occurredAtUs - 1, ...ended };
  });
  const candidates = [...events, { ...events[0]! }].map((event) => ({ event, historic: false }));
  const batch = { region: 'eu', stream: { stream, feed: 'flight' }, events: candidates, flights } as const;
  const fresh = await commit(batch);
  expect(fresh.map(({ key }) => key)).toEqual(events.map(({ key }) => key));
  const most = inRow();
  expect(Object.keys(most).toSorted()).toEqual([
    'alerts',
    'events',
    'flights',
    'forwards',
    'links',
    'reported',
  ]);
  for (const [sort, count] of Object.entries(most)) expect(count, sort).toBeLessThanOrEqual(MOST);
  const [alert] = await store.alerts.firing(undefined, 10);
  expect(alert).toMatchObject({ alertname: 'FlightFailed', eventsTotal: MANY, lastSeq: MANY });
});

test('thousands of deactivated Birds raise alerts together, while other work continues [long]', async () => {
  const { store, commit, inRow } = await openCounting();
  const facts = Array.from({ length: MANY }, (_, at): Fact => {
    const place = { region: 'eu', nestId: '1', nest: 'Marketing', birdId: `b${at}`, bird: `Bird ${at}` };
    return { fact: 'bird_status', place, status: 'suspended', previous: 'active', readAtUs: NOW_US };
  });
  await commit({ region: 'eu', facts });
  expect(inRow()).toMatchObject({ alerts: MOST });
  const counts = await store.alerts.count();
  expect(counts).toMatchObject([{ alertname: 'BirdDeactivated', state: 'firing', count: MANY }]);
});

test('long messages are committed together, while other work continues after each MiB [long]', async () => {
  const { store, commit, inRow } = await openCounting();
  const { stream } = await store.streams.open('eu', 'flight', '148890');
  const message = 'the job 12345 failed '.repeat(2_000).slice(0, 32 * 1024);
  const events = Array.from({ length: 200 }, (_, at) => {
    const attributes = { flight_id: `f${at}`, status: 'failed', started_at_us: NOW_US - at - 1 };
    return anEvent({ id: `f${at}/failed`, occurredAtUs: NOW_US - at, message, attributes });
  });
  const candidates = events.map((event) => ({ event, historic: false }));
  const batch = { region: 'eu', stream: { stream, feed: 'flight' }, events: candidates } as const;
  expect(await commit(batch)).toHaveLength(200);
  expect(inRow()).toMatchObject({ events: 32, links: 32, reported: 32 });
});
