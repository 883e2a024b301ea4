/** Instants in the zone of whoever reads them. */

/** Each is made once: that takes a hundred times as long as using it. */
const FORMATS = new Map<string, Intl.DateTimeFormat>();

/** Names of zones are some 600; who sends others gets no place here. */
const MAX_FORMATS = 2_000;

const MAX_ZONE_LENGTH = 64;

/** Whether there is a time zone of this name, such as `Europe/Amsterdam`. */
export function isZone(name: string): boolean {
  if (name.length > MAX_ZONE_LENGTH || !/^[A-Za-z][A-Za-z0-9_+/-]*$/.test(name)) return false;
  try {
    return formatOf('en-GB', name) !== undefined;
  } catch {
    return false;
  }
}

/** `02.07.2026, 15:59:34 MESZ`, as `locale` writes it; `zone` must be one. */
export function zoneTime(us: number, locale: string, zone: string): string {
  return formatOf(locale, zone).format(us / 1000);
}

/** `2026-07-02 15:59:34 CEST`: of one width, for tables. */
export function exactZoneTime(us: number, zone: string): string {
  const parts = formatOf('en-GB', zone).formatToParts(us / 1000);
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.find((one) => one.type === type)?.value ?? '';
  const day = `${part('year')}-${part('month')}-${part('day')}`;
  return `${day} ${part('hour')}:${part('minute')}:${part('second')} ${part('timeZoneName')}`;
}

function formatOf(locale: string, zone: string): Intl.DateTimeFormat {
  const key = `${locale} ${zone}`;
  const known = FORMATS.get(key);
  if (known) return known;
  const twoDigits = { month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' } as const;
  const format = new Intl.DateTimeFormat(locale, {
    ...{ timeZone: zone, year: 'numeric', ...twoDigits, second: '2-digit' },
    ...{ hourCycle: 'h23', timeZoneName: 'short' },
  });
  if (FORMATS.size >= MAX_FORMATS) FORMATS.clear();
  FORMATS.set(key, format);
  return format;
}
