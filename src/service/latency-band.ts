/** The answers needed before the band means anything, and a margin above its deviations. */
const LATENCY_SAMPLES = 20;
const LATENCY_FLOOR_MS = 100;

/**
 * Learns the band in which the latency of a region's answers usually lies: RFC 6298's estimator, with more patience.
 */
export class LatencyBand {
  #samples = 0;
  /** A moving average over the last few answers. */
  #recentMs = 0;
  #meanMs = 0;
  #deviationMs = 0;

  /** Adds the latency of an answer. Returns whether the last few answers together are slower than the band. */
  isLeftBy(latencyMs: number): boolean {
    this.#samples += 1;
    this.#recentMs += (latencyMs - this.#recentMs) * Math.max(1 / 4, 1 / this.#samples);
    const bandMs = this.#meanMs + 4 * this.#deviationMs + LATENCY_FLOOR_MS;
    const gain = Math.max(1 / 64, 1 / this.#samples);
    this.#deviationMs += (Math.abs(latencyMs - this.#meanMs) - this.#deviationMs) * gain;
    this.#meanMs += (latencyMs - this.#meanMs) * gain;
    return this.#samples > LATENCY_SAMPLES && this.#recentMs > bandMs;
  }
}
