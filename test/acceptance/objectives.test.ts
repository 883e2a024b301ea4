/** Stories of objectives, with the whole daemon. */
import { expect, test } from 'vitest';
import { parseMatchers } from '../../src/domain/matchers/matcher.ts';
import { rule } from '../domain/world.ts';
import { createStage } from './stage.ts';

async function watched(success: number, failed: number) {
  const stage = await createStage({
    regions: ['eu'],
    route: { groupBy: ['...'] },
    objectives: [
      {
        ...{
          name: 'customers',
          match: parseMatchers('nest=~"Customer.*"'),
          forEach: 'nest',
          success: 0.98,
          countsDeadlines: false,
        },
        ...{ overMs: 28 * 86_400_000, leastFailures: 5 },
      },
    ],
    nests: { 'Customer 4': ['Customer 4'], Sandbox: ['Sandbox'] },
  });
  const fly = (nest: string, endsAs: 'succeeded' | 'failed') =>
    stage.eu.startFlight(stage.bird(nest), { endsAs, fliesForMs: 1_000, errorMessages: 'boom' });
  await stage.minutesPass(2);
  for (const nest of ['Customer 4', 'Sandbox']) {
    for (let at = 0; at < success; at += 1) fly(nest, 'succeeded');
    for (let at = 0; at < failed; at += 1) fly(nest, 'failed');
  }
  await stage.minutesPass(5);
  const told = () => stage.alerts('ObjectiveBurning');
  return { stage, told, fly };
}

test('a single failure of three Flights is not told', async () => {
  const { told } = await watched(2, 1);
  expect(told()).toEqual([]);
});

test('six failures of 20 Flights are told, of the Nests with the objective, until no more fail [long]', async () => {
  const { stage, told, fly } = await watched(14, 6);
  expect(told()).toMatchObject([
    {
      status: 'firing',
      labels: { objective: 'customers', nest: 'Customer 4', severity: 'critical' },
      annotations: {
        summary: '6 of the last 20 Flights of Customer 4 failed within 1 h',
        description: 'Customer 4 has used up its allowance of 0 failed Flights in 28 d: 6 failed.',
      },
    },
  ]);
  fly('Customer 4', 'succeeded');
  await stage.minutesPass(45);
  // It fails no more, but what it may fail in three days is used up three times too early.
  expect(told().at(-1)).toMatchObject({ status: 'firing', labels: { severity: 'critical' } });
  await stage.minutesPass(7 * 60);
  expect(told().at(-1)).toMatchObject({
    status: 'resolved',
    annotations: { resolved_by: 'Flights no longer fail at that pace' },
  });
});

test('missed deadlines count only if the objective says so [long]', async () => {
  const CUSTOMERS = {
    match: [],
    forEach: 'nest',
    success: 0.98,
    overMs: 28 * 86_400_000,
    leastFailures: 5,
  } as const;
  const stage = await createStage({
    regions: ['eu'],
    route: { groupBy: ['...'] },
    rules: [rule('FlightOverdue', { landedBy: '*/5 * * * *', withinMs: 300_000 })],
    objectives: [
      { ...CUSTOMERS, name: 'Flights', countsDeadlines: false },
      { ...CUSTOMERS, name: 'Flights and deadlines', countsDeadlines: true },
    ],
    nests: { 'Customer 4': ['Nightly'] },
  });
  const told = () => stage.alerts().filter(({ labels }) => labels.objective);
  // The deadlines from 11:55 to 12:10, of which the first was before the start.
  await stage.minutesPass(14);
  expect(told()).toEqual([]);
  await stage.minutesPass(4);
  expect(told()).toMatchObject([
    {
      labels: { objective: 'Flights and deadlines', nest: 'Customer 4', severity: 'critical' },
      annotations: {
        summary: 'Customer 4 missed 5 deadlines within 1 h',
        description: 'Customer 4 has used up its allowance of 0 failures in 28 d: 5 are used.',
      },
    },
  ]);
});

test.each(['the objective', 'the Nest'])('it is over when %s is gone [long]', async (what) => {
  const { stage, told } = await watched(14, 6);
  const world = stage.eu;
  if (what === 'the Nest') world.deleteNest(stage.nest('Customer 4'));
  else await stage.follows((config) => ({ ...config, objectives: [] }));
  await stage.minutesPass(12);
  expect(told().map(({ status }) => status)).toEqual(['firing', 'resolved']);
  const said =
    what === 'the Nest'
      ? 'the Nest is gone, or the objective no longer about it'
      : 'the objective was removed';
  expect(told().at(-1)!.annotations.resolved_by).toBe(said);
});
