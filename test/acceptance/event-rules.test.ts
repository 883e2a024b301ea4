/** Stories of rules on events: what people are told of a moment, and what they are not. */
import { expect, test } from 'vitest';
import { mailView } from '../../src/channels/message/message-view.ts';
import { parseMatchers } from '../../src/domain/matchers/matcher.ts';
import { rule } from '../domain/world.ts';
import { createStage, type StageOptions } from './stage.ts';

const changedIn = (forEach: 'bird' | 'nest') =>
  rule('EventMatched', {
    ...{ id: 'production-changed', title: 'Changed in production', forEach },
    match: parseMatchers('type=~"bird_log.(Published|Suspended)",nest=~"Prod.*",initiator!~".*deploy.*"'),
  });
const CHANGED = changedIn('bird');

const BY = { initiator: 'editor@example.com' };

async function told(options: StageOptions) {
  const ids = new Map<string, string>();
  const stage = await createStage({
    regions: ['eu'],
    before(world) {
      for (const nest of ['Production', 'Sandbox']) {
        const { id } = world.addNest({ name: nest });
        for (const bird of ['One', 'Two', 'Three'])
          ids.set(`${nest} ${bird}`, world.addBird(id, { name: bird, triggerType: 'manual' }).id);
      }
    },
    ...options,
  });
  await stage.minutesPass(3);
  const world = stage.eu;
  const log = (bird: string, eventType: string, fields: object = BY) =>
    world.appendBirdLog(ids.get(bird)!, { fields: { eventType, ...fields } });
  const alerts = () => stage.alerts();
  return { stage, world, log, ids, alerts };
}

test('a publish in production is told once, and nothing else [long]', async () => {
  const { stage, log, alerts } = await told({ rules: [CHANGED] });
  log('Production One', 'Published');
  log('Production One', 'Saved');
  log('Sandbox One', 'Published');
  log('Production Two', 'Published', { initiator: 'ci-deploy@example.com' });
  await stage.minutesPass(6);
  expect(alerts()).toMatchObject([
    {
      status: 'firing',
      labels: {
        alertname: 'EventMatched',
        rule: 'production-changed',
        bird: 'One',
        type: 'bird_log.Published',
      },
      annotations: { title: 'Changed in production' },
      events: [{ type: 'bird_log.Published' }],
    },
  ]);
  const view = mailView(stage.mails[0]!.notification, 'https://nestwatch.example.com');
  expect(view).toMatchObject({
    headline: 'Changed in production: One',
    lead: ['Bird published: One in Production (EU), by editor@example.com.'],
    events: [],
  });
  expect(view.context).toMatch(/^EU · Production · at /);
  // Nobody is reminded of it or told that it is over.
  await stage.minutesPass(6 * 60);
  expect(stage.mails).toHaveLength(1);
  expect(alerts()).toHaveLength(1);
  // The same later is news again.
  log('Production One', 'Published');
  await stage.minutesPass(6);
  expect(stage.mails).toHaveLength(2);
});

test('what happened before nestwatch watched the region is not told [long]', async () => {
  const { stage, alerts } = await told({
    rules: [CHANGED],
    before(world) {
      const { id } = world.addNest({ name: 'Production' });
      const bird = world.addBird(id, { name: 'Old', triggerType: 'manual' });
      world.appendBirdLog(bird.id, {
        fields: { eventType: 'Published', ...BY },
        createdAtUs: world.nowUs() - 600e6,
      });
    },
  });
  expect(stage.forwarded().filter((key) => key.includes('/bird_log/'))).toHaveLength(1);
  expect(alerts()).toEqual([]);
});

test('two rules that fit the same event are two alerts with their own titles [long]', async () => {
  const all = rule('EventMatched', {
    title: 'Any change',
    match: parseMatchers('type="bird_log.Published"'),
  });
  const { stage, log, alerts } = await told({ rules: [CHANGED, all] });
  log('Production One', 'Published');
  await stage.minutesPass(6);
  expect(
    alerts()
      .map(({ annotations }) => annotations.title)
      .toSorted(),
  ).toEqual(['Any change', 'Changed in production']);
});

test('an end is told where that is written [long]', async () => {
  const { stage, log, alerts } = await told({
    rules: [{ ...CHANGED, resolveAfterMs: 60_000 }],
    endsMoments: true,
  });
  log('Production One', 'Published');
  await stage.minutesPass(9);
  expect(alerts().map(({ status }) => status)).toEqual(['firing', 'resolved']);
  expect(stage.mails).toHaveLength(1);
});

test('a thousand renames at once are a thousand events, and one alert in one message [long]', async () => {
  const { stage, world, alerts } = await told({
    rules: [rule('EventMatched', { id: 'renamed', match: parseMatchers('type="inventory.bird_renamed"') })],
    poll: { intervalMs: 600_000, maxIntervalMs: 3_600_000 },
    before(eu) {
      const nests = Array.from({ length: 10 }, (_, at) => eu.addNest({ name: `Customer ${at}` }));
      for (let at = 0; at < 1_000; at += 1)
        eu.addBird(nests[at % 10]!.id, { name: `Sync ${at}`, triggerType: 'manual' });
    },
  });
  await stage.minutesPass(6);
  for (const { id, name } of world.birds.values()) world.renameBird(id, `${name} again`);
  await stage.minutesPass(12);
  const keys = stage.forwarded().filter((key) => key.includes('/inventory/'));
  expect([keys.length, new Set(keys).size]).toEqual([1_000, 1_000]);
  expect(stage.received()).toHaveLength(1);
  expect(alerts()).toMatchObject([
    {
      labels: { rule: 'renamed' },
      events_total: 1_000,
      annotations: { summary: expect.stringMatching(/ again.*, and 999 other events like it$/) },
    },
  ]);
});

test('cancelled Flights of a Nest are told at the fifth [long]', async () => {
  const many = rule('EventMatched', {
    ...{ title: 'Many Flights cancelled', match: parseMatchers('type="flight.cancelled"') },
    ...{ forEach: 'nest', threshold: 5, windowMs: 900_000 },
  });
  const { stage, world, ids, alerts } = await told({ rules: [many] });
  for (const bird of ['One', 'Two', 'Three', 'One', 'Two']) {
    expect(alerts()).toEqual([]);
    world.startFlight(ids.get(`Production ${bird}`)!, { endsAs: 'cancelled', fliesForMs: 1_000 });
    await stage.minutesPass(2);
  }
  await stage.minutesPass(4);
  expect(alerts()).toMatchObject([
    { status: 'firing', labels: { alertname: 'EventMatched', nest: 'Production' } },
  ]);
  expect(alerts()[0]!.events).toHaveLength(5);
  expect(alerts()[0]!.labels.bird).toBeUndefined();
});

test('a stranger who becomes a member of a Nest is told, and a colleague is not [long]', async () => {
  const stranger = rule('EventMatched', {
    ...{ title: "Stranger in a customer's Nest", severity: 'critical' },
    match: parseMatchers('type="inventory.member_added",email!~".*@(example|agency)\\.com"'),
  });
  const { stage, world, alerts } = await told({ rules: [stranger] });
  const [nest] = [...world.nests.keys()];
  await stage.minutesPass(12);
  for (const email of ['m@evil.example', 'colleague@example.com']) {
    world.addMember(nest!, world.addUser({ email }).id);
  }
  await stage.minutesPass(12);
  expect(alerts()).toMatchObject([
    {
      labels: { alertname: 'EventMatched', severity: 'critical', nest: 'Production' },
      annotations: { title: "Stranger in a customer's Nest" },
      events: [{ type: 'inventory.member_added', attributes: { email: 'm@evil.example' } }],
    },
  ]);
  expect(alerts()[0]!.annotations.summary).toMatch(
    /^m@evil\.example became a member of Production between .+\. The interface does not say who added them\.?$/,
  );
  expect(alerts()[0]!.labels.email).toBeUndefined();
});

test('what is over before it could be told is told as what happened, and its end where that is written [long]', async () => {
  const brief = { ...CHANGED, resolveAfterMs: 1_000 };
  const { stage, log, alerts } = await told({ rules: [brief], endsMoments: true });
  log('Production One', 'Published');
  await stage.minutesPass(9);
  expect(alerts().map(({ status }) => status)).toEqual(['firing', 'resolved']);
  expect(stage.mails.map(({ notification }) => notification.status)).toEqual(['firing']);
});

test('events of a Nest are told with their Birds and who did it [long]', async () => {
  const { stage, log } = await told({ rules: [changedIn('nest')] });
  for (const bird of ['One', 'Two', 'Three']) log(`Production ${bird}`, 'Published');
  await stage.minutesPass(6);
  const view = mailView(stage.mails[0]!.notification, 'https://nestwatch.example.com');
  expect(view.headline).toBe('Changed in production: Production');
  expect(view.events.map(({ where, message }) => [where, message])).toEqual([
    ['Two', 'Published, by editor@example.com'],
    ['One', 'Published, by editor@example.com'],
  ]);
});
