/** What is usual for a Bird is read from ranges of an index, however many Flights and episodes there are. */
import { expect, test } from 'vitest';
import { hash64 } from '../../../src/domain/alert/alert.ts';
import { signature } from '../../../src/domain/alert/error-signature.ts';
import { noteErrors } from '../../../src/store/read-history.ts';
import { createAlerts } from '../../../src/store/sql/alerted/alerts.ts';
import { createBirds } from '../../../src/store/sql/watched/birds.ts';
import { createErrors, createFlights } from '../../../src/store/sql/watched/flights.ts';
import { createOverdue } from '../../../src/store/sql/watched/judged-times.ts';
import type { SqliteSql } from '../../../src/store/sqlite/connection.ts';
import type { Transaction } from '../../../src/store/store.ts';
import { event } from '../contract/sample-records.ts';
import { openNoted } from './noted-statements.ts';

/** The statements of a reading, each with how SQLite finds its rows. */
async function plansOf(read: (sql: SqliteSql) => Promise<unknown>): Promise<string[]> {
  const { inner, asked, sql } = openNoted();
  await read(sql);
  return asked.flatMap((text) =>
    inner
      .prepare<{ readonly detail: string }>(`EXPLAIN QUERY PLAN ${text}`)
      .all()
      .map(({ detail }) => detail),
  );
}

const flights = (sql: SqliteSql) => createFlights(sql, {} as never);
const alerts = (sql: SqliteSql) => createAlerts(sql, {} as never);
const birds = (sql: SqliteSql) => createBirds(sql, {} as never);

const FLIGHTS = 'SEARCH flight USING PRIMARY KEY (stream=? AND started_us>?';
const A_BIRD = 'SEARCH bird USING PRIMARY KEY (region=? AND bird_id=?)';
const EPISODES = 'SEARCH episode USING PRIMARY KEY (alert_id>? AND alert_id<?)';

test.each<[string, (sql: SqliteSql) => Promise<unknown>, string]>([
  ['landed', (sql) => flights(sql).landed(1, 9), `${FLIGHTS})`],
  ['since', (sql) => flights(sql).since(1, 2), `${FLIGHTS})`],
  ['since', (sql) => flights(sql).since(1, 2), 'SEARCH flight USING PRIMARY KEY (stream=? AND started_us=?)'],
  ['countStarts', (sql) => flights(sql).countStarts(1, 2, 3), `${FLIGHTS} AND started_us<?)`],
  ['firstStart', (sql) => flights(sql).firstStart(1), `${FLIGHTS})`],
  ['episodesSince', (sql) => alerts(sql).episodesSince('RegionDown', 'eu', 1), EPISODES],
  ['wake', (sql) => createOverdue(sql).wake('eu', ['1']), A_BIRD],
  ['publishesSince', (sql) => birds(sql).publishesSince(1), 'SCAN event USING INDEX event_of_change'],
  ['bird', (sql) => createOverdue(sql).bird('eu', '1'), A_BIRD],
])('%s', async (_what, read, expected) => {
  const plans = await plansOf(read);
  expect(plans).toContainEqual(expected);
  expect(
    plans.filter((detail) =>
      /^SCAN (?!counted|latest|json_each|event USING INDEX event_of_change)/.test(detail),
    ),
  ).toEqual([]);
});

test('errors of other regions are read only for one that is new, so that regions do not conflict', async () => {
  const { inner, asked, sql } = openNoted();
  inner.exec(`INSERT INTO region (region, since_us, errors_since_us) VALUES ('eu', 1, 1)`);
  const errors = createErrors(sql);
  const fails = async (message: string) => {
    const failed = event(message, { feed: 'flight', type: 'flight.failed', message });
    await noteErrors({ errors } as Transaction, 'eu', [failed], 1);
    return asked.filter((text) => /FROM error_seen$/.test(text)).length;
  };
  const flight = { atUs: 1, flightId: 'f', birdId: 'b' };
  await errors.note('eu', [{ hash: hash64([signature('quota')]), ...flight }]);
  expect(await fails('quota')).toBe(0);
  expect(await fails('quite another')).toBe(1);
});
