import { expect, test } from 'vitest';
import { flyRun } from './fly-run.ts';

test('whatever dies between a wish to fly again, its request and the answer, the service is asked once at most', async () => {
  const figures = await flyRun({ kills: 6, seed: 1 });
  expect(figures).toMatchObject({ kills: 6, aways: 3, repeated: [], unsettled: [], untrue: [], crashes: [] });
});
