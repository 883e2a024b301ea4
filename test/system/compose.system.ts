/**
 * What `config/compose/` starts, as processes on this machine in the place of containers: the same commands and
 * configurations, with the names of services replaced by addresses.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { freePort } from './live-prometheus.ts';

const ROOT = join(import.meta.dirname, '../..');
const COMPOSE = join(ROOT, 'config/compose');
const folder = mkdtempSync(join(tmpdir(), 'nestwatch-compose-'));
const started: ChildProcess[] = [];
const mails: string[] = [];
const smtp = new SMTPServer({
  authOptional: true,
  async onData(stream, _session, done) {
    let text = '';
    for await (const chunk of stream) text += chunk;
    mails.push(/^From: (.*)$/m.exec(text)?.[1] ?? '');
    done();
  },
});
const ports = { simulator: 0, nestwatch: 0, prometheus: 0, alertmanager: 0, mail: 0 };

/** A configuration of the folder with the services' addresses on this machine. */
function local(file: string): string {
  const text = readFileSync(join(COMPOSE, file), 'utf8')
    .replace(
      /\b(simulator|nestwatch|alertmanager|mail):\d+/g,
      (_, name: keyof typeof ports) => `127.0.0.1:${ports[name]}`,
    )
    .replace(/dns_sd_configs: .*/, `static_configs: [{ targets: ["127.0.0.1:${ports.nestwatch}"] }]`)
    .replace('0.0.0.0:9465', `127.0.0.1:${ports.nestwatch}`);
  const path = join(folder, `${started.length}-${file}`);
  writeFileSync(path, text);
  return path;
}

function start(command: string, args: readonly string[]): void {
  started.push(spawn(command, args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] }));
}

const ask = async (name: keyof typeof ports, path: string) => {
  try {
    return await (await fetch(`http://127.0.0.1:${ports[name]}${path}`)).text();
  } catch {
    // It is still starting.
    return '';
  }
};

beforeAll(async () => {
  for (const name of Object.keys(ports) as (keyof typeof ports)[]) ports[name] = await freePort();
  smtp.listen(ports.mail, '127.0.0.1');
  const main = join(ROOT, 'src/main.ts');
  const { services } = parse(readFileSync(join(COMPOSE, 'compose.yaml'), 'utf8'), { merge: true }) as {
    services: { simulator: { command: string[] } };
  };
  const simulate = services.simulator.command.map((word) =>
    word === '0.0.0.0:8080' ? `127.0.0.1:${ports.simulator}` : word,
  );
  writeFileSync(join(folder, 'rules.yml'), readFileSync(join(ROOT, 'config/prometheus/rules.yml')));
  start(process.execPath, [main, ...simulate]);
  start(process.execPath, [main, 'run', '--log.level=error', '--config.file', local('nestwatch.yaml')]);
  start('prometheus', [
    `--config.file=${local('prometheus.yml')}`,
    `--storage.tsdb.path=${join(folder, 'prometheus')}`,
    `--web.listen-address=127.0.0.1:${ports.prometheus}`,
    '--log.level=error',
  ]);
  start('prometheus-alertmanager', [
    `--config.file=${local('alertmanager.yml')}`,
    `--storage.path=${join(folder, 'alertmanager')}`,
    `--web.listen-address=127.0.0.1:${ports.alertmanager}`,
    '--cluster.listen-address=',
    '--log.level=error',
  ]);
});

afterAll(async () => {
  for (const one of started) {
    if (one.exitCode !== null) continue;
    one.kill('SIGTERM');
    await once(one, 'exit');
  }
  smtp.close();
  rmSync(folder, { recursive: true });
});

test('nestwatch reads the simulated service, and its failures come by mail', async () => {
  await expect.poll(() => ask('nestwatch', '/-/ready'), { timeout: 60_000 }).toBe('Ready.\n');
  await expect.poll(() => mails, { timeout: 100_000 }).toContainEqual(expect.stringContaining('nestwatch@'));
});

test('Prometheus scrapes it, has loaded the rules and knows the Alertmanager', async () => {
  const query = `/api/v1/query?query=${encodeURIComponent('nestwatch_region_up == 1')}`;
  await expect
    .poll(() => ask('prometheus', query), { timeout: 60_000, interval: 500 })
    .toContain('"region":"eu"');
  expect(await ask('prometheus', '/api/v1/rules')).toContain('NestwatchAbsent');
  await expect
    .poll(() => ask('prometheus', '/api/v1/alertmanagers'), { timeout: 60_000 })
    .toContain(`127.0.0.1:${ports.alertmanager}`);
  expect(await ask('alertmanager', '/-/healthy')).toMatch(/OK/i);
});
