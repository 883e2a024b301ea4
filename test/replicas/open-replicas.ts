/** Replicas in one process, with one store in memory, a virtual clock, and the two regions that they watch. */
import { onTestFinished } from 'vitest';
import { openWebhooks } from '../../src/channels/webhook/webhook-channel.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { createDaemon, type Setup } from '../../src/daemon.ts';
import { NestwatchError } from '../../src/errors.ts';
import type { Transport } from '../../src/http/transport.ts';
import type { Happening } from '../../src/report.ts';
import { seededRandom } from '../../src/simulator/world/seeded-random.ts';
import { createWorld } from '../../src/simulator/world/world.ts';
import type { Wakes, WakeUp } from '../../src/store/store.ts';
import { createStoreClock } from '../../src/time/clock.ts';
import { simulatorTransport } from '../simulator/simulator-transport.ts';
import { openMemory } from '../store/test-store.ts';
import { turnsBy } from '../store/turns-by.ts';
import { createVirtualClock } from '../virtual-clock.ts';

const REGIONS = ['eu', 'us'];

/** Wake-ups among replicas in one process. */
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

/** Whether a replica reaches a region, or `watchdog`, at an address. */
type Reaches = (name: string, region: string, url: string) => boolean;

/** They end with the test, unless before. */
export async function openReplicas(names: readonly string[], reaches: Reaches = () => true) {
  const clock = createVirtualClock();
  const store = await openMemory(clock);
  const wakesOf = createWakes();
  const worlds = new Map(
    REGIONS.map((region) => {
      const world = createWorld({ region, clock, random: seededRandom(1), token: 'token' });
      const nest = world.addNest({ name: 'Marketing' });
      world.addBird(nest.id, { name: 'Sort mail', triggerType: 'manual' });
      return [region, world] as const;
    }),
  );
  /** `more` is appended to the configuration. */
  const setupOf = (name: string, more = '', regions: readonly string[] = REGIONS): Setup => ({
    config: loadConfig({
      file: 'n.yaml',
      text: `${textOf(regions)}\n${more}`,
      environment: {},
      readFile: () => '',
    }),
    channels: { webhook: webhook() },
    watchdog: onlyWhile((url) => reaches(name, 'watchdog', url), {
      send: async () => ({ status: 200, headers: {}, body: '' }),
      close: async () => {},
    }),
    transportOf: (region) =>
      onlyWhile(
        (url) => reaches(name, region, url),
        simulatorTransport({ [`https://${region}.example.com/api-rest`]: worlds.get(region)! }),
      ),
  });
  const nests = (region: string) => (region === 'eu' ? ', nests: { include: ["Sales*"] }' : '');
  const textOf = (regions: readonly string[]) => `
regions:
${regions.map((region) => `  ${region}: { base_url: "https://${region}.example.com/api-rest", token: token, fly: true${nests(region)} }`).join('\n')}
poll: { inventory_interval: 1m }
heartbeat: { url: "https://watchdog.example.com/", interval: 1m }
route: { receiver: ops, group_wait: 1s }
receivers: [{ name: ops, webhook_configs: [{ url: "https://hook.example.com/" }] }]`;
  const heard: { readonly name: string; readonly one: Happening }[] = [];
  const replicas = new Map(
    names.map((name, index) => {
      const stop = new AbortController();
      const daemon = createDaemon({
        ...{ ...setupOf(name), store, clock, random: seededRandom(index) },
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
  onTestFinished(async () => {
    for (const { stop } of replicas.values()) stop.abort();
    await clock.advance(60_000);
    await Promise.all([...replicas.values()].map(({ ended }) => ended));
  });
  function webhook() {
    const send = async () => ({ status: 200, headers: {}, body: '' });
    return openWebhooks({ openTransport: () => ({ send, close: async () => {} }), clock, version: 'test' });
  }
  return {
    clock,
    store,
    worlds,
    replicas,
    heard,
    /** Changes the configuration of one of them (`more`, or fewer regions), which it then reads. */
    follow: (name: string, more: string, regions?: readonly string[]) =>
      replicas.get(name)!.daemon.follow(setupOf(name, more, regions)),
    /** What happened to alerts of the kind, such as `a firing eu`. */
    said: () =>
      heard.flatMap(({ name, one }) =>
        one.what === 'alert' && one.alertname === 'WatchImpaired'
          ? [`${name} ${one.state} ${one.region}`]
          : [],
      ),
    ownerOf: async (duty: string) => {
      const view = await store.ownership.view();
      const owner = view.duties.find((one) => one.duty === duty)?.owner;
      return view.replicas.find(({ replica }) => replica === owner)?.name;
    },
  };
}

function onlyWhile(isReached: (url: string) => boolean, inner: Transport): Transport {
  return {
    send: async (request) => {
      if (!isReached(request.url)) throw new NestwatchError('unreachable', 'no answer: ENETUNREACH');
      return inner.send(request);
    },
    close: inner.close,
  };
}
