/** Durations and counts in words, for people. */
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const SECOND_MS = 1000;

const UNITS = [
  [DAY_MS, 'd'],
  [HOUR_MS, 'h'],
  [MINUTE_MS, 'min'],
  [SECOND_MS, 's'],
] as const;

type Unit = (typeof UNITS)[number][1];

/**
 * How precisely a duration is written:
 *
 * - `two units`: the two largest units, rounded down: `3 days 4 h`, `2 h 10 min`, `12 min`, `45 s`
 * - `one unit`: the largest unit of which there are at least two, rounded down: `3 days`, `47 h`, `119 s`
 * - `rounded`: for measured values: `26 h`, `1.5 h`, `42 min`
 * - `exact`: for configured values: `26 h`, `10 min`, `90 s`
 */
export type Precision = 'two units' | 'one unit' | 'rounded' | 'exact';

/** A duration for people; negative ones count as 0. */
export function durationWords(durationMs: number, precision: Precision): string {
  if (precision === 'two units') return twoUnits(Math.max(0, durationMs));
  const { count, unit } = durationParts(durationMs, precision);
  return precision === 'one unit' ? inUnit(count, unit) : `${count} ${unit}`;
}

function durationParts(
  durationMs: number,
  precision: Exclude<Precision, 'two units'>,
): { readonly count: number; readonly unit: Unit } {
  const ms = Math.max(0, durationMs);
  switch (precision) {
    case 'one unit': {
      const [size, unit] = largestUnit((unitMs) => ms >= 2 * unitMs);
      return { count: Math.floor(ms / size), unit };
    }
    case 'rounded': {
      const [size, unit] = largestUnit((unitMs) => ms >= (unitMs === DAY_MS ? 3 : 1) * unitMs);
      const count = ms / size;
      return { count: count < 10 && unit !== 's' ? Math.round(count * 10) / 10 : Math.round(count), unit };
    }
    case 'exact': {
      const [size, unit] = largestUnit((unitMs) => ms >= unitMs && ms % unitMs === 0);
      return { count: ms / size, unit };
    }
  }
}

/** Seconds appear only for durations under a minute. */
function twoUnits(ms: number): string {
  const [size, unit] = largestUnit((unitMs) => ms >= unitMs);
  const first = inUnit(Math.floor(ms / size), unit);
  const [restMs, restUnit] = unit === 'd' ? [HOUR_MS, 'h'] : [MINUTE_MS, 'min'];
  const rest = Math.floor((ms % size) / restMs);
  return rest > 0 ? `${first} ${rest} ${restUnit}` : first;
}

function largestUnit(fits: (unitMs: number) => boolean): (typeof UNITS)[number] {
  return UNITS.find(([unitMs]) => fits(unitMs)) ?? UNITS[3];
}

function inUnit(count: number, unit: string): string {
  return unit === 'd' ? howMany(count, 'day') : `${count} ${unit}`;
}

/** A count for people: `1 event`, `312 events`, `2 tries`. */
export function howMany(count: number, one: string, many: string = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
