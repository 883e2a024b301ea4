/** Writes instants in the reader's time zone. */
import { createZoneFormats } from '../time/zone-format.ts';

const MAX_ZONE_LENGTH = 64;

const twoDigits = { month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' } as const;
const formatOf = createZoneFormats('en-GB', {
  ...{ year: 'numeric', ...twoDigits, second: '2-digit' },
  ...{ hourCycle: 'h23', timeZoneName: 'short' },
});

/** Whether there is a time zone of this name, such as `Europe/Amsterdam`. */
export function isZone(name: string): boolean {
  if (name.length > MAX_ZONE_LENGTH || !/^[A-Za-z][A-Za-z0-9_+/-]*$/.test(name)) return false;
  try {
    return formatOf(name) !== undefined;
  } catch {
    return false;
  }
}

/** `2026-07-02 15:59:34 CEST`: of constant width, for tables. `zone` must be valid. */
export function exactZoneTime(us: number, zone: string): string {
  const parts = formatOf(zone).formatToParts(us / 1000);
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.find((one) => one.type === type)?.value ?? '';
  const day = `${part('year')}-${part('month')}-${part('day')}`;
  return `${day} ${part('hour')}:${part('minute')}:${part('second')} ${part('timeZoneName')}`;
}
