/**
 * How many requests a second one region is sent, learned from its answers, because the service's limits are not
 * known and may change.
 *
 * The level is in one of two phases:
 * - `rising`: as in TCP's slow start it doubles every 2 s, up to the ceiling or, where a level is remembered, to
 *   just below it. It begins so, and begins so again after an outage.
 * - `holding`: as in CUBIC (RFC 9438) it follows a cubic of the time since the last cut: back quickly towards the
 *   level at which it was cut, long and flat just below that, then slowly and ever faster beyond it. So a refused
 *   level is probed about once a minute and not sawed at, and a limit that was lifted is found within minutes.
 *
 * rising → holding on a refusal, a latency out of its band, or on reaching the remembered level; holding → holding,
 * lower, on a refusal or a latency; holding → rising on `restart`. The level grows only while requests wait for it:
 * a level that is not used proves nothing. A refusal of which the level is probably not the cause
 * (`refusal-cause.ts`) changes nothing but what the service asks for: nothing leaves before its Retry-After is over.
 *
 * Many refusals in a short time cut the level far down, and a limit that fell looks no other than a fault that passes.
 * So the level that was borne before is remembered, and once answers are clean again the level returns to it quickly,
 * on a steeper cubic. Where that is refused, it is trusted less each time.
 *
 * Requests are spaced by a token bucket of half a second of the level. Time here is monotonic milliseconds.
 */
import type { Random } from '../time/clock.ts';
import { LatencyBand } from './latency-band.ts';
import { RefusalCause } from './refusal-cause.ts';

/** Requests a second after an outage. */
const GENTLE_LEVEL = 2;
const DOUBLING_MS = 2_000;
/** Never slower than one request in twenty seconds: with fewer nothing is learned. */
const LEAST_LEVEL = 0.05;
/** A level that an earlier life bore so long ago is trusted to 1/e. */
const TRUSTED_MS = 3_600_000;
/** Latency alone never brings the level below this. */
const LEAST_LEVEL_FOR_LATENCY = 1;

/** What a refusal leaves of the level: while rising, soon after another cut, or after a long clean time. */
const CUT = { rising: 0.5, soon: 0.7, late: 0.85, latency: 0.9 } as const;
const SOON_MS = 10_000;
/** Refusals without anything accepted between them are not about the level any more: only the pauses grow. */
const CUTS_IN_ROW = 3;
/** The level that is aimed at again stays this far below the refused one. */
const BELOW_REFUSED = 0.97;
/** A refusal makes no cut when it is less probable that the level was its cause. */
const BY_CHANCE = 0.5;
/** The same where the answer asks for a pause, since who does so has a limit in mind more often. */
const BY_CHANCE_ASKED = 0.3;
/** A longer pause is that of a quota, and no chance. */
const LONGEST_CASUAL_PAUSE_MS = 5_000;
/** After so many the level is cut all the same: at a level that never changes a limit looks like chance. */
const MOST_BY_CHANCE = 20;
/** From a cut to the level before it, while saturated: longer where the service's pauses are, or its requests few. */
const PLATEAU_MS = 60_000;
const PLATEAU_PER_PAUSE = 20;
const PLATEAU_REQUESTS = 100;

/** Answers are clean when nothing was refused for so long, or for some of the service's own pauses, and so many requests. */
const CLEAN_MS = 10_000;
const CLEAN_PER_PAUSE = 5;
const CLEAN_REQUESTS = 5;
/** From there to the level that was borne before, while saturated. */
const RETURN_MS = 30_000;
/** What a refused return leaves of that level. */
const TRUSTED_AGAIN = 0.5;

/** Without depth a cubic would be a line that never grows. */
const LEAST_DEPTH = 0.05;

const FIRST_PAUSE_MS = 1_000;
const LONGEST_OWN_PAUSE_MS = 60_000;

const BUCKET_SECONDS = 0.5;

/** Latency cuts no more often than that. */
const LATENCY_CUT_EVERY_MS = 5_000;

interface RateOptions {
  /** The level never exceeds it. */
  readonly ceiling: number;
  readonly startPerSecond: number;
  readonly random: Random;
  readonly nowMs: number;
}

export class Rate {
  readonly #ceiling: number;
  readonly #random: Random;
  #phase: 'rising' | 'holding' = 'rising';
  #level: number;
  /** The level that is aimed at: just below the one refused; none is known at first. */
  #target = Number.POSITIVE_INFINITY;
  /** How far below the target the last cut went. */
  #depth = 0;
  /** Saturated time since the last cut. */
  #sinceCutMs = 0;
  #plateauMs = PLATEAU_MS;
  #cutAtMs = Number.NEGATIVE_INFINITY;
  #tokens = 1;
  /** No request has left since a pause that the service asked for. */
  #isAfterPause = false;
  #filledAtMs: number;
  #pausedUntilMs: number;
  #lastTakeMs: number;
  /** A request had to wait for a token since the last one left: the level is what holds it back. */
  #isAwaited = false;
  #refusalsInRow = 0;
  readonly #cause: RefusalCause;
  /** Refusals in a row that were taken for chance. */
  #byChance = 0;
  /** The highest level that was cut since a refusal was last found to have another cause. */
  #cutFrom = 0;
  /** The level that was borne before the last refusals. */
  #borne = 0;
  /** Since the last refusal, or the end of an outage. */
  #cleanSinceMs: number;
  #cleanRequests = 0;
  #cleanAfterMs = CLEAN_MS;
  readonly #latency = new LatencyBand();
  #latencyCutAtMs = Number.NEGATIVE_INFINITY;

  constructor({ ceiling, startPerSecond, random, nowMs: startMs }: RateOptions) {
    this.#ceiling = ceiling;
    this.#random = random;
    this.#cause = new RefusalCause(ceiling, startMs);
    this.#level = Math.min(startPerSecond, ceiling);
    this.#filledAtMs = startMs;
    this.#pausedUntilMs = startMs;
    this.#lastTakeMs = startMs;
    this.#cleanSinceMs = startMs;
  }

  /** Requests a second now allowed. */
  level(): number {
    return this.#level;
  }

  /** How long until the next request may leave; 0: now. Where it must wait, the level counts as fully used. */
  waitMs(nowMs: number): number {
    this.#fill(nowMs);
    const pauseMs = this.#pausedUntilMs - nowMs;
    const tokenMs = ((1 - this.#tokens) * 1000) / this.#level;
    const waitMs = Math.max(0, pauseMs, tokenMs);
    // Less than a microsecond is what rounding left over.
    if (waitMs < 0.001) return 0;
    // Also in a pause, which leaves no token.
    this.#isAwaited = true;
    return waitMs;
  }

  /** Whether at least half of the bucket is there and no pause is on. */
  hasRoom(nowMs: number): boolean {
    this.#fill(nowMs);
    return nowMs >= this.#pausedUntilMs && this.#tokens >= Math.max(1, this.#bucket() / 2);
  }

  /** How long the service asked for nothing to be sent; 0 for not at all. */
  pausedMs(nowMs: number): number {
    return Math.max(0, this.#pausedUntilMs - nowMs);
  }

  /** A request leaves. */
  take(nowMs: number): void {
    this.#fill(nowMs);
    this.#tokens = Math.max(0, this.#tokens - 1);
    // The request that waited may have been given up since: what is counted is at most the time of two tokens.
    if (this.#isAwaited) this.#grow(Math.min(Math.max(0, nowMs - this.#lastTakeMs), 2000 / this.#level));
    this.#isAwaited = false;
    this.#lastTakeMs = nowMs;
    this.#cause.left(nowMs, this.#isAfterPause);
    this.#isAfterPause = false;
  }

  /** The service answered a request without asking to slow down. */
  answered(latencyMs: number, nowMs: number): void {
    this.#refusalsInRow = 0;
    this.#cause.accepted(this.#level);
    this.#cleanRequests += 1;
    if (this.#phase === 'holding' && this.#isClean(nowMs) && this.#borne * BELOW_REFUSED > this.#target) {
      this.#hold(this.#level, this.#borne * BELOW_REFUSED);
      this.#plateauMs = RETURN_MS;
    }
    const isOut = this.#latency.isLeftBy(latencyMs);
    const isCutDue = nowMs - this.#latencyCutAtMs >= LATENCY_CUT_EVERY_MS;
    if (isOut && isCutDue && this.#level > LEAST_LEVEL_FOR_LATENCY) {
      this.#latencyCutAtMs = nowMs;
      this.#beginClean(nowMs, 0);
      this.#cut(CUT.latency, LEAST_LEVEL_FOR_LATENCY, 1);
    }
  }

  /**
   * The service asked to slow down: a pause of what it asks for, and a cut where the level is the likely cause. Refusals
   * of requests that left before the last cut teach nothing new but a longer wait. Returns whether this one left after it.
   */
  refused(sentAtMs: number, retryAfterMs: number | undefined, nowMs: number): boolean {
    const isNew = sentAtMs > this.#cutAtMs;
    const isByChance = isNew && this.#isByChance(retryAfterMs ?? 0);
    if (retryAfterMs) this.#isAfterPause = true;
    if (isNew) this.#refusalsInRow += 1;
    if (isByChance) {
      this.#endure(retryAfterMs ?? 0, nowMs);
      return true;
    }
    if (isNew) this.#rememberBorne(nowMs);
    this.#beginClean(nowMs, retryAfterMs ?? 0);
    const pauseMs = this.#pause(Math.max(ownPauseMs(this.#refusalsInRow), retryAfterMs ?? 0), nowMs);
    if (!isNew) return false;
    this.#cutAtMs = nowMs;
    if (this.#refusalsInRow <= CUTS_IN_ROW) this.#cutForRefusal(pauseMs);
    return true;
  }

  /** The region was away: begin gently, and go no higher at first than what it bore before. */
  restart(nowMs: number): void {
    if (this.#level > this.#borne) this.#rememberBorne(nowMs);
    this.#beginClean(nowMs, 0);
    if (this.#phase === 'holding') this.#target = Math.max(this.#target, this.#level);
    this.#phase = 'rising';
    this.#level = Math.min(GENTLE_LEVEL, this.#level);
  }

  /** The level that is aimed at, or where none is, the one that was reached. */
  bearable(): number {
    return this.#target < Number.POSITIVE_INFINITY ? Math.max(this.#level, this.#target) : this.#level;
  }

  /**
   * An earlier life bore this level, so long ago: begin near it, the less the longer that is, and rise to it before
   * anything beyond it is tried. To be called before the first request.
   */
  remember(level: number, ageMs: number): void {
    const borne = Math.max(LEAST_LEVEL, Math.min(level, this.#ceiling));
    const near = borne * CUT.late;
    const gentle = Math.min(this.#level, near);
    this.#level = Math.max(this.#level, gentle + (near - gentle) * Math.exp(-ageMs / TRUSTED_MS));
    if (level < this.#ceiling) {
      this.#level = Math.min(this.#level, near);
      this.#target = borne;
    }
  }

  /** Nothing leaves for so long, and a little more; the pause fills no bucket. Returns its length. */
  #pause(leastMs: number, nowMs: number): number {
    const pauseMs = leastMs * (1 + this.#random() / 10);
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, nowMs + pauseMs);
    this.#tokens = 0;
    this.#filledAtMs = Math.max(this.#filledAtMs, this.#pausedUntilMs);
    return pauseMs;
  }

  /** Whether a request was refused for other reasons than the level. */
  #isByChance(retryAfterMs: number): boolean {
    const byLevel = this.#cause.refused(this.#level);
    const isLikely =
      byLevel < (retryAfterMs > 0 ? BY_CHANCE_ASKED : BY_CHANCE) && retryAfterMs <= LONGEST_CASUAL_PAUSE_MS;
    this.#byChance = isLikely ? this.#byChance + 1 : 0;
    if (this.#byChance <= MOST_BY_CHANCE) return isLikely;
    this.#byChance = 0;
    return false;
  }

  /** A refusal that has nothing to do with the level: only the service, or several in a row, ask for a pause. */
  #endure(retryAfterMs: number, nowMs: number): void {
    const ownMs = this.#refusalsInRow === 1 ? 0 : ownPauseMs(this.#refusalsInRow - 1);
    const pauseMs = Math.max(ownMs, retryAfterMs);
    if (pauseMs > 0) this.#pause(pauseMs, nowMs);
    // The cuts of late may have been for nothing: back to where they began, or up, as far as no limit is likely below.
    this.#borne = Math.max(
      this.#borne,
      Math.min(Math.max(this.#cutFrom, 2 * this.#level), this.#cause.likelyLimit()),
    );
    this.#cutFrom = 0;
  }

  #cutForRefusal(pauseMs: number): void {
    this.#cutFrom = Math.max(this.#cutFrom, this.#level);
    this.#plateauMs = Math.max(
      PLATEAU_MS,
      PLATEAU_PER_PAUSE * pauseMs,
      (PLATEAU_REQUESTS * 1000) / this.#level,
    );
    if (this.#phase === 'rising') this.#cut(CUT.rising, LEAST_LEVEL, (1 + CUT.rising) / 2);
    else this.#cut(this.#sinceCutMs < SOON_MS ? CUT.soon : CUT.late, LEAST_LEVEL, BELOW_REFUSED);
  }

  #bucket() {
    return Math.max(1, this.#level * BUCKET_SECONDS);
  }

  #fill(nowMs: number): void {
    this.#tokens = Math.min(
      this.#bucket(),
      this.#tokens + (Math.max(0, nowMs - this.#filledAtMs) * this.#level) / 1000,
    );
    this.#filledAtMs = Math.max(this.#filledAtMs, nowMs);
  }

  /** Raises the level for a time in which requests waited for it. */
  #grow(saturatedMs: number): void {
    if (this.#phase === 'rising') {
      this.#level *= 2 ** (saturatedMs / DOUBLING_MS);
      const top = this.#target < this.#ceiling ? this.#target * CUT.late : this.#ceiling;
      if (this.#level >= top) this.#hold(top, Math.min(this.#target, this.#ceiling));
    } else {
      this.#sinceCutMs += saturatedMs;
      const cubic =
        this.#target + this.#depth * ((this.#sinceCutMs - this.#plateauMs) / this.#plateauMs) ** 3;
      this.#level = Math.min(this.#ceiling, Math.max(this.#level, cubic));
    }
  }

  /** Begins a new cubic, from `from` up to `to`. */
  #hold(from: number, to: number): void {
    this.#phase = 'holding';
    this.#level = from;
    this.#target = to;
    this.#depth = Math.max(to - from, to * LEAST_DEPTH);
    this.#sinceCutMs = 0;
  }

  /** Lowers the level to `factor` of it, but not below `least`; the cubic then leads to `aim` of it. */
  #cut(factor: number, least: number, aim: number): void {
    const before = this.#level;
    const after = Math.min(before, Math.max(least, before * factor));
    this.#hold(after, Math.max(after, before * aim));
  }

  /** Whether answers have been clean for long enough. */
  #isClean(nowMs: number): boolean {
    return this.#cleanRequests >= CLEAN_REQUESTS && nowMs - this.#cleanSinceMs >= this.#cleanAfterMs;
  }

  /** Remembers the level of clean answers; half of the one before where that return failed. */
  #rememberBorne(nowMs: number): void {
    if (this.#isClean(nowMs))
      this.#borne =
        this.#level < this.#borne ? Math.max(this.#level, this.#borne * TRUSTED_AGAIN) : this.#level;
  }

  /** The time of clean answers begins anew; it has to be longer after a longer pause. */
  #beginClean(nowMs: number, pauseMs: number): void {
    this.#cleanSinceMs = nowMs;
    this.#cleanRequests = 0;
    this.#cleanAfterMs = Math.max(CLEAN_MS, CLEAN_PER_PAUSE * pauseMs);
  }
}

/** How long nothing leaves after so many refusals in a row, where the service asks for no longer pause. */
function ownPauseMs(refusalsInRow: number): number {
  return Math.min(LONGEST_OWN_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (refusalsInRow - 1));
}
