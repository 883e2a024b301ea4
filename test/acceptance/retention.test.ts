/** What retention has deleted was told once: it stays told, however long the service remembers it. */
import { afterEach, expect, test, vi } from 'vitest';
import { openStage, type Stage } from './stage.ts';

// Days pass in these stories, which takes some seconds where other tests run beside them.
vi.setConfig({ testTimeout: 60_000 });

let stage: Stage;
afterEach(() => stage.close());

/** Three Birds, and a store that keeps a day. */
async function open(): Promise<readonly string[]> {
  let birds: string[] = [];
  stage = await openStage({
    regions: ['eu'],
    poll: { intervalMs: 240_000, inventoryIntervalMs: 3_600_000 },
    before(world) {
      const { id } = world.addNest({ name: 'Marketing' });
      birds = ['one', 'two', 'three'].map((name) => world.addBird(id, { name, triggerType: 'event' }).id);
    },
  });
  await stage.restart(() => stage.keepsFor(1));
  return birds;
}

/** Four times a day every Bird fails and succeeds, is saved, and loses its connection; then the store is tidied. */
async function daysPass(days: number, birds: readonly string[]): Promise<void> {
  const world = stage.worlds.eu!;
  for (let quarter = 0; quarter < days * 4; quarter += 1) {
    for (const birdId of birds) {
      world.startFlight(birdId, { endsAs: 'failed', fliesForMs: 1000 });
      world.save(birdId);
    }
    world.disconnectConnection({ exhausted: true, wording: 'new' });
    await stage.minutesPass(30);
    for (const birdId of birds) world.startFlight(birdId, { endsAs: 'succeeded', fliesForMs: 1000 });
    await stage.minutesPass(330);
    while ((await stage.daemon().prune()) > 0);
  }
}

const repeated = () => stage.forwarded().filter((key, at, keys) => keys.indexOf(key) !== at);

test('a longer retention tells nothing again that the shorter one had deleted', async () => {
  const birds = await open();
  await daysPass(0.5, birds);
  await daysPass(2, birds.slice(0, 2));
  const mails = stage.mails.length;
  await stage.restart(() => stage.keepsFor(30));
  await stage.minutesPass(26 * 60);
  expect(repeated()).toEqual([]);
  const told = stage.mails.slice(mails).map(({ notification }) => notification);
  expect(told.filter(({ summary }) => summary)).toEqual([]);
  expect(told.flatMap(({ alerts }) => alerts.map(({ labels }) => labels.alertname))).not.toContain(
    'FlightFailed',
  );
});

test('a restart tells nothing again of what was at rest for longer than the retention', async () => {
  const birds = await open();
  await daysPass(0.5, birds);
  await daysPass(1.5, []);
  await stage.restart();
  await stage.minutesPass(60);
  expect(repeated()).toEqual([]);
  // What comes then is news as ever.
  const failed = stage.worlds.eu!.startFlight(birds[2]!, { endsAs: 'failed', fliesForMs: 1000 });
  await stage.minutesPass(10);
  expect(stage.forwarded().at(-1)).toBe(`eu/flight/${failed.id}/failed`);
});

test('a Flight that the service lists without a start is told once, however often the store is tidied', async () => {
  let bird = '';
  stage = await openStage({
    regions: ['eu'],
    before(world) {
      const { id } = world.addNest({ name: 'Marketing' });
      bird = world.addBird(id, { name: 'one', triggerType: 'event' }).id;
    },
    between: (service) => ({
      async send(request) {
        const { body, ...answer } = await service.send(request);
        return { ...answer, body: body.replace(/"startDate":"[^"]*"/g, '"startDate":null') };
      },
      close: () => service.close(),
    }),
  });
  await stage.minutesPass(5);
  const flight = stage.worlds.eu!.startFlight(bird, { endsAs: 'cancelled', fliesForMs: 1000 });
  for (let times = 0; times < 6; times += 1) {
    await stage.minutesPass(10);
    while ((await stage.daemon().prune()) > 0);
  }
  await stage.restart();
  await stage.minutesPass(10);
  expect(stage.forwarded()).toEqual([`eu/flight/${flight.id}/cancelled`]);
});
