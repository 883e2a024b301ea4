import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { examineReplicas } from '../../../src/cli/upkeep/doctor-command.ts';
import { ALERTING, type ReplicaRecord, regionDuty } from '../../../src/store/ownership-store.ts';
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import {
  findServer,
  openDatabase,
  type PostgresDatabase,
  placeOn,
} from '../../store/postgres/postgres-server.ts';
import { createVirtualClock } from '../../virtual-clock.ts';
import { nestwatch, tempFile } from '../test-io.ts';

const NOW_US = 9_000_000_000;

/** Replicas that have run for an hour, with these changes; the first owns the regions and alerting. */
function examined(...replicas: Partial<ReplicaRecord>[]) {
  return examineReplicas({
    nowUs: NOW_US,
    replicas: replicas.map((one, at) => ({
      ...{ replica: at + 1, name: `host-${at + 1}`, version: '1.0.0', isLeaving: false, clockAheadUs: 0 },
      ...{ startedUs: NOW_US - 3_600_000_000, expiresUs: NOW_US + 5_000_000, refused: undefined },
      ...{ config: { digest: '', sinceUs: 0 }, relievedUs: 0, turnMs: 0, ...one },
    })),
    duties: [regionDuty('eu'), regionDuty('us'), ALERTING].map((duty) => ({
      ...{ duty, owner: 1, epoch: 3, sinceUs: NOW_US },
    })),
  });
}

test('each replica is named with its version, age and what it does', () => {
  const [all, first, second] = examined({}, {});
  expect(all).toMatchObject({ about: 'replicas', state: 'good', found: '2 work, of version 1.0.0' });
  expect(first).toMatchObject({
    ...{ about: 'replica', state: 'good' },
    found: 'host-1, version 1.0.0, runs for 1 h, reads eu, us and decides about alerts',
  });
  expect(second!.found).toBe('host-2, version 1.0.0, runs for 1 h, reads no region');
});

test.each<[string, Partial<ReplicaRecord>[], string]>([
  ['none', [], 'none is running'],
  ['one', [{}], 'only one works: nobody would take over from it'],
  ['one beside one that ends', [{}, { isLeaving: true }], 'only one works: nobody would take over from it'],
  ['one that is silent', [{ expiresUs: NOW_US - 1 }], 'none of them works'],
  ['two of two versions', [{}, { version: '1.1.0' }], '2 replicas of different versions: 1.0.0, 1.1.0'],
])('%s gets a note', (_, replicas, found) => {
  expect(examined(...replicas)[0]).toMatchObject({ state: 'note', found });
});

test('one that is ending or silent is reported as such', () => {
  const [, leaving, silent] = examined({ isLeaving: true }, { expiresUs: NOW_US - 1 });
  expect(leaving).toMatchObject({ state: 'note', found: expect.stringMatching(/, and is about to end$/) });
  expect(silent).toMatchObject({
    state: 'note',
    found: expect.stringMatching(/ not said in time that it lives$/),
  });
});

test("a replica whose clock differs from the server's is named, and one with an older configuration", () => {
  const refused = { mistakes: 2, first: 'n.yaml:3:1: rout: unknown key', sinceUs: NOW_US };
  const notes = examined({ clockAheadUs: 5_000_000 }, { clockAheadUs: -61_000_000, refused }).slice(3);
  expect(notes).toMatchObject([
    { about: 'clock', state: 'note', found: 'that of replica host-2 is 61 s behind that of the server' },
    {
      ...{ about: 'configuration', state: 'note' },
      found:
        'replica host-2 could not take up its file, of which the first mistake is at n.yaml:3:1: rout: unknown key',
    },
  ]);
});

const bin = findServer();
describe.skipIf(bin === undefined)('doctor, where replicas share PostgreSQL,', () => {
  let server: PostgresDatabase;
  beforeAll(async () => {
    server = await openDatabase(bin!);
  }, 60_000);
  afterAll(() => server?.remove());

  async function doctor() {
    const region = '{ base_url: "http://127.0.0.1:1", token: x }';
    const file = tempFile('n.yaml', `regions: { eu: ${region} }\nstore: { url: "${server.url}" }\n`);
    return nestwatch(['doctor', '--watch', '1s', '--config.file', file]);
  }

  test('names the replicas, even while they use it, and none before there are tables [long]', async () => {
    const before = await doctor();
    expect(before.stdout).toContain('its tables are not there yet and are made\n');
    expect(before.stdout).not.toContain('replica');
    const opened = { place: placeOn(server), clock: createVirtualClock(), isShared: true };
    const { store } = await openPostgresStore(opened);
    await store.transaction(async ({ ownership }) => {
      const replica = await ownership.join('host\u0007-1', '1.0.0', 60_000);
      await ownership.take(regionDuty('eu'), replica);
      await ownership.join('host-2', '1.1.0', 60_000);
    });
    const { stdout } = await doctor();
    await store.close();
    expect(stdout).toMatch(/\n {2}note {2}replicas: 2 replicas of different versions: 1\.0\.0, 1\.1\.0\n/);
    expect(stdout).toMatch(/\n {2}ok {4}replica: host -1, version 1\.0\.0, runs for \d+ s, reads eu\n/);
    expect(stdout).toMatch(/\n {2}ok {4}replica: host-2, version 1\.1\.0, runs for \d+ s, reads no region\n/);
    expect(stdout).not.toContain('\u0007');
  });
});
