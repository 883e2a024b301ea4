/** Examines what a region's service allows and how it behaves, compared with what nestwatch assumes. Writes nothing. */
import type { PollConfig } from '../../config/sections/poll-section.ts';
import type { RegionConfig } from '../../config/sections/regions-section.ts';
import { ERRORS, type ErrorCode, NestwatchError } from '../../errors.ts';
import { openTransport } from '../../http/transport.ts';
import { LIMITS } from '../../limits.ts';
import type { Edge } from '../../process-io.ts';
import { createServiceClient, type ServiceClient } from '../../service/client.ts';
import type { Bird, Nest, Parsed } from '../../service/resources.ts';
import { howMany } from '../../text/counts.ts';
import { durationWords } from '../../text/duration-words.ts';
import { type Clock, sleep } from '../../time/clock.ts';
import { adviceOnLists } from '../inspect-region.ts';
import {
  type AskPage,
  entriesOf,
  examineBounds,
  examineCounts,
  examinePageSize,
  shownPrecision,
} from './examine-stream.ts';

/** One result of the examination. */
export interface Finding {
  /** A word for programs, such as `token`. */
  readonly about: string;
  readonly state: 'good' | 'note' | 'bad' | 'unknown';
  readonly found: string;
  /** What nestwatch does or assumes. */
  readonly assumed: string;
  /** What a person should do; empty for nothing. */
  readonly advice: string;
}

interface ExamineOptions {
  readonly region: RegionConfig;
  readonly poll: PollConfig;
  /** How long to wait for entries that become visible late. */
  readonly watchMs: number;
}

/** How many Nests are tested for access, and how many Birds' logs are examined. */
const TRIED = 5;

/** The largest page size that is tested. */
const LARGEST_PAGE = 1_000;

/** More than the service's clock, shown in whole seconds, can be off by rounding. */
const NOTABLE_SKEW_US = 5_000_000;
const MOST_SKEW_US = 300_000_000;

/** How often new entries are looked for, and the page size used. Every service accepts pages of that size. */
const LOOK_MS = 1_000;
const LOOKED_AT = 10;

export async function* examineRegion(edge: Edge, options: ExamineOptions): AsyncGenerator<Finding> {
  const { region } = options;
  let refused = 0;
  const transport = openTransport({
    ...region,
    connections: region.concurrency,
    timeoutMs: region.timeoutMs,
    maxBodyBytes: LIMITS.answer_bytes.most,
  });
  const client = createServiceClient({
    region,
    transport,
    clock: edge.clock,
    random: edge.random,
    // To find the limit at once, the rate starts at its ceiling.
    startPerSecond: region.requestsPerSecond,
    report(happening) {
      if (happening.what === 'request' && happening.failure === 'rate_limited') refused += 1;
    },
  });
  try {
    yield* examineService(client, edge.clock, options, () => refused);
  } finally {
    await client.close();
    await transport.close();
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
  if (nests instanceof NestwatchError) {
    yield unlisted(nests, options.region);
    return;
  }
  const rights = await rightsOf(client, good(nests.value)).catch((error: unknown) => failureOf(error));
  if (rights instanceof NestwatchError) {
    yield unlisted(rights, options.region);
    return;
  }
  yield rights.finding;
  yield skewOf(nests.serverTimeUs, clock.nowUs());
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
  yield* guarded('flights', () => examineFlights(client, rights.birds));
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

async function rightsOf(client: ServiceClient, nests: readonly Nest[]) {
  const birds: Bird[] = [];
  const closed: string[] = [];
  for (const nest of nests.slice(0, TRIED)) {
    try {
      birds.push(...good((await client.searchBirds(nest.id)).value));
    } catch (error) {
      if (failureOf(error).code !== 'forbidden') throw error;
      closed.push(nest.id);
    }
  }
  const seen = `it reads ${howMany(nests.length, 'Nest')}; ${howMany(birds.length, 'Bird')} in the first ${Math.min(TRIED, nests.length)}`;
  const assumed = 'the token reads every Nest that is watched';
  if (nests.length === 0) {
    const advice = 'Use a token of an organisation admin, of the organisation that is to be watched.';
    return { birds, finding: bad('token', 'it is accepted and sees no Nest', assumed, advice) };
  }
  if (closed.length === 0) return { birds, finding: fine('token', seen, assumed) };
  const advice = 'Use a token of an organisation admin, or leave these out by nests.exclude.';
  return {
    birds,
    finding: bad('token', `${seen}; it may not read Nest ${closed.join(', ')}`, assumed, advice),
  };
}

function skewOf(serverUs: number | null, nowUs: number): Finding {
  const assumed = 'instants are the service’s; its clock and this one may differ by 5 min';
  if (serverUs === null) return unknown('clock', 'the service shows no time', assumed);
  const aheadUs = serverUs - nowUs;
  const words = durationWords(Math.abs(aheadUs) / 1000, 'one unit');
  if (Math.abs(aheadUs) < NOTABLE_SKEW_US) return fine('clock', 'both clocks agree within seconds', assumed);
  const found = `the service's clock is ${words} ${aheadUs > 0 ? 'ahead of' : 'behind'} this one`;
  const advice = 'Have this machine keep its clock by NTP.';
  return Math.abs(aheadUs) < MOST_SKEW_US
    ? note('clock', found, assumed, advice)
    : bad('clock', found, assumed, advice);
}

interface Stream {
  readonly about: 'notifications' | 'bird_log';
  readonly name: string;
  readonly ask: AskPage;
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

async function* examineLog({ ask, name }: Stream, poll: PollConfig): AsyncGenerator<Finding> {
  const sizes = await examinePageSize(ask, LARGEST_PAGE);
  const wanted = `poll.page_size is ${poll.pageSize}; a size that is refused is learned`;
  const beyond =
    sizes.beyond === 'none'
      ? `pages of ${sizes.largest} are given`
      : `pages of up to ${sizes.largest} are given, larger ones are ${sizes.beyond}`;
  yield sizes.largest >= poll.pageSize
    ? fine('page_size', beyond, wanted)
    : note('page_size', beyond, wanted, `Set poll.page_size: ${sizes.largest}.`);

  const pageSize = Math.min(poll.pageSize, sizes.largest);
  const entries = entriesOf(await ask({ page: 0, pageSize, ascending: false }));
  if (entries.length === 0) {
    yield unknown('bounds', 'no stream has an entry yet', 'bounds and precision may be any');
    return;
  }
  const precision = shownPrecision(entries);
  yield fine(
    'precision',
    `instants are shown to the ${precision} (${name})`,
    'they are kept as they are shown',
  );
  const bounds = await examineBounds(ask, pageSize, entries);
  const anyBounds = 'sweeps begin 1.1 s earlier, so that bounds and precision may be any';
  if (bounds === 'ignored') {
    yield bad(
      'bounds',
      `from and to filter nothing (${name})`,
      anyBounds,
      'Report it to the service: what is new cannot be asked for.',
    );
  } else if (bounds) {
    const both =
      bounds.from === bounds.to
        ? `both bounds are ${bounds.from}`
        : `from is ${bounds.from}, to is ${bounds.to}`;
    yield fine('bounds', `${both}, compared to the ${bounds.compared}`, anyBounds);
  } else {
    yield unknown('bounds', `no entry of the ${name} can tell: none is alone within its second`, anyBounds);
  }
  const { total, untrue, isOrdered } = await examineCounts(ask, pageSize);
  yield isOrdered
    ? fine('order', 'pages are in the order that is asked for', 'ascending pages are in order')
    : note(
        'order',
        'pages are not in order',
        'ascending pages are in order',
        'Nothing: pages are then counted up.',
      );
  const audits = 'audits compare counts; where they are untrue, they read the entries';
  if (total === null)
    yield note('total_count', 'no totalCount is given', audits, 'Nothing: audits cost more requests.');
  else if (untrue)
    yield note(
      'total_count',
      `totalCount is untrue: ${untrue}`,
      audits,
      'Nothing: audits cost more requests.',
    );
  else yield fine('total_count', `totalCount is true (${total} of the ${name})`, audits);
}

async function* examineFlights(client: ServiceClient, birds: readonly Bird[]): AsyncGenerator<Finding> {
  const lists = await Promise.all(
    birds.slice(0, TRIED).map(async (bird) => {
      const { value, serverTimeUs } = await client.searchFlights(bird.nestId, bird.id);
      return { bird, serverTimeUs, flights: good(value).filter((one) => one.startedAt) };
    }),
  );
  const busiest = lists.toSorted((a, b) => b.flights.length - a.flights.length)[0];
  const assumed = 'Flights are asked for by start date, in windows that are halved where they are cut off';
  if (!busiest || busiest.flights.length === 0) {
    yield unknown('flights', 'no Bird that was looked at has a Flight', assumed);
    return;
  }
  const { bird, flights, serverTimeUs } = busiest;
  const starts = flights.map(({ startedAt }) => startedAt!.us);
  const sorted = (sign: 1 | -1) => starts.every((us, at) => at === 0 || sign * (us - starts[at - 1]!) >= 0);
  const order =
    starts.length < 2
      ? 'one alone'
      : sorted(-1)
        ? 'newest first'
        : sorted(1)
          ? 'oldest first'
          : 'in no order of time';
  const ids = new Set(flights.map(({ id }) => id));
  // Later Flights may be absent only because they are new. The service's clock is shown in whole seconds.
  const asOfUs = (serverTimeUs ?? Math.max(...starts)) - 1_000_000;
  const [least, most] = [Math.min(...starts), Math.max(...starts)];
  const outside = [
    await client.searchFlights(bird.nestId, bird.id, { maxStartUs: least + 1_000_000 }),
    await client.searchFlights(bird.nestId, bird.id, { minStartUs: most - 1_000_000 }),
  ].flatMap(({ value }) =>
    good(value).filter(({ id, startedAt }) => !ids.has(id) && startedAt && startedAt.us < asOfUs),
  );
  const found = `${howMany(flights.length, 'Flight')} of Bird ${bird.id}, ${order}`;
  yield outside.length > 0
    ? note(
        'flights',
        `${found}; a list is cut off after ${flights.length}`,
        assumed,
        'Nothing: windows are halved.',
      )
    : fine('flights', `${found}, none cut off`, assumed);

  // Requests with filters that exclude something known: if it is in the answer, the filter is ignored.
  const ended = flights.every(({ status }) => status === 'failed') ? 'succeeded' : 'failed';
  const standing = bird.status === 'active' ? 'suspended' : 'active';
  const [ends, later, stands] = await Promise.all([
    client.searchFlights(bird.nestId, bird.id, { status: ended }),
    client.searchFlights(bird.nestId, bird.id, { minStartUs: most + 2_000_000 }),
    client.searchBirds(bird.nestId, { status: standing }),
  ]);
  const idle = [
    ...(good(ends.value).some(({ status }) => status !== ended) ? ['Status of Flights'] : []),
    ...(good(later.value).some(({ startedAt }) => startedAt && startedAt.us <= most) ? ['MinStartDate'] : []),
    ...(good(stands.value).some(({ status }) => status !== standing) ? ['Status of Birds'] : []),
  ];
  yield idle.length === 0
    ? fine('filters', 'filters by status and start date filter', 'what does not match a filter is dropped')
    : bad(
        'filters',
        `${idle.join(', ')} filters nothing`,
        'filters narrow lists down',
        'Report it to the service: lists grow without end.',
      );
}

/** Looks for new entries for a while, and measures how long after its instant each becomes visible. */
async function* examineDelay(
  { ask }: Stream,
  clock: Clock,
  { watchMs, poll }: ExamineOptions,
): AsyncGenerator<Finding> {
  const look = async () => entriesOf(await ask({ page: 0, pageSize: LOOKED_AT, ascending: false }));
  const assumed = `each sweep looks ${durationWords(poll.overlapMs, 'exact')} back (poll.overlap), more once entries come later`;
  const known = new Set((await look()).map(({ id }) => id));
  const beganUs = clock.nowUs();
  let longestMs = 0;
  let fresh = 0;
  for (const endMs = clock.monotonicMs() + watchMs; clock.monotonicMs() < endMs; ) {
    await sleep(clock, LOOK_MS);
    for (const { id, createdAt } of await look()) {
      if (known.has(id)) continue;
      known.add(id);
      fresh += 1;
      longestMs = Math.max(longestMs, (clock.nowUs() - createdAt.us) / 1000);
    }
  }
  const during = durationWords((clock.nowUs() - beganUs) / 1000, 'one unit');
  if (fresh === 0) {
    yield unknown('visible_delay', `no new entry within ${during}`, assumed);
    return;
  }
  const found = `${howMany(fresh, 'new entry', 'new entries')} within ${during}, seen after ${durationWords(Math.max(0, longestMs), 'one unit')} at the latest`;
  yield longestMs <= poll.overlapMs
    ? fine('visible_delay', found, assumed)
    : note(
        'visible_delay',
        found,
        assumed,
        `Set poll.overlap to more than ${durationWords(longestMs, 'one unit')}.`,
      );
}

/** Sends requests at the configured rate for some seconds. */
async function examineRate(
  client: ServiceClient,
  region: RegionConfig,
  refused: () => number,
): Promise<Finding> {
  const { requestsPerSecond } = region;
  const assumed = `up to ${requestsPerSecond} requests a second (requests_per_second), fewer as soon as it is refused`;
  const before = refused();
  const requests = Math.min(100, Math.max(10, Math.round(requestsPerSecond * 8)));
  const tries = Array.from({ length: requests }, () =>
    client.searchNests().then(
      () => true,
      () => false,
    ),
  );
  const answered = (await Promise.all(tries)).filter(Boolean).length;
  const times = refused() - before;
  const rate = Math.round(client.rate() * 10) / 10;
  if (times === 0 && answered === requests) {
    return fine('rate', `${howMany(requests, 'request')} in a row, none refused`, assumed);
  }
  const found = `${howMany(times, 'refusal')} (429) among ${howMany(requests, 'request')}; then ${rate} a second were taken`;
  return note('rate', found, assumed, `Set requests_per_second: ${Math.max(0.1, rate)} if it goes on.`);
}

const good = <T>(items: readonly Parsed<T>[]): T[] => items.flatMap((item) => (item.ok ? [item.entry] : []));

/** Throws unexpected errors. */
function failureOf(error: unknown): NestwatchError {
  if (error instanceof NestwatchError) return error;
  throw error;
}

type Make = (about: string, found: string, assumed: string, advice?: string) => Finding;
const finding =
  (state: Finding['state']): Make =>
  (about, found, assumed, advice = '') => ({ about, state, found, assumed, advice });
const fine = finding('good');
const note = finding('note');
const bad = finding('bad');
const unknown = finding('unknown');
