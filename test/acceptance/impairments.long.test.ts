/**
 * "Is all well?" has one answer. Each test makes one impairment happen to the whole daemon. Within a minute, or as
 * soon as it can be known, six places must report it: the page, `status`, the metrics, the heartbeat, the API with
 * `/-/ready`, and a mail (unless no mail can be sent about it). Once it is fixed, they must all stop, and a mail must
 * say that too.
 */
import { describe, expect, test } from 'vitest';
import type { AlertKind } from '../../src/domain/kinds/kinds.ts';
import { parseMatchers } from '../../src/domain/matchers/matcher.ts';
import { IMPAIRMENT_REASONS, IMPAIRMENTS, type ImpairmentReason } from '../../src/health/impairment.ts';
import type { HttpRequest, HttpResponse } from '../../src/http/transport.ts';
import { createMetrics } from '../../src/observe/metrics.ts';
import type { Happening } from '../../src/report.ts';
import { secret } from '../../src/secret.ts';
import type { World } from '../../src/simulator/world/world.ts';
import { nestwatch } from '../cli/test-io.ts';
import { NOTHING, textOf } from '../observe/scraped.ts';
import { aStatus } from '../web/sample.ts';
import { serve } from '../web/served.ts';
import { createStage, type Stage, type StageOptions } from './stage.ts';

let stage: Stage;

const GIB = 1024 ** 3;

interface Story {
  readonly reason: ImpairmentReason;
  readonly stage?: StageOptions;
  /** What happens ten minutes after the start; absent if the start itself causes it. */
  readonly breaks?: Partial<Faults> | (() => unknown);
  /** Within how many minutes it must be known, and later be over. */
  readonly knownMinutes?: number;
  /** What ends it, besides that nothing is faulty any more. */
  readonly mends?: () => unknown;
  readonly overMinutes?: number;
  /** How the headline begins, as far as it is constant. */
  readonly headline: RegExp;
  readonly stopsHeartbeat?: true;
  /** The alert that is mailed, if it is not the documented one; null if none is mailed that soon. */
  readonly alert?: AlertKind | null;
  /** Within how many minutes after it happened it must be mailed; 1 by default. */
  readonly mailedMinutes?: number;
  /** Its end is recognised only after a long time without it. */
  readonly isEndLate?: true;
}

/** What is faulty now. */
interface Faults {
  /** What the service answers instead of its own answer. */
  readonly instead: (request: HttpRequest) => HttpResponse | undefined;
  readonly isFull: boolean;
  /** Bytes that are free for the store. */
  readonly free: number;
  /** The status with which the webhook answers. */
  readonly answers: number;
  /** The webhook that is refused permanently; `next` means the next one. */
  readonly refused: string;
  /** Whether Bird logs with the message `the hidden one` are counted but not returned. */
  readonly isHidden: boolean;
}

const NONE: Faults = {
  instead: () => undefined,
  isFull: false,
  free: 50 * GIB,
  answers: 200,
  refused: '',
  isHidden: false,
};
let faults = NONE;

/** Makes this faulty, and nothing else. */
function breakOnly(change: Partial<Faults>): void {
  faults = { ...NONE, ...change };
}

function mendAll(): void {
  faults = NONE;
}

function answer(status: number, body = '{}'): HttpResponse {
  return { status, headers: { 'content-type': 'application/json' }, body };
}

/** Less than a watch may have. */
const LITTLE_SPACE = { free: GIB / 4 };
const toOps = { receiver: 'ops' };
const eu = () => stage.eu;
const birdOf = (world: World) => [...world.birds.keys()][0]!;

const story = (
  reason: ImpairmentReason,
  headline: RegExp,
  more: Omit<Story, 'reason' | 'headline'>,
): Story => ({ reason, headline, ...more });

const STORIES: readonly Story[] = [
  story('store_failing', /^The store is full/, {
    breaks: { isFull: true },
    overMinutes: 2,
    stopsHeartbeat: true,
  }),
  story('disk_low', /^Only 256 MiB free for the store/, { breaks: LITTLE_SPACE }),
  story('no_birds', /^No Bird is watched in EU/, {
    stage: { excludedNests: ['Prod*'] },
    mends: () => stage.follows((config) => withNests(config, [])),
    overMinutes: 6,
    stopsHeartbeat: true,
  }),
  story('inventory_failing', /^The Nests of EU cannot be listed/, {
    stage: {
      before: () => breakOnly({ instead: ({ url }) => (url.endsWith('/nests') ? answer(404) : undefined) }),
    },
    overMinutes: 2,
    stopsHeartbeat: true,
  }),
  story('first_pass', /^First reading of EU under way/, {
    stage: { requestsPerSecond: 0.1 },
    mends: () => stage.minutesPass(4),
    // This alone raises no alert.
    alert: null,
  }),
  story('streams_overdue', /EU is behind/, {
    breaks() {
      const path = `/birds/${birdOf(eu())}/flights`;
      breakOnly({ instead: ({ url }) => (url.includes(path) ? answer(500) : undefined) });
    },
    knownMinutes: 6,
    overMinutes: 6,
    mailedMinutes: 12,
  }),
  story('feed_unproven', /EU is not proven complete/, {
    breaks() {
      breakOnly({ isHidden: true });
      // Only a stream with traffic is counted.
      const saves = () => eu().appendBirdLog(birdOf(eu()), { fields: { eventType: 'Saved' } });
      eu().every(60_000, saves);
      eu().appendBirdLog(birdOf(eu()), { fields: { eventType: 'Saved', message: HIDDEN } });
    },
    knownMinutes: 75,
    overMinutes: 30,
    // That the feed is unproven is mailed an hour later.
    alert: 'FeedIncomplete',
    mailedMinutes: 75,
  }),
  story('region_down', /^EU is down/, {
    breaks: () => eu().goDown(503),
    mends: () => eu().comeUp(),
    overMinutes: 2,
    stopsHeartbeat: true,
    mailedMinutes: 3,
  }),
  story('region_unauthorized', /^EU refuses the token/, {
    breaks: { instead: () => answer(401) },
    overMinutes: 6,
    stopsHeartbeat: true,
  }),
  story('nobody_notified', /^Nobody is notified/, {
    breaks: () =>
      stage.follows((config) => ({ ...config, forward: [], route: { ...config.route, receiver: 'nobody' } })),
    mends: () => stage.follows((config) => ({ ...config, route: { ...config.route, ...toOps } })),
    stopsHeartbeat: true,
    alert: null,
  }),
  story('receivers_failing', /receiver ops accepts nothing through webhook/i, {
    breaks() {
      breakOnly({ answers: 500 });
      eu().startFlight(birdOf(eu()), { endsAs: 'failed', fliesForMs: 1_000 });
    },
    knownMinutes: 2,
    overMinutes: 10,
    mailedMinutes: 15,
    // The heartbeat goes on: its mails arrive, so somebody is notified of alerts.
  }),
  story('deliveries_dead', /notification to ops given up/, {
    async breaks() {
      breakOnly({ refused: 'next' });
      eu().startFlight(birdOf(eu()), { endsAs: 'failed', fliesForMs: 1_000 });
      await stage.minutesPass(15);
      // The receiver accepts later messages.
      const other = [...eu().birds.keys()][1]!;
      eu().startFlight(other, { endsAs: 'failed', fliesForMs: 1_000 });
      await stage.minutesPass(5);
    },
    async mends() {
      const dead = await stage.store.transaction((tx) =>
        tx.outbox.page({ state: 'dead', limit: 10 }).then((one) => one.deliveries),
      );
      await stage.store.transaction((tx) =>
        tx.outbox.redrive(
          dead.map(({ id }) => id),
          stage.clock.nowUs(),
        ),
      );
      stage.daemon().wake();
    },
  }),
  story('quarantine_growing', /1 entry of EU unreadable/, {
    breaks: () => void eu().appendBirdLog(birdOf(eu()), { raw: { id: undefined, createdAt: 'yesterday' } }),
    mends: () => stage.minutesPass(60),
    isEndLate: true,
  }),
  story('clock_wrong', /^The clock is 10 min ahead/, {
    breaks: () => stage.ourClockSteps(600),
    mends: () => stage.ourClockSteps(-600),
    overMinutes: 2,
  }),
  story('config_refused', /^The new configuration is not in force/, {
    breaks: () => stage.daemon().hear(reload(['nestwatch.yaml:3:1: rout: unknown key'])),
    mends: () => stage.daemon().hear(reload([])),
  }),
  story('faults_set_aside', /^Something was set aside/, {
    breaks: () => note('silence', 's1'),
    mends: () => stage.store.transaction((tx) => tx.faults.mend('silence', ['s1'])),
  }),
];

const HIDDEN = 'the hidden one';

function withoutHidden(request: HttpRequest, response: HttpResponse): HttpResponse {
  if (!faults.isHidden || !request.url.includes('/logs?') || !response.body.includes(HIDDEN)) return response;
  const page = JSON.parse(response.body) as { items: { message?: string }[] };
  const items = page.items.filter(({ message }) => message !== HIDDEN);
  return { ...response, body: JSON.stringify({ ...page, items }) };
}

/** The report after the configuration file was read again. */
function reload(mistakes: readonly string[]): Happening {
  const success = mistakes.length === 0;
  return { what: 'config_reload', success, atUs: stage.clock.nowUs(), mistakes, needsRestart: [] };
}

async function note(sort: 'silence', name: string): Promise<void> {
  const fault = { sort, name, reason: 'Error: its pattern is broken' };
  const nowUs = stage.clock.nowUs();
  await stage.store.transaction((tx) => tx.faults.note([fault], nowUs, nowUs + 3600e6));
}

function withNests<C extends { readonly regions: readonly { readonly nests: object }[] }>(
  config: C,
  exclude: string[],
): C {
  const regions = config.regions.map((region) => ({ ...region, nests: { include: ['*'], exclude } }));
  return { ...config, regions };
}

async function open(options: StageOptions = {}): Promise<void> {
  mendAll();
  stage = await createStage({
    regions: ['eu'],
    heartbeat: { url: secret('https://hc.example/ping/x'), intervalMs: 30_000 },
    space: () => ({ used: 3 * 1024 ** 2, free: faults.free, whole: 100 * GIB }),
    isStoreFull: () => faults.isFull,
    answer: ({ id, headers }) => {
      if (!headers['content-type']?.startsWith('application/json')) return 200;
      if (faults.refused === 'next') breakOnly({ refused: id });
      return id === faults.refused ? 404 : faults.answers;
    },
    between: async (request, pass) => faults.instead(request) ?? withoutHidden(request, await pass()),
    nests: { Production: ['Publish', 'Translate', 'Review'] },
    ...options,
  });
}

/** What each of the places says now. */
async function look() {
  const metrics = createMetrics({
    ...{ version: '1', revision: '', nodeVersion: '', clock: stage.clock },
    ...{ regions: ['eu'], operations: [], receivers: [], rules: [] },
    collect: async () => {
      const { impairments, space } = await stage.daemon().health();
      return { ...NOTHING, impaired: impairments.map(({ reason }) => reason), space };
    },
    longestTurnMs: () => 0,
    processMetrics: false,
  });
  const { ask, web, close } = await serve({
    store: stage.store,
    clock: stage.clock,
    status: () => aStatus({ regions: stage.daemon().regions() }),
    impairments: () => stage.daemon().health(),
  });
  const { body: page } = await ask('/');
  const [, headline = ''] = /<h1[^>]*>([^<]*)<\/h1>/.exec(page)!;
  const [, title = ''] = /<title>([^<]*)<\/title>/.exec(page)!;
  const health = await ask<{ quiet: boolean; impairments: { reason: string; summary: string }[] }>(
    '/api/v1/health',
  );
  const ready = await ask<{ impairments: { reason: string }[] }>('/-/ready', { accept: 'application/json' });
  const command = await nestwatch(['status', '--url', web.url], { clock: stage.clock });
  const scraped = await textOf(metrics.render());
  const beats = stage.beats.length;
  await stage.secondsPass(61);
  await close();
  const reasons = (found: readonly { reason: string }[]) => found.map(({ reason }) => reason);
  return {
    headline,
    title,
    page,
    health: health.json,
    reasons: reasons(health.json.impairments),
    readyReasons: reasons(ready.json.impairments),
    command,
    metric: (reason: string) =>
      Number(new RegExp(`^nestwatch_watch_impaired\\{reason="${reason}"\\} (\\d)$`, 'm').exec(scraped)![1]),
    isBeating: stage.beats.length > beats,
  };
}

/** The mails about alerts of this name since then, and when they were sent. */
function mailed(alertname: string, status: 'firing' | 'resolved', sinceUs: number) {
  return stage.mails
    .filter(({ receivedAtUs }) => receivedAtUs > sinceUs)
    .flatMap(({ receivedAtUs, notification }) =>
      notification.alerts
        .filter((alert) => alert.labels.alertname === alertname && alert.status === status)
        .map((alert) => ({ ...alert, receivedAtUs })),
    );
}

describe('what impairs the watch is reported everywhere until it is fixed:', () => {
  test.each(STORIES)('$reason [long]', async ({ reason, stage: options, breaks, mends, ...story }) => {
    const { alert = IMPAIRMENTS[reason].alert } = story;
    await open(options);
    let brokenAtUs = stage.clock.nowUs();
    if (breaks) {
      await stage.minutesPass(10);
      const before = await look();
      expect(before.headline).toBe('All quiet');
      expect(before.health).toMatchObject({ quiet: true, impairments: [] });
      expect(before.command).toMatchObject({
        stderr: '',
        exit: 0,
        stdout: expect.stringContaining('All quiet.'),
      });
      expect([before.metric(reason), before.isBeating]).toEqual([0, true]);
      expect(stage.mails).toEqual([]);
      brokenAtUs = stage.clock.nowUs();
      if (typeof breaks === 'function') await breaks();
      else breakOnly(breaks);
    }
    const untilUs = stage.clock.nowUs() + (story.mailedMinutes ?? 1) * 60e6;
    await (breaks ? stage.minutesPass(story.knownMinutes ?? 1) : stage.secondsPass(20));

    const during = await look();
    expect(during.reasons).toContain(reason);
    expect(during.readyReasons).toEqual(during.reasons);
    expect(during.health.quiet).toBe(false);
    expect(during.headline).toMatch(story.headline);
    expect(during.title).toContain(during.headline);
    const { summary } = during.health.impairments.find((one) => one.reason === reason)!;
    expect(during.page).toContain(summary.slice(0, 30).replace(/['"&<].*/, ''));
    expect(during.command.exit).toBe(1);
    expect(during.command.stdout).toContain(` ${reason}, since `);
    expect(during.metric(reason)).toBe(1);
    expect(during.isBeating).toBe(!story.stopsHeartbeat);
    await stage.clock.advance(Math.max(0, untilUs - stage.clock.nowUs()) / 1000);
    if (alert) {
      const [first] = mailed(alert, 'firing', brokenAtUs);
      expect(first?.receivedAtUs).toBeLessThanOrEqual(untilUs);
      if (alert === 'WatchImpaired') {
        expect(first).toMatchObject({
          labels: { reason },
          annotations: { summary: expect.stringMatching(story.headline) },
        });
        expect(first!.annotations.description).toContain(`${summary}\n`);
      }
    } else expect(mailed('WatchImpaired', 'firing', brokenAtUs)).toEqual([]);

    const mendedAtUs = stage.clock.nowUs();
    mendAll();
    await mends?.();
    await stage.minutesPass(story.overMinutes ?? 1);
    const after = await look();
    expect(after.reasons).not.toContain(reason);
    expect(after.metric(reason)).toBe(0);
    expect(after.command.stdout).not.toContain(reason);
    expect(after.isBeating).toBe(true);
    expect(after.headline).not.toMatch(story.headline);
    if (alert && !story.isEndLate) {
      await stage.minutesPass(1);
      expect(mailed(alert, 'resolved', mendedAtUs)).toHaveLength(1);
    }
    // Each once, and nothing else of this kind.
    const all = [brokenAtUs, mendedAtUs].map((us) =>
      mailed('WatchImpaired', us === brokenAtUs ? 'firing' : 'resolved', us),
    );
    expect(all.map((list) => list.length)).toEqual(alert === 'WatchImpaired' ? [1, 1] : [0, 0]);
  });

  test('there is a story for each reason [long]', () => {
    // `replicas/watch-of-replicas.test.ts` tests the one that needs several replicas.
    const told = [...STORIES.map(({ reason }) => reason), 'configs_differ'];
    expect(told.toSorted()).toEqual(IMPAIRMENT_REASONS.toSorted());
  });
});

describe('a region that answers, but not with its Nests and Birds', () => {
  const isOfNests = (url: string) => url.endsWith('/nests');
  const isOfBirds = (url: string) => /\/nests\/[^/]+\/birds$/.test(url);
  const ANSWERS: readonly [what: string, of: (url: string) => boolean, HttpResponse, says: RegExp][] = [
    ['404 to all, as with a wrong path', () => true, answer(404), /Nests of EU .* answered 404/],
    ['400', isOfNests, answer(400), /Nests of EU .* answered 400/],
    ['410', isOfNests, answer(410), /Nests of EU .* answered 410/],
    ['JSON of another shape', isOfNests, answer(200, '{"ok":true}'), /Nests of EU .* another shape/],
    ['404 for the Birds of each Nest', isOfBirds, answer(404), /Birds of EU .* 1 of 1 Nests .* answered 404/],
    ['403 for the Birds of each Nest', isOfBirds, answer(403), /Birds of EU .* 1 of 1 Nests .* answered 403/],
    ['Birds of another shape', isOfBirds, answer(200, '"none"'), /Birds of EU .* another shape/],
  ];

  test.each(ANSWERS)('is mailed within a minute: %s [long]', async (_, isMeant, response, says) => {
    await open({
      before: () => breakOnly({ instead: ({ url }) => (isMeant(url) ? response : undefined) }),
    });
    await stage.minutesPass(1);
    const [first, ...others] = mailed('WatchImpaired', 'firing', 0);
    expect(first).toMatchObject({
      labels: { reason: 'inventory_failing', region: 'eu', severity: 'critical' },
      annotations: { description: expect.stringMatching(says) },
    });
    expect(others).toEqual([]);
    const during = await look();
    expect(during.reasons).toEqual(['inventory_failing']);
    expect([during.isBeating, during.metric('inventory_failing')]).toEqual([false, 1]);
    expect(during.health.impairments[0]!.summary).toMatch(says);

    mendAll();
    await stage.minutesPass(6);
    const after = await look();
    expect([after.reasons.includes('inventory_failing'), after.isBeating]).toEqual([false, true]);
    expect(mailed('WatchImpaired', 'resolved', 0)).toHaveLength(1);
  });

  // `down` and `unauthorized` are probed each minute as well.
  test('is mailed within two minutes if a gateway answers 404 to all from then on; what was missed is told within two of its end [long]', async () => {
    await open();
    await stage.minutesPass(20);
    breakOnly({ instead: () => answer(404) });
    await stage.minutesPass(2);
    expect(await look()).toMatchObject({ reasons: ['inventory_failing'], isBeating: false });
    expect(mailed('WatchImpaired', 'firing', 0)).toHaveLength(1);
    await stage.minutesPass(18);
    expect((await look()).reasons).toContain('inventory_failing');

    eu().startFlight(birdOf(eu()), { endsAs: 'failed', fliesForMs: 1_000 });
    await stage.secondsPass(10);
    mendAll();
    await stage.minutesPass(2);
    expect(await look()).toMatchObject({ reasons: [], isBeating: true });
    expect(mailed('FlightFailed', 'firing', 0)).toHaveLength(1);
  });

  test('is only a warning if a gateway answers 404 to the list of Nests alone, and over within a minute of its end [long]', async () => {
    await open();
    await stage.minutesPass(20);
    breakOnly({ instead: ({ url }) => (isOfNests(url) ? answer(404) : undefined) });
    await stage.minutesPass(7);
    const during = await look();
    expect(during).toMatchObject({ reasons: ['inventory_failing'], isBeating: true });
    expect(during.health.impairments[0]).toMatchObject({ severity: 'warning' });
    mendAll();
    await stage.minutesPass(1);
    expect((await look()).reasons).toEqual([]);
  });

  test('is not reported if a gateway answers 404 to all for half a minute [long]', async () => {
    await open();
    await stage.minutesPass(20);
    breakOnly({ instead: () => answer(404) });
    await stage.secondsPass(30);
    mendAll();
    await stage.minutesPass(10);
    expect([stage.mails, (await look()).headline]).toEqual([[], 'All quiet']);
  });

  test('is down if a page of HTML replaces its Nests', async () => {
    const page = { status: 200, headers: { 'content-type': 'text/html' }, body: '<!doctype html><p>Welcome' };
    await open({ before: () => breakOnly({ instead: () => page }) });
    await stage.minutesPass(2);
    const during = await look();
    expect(during.reasons).toEqual(['region_down']);
    expect(during.health.impairments[0]!.summary).toMatch(/answered 200 with a body that is not JSON/);
    expect(mailed('RegionDown', 'firing', 0)).toHaveLength(1);
    expect(mailed('WatchImpaired', 'firing', 0)).toEqual([]);
  });

  test('is not reported if it refuses once at the start', async () => {
    let refusals = 0;
    await open({
      before(_world) {
        breakOnly({
          instead: ({ url }) => (isOfNests(url) && refusals++ === 0 ? answer(404) : undefined),
        });
      },
    });
    await stage.minutesPass(3);
    expect(refusals).toBeGreaterThan(1);
    expect([stage.mails, (await look()).headline]).toEqual([[], 'All quiet']);
  });

  test('is not reported if one Nest of several vanishes while it is read', async () => {
    let isGone = false;
    await open({
      before(world) {
        const { id } = world.addNest({ name: 'Passing' });
        breakOnly({
          instead: ({ url }) => {
            if (!isOfBirds(url) || !url.includes(`/${id}/`) || isGone) return undefined;
            isGone = true;
            return answer(404);
          },
        });
      },
    });
    await stage.minutesPass(3);
    expect([stage.mails, (await look()).headline]).toEqual([[], 'All quiet']);
  });
});

describe('a mail about an impaired watch', () => {
  /** So short that no alert resolves before its group is flushed. */
  const AT_ONCE = { groupWaitMs: 0, groupIntervalMs: 1_000 };
  const watchMails = (status: 'firing' | 'resolved') => mailed('WatchImpaired', status, 0);

  test('is sent about a first reading that makes events late, as FeedBehind [long]', async () => {
    await open({
      requestsPerSecond: 0.1,
      nests: { Production: Array.from({ length: 300 }, (_, at) => `Bird ${at}`) },
    });
    const mails = (status: 'firing' | 'resolved') => mailed('FeedBehind', status, 0);
    await stage.minutesPass(5);
    expect(stage.mails).toEqual([]);
    await stage.minutesPass(15);
    expect(mails('firing')).toHaveLength(1);
    await stage.regionsFollow({ requestsPerSecond: 50 });
    await stage.minutesPass(10);
    expect(mails('resolved')).toHaveLength(1);
    expect(watchMails('firing')).toEqual([]);
  });

  test('names a route without a reachable receiver, to people whom another route reaches', async () => {
    await open();
    await stage.minutesPass(10);
    await stage.follows((config) => {
      const { route } = config;
      const matchers = parseMatchers('severity="page"');
      const child = {
        ...route,
        path: '0.0',
        key: '{severity="page"}',
        matchers,
        receiver: 'nobody',
        routes: [],
      };
      return { ...config, route: { ...route, routes: [child] } };
    });
    await stage.minutesPass(1);
    expect(watchMails('firing')).toMatchObject([
      {
        labels: { reason: 'nobody_notified', region: 'all', severity: 'warning' },
        annotations: { summary: 'Receiver nobody notifies nobody' },
      },
    ]);
  });

  test('is not sent again or as resolved at a restart while the impairment lasts [long]', async () => {
    await open({ excludedNests: ['Prod*'], route: AT_ONCE });
    stage.ourClockSteps(600);
    breakOnly(LITTLE_SPACE);
    await stage.minutesPass(5);
    const reasons = new Set(watchMails('firing').map(({ labels }) => labels.reason));
    expect(reasons).toEqual(new Set(['clock_wrong', 'no_birds', 'disk_low']));
    const before = stage.mails.length;
    for (let times = 0; times < 3; times += 1) {
      await stage.restart();
      await stage.minutesPass(3);
    }
    expect(stage.mails).toHaveLength(before);
    expect(watchMails('resolved')).toEqual([]);
  });

  test('is not sent at restarts if all is well [long]', async () => {
    await open({ route: AT_ONCE });
    for (let times = 0; times < 5; times += 1) {
      await stage.minutesPass(2);
      await stage.restart();
    }
    await stage.minutesPass(70);
    expect(stage.mails).toEqual([]);
  });

  const MINUTES_TO_AND_FRO = 30;
  const MOMENTS_S = [600, 3.3, 7.7];
  test('is sent within a minute at the usual group_wait, whenever it happens [long]', async () => {
    await open({ route: { groupWaitMs: 30_000 } });
    for (const second of MOMENTS_S) {
      await stage.secondsPass(second);
      const sinceUs = stage.clock.nowUs();
      breakOnly(LITTLE_SPACE);
      await stage.minutesPass(5);
      const [first] = mailed('WatchImpaired', 'firing', sinceUs);
      expect((first!.receivedAtUs - sinceUs) / 1e6).toBeLessThanOrEqual(55);
      mendAll();
      // Long enough that the next one does not count as one that comes and goes.
      await stage.minutesPass(70);
    }
  });

  test('is not sent about a short moment, and only a few times about what comes and goes each minute [long]', async () => {
    await open({ route: AT_ONCE });
    await stage.minutesPass(10);
    // At most one judgement, whenever it comes.
    for (const second of [1, 3, 5, 7]) {
      breakOnly(LITTLE_SPACE);
      await stage.secondsPass(9);
      mendAll();
      await stage.secondsPass(120 + second);
    }
    expect(stage.mails).toEqual([]);
    for (let times = 0; times < MINUTES_TO_AND_FRO; times += 1) {
      breakOnly(times % 2 === 0 ? LITTLE_SPACE : {});
      await stage.minutesPass(1);
    }
    expect(watchMails('firing').length).toBeLessThanOrEqual(3);
    expect(watchMails('resolved').length).toBeLessThanOrEqual(2);
  });
});
