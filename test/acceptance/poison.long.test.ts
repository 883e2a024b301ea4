/** Rows of the store that somebody or something corrupted are set aside and named, and everything else continues. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { tempFolder } from '../http/servers.ts';
import { createStage, type Stage } from './stage.ts';

let stage: Stage;

/** The tables without which nobody is notified. */
const TABLES = ['alert', 'silence', 'alert_group', 'notification'] as const;

async function opened() {
  const storePath = join(tempFolder(), 'store.db');
  stage = await createStage({
    regions: ['eu'],
    storePath,
    nests: { Marketing: ['Broken', 'Whole', 'Later'] },
  });
  await stage.minutesPass(2);
  const fails = async (bird: string) => {
    stage.eu.startFlight(stage.bird(bird), { endsAs: 'failed', fliesForMs: 5_000 });
    await stage.minutesPass(8);
  };
  await fails('Broken');
  await stage.silence('bird="Whole"', 24 * 60, { id: 'poison' });
  const change = (...statements: string[]) => {
    const db = new DatabaseSync(storePath);
    for (const statement of statements) db.exec(statement);
    db.close();
  };
  const named = async () =>
    (await stage.store.transaction((tx) => tx.faults.list(stage.clock.nowUs(), 1_000))).filter(
      ({ sort }) => sort === 'row',
    );
  const birdsTold = () => new Set(stage.alerts().map(({ labels }) => labels.bird));
  return { change, named, fails, birdsTold };
}

/** Quotes a text for SQL. */
const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;

const POISONS = ['not json', '"half', '{}', '[1]', 'null'];
const SPOIL = POISONS.map((body) => TABLES.map((table) => `UPDATE ${table} SET body = ${quoted(body)}`));

test.each(SPOIL.map((statements, at) => [POISONS[at]!, statements] as const))(
  'rows that became %s while the daemon was stopped are named, and everything else continues [long]',
  async (_, statements) => {
    const { change, named, fails, birdsTold } = await opened();
    await stage.restart(() => change(...statements));
    await fails('Whole');
    expect(birdsTold()).toContain('Whole');
    expect(stage.forwarded().length).toBeGreaterThan(0);
    expect(stage.happenings.filter((one) => one.what === 'trouble')).toEqual([]);
    const before = await named();
    await stage.restart();
    await fails('Later');
    expect(birdsTold()).toContain('Later');
    expect(await named()).toEqual(before);
  },
);

test('a row that is spoiled while the daemon runs is found where it is read, and set aside [long]', async () => {
  const { change, named, fails, birdsTold } = await opened();
  change(...SPOIL[0]!);
  await fails('Whole');
  await stage.minutesPass(5);
  expect(birdsTold()).toContain('Whole');
  const tables = (await named()).map(({ name }) => name.split(' ')[0]);
  expect(new Set(tables)).toEqual(new Set(['alert', 'silence', 'alert_group']));
});
