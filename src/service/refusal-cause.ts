/**
 * Estimates whether a request was refused because of the level (the rate of requests), or by chance: for reasons that
 * have nothing to do with it, such as a gateway that sheds load, or other tenants. Two things are unknown: the limit R,
 * and the share b that is refused at any level. At level L, b + (1 − b)·(1 − R/L) of the requests are refused, or b if
 * L is below R. Each pair of R and b has a probability, which every answer updates by Bayes' rule. A limit refuses only
 * at high levels, chance at all: so after cuts that did not help, chance is more probable.
 *
 * What a limit saves up while nothing is sent, as in a pause that the service asked for, lets requests through at any
 * level. How much it saves up is unknown too. So limits that save up in several ways are considered, and what each has
 * saved up is counted. As long as something is left, an accepted request says nothing about that limit, but a refusal
 * must be chance. Without this, a pause at each refusal by chance would leave nothing to learn from.
 *
 * From one request to the next the service may change, with a small probability. So what was learned is forgotten once
 * new answers contradict it.
 */

/** The lowest limit considered, and the factor from each to the next: the level is raised as slowly as that. */
const LEAST_LIMIT = 0.05;
const LIMIT_STEP = 1.02;
/** The prior probability that there is no limit up to the ceiling. Of the others, higher ones are more probable. */
const NO_LIMIT = 0.5;
/** The shares that may be refused at any level, and the prior probability of each. */
const SHARES = [0, 0.01, 0.03, 0.1, 0.3];
const SHARE_PRIORS = [0.96, 0.01, 0.01, 0.01, 0.01];
/** The probability that from one request to the next the limit changes; and the same for the share. */
const CHANGE = 5e-4;
/** Accepted requests are applied for this many at once, or before a refusal is judged. */
const MIXED_EVERY = 8;
/**
 * How a limit may count, each equally probable: it saves up nothing; it saves up for a second what is not used (a
 * bucket); or it gives a quota for each window of some seconds.
 */
const WAYS = [
  { isWindow: false, seconds: 0 },
  { isWindow: false, seconds: 1 },
  { isWindow: true, seconds: 10 },
  { isWindow: true, seconds: 60 },
] as const;
/** The least share that is refused once a quota is used up: all, if it were known exactly when that is. */
const BEYOND_QUOTA = 0.5;

export class RefusalCause {
  /** The limits in rising order, each repeated once for each way to count. */
  readonly #limits: Float64Array;
  readonly #limitPriors: Float64Array;
  /** By limit: the most that it saves up, and what is left of that; below 0 it would refuse. */
  readonly #room: Float64Array;
  readonly #saved: Float64Array;
  /** By way to count: when the present window began. */
  readonly #windows: number[];
  #leftAtMs: number;
  /** One row for each share, with a column for each limit. */
  readonly #probabilities: readonly Float64Array[];
  /** By limit: the share of requests that is refused because of the level, if nothing else is. */
  readonly #excess: Float64Array;
  /** By limit: the sum over all shares. */
  readonly #ofLimit: Float64Array;
  /**
   * By limit: the probability that everything accepted since the last `#mix` was accepted, if nothing is refused by
   * chance.
   */
  readonly #through: Float64Array;
  /**
   * Answers since the last `#mix`, and how many of them were accepted; `#probabilities` do not include the latter yet.
   */
  #unmixed = 0;
  #unknown = 0;

  /** No level exceeds `ceiling`. */
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
   * A request was not refused. This is nearly every answer, and there are some seven thousand probabilities. So only
   * one row of numbers is updated here, and all of them by `#mix`, for several answers at once.
   */
  accepted(level: number): void {
    const below = this.#lookAt(level);
    const [through, excess] = [this.#through, this.#excess];
    for (let column = 0; column < below; column += 1) through[column]! *= 1 - excess[column]!;
    this.#unknown += 1;
    this.#unmixed += 1;
    if (this.#unmixed === MIXED_EVERY) this.#mix();
  }

  /** A request was refused. Returns the probability that this was because of the level. */
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

  /**
   * A request is sent. A pause that the service asked for, and that is over, begins a new window. The first way saves up
   * nothing, so there is nothing to count.
   */
  left(nowMs: number, isAfterPause: boolean): void {
    const seconds = Math.max(0, nowMs - this.#leftAtMs) / 1000;
    this.#leftAtMs = nowMs;
    for (let way = 1; way < WAYS.length; way += 1) {
      const one = WAYS[way]!;
      const isNew = isAfterPause || nowMs - this.#windows[way]! >= one.seconds * 1000;
      if (isNew) this.#windows[way] = nowMs;
      this.#save(way, !one.isWindow ? seconds : isNew ? one.seconds : 0);
    }
  }

  /** What a limit has saved up grows by what it allows in these seconds, and shrinks by the request that is sent. */
  #save(way: number, seconds: number): void {
    const [limits, room, saved] = [this.#limits, this.#room, this.#saved];
    for (let column = way; column < limits.length; column += WAYS.length) {
      saved[column] = Math.min(room[column]!, Math.max(0, saved[column]!) + limits[column]! * seconds) - 1;
    }
  }

  /** The median of the limit: it is as probably above this as below. */
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

  /**
   * Computes `#excess` at this level, and returns for how many columns, from the first on, it may be above 0. What is
   * saved up lets requests through at any level. This is done for each answer, so it is written out
   * for the four ways.
   */
  #lookAt(level: number): number {
    const [limits, saved, excess] = [this.#limits, this.#saved, this.#excess];
    let column = 0;
    for (; column < limits.length; column += WAYS.length) {
      const part = 1 - limits[column]! / level;
      if (part <= 0) break;
      const beyond = Math.max(part, BEYOND_QUOTA);
      excess[column] = part;
      // The service may count a request when it ends, or a little late, so one that is left proves nothing.
      excess[column + 1] = saved[column + 1]! < 1 ? part : 0;
      excess[column + 2] = saved[column + 2]! < 0 ? beyond : 0;
      excess[column + 3] = saved[column + 3]! < 0 ? beyond : 0;
    }
    excess.fill(0, column);
    return column;
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

  /** Applies what was accepted since the last time, and the chance that the service has changed meanwhile. */
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
