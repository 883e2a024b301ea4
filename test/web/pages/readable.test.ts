/** Acceptance: what people read has no pattern of an error, no id of 36 signs and no code, but where it is folded away. */
import { expect, test } from 'vitest';
import { ALERT_KINDS } from '../../../src/domain/kinds/kinds.ts';
import { anEvent, LABELS, NOW_US, putAlert, putDeliveries, putEvents } from '../sample.ts';
import { putBirds, putFlights } from '../sample-birds.ts';
import { serve } from '../served.ts';
import { codesIn } from './read.ts';

const MINUTE = 60_000_000;
const GUID = '0f8fad5b-d9cb-469f-a165-70867728950e';
const JOB = '7c9e6679-7425-40de-944b-e07fc1f90ae7';

/** What a page shows without a click: no tooltips, addresses, values of fields, and nothing that is folded. */
function shown(body: string): string {
  return (
    body
      .slice(body.indexOf('<main'), body.indexOf('</main>'))
      .replace(/<summary>[\s\S]*?<\/summary>/g, ' ')
      .replace(/<details[^>]*>[\s\S]*?<\/details>/g, ' ')
      // What to do may be to set a key of the configuration, by its name.
      .replace(/<li><b>Do:<\/b>[\s\S]*?<\/li>/g, (what) => what.replace(/<code>.*?<\/code>/g, ''))
      .replace(/<fieldset>[\s\S]*?<\/fieldset>/g, ' ')
      .replace(/<[^>]+>/g, ' ')
      .replace(/&#39;/g, "'")
  );
}

test('nobody reads patterns, long ids or codes [long]', async () => {
  const { ask, store } = await serve();
  await putBirds(store);
  const labels = {
    ...LABELS,
    ...{ error: 'Job # was refused', error_type: 'PluginMisconfiguration' },
  };
  const failure = (id: string) =>
    anEvent({
      ...{ id: `${id}/failed`, message: `Job ${JOB} was refused`, occurredAtUs: NOW_US },
      attributes: { flight_id: id, step_id: JOB, error_type: 'PluginMisconfiguration' },
    });
  await putEvents(store, [failure(GUID)]);
  await putFlights(store, { birdId: '148890' }, [
    { id: GUID, status: 'failed', startedAtUs: NOW_US - MINUTE },
  ]);
  await putAlert(store, { id: `FlightFailed/${GUID}`, labels }, [failure(GUID)]);
  for (const bird of ['2', '3']) {
    const other = { ...labels, bird_id: bird, bird: `Bird ${bird}` };
    await putAlert(store, { id: `FlightFailed/${bird}`, labels: other }, [failure(bird)]);
  }
  const over = {
    state: 'resolved',
    ending: 'over',
    startsAtUs: NOW_US - 9 * MINUTE,
    endsAtUs: NOW_US,
  } as const;
  const gone = { ...labels, bird_id: GUID, nest_id: JOB, bird: '', nest: '' };
  await putAlert(store, { id: 'FlightFailed/over', labels: gone, ...over }, [failure('over')]);
  const stuck = { ...labels, alertname: 'FlightStuck', flight_id: GUID };
  await putAlert(store, { id: 'FlightStuck/1', labels: stuck });
  for (const alertname of ALERT_KINDS)
    await putAlert(store, { id: `${alertname}/any`, labels: { ...labels, alertname } });
  await putDeliveries(store, [{ id: GUID, state: 'dead', lastError: 'no answer' }]);
  const found: string[] = [];
  for (const path of [
    ...['/', '/alerts', '/alerts?state=all', '/alerts?state=resolved', `/alerts/FlightFailed/${GUID}`],
    ...[
      '/alerts/FlightFailed/2',
      '/alerts/FlightFailed/over',
      '/alerts/FlightStuck/1',
      '/birds',
      '/nests',
      '/wall',
    ],
    ...['/birds/eu/148890', '/events', `/events/eu/flight/${GUID}/failed`, `/flights/eu/${GUID}`],
    ...['/deliveries', `/deliveries/${GUID}`, '/silences', '/silence?alert=FlightFailed/2'],
    ...['/acknowledge?alert=FlightFailed/2', '/resolve?alert=FlightFailed/2', '/search?text=refused'],
    ...['/report', '/flights', '/nests/eu/682', '/writes'],
    ...ALERT_KINDS.map((alertname) => `/alerts/${alertname}/any`),
  ]) {
    const { status, body } = await ask(path);
    expect(status, path).toBe(200);
    const text = shown(body);
    found.push(...codesIn(text).map((word) => `${path}: ${word}`));
  }
  expect(found).toEqual([]);
});
