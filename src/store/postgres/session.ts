/**
 * THE CONNECTION of a process to a store on PostgreSQL, with its locks. A process that shares the store has a second
 * one for its turns (`Sharing.turns`).
 *
 *   closed → connecting → open → lost → connecting → …
 *
 * All transactions of a process run on one connection, one after another, as the store promises, and end with the
 * connection. On it the process holds two advisory locks. The first is on the schema: alone, or shared with others
 * who share the store. A process that is alone loses this lock with its connection, and then nothing of its can still
 * be committed; one that shares the store shows leases (`ownership-store.ts`) in its transactions. The second lock is
 * on this run of the process: once it is held again, the earlier session has ended, with the transaction that was in
 * progress.
 *
 * Each commit writes its number into this run's row of `writer`. If the connection breaks during a commit, that
 * number tells, once both locks are held again, whether the commit took place.
 */
import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { NestwatchError } from '../../errors.ts';
import { type Clock, sleep } from '../../time/clock.ts';
import { NOW_US, type Parameter, type Statements } from '../sql/sql.ts';
import { connectTo, destroy, endClient, type PostgresPlace, written } from './postgres-client.ts';
import {
  connectFailure,
  endsConnection,
  isOfOldPlan,
  isServerError,
  postgresFailure,
} from './postgres-failure.ts';
import {
  HAS_ENDED,
  lockLife,
  lockSchema,
  lockTables,
  takeSlot,
  unlockSchema,
  unlockTables,
} from './session-locks.ts';
import {
  limitStatements,
  longestStatementMs,
  refuseSharedBackend,
  SHARED_LIMITS,
  settleIn,
} from './settle-in.ts';

/** How long to wait for another process's lock: that process may just be ending. */
const LOCK_TIMEOUT_MS = 3_000;
/** How often to try a server that is away. */
const RETRY_MS = 1_000;
/** How long a statement that changes a table of millions of rows may take, and how long another replica waits for it. */
const CHANGE_TIMEOUT_MS = 3_600_000;
/**
 * The server looks this often whether the client is still there. Otherwise it would finish a step of an hour for a
 * process that was killed, while the next one waits. Servers on Windows cannot look, and refuse the setting.
 */
const LOOK_FOR_CLIENT = `DO $$ BEGIN SET client_connection_check_interval = '2s'; EXCEPTION WHEN OTHERS THEN END $$`;
/** Overrides the driver's timeout for everyday statements. */
const PATIENTLY = { query_timeout: CHANGE_TIMEOUT_MS };

/** Rows of `writer` of ended processes are kept for this long. */
const WRITER_LASTS = '30 days';

interface SessionOptions {
  readonly place: PostgresPlace;
  readonly clock: Clock;
  /** Whether other processes may use the same schema at the same time. */
  readonly isShared: boolean;
  /** Called when a new connection replaces the previous one: what is remembered of the store may be outdated. */
  readonly connected?: () => void;
  /** Only looks at a store that others use, and takes no lock on it. */
  readonly isGuest?: boolean;
  /** Prepares the schema; runs once, under the lock. `alone` throws `store_locked` while others use the schema. */
  readonly prepare: (statements: Statements, alone: () => Promise<void>) => Promise<void>;
  /** Checks the schema on each new connection, since it may have been changed meanwhile. */
  readonly again?: (statements: Statements) => Promise<void>;
}

export class Session implements Statements {
  readonly #options: SessionOptions;
  readonly #life = randomUUID();
  readonly #names = new Map<string, string>();
  #client: pg.Client | undefined;
  #connecting: Promise<void> | undefined;
  #lastTry: { readonly atMs: number; readonly error: unknown } | undefined;
  /** The server's process behind the previous connection; it may not have noticed yet that the connection is gone. */
  #backend: { readonly pid: number; readonly since: string } | undefined;
  #isPrepared = false;
  #isClosed = false;
  #commits = 0;
  /** The last confirmed commit that wrote something. */
  #confirmed = 0;
  #slot = 0;
  /** Prepared statements get new names after the tables were changed. */
  #generation = 0;
  #failure: { readonly error: unknown } | undefined;
  /** The previous statement: concurrent statements run one after another. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** A small number that no other process on the schema has now. */
  get slot(): number {
    return this.#slot;
  }

  /** The first failure of a statement since `forget`: its transaction is over. */
  failure(): unknown {
    return this.#failure?.error;
  }

  forget(): void {
    this.#failure = undefined;
  }

  /**
   * Resolves when there is a connection that holds the locks. Throws `store_down` if there is none (at once if the
   * last attempt was less than a second ago), and before the first connection also `store_locked`, `store_newer` and
   * `config_invalid`.
   */
  async ready(): Promise<void> {
    if (this.#client && !this.#connecting) return;
    if (this.#isClosed) throw this.#lost();
    const { clock } = this.#options;
    if (this.#lastTry && clock.monotonicMs() - this.#lastTry.atMs < RETRY_MS) throw this.#lastTry.error;
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    try {
      await this.#connecting;
      this.#lastTry = undefined;
    } catch (error) {
      this.#lastTry = { atMs: clock.monotonicMs(), error };
      throw error;
    }
  }

  async rows<Row>(sql: string, ...parameters: readonly Parameter[]): Promise<Row[]> {
    const query = { name: this.#nameOf(sql), text: sql, values: parameters.map(written) };
    return (await this.#guarded(query)).rows as Row[];
  }

  async first<Row>(sql: string, ...parameters: readonly Parameter[]): Promise<Row | undefined> {
    const [row] = await this.rows<Row>(sql, ...parameters);
    return row;
  }

  async run(sql: string, ...parameters: readonly Parameter[]): Promise<number> {
    const query = { name: this.#nameOf(sql), text: sql, values: parameters.map(written) };
    return (await this.#guarded(query)).rowCount ?? 0;
  }

  async composed<Row>(sql: string, ...parameters: readonly Parameter[]): Promise<Row[]> {
    return (await this.#guarded({ text: sql, values: parameters.map(written) })).rows as Row[];
  }

  /** Runs statements without parameters or results, exempt from the rule about failed transactions. */
  async exec(sql: string): Promise<void> {
    await this.#query({ text: sql });
  }

  /**
   * Commits, and resolves to whether the commit took place. If the connection broke, this is found out as soon as the
   * server answers again, however long that takes; until then `away` is called after each failed attempt. Throws if
   * the commit cannot take place.
   */
  async commit(away: (error: unknown) => void): Promise<boolean> {
    if (!this.#client) throw this.#lost();
    this.#commits += 1;
    const number = this.#commits;
    try {
      const [sealed] = await this.#query({ text: `${this.#seal(number)}; COMMIT` }).then((all) =>
        [all].flat(),
      );
      if (sealed?.rowCount) this.#confirmed = number;
      return true;
    } catch (error) {
      if (this.#client) throw error;
      return this.#tookPlace(number, away);
    }
  }

  /** A transaction that wrote nothing records no number. */
  #seal(number: number): string {
    return `INSERT INTO writer (life, commits, at) SELECT '${this.#life}', ${number}, now()
      WHERE pg_current_xact_id_if_assigned() IS NOT NULL
      ON CONFLICT (life) DO UPDATE SET commits = excluded.commits, at = excluded.at`;
  }

  async #tookPlace(number: number, away: (error: unknown) => void): Promise<boolean> {
    for (;;) {
      try {
        await this.ready();
        const { rows } = await this.#query<{ commits: number }>({
          text: 'SELECT commits FROM writer WHERE life = $1',
          values: [this.#life],
        });
        const hasCome = (rows[0]?.commits ?? 0) >= number;
        if (hasCome) this.#confirmed = number;
        return hasCome;
      } catch (error) {
        if (this.#isClosed) throw error;
        away(error);
        await sleep(this.#options.clock, RETRY_MS);
      }
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const client = this.#client;
    this.#client = undefined;
    await endClient(client, this.#options.clock);
  }

  /** Stops waiting for a server that may never come back, and for a statement that takes long. */
  giveUp(): void {
    this.#isClosed = true;
    destroy(this.#client);
  }

  async #connect(): Promise<void> {
    const { place, connected, isShared } = this.#options;
    let client: pg.Client | undefined;
    try {
      client = await connectTo(place, longestStatementMs(place, isShared));
      const own = client;
      own.on('error', (error) => {
        if (this.#client === own) this.#lose(error);
      });
      this.#names.clear();
      await this.#settleIn(client);
      if (!this.#isPrepared) await this.#prepare(client);
      else await this.#returnTo(client);
      await this.#follow(client);
      // Nobody would end a connection that `close` did not find.
      if (this.#isClosed) throw this.#lost();
      this.#client = client;
      connected?.();
    } catch (error) {
      this.#client = undefined;
      destroy(client);
      this.#failure = undefined;
      throw connectFailure(error, place);
    }
  }

  /** Takes the lock on the tables first: otherwise two processes that start at once would wait for each other. */
  async #prepare(client: pg.Client): Promise<void> {
    const { place, prepare, isShared, isGuest = false } = this.#options;
    await client.query(
      `SET lock_timeout = ${CHANGE_TIMEOUT_MS}; SET statement_timeout = ${CHANGE_TIMEOUT_MS}; ${LOOK_FOR_CLIENT}`,
    );
    await lockTables(client, place, PATIENTLY);
    await this.#lock(client);
    this.#client = client;
    let isAlone = false;
    await prepare(this, async () => {
      await this.#alone(client);
      isAlone = true;
    });
    // Each question whether a life has ended takes a lock, of which a server has few thousand.
    const old = `(SELECT life FROM writer WHERE at < now() - interval '${WRITER_LASTS}' ORDER BY at LIMIT 500)`;
    if (!isGuest)
      await this.exec(
        `DELETE FROM writer WHERE life IN (SELECT life FROM ${old} AS writer WHERE ${HAS_ENDED})`,
      );
    if (isAlone && isShared) await unlockSchema(client, place);
    await unlockTables(client, place);
    await client.query(limitStatements(place, isShared));
    this.#isPrepared = true;
  }

  /** Takes the locks first: a process that changes the tables incompatibly has to wait for them. */
  async #returnTo(client: pg.Client): Promise<void> {
    await this.#lock(client);
    // The failure of the interrupted transaction belongs to whoever began it.
    const failure = this.#failure;
    this.#failure = undefined;
    this.#client = client;
    await this.#options.again?.(this);
    this.#failure = failure;
  }

  /** Takes the lock on the schema alone, in addition to the shared one. */
  async #alone(client: pg.Client): Promise<void> {
    if (!this.#options.isShared) return;
    await client.query(`SET lock_timeout = ${LOCK_TIMEOUT_MS}`);
    await lockSchema(client, this.#options.place, 'alone', this.#refusal());
    await client.query(`SET lock_timeout = ${SHARED_LIMITS.lockMs}`);
  }

  async #follow(client: pg.Client): Promise<void> {
    const { place, isShared, isGuest = false } = this.#options;
    if (isGuest || !(await followServer(client, this.#life, this.#confirmed))) return;
    if (!isShared) {
      throw new NestwatchError(
        'store_failed',
        `The server of ${place.shown} has lost commits that it had confirmed: another took its place, or it was restored.`,
      );
    }
    this.#confirmed = 0;
  }

  async #settleIn(client: pg.Client): Promise<void> {
    const { place, isShared } = this.#options;
    const pid = await settleIn(client, place, isShared);
    await refuseSharedBackend(client, place, pid, this.#isPrepared ? 'store_down' : 'config_invalid');
    const { rows } = await client.query<{ since: string }>(
      'SELECT backend_start::text AS since FROM pg_stat_activity WHERE pid = $1',
      [pid],
    );
    await this.#endBackend(client);
    this.#backend = { pid, since: rows[0]?.since ?? '' };
  }

  /** Ends the previous connection on the server, if the server has not noticed yet that it is over. */
  async #endBackend(client: pg.Client): Promise<void> {
    if (!this.#backend) return;
    const { pid, since } = this.#backend;
    await client.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE pid = $1 AND backend_start::text = $2 AND usename = current_user AND pid <> pg_backend_pid()`,
      [pid, since],
    );
  }

  /** Takes the lock on this run of the process, and the one on the schema. */
  async #lock(client: pg.Client): Promise<void> {
    const { place, isShared, isGuest = false } = this.#options;
    await client.query(`SET lock_timeout = ${LOCK_TIMEOUT_MS}`);
    await lockLife(client, this.#life);
    if (isGuest) return;
    await lockSchema(client, place, isShared ? 'shared' : 'alone', this.#refusal());
    if (isShared) {
      await client.query(`SET lock_timeout = ${SHARED_LIMITS.lockMs}`);
      this.#slot = await takeSlot(client, place);
    }
  }

  /** At the start, a lock held by another process means a wrong setup; later it is a matter of time. */
  #refusal(): 'store_down' | 'store_locked' {
    return this.#isPrepared ? 'store_down' : 'store_locked';
  }

  async #guarded<Row extends pg.QueryResultRow>(query: pg.QueryConfig): Promise<pg.QueryResult<Row>> {
    if (this.#failure) throw this.#failure.error;
    try {
      return await this.#query<Row>(query);
    } catch (error) {
      // The first failure says why; concurrent statements only learn that the transaction is over.
      this.#failure ??= { error };
      throw this.#failure.error;
    }
  }

  async #query<Row extends pg.QueryResultRow>(query: pg.QueryConfig): Promise<pg.QueryResult<Row>> {
    const { place } = this.#options;
    const answered = this.#last.then(() => {
      if (!this.#client) throw this.#lost();
      return this.#client.query<Row>(this.#isPrepared ? query : { ...query, ...PATIENTLY });
    });
    this.#last = answered.catch(() => {});
    try {
      return await answered;
    } catch (error) {
      if (endsConnection(error)) this.#lose(error);
      if (isOfOldPlan(error)) this.#forgetPlans();
      if (this.#isClosed) throw this.#lost();
      throw postgresFailure(error, place.shown);
    }
  }

  #lost(): unknown {
    if (this.#isClosed) return new NestwatchError('cancelled', 'The store is closed.');
    return postgresFailure(new Error('the connection was lost'), this.#options.place.shown);
  }

  #lose(error: unknown): void {
    destroy(this.#client);
    this.#client = undefined;
    this.#failure ??= { error: postgresFailure(error, this.#options.place.shown) };
  }

  /** Plans statements again, because another version has changed tables they use. */
  #forgetPlans(): void {
    this.#names.clear();
    this.#generation += 1;
  }

  #nameOf(sql: string): string {
    const name = this.#names.get(sql) ?? `s${this.#generation}_${this.#names.size}`;
    this.#names.set(sql, name);
    return name;
  }
}

// Checks that the server still has everything it confirmed. A server may lack the last commits if it took over from
// another by replication, was restored from a backup, or crashed while told not to wait for its disk. What it holds
// is consistent, as of an earlier moment: cursors, events and deliveries belong to the same commit. So whoever starts
// from the store's content simply reads on from there, as after restoring a file from a backup. But work that was
// based on later content must stop:
//
// - A process with its own store remembers cursors beyond the stored ones. It finds that the server has fewer of its
//   commits than were confirmed, fails with `store_failed`, and ends.
// - If several processes share the store, all leases end and all replicas are removed, so that each starts its work
//   again. Numbers of replicas and epochs of leases continue far beyond any that may have been lost, so that none is
//   used twice. This is done by a process whose commits are missing, and by the first one that meets a server with
//   another identity or timeline, since processes whose commits are missing may come back later.

/** A connection outside any transaction of the store. */
interface Connection {
  query<Row extends object>(
    sql: string,
    values?: readonly unknown[],
  ): Promise<{ readonly rows: readonly Row[]; readonly rowCount: number | null }>;
}

/** Far more leases and replicas than the lost commits could have created. */
const BEYOND = 1_000_000;

const IDENTITY = `SELECT system_identifier || ' ' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS identity
  FROM pg_control_system()`;

const ADOPT = 'INSERT INTO server (one, identity) VALUES (true, $1) ON CONFLICT DO NOTHING';
const FOLLOW = 'UPDATE server SET identity = $1 WHERE identity <> $1';

const BEGIN_ANEW = `UPDATE server SET epochs = ${BEYOND} + greatest(epochs, (SELECT max(epoch) FROM duty));
  UPDATE duty SET owner = 0, epoch = (SELECT epochs FROM server), since_us = ${NOW_US.postgres};
  DELETE FROM replica;
  SELECT setval(sequence, nextval(sequence) + ${BEYOND})
  FROM (SELECT pg_get_serial_sequence('replica', 'replica')::regclass AS sequence) AS numbers`;

/**
 * Call this on each new connection before anything else. `confirmed` is the number of this process's last confirmed
 * commit. Returns whether that commit is missing; if the store is shared, all leases have then been ended.
 */
async function followServer(client: Connection, life: string, confirmed: number): Promise<boolean> {
  const identity = await identityOf(client);
  await client.query('BEGIN ISOLATION LEVEL READ COMMITTED');
  await client.query(ADOPT, [identity]);
  const isOther = ((await client.query(FOLLOW, [identity])).rowCount ?? 0) > 0;
  const { rows } = await client.query<{ commits: number }>('SELECT commits FROM writer WHERE life = $1', [
    life,
  ]);
  const isMissing = (rows[0]?.commits ?? 0) < confirmed;
  if (isOther || isMissing) await client.query(BEGIN_ANEW);
  await client.query('COMMIT');
  return isMissing;
}

/** The server's identity and timeline; empty if it does not reveal them. */
async function identityOf(client: Connection): Promise<string> {
  try {
    return (await client.query<{ identity: string }>(IDENTITY)).rows[0]!.identity;
  } catch (error) {
    // A managed server may hide it; then only the numbers of the commits are compared.
    if (isServerError(error)) return '';
    throw error;
  }
}
