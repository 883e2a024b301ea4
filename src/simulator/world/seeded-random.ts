/** Reproducible chance: the same seed gives the same numbers on every machine. */
import type { Random } from '../../time/clock.ts';

/** A 32-bit mulberry generator: good enough for a simulation, never for a secret. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A 32-bit number that depends on every character (FNV-1a with a final mix). */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** A number in [0, 1) that depends on the text alone, not on the order of calls. */
export function chanceOf(text: string): number {
  return hashOf(text) / 2 ** 32;
}

/** A new generator seeded from `random`, so that two consumers of chance do not affect each other. */
export function forked(random: Random): Random {
  return seededRandom(Math.floor(random() * 2 ** 32));
}

export function pick<T>(random: Random, items: readonly T[]): T {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new RangeError('nothing to pick from');
  return item;
}

/** Time until the next of independent events that come every `meanMs` on average. */
export function exponentialMs(random: Random, meanMs: number): number {
  return -Math.log(1 - random()) * meanMs;
}
