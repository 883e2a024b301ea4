import { expect, test } from 'vitest';
import { createStage, type Stage } from './stage.ts';

let stage: Stage;

/** A Flight of the Bird `Translate blog` that fails after 20 s at the step `translate`. */
async function failedFlight() {
  stage = await createStage({ regions: ['eu'], nests: { Marketing: ['Translate blog'] } });
  const place = { region: 'eu', nestId: stage.nest('Marketing'), birdId: stage.bird('Translate blog') };
  await stage.minutesPass(2);
  const { id } = stage.eu.startFlight(place.birdId, { endsAs: 'failed', fliesForMs: 20_000 });
  await stage.minutesPass(2);
  return { ...place, flightId: id.toLowerCase() };
}

test('a person can read the log of a Flight, step by step, the oldest first [long]', async () => {
  const log = await asks(await failedFlight());
  if ('refused' in log) throw new Error(log.refused);
  expect(log.steps.map(({ sort }) => sort)).toEqual(['start', 'log', 'log', 'log', 'error', 'stopped']);
  expect(log.steps[1]).toMatchObject({ level: 'Information', step: '1', scope: 'Get entry', wentOn: null });
  expect(log.steps.map(({ atUs }) => atUs)).toEqual(log.steps.map(({ atUs }) => atUs).toSorted());
  expect(log.more).toBe(0);
});

test('if the service refuses pages as large as configured, the end of the log is read in smaller ones [long]', async () => {
  const place = await failedFlight();
  Object.assign(stage.eu.behaviours, { maxPageSize: 5, overMaxPageSize: 'refuse' });
  await stage.minutesPass(2);
  const log = await asks(place);
  if ('refused' in log) throw new Error(log.refused);
  expect(log.steps.map(({ sort }) => sort).slice(-2)).toEqual(['error', 'stopped']);
  expect(log.steps.length + log.more).toBe(6);
});

test('the log is not requested while another request for it runs, nor in a region that is not watched', async () => {
  const place = await failedFlight();
  const both = await Promise.all([asks(place), asks(place)]);
  expect(both.map((one) => 'refused' in one)).toEqual([false, true]);
  expect('refused' in (await asks(place))).toBe(false);
  expect(await asks({ ...place, region: 'asia' })).toEqual({ refused: 'The region is not watched.' });
  expect(await asks({ ...place, flightId: 'none' })).toMatchObject({
    refused: expect.stringContaining('The service did not answer'),
  });
});

/** Asks as a person does, and lets time pass until the answer arrives. */
async function asks(place: { region: string; nestId: string; birdId: string; flightId: string }) {
  const answer = stage.daemon().flightLog(place);
  await stage.secondsPass(5);
  return answer;
}
