/**
 * Reads and writes durations in Prometheus' format: units from largest to smallest, each at most once: `1h30m`,
 * `500ms`.
 */
const UNITS = [
  ['y', 365 * 86_400_000],
  ['w', 7 * 86_400_000],
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
] as const;

export const DURATION = new RegExp(`^(?=.)${UNITS.map(([unit]) => `(?:(\\d+)${unit})?`).join('')}$|^0$`);

/** Adding a longer duration to an instant would exceed the exact microseconds of a double. */
export const LONGEST_MS = 100 * 365 * 86_400_000;

/** Milliseconds; undefined for anything that is not a duration. */
export function parseDuration(text: string): number | undefined {
  const match = DURATION.exec(text);
  if (!match) return undefined;
  return UNITS.reduce((sum, [, ms], index) => sum + Number(match[index + 1] ?? 0) * ms, 0);
}

/** A short text that `parseDuration` reads back as `ms`, which must be whole milliseconds from 0. */
export function formatDuration(ms: number): string {
  let rest = ms;
  let text = '';
  for (const [unit, size] of UNITS) {
    // Weeks and years are exact but unusual: `26h` and `30d` stay in hours and days.
    if (unit === 'y' || unit === 'w' || rest < size || (unit === 'd' && rest % size !== 0)) continue;
    text += `${Math.floor(rest / size)}${unit}`;
    rest %= size;
  }
  return text || '0';
}
