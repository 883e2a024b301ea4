import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { formatInstant, parseInstant } from '../../../src/time/instant.ts';
import { tempFolder } from '../../http/servers.ts';
import { createVirtualClock } from '../../virtual-clock.ts';
import { openService, TOKEN } from '../service.ts';
import { containing, failed, nestwatch, refused } from '../test-io.ts';

async function configured() {
  const folder = tempFolder();
  const { world, url, event, nest } = await openService();
  const file = join(folder, 'n.yaml');
  const path = join(folder, 's.db');
  writeFileSync(
    file,
    `regions: { eu: { base_url: "${url}", token: '${TOKEN}' } }\nstore: { url: "sqlite:${path}" }\nweb: { listen: "127.0.0.1:0" }\n`,
  );
  const hoursAgo = (hours: number) => new Date(world.nowUs() / 1000 - hours * 3_600_000).toISOString();
  const atUs = world.nowUs() - 9 * 3_600_000_000;
  world.startFlight(event.id, { startedAtUs: atUs, endsAs: 'failed', fliesForMs: 5_000 });
  const run = (...args: string[]) => nestwatch([...args, '--config.file', file]);
  /** Stores them as a daemon would have read them. */
  const know = async (sinceUs?: number) => {
    const store = await openSqliteStore({ path, clock: createVirtualClock() });
    const seen = { region: 'eu', nestId: nest.id, present: true };
    const bird = { status: 'active', statusSinceUs: atUs, triggerType: 'event' };
    await store.transaction(async (tx) => {
      if (sinceUs !== undefined) await tx.inventory.regionSince('eu', sinceUs);
      await tx.inventory.putNests([{ ...seen, name: 'Marketing' }]);
      await tx.inventory.putBirds([{ ...seen, ...bird, birdId: event.id, name: 'Sync pages' }]);
    });
    await store.close();
  };
  return { run, hoursAgo, path, know };
}

test('reads the history of what the daemon knows, and says how much was new [long]', async () => {
  const { run, hoursAgo, know } = await configured();
  expect(await run('backfill', '--from', hoursAgo(20))).toEqual(
    refused(containing('no Nest of region eu is known yet: run the daemon first')),
  );
  await know();
  const { exit, stdout, stderr } = await run('backfill', '--from', hoursAgo(20));
  expect([exit, stdout]).toEqual([0, 'eu: 1 new event\n']);
  expect(stderr).toMatch(/100 % {2}eu {2}1 new event\n$/);
  const again = await run('backfill', '--from', hoursAgo(21), '--json');
  expect(JSON.parse(again.stdout)).toEqual({
    regions: [
      { region: 'eu', events: 0, unread: 0, read_from: instant(hoursAgo(21)), read_to: expect.any(String) },
    ],
  });
});

test('says what a second run from the same instant reads anew [long]', async () => {
  const { run, hoursAgo, know } = await configured();
  await know();
  const from = ['--from', hoursAgo(20)];
  const to = async (hours: number) => (await run('backfill', ...from, '--to', hoursAgo(hours))).stdout;
  const first = instant(hoursAgo(10));
  expect(await run('backfill', ...from, '--to', first)).toMatchObject({ stdout: 'eu: 0 new events\n' });
  const second = await to(8);
  expect(second).toBe(`eu: 1 new event; read from ${first} on, since what is older had been read before\n`);
  const until = instant(hoursAgo(9));
  expect((await run('backfill', ...from, '--to', until)).stdout).toBe(
    'eu: 0 new events; nothing was read, since all of it had been read before\n',
  );
});

test('says what it leaves to the daemon, and reads that with --notify [long]', async () => {
  const { run, hoursAgo, know } = await configured();
  await know(parseInstant(hoursAgo(11))!.us);
  const [from, to] = [hoursAgo(10), hoursAgo(8)];
  const backfill = async (...args: string[]) =>
    (await run('backfill', '--from', from, '--to', to, ...args)).stdout;
  const left = `eu: 0 new events; nothing was read; what is later than ${instant(from)} is left to the daemon\n`;
  expect(await backfill()).toBe(left);
  expect(await backfill()).toBe(left);
  expect(await backfill('--notify')).toMatch(/^eu: [1-9]\d* new events?\n$/);
});

/** The instant as nestwatch writes it. */
const instant = (text: string) => formatInstant(parseInstant(text)!.us);

test('while a daemon uses the store, it is refused', async () => {
  const { run, hoursAgo, path } = await configured();
  const store = await openSqliteStore({ path, clock: createVirtualClock() });
  onTestFinished(() => store.close());
  expect(await run('backfill', '--from', hoursAgo(20))).toEqual(
    failed(containing('Another nestwatch uses the store')),
  );
});

test.each([
  [['--from', 'yesterday'], '--from must be an RFC 3339 instant like 2026-07-02T13:59:34Z, or a date'],
  [['--from', '2026-07-02T00:00:00Z', '--to', '2026-07-01T00:00:00Z'], '--from must be before --to'],
  [['--from', '2026-07-02T00:00:00Z', '--to', '2036-07-01T00:00:00Z'], '--to must not be in the future'],
  [['--from', '2026-05-01'], '--from is before 2026-06-02T12:00:00.000000Z, and store.retention'],
  [['--from', '2026-07-02T00:00:00Z', '--region', 'us'], 'there is no region us; there is eu'],
])('%j is wrong usage', async (args, message) => {
  const { run } = await configured();
  expect(await run('backfill', ...args)).toEqual(refused(containing(message)));
});
