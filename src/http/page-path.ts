/**
 * Paths of the pages about single things, relative to where nestwatch is served. They have no leading slash, so that
 * both a page beside them and `web.external_url` can be prefixed.
 */

export const alertPath = (id: string) => `alerts/${pathOf(id)}`;
export const eventPath = (key: string) => `events/${pathOf(key)}`;
export const deliveryPath = (id: string) => `deliveries/${pathOf(id)}`;
export const birdPath = (region: string, birdId: string) => `birds/${segment(region)}/${segment(birdId)}`;
export const nestPath = (region: string, nestId: string) => `nests/${segment(region)}/${segment(nestId)}`;
export const flightPath = (region: string, flightId: string) =>
  `flights/${segment(region)}/${segment(flightId)}`;
/** The page that asks whether to start a Bird again. `flight` failed; empty if none is meant. */
export const flyPath = (region: string, bird: string, flight: string) =>
  `fly?${new URLSearchParams({ region, bird, ...(flight && { flight }) })}`;
export const publicPath = (region: string, nestId: string) => `public/${segment(region)}/${segment(nestId)}`;

/**
 * Keeps the slashes of an id, so that addresses stay readable and survive a proxy that decodes `%2F`. If a part would
 * vanish from an address (empty, `.` or `..`), the slashes are encoded as well.
 */
function pathOf(id: string): string {
  if (PLAIN.test(id)) return id;
  const parts = id.split('/');
  return parts.some((part) => /^\.{0,2}$/.test(part)) ? segment(id) : parts.map(segment).join('/');
}

/** What needs no encoding, as most ids: finding that out takes a tenth of the time. */
const PLAIN = /^[\w-]+(?:\/[\w-]+)*$/;

/** The inverse of `pathOf`, for a request's path; undefined if its percent-encoding is invalid. */
export function idOfPath(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

function segment(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}
