/** Rows of the store that somebody or something corrupted are set aside and named, and everything else continues. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { knownMatcher } from '../../src/domain/matchers/matcher.ts';
import { casesOf } from '../cases.ts';
import { openStage, type Stage } from './stage.ts';

let folder: string;
let stage: Stage;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'poison-'));
});
afterEach(async () => {
  await stage.close();
  rmSync(folder, { recursive: true });
});

/** Tables whose rows hold JSON, with the column. */
const TABLES = [
  ['alert', 'body'],
  ['silence', 'body'],
  ['alert_group', 'body'],
  ['episode', 'body'],
  ['digest', 'body'],
  ['audit', 'body'],
  ['nest_members', 'addresses'],
  ['event', 'body'],
  ['forward_queue', 'event'],
  ['receiver_pace', 'body'],
  ['notification', 'body'],
  ['delivery', 'remaining'],
] as const;

/** Inserts one row into each table that may be empty after a story of ten minutes. */
const FILL = [
  "INSERT INTO digest (name, body) VALUES ('old', '{}')",
  "INSERT INTO nest_members (region, nest_id, addresses) VALUES ('eu', 'n', '{}')",
  "INSERT INTO receiver_pace (receiver, body) VALUES ('hook', '{}')",
  "INSERT INTO forward_queue (receiver, seq, event) VALUES ('lake', 1000000, '{}')",
  "INSERT OR REPLACE INTO audit (stream, body) VALUES (1, '{}')",
  "INSERT OR REPLACE INTO episode (alert_id, starts_us, resolved_us, body) VALUES ('gone', 1, 2, '{}')",
];

async function opened() {
  const storePath = join(folder, 'store.db');
  const birds: string[] = [];
  stage = await openStage({
    regions: ['eu'],
    storePath,
    before(world) {
      const nest = world.addNest({ name: 'Marketing' });
      for (const name of ['Broken', 'Whole', 'Later']) {
        birds.push(world.addBird(nest.id, { name, triggerType: 'event' }).id);
      }
    },
  });
  await stage.minutesPass(2);
  const fails = async (at: number) => {
    stage.worlds.eu!.startFlight(birds[at]!, { endsAs: 'failed', fliesForMs: 5_000 });
    await stage.minutesPass(8);
  };
  await fails(0);
  const nowUs = stage.clock.nowUs();
  await stage.store.transaction((tx) =>
    tx.silences.put([
      {
        id: 'poison',
        matchers: [knownMatcher({ name: 'bird', op: '=', value: 'Whole' })],
        startsAtUs: nowUs,
        endsAtUs: nowUs + 86_400_000_000,
        updatedAtUs: nowUs,
        createdBy: 'ann',
        comment: '',
        recurrence: null,
        alertId: null,
        alertStartsAtUs: null,
      },
    ]),
  );
  const change = (...statements: string[]) => {
    const db = new DatabaseSync(storePath);
    for (const statement of statements) db.exec(statement);
    db.close();
  };
  const named = async () =>
    (await stage.store.transaction((tx) => tx.faults.list(stage.clock.nowUs(), 1_000))).filter(
      ({ sort }) => sort === 'row',
    );
  const birdsTold = () =>
    new Set(stage.received().flatMap(({ alerts }) => alerts.map(({ labels }) => labels.bird)));
  return { change, named, fails, birdsTold };
}

/** Quotes a text for SQL. */
const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;

const POISONS = [
  ['no JSON', 'not json'],
  ['half of a text', '"half'],
  ['an empty object', '{}'],
  ['a list', '[1]'],
  ['nothing', 'null'],
  [
    'fields of other types',
    '{"id":1,"key":[],"labels":5,"alerts":{},"kind":"group","matchers":[1],"name":{}}',
  ],
  [
    'alerts that are none',
    '{"kind":"group","id":"n","receiver":"ops","createdAtUs":1,"groupLabels":{},"alerts":[5]}',
  ],
  ['a name that all objects have', '{"kind":"constructor","sort":"__proto__","state":"toString"}'],
] as const;

describe('while the daemon is stopped', () => {
  // The value that passes the most checks before it fails, and one that fails immediately.
  test.each(casesOf('poison: what each table gets', POISONS, [POISONS[0], POISONS[6]]))(
    'a row with %s in each table: everything else continues, and the row is named',
    async (_, poison) => {
      const { change, named, fails, birdsTold } = await opened();
      await stage.restart(() =>
        change(
          ...FILL,
          ...TABLES.map(([table, column]) => `UPDATE ${table} SET ${column} = ${quoted(poison)}`),
        ),
      );
      const tables = new Set((await named()).map(({ name }) => name.split(' ')[0]));
      // For a column that holds a list, a list is valid.
      const isSound = (table: string) => poison === '[1]' && table === 'delivery';
      expect(tables).toEqual(new Set(TABLES.map(([table]) => table).filter((table) => !isSound(table))));
      await fails(1);
      expect(birdsTold()).toContain('Whole');
      expect(
        stage.mails.some(({ notification }) =>
          notification.alerts.some(({ labels }) => labels.bird === 'Whole'),
        ),
      ).toBe(true);
      expect(stage.forwarded().length).toBeGreaterThan(0);
      expect(stage.happenings.filter((one) => one.what === 'trouble')).toEqual([]);
      const before = (await named()).length;
      await stage.restart();
      await fails(2);
      expect(birdsTold()).toContain('Later');
      expect(await named()).toHaveLength(before);
    },
  );
});

test('while it runs: a corrupt row is found when it fails, and set aside', async () => {
  const { change, named, fails, birdsTold } = await opened();
  change(
    "UPDATE alert SET body = 'not json'",
    "UPDATE silence SET body = '{'",
    "UPDATE alert_group SET body = '[]'",
  );
  await fails(1);
  await stage.minutesPass(5);
  expect(birdsTold()).toContain('Whole');
  const tables = (await named()).map(({ name }) => name.split(' ')[0]);
  expect(new Set(tables)).toEqual(new Set(['alert', 'silence', 'alert_group']));
});

describe('a damaged row of one stream', () => {
  const DAMAGES = [
    ['a cursor that no number can hold', 'cursor_us = 9223372036854775807'],
    ['a cursor before there was time', 'cursor_us = -5'],
    ['a mark of the retention that no number can hold', 'pruned_us = 9223372036854775807'],
  ] as const;

  test.each(DAMAGES)('%s: every other stream is read on', async (_, damage) => {
    const { change, named, fails, birdsTold } = await opened();
    const ofOneBird = "SELECT min(stream) FROM stream WHERE feed = 'bird_log'";
    const poison = `UPDATE stream SET ${damage} WHERE stream = (${ofOneBird})`;
    await stage.restart(() => change(poison));
    await fails(2);
    expect(birdsTold()).toContain('Later');
    // While it runs.
    change(poison);
    const before = stage.forwarded().length;
    await fails(0);
    expect(stage.forwarded().length).toBeGreaterThan(before);
    expect(new Set((await named()).map(({ name }) => name.split(' ')[0]))).toEqual(new Set(['stream']));
  });
});
