/** The steps of a version after the next, for tests. */
import { STEPS, type Step } from '../../../src/store/versions/steps.ts';

const ROWS = 400_000;

/** One that older versions can work beside. */
const ADDED: Step = { sql: `ALTER TABLE bird ADD COLUMN note TEXT NOT NULL DEFAULT ''`, oldest: 1 };

/** One that they cannot, and that takes a while: on a server so long that a busy machine sees it running. */
const CHANGED: Step = {
  sql: {
    sqlite: `CREATE TABLE number (n INTEGER PRIMARY KEY, words TEXT NOT NULL) STRICT;
      INSERT INTO number WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${ROWS})
        SELECT n, 'the number ' || n FROM numbers;
      UPDATE bird SET note = (SELECT words FROM number WHERE n = 7);`,
    postgres: `CREATE TABLE number (n BIGINT PRIMARY KEY, words TEXT NOT NULL);
      INSERT INTO number SELECT n, 'the number ' || n FROM generate_series(1, ${ROWS}) AS n;
      SELECT pg_sleep(2);
      UPDATE bird SET note = (SELECT words FROM number WHERE n = 7);`,
  },
  oldest: STEPS.length + 2,
};

export const NEXT_STEPS: readonly Step[] = [...STEPS, ADDED, CHANGED];

/** One that never ends. */
const ENDLESS: Step = {
  sql: {
    sqlite: `CREATE TABLE endless (n INTEGER);
      INSERT INTO endless WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers)
        SELECT n FROM numbers WHERE n < 0`,
    postgres: 'SELECT pg_sleep(3600)',
  },
  oldest: 1,
};

export const ENDLESS_STEPS: readonly Step[] = [...STEPS, ENDLESS];

/** One that fails after it has begun. */
const BROKEN: Step = { sql: 'DELETE FROM silence; ALTER TABLE nobody ADD COLUMN x TEXT', oldest: 1 };

export const BROKEN_STEPS: readonly Step[] = [...STEPS, BROKEN];
