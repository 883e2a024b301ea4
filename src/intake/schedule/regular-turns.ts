/**
 * Chooses which regular stream to poll next: inventory, notifications or audits. Each is due one interval after its last
 * poll began, and has a share of the requests (`shares.ts`).
 */
import type { Row } from './bird-turns.ts';
import type { PollValues } from './poll-value.ts';
import type { Account, Shares } from './shares.ts';

interface RegularTurnsOptions {
  readonly values: PollValues;
  readonly shares: Shares;
  /** When the stream is due; undefined while it is taken. */
  readonly readyMsOf: (row: Row) => number | undefined;
}

export interface Regular {
  readonly intervalMs: number;
  /** It has no entries of its own, so none can be late. */
  readonly mayLag: boolean;
  readonly account: Account;
}

export class RegularTurns {
  readonly #options: RegularTurnsOptions;
  readonly #regulars = new Map<Row, Regular>();

  constructor(options: RegularTurnsOptions) {
    this.#options = options;
  }

  add(row: Row, { intervalMs, share, mayLag }: Omit<Regular, 'account'> & { readonly share: number }): void {
    this.#regulars.set(row, { intervalMs, mayLag, account: this.#options.shares.open(share) });
  }

  /** Changes the interval of a stream that was added. */
  setInterval(row: Row, intervalMs: number): void {
    this.#regulars.set(row, { ...this.#regulars.get(row)!, intervalMs });
  }

  /** Returns whether the stream was a regular one. */
  remove(row: Row): boolean {
    const regular = this.#regulars.get(row);
    if (regular) this.#options.shares.close(regular.account);
    return this.#regulars.delete(row);
  }

  /** Undefined for the stream of a Bird. */
  of(row: Row): Regular | undefined {
    return this.#regulars.get(row);
  }

  /** Among the due streams that fit, the one that has been due longest. */
  due(nowMs: number, fits: (row: Row, regular: Regular) => boolean): Row | undefined {
    let first: Row | undefined;
    let firstMs = Number.POSITIVE_INFINITY;
    for (const [row, regular] of this.#regulars) {
      const readyMs = this.#options.readyMsOf(row);
      if (readyMs === undefined || readyMs > nowMs || !fits(row, regular)) continue;
      if (first !== undefined && readyMs >= firstMs) continue;
      first = row;
      firstMs = readyMs;
    }
    return first;
  }

  /** When the next one is due; Infinity for none. */
  nextMs(): number {
    let earliestMs = Number.POSITIVE_INFINITY;
    for (const row of this.#regulars.keys()) {
      earliestMs = Math.min(earliestMs, this.#options.readyMsOf(row) ?? Number.POSITIVE_INFINITY);
    }
    return earliestMs;
  }

  /**
   * The requests per second that they need to keep their intervals; with `allowedPerSecond`, none counts for more than
   * its share of it.
   */
  perSecond(allowedPerSecond: number = Number.POSITIVE_INFINITY): number {
    let perSecond = 0;
    for (const [row, { intervalMs, account }] of this.#regulars) {
      const needed = (this.#options.values.cost(row) * 1000) / intervalMs;
      perSecond += Math.min(needed, account.share * allowedPerSecond);
    }
    return perSecond;
  }
}
