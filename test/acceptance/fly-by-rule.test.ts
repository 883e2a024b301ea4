/** Rules fly Birds again, within their limits, and people read what came of it, or nothing if all is well. */
import { expect, test } from 'vitest';
import { type ActionRule, sayAction } from '../../src/domain/action/action.ts';
import { createMatcher } from '../../src/domain/matchers/matcher.ts';
import { rule } from '../domain/world.ts';
import { type Again, openAgain } from './fly-stage.ts';

const RULE: ActionRule = {
  ...{ name: 'app-did-not-respond', match: [], waitMs: 60_000, atMost: 2, perHour: 10, holdMs: 1_200_000 },
  ...{ approvals: 0, isDryRun: false },
};

const stageWith = (rule: Partial<ActionRule> = {}, options: Parameters<typeof openAgain>[0] = {}) =>
  openAgain({ actions: [{ ...RULE, ...rule }], ...options });

/** The Flight that was started again ends. */
function ends({ eu, birds }: Again, status: 'failed' | 'succeeded'): void {
  const flight = [...eu.birds.get(birds.manual!)!.flights.values()].at(-1)!;
  eu.endFlight(flight.id, status, status === 'failed' ? { errorMessages: 'The app did not respond' } : {});
}

const actionsOf = ({ stage, birds }: Again, bird = birds.manual!) =>
  stage.store.transaction((tx) => tx.actions.ofBird('eu', bird, 10));

const guardsOf = async (again: Again) => (await actionsOf(again)).map(({ guard }) => guard ?? '');

test('what succeeds when it is flown again is told to nobody, and the digest counts it [long]', async () => {
  const digests = [{ name: 'd', cron: '0 * * * *', timezone: 'UTC', receiver: 'ops', skipEmpty: false }];
  const again = await stageWith({}, { digests });
  const { stage } = again;
  again.fail(again.birds.manual!);
  await stage.minutesPass(3);
  expect(again.posts).toHaveLength(1);
  ends(again, 'succeeded');
  await stage.minutesPass(30);
  expect(stage.received()).toEqual([]);
  const [resolved] = await stage.store.transaction((tx) =>
    tx.alerts.page({ order: 'newest', nowUs: 0, state: 'resolved', limit: 10 }).then((one) => one.alerts),
  );
  expect(resolved!.labels.alertname).toBe('FlightFailed');
  await stage.minutesPass(60);
  expect(stage.digests.map(({ notification }) => notification.digest.acted?.healed)).toContain(1);
  const { writes } = await stage.store.transaction((tx) => tx.writes.page({ limit: 10 }));
  expect(writes).toEqual([expect.objectContaining({ who: RULE.name, by: 'rule' })]);
  expect(again.posts).toHaveLength(1);
});

test('what fails thrice is flown again twice, and then the held message says so [long]', async () => {
  const again = await stageWith();
  const { stage } = again;
  again.fail(again.birds.manual!);
  for (let times = 0; times < 2; times += 1) {
    await stage.minutesPass(3);
    expect(stage.received()).toEqual([]);
    ends(again, 'failed');
  }
  await stage.minutesPass(2);
  expect(again.posts).toHaveLength(2);
  const [told] = stage.received();
  expect(told!.alerts[0]!.annotations.flown_again).toBe(
    'not flown again by rule app-did-not-respond: that was done as often as at_most allows (2 times).',
  );
  await stage.minutesPass(30);
  expect(again.posts).toHaveLength(2);
  expect(await guardsOf(again)).toEqual(['at_most', '', '']);
});

test('a Flight that fails as soon as it is flown again counts, and so does every start, however often the Bird fails [long]', async () => {
  let again: Again | undefined;
  again = await stageWith(
    {},
    {
      async onPost(_request, pass) {
        const response = await pass();
        ends(again!, 'failed');
        return response;
      },
    },
  );
  again.fail(again.birds.manual!);
  await again.stage.minutesPass(10);
  expect(again.posts).toHaveLength(2);
  expect(await guardsOf(again)).toEqual(['at_most', '', '']);
  expect(again.stage.received()).toHaveLength(1);
  for (let times = 0; times < 60; times += 1) {
    again.fail(again.birds.manual!);
    await again.stage.minutesPass(2);
  }
  expect(again.posts).toHaveLength(2);
});

test('what a rule has flown again goes on counting where each Flight is an alert of its own [long]', async () => {
  const again = await stageWith({ holdMs: 0 }, { rules: [rule('FlightFailed', { forEach: 'flight' })] });
  again.fail(again.birds.manual!);
  for (let times = 0; times < 2; times += 1) {
    await again.stage.minutesPass(4);
    ends(again, 'failed');
  }
  await again.stage.minutesPass(10);
  const [first, second] = again.stage
    .received()
    .findLast(({ alerts }) => alerts.length === 2)!
    .alerts.toSorted((a, b) => (a.startsAt < b.startsAt ? -1 : 1))
    .map(({ annotations }) => annotations.flown_again);
  expect(first).toMatch(/^flown again at .* \(1 of 2\): failed at /);
  expect(second).toBe('will be flown again by rule app-did-not-respond (2 of 2).');
  expect(again.posts).toHaveLength(2);
  expect(await guardsOf(again)).toEqual(['at_most', '', '']);
});

test('a Bird that was moved meanwhile is flown in its new Nest, if the rule fits there too [long]', async () => {
  const nests: string[] = [];
  const again = await stageWith(
    { match: [createMatcher('nest', '=~', 'Prod.*')], waitMs: 900_000 },
    {
      before(world) {
        nests.push(...['Prod US', 'Sandbox'].map((name) => world.addNest({ name }).id));
      },
    },
  );
  const { stage, eu, birds, posts } = again;
  again.fail(birds.manual!);
  await stage.minutesPass(2);
  eu.moveBird(birds.manual!, nests[0]!);
  await stage.minutesPass(18);
  expect(posts).toEqual([expect.stringMatching(new RegExp(`/nests/${nests[0]}/birds/${birds.manual}$`))]);
  expect(await actionsOf(again)).toMatchObject([{ state: 'done', nestId: nests[0], nest: 'Prod US' }]);

  ends(again, 'failed');
  await stage.minutesPass(2);
  eu.moveBird(birds.manual!, nests[1]!);
  await stage.minutesPass(18);
  expect(posts).toHaveLength(1);
  expect(await guardsOf(again)).toEqual(['rule_gone', '']);
});

test('the message that was told while it fires says how often it was flown again, and its end that this helped [long]', async () => {
  const again = await stageWith({ holdMs: 0 });
  const { stage } = again;
  again.fail(again.birds.manual!);
  await stage.minutesPass(4);
  expect(stage.received()).toHaveLength(1);
  ends(again, 'succeeded');
  await stage.minutesPass(4);
  const end = stage.received().at(-1)!;
  expect(end.status).toBe('resolved');
  expect(end.alerts[0]!.annotations.flown_again).toBe('recovered after flying again');
});

test('who was told that it will be flown again is told once that it was not [long]', async () => {
  const again = await stageWith({ holdMs: 0, waitMs: 600_000, perHour: 1 });
  const { stage } = again;
  const said = () => stage.received().map(({ alerts }) => alerts[0]!.annotations.flown_again);
  again.fail(again.birds.manual!);
  await stage.minutesPass(13);
  expect(again.posts).toHaveLength(1);
  ends(again, 'failed');
  await stage.minutesPass(8);
  expect(said().at(-1)).toBe('will be flown again by rule app-did-not-respond (2 of 2).');
  const before = said().length;
  await stage.minutesPass(40);
  expect(again.posts).toHaveLength(1);
  expect(said().slice(before)).toEqual([
    'not flown again by rule app-did-not-respond: that was done as often as per_hour allows (1 time).',
  ]);
});

test('who was told that it will be flown again is told once that the service refused it [long]', async () => {
  const again = await stageWith(
    { holdMs: 0, waitMs: 600_000 },
    { onPost: async () => ({ status: 400, headers: {}, body: '{"detail":"Not now"}' }) },
  );
  const { stage } = again;
  again.fail(again.birds.manual!);
  await stage.minutesPass(60);
  expect(again.posts).toHaveLength(1);
  expect(stage.received().map(({ alerts }) => alerts[0]!.annotations.flown_again)).toEqual([
    'will be flown again by rule app-did-not-respond (1 of 2).',
    expect.stringMatching(/^not flown again at .* \(1 of 2\): The service refused: Not now$/),
  ]);
});

test('the end of what people were told of is told, although a rule began to act only afterwards [long]', async () => {
  const again = await stageWith();
  const { stage, birds } = again;
  const pause = (by?: { atUs: number; by: string }) =>
    stage.store.transaction((tx) => tx.actions.putPause(by));
  await pause({ atUs: 1, by: 'Ann' });
  again.fail(birds.manual!);
  await stage.minutesPass(6);
  await pause();
  again.fail(birds.manual!);
  await stage.minutesPass(4);
  expect(again.posts).toHaveLength(1);
  ends(again, 'succeeded');
  await stage.minutesPass(10);
  const statuses = stage.received().map(({ status }) => status);
  expect([statuses[0], statuses.at(-1)]).toEqual(['firing', 'resolved']);
});

test('if five Birds fail with the same error none is flown again, and the reason is shared_cause [long]', async () => {
  const birds: string[] = [];
  const again = await stageWith(
    {},
    {
      before(world) {
        const nest = world.addNest({ name: 'Sales' });
        for (let at = 0; at < 5; at += 1)
          birds.push(world.addBird(nest.id, { name: `Sync ${at}`, triggerType: 'manual' }).id);
      },
    },
  );
  for (const bird of birds) again.fail(bird);
  await again.stage.minutesPass(5);
  expect(again.posts).toEqual([]);
  for (const bird of birds) expect((await actionsOf(again, bird))[0]!.guard).toBe('shared_cause');
  expect(again.stage.received().length).toBeGreaterThan(0);
});

test.each<[string, Partial<ActionRule>, (again: Again) => Promise<unknown> | unknown]>([
  ['dry_run', { isDryRun: true }, () => {}],
  ['per_hour', { perHour: 0 }, () => {}],
  ['in_air', {}, ({ eu, birds }) => eu.startFlight(birds.manual!)],
  ['changed', {}, ({ eu, birds }) => eu.publish(birds.manual!)],
  ['not_startable', { waitMs: 420_000 }, ({ eu, birds }) => eu.suspend(birds.manual!)],
  [
    'impaired',
    {},
    async ({ eu, stage }) => {
      await stage.minutesPass(1);
      eu.behaviours.error503 = 1;
    },
  ],
  ['paused', {}, ({ stage }) => stage.store.transaction((tx) => tx.actions.putPause({ atUs: 1, by: 'Ann' }))],
  [
    'cancelled',
    {},
    ({ eu, birds }) => {
      const { id } = eu.startFlight(birds.manual!);
      eu.endFlight(id, 'cancelled');
    },
  ],
])('the guard rail %s withholds it, and the message is sent', async (guard, rule, before) => {
  const again = await stageWith({ waitMs: 300_000, ...rule });
  again.fail(again.birds.manual!);
  await before(again);
  await again.stage.minutesPass(12);
  expect(again.posts).toEqual([]);
  expect(await guardsOf(again)).toEqual([guard]);
  expect(again.stage.received().length).toBeGreaterThan(0);
});

test('a message that was given up does not keep rules from what they do [long]', async () => {
  const answer = ({ body }: { readonly body: string }) => (body.includes('By event') ? 400 : 200);
  const again = await stageWith({ holdMs: 0 }, { answer });
  const { stage, birds } = again;
  again.fail(birds.event!);
  await stage.minutesPass(30);
  const impaired = await stage.store.transaction((tx) => tx.alerts.ofScopes(['all/watch']));
  expect(impaired).toMatchObject([{ state: 'firing', labels: { reason: 'deliveries_dead' } }]);
  again.fail(birds.manual!);
  await stage.minutesPass(4);
  expect(again.posts).toHaveLength(1);
});

test('what is over before the rule decides is not flown again [long]', async () => {
  const again = await stageWith({ waitMs: 300_000 });
  again.fail(again.birds.manual!);
  await again.stage.minutesPass(2);
  again.eu.startFlight(again.birds.manual!);
  ends(again, 'succeeded');
  await again.stage.minutesPass(12);
  expect(again.posts).toEqual([]);
  expect(await guardsOf(again)).toEqual(['over']);
  expect(again.stage.received()).toEqual([]);
});

test('an action that two have to approve waits for two who logged in, lapses after four hours, and is told meanwhile [long]', async () => {
  const again = await stageWith({ approvals: 2 });
  const { stage, birds, web, posts } = again;
  const approve = (headers: Record<string, string>) =>
    web.post<{ error?: string }>(`/api/v1/birds/eu/${birds.manual}/fly`, { author: 'X' }, headers);
  again.fail(birds.manual!);
  await stage.minutesPass(3);
  expect(stage.received().at(-1)!.alerts[0]!.annotations.flown_again).toMatch(
    /^waits for approval by two people since .*: to be flown again by rule app-did-not-respond\.$/,
  );
  const said = async () => sayAction((await actionsOf(again))[0]!, () => 'noon');
  expect((await approve({ authorization: 'Bearer token of flyer' })).status).toBe(403);
  expect((await approve({ 'x-person': 'ann' })).status).toBe(202);
  const twice = await approve({ 'x-person': 'ann' });
  expect([twice.status, twice.json.error]).toEqual([
    409,
    'ann has approved this already: another person has to.',
  ]);
  await stage.minutesPass(2);
  expect(posts).toEqual([]);
  expect(await said()).toBe(
    'Waits for approval by another person since noon: to be flown again by rule app-did-not-respond and ann.',
  );
  expect((await approve({ 'x-person': 'bob' })).status).toBe(202);
  await stage.minutesPass(2);
  expect(posts).toHaveLength(1);
  expect(await said()).toContain(' by rule app-did-not-respond, ann and bob (1 of 2). A Flight started');
  expect((await actionsOf(again))[0]).toMatchObject({ state: 'done', by: ['ann', 'bob'] });
  ends(again, 'failed');
  await stage.minutesPass(3);
  expect((await approve({ 'x-person': 'ann' })).status).toBe(202);
  await stage.minutesPass(300);
  expect(await guardsOf(again)).toEqual(['lapsed', '']);
  expect(await said()).toBe(
    'Not flown again by rule app-did-not-respond and ann: it was not approved within 4 hours.',
  );
  expect(posts).toHaveLength(1);
});

test('what is approved late is decided again, so limits hold when the service is asked; a wish approves once [long]', async () => {
  let second = '';
  const again = await stageWith(
    { approvals: 2, perHour: 1 },
    {
      before(world) {
        const nest = world.addNest({ name: 'Sales' });
        second = world.addBird(nest.id, { name: 'Sync orders', triggerType: 'manual' }).id;
      },
    },
  );
  const { stage, birds, web, posts } = again;
  const both = [birds.manual!, second];
  const ids = new Map(both.map((bird, at) => [bird, `5f0c0000-0000-4000-8000-00000000000${at}`]));
  const approve = (bird: string, person: string) =>
    web.post<{ action: { state: string } }>(
      `/api/v1/birds/eu/${bird}/fly`,
      { author: 'X', ...(person === 'bob' && { id: ids.get(bird) }) },
      { 'x-person': person },
    );
  for (const bird of both) again.fail(bird);
  await stage.minutesPass(3);
  for (const bird of both) {
    expect((await approve(bird, 'ann')).json.action.state).toBe('proposed');
    expect((await approve(bird, 'bob')).json.action.state).toBe('planned');
    await stage.minutesPass(2);
  }
  expect(posts).toEqual([expect.stringMatching(new RegExp(`/birds/${birds.manual}$`))]);
  const [late] = await actionsOf(again, second);
  expect(late).toMatchObject({ state: 'withheld', guard: 'per_hour', by: ['ann', 'bob'] });

  await stage.minutesPass(60);
  ends(again, 'failed');
  await stage.minutesPass(3);
  expect((await actionsOf(again)).map(({ state }) => state)).toEqual(['proposed', 'done']);
  expect((await approve(birds.manual!, 'bob')).json.action.state).toBe('done');
  await stage.minutesPass(2);
  expect((await actionsOf(again))[0]).toMatchObject({ state: 'proposed', by: [] });
  expect(posts).toHaveLength(1);
});

test('a person need not wait for a rule; what a removed rule had planned is withheld, and its message sent [long]', async () => {
  const again = await stageWith({ waitMs: 600_000 });
  const { stage, birds, posts } = again;
  again.fail(birds.manual!);
  await stage.minutesPass(2);
  expect((await again.wish(birds.manual!)).status).toBe(202);
  await stage.minutesPass(2);
  expect(posts).toHaveLength(1);
  expect((await actionsOf(again)).map(({ state, guard }) => guard ?? state)).toEqual(['done', 'by_hand']);
  ends(again, 'failed');
  await stage.minutesPass(2);
  expect(stage.received()).toEqual([]);
  await stage.follows(({ actions: _, ...config }) => config);
  await stage.minutesPass(12);
  expect((await guardsOf(again))[0]).toBe('rule_gone');
  expect(posts).toHaveLength(1);
  expect(stage.received().length).toBeGreaterThan(0);
});

test('what is planned where no Bird may be started any more is withheld at once, and its message sent [long]', async () => {
  const again = await stageWith({ waitMs: 600_000 });
  const { stage, birds, posts } = again;
  again.fail(birds.manual!);
  await stage.minutesPass(2);
  expect((await actionsOf(again)).map(({ state }) => state)).toEqual(['planned']);
  await stage.follows(({ actions: _, regions, ...config }) => ({
    ...config,
    regions: regions.map(({ fly: _fly, ...region }) => region),
  }));
  await stage.minutesPass(2);
  expect(await guardsOf(again)).toEqual(['rule_gone']);
  expect([posts.length, stage.received().length]).toEqual([0, 1]);
});
