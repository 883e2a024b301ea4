import { expect, test } from 'vitest';
import { NestwatchError } from '../../src/errors.ts';
import type { HttpRequest, HttpResponse } from '../../src/http/transport.ts';
import type { Behaviours } from '../../src/simulator/world/behaviours.ts';
import type { World } from '../../src/simulator/world/world.ts';
import { createStage, type Stage } from './stage.ts';

const DAY_MS = 86_400_000;

let stage: Stage;
let world: World;
/** The first of the two Birds: the one in trouble. */
let birdId = '';

/** A region with two Birds, watched for five minutes. What `trouble` throws or resolves to replaces an answer. */
async function open(
  trouble: (request: HttpRequest) => HttpResponse | undefined,
  behaviours: Partial<Behaviours> = {},
): Promise<void> {
  stage = await createStage({
    regions: ['eu'],
    behaviours: { eu: behaviours },
    nests: { Marketing: ['Import', 'Export'] },
    between: async (request, pass) => trouble(request) ?? pass(),
  });
  world = stage.eu;
  birdId = stage.bird('Import');
  await stage.minutesPass(5);
}

/** The notifications of that alert: firing or resolved. */
const received = (alertname: string) => stage.alerts(alertname).map(({ status }) => status);

/** Every list that contains the instant is too large. Resolves to that instant, which has been found since. */
async function openWithHole(): Promise<number> {
  let holeUs = 0;
  await open(({ url }) => {
    const { pathname, searchParams } = new URL(url);
    if (holeUs === 0 || !pathname.endsWith(`/birds/${birdId}/flights`)) return undefined;
    const at = (name: string, none: number) => {
      const given = searchParams.get(name);
      return given === null ? none : Date.parse(given) * 1000;
    };
    const isInside =
      at('MinStartDate', 0) <= holeUs && at('MaxStartDate', Number.POSITIVE_INFINITY) >= holeUs;
    if (isInside) throw new NestwatchError('too_large', 'more than 16 MiB');
    return undefined;
  });
  holeUs = world.nowUs();
  await stage.minutesPass(10);
  for (const id of world.birds.keys()) world.startFlight(id, { endsAs: 'succeeded', fliesForMs: 1_000 });
  await stage.minutesPass(10);
  expect(received('FeedIncomplete')).toEqual(['firing']);
  return holeUs;
}

const verifiedUs = () => stage.feed('flight').verifiedUntilUs;

test.each([
  ['a moment', 0],
  ['26 hours', 26 * 3_600_000],
])(
  'a gap among Flights survives a restart that takes %s, and nothing after it is proven complete [long]',
  async (_for, ms) => {
    const holeUs = await openWithHole();
    await stage.restart(async () => {
      await stage.clock.advance(ms);
      for (const id of world.birds.keys()) world.startFlight(id, { endsAs: 'succeeded', fliesForMs: 1_000 });
    });
    for (let quarter = 0; quarter < 6; quarter += 1) {
      await stage.minutesPass(15);
      expect(verifiedUs()).toBeLessThanOrEqual(holeUs);
    }
    expect(verifiedUs()).toBeGreaterThan(0);
    expect(new Set(received('FeedIncomplete'))).toEqual(new Set(['firing']));
  },
);

test('a gap among the Flights of a Bird ends when the Bird is deleted [long]', async () => {
  await openWithHole();
  world.deleteBird(birdId);
  await stage.minutesPass(20);
  expect(received('FeedIncomplete')).toEqual(['firing', 'resolved']);
});

test.each([
  ['is deleted', 404, 60],
  ['answers with errors', 500, 120],
])(
  'a failure that waits for its reason is notified even if its Bird %s',
  async (_what, status, withinSeconds) => {
    let isBroken = false;
    await open(
      ({ url }) => {
        const body = '{"items":[],"totalCount":0,"page":0,"pageSize":50}';
        if (isBroken && url.includes(`/birds/${birdId}/`)) return { status, headers: {}, body: '' };
        return /\/flights\/[^/]+\/logs/.test(url) ? { status: 200, headers: {}, body } : undefined;
      },
      { errorMessagesLateMs: DAY_MS },
    );
    const { id } = world.startFlight(birdId, { endsAs: 'failed', fliesForMs: 1_000 });
    const isSeen = () =>
      stage.store.transaction(async (tx) => {
        const streams = (await tx.streams.list('eu')).filter(({ feed }) => feed === 'flight');
        const open = await Promise.all(streams.map(({ stream }) => tx.flights.open(stream)));
        return open.flat().some((flight) => flight.status === 'failed');
      });
    while (!(await isSeen())) await stage.secondsPass(1);
    expect(stage.forwarded()).toEqual([]);
    isBroken = true;
    await stage.secondsPass(withinSeconds);
    expect(stage.forwarded()).toEqual([`eu/flight/${id}/failed`]);
  },
);
