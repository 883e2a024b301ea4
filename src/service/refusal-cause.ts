/**
 * Whether a request was refused because of the level, or for reasons that have nothing to do with it: a gateway that
 * sheds, what other tenants do. Two things are not known: the limit R, and the part b that is refused at any level. At
 * level L then b + (1 − b)·(1 − R/L) of the requests are refused, or b where L is below R. Each pair of the two has a
 * probability, which every answer changes by Bayes' rule. A limit refuses at the upper levels alone, and chance at all:
 * after cuts that did not help chance is more probable.
 *
 * What a limit saves up while nothing leaves, as in a pause that the service asked for, lets requests through whatever
 * the level is. How much that is, is not known either, so limits that save up in several ways are each thought of, and
 * what each has saved up is counted: as long as there is something, an answer says nothing about that limit, but a
 * refusal says that it was by chance. Without this a pause at each refusal by chance would leave nothing to learn from.
 *
 * From one request to the next the service may become another, with a small probability: so what was learned is
 * forgotten when new answers contradict it.
 */

/** The lowest limit that is thought of, and how far the next one is above it: a level is raised that slowly. */
const LEAST_LIMIT = 0.05;
const LIMIT_STEP = 1.02;
/** Before anything is known, that there is no limit up to the ceiling; of the others the higher are more probable. */
const NO_LIMIT = 0.5;
/** What may be refused at any level, and how probable each is before anything is known. */
const SHARES = [0, 0.01, 0.03, 0.1, 0.3];
const SHARE_PRIORS = [0.96, 0.01, 0.01, 0.01, 0.01];
/** How probable it is that from one request to the next the limit changes, and as probable that the part does. */
const CHANGE = 5e-4;
/** It is taken in after so many requests, or before a refusal is judged, for all of them at once. */
const MIXED_EVERY = 8;
/**
 * How a limit may count, each as probable: it saves up nothing, or for a second what is not asked for (a bucket), or it
 * gives a quota for each window of some seconds.
 */
const WAYS = [
  { isWindow: false, seconds: 0 },
  { isWindow: false, seconds: 1 },
  { isWindow: true, seconds: 10 },
  { isWindow: true, seconds: 60 },
] as const;
/** What is refused at least once a quota is used up: all of it, if it were known exactly when that is. */
const BEYOND_QUOTA = 0.5;

export class RefusalCause {
  /** In rising order, each as often as there are ways to count. */
  readonly #limits: Float64Array;
  readonly #limitPriors: Float64Array;
  /** By limit: the most that it saves up, and what is left of that; below 0 it would refuse. */
  readonly #room: Float64Array;
  readonly #saved: Float64Array;
  /** By way: when the present window began. */
  readonly #windows: number[];
  #leftAtMs: number;
  /** Of each share one row, with a column for each limit. */
  readonly #probabilities: readonly Float64Array[];
  /** By limit: what of all requests is refused because of the level, where nothing else is. */
  readonly #excess: Float64Array;
  /** By limit: the sum over all shares. */
  readonly #ofLimit: Float64Array;
  /** By limit: how probable it is that all that was accepted since `#mix` was, where nothing is refused by chance. */
  readonly #through: Float64Array;
  /** Answers since `#mix`, and how many of them were accepted: `#probabilities` do not know of these yet. */
  #unmixed = 0;
  #unknown = 0;

  /** No level is higher than `ceiling`. */
  constructor(ceiling: number, nowMs: number) {
    const limits: number[] = [];
    for (let limit = LEAST_LIMIT; limit < ceiling; limit *= LIMIT_STEP) limits.push(limit);
    const sum = limits.reduce((all, limit) => all + Math.sqrt(limit), 0);
    const priors = [...limits.map((limit) => ((1 - NO_LIMIT) * Math.sqrt(limit)) / sum), NO_LIMIT];
    const all = [...limits, Math.max(LEAST_LIMIT, ceiling)];
    this.#limits = Float64Array.from(all.flatMap((limit) => WAYS.map(() => limit)));
    this.#limitPriors = Float64Array.from(priors.flatMap((prior) => WAYS.map(() => prior / WAYS.length)));
    this.#room = Float64Array.from(all.flatMap((limit) => WAYS.map(({ seconds }) => limit * seconds)));
    this.#saved = this.#room.slice();
    this.#leftAtMs = nowMs;
    this.#windows = WAYS.map(() => nowMs);
    this.#excess = new Float64Array(this.#limits.length);
    this.#ofLimit = new Float64Array(this.#limits.length);
    this.#through = new Float64Array(this.#limits.length).fill(1);
    this.#probabilities = SHARE_PRIORS.map((prior) => Float64Array.from(this.#limitPriors, (p) => p * prior));
  }

  /**
   * A request was not refused. Nearly all answers are this one, and there are some seven thousand probabilities: so
   * one row of numbers is gone over here, and all of them by `#mix`, for several answers at once.
   */
  accepted(level: number): void {
    this.#lookAt(level);
    const [through, excess] = [this.#through, this.#excess];
    for (let column = 0; column < through.length; column += 1) through[column]! *= 1 - excess[column]!;
    this.#unknown += 1;
    this.#unmixed += 1;
    if (this.#unmixed === MIXED_EVERY) this.#mix();
  }

  /** A request was refused. Returns how probable it is that this was because of the level. */
  refused(level: number): number {
    this.#mix();
    this.#lookAt(level);
    let [byLevel, inAll] = [0, 0];
    for (const [row, share] of SHARES.entries()) {
      for (const [column, probability] of this.#probabilities[row]!.entries()) {
        const part = (1 - share) * this.#excess[column]!;
        byLevel += probability * part;
        inAll += probability * (share + part);
      }
    }
    this.#meetRefusal();
    return byLevel / inAll;
  }

  /** A request leaves. Who asked for a pause, which is over, begins a new window. */
  left(nowMs: number, isAfterPause: boolean): void {
    const seconds = Math.max(0, nowMs - this.#leftAtMs) / 1000;
    this.#leftAtMs = nowMs;
    for (const [way, one] of WAYS.entries()) {
      const isNew = isAfterPause || nowMs - this.#windows[way]! >= one.seconds * 1000;
      if (isNew) this.#windows[way] = nowMs;
      this.#save(way, !one.isWindow ? seconds : isNew ? one.seconds : 0);
    }
  }

  /** What a limit has saved up grows by what it allows in so many seconds, and shrinks by the request that leaves. */
  #save(way: number, seconds: number): void {
    const [limits, room, saved] = [this.#limits, this.#room, this.#saved];
    for (let column = way; column < limits.length; column += WAYS.length) {
      saved[column] = Math.min(room[column]!, Math.max(0, saved[column]!) + limits[column]! * seconds) - 1;
    }
  }

  /** The limit is as probably above it as below. */
  likelyLimit(): number {
    this.#mix();
    const half = this.#probabilities.flatMap((row) => [...row]).reduce((sum, one) => sum + one, 0) / 2;
    let sum = 0;
    for (const [column, limit] of this.#limits.entries()) {
      for (const row of this.#probabilities) sum += row[column]!;
      if (sum >= half) return limit;
    }
    return this.#limits.at(-1)!;
  }

  /** What is saved up lets requests through, whatever the level is. */
  #lookAt(level: number): void {
    const [limits, saved, excess] = [this.#limits, this.#saved, this.#excess];
    for (let column = 0; column < limits.length; column += WAYS.length) {
      const part = Math.max(0, 1 - limits[column]! / level);
      for (let way = 0; way < WAYS.length; way += 1) {
        const left = saved[column + way]!;
        if (part === 0) excess[column + way] = 0;
        else if (WAYS[way]!.isWindow) excess[column + way] = left < 0 ? Math.max(part, BEYOND_QUOTA) : 0;
        // A request that counts at its end, or a little late, is no proof.
        else excess[column + way] = left < 1 ? part : 0;
      }
    }
  }

  #meetRefusal(): void {
    const excess = this.#excess;
    for (const [row, share] of SHARES.entries()) {
      const probabilities = this.#probabilities[row]!;
      for (let column = 0; column < probabilities.length; column += 1) {
        probabilities[column]! *= share + (1 - share) * excess[column]!;
      }
    }
    this.#unmixed += 1;
  }

  /** Takes in what was accepted since the last time, and that the service may have become another meanwhile. */
  #mix(): void {
    const change = CHANGE * this.#unmixed;
    const [ofLimit, through, priors] = [this.#ofLimit.fill(0), this.#through, this.#limitPriors];
    const ofShare = this.#probabilities.map((probabilities, row) => {
      const byChance = (1 - SHARES[row]!) ** this.#unknown;
      let sum = 0;
      for (let column = 0; column < probabilities.length; column += 1) {
        const probability = probabilities[column]! * byChance * through[column]!;
        probabilities[column] = probability;
        ofLimit[column]! += probability;
        sum += probability;
      }
      return sum;
    });
    through.fill(1);
    this.#unknown = 0;
    this.#unmixed = 0;
    const all = ofShare.reduce((sum, part) => sum + part, 0);
    const [stays, changes] = [(1 - 2 * change) / all, change / all];
    for (const [row, inRow] of ofShare.entries()) {
      const probabilities = this.#probabilities[row]!;
      const prior = SHARE_PRIORS[row]!;
      for (let column = 0; column < probabilities.length; column += 1) {
        const changed = priors[column]! * inRow + prior * ofLimit[column]!;
        probabilities[column] = stays * probabilities[column]! + changes * changed;
      }
    }
  }
}
