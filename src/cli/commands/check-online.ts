/** Tests what a configuration names, and finds out what nestwatch would watch, before it does. */
import { numberedKind } from '../../channels/integration-identity.ts';
import { channelOf } from '../../channels/registry.ts';
import type { Config } from '../../config/config.ts';
import type { PollConfig } from '../../config/sections/poll-section.ts';
import type { RegionConfig } from '../../config/sections/regions-section.ts';
import type { Place } from '../../domain/alert/fact.ts';
import { placeLabels } from '../../domain/alert/labels.ts';
import type { Rule } from '../../domain/alert/rule.ts';
import { rulesFor } from '../../domain/evaluate/choose-rule.ts';
import { KINDS } from '../../domain/kinds/kinds.ts';
import { ERRORS, type ErrorCode, NestwatchError } from '../../errors.ts';
import { inNetworkWords } from '../../http/network-error.ts';
import { NestSelection } from '../../intake/inventory/inventory-reading.ts';
import type { Edge } from '../../process-io.ts';
import { secretsIn, withoutSecrets } from '../../secret.ts';
import type { ServiceClient } from '../../service/client.ts';
import { durationWords, howMany } from '../../text/instant-words.ts';
import { plainText } from '../../text/plain-text.ts';
import { withClient } from '../with-client.ts';

export interface OnlineResult {
  readonly what: string;
  /** Absent if it is no receiver. */
  readonly receiver?: string;
  /** Undefined if it works. */
  readonly failure?: string;
  /** What to do about the failure; absent if the failure says it. */
  readonly advice?: string;
  /** What was found; absent for nothing. */
  readonly note?: string;
  /** What works but is probably not meant. */
  readonly warning?: string;
}

/** A rule that somebody wrote for some Birds hardly means more. */
const MANY_BIRDS = 50;

const MAX_REASON_CODE_POINTS = 300;

/**
 * Tests each token, mail server and other receiver's address once, and reports it for everything that uses it. For a
 * region it also reports what would be watched. Sends nothing.
 */
export async function* checkOnline(edge: Edge, config: Config): AsyncGenerator<OnlineResult> {
  const nests: Place[] = [];
  const birds: Place[] = [];
  let isWhole = true;
  for (const region of config.regions) {
    const listener = {
      nest: (place: Pick<Place, 'nestId' | 'nest'>) =>
        nests.push({ ...place, region: region.name, birdId: '', bird: '' }),
      bird: (place: Omit<Place, 'region'>) => birds.push({ ...place, region: region.name }),
      left: () => {
        isWhole = false;
      },
    };
    const inspect = () =>
      withClient(edge, region, (client) => inspectRegion(client, region, config.poll, listener));
    const tried = await outcome(inspect, region, (error) => adviceOnLists(error, region));
    if (tried.failure !== undefined) isWhole = false;
    yield { what: `regions.${region.name}`, ...tried };
  }
  yield* fitsOf(config.rules, { Nest: nests, Bird: birds }, isWhole);
  const outcomes = new Map<string, Promise<Tried>>();
  const listed = new Set<string>();
  for (const { name, integrations } of config.receivers) {
    for (const integration of integrations) {
      const probe = channelOf(integration).probe(integration);
      const what = `receiver ${name}, ${probe.server ?? numberedKind(integrations, integration)}`;
      const tried = outcomes.get(probe.key) ?? outcome(() => probe.run().then(() => ({})), integration);
      outcomes.set(probe.key, tried);
      // Several addresses of one receiver usually use the same mail server.
      const line = `${what} ${probe.key}`;
      if (listed.has(line)) continue;
      listed.add(line);
      yield { what, receiver: name, ...(await tried) };
    }
  }
}

/** How many Birds or Nests each rule fits that was written for some of them, of those that were listed. */
function* fitsOf(
  rules: readonly Rule[],
  places: Readonly<Record<'Nest' | 'Bird', readonly Place[]>>,
  isWhole: boolean,
): Generator<OnlineResult> {
  for (const kind of KINDS) {
    const isOfEach = kind.judges?.of === 'bird';
    if (!kind.isOnRequest || !(isOfEach || kind.judgeRegion)) continue;
    const what = kind.labels.includes('bird') ? 'Bird' : 'Nest';
    for (const rule of rules.filter((one) => one.kind === kind.name)) {
      const count = places[what].filter(
        (place) => rulesFor(kind, placeLabels(place), [rule]).length > 0,
      ).length;
      const fits = `fits ${howMany(count, what)}`;
      const isLost = count === 0 && isWhole;
      yield {
        what: `rule ${rule.id}, ${kind.name}`,
        note: isWhole ? fits : `${fits} of those that were listed`,
        ...(isLost && { warning: `it fits no ${what}: check its \`match\`` }),
        ...(isOfEach &&
          count > MANY_BIRDS && { warning: `it ${fits}, each of which makes an alert of its own` }),
      };
    }
  }
}

export const CHECK_RECEIVER = 'Check its address and credentials.';

type Tried = Omit<OnlineResult, 'what' | 'receiver'>;

async function outcome(
  check: () => Promise<Omit<Tried, 'failure'>>,
  tried: object,
  advice = ({ code }: NestwatchError): string => ERRORS[code].help,
): Promise<Tried> {
  try {
    return await check();
  } catch (error) {
    if (error instanceof NestwatchError) return { failure: error.message, advice: advice(error) };
    return { failure: reasonOf(error, tried) };
  }
}

/** What failed and what to do, in one text; undefined if it works. */
export function failureText({
  failure,
  advice,
}: Pick<OnlineResult, 'failure' | 'advice'>): string | undefined {
  return failure !== undefined && advice !== undefined ? `${failure}. ${advice}` : failure;
}

/**
 * The error text of a mail server or TLS, without the secrets within what was tried. Addresses in it are those of the
 * configuration.
 */
export function reasonOf(error: unknown, tried: object): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0], tried);
  const text = error instanceof Error ? error.message : String(error);
  return plainText(withoutSecrets(inNetworkWords(text), secretsIn(tried)), MAX_REASON_CODE_POINTS);
}

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

export function whyNone(listed: number, include: readonly string[]): string {
  if (listed === 0) return 'it lists no Nest: is this the token of an organisation admin?';
  const globs = plainText(include.map((glob) => JSON.stringify(glob)).join(', '), MAX_GLOBS_LENGTH);
  return `of its ${howMany(listed, 'Nest')} none matches nests.include (${globs}) without being excluded: nothing is watched`;
}

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
