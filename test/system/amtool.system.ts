/** Debian's unmodified amtool as a client of a running daemon. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/time/clock.ts';
import { nestwatch } from '../cli/test-io.ts';
import { openLiveDaemon, until } from './live-daemon.ts';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'nestwatch-amtool-'));
let daemon: Awaited<ReturnType<typeof openLiveDaemon>>;

beforeAll(async () => {
  daemon = await openLiveDaemon();
});
afterAll(async () => {
  await daemon.close();
  rmSync(folder, { recursive: true });
});

/** Its output, or its error message if it failed. */
async function amtool(...args: string[]): Promise<string> {
  try {
    const { stdout } = await run('amtool', [`--alertmanager.url=${daemon.url}`, ...args]);
    return stdout;
  } catch (error) {
    return `failed: ${(error as { stderr?: string }).stderr}`;
  }
}

/** The Birds of the alerts. A busy machine has other alerts as well: that events were late, for example. */
async function names(...args: string[]): Promise<string[]> {
  const alerts = JSON.parse(await amtool('-o', 'json', 'alert', 'query', ...args));
  return alerts.flatMap((one: { labels: Record<string, string> }) => one.labels.bird ?? []).toSorted();
}

/** Our own command line, on the real clock. */
const cli = (args: readonly string[]) => nestwatch(args, { clock: systemClock() });

const ended = (text: string) => daemon.told.filter((one) => one === text).length;

test('alerts are queried with matchers, as they fire', async () => {
  daemon.fails('Translate blog');
  daemon.fails('Post news');
  await until(async () => (await names()).length === 2, 'both fire');
  expect(await names('FlightFailed')).toEqual(['Post news', 'Translate blog']);
  expect(await names('bird=~"Trans.*"', 'region=eu')).toEqual(['Translate blog']);
  expect(await names('FlightFailed', 'bird!="Post news"')).toEqual(['Translate blog']);
  expect(await names('RegionDown')).toEqual([]);
  expect(await names('--receiver', 'o.s')).toEqual(['Post news', 'Translate blog']);
  expect(await names('--receiver', 'pager')).toEqual([]);
  expect(await amtool('alert', 'query', 'Flight', 'a=~"("')).toMatch(
    /^failed: .*error parsing regexp|bad matcher/s,
  );
  expect(await amtool('-o', 'extended', 'alert')).toContain('bird="Translate blog"');
});

test('a silence is added, mutes the alert and what comes next, is queried, expired, and they are notified then', async () => {
  await until(() => ended('firing Translate blog') === 1, 'the first failure is told');
  const id = (
    await amtool(
      'silence',
      'add',
      'FlightFailed',
      'bird=~"Translate blog|Sort mail"',
      '-c',
      'maintenance',
      '-a',
      'anna',
      '-d',
      '1h',
    )
  ).trim();
  expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);

  expect(await names()).toEqual(['Post news']);
  expect(await names('--silenced')).toEqual(['Translate blog']);
  expect(await amtool('silence', 'query', '-q')).toBe(`${id}\n`);
  expect(await amtool('silence', 'query', '-q', 'alertname=FlightFailed')).toBe(`${id}\n`);
  expect(await amtool('silence', 'query', '-q', 'alertname=Other')).toBe('');
  expect(await amtool('silence', 'query', '--created-by=anna')).toMatch(/maintenance/);

  daemon.fails('Sort mail');
  daemon.fails('Translate blog');
  daemon.fails('Post news');
  await until(async () => (await names('--silenced')).length === 2, 'the third fires, silenced');
  await until(() => ended('firing Post news') === 2, 'what is not silenced is told');
  daemon.fails('Post news');
  await until(() => ended('firing Post news') === 3, 'another group_interval has passed');
  expect([ended('firing Sort mail'), ended('firing Translate blog')]).toEqual([0, 1]);

  expect(await amtool('silence', 'expire', id)).toBe('');
  expect(await amtool('silence', 'query', '-q')).toBe('');
  expect(await amtool('silence', 'query', '-q', '--expired')).toBe(`${id}\n`);
  expect(await names()).toEqual(['Post news', 'Sort mail', 'Translate blog']);
  await until(() => ended('firing Sort mail') === 1, 'what still fires is told when the silence is over');
  await until(() => ended('firing Translate blog') === 2, 'and so is what came to the other');
});

test('silences are exported, changed and imported', async () => {
  const id = (await amtool('silence', 'add', 'bird="Post news"', '-c', 'first', '-a', 'anna')).trim();
  const exported = await amtool('-o', 'json', 'silence', 'query', 'bird="Post news"');
  const file = join(folder, 'silences.json');

  writeFileSync(file, exported);
  expect(await amtool('silence', 'import', file)).toBe(`${id}\n`);
  const copy = (await amtool('silence', 'import', '--force', file)).trim();
  expect(copy).not.toBe(id);

  expect(await amtool('silence', 'update', id, '-c', 'second', '-d', '2h')).toContain('second');
  const [updated] = JSON.parse(
    await amtool('-o', 'json', 'silence', 'query', '--created-by=anna', 'bird="Post news"'),
  ).filter((one: { comment: string }) => one.comment === 'second');
  expect(updated).toMatchObject({ id, createdBy: 'anna', status: { state: 'active' } });
  expect(await amtool('silence', 'expire', id, copy)).toBe('');
});

test('alerts cannot be added, and the reason is shown', async () => {
  expect(await amtool('alert', 'add', 'alertname=mine', 'bird=x')).toContain('nestwatch takes no alerts');
  expect(await names('alertname=mine')).toEqual([]);
});

test('what is wrong is said in words', async () => {
  expect(await amtool('silence', 'add', 'a=~".*"', '-c', 'x')).toContain(
    'at least one matcher must not match the empty string',
  );
  expect(await amtool('silence', 'expire', '00000000-0000-4000-8000-000000000000')).toMatch(
    /^failed: .*404|not ?found/is,
  );
});

test('the status contains the route tree, which amtool reads as ours', async () => {
  expect(await amtool('cluster', 'show')).toContain('disabled');
  expect(await amtool('config', 'routes', 'test', 'severity=nothing', 'nest=Prod 1')).toBe('pager\n');
  expect(await amtool('config', 'routes', 'test', 'severity=critical')).toBe('ops\n');
  const original = (await amtool('config', 'show')).replace(/^/, '');
  expect(original).toContain('receiver: pager');
  const file = join(folder, 'alertmanager.yml');
  writeFileSync(file, JSON.parse(await (await fetch(`${daemon.url}/api/v2/status`)).text()).config.original);
  const checked = await run('amtool', ['check-config', file]);
  expect(checked.stdout).toContain('2 receivers');
  const ours = join(folder, 'nestwatch.yaml');
  writeFileSync(
    ours,
    `regions: { eu: { base_url: "http://127.0.0.1:1/api-rest", token: t } }
route:
  receiver: ops
  routes:
    - matchers: ['severity="nothing"', 'nest=~"Prod.*"']
      receiver: pager
      continue: true
receivers: [{ name: ops }, { name: pager }]`,
  );
  const shown = await cli(['routes', 'show', '--config.file', ours]);
  expect(shown.stdout).toBe(await amtool('config', 'routes', 'show'));
});

test('our own commands do the same', async () => {
  const url = ['--url', daemon.url];
  const added = await cli(['silence', 'add', 'FlightFailed', '-c', 'all of it', '-a', 'ben', ...url]);
  expect(added).toMatchObject({ exit: 0, stderr: '' });
  expect(await names()).toEqual([]);
  expect((await cli(['alerts', 'FlightFailed', ...url])).stdout).toBe('No alerts.\n');
  expect((await cli(['alerts', '--silenced', ...url])).stdout).toContain('Translate blog');
  expect(await amtool('silence', 'query', '--created-by=ben', '-q')).toBe(added.stdout);
  expect(await cli(['silence', 'expire', added.stdout.trim(), ...url])).toMatchObject({ exit: 0 });
  expect(await amtool('silence', 'query', '-q')).toBe('');
  expect(daemon.log()).not.toMatch(/"level":"(error|fatal)"/);
});
