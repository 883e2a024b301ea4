/**
 * Lets the database record who commits what, by triggers. Each replica is a separate user, and for every write to a
 * region's events and cursors the trigger records the owner of that region in the same transaction.
 */
import pg from 'pg';

export interface Commits {
  /** For each region in order: which replica committed, by its user, and under which ownership. */
  look(): Promise<CommitFigures>;
  /** How often each duty moved to another replica, and who has it. */
  duties(): Promise<readonly DutyTurn[]>;
  /** When each owner first wrote into each region. */
  firstWrites(): Promise<readonly FirstWrite[]>;
}

export interface CommitFigures {
  readonly commits: number;
  /** Commits by a replica that did not own the region at that moment. */
  readonly trespasses: readonly string[];
  /** Epochs in which more than one replica committed, or that occurred again after a later one. */
  readonly sharedEpochs: readonly string[];
}

export interface FirstWrite {
  readonly region: string;
  readonly epoch: number;
  readonly atMs: number;
}

export interface DutyTurn {
  readonly duty: string;
  readonly owner: number;
  readonly epoch: number;
  readonly atMs: number;
}

const SETUP = `
  CREATE SCHEMA watched;
  CREATE TABLE watched.commits (
    seq BIGSERIAL, who TEXT, region TEXT, owner BIGINT, epoch BIGINT, at TIMESTAMPTZ DEFAULT clock_timestamp()
  );
  CREATE TABLE watched.replicas (replica BIGINT, who TEXT);
  CREATE TABLE watched.duties (
    seq BIGSERIAL, duty TEXT, owner BIGINT, epoch BIGINT, at TIMESTAMPTZ DEFAULT clock_timestamp()
  );

  CREATE FUNCTION watched.write() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO watched.commits (who, region, owner, epoch)
      SELECT session_user, s.region, d.owner, d.epoch
      FROM (SELECT DISTINCT t.region FROM nestwatch.stream t JOIN fresh f ON f.stream = t.stream) s
      LEFT JOIN nestwatch.duty d ON d.duty = 'region ' || s.region;
    RETURN NULL;
  END $$;
  CREATE TRIGGER watched AFTER INSERT ON nestwatch.event
    REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION watched.write();
  CREATE TRIGGER watched AFTER UPDATE ON nestwatch.stream
    REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION watched.write();

  CREATE FUNCTION watched.join() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO watched.replicas VALUES (NEW.replica, session_user);
    RETURN NULL;
  END $$;
  CREATE TRIGGER watched AFTER INSERT ON nestwatch.replica FOR EACH ROW EXECUTE FUNCTION watched.join();

  CREATE FUNCTION watched.turn() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO watched.duties (duty, owner, epoch) VALUES (NEW.duty, NEW.owner, NEW.epoch);
    RETURN NULL;
  END $$;
  CREATE TRIGGER watched AFTER UPDATE ON nestwatch.duty FOR EACH ROW
    WHEN (NEW.owner IS DISTINCT FROM OLD.owner OR NEW.epoch IS DISTINCT FROM OLD.epoch)
    EXECUTE FUNCTION watched.turn();
  CREATE TRIGGER watched_new AFTER INSERT ON nestwatch.duty FOR EACH ROW EXECUTE FUNCTION watched.turn();
`;

export interface Place {
  readonly host: string;
}

async function connected({ host }: Place): Promise<pg.Client> {
  const client = new pg.Client({ host, user: 'nestwatch', database: 'postgres' });
  // Stopping the server breaks the connection; each look opens a new one.
  client.on('error', () => {});
  await client.connect();
  return client;
}

async function asked<Row extends object>(place: Place, sql: string): Promise<Row[]> {
  const client = await connected(place);
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Users that tell replicas apart. They have all rights, and share what they create. */
export async function createUsers(place: Place, users: readonly string[]): Promise<void> {
  for (const user of users) await asked(place, `CREATE ROLE ${user} SUPERUSER LOGIN`);
}

/** Starts recording, on a store that has its tables and that nobody uses. */
export async function watchCommits(place: Place): Promise<Commits> {
  await asked(place, SETUP);
  return {
    async look() {
      const [{ commits }] = (await asked<{ commits: string }>(
        place,
        'SELECT count(*) AS commits FROM watched.commits',
      )) as [{ commits: string }];
      const trespasses = await asked<{ line: string }>(
        place,
        `SELECT format('%s wrote %s, which is %s''s in epoch %s', c.who, region, coalesce(r.who, 'nobody'), epoch) AS line
         FROM watched.commits c LEFT JOIN watched.replicas r ON r.replica = c.owner
         WHERE r.who IS DISTINCT FROM c.who ORDER BY seq LIMIT 20`,
      );
      const shared = await asked<{ line: string }>(
        place,
        `SELECT format('%s in epoch %s by %s', region, epoch, string_agg(DISTINCT owner::text, ', ')) AS line
         FROM watched.commits GROUP BY region, epoch HAVING count(DISTINCT owner) > 1
         UNION ALL
         SELECT format('%s: epoch %s after %s', region, epoch, before) FROM (
           SELECT region, epoch, lag(epoch) OVER (PARTITION BY region ORDER BY seq) AS before FROM watched.commits) e
         WHERE epoch < before`,
      );
      return {
        commits: Number(commits),
        trespasses: trespasses.map(({ line }) => line),
        sharedEpochs: shared.map(({ line }) => line),
      };
    },
    async duties() {
      const rows = await asked<{ duty: string; owner: string; epoch: string; at: Date }>(
        place,
        'SELECT duty, owner, epoch, at FROM watched.duties ORDER BY seq',
      );
      return rows.map(({ duty, owner, epoch, at }) => ({
        duty,
        owner: Number(owner),
        epoch: Number(epoch),
        atMs: at.getTime(),
      }));
    },
    async firstWrites() {
      const rows = await asked<{ region: string; epoch: string; at: Date }>(
        place,
        'SELECT region, epoch, min(at) AS at FROM watched.commits WHERE epoch IS NOT NULL GROUP BY 1, 2',
      );
      return rows.map(({ region, epoch, at }) => ({ region, epoch: Number(epoch), atMs: at.getTime() }));
    },
  };
}
