/**
 * Learns from a region's answers how many requests a second to send it, because the service's limits are unknown and
 * may change.
 *
 * The level (requests a second) is in one of two phases:
 *
 * - `rising`: it doubles every 2 s, like TCP's slow start, up to the ceiling or, if a level is remembered, to just
 *   below that. It starts in this phase, and returns to it after an outage.
 * - `holding`: it follows a cubic function of the time since the last cut, like CUBIC (RFC 9438): quickly back towards
 *   the level at which it was cut, long and flat just below it, then beyond it, slowly at first and ever faster. So a
 *   refused level is probed about once a minute instead of being hit all the time, and a limit that was lifted is found
 *   within minutes.
 *
 * rising → holding on a refusal, or on reaching the remembered level; holding → holding, lower, on a refusal; holding →
 * rising on `restart`. The level grows only while requests wait for it: a level that is not used proves nothing. A
 * refusal that comes as often at lower levels (`RefusalShares`) does not change it; but nothing is sent before its
 * `Retry-After` is over. In a pause of more than some minutes single requests probe whether the service means it, since
 * one absurd answer of a gateway must not blind a region for an hour.
 *
 * Many refusals in a short time cut the level far down, and a limit that fell looks the same as a passing fault. So the
 * level that was accepted before is remembered. Once answers are clean again, the level returns to it quickly, on a
 * steeper cubic. If that is refused, it is trusted less each time.
 *
 * A token bucket of half a second of the level spaces the requests. All times are monotonic milliseconds.
 */
import type { Random } from '../time/clock.ts';

/** The requests a second after an outage. */
const GENTLE_LEVEL = 2;
const DOUBLING_MS = 2_000;
/** Never slower than one request in twenty seconds: with fewer nothing is learned. */
const LEAST_LEVEL = 0.05;
/** The trust in a level that an earlier process learned falls to 1/e in this time. */
const TRUSTED_MS = 3_600_000;

/** The part of the level that a cut leaves: while rising, soon after another cut, and later than that. */
const CUT = { rising: 0.5, soon: 0.7, late: 0.85 } as const;
const SOON_MS = 10_000;
/**
 * After this many refusals with nothing accepted in between, only the pauses grow: the level is no longer the cause.
 */
const CUTS_IN_ROW = 3;
/** The new target is this part of the refused level. */
const BELOW_REFUSED = 0.97;
/** A longer pause is that of a quota, and not chance. */
const LONGEST_CASUAL_PAUSE_MS = 5_000;
/** After this many in a row the level is cut all the same: at a level that never changes, a limit looks like chance. */
const MOST_BY_CHANCE = 30;

/** Levels are counted in steps of a tenth. */
const BAND = Math.log(1.1);
/** What was counted so many requests ago counts 1/e. */
const MEMORY_REQUESTS = 500;
/** Fewer requests at lower levels prove nothing. */
const LEAST_BELOW = 20;
/** Levels so many steps apart are told from each other. */
const BANDS_APART = 2;
/** A larger share is that of a limit. */
const MOST_CHANCE = 0.2;
/**
 * The time from a cut back to the level before it, while saturated: longer if the service's pauses are long, or
 * requests few.
 */
const PLATEAU_MS = 60_000;
const PLATEAU_PER_PAUSE = 20;
const PLATEAU_REQUESTS = 100;

/**
 * Answers are clean if nothing was refused for this long, or for some times the service's own pause, and for this many
 * requests.
 */
const CLEAN_MS = 10_000;
const CLEAN_PER_PAUSE = 5;
const CLEAN_REQUESTS = 5;
/** The time from there back to the level that was accepted before, while saturated. */
const RETURN_MS = 30_000;
/** The part of that level that is still trusted after a refused return. */
const TRUSTED_AGAIN = 0.5;

/** Without depth the cubic would be a line that never grows. */
const LEAST_DEPTH = 0.05;

const FIRST_PAUSE_MS = 1_000;
const LONGEST_OWN_PAUSE_MS = 60_000;

/** How often one request is sent in a pause that the service asked for. What is learned counts a pause as no longer. */
const PROBE_EVERY_MS = 300_000;

const BUCKET_SECONDS = 0.5;

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
  /** The target level, just below the refused one; none at first. */
  #target = Number.POSITIVE_INFINITY;
  /** How far below the target the last cut went. */
  #depth = 0;
  /** Saturated time since the last cut. */
  #sinceCutMs = 0;
  #plateauMs = PLATEAU_MS;
  #cutAtMs = Number.NEGATIVE_INFINITY;
  #tokens = 1;
  #filledAtMs: number;
  #pausedUntilMs: number;
  /** When the next probe of a pause is due, and when the last one was sent. */
  #probeAtMs = 0;
  #probedAtMs = Number.POSITIVE_INFINITY;
  #lastTakeMs: number;
  /** A request has waited for a token since the last one was sent, so it is the level that holds requests back. */
  #isAwaited = false;
  #refusalsInRow = 0;
  readonly #shares = new RefusalShares();
  /** Refusals in a row that were attributed to chance. */
  #byChance = 0;
  /** The highest level that was cut since a refusal was last attributed to chance. */
  #cutFrom = 0;
  /** The level that was accepted before the last refusals. */
  #accepted = 0;
  /** When the last refusal, or the end of an outage, was. */
  #cleanSinceMs: number;
  #cleanRequests = 0;
  #cleanAfterMs = CLEAN_MS;

  constructor({ ceiling, startPerSecond, random, nowMs: startMs }: RateOptions) {
    this.#ceiling = ceiling;
    this.#random = random;
    this.#level = Math.min(startPerSecond, ceiling);
    this.#filledAtMs = startMs;
    this.#pausedUntilMs = startMs;
    this.#lastTakeMs = startMs;
    this.#cleanSinceMs = startMs;
  }

  /** The requests a second that are allowed now. */
  level(): number {
    return this.#level;
  }

  /** How long until the next request may be sent; 0 for now. If it must wait, the level counts as fully used. */
  waitMs(nowMs: number): number {
    this.#fill(nowMs);
    const pauseMs = Math.min(this.#pausedUntilMs, this.#probeAtMs) - nowMs;
    const tokenMs = this.#isPaused(nowMs) ? 0 : ((1 - this.#tokens) * 1000) / this.#level;
    const waitMs = Math.max(0, pauseMs, tokenMs);
    // Less than a microsecond is a rounding error.
    if (waitMs < 0.001) return 0;
    // This also holds in a pause, which leaves no token.
    this.#isAwaited = true;
    return waitMs;
  }

  /** Whether the bucket is at least half full and there is no pause. */
  hasRoom(nowMs: number): boolean {
    this.#fill(nowMs);
    return nowMs >= this.#pausedUntilMs && this.#tokens >= Math.max(1, this.#bucket() / 2);
  }

  /** How much longer nothing is sent because the service asked for a pause; 0 if it did not. */
  pausedMs(nowMs: number): number {
    return Math.max(0, this.#pausedUntilMs - nowMs);
  }

  /** A request is sent. */
  take(nowMs: number): void {
    this.#fill(nowMs);
    if (this.#isPaused(nowMs)) {
      this.#probedAtMs = nowMs;
      this.#probeAtMs = nowMs + PROBE_EVERY_MS;
    }
    this.#tokens = Math.max(0, this.#tokens - 1);
    // The request that waited may have been given up since, so at most the time of two tokens is counted.
    if (this.#isAwaited) this.#grow(Math.min(Math.max(0, nowMs - this.#lastTakeMs), 2000 / this.#level));
    this.#isAwaited = false;
    this.#lastTakeMs = nowMs;
  }

  /** The service answered a request without asking to slow down. */
  answered(sentAtMs: number, nowMs: number): void {
    this.#refusalsInRow = 0;
    // Answers to requests that were sent before the refusal say nothing about the pause.
    if (this.#isPaused(nowMs) && sentAtMs >= this.#probedAtMs) {
      this.#pausedUntilMs = nowMs;
      this.#filledAtMs = nowMs;
    }
    this.#shares.note(this.#level, false);
    this.#cleanRequests += 1;
    if (this.#phase === 'holding' && this.#isClean(nowMs) && this.#accepted * BELOW_REFUSED > this.#target) {
      this.#hold(this.#level, this.#accepted * BELOW_REFUSED);
      this.#plateauMs = RETURN_MS;
    }
  }

  /**
   * The service asked to slow down. Pauses for what it asks for, and makes a cut if the level is the likely cause.
   * Refusals of requests that were sent before the last cut can only lengthen the pause. Returns whether this one was
   * sent after it.
   */
  refused(sentAtMs: number, retryAfterMs: number | undefined, nowMs: number): boolean {
    const isNew = sentAtMs > this.#cutAtMs;
    const isByChance = isNew && this.#attribute(retryAfterMs ?? 0);
    if (isNew) this.#refusalsInRow += 1;
    if (isByChance) {
      this.#endure(retryAfterMs ?? 0, nowMs);
      return true;
    }
    if (isNew) this.#rememberAccepted(nowMs);
    this.#beginClean(nowMs, Math.min(retryAfterMs ?? 0, PROBE_EVERY_MS));
    const pauseMs = this.#pause(Math.max(ownPauseMs(this.#refusalsInRow), retryAfterMs ?? 0), nowMs);
    if (!isNew) return false;
    this.#cutAtMs = nowMs;
    if (this.#refusalsInRow <= CUTS_IN_ROW) this.#cutForRefusal(pauseMs);
    return true;
  }

  /** The region was down: starts low again, and at first goes no higher than what it accepted before. */
  restart(nowMs: number): void {
    if (this.#level > this.#accepted) this.#rememberAccepted(nowMs);
    this.#beginClean(nowMs, 0);
    if (this.#phase === 'holding') this.#target = Math.max(this.#target, this.#level);
    this.#phase = 'rising';
    this.#level = Math.min(GENTLE_LEVEL, this.#level);
  }

  /**
   * The level to remember over a restart: the target, or if there is none, the level reached. While answers are not clean
   * again, it is at least the level that was accepted before: the refusals since then may be an outage, and a process that
   * restarts in it would otherwise leave less of the level each time.
   */
  bearable(nowMs: number): number {
    const learned =
      this.#target < Number.POSITIVE_INFINITY ? Math.max(this.#level, this.#target) : this.#level;
    return this.#isClean(nowMs) ? learned : Math.max(learned, this.#accepted);
  }

  /**
   * Starts near a level that an earlier process learned `ageMs` ago, the less near the longer ago, and rises to that
   * level before trying anything beyond it. To be called before the first request.
   */
  remember(level: number, ageMs: number): void {
    const accepted = Math.max(LEAST_LEVEL, Math.min(level, this.#ceiling));
    this.#accepted = accepted;
    const near = accepted * CUT.late;
    const gentle = Math.min(this.#level, near);
    this.#level = Math.max(this.#level, gentle + (near - gentle) * Math.exp(-ageMs / TRUSTED_MS));
    if (level < this.#ceiling) {
      this.#level = Math.min(this.#level, near);
      this.#target = accepted;
    }
  }

  /** Sends nothing for this long, and up to a tenth longer; the bucket does not fill in a pause. Returns the pause. */
  #pause(leastMs: number, nowMs: number): number {
    const pauseMs = leastMs * (1 + this.#random() / 10);
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, nowMs + pauseMs);
    this.#probeAtMs = nowMs + PROBE_EVERY_MS;
    this.#probedAtMs = Number.POSITIVE_INFINITY;
    this.#tokens = 0;
    this.#filledAtMs = Math.max(this.#filledAtMs, this.#pausedUntilMs);
    return pauseMs;
  }

  /** Notes a refusal. Returns whether it was by chance: for other reasons than the level. */
  #attribute(retryAfterMs: number): boolean {
    this.#shares.note(this.#level, true);
    const isLikely = retryAfterMs <= LONGEST_CASUAL_PAUSE_MS && this.#shares.isAsUsual(this.#level);
    this.#byChance = isLikely ? this.#byChance + 1 : 0;
    if (this.#byChance <= MOST_BY_CHANCE) return isLikely;
    this.#byChance = 0;
    return false;
  }

  /** Handles a refusal by chance: there is a pause only if the service asks for one, or after several in a row. */
  #endure(retryAfterMs: number, nowMs: number): void {
    const ownMs = this.#refusalsInRow === 1 ? 0 : ownPauseMs(this.#refusalsInRow - 1);
    const pauseMs = Math.max(ownMs, retryAfterMs);
    if (pauseMs > 0) this.#pause(pauseMs, nowMs);
    // The recent cuts may have been for nothing, so the level may return to where they began.
    this.#accepted = Math.max(this.#accepted, this.#cutFrom);
    this.#cutFrom = 0;
  }

  #cutForRefusal(pauseMs: number): void {
    this.#cutFrom = Math.max(this.#cutFrom, this.#level);
    this.#plateauMs = Math.max(
      PLATEAU_MS,
      PLATEAU_PER_PAUSE * Math.min(pauseMs, PROBE_EVERY_MS),
      (PLATEAU_REQUESTS * 1000) / this.#level,
    );
    if (this.#phase === 'rising') this.#cut(CUT.rising, (1 + CUT.rising) / 2);
    else this.#cut(this.#sinceCutMs < SOON_MS ? CUT.soon : CUT.late, BELOW_REFUSED);
  }

  #isPaused(nowMs: number): boolean {
    return nowMs < this.#pausedUntilMs;
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

  /** Starts a new cubic, from `from` up to `to`. */
  #hold(from: number, to: number): void {
    this.#phase = 'holding';
    this.#level = from;
    this.#target = to;
    this.#depth = Math.max(to - from, to * LEAST_DEPTH);
    this.#sinceCutMs = 0;
  }

  /** Lowers the level to `factor` of it; the new target is `aim` of it. */
  #cut(factor: number, aim: number): void {
    const before = this.#level;
    const after = Math.min(before, Math.max(LEAST_LEVEL, before * factor));
    this.#hold(after, Math.max(after, before * aim));
  }

  /** Whether answers have been clean for long enough. */
  #isClean(nowMs: number): boolean {
    return this.#cleanRequests >= CLEAN_REQUESTS && nowMs - this.#cleanSinceMs >= this.#cleanAfterMs;
  }

  /** Remembers the level if answers were clean; if the return to the remembered level failed, at least half of that. */
  #rememberAccepted(nowMs: number): void {
    if (this.#isClean(nowMs))
      this.#accepted =
        this.#level < this.#accepted ? Math.max(this.#level, this.#accepted * TRUSTED_AGAIN) : this.#level;
  }

  /** Starts the time of clean answers again; after a longer pause it must be longer. */
  #beginClean(nowMs: number, pauseMs: number): void {
    this.#cleanSinceMs = nowMs;
    this.#cleanRequests = 0;
    this.#cleanAfterMs = Math.max(CLEAN_MS, CLEAN_PER_PAUSE * pauseMs);
  }
}

/**
 * Counts how many requests are refused at each level. A limit refuses only at high levels. So a refusal that comes as
 * often at lower ones has other reasons: a gateway that sheds load, or other tenants.
 */
class RefusalShares {
  readonly #bands = new Map<number, Count>();

  note(level: number, isRefused: boolean): void {
    for (const one of this.#bands.values()) {
      one.sent *= 1 - 1 / MEMORY_REQUESTS;
      one.refused *= 1 - 1 / MEMORY_REQUESTS;
    }
    const one = this.#bands.getOrInsert(bandOf(level), { sent: 0, refused: 0 });
    one.sent += 1;
    if (isRefused) one.refused += 1;
  }

  /** Whether about as many are refused at lower levels as at this one, where one was refused just now. */
  isAsUsual(level: number): boolean {
    const band = bandOf(level);
    const here = sumOf(this.#bands, (one) => Math.abs(one - band) < BANDS_APART);
    const share = here.refused / here.sent;
    if (share > MOST_CHANCE) return false;
    const below = sumOf(this.#bands, (one) => one <= band - BANDS_APART);
    if (below.sent >= LEAST_BELOW) return below.refused / below.sent > share / 2;
    const above = sumOf(this.#bands, (one) => one >= band + BANDS_APART);
    const former = above.refused / above.sent;
    return share > former / 2 && share < 3 * former;
  }
}

interface Count {
  sent: number;
  refused: number;
}

function bandOf(level: number): number {
  return Math.round(Math.log(level) / BAND);
}

function sumOf(bands: ReadonlyMap<number, Count>, isMeant: (band: number) => boolean): Count {
  const sum = { sent: 0, refused: 0 };
  for (const [band, { sent, refused }] of bands) {
    if (!isMeant(band)) continue;
    sum.sent += sent;
    sum.refused += refused;
  }
  return sum;
}

/** How long nothing is sent after this many refusals in a row, if the service asks for no longer pause. */
function ownPauseMs(refusalsInRow: number): number {
  return Math.min(LONGEST_OWN_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (refusalsInRow - 1));
}
