/**
 * Checking completeness: entries later than the overlap, deletions, wrong counts, and entries that are never
 * returned.
 */
import { describe, expect, test } from 'vitest';
import type { Feed } from '../../src/domain/alert/event.ts';
import { createScenario } from '../../src/simulator/story/scenario.ts';
import type { Behaviours } from '../../src/simulator/world/behaviours.ts';
import { seededRandom } from '../../src/simulator/world/seeded-random.ts';
import type { World } from '../../src/simulator/world/world.ts';
import { TEST_START_US } from '../virtual-clock.ts';
import { type Between, createStage, type Stage, type StageOptions } from './stage.ts';

let stage: Stage;

const MINUTE_US = 60e6;

/** An audit interval, plus a minute to request, commit and send. */
const PROMISE_US = 11 * MINUTE_US;
const FLIGHT_PROMISE_US = 61 * MINUTE_US;

/** Few Birds with much traffic, so that cursors are always near the present. */
function busy(world: World): void {
  createScenario(world, {
    random: seededRandom(21),
    birds: 4,
    flightsPerHour: 60,
    eventErrorsPerHour: 200,
    editsPerHour: 600,
    historyMs: 1_800_000,
  });
}

/** Deletes one entry in ten minutes, chosen from those that have existed for a while. */
function deleteSome(world: World): void {
  const random = seededRandom(4);
  world.every(600_000, () => {
    const old = [...world.birds.values()]
      .flatMap((bird) => [...bird.logs])
      .filter((entry) => entry.visibleAtUs < world.nowUs() - 5 * MINUTE_US);
    const entry = old[Math.floor(random() * old.length)];
    if (entry) world.deleteEntry(entry.id);
  });
}

const LATE: Partial<Behaviours> = { lateShare: 0.01, lateMinMs: 600_000, lateMaxMs: 600_000 };

async function openLate(options: StageOptions = {}): Promise<void> {
  stage = await createStage({
    regions: ['eu'],
    behaviours: { eu: LATE },
    before(world) {
      busy(world);
      deleteSome(world);
    },
    ...options,
  });
}

/** Keys of events that could be read for longer than promised but did not arrive. */
function lost(): string[] {
  const seen = new Set(stage.forwarded());
  const nowUs = stage.clock.nowUs();
  return stage.eu
    .truth()
    .events.filter((one) => {
      const promiseUs = one.feed === 'flight' ? FLIGHT_PROMISE_US : PROMISE_US;
      return (one.goneAtUs ?? nowUs) - one.visibleAtUs > promiseUs && !seen.has(one.key);
    })
    .map((one) => one.key);
}

function counted(what: 'recovered' | 'missing', feed: Feed): number {
  return stage.happenings.reduce(
    (sum, one) => (one.what === what && one.feed === feed ? sum + one.count : sum),
    0,
  );
}

const untrueStreams = () => stage.happenings.filter((one) => one.what === 'counts_untrue').length;

/** The time from becoming visible to being received, for entries of a feed that appeared since the start. */
function delaysUs(feed: Feed): number[] {
  const arrivals = new Map(stage.lake().map(({ id, receivedAtUs }) => [id, receivedAtUs]));
  return stage.eu.truth().events.flatMap((one) => {
    const receivedAtUs = arrivals.get(one.key);
    const isNew = one.feed === feed && one.visibleAtUs > TEST_START_US;
    return isNew && receivedAtUs !== undefined ? [receivedAtUs - one.visibleAtUs] : [];
  });
}

const LATE_MINUTES = 120;
const LIVES = 4;
const HOURS_LANDED = 13;
const RESTING_BIRDS = 10;
const SCARCE_MINUTES = 30;
const LEARNED_MINUTES = 90;
const REFUSED_MINUTES = 60;
const HIDDEN_MINUTES = 60;

describe('entries that become visible long after they were created, while others are deleted', () => {
  // The first audits teach sweeps to look back 10 minutes, which is enough for some of the first entries and none of
  // the second.
  const lateness = [
    [10, 1],
    [25, 10],
  ] as const;
  test.each(lateness)(
    '%d minutes late: are all found within one audit interval, each once [long]',
    async (minutes, least) => {
      const lateMs = minutes * 60_000;
      await openLate({ behaviours: { eu: { ...LATE, lateMinMs: lateMs, lateMaxMs: lateMs } } });
      await stage.minutesPass(LATE_MINUTES);
      expect(lost()).toEqual([]);
      expect(counted('recovered', 'bird_log')).toBeGreaterThan(least);
      expect(Math.max(...delaysUs('bird_log'))).toBeLessThan(PROMISE_US);
      const keys = stage.forwarded();
      expect(new Set(keys).size).toBe(keys.length);
      expect(counted('missing', 'bird_log')).toBe(0);
    },
  );

  test('are found across restarts, which remember up to where all is proven [long]', async () => {
    await openLate();
    for (let life = 0; life < LIVES; life += 1) {
      await stage.minutesPass(17);
      const before = stage.feed('bird_log').verifiedUntilUs;
      await stage.restart();
      await stage.secondsPass(5);
      const [region] = stage.daemon().regions();
      const after = region!.feeds.find(({ feed }) => feed === 'bird_log')!.verifiedUntilUs;
      expect(after).toBeGreaterThanOrEqual(before);
      // The learned overlap, after which a stream counts as complete, plus an interval.
      expect(before).toBeGreaterThan(stage.clock.nowUs() - 10 * MINUTE_US - PROMISE_US);
    }
    await stage.minutesPass(15);
    expect(lost()).toEqual([]);
  });
});

describe('wrong counts', () => {
  const lies: readonly [string, Partial<Behaviours>][] = [
    ['a cap', { totalCountCap: 20 }],
    ['a staleness of 20 minutes', { totalCountStaleMs: 1_200_000 }],
  ];
  for (const [what, lie] of lies) {
    test(`${what} raises no alert, costs no endless work, and hides nothing [long]`, async () => {
      await openLate({ behaviours: { eu: { ...LATE, ...lie } } });
      await stage.minutesPass(90);
      expect(lost()).toEqual([]);
      expect(untrueStreams()).toBeGreaterThan(0);
      expect(counted('missing', 'bird_log')).toBe(0);
      expect(stage.alerts().map(({ labels }) => labels.alertname)).not.toContain('FeedIncomplete');
      const before = stage.eu.requests().byOperation.getBirdLogs!;
      await stage.minutesPass(60);
      // Polls every 30 s of 4 Birds are 480 requests an hour; each of 7 audits reads about 3,200 entries instead of
      // counting them.
      const requests = stage.eu.requests().byOperation.getBirdLogs! - before;
      expect(requests).toBeLessThan(900);
    });
  }
});

describe('an entry that the service counts but never returns', () => {
  /** Hides entries with this message from every page of logs; counts still include them. */
  const hiding =
    (text: string, isHidden: () => boolean): Between =>
    async (request, pass) => {
      const response = await pass();
      if (!isHidden() || !request.url.includes('/logs?') || !response.body.includes(text)) return response;
      const page = JSON.parse(response.body) as { items: { message?: string }[] };
      const items = page.items.filter(({ message }) => message !== text);
      return { ...response, body: JSON.stringify({ ...page, items }) };
    };

  test('is reported as FeedIncomplete, which resolves if it is returned after all [long]', async () => {
    let isHidden = true;
    stage = await createStage({
      regions: ['eu'],
      before: busy,
      between: hiding('the hidden one', () => isHidden),
    });
    const world = stage.eu;
    const [birdId] = [...world.birds.keys()];
    await stage.minutesPass(10);
    const atUs = stage.clock.nowUs();
    world.appendBirdLog(birdId!, { fields: { eventType: 'Saved', message: 'the hidden one' } });
    await stage.minutesPass(30);
    const alerts = () => stage.alerts('FeedIncomplete');
    expect(alerts()).toMatchObject([
      {
        status: 'firing',
        labels: { region: 'eu', feed: 'bird_log', severity: 'warning' },
        annotations: { summary: '1 Bird log entry is missing in region EU' },
      },
    ]);
    expect(counted('missing', 'bird_log')).toBe(1);
    const feed = () => stage.feed('bird_log');
    expect(feed().verifiedUntilUs).toBeLessThanOrEqual(atUs);
    await stage.restart();
    await stage.minutesPass(HIDDEN_MINUTES);
    expect(alerts()).toHaveLength(1);
    expect(counted('missing', 'bird_log')).toBe(1);
    isHidden = false;
    await stage.minutesPass(15);
    expect(alerts().map(({ status }) => status)).toEqual(['firing', 'resolved']);
    expect(counted('recovered', 'bird_log')).toBe(1);
    expect(lost()).toEqual([]);
    expect(feed().verifiedUntilUs).toBeGreaterThan(atUs + (20 + HIDDEN_MINUTES) * MINUTE_US);
  });

  test('is reported even if it is the only one of its stream [long]', async () => {
    stage = await createStage({
      regions: ['eu'],
      nests: { Legal: ['Contracts'] },
      between: hiding('the hidden one', () => true),
    });
    const world = stage.eu;
    const [birdId] = [...world.birds.keys()];
    await stage.minutesPass(10);
    world.appendBirdLog(birdId!, { fields: { eventType: 'Saved', message: 'the hidden one' } });
    await stage.minutesPass(30);
    const alerts = stage.alerts();
    expect(alerts.map(({ labels }) => labels.alertname)).toEqual(['FeedIncomplete']);
  });
});

describe('Flights, which the service does not count', () => {
  /** A Bird whose Flights end all the time, so that its cursor is always near the present. */
  async function openBusyBird(): Promise<{ world: World; birdId: string }> {
    stage = await createStage({
      regions: ['eu'],
      nests: { Legal: ['Contracts'] },
      before(world) {
        const [birdId] = [...world.birds.keys()];
        world.every(600_000, () => world.startFlight(birdId!, { endsAs: 'succeeded' }));
      },
    });
    return { world: stage.eu, birdId: stage.bird('Contracts') };
  }

  test(`that become active again ${HOURS_LANDED} hours after their end, and fail then, are found within a day [long]`, async () => {
    const { world, birdId } = await openBusyBird();
    await stage.minutesPass(5);
    const { id } = world.startFlight(birdId, { endsAs: 'succeeded' });
    await stage.minutesPass(HOURS_LANDED * 60);
    world.reopenFlight(id);
    world.endFlight(id, 'failed', { errorMessages: 'It is alive' });
    const isFound = () => stage.forwarded().includes(`eu/flight/${id}/failed#2`);
    for (let hour = 0; hour < 24 && !isFound(); hour += 1) await stage.minutesPass(60);
    await stage.minutesPass(10);
    expect(isFound()).toBe(true);
    // In a summary or in a message of its own, depending on its age.
    const received = stage.alerts();
    expect(received.map(({ annotations }) => annotations.description)).toContain('It is alive');
  });

  test('are proven complete up to the last review, which takes no more requests than a poll [long]', async () => {
    await openBusyBird();
    await stage.minutesPass(65);
    const [region] = stage.daemon().regions();
    const verified = region!.feeds.find(({ feed }) => feed === 'flight')!.verifiedUntilUs;
    expect(verified).toBeGreaterThan(stage.clock.nowUs() - 66 * MINUTE_US);
    const before = stage.eu.requests().byOperation.searchFlights!;
    await stage.minutesPass(60);
    expect(stage.eu.requests().byOperation.searchFlights! - before).toBeLessThanOrEqual(122);
  });
});

describe('pages that the service refuses', () => {
  /** Answers 400 to requests for a page that is refused, and counts them. */
  function refusing(isRefused: (url: URL, size: number) => boolean) {
    const between: Between = async (request, pass) => {
      const url = new URL(request.url);
      const size = Number(url.searchParams.get('pageSize') ?? 0);
      if (size === 0 || !isRefused(url, size)) return pass();
      refusals.count += 1;
      return { status: 400, headers: { 'content-type': 'application/json' }, body: '{}' };
    };
    const refusals = { count: 0, between };
    return refusals;
  }

  test('if notifications come only in small ones, they are proven complete, and requests are seldom refused [long]', async () => {
    const refusals = refusing((url, size) => url.pathname.endsWith('/notifications') && size > 60);
    stage = await createStage({ regions: ['eu'], between: refusals.between, before: busy });
    await stage.minutesPass(REFUSED_MINUTES);
    // 100 entries are requested twice at first, and again after 1, 3, 7, 15 and 31 minutes; never by audits.
    expect(refusals.count).toBeLessThan(10);
    const lagUs = stage.clock.nowUs() - stage.feed('notification').verifiedUntilUs;
    expect(lagUs).toBeLessThan(10 * MINUTE_US + PROMISE_US);
  });

  test('at first of any size, then only large ones: everything is read some minutes later [long]', async () => {
    let isDown = true;
    const refusals = refusing((_url, size) => isDown || size > 60);
    stage = await createStage({ regions: ['eu'], between: refusals.between, before: busy });
    await stage.minutesPass(1);
    isDown = false;
    await stage.minutesPass(5);
    for (const feed of ['notification', 'bird_log'] as const) {
      expect(stage.feed(feed).lastSuccessUs).toBeGreaterThan(0);
    }
    expect(stage.alerts().map(({ labels }) => labels.alertname)).not.toContain('FeedBehind');
    await stage.minutesPass(30);
    expect(lost()).toEqual([]);
  });
});

describe('what audits cost', () => {
  /** Collects the requests of audits: only they have an end (`to`). */
  const listening =
    (urls: string[]): Between =>
    (request, pass) => {
      if (request.url.includes('&to=')) urls.push(request.url);
      return pass();
    };

  test('nothing for idle streams, which are still proven complete up to their last sweep [long]', async () => {
    const urls: string[] = [];
    stage = await createStage({
      regions: ['eu'],
      between: listening(urls),
      before(world) {
        const { id } = world.addNest({ name: 'Quiet' });
        for (let count = 0; count < RESTING_BIRDS; count += 1) {
          const bird = world.addBird(id, { name: `Bird ${count}`, triggerType: 'manual' });
          world.appendBirdLog(bird.id, { createdAtUs: world.nowUs() - 40 * MINUTE_US });
        }
      },
    });
    // An entry that arrives while nothing else happens moves the cursor, and is read again until it is hours old.
    await stage.minutesPass(5 * 60);
    urls.length = 0;
    await stage.minutesPass(30);
    expect(urls).toEqual([]);
    const [region] = stage.daemon().regions();
    for (const { verifiedUntilUs } of region!.feeds.filter(({ feed }) => feed !== 'flight')) {
      expect(verifiedUntilUs).toBeGreaterThan(stage.clock.nowUs() - 13 * MINUTE_US);
    }
    expect(region!.auditsBehindMs).toBe(0);
  });

  test('a tenth of what the service allows when that is scarce, and then they report that they are behind [long]', async () => {
    const urls: string[] = [];
    stage = await createStage({
      regions: ['eu'],
      requestsPerSecond: 1,
      between: listening(urls),
      before(world) {
        createScenario(world, {
          random: seededRandom(8),
          birds: 120,
          editsPerHour: 1_000,
          skew: 0,
          historyMs: 1_800_000,
        });
      },
    });
    await stage.minutesPass(SCARCE_MINUTES);
    const before = stage.eu.requests().total;
    urls.length = 0;
    await stage.minutesPass(SCARCE_MINUTES);
    const all = stage.eu.requests().total - before;
    expect(urls.length / all).toBeGreaterThan(0.07);
    expect(urls.length / all).toBeLessThan(0.12);
    expect(stage.region().auditsBehindMs).toBeGreaterThan(0);
  });
});

describe('how far polls look back is learned from what audits and reviews had to find,', () => {
  const LATE_A_MINUTE: Partial<Behaviours> = { lateShare: 0.03, lateMinMs: 60_000, lateMaxMs: 90_000 };

  test('and then sweeps find late entries by themselves [long]', async () => {
    stage = await createStage({
      regions: ['eu'],
      poll: { overlapMs: 10_000 },
      behaviours: { eu: LATE_A_MINUTE },
      before: busy,
    });
    await stage.minutesPass(60);
    const learning = counted('recovered', 'bird_log');
    expect(learning).toBeGreaterThan(2);
    await stage.minutesPass(LEARNED_MINUTES);
    expect(counted('recovered', 'bird_log') - learning).toBe(0);
    expect(lost()).toEqual([]);
    expect(Math.max(...delaysUs('bird_log').slice(-500))).toBeLessThan(MINUTE_US);
  });

  test('and then polls find late Flights by themselves [long]', async () => {
    stage = await createStage({
      regions: ['eu'],
      poll: { overlapMs: 10_000 },
      behaviours: { eu: LATE_A_MINUTE },
      nests: { Legal: ['Contracts'] },
      before(world) {
        const [birdId] = [...world.birds.keys()];
        world.every(10_000, () => world.startFlight(birdId!, { endsAs: 'succeeded' }));
      },
    });
    await stage.minutesPass(240);
    const learning = counted('recovered', 'flight');
    expect(learning).toBeGreaterThan(2);
    await stage.minutesPass(LEARNED_MINUTES);
    expect(counted('recovered', 'flight') - learning).toBe(0);
    expect(lost()).toEqual([]);
  });
});

/** A Bird with more entries than a page holds, so that audits count them. */
async function busyBird() {
  stage = await createStage({ regions: ['eu'], poll: { pageSize: 5 }, nests: { Legal: ['Sync'] } });
  const world = stage.eu;
  const birdId = stage.bird('Sync');
  /** Adds one entry a minute; resolves to their ids. */
  async function minutesOfTraffic(minutes: number): Promise<string[]> {
    const ids: string[] = [];
    while (ids.length < minutes) {
      ids.push(world.appendBirdLog(birdId).id);
      await stage.minutesPass(1);
    }
    return ids;
  }
  return { world, birdId, minutesOfTraffic };
}

test('a late entry is found even if another one was deleted, both while nestwatch was stopped [long]', async () => {
  const { world, birdId, minutesOfTraffic } = await busyBird();
  const ids = await minutesOfTraffic(30);
  let lateId = '';
  await stage.restart(() => {
    world.deleteEntry(ids[20]!);
    lateId = world.appendBirdLog(birdId, { createdAtUs: world.nowUs() - 15.5 * 60e6 }).id;
  });
  await stage.minutesPass(15);
  expect(stage.forwarded()).toContain(`eu/bird_log/${lateId}`);
});

// Audits run every ten minutes; each case has another phase.
const phases = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
test.each(phases)(
  'a late entry, %i minutes into it, is found even if another one is deleted then [long]',
  async (phase) => {
    const { world, birdId, minutesOfTraffic } = await busyBird();
    await minutesOfTraffic(30 + phase);
    const going = world.appendBirdLog(birdId);
    const late = world.appendBirdLog(birdId, { visibleAtUs: world.nowUs() + 6 * 60e6 });
    await minutesOfTraffic(6);
    world.deleteEntry(going.id);
    await minutesOfTraffic(15);
    expect(stage.forwarded()).toContain(`eu/bird_log/${late.id}`);
  },
);
