/**
 * What 429 does to the rate of a region, on a virtual clock: with a limit that is unknown, that falls, that rises, or
 * that counts by the minute; and with requests that are refused now and then at any rate. Run it alone: `node
 * test/bench/refusals.ts`.
 */
import { forked, seededRandom } from '../../src/simulator/world/seeded-random.ts';
import { sleep } from '../../src/time/clock.ts';
import { openRegion, type Reply } from '../service/region.ts';

/** Whether a request is accepted. */
type Admits = (nowMs: number) => boolean;

/** Accepts this many requests a second, in buckets of one second. */
export function bucketLimit(perSecond: number, sinceMs = 0): Admits {
  let tokens = perSecond;
  let filledAtMs = sinceMs;
  return (nowMs) => {
    tokens = Math.min(perSecond, tokens + ((nowMs - filledAtMs) / 1000) * perSecond);
    filledAtMs = nowMs;
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  };
}

/** Accepts this many requests in each window of time. */
export function windowLimit(requests: number, windowMs: number): Admits {
  let window = -1;
  let used = 0;
  return (nowMs) => {
    if (Math.floor(nowMs / windowMs) !== window) used = 0;
    window = Math.floor(nowMs / windowMs);
    used += 1;
    return used <= requests;
  };
}

export interface RefusingService {
  /** Which limit is in force from which minute on. */
  readonly limits?: readonly { readonly fromMinute: number; readonly admits: Admits }[];
  /** The share of the other requests that is refused at random. */
  readonly shed?: number;
  readonly retryAfter?: (nowMs: number) => string;
  readonly ceiling: number;
  readonly seed?: number;
}

export interface Minute {
  readonly accepted: number;
  readonly refused: number;
}

/** Eight clients send requests without a pause for this many minutes. Returns the figures of each minute. */
export async function keepAsking(service: RefusingService, minutes: number): Promise<readonly Minute[]> {
  const { limits = [], shed = 0, retryAfter, ceiling, seed = 1 } = service;
  const random = seededRandom(seed);
  const jitter = forked(random);
  const counts = Array.from({ length: minutes }, () => ({ accepted: 0, refused: 0 }));
  const region = openRegion(
    async (): Promise<Reply> => {
      await sleep(clock, 60 + 40 * jitter());
      const nowMs = clock.monotonicMs();
      const limit = limits.findLast(({ fromMinute }) => nowMs >= fromMinute * 60_000);
      const isAccepted = random() >= shed && (limit?.admits(nowMs) ?? true);
      const minute = counts[Math.floor(nowMs / 60_000)];
      if (minute) minute[isAccepted ? 'accepted' : 'refused'] += 1;
      if (isAccepted) return { body: '[]' };
      return { status: 429, headers: retryAfter ? { 'retry-after': retryAfter(nowMs) } : {} };
    },
    { requestsPerSecond: ceiling, startPerSecond: 2 },
  );
  const { client, clock } = region;
  let isOver = false;
  const ask = async () => {
    while (!isOver) await client.searchNests().catch(() => {});
  };
  const asking = Array.from({ length: 8 }, ask);
  await clock.advance(minutes * 60_000);
  isOver = true;
  const closed = client.close();
  await clock.advance(1000);
  await Promise.all([...asking, closed]);
  return counts;
}

const always = (admits: Admits) => [{ fromMinute: 0, admits }];
const untilNextMinute = (nowMs: number) => String(Math.ceil((60_000 - (nowMs % 60_000)) / 1000));

/** What is printed, with the requests per second that could be accepted. */
const SERVICES: readonly (readonly [name: string, most: number, service: () => RefusingService])[] = [
  ['429 beyond 4/s', 4, () => ({ ceiling: 10, limits: always(bucketLimit(4)) })],
  [
    '429 beyond 4/s, Retry-After: 2',
    4,
    () => ({ ceiling: 10, limits: always(bucketLimit(4)), retryAfter: () => '2' }),
  ],
  ['429 beyond 1/s', 1, () => ({ ceiling: 10, limits: always(bucketLimit(1)) })],
  ['429 beyond 20/s', 20, () => ({ ceiling: 50, limits: always(bucketLimit(20)) })],
  [
    '240 a minute, Retry-After',
    4,
    () => ({ ceiling: 10, limits: always(windowLimit(240, 60_000)), retryAfter: untilNextMinute }),
  ],
  [
    '20/s, from minute 10 on 4/s',
    4,
    () => ({
      ceiling: 50,
      limits: [
        { fromMinute: 0, admits: bucketLimit(20) },
        { fromMinute: 10, admits: bucketLimit(4, 600_000) },
      ],
    }),
  ],
  [
    '4/s, from minute 10 on 20/s',
    20,
    () => ({
      ceiling: 50,
      limits: [
        { fromMinute: 0, admits: bucketLimit(4) },
        { fromMinute: 10, admits: bucketLimit(20, 600_000) },
      ],
    }),
  ],
  ['1 % by chance', 9.9, () => ({ ceiling: 10, shed: 0.01 })],
  ['3 % by chance', 9.7, () => ({ ceiling: 10, shed: 0.03 })],
  ['10 % by chance', 9, () => ({ ceiling: 10, shed: 0.1 })],
  ['1 % by chance, Retry-After: 1', 9.9, () => ({ ceiling: 10, shed: 0.01, retryAfter: () => '1' })],
  ['10 % by chance, Retry-After: 1', 9, () => ({ ceiling: 10, shed: 0.1, retryAfter: () => '1' })],
  ['30 % by chance', 7, () => ({ ceiling: 10, shed: 0.3 })],
  [
    '429 beyond 4/s, and 1 % by chance',
    4,
    () => ({ ceiling: 10, shed: 0.01, limits: always(bucketLimit(4)) }),
  ],
  [
    '429 beyond 4/s, and 5 % by chance',
    4,
    () => ({ ceiling: 10, shed: 0.05, limits: always(bucketLimit(4)) }),
  ],
];

const WINDOWS = [
  [0, 2],
  [2, 10],
  [10, 12],
  [12, 30],
] as const;
const SEEDS = [1, 2, 3];

export async function printRefusals(): Promise<void> {
  console.log('Refusals and what is used of a limit, by minutes: 8 ask without a pause');
  console.log(`  ${''.padEnd(36)} ${WINDOWS.map(([from, to]) => `${from}-${to} min`.padStart(18)).join('')}`);
  console.log(`  ${''.padEnd(36)} ${WINDOWS.map(() => 'refused   used'.padStart(18)).join('')}`);
  for (const [name, most, service] of SERVICES) {
    const runs: (readonly Minute[])[] = [];
    for (const seed of SEEDS) runs.push(await keepAsking({ ...service(), seed }, 30));
    const cells = WINDOWS.map(([from, to]) => {
      const minutes = runs.flatMap((run) => run.slice(from, to));
      const accepted = minutes.reduce((sum, minute) => sum + minute.accepted, 0);
      const refused = minutes.reduce((sum, minute) => sum + minute.refused, 0);
      const used = accepted / (most * 60 * (to - from) * SEEDS.length);
      return `${((100 * refused) / (accepted + refused)).toFixed(1)} %  ${used.toFixed(2)}`.padStart(18);
    });
    console.log(`  ${name.padEnd(36)} ${cells.join('')}`);
  }
}

if (import.meta.main) await printRefusals();
