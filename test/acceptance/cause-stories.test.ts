/** Stories of a cause that many Birds share, with the whole daemon. */
import { expect, test } from 'vitest';
import { rule } from '../domain/world.ts';
import { createStage } from './stage.ts';

const QUOTA = 'DeepL API error 456: Quota exceeded for key 12';

interface Story {
  readonly birds?: number;
  readonly rule?: Parameters<typeof rule<'SharedCause'>>[1];
  readonly flights?: Parameters<typeof rule<'FlightFailed'>>[1];
  readonly toNestMembers?: boolean;
  readonly groupIntervalMs?: number;
}

/** Birds in four Nests of a region. */
async function watched(story: Story = {}) {
  const { birds = 10, rule: own, flights, toNestMembers = false, groupIntervalMs = 300_000 } = story;
  const ids: string[] = [];
  const stage = await createStage({
    regions: ['eu'],
    route: { groupIntervalMs },
    toNestMembers,
    rules: [...(own ? [rule('SharedCause', own)] : []), ...(flights ? [rule('FlightFailed', flights)] : [])],
    before(world) {
      const nests = ['Alfa', 'Bravo', 'Charlie', 'Delta'].map((name) =>
        world.addNest({ name, members: [world.addUser({ email: `${name.toLowerCase()}@example.com` }).id] }),
      );
      for (let at = 0; at < birds; at += 1) {
        const nest = nests[at % nests.length]!;
        ids.push(world.addBird(nest.id, { name: `Sync ${at}`, triggerType: 'manual' }).id);
      }
    },
  });
  await stage.minutesPass(2);
  const fly = (at: number, endsAs: 'failed' | 'succeeded', errorMessages = QUOTA) =>
    stage.eu.startFlight(ids[at]!, { endsAs, fliesForMs: 1_000, errorMessages });
  const fail = (from: number, until: number, message = QUOTA) => {
    for (let at = from; at < until; at += 1) fly(at, 'failed', message);
  };
  const told = () => stage.alerts();
  const names = () =>
    told().map(({ status, labels }) => `${labels.alertname} ${labels.bird ?? ''} ${status}`);
  return { stage, ids, fly, fail, told, names };
}

test('eight Birds in four Nests fail with one error: one critical alert with their names [long]', async () => {
  const { stage, fail, told } = await watched();
  fail(0, 8);
  await stage.minutesPass(4);
  expect(stage.received()).toHaveLength(1);
  const [alert] = told();
  expect(alert).toMatchObject({
    status: 'firing',
    labels: {
      alertname: 'SharedCause',
      severity: 'critical',
      region: 'eu',
      error: 'DeepL API error #: Quota exceeded for key #',
    },
  });
  expect(alert!.annotations.summary).toMatch(
    /^8 Birds in 4 Nests \(EU\) fail with "DeepL API error …: Quota exceeded for key …" since /,
  );
  for (let at = 0; at < 8; at += 1) expect(alert!.annotations.description).toContain(`Sync ${at} in `);
  expect(alert!.events).toHaveLength(8);
});

test('the ninth joins without a message of its own before the interval of the group is over [long]', async () => {
  const { stage, fail, fly, told } = await watched();
  fail(0, 8);
  await stage.minutesPass(2);
  fail(8, 9);
  await stage.minutesPass(2);
  expect(told()).toHaveLength(1);
  await stage.minutesPass(5);
  expect(told()).toHaveLength(2);
  expect(told()[1]!.annotations.summary).toMatch(/^9 Birds in 4 Nests/);
  // The same Bird fails once more.
  fly(8, 'failed');
  await stage.minutesPass(7);
  expect(told().map(({ events }) => events.length)).toEqual([8, 1, 1]);
});

test('a long traceback is one cause as well, also if the rule writes its own text [long]', async () => {
  const calls = Array.from({ length: 100 }, (_, at) => `  File "/srv/plugin.py", line ${at}, in call`);
  const traceback = ['Traceback (most recent call last):', ...calls, 'QuotaError: exceeded'].join('\n');
  const { stage, fail, fly, names } = await watched({
    flights: { annotations: { description: 'See the wiki.' } },
  });
  fail(0, 8, traceback);
  await stage.minutesPass(4);
  expect(names()).toEqual(['SharedCause  firing']);
  fly(8, 'failed', traceback);
  await stage.minutesPass(8);
  expect(names()).toEqual(['SharedCause  firing', 'SharedCause  firing']);
});

test('fewer Birds and other errors share nothing [long]', async () => {
  const { stage, fail, names } = await watched();
  fail(0, 4);
  fail(4, 8, 'Another error');
  await stage.minutesPass(4);
  expect(new Set(names().map((name) => name.split(' ')[0]))).toEqual(new Set(['FlightFailed']));
  expect(names()).toHaveLength(8);
});

test('it ends ten minutes after too few fail, and then what still fails is told [long]', async () => {
  const { stage, fail, fly, names } = await watched();
  fail(0, 6);
  await stage.minutesPass(3);
  expect(names()).toEqual(['SharedCause  firing']);
  for (let at = 0; at < 2; at += 1) fly(at, 'succeeded');
  await stage.minutesPass(9);
  expect(names()).toEqual(['SharedCause  firing']);
  await stage.minutesPass(10);
  const left = ['2', '3', '4', '5'].map((at) => `FlightFailed Sync ${at} firing`);
  expect(names().toSorted()).toEqual([...left, 'SharedCause  firing', 'SharedCause  resolved'].toSorted());
});

test('the end of a part that had been told is told at once, and no other [long]', async () => {
  const { stage, fail, fly, names } = await watched();
  fail(0, 2);
  await stage.minutesPass(3);
  const before = ['FlightFailed Sync 0 firing', 'FlightFailed Sync 1 firing'];
  expect(names().toSorted()).toEqual(before);
  fail(2, 8);
  await stage.minutesPass(3);
  fly(0, 'succeeded');
  fly(7, 'succeeded');
  await stage.minutesPass(6);
  expect(names().toSorted()).toEqual(
    [...before, 'FlightFailed Sync 0 resolved', 'SharedCause  firing'].toSorted(),
  );
});

test('all regions together [long]', async () => {
  const stage = await createStage({
    ...{ rules: [rule('SharedCause', { across: 'all' })], nests: { Alfa: ['Sync 0', 'Sync 1', 'Sync 2'] } },
    triggerType: 'manual',
  });
  await stage.minutesPass(2);
  for (const world of Object.values(stage.worlds)) {
    for (const id of world.birds.keys()) {
      world.startFlight(id, { endsAs: 'failed', fliesForMs: 1_000, errorMessages: QUOTA });
    }
  }
  await stage.minutesPass(4);
  const told = stage.alerts();
  expect(told).toMatchObject([
    {
      labels: { alertname: 'SharedCause', region: 'all' },
      annotations: { summary: expect.stringMatching(/^6 Birds in 2 Nests fail/) },
    },
  ]);
});

test('whoever is not told of the cause is told of the Birds: the members of each Nest [long]', async () => {
  const { stage, fail } = await watched({ toNestMembers: true });
  fail(0, 8);
  await stage.minutesPass(4);
  const mailed = stage.mails.map(({ notification: { to, alerts } }) => [
    ...new Set(alerts.map(({ labels }) => `${labels.alertname} in ${labels.nest}`)),
    ...(to ?? []),
  ]);
  const nests = ['Alfa', 'Bravo', 'Charlie', 'Delta'];
  expect(mailed.toSorted()).toEqual(
    nests.map((nest) => [`FlightFailed in ${nest}`, `${nest.toLowerCase()}@example.com`]),
  );
});

test('no failure is told twice to one receiver, neither when the cause begins nor when it ends [long]', async () => {
  const { stage, fail, fly, told, names } = await watched();
  fail(0, 3);
  await stage.minutesPass(3);
  fail(0, 7);
  await stage.minutesPass(8);
  fail(0, 2);
  for (let at = 4; at < 7; at += 1) fly(at, 'succeeded');
  await stage.minutesPass(25);
  const keys = told().flatMap(({ events }) => events.map(({ key }) => key));
  expect(keys.toSorted()).toEqual([...new Set(keys)].toSorted());
  const failed = stage.eu.truth().events.filter(({ type }) => type === 'flight.failed');
  expect(keys).toHaveLength(failed.length);
  // The other three that still fail had been told before.
  expect(names().slice(-2).toSorted()).toEqual(['FlightFailed Sync 3 firing', 'SharedCause  resolved']);
});

test('nor if the cause begins with hundreds of failures, of Birds whose groups wait for longer [long]', async () => {
  const { stage, fail, fly, told, names } = await watched({ groupIntervalMs: 3_600_000 });
  fail(0, 4);
  await stage.minutesPass(2);
  for (let count = 0; count < 60; count += 1) {
    fail(0, 4);
    await stage.secondsPass(1);
  }
  await stage.minutesPass(1);
  for (let count = 0; count < 60; count += 1) fail(4, 5);
  await stage.minutesPass(2);
  for (const at of [0, 1, 2, 4]) fly(at, 'succeeded');
  await stage.minutesPass(70);
  expect(names()).toContain('SharedCause  resolved');
  const keys = told().flatMap(({ events }) => events.map(({ key }) => key));
  expect(keys).toHaveLength(304);
  expect(new Set(keys).size).toBe(304);
});

test('a part that fails with something else is told of that [long]', async () => {
  const { stage, fail, told } = await watched();
  fail(0, 6);
  await stage.minutesPass(3);
  fail(0, 1, 'Licence of the plugin expired');
  await stage.minutesPass(8);
  const news = told().flatMap(({ labels, events }) =>
    events.filter(({ message }) => message.startsWith('Licence')).map(() => labels.alertname),
  );
  expect(news).toEqual(['FlightFailed']);
});
