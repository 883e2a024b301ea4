/**
 * Lets replicas on one schema wake each other, by `NOTIFY` on a separate connection: the store's transactions have
 * their own, and nobody waits here for a commit.
 *
 *   away → connecting → listening → away → …
 *
 * Each schema has its own channel. What is rung in quick succession is sent as one notification; a process does not
 * hear itself. The connection is restored automatically; then what was rung here meanwhile is sent, and everything
 * here is woken once.
 */
import { createHash, randomUUID } from 'node:crypto';
import pg from 'pg';
import type { Clock } from '../../time/clock.ts';
import type { Wakes, WakeUp } from '../store.ts';
import { connectTo, destroy, endClient, type PostgresPlace } from './postgres-client.ts';
import { endsConnection } from './postgres-failure.ts';
import { longestStatementMs } from './settle-in.ts';

/** After a notification, further rings wait this long and are sent together. */
const GAP_MS = 100;
/** PostgreSQL allows fewer than 8,000 bytes; what exceeds this is not rung. */
const MAX_PAYLOAD_BYTES = 7_900;
const LEAST_RETRY_MS = 1_000;
const MOST_RETRY_MS = 15_000;
/** What others may have rung while the connection was away. Probes are excluded: whoever waits for one asks again. */
const ALL: readonly WakeUp[] = ['alerting', 'delivery', 'ownership'];

export interface PostgresWakes extends Wakes {
  close(): Promise<void>;
}

interface WakesOptions {
  readonly place: PostgresPlace;
  readonly clock: Clock;
}

/** Starts to listen; resolves without a connection if none can be made now. */
export async function openPostgresWakes(options: WakesOptions): Promise<PostgresWakes> {
  const wakes = new Listener(options);
  await wakes.connect();
  return wakes;
}

class Listener implements PostgresWakes {
  readonly #options: WakesOptions;
  readonly #channel: string;
  /** Identifies this process's own notifications. */
  readonly #life = randomUUID();
  readonly #ears = new Set<(what: WakeUp) => void>();
  readonly #rung = new Set<WakeUp>();
  #client: pg.Client | undefined;
  #retryMs = LEAST_RETRY_MS;
  #isGap = false;
  #isClosed = false;
  #cancelRetry = () => {};
  #cancelGap = () => {};

  constructor(options: WakesOptions) {
    this.#options = options;
    this.#channel = channelOf(options.place.schema);
  }

  ring(what: WakeUp): void {
    if (this.#isClosed) return;
    this.#rung.add(what);
    if (!this.#isGap) this.#send();
  }

  listen(heard: (what: WakeUp) => void): () => void {
    // A wrapper, so that the same function may listen twice.
    const ear = (what: WakeUp) => heard(what);
    this.#ears.add(ear);
    return () => this.#ears.delete(ear);
  }

  async connect(): Promise<void> {
    const { place } = this.#options;
    let client: pg.Client | undefined;
    try {
      client = await connectTo(place, longestStatementMs(place, true));
      const own = client;
      own.on('error', () => this.#lose(own));
      own.on('end', () => this.#lose(own));
      own.on('notification', ({ payload }) => this.#hear(payload));
      // A notification is a commit, which need not wait for the disk.
      await client.query(`SET synchronous_commit = off; LISTEN ${pg.escapeIdentifier(this.#channel)}`);
      if (this.#isClosed) return destroy(client);
      this.#client = client;
      this.#retryMs = LEAST_RETRY_MS;
      if (!this.#isGap) this.#send();
    } catch {
      // No report here: the store, which is used more often, says why the server is away.
      destroy(client);
      this.#tryAgain();
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelRetry();
    this.#cancelGap();
    const client = this.#client;
    this.#client = undefined;
    await endClient(client, this.#options.clock);
  }

  #lose(client: pg.Client): void {
    destroy(client);
    if (this.#client !== client) return;
    this.#client = undefined;
    this.#tryAgain();
  }

  #tryAgain(): void {
    if (this.#isClosed) return;
    this.#cancelRetry();
    this.#cancelRetry = this.#options.clock.setTimer(this.#retryMs, () => {
      void this.connect().then(() => {
        if (this.#client) for (const what of ALL) this.#say(what);
      });
    });
    this.#retryMs = Math.min(2 * this.#retryMs, MOST_RETRY_MS);
  }

  #send(): void {
    if (!this.#client || this.#rung.size === 0) return;
    const { taken, payload } = this.#take();
    if (taken.length === 0) return;
    this.#isGap = true;
    const client = this.#client;
    const said = client.query('SELECT pg_notify($1, $2)', [this.#channel, payload]).catch((error) => {
      // It is sent with the next notification, or on another connection: an unanswered one is as bad as a broken one.
      for (const what of taken) this.#rung.add(what);
      if (endsConnection(error)) this.#lose(client);
    });
    this.#cancelGap = this.#options.clock.setTimer(GAP_MS, async () => {
      // The server may be slow: it gets one notification at a time.
      await said;
      this.#isGap = false;
      this.#send();
    });
  }

  /** What was rung, as far as it fits in one notification. */
  #take(): { readonly taken: readonly WakeUp[]; readonly payload: string } {
    let taken: readonly WakeUp[] = [];
    let payload = '';
    for (const what of this.#rung) {
      const longer = JSON.stringify([this.#life, ...taken, what]);
      if (Buffer.byteLength(longer) > MAX_PAYLOAD_BYTES) continue;
      taken = [...taken, what];
      payload = longer;
    }
    this.#rung.clear();
    return { taken, payload };
  }

  #hear(payload: string | undefined): void {
    const [life, ...all] = wordsOf(payload);
    if (life === this.#life) return;
    for (const what of all) this.#say(what as WakeUp);
  }

  #say(what: WakeUp): void {
    for (const ear of this.#ears) ear(what);
  }
}

/** Other programs may use the channel too; their payloads are ignored. */
function wordsOf(payload = ''): string[] {
  try {
    const words: unknown = JSON.parse(payload);
    if (Array.isArray(words)) return words.filter((word) => typeof word === 'string');
  } catch {
    // Another program sent it.
  }
  return [];
}

/**
 * The name of a schema's channel. Channels are shared by a whole database, and names have at most 63 bytes, hence the
 * hash.
 */
function channelOf(schema: string): string {
  return `nestwatch_${createHash('sha256').update(schema).digest('hex').slice(0, 32)}`;
}
