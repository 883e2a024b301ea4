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
 * what nobody used proves nothing.
 *
 * Many refusals in a short time cut the level far down, and a limit that fell looks no other than a fault that passes.
 * So the level that was borne before is remembered, and once answers are clean again the level returns to it quickly,
 * on a steeper cubic. Where that is refused, it is trusted less each time.
 *
 * Requests are spaced by a token bucket of half a second of the level. Time here is monotonic milliseconds.
 */
import type { Random } from '../time/clock.ts';

export interface Rate {
  /** Requests a second now allowed. */
  level(): number;
  /** How long until the next request may leave; 0: now. Tells the rate that one waits, if it must. */
  waitMs(nowMs: number): number;
  /** Whether at least half of the bucket is there and no pause is on. */
  hasRoom(nowMs: number): boolean;
  /** How long the service asked for nothing to be sent; 0 for not at all. */
  pausedMs(nowMs: number): number;
  take(nowMs: number): void;
  answered(latencyMs: number, nowMs: number): void;
  /**
   * The service asked to slow down. Refusals of requests that left before the last cut tell nothing new but a longer
   * wait. Answers whether this one was news.
   */
  refused(sentAtMs: number, retryAfterMs: number | undefined, nowMs: number): boolean;
  /** The region was away: begin gently, and go no higher at first than what it bore before. */
  restart(nowMs: number): void;
}

/** Requests a second after an outage. */
const GENTLE_LEVEL = 2;
const DOUBLING_MS = 2_000;
/** Never slower than one request in twenty seconds: less would tell nothing. */
const LEAST_LEVEL = 0.05;
/** Latency alone never brings the level below this. */
const LEAST_LEVEL_FOR_LATENCY = 1;

/** What a refusal leaves of the level: while rising, soon after another cut, or after a long clean time. */
const CUT = { rising: 0.5, soon: 0.7, late: 0.85, latency: 0.9 } as const;
const SOON_MS = 10_000;
/** Refusals without anything accepted between them are not about the level any more: only the pauses grow. */
const CUTS_IN_ROW = 3;
/** The level that is aimed at again stays this far below the refused one. */
const BELOW_REFUSED = 0.97;
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

/** The band of latency: RFC 6298's estimator, with more patience. */
const LATENCY_SAMPLES = 20;
const LATENCY_FLOOR_MS = 100;
const LATENCY_CUT_EVERY_MS = 5_000;

export interface RateOptions {
  /** The level never exceeds it. */
  readonly ceiling: number;
  readonly startPerSecond: number;
  readonly random: Random;
  readonly nowMs: number;
}

export function createRate({ ceiling, startPerSecond, random, nowMs: startMs }: RateOptions): Rate {
  let phase: 'rising' | 'holding' = 'rising';
  let level = Math.min(startPerSecond, ceiling);
  /** The level that is aimed at: just below the one refused; none is known at first. */
  let target = Number.POSITIVE_INFINITY;
  /** How far below the target the last cut went. */
  let depth = 0;
  /** Saturated time since the last cut. */
  let sinceCutMs = 0;
  let plateauMs = PLATEAU_MS;
  let cutAtMs = Number.NEGATIVE_INFINITY;

  let tokens = 1;
  let filledAtMs = startMs;
  let pausedUntilMs = startMs;
  let lastTakeMs = startMs;
  /** A request had to wait for a token since the last one left: the level is what holds it back. */
  let isAwaited = false;
  let refusalsInRow = 0;

  /** The level that was borne before the last refusals. */
  let borne = 0;
  /** Since the last refusal, or the end of an outage. */
  let cleanSinceMs = startMs;
  let cleanRequests = 0;
  let cleanAfterMs = CLEAN_MS;

  const latency = { samples: 0, recent: 0, mean: 0, deviation: 0, cutAtMs: Number.NEGATIVE_INFINITY };

  const bucket = () => Math.max(1, level * BUCKET_SECONDS);

  function fill(nowMs: number): void {
    tokens = Math.min(bucket(), tokens + (Math.max(0, nowMs - filledAtMs) * level) / 1000);
    filledAtMs = Math.max(filledAtMs, nowMs);
  }

  function grow(saturatedMs: number): void {
    if (phase === 'rising') {
      level *= 2 ** (saturatedMs / DOUBLING_MS);
      const top = target < ceiling ? target * CUT.late : ceiling;
      if (level >= top) hold(top, Math.min(target, ceiling));
    } else {
      sinceCutMs += saturatedMs;
      const cubic = target + depth * ((sinceCutMs - plateauMs) / plateauMs) ** 3;
      level = Math.min(ceiling, Math.max(level, cubic));
    }
  }

  /** Begins a new cubic, from `from` up to `to`. */
  function hold(from: number, to: number): void {
    phase = 'holding';
    level = from;
    target = to;
    depth = Math.max(to - from, to * LEAST_DEPTH);
    sinceCutMs = 0;
  }

  function cut(factor: number, least: number, aim: number): void {
    const before = level;
    const after = Math.min(before, Math.max(least, before * factor));
    hold(after, Math.max(after, before * aim));
  }

  function isClean(nowMs: number): boolean {
    return cleanRequests >= CLEAN_REQUESTS && nowMs - cleanSinceMs >= cleanAfterMs;
  }

  /** What the level was before trouble, such as it is trusted. */
  function rememberBorne(nowMs: number): void {
    if (isClean(nowMs)) borne = level < borne ? Math.max(level, borne * TRUSTED_AGAIN) : level;
  }

  function beginClean(nowMs: number, pauseMs: number): void {
    cleanSinceMs = nowMs;
    cleanRequests = 0;
    cleanAfterMs = Math.max(CLEAN_MS, CLEAN_PER_PAUSE * pauseMs);
  }

  return {
    level: () => level,
    waitMs(nowMs) {
      fill(nowMs);
      const pauseMs = pausedUntilMs - nowMs;
      const tokenMs = ((1 - tokens) * 1000) / level;
      const waitMs = Math.max(0, pauseMs, tokenMs);
      // Less than a microsecond is what rounding left over.
      if (waitMs < 0.001) return 0;
      // Also in a pause, which leaves no token.
      isAwaited = true;
      return waitMs;
    },
    hasRoom(nowMs) {
      fill(nowMs);
      return nowMs >= pausedUntilMs && tokens >= Math.max(1, bucket() / 2);
    },
    pausedMs: (nowMs) => Math.max(0, pausedUntilMs - nowMs),
    take(nowMs) {
      fill(nowMs);
      tokens = Math.max(0, tokens - 1);
      // Who waited may have gone away since: what is counted is at most the time of two tokens.
      if (isAwaited) grow(Math.min(Math.max(0, nowMs - lastTakeMs), 2000 / level));
      isAwaited = false;
      lastTakeMs = nowMs;
    },
    answered(latencyMs, nowMs) {
      refusalsInRow = 0;
      cleanRequests += 1;
      if (phase === 'holding' && isClean(nowMs) && borne * BELOW_REFUSED > target) {
        hold(level, borne * BELOW_REFUSED);
        plateauMs = RETURN_MS;
      }
      latency.samples += 1;
      latency.recent += (latencyMs - latency.recent) * Math.max(1 / 4, 1 / latency.samples);
      const bandMs = latency.mean + 4 * latency.deviation + LATENCY_FLOOR_MS;
      const gain = Math.max(1 / 64, 1 / latency.samples);
      latency.deviation += (Math.abs(latencyMs - latency.mean) - latency.deviation) * gain;
      latency.mean += (latencyMs - latency.mean) * gain;
      const isOut = latency.samples > LATENCY_SAMPLES && latency.recent > bandMs;
      if (isOut && nowMs - latency.cutAtMs >= LATENCY_CUT_EVERY_MS && level > LEAST_LEVEL_FOR_LATENCY) {
        latency.cutAtMs = nowMs;
        beginClean(nowMs, 0);
        cut(CUT.latency, LEAST_LEVEL_FOR_LATENCY, 1);
      }
    },
    refused(sentAtMs, retryAfterMs, nowMs) {
      const isNews = sentAtMs > cutAtMs;
      if (isNews) rememberBorne(nowMs);
      beginClean(nowMs, retryAfterMs ?? 0);
      if (isNews) refusalsInRow += 1;
      const ownMs = Math.min(LONGEST_OWN_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (refusalsInRow - 1));
      const pauseMs = Math.max(ownMs, retryAfterMs ?? 0) * (1 + random() / 10);
      pausedUntilMs = Math.max(pausedUntilMs, nowMs + pauseMs);
      // The pause fills no bucket.
      tokens = 0;
      filledAtMs = Math.max(filledAtMs, pausedUntilMs);
      if (!isNews) return false;
      cutAtMs = nowMs;
      if (refusalsInRow <= CUTS_IN_ROW) {
        plateauMs = Math.max(PLATEAU_MS, PLATEAU_PER_PAUSE * pauseMs, (PLATEAU_REQUESTS * 1000) / level);
        if (phase === 'rising') cut(CUT.rising, LEAST_LEVEL, (1 + CUT.rising) / 2);
        else cut(sinceCutMs < SOON_MS ? CUT.soon : CUT.late, LEAST_LEVEL, BELOW_REFUSED);
      }
      return true;
    },
    restart(nowMs) {
      if (level > borne) rememberBorne(nowMs);
      beginClean(nowMs, 0);
      if (phase === 'holding') target = Math.max(target, level);
      phase = 'rising';
      level = Math.min(GENTLE_LEVEL, level);
    },
  };
}
