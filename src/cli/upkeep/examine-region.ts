/** Examines what a region's service allows and how it behaves, compared with what nestwatch assumes. Writes nothing. */
import type { Integration } from '../../channels/receiver.ts';
import { channelOf } from '../../channels/registry.ts';
import type { PollConfig } from '../../config/sections/poll-section.ts';
import type { RegionConfig } from '../../config/sections/regions-section.ts';
import { activeMembers, leftOutWords } from '../../domain/grouping/member-recipients.ts';
import { ERRORS, type ErrorCode, NestwatchError } from '../../errors.ts';
import { NestSelection } from '../../intake/inventory/inventory-reading.ts';
import type { Edge } from '../../process-io.ts';
import type { ServiceClient } from '../../service/client.ts';
import type { Bird, Nest } from '../../service/resources.ts';
import { durationWords, howMany } from '../../text/instant-words.ts';
import type { Clock } from '../../time/clock.ts';
import { adviceOnLists, reasonOf, whyNone } from '../commands/check-online.ts';
import { openClient } from '../with-client.ts';
import { bad, type Finding, fine, note, unknown } from './examine-finding.ts';
import { examineFlightLogs, examineFlights } from './examine-flights.ts';
import { type AskPage, examineDelay, examineLog, type NamedStream, readable } from './examine-log.ts';

interface ExamineOptions {
  readonly region: RegionConfig;
  readonly poll: PollConfig;
  /** How long to wait for entries that become visible late. */
  readonly watchMs: number;
  /** What mails the members of Nests, each with the name of its receiver. */
  readonly mailing?: readonly MemberMailing[];
}

interface MemberMailing {
  readonly name: string;
  readonly integration: Integration;
}

/** How many Nests are tested for access, and how many Birds' logs are examined. */
const TRIED = 5;
/** How many Birds are asked for Flights in the air. */
const LISTED = 20;

/** More than the service's clock, shown in whole seconds, can be off by rounding. */
const NOTABLE_SKEW_US = 5_000_000;
const MOST_SKEW_US = 300_000_000;

export async function* examineRegion(edge: Edge, options: ExamineOptions): AsyncGenerator<Finding> {
  const { region } = options;
  let refused = 0;
  const { client, close } = openClient(edge, region, {
    // To find the limit at once, the rate starts at its ceiling.
    startPerSecond: region.requestsPerSecond,
    report(happening) {
      if (happening.what === 'request' && happening.failure === 'rate_limited') refused += 1;
    },
  });
  try {
    yield* examineService(client, edge.clock, options, () => refused);
  } finally {
    await close();
  }
}

/** The same with an existing client; `refused` returns how often the service demanded a slower rate. */
export async function* examineService(
  client: ServiceClient,
  clock: Clock,
  options: ExamineOptions,
  refused: () => number,
): AsyncGenerator<Finding> {
  const nests = await client.searchNests().catch((error: unknown) => failureOf(error));
  const answeredAtUs = clock.nowUs();
  if (nests instanceof NestwatchError) {
    yield unlisted(nests, options.region);
    return;
  }
  const listed = readable(nests.value);
  const watched = new NestSelection(options.region.nests).select(listed);
  const rights = await rightsOf(client, watched).catch((error: unknown) => failureOf(error));
  if (rights instanceof NestwatchError) {
    yield unlisted(rights, options.region);
    return;
  }
  yield watched.length === 0 ? noneWatched(listed.length, options.region) : rights.finding;
  yield skewOf(nests.serverTimeUs, answeredAtUs);
  yield* examineMembers(watched, options);
  const streams = await countedStreams(client, rights.birds);
  for (const { about, name, failure } of streams) {
    if (!failure) continue;
    const found = about === 'bird_log' ? `${name}: ${failure.message}` : failure.message;
    yield bad(about, found, '', ERRORS[failure.code].help);
  }
  const busiest = streams
    .filter(({ failure }) => !failure)
    .toSorted((a, b) => b.entries - a.entries)
    .at(0);
  if (busiest) yield* guarded('paging', () => examineLog(busiest, options.poll));
  yield* guarded('flights', () => examineFlights(client, rights.birds.slice(0, TRIED)));
  yield* guarded('flight_logs', () => examineFlightLogs(client, rights.birds.slice(0, LISTED)));
  if (busiest) yield* guarded('visible_delay', () => examineDelay(busiest, clock, options));
  yield await examineRate(client, options.region, refused);
}

const OF_THE_TOKEN: ReadonlySet<ErrorCode> = new Set(['unauthorized', 'forbidden', 'secret_unreadable']);

/** The Nests or their Birds cannot be listed, so nothing else can be requested. */
function unlisted(error: NestwatchError, region: RegionConfig): Finding {
  const isOfToken = OF_THE_TOKEN.has(error.code);
  const assumed = isOfToken ? 'the token may read everything' : 'Nests and their Birds can be listed';
  return bad(isOfToken ? 'token' : 'inventory', error.message, assumed, adviceOnLists(error, region));
}

/** A failing probe is reported, and the others continue. */
async function* guarded(about: string, probe: () => AsyncGenerator<Finding>): AsyncGenerator<Finding> {
  try {
    yield* probe();
  } catch (error) {
    const failure = failureOf(error);
    yield bad(about, failure.message, '', ERRORS[failure.code].help);
  }
}

const TOKEN_ASSUMED = 'the token reads every Nest that is watched';

function noneWatched(listed: number, { name, nests }: RegionConfig): Finding {
  if (listed > 0) {
    return bad('token', whyNone(listed, nests.include), TOKEN_ASSUMED, `Correct regions.${name}.nests.`);
  }
  const advice = 'Use a token of an organisation admin, of the organisation that is to be watched.';
  return bad('token', 'it is accepted, but sees no Nest', TOKEN_ASSUMED, advice);
}

async function rightsOf(client: ServiceClient, nests: readonly Nest[]) {
  const birds: Bird[] = [];
  const closed: string[] = [];
  for (const nest of nests.slice(0, TRIED)) {
    try {
      birds.push(...readable((await client.searchBirds(nest.id)).value));
    } catch (error) {
      if (failureOf(error).code !== 'forbidden') throw error;
      closed.push(nest.id);
    }
  }
  const seen = `it reads ${howMany(nests.length, 'Nest')}; ${howMany(birds.length, 'Bird')} in the first ${Math.min(TRIED, nests.length)}`;
  if (closed.length === 0) return { birds, finding: fine('token', seen, TOKEN_ASSUMED) };
  const advice = 'Use a token of an organisation admin, or leave these out by nests.exclude.';
  return {
    birds,
    finding: bad('token', `${seen}; it may not read Nest ${closed.join(', ')}`, TOKEN_ASSUMED, advice),
  };
}

/** Names the members of watched Nests whom a receiver would not reach. */
async function* examineMembers(
  watched: readonly Nest[],
  { mailing = [] }: ExamineOptions,
): AsyncGenerator<Finding> {
  const members = activeMembers(watched.flatMap((one) => one.members));
  for (const { name, integration } of mailing) {
    const about = `members mailed by receiver ${name}`;
    const assumed = 'each active member of a Nest has one mail address';
    try {
      const leftOut = (await channelOf(integration).leftOut?.(integration, members)) ?? [];
      yield leftOut.length === 0
        ? fine(about, 'each of them can be mailed', assumed)
        : note(
            about,
            `these cannot be mailed: ${leftOutWords(leftOut)}`,
            assumed,
            'Correct the addresses in the service, or use a mail server that takes them.',
          );
    } catch (error) {
      yield unknown(about, `the mail server cannot be asked: ${reasonOf(error, integration)}`, assumed);
    }
  }
}

function skewOf(serverUs: number | null, ourUs: number): Finding {
  const assumed = 'instants are the service’s; its clock and this one may differ by 5 min';
  if (serverUs === null) return unknown('clock', 'the service shows no time', assumed);
  const aheadUs = serverUs - ourUs;
  const words = durationWords(Math.abs(aheadUs) / 1000, 'one unit');
  if (Math.abs(aheadUs) < NOTABLE_SKEW_US) return fine('clock', 'both clocks agree within seconds', assumed);
  const found = `the service's clock is ${words} ${aheadUs > 0 ? 'ahead of' : 'behind'} this one`;
  const advice = 'Synchronise the clock of this machine by NTP.';
  return Math.abs(aheadUs) < MOST_SKEW_US
    ? note('clock', found, assumed, advice)
    : bad('clock', found, assumed, advice);
}

interface Stream extends NamedStream {
  readonly about: 'notifications' | 'bird_log';
  readonly entries: number;
  /** Why it cannot be read. */
  readonly failure?: NestwatchError;
}

/** The notifications and the logs of a few Birds, with how many entries each has. */
async function countedStreams(client: ServiceClient, birds: readonly Bird[]): Promise<readonly Stream[]> {
  const streams: Pick<Stream, 'about' | 'name' | 'ask'>[] = [
    {
      about: 'notifications',
      name: 'notifications',
      ask: async (query) => (await client.getNotifications(query)).value,
    },
    ...birds.slice(0, TRIED).map(({ nestId, id }) => ({
      about: 'bird_log' as const,
      name: `log of Bird ${id}`,
      ask: async (query: Parameters<AskPage>[0]) => (await client.getBirdLogs(nestId, id, query)).value,
    })),
  ];
  return Promise.all(
    streams.map(async (stream) => {
      try {
        const { items, totalCount } = await stream.ask({ page: 0, pageSize: 10, ascending: false });
        return { ...stream, entries: Math.max(items.length, totalCount ?? 0) };
      } catch (error) {
        return { ...stream, entries: 0, failure: failureOf(error) };
      }
    }),
  );
}

/** Sends requests at the configured rate for some seconds. */
async function examineRate(
  client: ServiceClient,
  region: RegionConfig,
  refused: () => number,
): Promise<Finding> {
  const { requestsPerSecond } = region;
  const assumed = `up to ${requestsPerSecond} requests a second (requests_per_second), fewer once requests are refused`;
  const before = refused();
  const requests = Math.min(100, Math.max(10, Math.round(requestsPerSecond * 8)));
  const tries = Array.from({ length: requests }, () => client.searchNests().then(() => [], failureOf));
  const failures = (await Promise.all(tries)).flat();
  const times = refused() - before;
  if (times === 0) {
    const [first] = failures;
    if (!first) return fine('rate', `${howMany(requests, 'request')} in a row, none refused`, assumed);
    const found = `${failures.length} of ${howMany(requests, 'request')} in a row failed, first with: ${first.message}`;
    return note('rate', found, assumed, adviceOnLists(first, region));
  }
  const rate = Math.round(client.rate() * 10) / 10;
  const found = `${howMany(times, 'refusal')} (429) among ${howMany(requests, 'request')}; then ${rate} a second were accepted`;
  return note('rate', found, assumed, `Set requests_per_second: ${Math.max(0.1, rate)} if it goes on.`);
}

/** Throws unexpected errors. */
function failureOf(error: unknown): NestwatchError {
  if (error instanceof NestwatchError) return error;
  throw error;
}
