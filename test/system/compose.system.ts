/**
 * What `config/compose/` starts, as processes on this machine instead of containers: the same commands and
 * configurations, with the names of services replaced by addresses.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { freePort } from '../http/servers.ts';
import { MAIN } from '../program.ts';
import { findServer, ownedByServer, startServer } from '../store/postgres/postgres-server.ts';

const ROOT = join(import.meta.dirname, '../..');
const COMPOSE = join(ROOT, 'config/compose');

interface Service {
  readonly command: readonly string[];
  readonly user: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly healthcheck: { readonly test: readonly string[] };
  readonly deploy: { readonly replicas: number };
}
const { services } = parse(readFileSync(join(COMPOSE, 'compose.yaml'), 'utf8'), { merge: true }) as {
  services: Readonly<Record<'simulator' | 'replica' | 'postgres', Service>>;
};

type Name = 'simulator' | 'nestwatch' | 'other' | 'prometheus' | 'alertmanager' | 'mail' | 'postgres';

/** Processes with the ports and files of one profile. */
async function openStack() {
  const folder = mkdtempSync(join(tmpdir(), 'nestwatch-compose-'));
  const started: ChildProcess[] = [];
  const mails: string[] = [];
  const ports = {} as Record<Name, number>;
  for (const name of [
    ...(['simulator', 'nestwatch', 'other', 'prometheus', 'alertmanager', 'mail', 'postgres'] as const),
  ])
    ports[name] = await freePort();
  const smtp = new SMTPServer({
    authOptional: true,
    async onData(stream, _session, done) {
      let text = '';
      for await (const chunk of stream) text += chunk;
      mails.push(text);
      done();
    },
  });
  smtp.listen(ports.mail, '127.0.0.1');

  function start(command: string, args: readonly string[]): ChildProcess {
    const one = spawn(command, args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
    started.push(one);
    return one;
  }

  /** A configuration of the folder, with the services' addresses on this machine. */
  function local(file: string, self: 'nestwatch' | 'other' = 'nestwatch', targets = [self]): string {
    const scraped = targets.map((name) => `"127.0.0.1:${ports[name]}"`);
    const text = readFileSync(join(COMPOSE, file), 'utf8')
      .replace(
        /\b(simulator|nestwatch|alertmanager|mail):\d+/g,
        (_, name: Name) => `127.0.0.1:${ports[name]}`,
      )
      .replace('@postgres/', `@127.0.0.1:${ports.postgres}/`)
      .replace('/run/secrets/', `${folder}/`)
      .replace(/dns_sd_configs: .*/, `static_configs: [{ targets: [${scraped}] }]`)
      .replace('":9465"', `"127.0.0.1:${ports[self]}"`);
    const path = join(folder, `${started.length}-${file}`);
    writeFileSync(path, text);
    return path;
  }

  return {
    folder,
    ports,
    mails,
    start,
    local,
    simulate() {
      const words = services.simulator.command.map((word) =>
        word === '0.0.0.0:8080' ? `127.0.0.1:${ports.simulator}` : word,
      );
      start(process.execPath, [MAIN, ...words]);
    },
    watch(file: string, self: 'nestwatch' | 'other' = 'nestwatch') {
      const config = local(file, self);
      return start(process.execPath, [MAIN, 'run', '--log.level=error', '--config.file', config]);
    },
    prometheus(targets: ('nestwatch' | 'other')[]) {
      writeFileSync(join(folder, 'rules.yml'), readFileSync(join(ROOT, 'config/prometheus/rules.yml')));
      start('prometheus', [
        `--config.file=${local('prometheus.yml', 'nestwatch', targets)}`,
        `--storage.tsdb.path=${join(folder, 'prometheus')}`,
        `--web.listen-address=127.0.0.1:${ports.prometheus}`,
        '--log.level=error',
      ]);
    },
    async ask(name: Name, path: string): Promise<string> {
      try {
        return await (await fetch(`http://127.0.0.1:${ports[name]}${path}`)).text();
      } catch {
        // It is still starting.
        return '';
      }
    },
    async close() {
      for (const one of started) {
        if (one.exitCode !== null || one.signalCode !== null) continue;
        one.kill('SIGTERM');
        await once(one, 'exit');
      }
      smtp.close();
      rmSync(folder, { recursive: true });
    },
  };
}

const query = (expression: string) => `/api/v1/query?query=${encodeURIComponent(expression)}`;

/** Without a server `npm test` says so; `.ci/run` installs one. */
const bin = findServer();

type Stack = Awaited<ReturnType<typeof openStack>>;
let stack: Stack;
/** With the profile postgres. */
let shared: Stack;
let server: Awaited<ReturnType<typeof startServer>>;
const replicas = {} as Record<'nestwatch' | 'other', ChildProcess>;
const { POSTGRES_USER: user = '' } = services.postgres.environment;

/**
 * As the image does it: a user with a password, which everybody who connects over the network needs, and the user's
 * database.
 */
async function startPostgres(): Promise<void> {
  const port = shared.ports.postgres;
  // As the top of compose.yaml says.
  const password = randomBytes(24).toString('hex');
  writeFileSync(join(shared.folder, 'postgres-password'), `${password}\n`);
  server = await startServer(bin!, ['listen_addresses=127.0.0.1', `port=${port}`]);
  const client = new Client({ host: server.host, port, user, database: 'postgres' });
  await client.connect();
  await client.query(`ALTER USER ${user} PASSWORD '${password}'`);
  await client.query(`CREATE DATABASE ${user}`);
  const access = join(server.host, 'data/pg_hba.conf');
  writeFileSync(access, 'local all all trust\nhost all all all scram-sha-256\n');
  ownedByServer(access);
  await client.query('SELECT pg_reload_conf()');
  await client.end();
}

// Both at once, because each waits for its first mail.
beforeAll(async () => {
  stack = await openStack();
  stack.simulate();
  stack.watch('nestwatch.yaml');
  stack.prometheus(['nestwatch']);
  stack.start('prometheus-alertmanager', [
    `--config.file=${stack.local('alertmanager.yml')}`,
    `--storage.path=${join(stack.folder, 'alertmanager')}`,
    `--web.listen-address=127.0.0.1:${stack.ports.alertmanager}`,
    '--cluster.listen-address=',
    '--log.level=error',
  ]);
  if (!bin) return;
  shared = await openStack();
  await startPostgres();
  shared.simulate();
  for (const self of ['nestwatch', 'other'] as const)
    replicas[self] = shared.watch('nestwatch-postgres.yaml', self);
  shared.prometheus(['nestwatch', 'other']);
});
afterAll(async () => {
  await stack?.close();
  await shared?.close();
  await server?.remove();
});

describe('if no profile is named', () => {
  test('nestwatch reads the simulated service, and its failures are mailed', async () => {
    await expect.poll(() => stack.ask('nestwatch', '/-/ready'), { timeout: 60_000 }).toBe('Ready.\n');
    await expect
      .poll(() => stack.mails, { timeout: 100_000 })
      .toContainEqual(expect.stringMatching(/^From: .*nestwatch@/m));
  });

  test('Prometheus scrapes it, has loaded the rules and knows the Alertmanager', async () => {
    await expect
      .poll(() => stack.ask('prometheus', query('nestwatch_region_up == 1')), {
        timeout: 60_000,
        interval: 500,
      })
      .toContain('"region":"eu"');
    expect(await stack.ask('prometheus', '/api/v1/rules')).toContain('NestwatchAbsent');
    await expect
      .poll(() => stack.ask('prometheus', '/api/v1/alertmanagers'), { timeout: 60_000 })
      .toContain(`127.0.0.1:${stack.ports.alertmanager}`);
    expect(await stack.ask('alertmanager', '/-/healthy')).toMatch(/OK/i);
  });
});

describe.skipIf(!bin)('with the profile postgres', () => {
  const alerts = async (name: 'nestwatch' | 'other') => {
    const all = JSON.parse((await shared.ask(name, '/api/v2/alerts')) || '[]') as { labels: object }[];
    return all.map(({ labels }) => JSON.stringify(labels)).toSorted();
  };

  test('there are as many replicas as in the file', () => {
    expect(services.replica.deploy.replicas).toBe(Object.keys(replicas).length);
  });

  test('the server is healthy by the check of the file, and refuses connections without the password', async () => {
    const [how, command, ...args] = services.postgres.healthcheck.test;
    expect(how).toBe('CMD');
    const port = String(shared.ports.postgres);
    expect(execFileSync(command!, [...args, '--port', port], { encoding: 'utf8' })).toContain(
      'accepting connections',
    );
    const other = {
      host: '127.0.0.1',
      port: shared.ports.postgres,
      user,
      database: user,
      password: 'another',
    };
    await expect(new Client(other).connect()).rejects.toThrow('password authentication failed');
  });

  test('both replicas are ready, show the same alerts, and each failure is mailed by one of them', async () => {
    for (const name of ['nestwatch', 'other'] as const)
      await expect.poll(() => shared.ask(name, '/-/ready'), { timeout: 60_000 }).toBe('Ready.\n');
    await expect.poll(() => shared.mails.length, { timeout: 100_000 }).toBeGreaterThan(0);
    await expect
      .poll(async () => (await alerts('nestwatch')).join() === (await alerts('other')).join(), {
        timeout: 20_000,
      })
      .toBe(true);
    expect((await alerts('other')).length).toBeGreaterThan(0);
    const ids = shared.mails.map((mail) => /^Message-ID: (.*)$/im.exec(mail)?.[1]);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('Prometheus scrapes both', async () => {
    await expect
      .poll(() => shared.ask('prometheus', query('count(up{job="nestwatch"} == 1)')), {
        timeout: 60_000,
        interval: 500,
      })
      .toContain('"2"]');
    // Only the replica that reads the region exports its metrics.
    expect(await shared.ask('prometheus', query('sum(nestwatch_region_up{region="eu"})'))).toContain('"1"]');
  });

  test('the other one continues if one is killed', async () => {
    const isOwned = async (name: 'nestwatch' | 'other') =>
      /^nestwatch_region_owner\{region="eu"\} 1$/m.test(await shared.ask(name, '/metrics'));
    const gone = (await isOwned('nestwatch')) ? 'nestwatch' : 'other';
    const left = gone === 'nestwatch' ? 'other' : 'nestwatch';
    expect(await isOwned(gone)).toBe(true);
    replicas[gone].kill('SIGKILL');
    const killedAt = new Date().toISOString();
    await expect.poll(() => isOwned(left), { timeout: 30_000, interval: 500 }).toBe(true);
    await expect
      .poll(() => shared.ask(left, `/api/v1/events?since=${killedAt}&limit=1`), { timeout: 60_000 })
      .toContain('"key"');
  });
});
