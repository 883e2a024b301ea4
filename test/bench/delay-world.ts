/** A world for polling policies: streams in which entries arrive at random. */
import { exponentialMs, forked, seededRandom } from '../../src/simulator/world/seeded-random.ts';
import type { Random } from '../../src/time/clock.ts';

/**
 * How entries arrive. `equal`: the same for all Birds. `skewed`: by Zipf's law with exponent 1.1. The others are also
 * skewed: `bursty` in bursts of 10 minutes, `waking` from Birds most of which sleep for a day or more at a time,
 * `weekday` in the office hours of three places, from a Monday at 8:55 on.
 */
export const SHAPES = ['equal', 'skewed', 'bursty', 'waking', 'weekday'] as const;
export type Shape = (typeof SHAPES)[number];

export interface DelayWorld {
  readonly feeds: readonly string[];
  /** Average entries per hour of each stream. */
  readonly perHour: readonly number[];
  /** Entries per hour of each stream at that moment; call it in the order of time. */
  presentPerHour(nowMs: number): number[];
  /** The number of entries in a stream since the last call; reports the instant of each. */
  collect(stream: number, nowMs: number, tell: (atMs: number) => void): number;
}

export interface DelayWorldOptions {
  readonly shape: Shape;
  readonly birds: number;
  /** One feed, or two, with the rate of each as a factor. */
  readonly feeds?: Readonly<Record<string, number>>;
  /** Average Flights of a Bird. */
  readonly meanPerHour: number;
  readonly seed?: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const ZIPF = 1.1;

/** The greatest age of what a first reading finds. */
export const HISTORY_MS = HOUR_MS;

/** A time in which a stream's rate is constant, as a factor of its average. */
interface Phase {
  readonly factor: number;
  readonly untilMs: number;
}

type Phases = (random: Random, stream: number) => (fromMs: number) => Phase;

/** Times with entries and times without, of these average lengths. */
function inTurns(onMs: number, offMs: number): Phases {
  return (random) => {
    let isOn = random() >= onMs / (onMs + offMs);
    return (fromMs) => {
      isOn = !isOn;
      return {
        factor: isOn ? (onMs + offMs) / onMs : 0,
        untilMs: fromMs + exponentialMs(random, isOn ? onMs : offMs),
      };
    };
  };
}

const OFFICE = { fromMs: 9 * HOUR_MS, toMs: 17 * HOUR_MS, shareOutside: 0.05 };
const ZONES_MS = [0, HOUR_MS, 6 * HOUR_MS];

/** The first hour has five minutes less, so that a first reading just before 9 sees the night. */
const inOfficeHours: Phases = (_, stream) => (fromMs) => {
  const localMs = fromMs + 9 * HOUR_MS - 5 * MINUTE_MS - ZONES_MS[stream % ZONES_MS.length]! + 7 * DAY_MS;
  const day = Math.floor(localMs / DAY_MS) % 7;
  const ofDayMs = localMs % DAY_MS;
  const week = (7 * 24) / (5 * 8);
  const outside = { factor: OFFICE.shareOutside * week };
  if (day >= 5) return { ...outside, untilMs: fromMs + DAY_MS - ofDayMs };
  if (ofDayMs < OFFICE.fromMs) return { ...outside, untilMs: fromMs + OFFICE.fromMs - ofDayMs };
  if (ofDayMs >= OFFICE.toMs) return { ...outside, untilMs: fromMs + DAY_MS - ofDayMs };
  return { factor: week * (1 - OFFICE.shareOutside), untilMs: fromMs + OFFICE.toMs - ofDayMs };
};

const always: Phases = () => () => ({ factor: 1, untilMs: Number.POSITIVE_INFINITY });

const PHASES: Readonly<Record<Shape, Phases>> = {
  equal: always,
  skewed: always,
  bursty: inTurns(10 * MINUTE_MS, 110 * MINUTE_MS),
  waking: inTurns(2 * HOUR_MS, 30 * HOUR_MS),
  weekday: inOfficeHours,
};

export function createDelayWorld({
  shape,
  birds,
  feeds = { flight: 1 },
  meanPerHour,
  seed = 1,
}: DelayWorldOptions): DelayWorld {
  const random = seededRandom(seed);
  const weights = Array.from({ length: birds }, (_, rank) => (shape === 'equal' ? 1 : (rank + 1) ** -ZIPF));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const streams = Object.entries(feeds).flatMap(([feed, part]) =>
    weights.map((weight) => ({ feed, perHour: (weight / total) * birds * meanPerHour * part })),
  );
  const lives = streams.map(({ perHour }, stream) =>
    createLife(perHour, PHASES[shape], stream, seededRandom(Math.floor(random() * 2 ** 31))),
  );
  return {
    feeds: streams.map(({ feed }) => feed),
    perHour: streams.map(({ perHour }) => perHour),
    presentPerHour: (nowMs) => lives.map((life) => life.presentPerHour(nowMs)),
    collect: (stream, nowMs, tell) => lives[stream]!.collect(nowMs, tell),
  };
}

/** The entries of one stream. */
function createLife(perHour: number, phasesOf: Phases, stream: number, random: Random) {
  const next = phasesOf(forked(random), stream);
  const phases: Phase[] = [next(-HISTORY_MS)];
  const phaseAt = (place: number): Phase => {
    while (place >= phases.length) phases.push(next(phases.at(-1)!.untilMs));
    return phases[place]!;
  };
  let [place, seenPlace] = [0, 0];
  let nextMs = after(-HISTORY_MS);

  /** The first entry after that instant. */
  function after(fromMs: number): number {
    let atMs = fromMs;
    for (;;) {
      const { factor, untilMs } = phaseAt(place);
      atMs += factor > 0 ? exponentialMs(random, HOUR_MS / (perHour * factor)) : Number.POSITIVE_INFINITY;
      if (atMs <= untilMs) return atMs;
      atMs = untilMs;
      place += 1;
    }
  }

  return {
    presentPerHour(nowMs: number): number {
      while (phaseAt(seenPlace).untilMs <= nowMs) seenPlace += 1;
      return perHour * phaseAt(seenPlace).factor;
    },
    collect(nowMs: number, tell: (atMs: number) => void): number {
      let count = 0;
      for (; nextMs <= nowMs; nextMs = after(nextMs)) {
        tell(nextMs);
        count += 1;
      }
      return count;
    },
  };
}
