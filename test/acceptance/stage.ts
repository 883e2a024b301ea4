/**
 * The first of the two test harnesses: the whole daemon, the simulated service of each region and what people
 * receive, in one process on a virtual clock. The second, `alerting/desk.ts`, has no service. Tests that open parts
 * of nestwatch in another way say why. Nothing here knows how the daemon works: a story says what happens, and what
 * people receive.
 */
import { onTestFinished } from 'vitest';
import type { Attempt } from '../../src/channels/channel.ts';
import { openWebhooks } from '../../src/channels/webhook/webhook-channel.ts';
import type { Config } from '../../src/config/config.ts';
import { createDaemon, type Daemon, type Setup } from '../../src/daemon.ts';
import type { Feed } from '../../src/domain/alert/event.ts';
import type { Digest } from '../../src/domain/digest/digest.ts';
import type { SentReport } from '../../src/domain/digest/report-figures.ts';
import type { DigestNotification, GroupNotification } from '../../src/domain/grouping/notification.ts';
import { parseMatchers } from '../../src/domain/matchers/matcher.ts';
import type { Silence } from '../../src/domain/muting/silence.ts';
import { codeOf, NestwatchError } from '../../src/errors.ts';
import type { HttpRequest, HttpResponse } from '../../src/http/transport.ts';
import type { RegionProgress } from '../../src/region-progress.ts';
import type { Happening } from '../../src/report.ts';
import type { Behaviours } from '../../src/simulator/world/behaviours.ts';
import { seededRandom } from '../../src/simulator/world/seeded-random.ts';
import { createWorld, type World } from '../../src/simulator/world/world.ts';
import type { Store } from '../../src/store/store.ts';
import { simulatorTransport } from '../simulator/simulator-transport.ts';
import { createVirtualClock, type VirtualClock } from '../virtual-clock.ts';
import { baseUrl, type ConfigOptions, stageConfig } from './stage-config.ts';
import { createStageStore, someTurns } from './stage-store.ts';

/** A webhook call as a receiver saw it. */
export interface Call {
  readonly receivedAtUs: number;
  readonly url: string;
  readonly id: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A mail as it was handed to the mail server. */
export interface Mail {
  readonly receivedAtUs: number;
  readonly delivery: Attempt;
  readonly notification: GroupNotification;
}

export interface DigestMail {
  readonly receivedAtUs: number;
  readonly notification: DigestNotification & { readonly digest: Digest };
}

export interface StageOptions extends ConfigOptions {
  readonly regions?: readonly string[];
  readonly behaviours?: Readonly<Record<string, Partial<Behaviours>>>;
  /** How, and when, the webhook receiver answers; 200 at once by default. May throw as a transport would. */
  readonly answer?: (call: Call) => number | Promise<number>;
  /** Nests of each region, and the names of their Birds. */
  readonly nests?: Readonly<Record<string, readonly string[]>>;
  /** What starts the Birds of `nests`; events by default. */
  readonly triggerType?: 'event' | 'manual' | 'scheduled';
  /** Called with each world before the daemon starts, after its Nests were added. */
  readonly before?: (world: World) => void;
  /** A file, for stories that replace it between two lives of the daemon. */
  readonly storePath?: string;
  /** While it returns true, the store is full. */
  readonly isStoreFull?: () => boolean;
  /** The disk space that the store reports; by default that of the machine. */
  readonly space?: () => ReturnType<Store['space']>;
  /** Stands in front of each region's service: answers a request, or lets it pass, as it is or changed. */
  readonly between?: Between;
}

export type Between = (
  request: HttpRequest,
  pass: (changed?: HttpRequest) => Promise<HttpResponse>,
) => Promise<HttpResponse>;

/** An event as the lake received it. */
export interface CloudEvent {
  readonly source: string;
  readonly id: string;
  readonly type: string;
  readonly subject: string;
  readonly time: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly receivedAtUs: number;
}

export interface Stage {
  readonly clock: VirtualClock;
  readonly worlds: Readonly<Record<string, World>>;
  /** The world of the region `eu`. */
  readonly eu: World;
  /** The id of the Bird, or Nest, that has this name in a region, `eu` by default. */
  bird(name: string, region?: string): string;
  nest(name: string, region?: string): string;
  readonly calls: Call[];
  readonly mails: Mail[];
  /** The mails that are reports of a month. */
  readonly reports: (DigestNotification & { readonly digest: SentReport })[];
  /** The mails that are digests. */
  readonly digests: DigestMail[];
  /** The instants of the heartbeats. */
  readonly beats: number[];
  readonly happenings: Happening[];
  readonly store: Store;
  secondsPass(seconds: number): Promise<void>;
  minutesPass(minutes: number): Promise<void>;
  /** Keys of the events that the lake accepted, in order, including repetitions. */
  forwarded(): string[];
  /** These events as they were received. */
  lake(): CloudEvent[];
  /** The keys of all events that happened in the simulated regions, sorted. */
  truth(): string[];
  /** The keys of those that were not forwarded, and of those that were forwarded more than once. */
  lost(): string[];
  repeated(): string[];
  /** Group notifications that the hook accepted. */
  received(): Received[];
  /** The alerts in them, in order: all, or those of this name. */
  alerts(alertname?: string): ReceivedAlert[];
  /** The alerts in short: `FlightFailed firing`. */
  told(alertname?: string): string[];
  /** Silences what these matchers match, for this many minutes from now on; resolves to the id of the silence. */
  silence(matchers: string, minutes: number, change?: Partial<Silence>): Promise<string>;
  daemon(): Daemon;
  /** What the daemon says of the region `eu`, and of one of its feeds. */
  region(): RegionProgress;
  feed(feed: Feed): RegionProgress['feeds'][number];
  /** Ends the daemon's life and starts another on the same store; `between` runs while there is none. */
  restart(between?: () => Promise<void> | void): Promise<void>;
  /** The daemon continues with a changed configuration. */
  follows(change: (config: Config) => Config): Promise<void>;
  /** The same with this change of every region, or of one. */
  regionsFollow(change: Partial<Config['regions'][number]>, region?: string): Promise<void>;
  /** Sets only the daemon's clock. */
  ourClockSteps(seconds: number): void;
  /** Sets the store's retention from the next life on; 30 days until then. */
  keepsFor(days: number): void;
  /** Removes the region from the configuration of the next life. */
  drops(region: string): void;
  close(): Promise<void>;
}

/** What a receiver of the `alertmanager` format sees. */
export interface Received {
  readonly receivedAtUs: number;
  readonly id: string;
  readonly status: string;
  readonly alerts: readonly Omit<ReceivedAlert, 'receivedAtUs'>[];
}

export interface ReceivedAlert {
  readonly receivedAtUs: number;
  readonly status: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly startsAt: string;
  readonly endsAt: string;
  readonly events: readonly { readonly key: string; readonly type: string; readonly message: string }[];
  readonly events_total: number;
  readonly events_omitted: number;
}

/** A stage that closes when the test ends, unless it was closed before. */
export async function createStage(options: StageOptions = {}): Promise<Stage> {
  const stage = await openStage(options);
  onTestFinished(() => stage.close());
  return stage;
}

export async function openStage(options: StageOptions = {}): Promise<Stage> {
  const kept = createStageStore(options.storePath);
  const clock = createVirtualClock(undefined, kept.settle);
  const regions = options.regions ?? ['eu', 'us'];
  const worlds: Record<string, World> = {};
  for (const [at, region] of regions.entries()) {
    const world = createWorld({
      region,
      clock,
      random: seededRandom(100 + at),
      token: 'token',
      behaviours: options.behaviours?.[region] ?? {},
    });
    for (const [name, birds] of Object.entries(options.nests ?? {})) {
      const { id } = world.addNest({ name });
      for (const bird of birds)
        world.addBird(id, { name: bird, triggerType: options.triggerType ?? 'event' });
    }
    options.before?.(world);
    worlds[region] = world;
  }
  let config = stageConfig(regions, options);
  const calls: Call[] = [];
  const mails: Mail[] = [];
  const digests: DigestMail[] = [];
  const reports: Stage['reports'] = [];
  const beats: number[] = [];
  const happenings: Happening[] = [];
  let aheadUs = 0;
  const ours = { ...clock, nowUs: () => clock.nowUs() + aheadUs };
  const openStore = async () => {
    const file = await kept.open(ours);
    const opened = { ...file, ...(options.space && { space: options.space }) };
    const { isStoreFull } = options;
    if (!isStoreFull) return opened;
    const full = () => Promise.reject(new NestwatchError('disk_full', 'the store is full'));
    const transaction: Store['transaction'] = (work) => (isStoreFull() ? full() : opened.transaction(work));
    return { ...opened, transaction };
  };
  let store = await openStore();
  const receive = async (request: HttpRequest): Promise<HttpResponse> => {
    const id = request.headers['webhook-id'] ?? '';
    const { url, headers, body = '' } = request;
    const call = { receivedAtUs: clock.nowUs(), url, id, headers, body };
    const status = (await options.answer?.(call)) ?? 200;
    if (status < 300) calls.push(call);
    return { status, headers: {}, body: '' };
  };

  let life: { daemon: Daemon; stop: AbortController; ended: Promise<void> };
  function setup(): Setup {
    return {
      config,
      transportOf(region) {
        const service = simulatorTransport({ [baseUrl(region)]: worlds[region]! });
        const { between } = options;
        if (!between) return service;
        const pass = (request: HttpRequest) => service.send(request);
        return { ...service, send: (request) => between(request, (changed = request) => pass(changed)) };
      },
      channels: {
        webhook: openWebhooks({
          openTransport: () => ({ send: receive, close: async () => {} }),
          clock: ours,
          version: 'test',
        }),
        email: {
          async send(_integration, delivery, notification) {
            if (notification.kind === 'digest') {
              const { digest } = notification;
              if ('report' in digest) reports.push({ ...notification, digest });
              else digests.push({ receivedAtUs: clock.nowUs(), notification: { ...notification, digest } });
              return { kind: 'accepted' };
            }
            if (notification.kind !== 'group') throw new NestwatchError('usage', 'events are not mailed');
            mails.push({ receivedAtUs: clock.nowUs(), delivery, notification });
            return { kind: 'accepted' };
          },
          async close() {},
        },
      },
      watchdog: {
        async send() {
          beats.push(clock.nowUs());
          return { status: 200, headers: {}, body: '' };
        },
        async close() {},
      },
    };
  }
  function start(): void {
    const stop = new AbortController();
    const daemon = createDaemon({
      ...setup(),
      store,
      clock: ours,
      random: seededRandom(8),
      report: (happening) => {
        happenings.push(happening);
        // A bug must fail the story at once, not stay hidden in a log.
        if (happening.what === 'trouble' && codeOf(happening.error) !== 'disk_full') throw happening.error;
        if (happening.what === 'poll' && happening.failure === 'bug') throw happening.error;
      },
    });
    life = { daemon, stop, ended: daemon.run(stop.signal) };
  }
  async function end(): Promise<void> {
    life.stop.abort();
    let isOver = false;
    const ended = life.ended.finally(() => {
      isOver = true;
    });
    await clock.advance(0);
    // Pending requests are waited for, and their answers take time.
    for (let tries = 0; !isOver; tries += 1) {
      await someTurns();
      if (!isOver && tries >= MOST_TRIES) await clock.advance(1_000);
    }
    await ended;
  }

  const idOf = (records: Iterable<{ readonly id: string; readonly name: string }>, name: string) =>
    [...records].find((one) => one.name === name)!.id;
  const received = () =>
    calls
      .filter((call) => call.headers['content-type']?.startsWith('application/json'))
      .map((call) => ({
        receivedAtUs: call.receivedAtUs,
        id: call.id,
        ...(JSON.parse(call.body) as Omit<Received, 'receivedAtUs' | 'id'>),
      }));
  const alerts = (alertname?: string) =>
    received()
      .flatMap(({ receivedAtUs, alerts }) => alerts.map((alert) => ({ ...alert, receivedAtUs })))
      .filter(({ labels }) => alertname === undefined || labels.alertname === alertname);
  const lake = () =>
    calls
      .filter((call) => call.headers['content-type']?.startsWith('application/cloudevents-batch+json'))
      .flatMap(({ body, receivedAtUs }) =>
        (JSON.parse(body) as Omit<CloudEvent, 'receivedAtUs'>[]).map((event) => ({ ...event, receivedAtUs })),
      );
  const forwarded = () => lake().map(({ id }) => id);
  const truth = () =>
    Object.values(worlds)
      .flatMap((world) => world.truth().events.map(({ key }) => key))
      .sort();
  const region = () => life.daemon.regions().find((one) => one.region === 'eu')!;
  async function follows(change: (config: Config) => Config): Promise<void> {
    config = change(config);
    let isFollowed = false;
    const following = life.daemon.follow(setup()).then(() => {
      isFollowed = true;
    });
    await clock.advanceUntil(() => isFollowed, 60_000);
    await following;
  }
  let isClosed = false;

  start();
  await clock.advance(0);
  return {
    clock,
    worlds,
    get eu() {
      return worlds.eu!;
    },
    bird: (name, region = 'eu') => idOf(worlds[region]!.birds.values(), name),
    nest: (name, region = 'eu') => idOf(worlds[region]!.nests.values(), name),
    calls,
    mails,
    digests,
    reports,
    beats,
    happenings,
    get store() {
      return store;
    },
    secondsPass: (seconds) => clock.advance(seconds * 1000),
    minutesPass: (minutes) => clock.advance(minutes * 60_000),
    forwarded,
    lake,
    truth,
    lost() {
      const seen = new Set(forwarded());
      return truth().filter((key) => !seen.has(key));
    },
    repeated() {
      const seen = new Set<string>();
      return forwarded().filter((key) => seen.size === seen.add(key).size);
    },
    received,
    alerts,
    told: (alertname) => alerts(alertname).map(({ labels, status }) => `${labels.alertname} ${status}`),
    region,
    feed: (feed) => region().feeds.find((one) => one.feed === feed)!,
    async silence(matchers, minutes, change = {}) {
      const nowUs = ours.nowUs();
      const silence: Silence = {
        id: `00000000-0000-4000-8000-${String(nowUs).slice(-12)}`,
        matchers: parseMatchers(matchers),
        startsAtUs: nowUs,
        endsAtUs: nowUs + minutes * 60e6,
        updatedAtUs: nowUs,
        createdBy: 'ann',
        comment: 'we know',
        recurrence: null,
        alertId: null,
        alertStartsAtUs: null,
        ...change,
      };
      await store.transaction((tx) => tx.silences.put([silence]));
      return silence.id;
    },
    daemon: () => life.daemon,
    ourClockSteps(seconds) {
      aheadUs += seconds * 1e6;
    },
    keepsFor(days) {
      config = { ...config, store: { ...config.store, retentionMs: days * 86_400_000 } };
    },
    drops(region) {
      config = { ...config, regions: config.regions.filter(({ name }) => name !== region) };
    },
    follows,
    regionsFollow: (change, region) =>
      follows((config) => ({
        ...config,
        regions: config.regions.map((one) =>
          region === undefined || one.name === region ? { ...one, ...change } : one,
        ),
      })),
    async restart(between) {
      await end();
      if (kept.isLasting) await store.close();
      await between?.();
      if (kept.isLasting) store = await openStore();
      start();
      await clock.advance(0);
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      await end();
      await store.close();
    },
  };
}

/** If a life has not ended after this many attempts of several turns, time must pass. */
const MOST_TRIES = 10;
