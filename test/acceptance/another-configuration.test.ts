import { beforeEach, describe, expect, test } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { flightFailed } from '../../src/domain/kinds/failures/flight-failed.ts';
import { createMatcher } from '../../src/domain/matchers/matcher.ts';
import { createAlertResolver } from '../../src/operator/act-on-alerts.ts';
import type { World } from '../../src/simulator/world/world.ts';
import { load } from '../config/load.ts';
import { rule } from '../domain/world.ts';
import { createStage, type Stage, type StageOptions } from './stage.ts';

let stage: Stage;

const nests = { Marketing: ['Translate blog'] };

async function curtain(options: StageOptions = {}): Promise<Stage> {
  stage = await createStage({ nests, ...options });
  await stage.minutesPass(2);
  return stage;
}

function flightFails(region: string): void {
  stage.worlds[region]!.startFlight(stage.bird('Translate blog', region), {
    endsAs: 'failed',
    fliesForMs: 1_000,
  });
}

const requestsOf = (region: string) =>
  stage.happenings.filter((one) => one.what === 'request' && one.region === region);

/** Whether each region was read since its settings changed. */
const started = () =>
  stage
    .daemon()
    .regions()
    .map((region) => region.started);

const statuses = () => stage.received().map(({ status, alerts }) => `${status} ${alerts[0]!.labels.region}`);

describe('another configuration', () => {
  test('of routes keeps firing alerts, and notifies of their end only once [long]', async () => {
    await curtain();
    flightFails('eu');
    await stage.minutesPass(3);
    await stage.follows((config) => ({ ...config, route: { ...config.route, groupIntervalMs: 120_000 } }));
    await stage.minutesPass(10);
    expect(statuses()).toEqual(['firing eu']);
    stage.eu.startFlight(stage.bird('Translate blog'), { endsAs: 'succeeded', fliesForMs: 1_000 });
    await stage.minutesPass(5);
    expect(statuses()).toEqual(['firing eu', 'resolved eu']);
  });

  test('while the store is full loses nothing of a message that was just accepted', async () => {
    let isFull = false;
    await curtain({
      isStoreFull: () => isFull,
      answer({ body }) {
        isFull ||= body.includes(flightFailed.name);
        return 200;
      },
    });
    flightFails('eu');
    await stage.minutesPass(2);
    expect(statuses()).toEqual(['firing eu']);
    await stage.follows((config) => ({ ...config }));
    await stage.minutesPass(1);
    isFull = false;
    await stage.secondsPass(2);
    const counts = await stage.store.transaction((tx) => tx.outbox.count());
    expect([...new Set(counts.map(({ state }) => state))]).toEqual(['delivered']);
    expect(statuses()).toEqual(['firing eu']);
  });

  test('keeps the timer of a group that waits [long]', async () => {
    await curtain({ route: { groupWaitMs: 120_000 } });
    flightFails('eu');
    await stage.secondsPass(90);
    expect(statuses()).toEqual([]);
    for (let reload = 0; reload < 5; reload += 1) await stage.follows((config) => ({ ...config }));
    await stage.secondsPass(90);
    expect(statuses()).toEqual(['firing eu']);
  });

  test('does not read a region anew if its settings are the same', async () => {
    await curtain();
    const inventories = () => stage.happenings.filter((one) => one.what === 'inventory').length;
    const before = [inventories(), requestsOf('eu').length];
    await stage.follows((config) => ({ ...config, rules: [...config.rules] }));
    await stage.secondsPass(1);
    expect(inventories()).toBe(before[0]);
    expect(started()).toEqual([true, true]);
  });

  test('does not read a region anew if only the addresses of its pages differ [long]', async () => {
    const links = (path: string) =>
      load(
        `regions: { eu: { base_url: https://eu/api-rest, token: t, links: { bird: "https://app/${path}/{{ bird_id }}" } } }`,
      ).regions[0]!.links!;
    const follows = (path: string) => stage.regionsFollow({ links: links(path) });
    await curtain();
    for (const path of ['birds', 'birds', 'flows']) {
      await follows(path);
      expect(started(), path).toEqual([true, true]);
    }
    flightFails('eu');
    await stage.minutesPass(3);
    expect(stage.received()[0]!.alerts[0]!.annotations.bird_url).toBe(
      `https://app/flows/${stage.bird('Translate blog')}`,
    );
  });

  test('of one region leaves the other alone', async () => {
    await curtain();
    await stage.follows((config) => ({
      ...config,
      regions: config.regions.map((one) => (one.name === 'eu' ? { ...one, concurrency: 2 } : one)),
    }));
    expect(started()).toEqual([false, true]);
    await stage.minutesPass(1);
    expect(started()).toEqual([true, true]);
  });

  test('without a region ends its alerts and stops polling it; with it again, polling continues [long]', async () => {
    await curtain();
    flightFails('us');
    await stage.minutesPass(3);
    expect(statuses()).toEqual(['firing us']);
    let us: Config['regions'] = [];
    await stage.follows((config) => {
      us = config.regions.filter(({ name }) => name === 'us');
      return { ...config, regions: config.regions.filter(({ name }) => name !== 'us') };
    });
    const asked = requestsOf('us').length;
    stage.worlds.us!.startFlight(stage.bird('Translate blog', 'us'), {
      endsAs: 'succeeded',
      fliesForMs: 1_000,
    });
    await stage.minutesPass(5);
    expect(requestsOf('us')).toHaveLength(asked);
    expect(statuses()).toEqual(['firing us', 'resolved us']);
    await stage.follows((config) => ({ ...config, regions: [...config.regions, ...us] }));
    await stage.minutesPass(5);
    expect(stage.forwarded().toSorted()).toEqual(stage.truth());
  });

  test.each([
    ['', false],
    [', also where an answer leaves out the name of the Nest that is watched', true],
  ])(
    'that excludes a Nest ends its alerts at once, and raises no more%s [long]',
    async (_where, isNameless) => {
      let isLeftOut = false;
      await curtain({
        between: async (request, pass) => {
          const response = await pass();
          if (!isLeftOut || !request.url.endsWith('/nests')) return response;
          return { ...response, body: response.body.replace('"Marketing"', 'null') };
        },
      });
      const sandbox = stage.eu.addNest({ name: 'Sandbox' }).id;
      const play = stage.eu.addBird(sandbox, { name: 'Play', triggerType: 'event' }).id;
      await stage.minutesPass(6);
      const fails = (birdId: string) => stage.eu.startFlight(birdId, { endsAs: 'failed' });
      for (const birdId of [play, stage.bird('Translate blog')]) fails(birdId);
      await stage.minutesPass(2);
      isLeftOut = isNameless;
      await stage.regionsFollow({ nests: { include: ['Marketing', 'Play*'], exclude: [] } });
      for (let minute = 0; minute < 8; minute += 1) {
        for (const birdId of [play, stage.bird('Translate blog')]) fails(birdId);
        await stage.minutesPass(1);
      }
      const of = (nest: string) => stage.received().filter(({ alerts }) => alerts[0]!.labels.nest === nest);
      expect(of('Sandbox').map(({ status, alerts }) => [status, alerts[0]!.annotations.resolved_by])).toEqual(
        [
          ['firing', undefined],
          ['resolved', 'its Nest is no longer watched'],
        ],
      );
      expect(of('Marketing').length).toBeGreaterThan(3);
      expect(of('Marketing').every(({ status }) => status === 'firing')).toBe(true);
    },
  );

  test('that adds a Nest reads it like a first start, and notifies of what happens later [long]', async () => {
    const withSandbox = { ...nests, Sandbox: ['Play'] };
    const poll = { initialLookbackMs: 5 * 60_000 };
    await curtain({ regions: ['eu'], excludedNests: ['Sandbox'], nests: withSandbox, poll });
    const fails = () => stage.eu.startFlight(stage.bird('Play'), { endsAs: 'failed', fliesForMs: 1_000 });
    fails();
    await stage.minutesPass(12);
    const late = fails();
    await stage.minutesPass(65);
    await stage.regionsFollow({ nests: { include: ['*'], exclude: [] } });
    while (stage.region().birds < 2) await stage.clock.advance(1);
    // A new start knows as well what was before the Nest was taken in.
    expect(stage.forwarded()).toEqual([]);
    await stage.restart();
    await stage.minutesPass(3);
    expect(statuses()).toEqual([]);
    expect(stage.forwarded()).toEqual([`eu/flight/${late.id}/failed`]);
    fails();
    await stage.minutesPass(2);
    expect(statuses()).toEqual(['firing eu']);
    expect(stage.received()[0]!.alerts[0]!.events_total).toBe(1);
  });

  test('that excludes a Nest for a while: what happened is history, and what is wrong now raises alerts [long]', async () => {
    const names = ['Fails', 'Flies', 'Stops', 'Hangs', 'Works'];
    await curtain({
      regions: ['eu'],
      nests: { ...nests, Sandbox: names },
      rules: [rule('FlightStuck', { maxDurationMs: 30 * 60_000 })],
    });
    const [fails, flies, stops, hangs, works] = names.map((name) => stage.bird(name)) as [
      ...[string, string, string, string, string],
    ];
    const world = stage.eu;
    const excludes = (exclude: string[]) => stage.regionsFollow({ nests: { include: ['*'], exclude } });
    world.startFlight(flies, { endsAs: 'failed', fliesForMs: 20 * 60_000 });
    await stage.minutesPass(6);
    await excludes(['Sandbox']);
    await stage.minutesPass(6);
    world.startFlight(fails, { endsAs: 'failed', fliesForMs: 1_000 });
    world.startFlight(hangs);
    for (let count = 0; count < 5; count += 1) world.eventError(works);
    world.disconnectConnection({
      nestId: stage.nest('Sandbox'),
      entityId: '77',
      exhausted: true,
      wording: 'old',
    });
    await stage.minutesPass(20);
    world.suspend(stops);
    world.activate(works);
    await stage.minutesPass(20);
    expect(stage.received()).toEqual([]);
    await excludes([]);
    await stage.minutesPass(10);
    const alerts = stage.alerts();
    expect(
      alerts
        .map(({ labels, status }) => `${labels.alertname} ${status} ${labels.bird ?? labels.entity_id}`)
        .toSorted(),
    ).toEqual([
      'BirdDeactivated firing Stops',
      'ConnectionDisconnected firing 77',
      'FlightStuck firing Hangs',
    ]);
    expect(stage.forwarded().toSorted()).toEqual(stage.truth());
    world.startFlight(fails, { endsAs: 'failed', fliesForMs: 1_000 });
    await stage.minutesPass(3);
    expect(
      stage
        .received()
        .at(-1)!
        .alerts.map(({ labels, events_total }) => [labels.bird, events_total]),
    ).toEqual([['Fails', 1]]);
  });

  describe('in which Birds are no longer watched that are switched off', () => {
    const offAlerts = () =>
      stage
        .alerts('BirdDeactivated')
        .map(({ labels, status }) => `${status} ${labels.severity} ${labels.bird}`)
        .toSorted();
    const watches = (excluded: readonly string[], regions: readonly string[] = ['eu', 'us']) =>
      stage.follows((config) => ({
        ...config,
        regions: whole.regions
          .filter(({ name }) => regions.includes(name))
          .map((one) => ({ ...one, nests: { include: ['*'], exclude: [...excluded] } })),
      }));
    let whole: Config;
    let world: World;
    let [suspended, failed, again, byHand]: string[] = [];

    async function resolves(bird: string): Promise<void> {
      const { store, clock } = stage;
      const desk = createAlertResolver({
        ...{ store, clock, rules: whole.rules, report: () => {} },
        probe: () => {},
        changed: () => stage.daemon().wake(),
      });
      const firing = await store.transaction((tx) => tx.alerts.firing(undefined, 100));
      const { id } = firing.find(({ labels }) => labels.bird === bird)!;
      expect((await desk.resolve(id, { createdBy: 'anna', comment: 'known' })).ok).toBe(true);
    }

    beforeEach(async () => {
      let nestId = '';
      const addSandbox = (one: World) => {
        if (one.region === 'us') return;
        nestId = one.addNest({ name: 'Sandbox' }).id;
        one.suspend(one.addBird(nestId, { name: 'Long off', triggerType: 'event' }).id);
      };
      await curtain({ before: addSandbox, route: { groupBy: ['alertname', 'bird'] } });
      await stage.follows((config) => (whole = config));
      world = stage.eu;
      [suspended, failed, again, byHand] = ['Suspended', 'Failed', 'Again', 'By hand'].map(
        (name) => world.addBird(nestId, { name, triggerType: 'event' }).id,
      );
      await stage.minutesPass(6);
      for (const birdId of [suspended!, again!, byHand!]) world.suspend(birdId);
      for (let count = 0; count < 5; count += 1) world.eventError(failed!);
      await stage.minutesPass(12);
    });

    test.each([
      ['because their Nest is excluded', ['Sandbox'], ['eu', 'us']],
      ['because their region is not configured', [], ['us']],
    ])(
      '%s: their alerts end, and fire once more when they are watched again [long]',
      async (_, nests, regions) => {
        expect(offAlerts()).toEqual([
          'firing critical Failed',
          'firing warning Again',
          'firing warning By hand',
          'firing warning Suspended',
        ]);
        await resolves('By hand');
        await stage.minutesPass(2);
        stage.calls.length = 0;
        await watches(nests, regions);
        await stage.minutesPass(65);
        expect(offAlerts()).toEqual([
          'resolved critical Failed',
          'resolved warning Again',
          'resolved warning Suspended',
        ]);
        stage.calls.length = 0;
        world.activate(again!);
        await watches([]);
        await stage.minutesPass(10);
        const once = ['firing critical Failed', 'firing warning Suspended'];
        expect(offAlerts()).toEqual(once);
        await stage.restart();
        await stage.minutesPass(10);
        expect(offAlerts()).toEqual(once);
        world.activate(failed!);
        world.activate(suspended!);
        await stage.minutesPass(10);
        expect(offAlerts()).toEqual([...once, 'resolved critical Failed', 'resolved warning Suspended']);
      },
    );
  });

  test('of rules applies to what happens from then on [long]', async () => {
    await curtain();
    await stage.follows((config) => ({
      ...config,
      rules: config.rules.map((rule) =>
        rule.kind === flightFailed.name ? { ...rule, match: [createMatcher('region', '!=', 'us')] } : rule,
      ),
    }));
    flightFails('us');
    flightFails('eu');
    await stage.minutesPass(3);
    expect(statuses()).toEqual(['firing eu']);
  });

  test('lets a slow receiver finish what it was sent, while others are sent to [long]', async () => {
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    let isFirst = true;
    await curtain({
      async answer(call) {
        if (call.body.includes('"us"') || !isFirst) return 200;
        isFirst = false;
        await answered;
        return 200;
      },
      forward: [],
    });
    flightFails('eu');
    await stage.minutesPass(1);
    expect(statuses()).toEqual([]);
    await stage.follows((config) => ({ ...config }));
    flightFails('us');
    await stage.minutesPass(2);
    expect(statuses()).toEqual(['firing us']);
    answer();
    await stage.minutesPass(2);
    expect(statuses()).toEqual(['firing us', 'firing eu']);
    const ids = stage.received().map(({ id }) => id);
    expect(new Set(ids).size).toBe(2);
  });
});
