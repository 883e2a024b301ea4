/** Fills a store as a month of a large organisation would: Birds in Nests, the ends of their Flights, alerts. */
import { randomUUID } from 'node:crypto';
import type { Event } from '../../src/domain/alert/event.ts';
import type { FlightRecord } from '../../src/store/event-store.ts';
import type { Store, Transaction } from '../../src/store/store.ts';
import { formatInstant } from '../../src/time/instant.ts';
import { anAlert } from '../web/sample.ts';

export interface Size {
  readonly birds: number;
  readonly events: number;
  readonly alerts: number;
}

const MONTH_US = 30 * 86_400_000_000;
const NESTS = 200;
/** Birds per transaction. */
const TOGETHER = 20;
/** One Flight in twenty fails. */
const FAILS_EVERY = 20;

const ERRORS = [
  'Translation failed: the provider answered 429 "Too Many Requests" after 3 tries',
  'Convert document: the file "catalogue-2026.indd" has 512 MB, the limit is 300 MB.',
  'System.TimeoutException: The operation has timed out.\n   at Apps.Contentful.Actions.Publish()',
];

export async function fillStore(store: Store, size: Size, nowUs: number): Promise<void> {
  await store.transaction(async (tx) => {
    await tx.inventory.regionSince('eu', nowUs - MONTH_US);
    const nests = Array.from({ length: NESTS }, (_, index) => nestOf(index));
    await tx.inventory.putNests(nests.map((nest) => ({ ...nest, present: true })));
  });
  for (let first = 0; first < size.birds; first += TOGETHER) {
    await store.transaction(async (tx) => {
      for (let index = first; index < Math.min(first + TOGETHER, size.birds); index += 1) {
        await fillBird(tx, index, Math.round(size.events / size.birds), nowUs);
      }
    });
  }
  for (let index = 0; index < size.alerts; index += 1) {
    await store.transaction((tx) => putAlertOf(tx, index, nowUs));
  }
}

function nestOf(index: number) {
  return { region: 'eu', nestId: String(600 + index), name: `Nest ${index} of marketing and sales` };
}

export const birdIdOf = (index: number) => String(100_000 + index);

async function fillBird(tx: Transaction, index: number, flights: number, nowUs: number): Promise<void> {
  const { nestId, name: nest } = nestOf(index % NESTS);
  const birdId = birdIdOf(index);
  const bird = `Translate the blog of customer ${index}`;
  await tx.inventory.putBirds([
    {
      ...{ region: 'eu', birdId, nestId, name: bird, status: index % 50 === 0 ? 'suspended' : 'active' },
      ...{ triggerType: 'scheduled', present: true, statusSinceUs: nowUs - MONTH_US },
    },
  ]);
  const { stream } = await tx.streams.open('eu', 'flight', birdId);
  const events: Event[] = [];
  const records: FlightRecord[] = [];
  for (let flight = 0; flight < flights; flight += 1) {
    const startedAtUs = nowUs - MONTH_US + Math.floor(((flight + (index % 97) / 97) * MONTH_US) / flights);
    const endedAtUs = Math.min(nowUs, startedAtUs + (20 + ((flight * 7 + index) % 40)) * 1_000_000);
    const status = (flight + index) % FAILS_EVERY === 0 ? 'failed' : 'succeeded';
    const flightId = randomUUID();
    records.push({ stream, flightId, startedAtUs, status, open: false, ends: 1, endedAtUs });
    events.push({
      ...{ key: `eu/flight/${flightId}/${status}`, region: 'eu', feed: 'flight', type: `flight.${status}` },
      ...{ occurredAt: formatInstant(endedAtUs), occurredAtUs: endedAtUs, observedAtUs: endedAtUs },
      ...{ nestId, nest, birdId, bird, message: status === 'failed' ? ERRORS[(flight + index) % 3]! : '' },
      attributes: { flight_id: flightId, status, ...(status === 'failed' && { step_id: 'translate' }) },
    });
  }
  await tx.events.insert(stream, events);
  await tx.flights.put(records);
}

async function putAlertOf(tx: Transaction, index: number, nowUs: number): Promise<void> {
  const birdId = birdIdOf(index);
  const [failure] = await tx.birds.failures('eu', birdId, 1);
  const event = failure && (await tx.events.find(failure.eventKey));
  const { nestId, name: nest } = nestOf(index % NESTS);
  const base = anAlert({ id: `FlightFailed/bench/eu/bird/${birdId}` });
  const labels = { ...base.labels, nest_id: nestId, nest, bird_id: birdId, bird: event?.bird ?? birdId };
  const counted = event ? { eventsTotal: 1, lastSeq: 1 } : {};
  const scope = `eu/bird/${birdId}`;
  await tx.alerts.put([{ ...base, ...counted, scope, labels, startsAtUs: nowUs - index * 60_000_000 }]);
  if (event) await tx.alerts.linkEvents([{ alertId: base.id, seq: 1, event }]);
}
