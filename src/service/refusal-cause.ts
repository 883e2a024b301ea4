/**
 * Whether a request was refused because of the level, or for reasons that have nothing to do with it: a gateway that
 * sheds, what other tenants do. Two things are not known: the limit R, and the part b that is refused at any level. At
 * level L then b + (1 − b)·(1 − R/L) of the requests are refused, or b where L is below R. Each pair of the two has a
 * probability, which every answer changes by Bayes' rule. A limit refuses at the upper levels alone, and chance at all:
 * after cuts that did not help chance is more probable.
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

export class RefusalCause {
  /** In rising order. */
  readonly #limits: Float64Array;
  readonly #limitPriors: Float64Array;
  /** Of each share one row, with a column for each limit. */
  readonly #probabilities: readonly Float64Array[];
  /** By limit: what of all requests is refused because of the level, where nothing else is. */
  readonly #excess: Float64Array;
  /** By limit: the sum over all shares, while an answer is taken in. */
  readonly #ofLimit: Float64Array;
  /** After a pause a limit lets so many through whatever the level is. */
  #savedUp = 0;

  /** No level is higher than `ceiling`. */
  constructor(ceiling: number) {
    const limits: number[] = [];
    for (let limit = LEAST_LIMIT; limit < ceiling; limit *= LIMIT_STEP) limits.push(limit);
    const sum = limits.reduce((all, limit) => all + Math.sqrt(limit), 0);
    this.#limits = Float64Array.of(...limits, Math.max(LEAST_LIMIT, ceiling));
    const priors = limits.map((limit) => ((1 - NO_LIMIT) * Math.sqrt(limit)) / sum);
    this.#limitPriors = Float64Array.of(...priors, NO_LIMIT);
    this.#excess = new Float64Array(this.#limits.length);
    this.#ofLimit = new Float64Array(this.#limits.length);
    this.#probabilities = SHARE_PRIORS.map((prior) => Float64Array.from(this.#limitPriors, (p) => p * prior));
  }

  /** A request was not refused. */
  accepted(level: number): void {
    this.#meet(level, false);
  }

  /** A request was refused. Returns how probable it is that this was because of the level. */
  refused(level: number): number {
    this.#lookAt(level);
    let [byLevel, inAll] = [0, 0];
    for (const [row, share] of SHARES.entries()) {
      for (const [column, probability] of this.#probabilities[row]!.entries()) {
        const part = (1 - share) * this.#excess[column]!;
        byLevel += probability * part;
        inAll += probability * (share + part);
      }
    }
    this.#meet(level, true);
    return byLevel / inAll;
  }

  /** Nothing leaves for a while, in which so many would have at the present level. */
  paused(requests: number): void {
    this.#savedUp = requests;
  }

  /** The limit is as probably above it as below. */
  likelyLimit(): number {
    let sum = 0;
    for (const [column, limit] of this.#limits.entries()) {
      for (const row of this.#probabilities) sum += row[column]!;
      if (sum >= 0.5) return limit;
    }
    return this.#limits.at(-1)!;
  }

  #lookAt(level: number): void {
    for (let column = 0; column < this.#limits.length; column += 1) {
      const limit = this.#limits[column]!;
      this.#excess[column] = level > limit ? 1 - limit / level : 0;
    }
  }

  /** Takes in an answer. It comes with each request, and goes over some two thousand numbers: hence plain loops. */
  #meet(level: number, isRefused: boolean): void {
    this.#savedUp -= 1;
    if (this.#savedUp >= 0) return;
    this.#lookAt(level);
    const [excess, ofLimit, priors] = [this.#excess, this.#ofLimit.fill(0), this.#limitPriors];
    const ofShare = SHARES.map((share, row) => {
      const probabilities = this.#probabilities[row]!;
      let sum = 0;
      for (let column = 0; column < probabilities.length; column += 1) {
        const over = excess[column]!;
        const likelihood = isRefused ? share + (1 - share) * over : (1 - share) * (1 - over);
        const weight = probabilities[column]! * likelihood;
        probabilities[column] = weight;
        ofLimit[column]! += weight;
        sum += weight;
      }
      return sum;
    });
    const all = ofShare.reduce((sum, part) => sum + part, 0);
    const [stays, changes] = [(1 - 2 * CHANGE) / all, CHANGE / all];
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
