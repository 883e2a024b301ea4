import { expect, test } from 'vitest';
import { createStage, type Stage } from './stage.ts';

let stage: Stage;

test('the active members of a Nest get mails about failures in it, including those who joined a while ago [long]', async () => {
  const birds: Record<string, string> = {};
  let docs = '';
  stage = await createStage({
    regions: ['eu'],
    toNestMembers: true,
    before(world) {
      const anna = world.addUser({ email: 'anna@example.com' });
      const bo = world.addUser({ email: 'bo@example.com' });
      const gone = world.addUser({ email: 'gone@example.com', isActive: false });
      const sales = world.addNest({ name: 'Sales', members: [anna.id, bo.id, gone.id] });
      docs = world.addNest({ name: 'Docs', members: [bo.id] }).id;
      birds.sales = world.addBird(sales.id, { name: 'Quotes', triggerType: 'scheduled' }).id;
      birds.docs = world.addBird(docs, { name: 'Manual', triggerType: 'scheduled' }).id;
    },
  });
  const mailed = () =>
    stage.mails.map(({ notification: { to, alerts } }) => [alerts.map(({ labels }) => labels.bird), to]);
  await stage.minutesPass(2);
  const world = stage.eu;
  for (const birdId of Object.values(birds))
    world.startFlight(birdId, { endsAs: 'failed', fliesForMs: 1_000 });
  await stage.minutesPass(3);
  expect(mailed().toSorted()).toEqual([
    [['Manual'], ['bo@example.com']],
    [['Quotes'], ['anna@example.com', 'bo@example.com']],
  ]);

  world.addMember(docs, world.addUser({ email: 'cy@example.com' }).id);
  await stage.minutesPass(10);
  world.startFlight(birds.docs!, { endsAs: 'failed', fliesForMs: 1_000 });
  await stage.minutesPass(3);
  expect(mailed().at(-1)).toEqual([['Manual'], ['bo@example.com', 'cy@example.com']]);
});
