/**
 * Examines the lists of Flights: their order, whether they are cut off, and whether filters filter. Shows what Flights in
 * the air last wrote to their logs. Only reads.
 */
import type { ServiceClient } from '../../service/client.ts';
import type { Bird } from '../../service/resources.ts';
import { dayAndTime, howMany } from '../../text/instant-words.ts';
import { plainText } from '../../text/plain-text.ts';
import { bad, type Finding, fine, note, unknown } from './examine-finding.ts';
import { readable } from './examine-log.ts';

/** Flights in the air whose logs are shown, and how many entries of each. */
const SHOWN_LOGS = 5;
const SHOWN_ENTRIES = 3;
const STEP_CODE_POINTS = 100;

export async function* examineFlights(
  client: ServiceClient,
  birds: readonly Bird[],
): AsyncGenerator<Finding> {
  const lists = await Promise.all(
    birds.map(async (bird) => {
      const { value, serverTimeUs } = await client.searchFlights(bird.nestId, bird.id);
      return { bird, serverTimeUs, flights: readable(value).filter((one) => one.startedAt) };
    }),
  );
  const busiest = lists.toSorted((a, b) => b.flights.length - a.flights.length)[0];
  const assumed = 'Flights are asked for by start date, in windows that are halved where they are cut off';
  if (!busiest || busiest.flights.length === 0) {
    yield unknown('flights', 'no Bird that was looked at has a Flight', assumed);
    return;
  }
  const { bird, flights, serverTimeUs } = busiest;
  const starts = flights.map(({ startedAt }) => startedAt!.us);
  const sorted = (sign: 1 | -1) => starts.every((us, at) => at === 0 || sign * (us - starts[at - 1]!) >= 0);
  const order =
    starts.length < 2
      ? 'one alone'
      : sorted(-1)
        ? 'newest first'
        : sorted(1)
          ? 'oldest first'
          : 'in no order of time';
  const ids = new Set(flights.map(({ id }) => id));
  // Later Flights may be absent only because they are new. The service's clock is shown in whole seconds.
  const asOfUs = (serverTimeUs ?? Math.max(...starts)) - 1_000_000;
  const [least, most] = [Math.min(...starts), Math.max(...starts)];
  const outside = [
    await client.searchFlights(bird.nestId, bird.id, { maxStartUs: least + 1_000_000 }),
    await client.searchFlights(bird.nestId, bird.id, { minStartUs: most - 1_000_000 }),
  ].flatMap(({ value }) =>
    readable(value).filter(({ id, startedAt }) => !ids.has(id) && startedAt && startedAt.us < asOfUs),
  );
  const found = `${howMany(flights.length, 'Flight')} of Bird ${bird.id}, ${order}`;
  yield outside.length > 0
    ? note(
        'flights',
        `${found}; a list is cut off after ${flights.length}`,
        assumed,
        'Nothing: windows are halved.',
      )
    : fine('flights', `${found}, none cut off`, assumed);

  // Requests with filters that exclude something known: if it is in the answer, the filter is ignored.
  const ended = flights.every(({ status }) => status === 'failed') ? 'succeeded' : 'failed';
  const standing = bird.status === 'active' ? 'suspended' : 'active';
  const [ends, later, stands] = await Promise.all([
    client.searchFlights(bird.nestId, bird.id, { status: ended }),
    client.searchFlights(bird.nestId, bird.id, { minStartUs: most + 2_000_000 }),
    client.searchBirds(bird.nestId, { status: standing }),
  ]);
  const idle = [
    ...(readable(ends.value).some(({ status }) => status !== ended) ? ['Status of Flights'] : []),
    ...(readable(later.value).some(({ startedAt }) => startedAt && startedAt.us <= most)
      ? ['MinStartDate']
      : []),
    ...(readable(stands.value).some(({ status }) => status !== standing) ? ['Status of Birds'] : []),
  ];
  yield idle.length === 0
    ? fine('filters', 'the filters for status and start date work', 'what does not match a filter is dropped')
    : bad(
        'filters',
        `ignored: ${idle.join(', ')}`,
        'filters narrow lists down',
        'Report it to the service: lists grow without end.',
      );
}

/** Shows the last entries of the logs of Flights that have been in the air longest. */
export async function* examineFlightLogs(
  client: ServiceClient,
  birds: readonly Bird[],
): AsyncGenerator<Finding> {
  const lists = await Promise.all(
    birds.map(({ nestId, id }) => client.searchFlights(nestId, id, { status: 'active' })),
  );
  const inAir = lists.flatMap(({ value }) =>
    readable(value).filter(({ status, startedAt }) => status === 'active' && startedAt),
  );
  const oldest = inAir.toSorted((a, b) => a.startedAt!.us - b.startedAt!.us).slice(0, SHOWN_LOGS);
  for (const { nestId, birdId, id } of oldest) {
    const query = { page: 0, pageSize: SHOWN_ENTRIES, ascending: false };
    const { value } = await client.getFlightLogs(nestId, birdId, id, query);
    const entries = readable(value.items).sort((a, b) => a.createdAt.us - b.createdAt.us);
    const steps = entries.map(({ scope, stepId }) => {
      const step = plainText(scope || stepId, STEP_CODE_POINTS);
      return step === '' ? 'no step' : `"${step}"`;
    });
    const last = entries.at(-1);
    const found = last
      ? `wrote last: ${steps.join(', then ')}, at ${dayAndTime(last.createdAt.us)}`
      : 'wrote nothing';
    yield fine(
      'flight_logs',
      `Flight ${id} of Bird ${birdId} is in the air and ${found}`,
      '`steps` of FlightWaiting is compared with the last of these',
    );
  }
}
