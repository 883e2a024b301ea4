/** Alerts about the watch itself, where several replicas look at it: one of them raises and ends these, from what all show. */
import { expect, test } from 'vitest';
import { openWebhooks } from '../../src/channels/webhook/post-webhook.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { createDaemon } from '../../src/daemon.ts';
import type { Happening } from '../../src/report.ts';
import { simulatorTransport } from '../../src/simulator/answers/simulator-transport.ts';
import { seededRandom } from '../../src/simulator/world/seeded-random.ts';
import { createWorld } from '../../src/simulator/world/world.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Wakes, WakeUp } from '../../src/store/store.ts';
import { createStoreClock } from '../../src/time/store-clock.ts';
import { turnsBy } from '../store/turns-by.ts';
import { createVirtualClock } from '../virtual-clock.ts';

const REGIONS = ['eu', 'us'];

/** Wakes of replicas in one process. */
function createWakes(): () => Wakes {
  const all = new Set<(what: WakeUp) => void>();
  return () => {
    const own = new Set<(what: WakeUp) => void>();
    return {
      ring(what) {
        for (const heard of all) if (!own.has(heard)) heard(what);
      },
      listen(heard) {
        all.add(heard);
        own.add(heard);
        return () => all.delete(heard);
      },
    };
  };
}

async function openReplicas(names: readonly string[]) {
  const clock = createVirtualClock();
  const store = await openSqliteStore({ path: ':memory:', clock });
  const wakesOf = createWakes();
  const worlds = new Map(
    REGIONS.map((region) => {
      const world = createWorld({ region, clock, random: seededRandom(1), token: 'token' });
      const nest = world.addNest({ name: 'Marketing' });
      world.addBird(nest.id, { name: 'Sort mail', triggerType: 'manual' });
      return [region, world] as const;
    }),
  );
  const regions = REGIONS.map(
    (region) => `  ${region}: { base_url: "https://${region}.example.com/api-rest", token: token, NESTS }`,
  );
  const config = loadConfig({
    file: 'n.yaml',
    text: `
regions:
${regions.join('\n').replace('NESTS', 'nests: { include: ["Sales*"] }').replace(', NESTS', '')}
poll: { inventory_interval: 1m }
route: { receiver: ops, group_wait: 1s }
receivers: [{ name: ops, webhook_configs: [{ url: "https://hook.example.com/" }] }]`,
    environment: {},
    readFile: () => '',
  });
  const heard: { readonly name: string; readonly one: Happening }[] = [];
  const replicas = new Map(
    names.map((name, index) => {
      const stop = new AbortController();
      const daemon = createDaemon({
        ...{ config, store, clock, random: seededRandom(index), channels: { webhook: webhook() } },
        transportOf: (region) =>
          simulatorTransport({ [`https://${region}.example.com/api-rest`]: worlds.get(region)! }),
        report: (one) => void heard.push({ name, one }),
        replica: {
          name,
          version: '1.0.0',
          wakes: wakesOf(),
          turns: turnsBy(store),
          storeClock: createStoreClock(clock),
        },
      });
      const ended = daemon.run(stop.signal);
      return [name, { daemon, stop, ended }] as const;
    }),
  );
  function webhook() {
    const send = async () => ({ status: 200, headers: {}, body: '' });
    return openWebhooks({ openTransport: () => ({ send, close: async () => {} }), clock, version: 'test' });
  }
  return {
    clock,
    worlds,
    replicas,
    /** What happened to alerts of the kind: `a firing eu`. */
    said: () =>
      heard.flatMap(({ name, one }) =>
        one.what === 'alert' && one.alertname === 'WatchImpaired'
          ? [`${name} ${one.state} ${one.region}`]
          : [],
      ),
    ownerOf: async (duty: string) => {
      const view = await store.transaction((tx) => tx.ownership.view());
      const owner = view.duties.find((one) => one.duty === duty)?.owner;
      return view.replicas.find(({ replica }) => replica === owner)?.name;
    },
  };
}

test('is said once by the one that alerts, and neither ended nor raised again by whoever takes over', async () => {
  const { clock, worlds, replicas, said, ownerOf } = await openReplicas(['a', 'b']);
  await clock.advance(5 * 60_000);
  const alerting = (await ownerOf('alerting'))!;
  const other = alerting === 'a' ? 'b' : 'a';
  expect(said()).toEqual([`${alerting} firing eu`]);
  for (const { daemon } of replicas.values()) {
    expect((await daemon.health()).impairments).toMatchObject([{ reason: 'no_birds', region: 'eu' }]);
  }

  replicas.get(alerting)!.stop.abort();
  await clock.advance(10 * 60_000);
  await replicas.get(alerting)!.ended;
  expect(await ownerOf('alerting')).toBe(other);
  expect(await ownerOf('region eu')).toBe(other);
  expect(said()).toHaveLength(1);

  const eu = worlds.get('eu')!;
  eu.addBird(eu.addNest({ name: 'Sales' }).id, { name: 'Sort leads', triggerType: 'manual' });
  await clock.advance(5 * 60_000);
  expect(said()).toEqual([`${alerting} firing eu`, `${other} resolved eu`]);
  replicas.get(other)!.stop.abort();
  await clock.advance(60_000);
  await replicas.get(other)!.ended;
});

test('a configuration that one replica refuses is an alert of the one that alerts, with its name', async () => {
  const { clock, worlds, replicas, said, ownerOf } = await openReplicas(['a', 'b']);
  const eu = worlds.get('eu')!;
  eu.addBird(eu.addNest({ name: 'Sales' }).id, { name: 'Sort leads', triggerType: 'manual' });
  await clock.advance(5 * 60_000);
  expect(said()).toEqual([]);
  const alerting = (await ownerOf('alerting'))!;
  const other = alerting === 'a' ? 'b' : 'a';
  const reload = (mistakes: readonly string[]) =>
    replicas
      .get(other)!
      .daemon.hear({ what: 'config_reload', success: mistakes.length === 0, mistakes, atUs: clock.nowUs() });
  reload(['n.yaml:3:1: rout: unknown key']);
  await clock.advance(60_000);
  expect(said()).toEqual([`${alerting} firing all`]);
  for (const { daemon } of replicas.values()) {
    expect((await daemon.health()).impairments).toMatchObject([
      {
        ...{ reason: 'config_refused', replica: other },
        summary: `The file of the configuration of replica ${other} has a mistake at n.yaml:3:1: rout: unknown key`,
      },
    ]);
  }
  reload([]);
  await clock.advance(60_000);
  expect(said()).toEqual([`${alerting} firing all`, `${alerting} resolved all`]);
  for (const { stop } of replicas.values()) stop.abort();
  await clock.advance(60_000);
  await Promise.all([...replicas.values()].map(({ ended }) => ended));
});

test('the log of a Flight is had from the one that reads its region, and the others say which that is', async () => {
  const { clock, worlds, replicas, ownerOf } = await openReplicas(['a', 'b']);
  const eu = worlds.get('eu')!;
  const nest = eu.addNest({ name: 'Sales' });
  const bird = eu.addBird(nest.id, { name: 'Sort leads', triggerType: 'manual' });
  const { id } = eu.startFlight(bird.id, { endsAs: 'failed', fliesForMs: 20_000 });
  const place = { region: 'eu', nestId: nest.id, birdId: bird.id, flightId: id.toLowerCase() };
  async function asked(name: string) {
    const answer = replicas.get(name)!.daemon.flightLog(place);
    await clock.advance(5_000);
    return answer;
  }
  expect(await replicas.get('a')!.daemon.flightLog(place)).toEqual({
    refused: 'No replica reads this region now: ask again in a moment.',
  });
  await clock.advance(5 * 60_000);
  const owner = (await ownerOf('region eu'))!;
  const other = owner === 'a' ? 'b' : 'a';
  let log = await asked(owner);
  // Polls come first.
  for (let tries = 0; 'refused' in log && tries < 30; tries += 1) log = await asked(owner);
  expect(log).toHaveProperty('steps');
  expect(await asked(other)).toEqual({
    refused: `Replica ${owner} reads this region: ask for the log at its own address.`,
  });
  for (const { stop } of replicas.values()) stop.abort();
  await clock.advance(60_000);
  await Promise.all([...replicas.values()].map(({ ended }) => ended));
});
