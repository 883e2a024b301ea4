import { expect, test } from 'vitest';
import { replicasRun } from './replicas-run.ts';

test('of three processes on one server one is killed, one suspended for longer than a lease, one ended: nothing is lost', async () => {
  const figures = await replicasRun({
    faults: 3,
    kinds: ['kill', 'pause', 'stop'],
    seed: 1,
    regions: 6,
    birds: 5,
  });
  expect(figures).toMatchObject({
    lost: [],
    invented: [],
    repeatedUnderAnotherId: [],
    abandoned: [],
    trespasses: [],
    sharedEpochs: [],
    crashes: [],
    unreadable: [],
  });
  expect(figures.events).toBeGreaterThan(100);
  expect(figures.commits).toBeGreaterThan(100);
  // Those that were reading when the fault struck.
  expect(figures.takeovers.length).toBeGreaterThan(6);
});
