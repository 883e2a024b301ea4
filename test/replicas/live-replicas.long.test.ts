/**
 * Three replicas on a real PostgreSQL and the real clock: one is a separate process that is killed; the others run in
 * this process, as the command runs them, and one of these ends.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type App, openApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { openSimulator } from '../../src/simulator/answers/simulator-server.ts';
import { seededRandom } from '../../src/simulator/world/seeded-random.ts';
import { createWorld, type World } from '../../src/simulator/world/world.ts';
import { systemClock } from '../../src/time/clock.ts';
import { createTestEdge, nestwatch } from '../cli/test-io.ts';
import { MAIN } from '../program.ts';
import { findServer, openDatabase, type PostgresDatabase } from '../store/postgres/postgres-server.ts';

const REGIONS = ['eu', 'us'] as const;
const bin = findServer();
const clock = systemClock();

interface Replica {
  readonly name: string;
  readonly state: string;
  readonly alerting: boolean;
  readonly regions: readonly { readonly region: string; readonly epoch: number }[];
}

interface Running {
  readonly app: App;
  end(): Promise<void>;
}

describe.skipIf(bin === undefined)('replicas on one PostgreSQL', () => {
  const worlds = new Map<string, World>();
  const closings: (() => unknown)[] = [];
  /** The messages of the receiver: `firing Sort mail`. */
  const received: string[] = [];
  const troubles: string[] = [];
  let folder: string;
  let server: PostgresDatabase;
  let hook: Server;
  let text: string;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'nestwatch-replicas-'));
    closings.push(() => rmSync(folder, { recursive: true }));
    server = await openDatabase(bin!);
    closings.push(() => server.remove());
    const regions: string[] = [];
    for (const region of REGIONS) {
      const world = createWorld({ region, clock, random: seededRandom(1), token: 'token' });
      const nest = world.addNest({ name: 'Marketing' });
      for (const name of ['Sort mail', 'Post news']) world.addBird(nest.id, { name, triggerType: 'manual' });
      worlds.set(region, world);
      const service = await openSimulator({ world, host: '127.0.0.1', port: 0 });
      closings.push(() => service.close());
      regions.push(`  ${region}: { base_url: "${service.url}", token: token, requests_per_second: 50 }`);
    }
    hook = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      for (const { status, labels } of JSON.parse(body).alerts) received.push(`${status} ${labels.bird}`);
      response.end();
    }).listen(0, '127.0.0.1');
    await once(hook, 'listening');
    closings.push(() => {
      hook.closeAllConnections();
      hook.close();
    });
    text = `
regions:
${regions.join('\n')}
store: { url: "${server.url}" }
poll: { interval: 1s, min_interval: 1s, max_interval: 1s }
route: { receiver: ops, group_by: [alertname, bird, region], group_wait: 2s, group_interval: 1s }
receivers: [{ name: ops, webhook_configs: [{ url: "http://127.0.0.1:${(hook.address() as AddressInfo).port}/" }] }]
web: { listen: "127.0.0.1:0" }
`;
    writeFileSync(join(folder, 'nestwatch.yaml'), text);
  }, 60_000);
  afterEach(async () => {
    for (const close of closings.splice(0).reverse()) await close();
    received.length = 0;
    troubles.length = 0;
  }, 60_000);

  /** A replica in a separate process; resolves to the address of its page. */
  async function spawnReplica(): Promise<{ readonly url: string; go(): void }> {
    const child = spawn(process.execPath, [MAIN, 'run', '--log.format', 'json'], { cwd: folder });
    const go = () => void child.kill('SIGKILL');
    closings.push(go);
    for await (const line of createInterface(child.stderr!)) {
      const url = /"page":"([^"]+)"/.exec(line)?.[1];
      if (url === undefined) continue;
      child.stderr!.resume();
      return { url, go };
    }
    throw new Error('The replica did not start.');
  }

  /** `aheadUs`: how far its clock is ahead. */
  async function openReplica(hostName: string, aheadUs = 0): Promise<Running> {
    const own = { ...clock, nowUs: () => clock.nowUs() + aheadUs };
    const { edge } = createTestEdge({ clock: own, hostName });
    const config = loadConfig({ file: 'n.yaml', text, environment: {}, readFile: () => '' });
    const app = await openApp(edge, {
      ...{ config, isShared: true, logLevel: 'error', logFormat: 'json' },
      listener: (one) => void (one.what === 'trouble' && troubles.push(String(one.error))),
    });
    const stop = new AbortController();
    const running = app.daemon.run(stop.signal);
    let ended: Promise<void> | undefined;
    const end = () => {
      ended ??= (async () => {
        stop.abort();
        await running;
        await app.close();
      })();
      return ended;
    };
    closings.push(end);
    return { app, end };
  }

  const json = async <Body>(url: string, path: string): Promise<Body> =>
    (await (await fetch(`${url}${path}`)).json()) as Body;
  const replicasAt = async (url: string) =>
    (await json<{ replicas: readonly Replica[] }>(url, '/api/v1/status')).replicas;
  const ownersAt = async (url: string) =>
    Object.fromEntries(
      (await replicasAt(url)).flatMap(({ name, regions }) => regions.map(({ region }) => [region, name])),
    );

  function fails(region: (typeof REGIONS)[number], name: string): void {
    const world = worlds.get(region)!;
    const bird = [...world.birds.values()].find((one) => one.name === name)!;
    world.endFlight(world.startFlight(bird.id).id, 'failed', { errorMessages: 'The TMS refused the job' });
  }

  test('one is killed, others take over, and all give the same answers [long]', async () => {
    const wait = { timeout: 100_000, interval: 400 };
    const a = await spawnReplica();
    await expect.poll(() => ownersAt(a.url), wait).toEqual({ eu: hostname(), us: hostname() });
    const [b, c] = [await openReplica('b'), await openReplica('c')];
    await expect
      .poll(async () => (await replicasAt(c.app.url)).map(({ name }) => name).toSorted(), wait)
      .toEqual([hostname(), 'b', 'c'].toSorted());

    // All replicas show an alert; a silence created at one is shown by all, and mutes the alert.
    fails('eu', 'Sort mail');
    const stateAt = async (url: string) =>
      (await json<{ status: { state: string } }[]>(url, '/api/v2/alerts'))[0]?.status.state;
    await expect.poll(() => stateAt(b.app.url), wait).toBe('active');
    await expect.poll(() => received, wait).toEqual(['firing Sort mail']);
    const silence = {
      matchers: [{ name: 'nest', value: 'Marketing', isRegex: false, isEqual: true }],
      startsAt: new Date().toISOString(),
      endsAt: new Date(Date.now() + 3_600_000).toISOString(),
      ...{ createdBy: 'a person', comment: 'maintenance' },
    };
    const made = await fetch(`${a.url}/api/v2/silences`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(silence),
    });
    expect(made.status).toBe(200);
    expect([await stateAt(a.url), await stateAt(b.app.url), await stateAt(c.app.url)]).toEqual(
      Array(3).fill('suppressed'),
    );
    fails('us', 'Sort mail');
    const alertsAt = async (url: string) => (await json<unknown[]>(url, '/api/v2/alerts')).length;
    await expect.poll(() => alertsAt(c.app.url), wait).toBe(2);

    // Each page shows all replicas, and so does the command.
    const page = await (await fetch(c.app.url)).text();
    for (const name of [hostname(), 'b', 'c']) expect(page).toContain(`<bdi>${name}</bdi>`);
    expect((await nestwatch(['status', '--url', b.app.url], { clock })).stdout).toMatch(/^c +\S+ +\S+/m);

    // It leaves nothing behind.
    a.go();
    const killedMs = clock.monotonicMs();
    await expect
      .poll(async () => Object.values(await ownersAt(b.app.url)).filter((name) => name !== hostname()), wait)
      .toHaveLength(2);
    expect(clock.monotonicMs() - killedMs).toBeLessThan(60_000);
    await expect
      .poll(async () => (await replicasAt(b.app.url)).filter(({ alerting }) => alerting).length, wait)
      .toBe(1);
    // Another replica does the alerting now, and it respects the silence until that is over.
    expect(received).toEqual(['firing Sort mail']);
    const { silenceID } = (await made.json()) as { readonly silenceID: string };
    await fetch(`${c.app.url}/api/v2/silence/${silenceID}`, { method: 'DELETE' });
    await expect.poll(() => received, wait).toEqual(['firing Sort mail', 'firing Sort mail']);

    // Only the owner of a region exports its series.
    const series = async (name: RegExp) => {
      const texts = await Promise.all(
        [b, c].map(async ({ app }) => (await fetch(`${app.url}/metrics`)).text()),
      );
      return texts.flatMap((one) => one.split('\n').filter((line) => name.test(line))).sort();
    };
    await expect
      .poll(() => series(/^nestwatch_region_up\{/), wait)
      .toEqual(['nestwatch_region_up{region="eu"} 1', 'nestwatch_region_up{region="us"} 1']);
    expect(await series(/^nestwatch_region_owner\{.* 1$/)).toHaveLength(2);
    expect(await series(/^nestwatch_alerting_owner 1$/)).toHaveLength(1);
    expect(await series(/^nestwatch_silences\{state="expired"\} 1$/)).toHaveLength(1);

    // A replica that ends gives everything back at once.
    await b.end();
    await expect.poll(() => ownersAt(c.app.url), wait).toEqual({ eu: 'c', us: 'c' });
    expect(received).toHaveLength(2);
  });

  test('two on the same host are distinguished, and use the server’s clock, not their own [long]', async () => {
    const wait = { timeout: 100_000, interval: 400 };
    const wrong = await openReplica('web', 120_000_000);
    await expect.poll(() => ownersAt(wrong.app.url), wait).toEqual({ eu: 'web', us: 'web' });
    const right = await openReplica('web');
    const all = [wrong, right];
    const names = async (url: string) => (await replicasAt(url)).map(({ name }) => name);
    for (const { app } of all) await expect.poll(() => names(app.url), wait).toEqual(['web#1', 'web#2']);
    // They use the clock of the store's server, so the watch is not affected.
    for (const { app } of all) {
      const { impairments } = await json<{ impairments: { reason: string }[] }>(app.url, '/api/v1/health');
      expect(impairments.map(({ reason }) => reason)).not.toContain('clock_wrong');
      const made = await fetch(`${app.url}/api/v2/silences`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          matchers: [{ name: 'bird', value: 'Nobody', isRegex: false }],
          startsAt: new Date(clock.nowUs() / 1000 - 60_000).toISOString(),
          endsAt: new Date(clock.nowUs() / 1000 + 60_000).toISOString(),
          createdBy: 'ann',
          comment: 'seen at once',
        }),
      });
      expect(made.status).toBe(200);
    }
    const silences = await json<{ status: { state: string } }[]>(wrong.app.url, '/api/v2/silences');
    expect(silences.filter(({ status }) => status.state === 'active')).toHaveLength(2);

    for (const [at, { app }] of all.entries()) {
      const named = async () => {
        const metrics = await (await fetch(`${app.url}/metrics`)).text();
        return /^nestwatch_replica_info.*$/m.exec(metrics)?.[0];
      };
      await expect.poll(named, wait).toBe(`nestwatch_replica_info{replica="web#${at + 1}"} 1`);
    }
    const page = await (await fetch(right.app.url)).text();
    expect(page).toContain('<bdi>web#1</bdi></t');
    expect(page).toContain('<bdi>web#2</bdi> <span class="pill quiet">this one</span>');
    const doctor = await nestwatch(
      ['doctor', '--watch', '1s', '--config.file', join(folder, 'nestwatch.yaml')],
      { clock },
    );
    expect(doctor.stdout).toMatch(/web#1, version \S+, runs for .*, reads eu, us and decides about alerts/);
    expect(doctor.stdout).toMatch(/that of replica web#1 is .* ahead of that of the server/);
    expect(doctor.stdout).toMatch(/web#2, version \S+, runs for .*, reads no region/);

    // What the replica with the wrong clock reads and decides has the server's time.
    fails('eu', 'Sort mail');
    await expect.poll(() => received, wait).toContain('firing Sort mail');
    const alerts = await json<{ updatedAt: string }[]>(right.app.url, '/api/v2/alerts');
    expect(alerts).toHaveLength(1);
    expect(Math.abs(Date.parse(alerts[0]!.updatedAt) - clock.nowUs() / 1000)).toBeLessThan(60_000);

    // The last one left needs no number.
    await wrong.end();
    await expect.poll(() => ownersAt(right.app.url), wait).toEqual({ eu: 'web', us: 'web' });
    expect(troubles).toEqual([]);
  });
});
