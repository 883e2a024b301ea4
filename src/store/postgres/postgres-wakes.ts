/**
 * What replicas on one schema say to each other, by `NOTIFY` on a connection of its own: transactions of the store have
 * theirs, and nobody waits for a commit here.
 *
 *   away → connecting → listening → away → …
 *
 * A channel is one schema's. What is rung within a moment goes as one notification; a process does not hear itself. The
 * connection comes back by itself; then what was rung here meanwhile goes out, and everything here is woken once.
 */
import { createHash, randomUUID } from 'node:crypto';
import pg from 'pg';
import type { Clock } from '../../time/clock.ts';
import type { Wakes, WakeUp } from '../store.ts';
import { clientConfig, destroy, endClient, type PostgresPlace } from './postgres-client.ts';
import { endsConnection } from './postgres-failure.ts';
import { longestStatementMs } from './settle-in.ts';

/** What is rung within so long after a notification waits for the next one. */
const GAP_MS = 100;
/** PostgreSQL takes less than 8,000 bytes; what goes beyond is not rung. */
const MAX_PAYLOAD_BYTES = 7_900;
const LEAST_RETRY_MS = 1_000;
const MOST_RETRY_MS = 15_000;
/** What somebody may have rung for whom the connection was away; probes are asked for again by whoever waits. */
const ALL: readonly WakeUp[] = ['alerting', 'delivery', 'ownership'];

export interface PostgresWakes extends Wakes {
  close(): Promise<void>;
}

interface WakesOptions {
  readonly place: PostgresPlace;
  readonly clock: Clock;
}

/** Begins to listen; resolves without a connection where there is none now. */
export async function openPostgresWakes(options: WakesOptions): Promise<PostgresWakes> {
  const wakes = new Listener(options);
  await wakes.connect();
  return wakes;
}

class Listener implements PostgresWakes {
  readonly #options: WakesOptions;
  readonly #channel: string;
  /** By which it knows its own. */
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
    // The same function may listen twice: each has an ear of its own.
    const ear = (what: WakeUp) => heard(what);
    this.#ears.add(ear);
    return () => this.#ears.delete(ear);
  }

  async connect(): Promise<void> {
    const { place } = this.#options;
    let client: pg.Client | undefined;
    try {
      client = new pg.Client(clientConfig(place, longestStatementMs(place, true)));
      const own = client;
      own.on('error', () => this.#lose(own));
      own.on('end', () => this.#lose(own));
      own.on('notification', ({ payload }) => this.#hear(payload));
      await client.connect();
      // A notification is a commit, which need not wait for the disk.
      await client.query(`SET synchronous_commit = off; LISTEN ${pg.escapeIdentifier(this.#channel)}`);
      if (this.#isClosed) return destroy(client);
      this.#client = client;
      this.#retryMs = LEAST_RETRY_MS;
      if (!this.#isGap) this.#send();
    } catch {
      // Why the server is away the store says, which asks for more than wakes do.
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
      // It goes with the next one, or on another connection: one on which nobody answers is no better than one that broke.
      for (const what of taken) this.#rung.add(what);
      if (endsConnection(error)) this.#lose(client);
    });
    this.#cancelGap = this.#options.clock.setTimer(GAP_MS, async () => {
      // The server may be slow: it has one notification at a time.
      await said;
      this.#isGap = false;
      this.#send();
    });
  }

  /** What was rung, as far as it fits into one notification. */
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

/** Other programs may use the channel, too: what they say is none of ours. */
function wordsOf(payload = ''): string[] {
  try {
    const words: unknown = JSON.parse(payload);
    if (Array.isArray(words)) return words.filter((word) => typeof word === 'string');
  } catch {
    // Nobody of ours said it.
  }
  return [];
}

/** A channel's name is no longer than 63 bytes, as that of a schema, and belongs to a whole database. */
function channelOf(schema: string): string {
  return `nestwatch_${createHash('sha256').update(schema).digest('hex').slice(0, 32)}`;
}
