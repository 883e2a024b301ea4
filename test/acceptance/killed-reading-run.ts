/**
 * Kills the real daemon with SIGKILL while it reads an inventory in which something has changed, over real HTTP and with a
 * real store file: before the reading ends, at its commit, or while its events are sent. Each change must be exactly one
 * event, whichever life notices it. Run it by hand with `node test/acceptance/killed-reading-run.ts --kills 50`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openSimulator } from '../../src/simulator/answers/simulator-server.ts';
import { seededRandom } from '../../src/simulator/world/seeded-random.ts';
import { createWorld } from '../../src/simulator/world/world.ts';
import { sleep, systemClock } from '../../src/time/clock.ts';
import { MAIN } from '../program.ts';
import { openWebhook } from './accepting-webhook.ts';

const NESTS = 5;

export interface InventoryKillFigures {
  /** Lives that ended by a kill, by how many requests of the reading had been answered. */
  readonly killedAfter: readonly number[];
  readonly changes: number;
  /** Changes of which no event was sent. */
  readonly lost: readonly string[];
  /** Changes with several events, and events of what did not change. */
  readonly twice: readonly string[];
  readonly invented: readonly string[];
  /** Events that were sent again under the id of a message whose answer was lost. */
  readonly repeatedUnderOneId: number;
  readonly repeatedUnderAnotherId: readonly string[];
}

export async function inventoryKillRun(kills: number, seed: number): Promise<InventoryKillFigures> {
  const clock = systemClock();
  const random = seededRandom(seed);
  const folder = mkdtempSync(join(tmpdir(), 'nestwatch-inventory-kill-'));
  const activity = new EventEmitter();
  const inner = createWorld({ region: 'eu', clock, random: seededRandom(seed + 1), token: 'token' });
  const user = inner.addUser();
  const nests = Array.from({ length: NESTS }, (_, at) => inner.addNest({ name: `Nest ${at}` }));
  const birds = Array.from({ length: kills }, (_, at) =>
    inner.addBird(nests[at % NESTS]!.id, { name: `Bird ${at}`, triggerType: 'manual' }),
  );
  const world: typeof inner = {
    ...inner,
    count(operation, status) {
      inner.count(operation, status);
      activity.emit('asked', operation);
    },
  };
  const simulator = await openSimulator({ world, host: '127.0.0.1', port: 0 });
  const receiver = await openReceiver(activity);
  const file = join(folder, 'nestwatch.yaml');
  writeFileSync(
    file,
    `
regions: { eu: { base_url: "${simulator.url}", token: token, requests_per_second: 500 } }
store: { url: "sqlite:${join(folder, 'store.db')}" }
poll: { interval: 1s, min_interval: 1s, inventory_interval: 2s }
receivers: [{ name: lake, webhook_configs: [{ url: "${receiver.url}", format: cloudevents }] }]
route: { receiver: lake }
forward: [{ matchers: ['feed="inventory"'], receiver: lake }]
web: { listen: "127.0.0.1:0" }
`,
  );

  const start = () => spawn(process.execPath, [MAIN, 'run', '--config.file', file], { stdio: 'ignore' });
  const end = async (child: ChildProcess, signal: NodeJS.Signals) => {
    child.kill(signal);
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  };
  /** Resolves when the inventory has been asked for that often since now. */
  const asked = (times: number) =>
    new Promise<void>((resolve) => {
      let seen = 0;
      const hear = (operation: string) => {
        if (operation !== 'searchNests' && operation !== 'searchBirds') return;
        seen += 1;
        if (seen < times) return;
        activity.off('asked', hear);
        resolve();
      };
      activity.on('asked', hear);
    });

  try {
    // The second reading begins when the first is committed.
    const first = start();
    await asked(1 + NESTS + 1);
    await end(first, 'SIGTERM');
    const killedAfter: number[] = [];
    const expected: string[] = [];
    for (const [at, { id }] of birds.entries()) {
      inner.renameBird(id, `Renamed ${at}`);
      expected.push(`inventory.bird_renamed Renamed ${at}`);
      const nest = nests[at % NESTS]!;
      const member = inner.addUser({ email: `user-${at}@example.com` });
      inner.addMember(nest.id, member.id);
      expected.push(`inventory.member_added ${member.id}`);
      const child = start();
      // In half of the lives, around the commit.
      const requests = 1 + (random() < 0.5 ? NESTS : Math.floor(random() * NESTS));
      await asked(requests);
      // What the last request leads to takes some milliseconds: comparison, commit, and the first webhook.
      await sleep(clock, requests > NESTS ? random() * 60 : random() * 5);
      await end(child, 'SIGKILL');
      killedAfter.push(requests);
    }
    inner.addMember(nests[0]!.id, user.id);
    expected.push(`inventory.member_added ${user.id}`);
    const last = start();
    const isAll = () => expected.every((one) => receiver.keysOf.has(one));
    while (!isAll() && last.exitCode === null) await once(activity, 'seen');
    // Two more readings: whatever would be noticed again is noticed by then.
    await asked(2 * (1 + NESTS));
    await end(last, 'SIGTERM');
    const repeated = [...receiver.idsOf.values()].filter((ids) => ids.length > 1);
    return {
      killedAfter,
      changes: expected.length,
      lost: expected.filter((one) => !receiver.keysOf.has(one)),
      twice: [...receiver.keysOf].filter(([, keys]) => keys.size > 1).map(([one]) => one),
      invented: [...receiver.keysOf.keys()].filter((one) => !expected.includes(one)),
      repeatedUnderOneId: repeated.filter((ids) => new Set(ids).size === 1).length,
      repeatedUnderAnotherId: repeated.filter((ids) => new Set(ids).size > 1).flat(),
    };
  } finally {
    await Promise.all([simulator.close(), receiver.close()]);
    rmSync(folder, { recursive: true });
  }
}

interface Sent {
  readonly id: string;
  readonly type: string;
  readonly data: { readonly attributes: Readonly<Record<string, string>> };
}

async function openReceiver(activity: EventEmitter) {
  /** The keys of the events of each change. */
  const keysOf = new Map<string, Set<string>>();
  /** The ids of the messages that had each event. */
  const idsOf = new Map<string, string[]>();
  const webhook = await openWebhook((sent, request) => {
    for (const { id, type, data } of sent as Sent[]) {
      const kind = type.slice(type.indexOf('inventory.'));
      const change = `${kind} ${data.attributes.user_id ?? data.attributes.after}`;
      keysOf.getOrInsertComputed(change, () => new Set()).add(id);
      idsOf.getOrInsertComputed(id, () => []).push(String(request.headers['webhook-id']));
    }
    activity.emit('seen');
  });
  return { ...webhook, keysOf, idsOf };
}

if (import.meta.main) {
  const options = {
    kills: { type: 'string', default: '50' },
    seed: { type: 'string', default: '1' },
  } as const;
  const { kills, seed } = parseArgs({ options }).values;
  console.log(await inventoryKillRun(Number(kills), Number(seed)));
}
