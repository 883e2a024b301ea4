/**
 * Where the pages about single things lie, seen from where nestwatch is served: without a slash at the beginning, so that
 * both a page beside them and `web.external_url` can stand before it.
 */

export const alertPath = (id: string) => `alerts/${pathOf(id)}`;
export const eventPath = (key: string) => `events/${pathOf(key)}`;
export const deliveryPath = (id: string) => `deliveries/${pathOf(id)}`;
export const birdPath = (region: string, birdId: string) => `birds/${segment(region)}/${segment(birdId)}`;
export const flightPath = (region: string, flightId: string) =>
  `flights/${segment(region)}/${segment(flightId)}`;
export const publicPath = (region: string, nestId: string) => `public/${segment(region)}/${segment(nestId)}`;

/**
 * An id whose own slashes stay, so that an address can be read and a proxy that decodes `%2F` breaks nothing. Where a
 * part would vanish from an address (empty, `.` or `..`), they are encoded.
 */
function pathOf(id: string): string {
  const parts = id.split('/');
  return parts.some((part) => /^\.{0,2}$/.test(part)) ? segment(id) : parts.map(segment).join('/');
}

/** What `pathOf` was made from, out of the path of a request; undefined for one that is not encoded as an address is. */
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
