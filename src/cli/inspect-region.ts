/** Finds out what nestwatch would watch in a region, and how often it could read that, before it is watched. */
import type { PollConfig } from '../config/sections/poll-section.ts';
import type { RegionConfig } from '../config/sections/regions-section.ts';
import type { Place } from '../domain/alert/fact.ts';
import { ERRORS, type ErrorCode, type NestwatchError } from '../errors.ts';
import { NestSelection } from '../intake/inventory/inventory-reading.ts';
import type { ServiceClient } from '../service/client.ts';
import { durationWords, howMany } from '../text/duration-words.ts';
import { plainText } from '../text/plain-text.ts';

interface Inspected {
  /** What is watched, and how often it is read. */
  readonly note: string;
  /** What is probably not meant; absent for nothing. */
  readonly warning?: string;
}

/** The Birds of further Nests are extrapolated from these. */
const COUNTED_NESTS = 50;

const MAX_GLOBS_LENGTH = 200;

/** What is told of all watched Nests, and of each Bird that is listed. */
interface Listener {
  nest(place: Pick<Place, 'nestId' | 'nest'>): void;
  bird(place: Omit<Place, 'region'>): void;
  /** Not all Birds were listed. */
  left(): void;
}

/** Throws what the service threw. */
export async function inspectRegion(
  client: Pick<ServiceClient, 'searchNests' | 'searchBirds'>,
  { nests, requestsPerSecond }: Pick<RegionConfig, 'nests' | 'requestsPerSecond'>,
  poll: Pick<PollConfig, 'intervalMs' | 'maxIntervalMs'>,
  listener?: Listener,
): Promise<Inspected> {
  const listed = (await client.searchNests()).value.flatMap((one) => (one.ok ? [one.entry] : []));
  const watched = new NestSelection(nests).select(listed);
  if (watched.length === 0)
    return { note: 'no Nest is watched', warning: whyNone(listed.length, nests.include) };
  for (const { id: nestId, name: nest } of watched) listener?.nest({ nestId, nest });
  const counted = watched.slice(0, COUNTED_NESTS);
  let birds = 0;
  for (const { id: nestId, name: nest } of counted) {
    const listed = (await client.searchBirds(nestId)).value;
    birds += listed.length;
    for (const one of listed) {
      if (one.ok) listener?.bird({ nestId, nest, birdId: one.entry.id, bird: one.entry.name });
    }
  }
  const isEstimated = counted.length < watched.length;
  if (isEstimated) listener?.left();
  const all = Math.round((birds * watched.length) / counted.length);
  const size = `${isEstimated ? 'about ' : ''}${howMany(all, 'Bird')} in ${howMany(watched.length, 'Nest')}`;
  if (all === 0) return { note: size, warning: 'its Nests have no Birds: nothing is watched' };
  const everyMs = Math.max(poll.intervalMs, readEveryMs(all, requestsPerSecond));
  const often = `each is read about every ${durationWords(everyMs, 'one unit')}`;
  if (everyMs <= poll.maxIntervalMs) return { note: `${size}, ${often}` };
  const wanted = Math.ceil(readEveryMs(all, 1) / poll.maxIntervalMs);
  return {
    note: size,
    warning: `${often} at ${howMany(requestsPerSecond, 'request')} a second, and poll.max_interval asks for ${durationWords(poll.maxIntervalMs, 'exact')}: watch fewer Nests, raise it, or allow ${howMany(wanted, 'request')} a second if the service takes them`,
  };
}

/** Errors of something that is not the service: a wrong path, or a gateway that does not know it. */
const OF_THE_ADDRESS: ReadonlySet<ErrorCode> = new Set([
  'not_found',
  'bad_request',
  'unexpected_shape',
  'not_json',
  'redirected',
]);

/** What to do if a region's Nests or their Birds cannot be listed. */
export function adviceOnLists(
  { code }: NestwatchError,
  { name, baseUrl }: Pick<RegionConfig, 'name' | 'baseUrl'>,
): string {
  if (!OF_THE_ADDRESS.has(code)) return ERRORS[code].help;
  return `Check regions.${name}.base_url: GET ${baseUrl}/nests must answer with the list of all Nests, and GET ${baseUrl}/nests/ID/birds with the Birds of one.`;
}

function whyNone(listed: number, include: readonly string[]): string {
  if (listed === 0) return 'it lists no Nest: is this the token of an organisation admin?';
  const globs = plainText(include.map((glob) => JSON.stringify(glob)).join(', '), MAX_GLOBS_LENGTH);
  return `of its ${howMany(listed, 'Nest')} none matches nests.include (${globs}) without being excluded: nothing is watched`;
}

/** Computes how often a region's Birds can be read at the request rate that its service accepts. */

/**
 * Requests per reading of a Bird, for its log and its Flights: 2.17 were measured with real processes, most of them
 * single pages.
 */
const REQUESTS_PER_LOOK = 2.2;

/** The share of requests that the inventory, notifications and audits leave for Birds. */
const LEFT_FOR_BIRDS = 0.8;

/** The interval between two readings of each of that many Birds, if all requests left for them are used. */
export function readEveryMs(birds: number, requestsPerSecond: number): number {
  return (birds * REQUESTS_PER_LOOK * 1000) / (requestsPerSecond * LEFT_FOR_BIRDS);
}
