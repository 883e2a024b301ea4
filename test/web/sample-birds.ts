/** A small world of Birds and Flights, as intake would have committed it. */
import type { Store } from '../../src/store/store.ts';
import { anAlert, anEvent, NOW_US } from './sample.ts';

export const MINUTE_US = 60_000_000;
const HOUR_US = 60 * MINUTE_US;

const FAILURE = 'Translation failed: the provider answered 429 "Too Many Requests"\n   at Poll (line 12)';

interface SampleFlight {
  readonly id: string;
  readonly status: string;
  readonly startedAtUs: number;
  readonly message?: string;
  readonly tookUs?: number;
}

/** Flights of a Bird that is in the store, with the events of their ends. */
export async function putFlights(
  store: Store,
  { region = 'eu', nestId = '682', birdId }: { region?: string; nestId?: string; birdId: string },
  flights: readonly SampleFlight[],
): Promise<void> {
  await store.transaction(async (tx) => {
    const { stream } = await tx.streams.open(region, 'flight', birdId);
    for (const { id, status, startedAtUs, message = '', tookUs = MINUTE_US } of flights) {
      const flight = { stream, flightId: id, startedAtUs, status };
      if (status === 'active') {
        await tx.flights.put([{ ...flight, open: true, ends: 0 }]);
        continue;
      }
      const endedAtUs = startedAtUs + tookUs;
      const attributes = {
        flight_id: id,
        status,
        ...(status === 'failed' && { step_id: 'translate', scope: 'Translate text' }),
      };
      const event = anEvent({
        ...{ id: `${id}/${status}`, region, nestId, birdId, type: `flight.${status}` },
        ...{ occurredAtUs: endedAtUs, message, attributes },
      });
      await tx.events.insert(stream, [event]);
      await tx.flights.put([{ ...flight, open: false, ends: 1, endedAtUs }]);
    }
  });
}

/**
 * `Translate blog` fails every other hour and has an alert, `Post news` succeeds hourly on a schedule, `Old one` was
 * switched off by Anna.
 */
export async function putBirds(store: Store): Promise<void> {
  const bird = {
    region: 'eu',
    nestId: '682',
    present: true,
    status: 'active',
    statusSinceUs: NOW_US - HOUR_US,
  };
  await store.transaction(async (tx) => {
    await tx.inventory.putNests([
      { region: 'eu', nestId: '682', name: 'Marketing', present: true },
      { region: 'us', nestId: '7', name: 'Sales', present: true },
    ]);
    await tx.inventory.putBirds([
      { ...bird, birdId: '148890', name: 'Translate blog', triggerType: 'event' },
      { ...bird, birdId: '2', name: 'Post news', triggerType: 'scheduled' },
      {
        ...bird,
        region: 'us',
        nestId: '7',
        birdId: '3',
        name: 'Old one',
        triggerType: 'manual',
        status: 'suspended',
      },
    ]);
    const { stream } = await tx.streams.open('us', 'bird_log', '3');
    await tx.events.insert(stream, [
      anEvent({
        ...{ id: 'log-1', region: 'us', feed: 'bird_log', type: 'bird_log.Suspended', birdId: '3' },
        ...{
          nestId: '7',
          nest: 'Sales',
          bird: 'Old one',
          message: '',
          attributes: { initiator: 'anna@example.com' },
        },
      }),
    ]);
  });
  await putFlights(
    store,
    { birdId: '148890' },
    Array.from({ length: 8 }, (_, index) => ({
      id: `f${index}`,
      status: index % 2 === 0 ? 'failed' : 'succeeded',
      startedAtUs: NOW_US - (index + 1) * HOUR_US,
      message: index % 2 === 0 ? FAILURE : '',
      tookUs: (index + 1) * MINUTE_US,
    })),
  );
  await putFlights(
    store,
    { birdId: '2' },
    Array.from({ length: 6 }, (_, index) => ({
      id: `n${index}`,
      status: 'succeeded',
      startedAtUs: NOW_US - index * HOUR_US - 30 * MINUTE_US,
    })),
  );
  await store.transaction(async (tx) => {
    await tx.alerts.put([anAlert({ id: 'a', eventsTotal: 1, lastSeq: 1 })]);
    const failed = await tx.events.find('eu/flight/f0/failed');
    await tx.alerts.linkEvents([{ alertId: 'a', seq: 1, event: failed! }]);
  });
}
