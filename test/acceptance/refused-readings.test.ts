/** A limit that meets one stream alone, as it does where a reading takes several requests and the others one each. */
import { afterEach, expect, test } from 'vitest';
import { openStage, type Stage } from './stage.ts';

let stage: Stage;
afterEach(() => stage.close());

test('a stream that was refused for long is read soon after the limit lets it', async () => {
  let birdId = '';
  let isRefusing = false;
  stage = await openStage({
    regions: ['eu'],
    before(world) {
      const nest = world.addNest({ name: 'Legal' });
      birdId = world.addBird(nest.id, { name: 'Contracts', triggerType: 'manual' }).id;
      world.addBird(nest.id, { name: 'Reviews', triggerType: 'manual' });
    },
    between: (service) => ({
      ...service,
      send: (request) =>
        isRefusing && request.url.includes(`/birds/${birdId}/flights`)
          ? Promise.resolve({ status: 429, headers: {}, body: '' })
          : service.send(request),
    }),
  });
  await stage.minutesPass(2);
  isRefusing = true;
  await stage.minutesPass(30);
  const world = stage.worlds.eu!;
  const { id } = world.startFlight(birdId, { endsAs: 'failed' });
  world.endFlight(id, 'failed');
  isRefusing = false;
  await stage.minutesPass(1);
  expect(stage.forwarded()).toEqual([`eu/flight/${id}/failed`]);
});
