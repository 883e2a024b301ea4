/** Stories that are told from outside, through the simulated service's control port. */
import { expect, onTestFinished, test } from 'vitest';
import { openControl } from '../../src/simulator/control/control-server.ts';
import { createMovableClock } from '../../src/simulator/control/endpoint.ts';
import { openStage, type StageOptions } from './stage.ts';

async function told(options: StageOptions = {}) {
  const stage = await openStage({
    regions: ['eu'],
    before(world) {
      const nest = world.addNest({ name: 'Customer 3' });
      world.addBird(nest.id, { name: 'Nightly export', triggerType: 'scheduled' });
    },
    ...options,
  });
  onTestFinished(() => stage.close());
  const world = stage.worlds.eu!;
  const control = await openControl({ world, clock: createMovableClock(stage.clock) }, '127.0.0.1', 0);
  onTestFinished(control.close);
  const tell = async (path: string, body: object) => {
    const answer = await fetch(`${control.url}${path}`, { method: 'POST', body: JSON.stringify(body) });
    expect(answer.status).toBe(200);
    return (await answer.json()) as { readonly id: string };
  };
  const alerts = () => stage.received().flatMap((call) => call.alerts);
  return { stage, tell, alerts };
}

test('a Bird is published, then its Flight fails: both are seen at the webhook [long]', async () => {
  const { stage, tell, alerts } = await told();
  await tell('/flights', { bird: 'Nightly export', startDate: '-30m', status: 'succeeded', duration: '4m' });
  await stage.minutesPass(2);
  const entry = { bird: 'Nightly export', eventType: 'Published', initiator: 'editor@example.com' };
  const published = await tell('/logs', entry);
  await stage.secondsPass(1);
  const failed = { status: 'failed', message: 'Variable targetLanguage is missing', errorType: 3 };
  const { id } = await tell('/flights', { bird: 'Nightly export', ...failed });
  await stage.minutesPass(3);
  expect(stage.forwarded()).toEqual(
    expect.arrayContaining([`eu/bird_log/${published.id}`, `eu/flight/${id}/failed`]),
  );
  expect(alerts()).toMatchObject([
    {
      status: 'firing',
      labels: { alertname: 'FlightFailed', bird: 'Nightly export', nest: 'Customer 3' },
      events: [{ key: `eu/flight/${id}/failed`, message: 'Variable targetLanguage is missing' }],
    },
  ]);

  await tell('/flights', { bird: 'Nightly export', status: 'succeeded', duration: '5s' });
  await stage.minutesPass(7);
  expect(alerts().at(-1)).toMatchObject({ status: 'resolved', labels: { alertname: 'FlightFailed' } });
});

test('while the service is down nothing is lost, and only RegionDown is told [long]', async () => {
  const { stage, tell, alerts } = await told();
  await stage.minutesPass(2);
  await tell('/outages', { answer: 503 });
  const { id } = await tell('/flights', { bird: 'Nightly export', status: 'succeeded', startDate: '-1m' });
  await stage.minutesPass(10);
  expect(new Set(alerts().map(({ labels }) => labels.alertname))).toEqual(new Set(['RegionDown']));
  expect(stage.forwarded()).toEqual([]);
  stage.worlds.eu!.comeUp();
  await stage.minutesPass(10);
  expect(stage.forwarded()).toEqual([`eu/flight/${id}/succeeded`]);
  expect(new Set(alerts().map(({ labels }) => labels.alertname))).toEqual(new Set(['RegionDown']));
});
