/**
 * One hostile world from one seed: the daemon and its page on a virtual clock, a region or a Bird with altered
 * responses, strangers who send nonsense to the page, and two honest Birds. Whatever the hostile part does, the
 * failures of the honest Birds must be notified in time, no turn of the event loop may be long, and whatever leaves
 * nestwatch must be nothing but text.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { OpenChannels } from '../../src/channels/channel.ts';
import { mailMessage } from '../../src/channels/email/mail-message.ts';
import { closeChannels, openChannels } from '../../src/channels/registry.ts';
import type { Config } from '../../src/config/config.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { createServiceLinks } from '../../src/config/sections/regions-section.ts';
import { createDaemon, type Daemon } from '../../src/daemon.ts';
import { createDeliveryMessages } from '../../src/delivery/delivery-message.ts';
import { knownMatcher } from '../../src/domain/matchers/matcher.ts';
import type { Transport } from '../../src/http/transport.ts';
import { createLog, type Log } from '../../src/observe/log.ts';
import { createMetrics } from '../../src/observe/metrics.ts';
import { createAcknowledgeLinks } from '../../src/operator/acknowledge-link.ts';
import type { Happening } from '../../src/report.ts';
import { secret } from '../../src/secret.ts';
import { OPERATIONS } from '../../src/service/operations.ts';
import { forked, pick, seededRandom } from '../../src/simulator/world/seeded-random.ts';
import { createWorld, type World } from '../../src/simulator/world/world.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import type { Random } from '../../src/time/clock.ts';
import { openWeb, type Web } from '../../src/web/server.ts';
import { baseUrl } from '../acceptance/stage-config.ts';
import { NOTHING } from '../observe/scraped.ts';
import { simulatorTransport } from '../simulator/simulator-transport.ts';
import { createVirtualClock, type VirtualClock } from '../virtual-clock.ts';
import { anAlert, anEvent, aStatus, putAlert } from '../web/sample.ts';
import { type Medium, mistakeIn } from './check-text.ts';
import type { Excess } from './excess.ts';
import { hostileArguments, runHostile } from './hostile-commands.ts';
import { hostileConfig, mistakeOfLoading } from './hostile-config.ts';
import { type Answer, type HostileRequest, hostileRequest, send } from './hostile-requests.ts';
import { fitting, type HostileService, hostileService } from './hostile-service.ts';
import { EXECUTED } from './hostile-values.ts';
import { createLoopMeter, type LoopMeter } from './loop-meter.ts';

export interface RunOptions {
  /**
   * Includes what takes seconds: texts of megabytes, pages of millions of items, a file as store, a second life of
   * the daemon.
   */
  readonly isLarge: boolean;
  /** Instead of everything else that is hostile: input beyond this limit. */
  readonly excess?: Exclude<Excess, { of: 'beside' }>;
  /** Receives every happening, for debugging. */
  readonly watch?: (happening: Happening) => void;
}

export interface Outcome {
  readonly seed: number;
  readonly findings: readonly string[];
  /** Processor time of the longest turn of the event loop. */
  readonly longestTurnMs: number;
}

/** A longer turn would delay everything else for too long. */
export const LONGEST_TURN_MS = 200;
const LONG_TURN = 'a turn of the event loop took';
/** From the start of an honest Bird's Flight to every receiver: a poll, the group's wait, and an attempt. */
const TOLD_WITHIN_MS = 120_000;
/** A process that was asked to stop is killed after this time. */
const STOP_WITHIN_MS = 8_000;
/** Of one answer. */
const MOST_SLICES = 5_000;
/** Processor time for one response, over several turns, whatever is requested. */
const LONGEST_ANSWER_MS = 3_000;
const MOST_MESSAGE_BYTES = 2 ** 20;
const LATENT_MS = 20_000;
/** Real time: whatever is refused of many connections is closed by then. */
const SETTLED_MS = 2_000;
/** For a page of events of the greatest length. */
const LARGEST_PAGE_BYTES = 10 * 2 ** 20;
const FLIGHT_MS = 3_000;
const STEP_MS = 1_000;
/** By then every stream of the region has received it. */
const EXCESS_MS = 150_000;
const MOST_SILENCES = 1_050;
const MOST_ACKNOWLEDGEMENTS = 10_000;
const MOST_CONNECTIONS = 300;
const MOST_FLIGHT_SECONDS = 5e8;
const MOST_STORED_BYTES = 48 * 2 ** 20;
const PAGES = ['/', '/metrics', '/api/v1/events', '/api/v2/alerts', '/api/v2/silences', '/api/v1/birds'];

const CONFIG_TEXT = `
regions:
  eu: { base_url: "${baseUrl('eu')}", token: token, requests_per_second: 20 }
  us: { base_url: "${baseUrl('us')}", token: token, requests_per_second: 20 }
store: { url: "sqlite::memory:" }
poll: { interval: 20s, inventory_interval: 1m, audit_interval: 2m }
global: { smtp_smarthost: "mail.example:25", smtp_from: nestwatch@example.com }
receivers:
  - name: ops
    email_configs: [{ to: ops@example.com }, { to: own@example.com, headers: { Subject: "{{ title }} {{ commonLabels.bird }}" } }]
    webhook_configs: [{ url: "http://receiver.example/hook" }]
    slack_configs: [{ api_url: "https://receiver.example/slack", text: "{{ alerts | map: 'labels' | map: 'bird' | join: ' ' }}" }]
    msteamsv2_configs: [{ webhook_url: "https://receiver.example/teams" }]
    pagerduty_configs: [{ routing_key: 0123456789abcdef0123456789abcdef, url: "https://receiver.example/pagerduty" }]
    alertmanager_configs: [{ url: "http://receiver.example/alertmanager" }]
  - name: lake
    webhook_configs: [{ url: "http://receiver.example/lake", format: cloudevents }]
route: { receiver: ops, group_by: [alertname, region, nest, bird], group_wait: 5s, group_interval: 20s }
forward: [{ receiver: lake }]
digests: [{ name: hostile, cron: "*/5 * * * *", timezone: UTC, receiver: ops }]
web: { listen: "127.0.0.1:0" }
`;

const CONFIG = loadConfig({ file: 'hostile.yaml', text: CONFIG_TEXT, environment: {}, readFile: () => '' });

/** The world of a seed. If only its turns were too long, it is run again: the machine may have been busy. */
export async function runSeed(seed: number, options: RunOptions): Promise<Outcome> {
  const outcome = await runOnce(seed, options);
  const isSlowOnly =
    outcome.findings.length > 0 && outcome.findings.every((one) => one.startsWith(LONG_TURN));
  return isSlowOnly ? runOnce(seed, options) : outcome;
}

/** The command that repeats it. */
export function commandOf(seed: number, { isLarge }: Pick<RunOptions, 'isLarge'>): string {
  return `node test/hostile/hostile.ts --seed ${seed}${isLarge ? ' --large' : ''}`;
}

async function runOnce(seed: number, options: RunOptions): Promise<Outcome> {
  const world = new HostileWorld(seed, options);
  try {
    await world.open();
    await world.run();
  } finally {
    await world.close();
  }
  return { seed, findings: world.findings, longestTurnMs: world.longestTurnMs };
}

class HostileWorld {
  readonly findings: string[] = [];
  longestTurnMs = 0;
  readonly #random: Random;
  readonly #options: RunOptions;
  readonly #clock: VirtualClock;
  readonly #config: Config = CONFIG;
  readonly #worlds: Readonly<Record<string, World>>;
  readonly #meter: LoopMeter = createLoopMeter();
  readonly #service: HostileService;
  /** Names of the Birds whose failures arrived, by channel. */
  readonly #seen = new Map<string, Set<string>>();
  /** For worlds in which the size of the store matters. */
  readonly #file: string | undefined;
  #store!: Store;
  #web!: Web;
  #channels!: OpenChannels;
  readonly #log: Log;
  #life!: { readonly daemon: Daemon; readonly stop: AbortController; readonly ended: Promise<void> };
  #metrics!: ReturnType<typeof createMetrics>;

  constructor(seed: number, options: RunOptions) {
    this.#random = seededRandom(Math.imul(seed, 0x9e3779b1) ^ 0x40571);
    this.#options = options;
    this.#clock = createVirtualClock(undefined, options.isLarge ? manyTurns : undefined);
    this.#log = createLog({
      level: 'info',
      format: 'json',
      stream: {
        write: (line) => this.#meter.apart(() => this.#checkText('log', 'a line of the log', line.trimEnd())),
      },
      clock: this.#clock,
    });
    this.#worlds = { eu: this.#newWorld('eu'), us: this.#newWorld('us') };
    const random = this.#random;
    const { eu } = this.#worlds;
    const [victim] = [...eu!.birds.values()];
    const { isLarge } = options;
    if (isLarge) this.#file = join(mkdtempSync(join(tmpdir(), 'nestwatch-hostile-')), 'store.db');
    this.#service = {
      share: pick(random, [0.05, 0.3, 1]),
      ...(random() < 0.5 && { birdId: victim!.id }),
      mostCharacters: isLarge ? pick(random, [1000, 100_000, 10_000_000]) : pick(random, [300, 20_000]),
      mostItems: isLarge ? pick(random, [1000, 100_000, 5_000_000]) : pick(random, [100, 2000]),
    };
  }

  /** Two Birds: the first may become hostile and is always active; the second is honest. */
  #newWorld(region: string): World {
    const clock = this.#clock;
    const world = createWorld({
      region,
      clock,
      random: forked(this.#random),
      token: 'token',
      behaviours: {},
    });
    const nest = world.addNest({ name: `Nest of ${region}` });
    const victim = world.addBird(nest.id, { name: `Busy ${region}`, triggerType: 'event' });
    world.addBird(nest.id, { name: `Honest ${region}`, triggerType: 'manual' });
    world.every(30_000, () => {
      world.startFlight(victim.id, { fliesForMs: 5_000, endsAs: 'failed', errorMessages: 'busy' });
      world.eventError(victim.id);
      world.save(victim.id);
      world.appendNotification({
        nestId: nest.id,
        fields: { entityId: Number(victim.id), entityName: 'busy' },
      });
    });
    return world;
  }

  async open(): Promise<void> {
    const clock = this.#clock;
    this.#store = await openSqliteStore({ path: this.#file ?? ':memory:', clock });
    const config = this.#config;
    this.#metrics = createMetrics({
      version: 'hostile',
      revision: '',
      nodeVersion: '',
      clock,
      regions: config.regions.map(({ name }) => name),
      operations: OPERATIONS.map(({ id }) => id),
      receivers: config.receivers,
      rules: config.rules,
      longestTurnMs: () => 0,
      collect: async () => NOTHING,
      processMetrics: false,
    });
    const links = createAcknowledgeLinks(secret('a key'), config.web.externalUrl);
    let ids = 0;
    this.#start();
    this.#web = await openWeb({
      openFiles: 4096,
      config: config.web,
      alerting: config,
      store: this.#store,
      status: () => aStatus({ version: 'hostile', startedAtUs: 0, regions: this.#life.daemon.regions() }),
      metrics: (format) => this.#metrics.render(format),
      health: () => ({ healthy: true, working: true, ready: true, reasons: [] }),
      impairments: () => this.#life.daemon.health(),
      links,
      browsers: { publicKey: '', receivers: new Map() },
      flightLog: (place) => this.#life.daemon.flightLog(place),
      serviceLinks: createServiceLinks(config.regions),
      messages: createDeliveryMessages(config.receivers, config.web, () => `test-${String(++ids)}`),
      newId: () => `00000000-0000-4000-8000-${String(++ids).padStart(12, '0')}`,
      changed: () => this.#life.daemon.wake(),
      probe: (region) => this.#life.daemon.probe(region),
      reload: async () => ({ mistakes: [], needsRestart: [] }),
      // The time limit of a request counts real time.
      clock: { ...clock, monotonicMs: () => performance.now() },
      report: (one) => this.#hear(one),
    });
  }

  #start(): void {
    const clock = this.#clock;
    const random = forked(this.#random);
    const config = this.#config;
    this.#channels = this.#openChannels();
    const stop = new AbortController();
    const daemon = createDaemon({
      config,
      store: this.#store,
      transportOf: (region) => this.#transportOf(region, forked(random)),
      channels: this.#channels,
      links: createAcknowledgeLinks(secret('a key'), config.web.externalUrl),
      clock,
      random,
      report: (one) => this.#hear(one),
    });
    const ended = daemon.run(stop.signal).catch((error) => {
      this.#find(`the daemon ended: ${stackOf(error)}`);
    });
    this.#life = { daemon, stop, ended };
  }

  #transportOf(region: string, random: Random): Transport {
    const inner = simulatorTransport({ [baseUrl(region)]: this.#worlds[region]! });
    const { timeoutMs } = this.#config.regions[0]!;
    const parts = { clock: this.#clock, random, timeoutMs, apart: this.#meter.apart };
    const { excess } = this.#options;
    if (region !== 'eu' || (excess && excess.of !== 'answers')) return inner;
    return excess ? excessive(inner, excess, this.#meter) : hostileService(inner, this.#service, parts);
  }

  /** Mails are built but not sent; everything else goes through a transport that accepts it. */
  #openChannels(): OpenChannels {
    const channels = openChannels({
      clock: this.#clock,
      version: 'hostile',
      openTransport: () => ({
        send: async ({ url, body = '' }) => {
          this.#meter.apart(() => this.#checkMessage(new URL(url).pathname.split('/')[1]!, body));
          return { status: 200, headers: {}, body: 'ok' };
        },
        close: async () => {},
      }),
    });
    return {
      ...channels,
      email: {
        send: async (integration, _attempt, notification, externalUrl) => {
          if (notification.kind === 'forward') return { kind: 'nothing', why: 'events are not mailed' };
          const { templates } = integration as { readonly templates?: Parameters<typeof mailMessage>[2] };
          const mail = mailMessage(notification, externalUrl, templates);
          this.#meter.apart(() => {
            this.#checkText('header', 'the subject of a mail', mail.subject);
            this.#checkText('html', 'the HTML of a mail', mail.html);
            this.#checkText('text', 'the text of a mail', mail.text);
            this.#note('mail', mail.subject + mail.text);
          });
          return { kind: 'accepted' };
        },
        close: async () => {},
      },
    };
  }

  get #mostBytes(): number {
    const { excess } = this.#options;
    if (excess?.of === 'unread answers') return LARGEST_PAGE_BYTES;
    return excess?.of === 'requests' ? (excess.mostBytes ?? MOST_MESSAGE_BYTES) : MOST_MESSAGE_BYTES;
  }

  #checkMessage(way: string, body: string): void {
    const medium = way === 'slack' || way === 'teams' ? way : 'json';
    this.#checkText('json', `a message to ${way}`, body);
    if (medium !== 'json') this.#checkText(medium, `a message to ${way}`, markupOf(body).join('\n'));
    this.#note(way, body);
  }

  #checkText(medium: Medium, what: string, text: string): void {
    if (Buffer.byteLength(text) > this.#mostBytes)
      this.#find(`${what} is too large: ${text.length} characters`);
    const mistake = mistakeIn(medium, text);
    if (mistake) this.#find(`${what}: ${mistake}`);
  }

  #note(way: string, text: string): void {
    for (const region of ['eu', 'us']) {
      if (!text.includes(`Honest ${region}`)) continue;
      const seen = this.#seen.get(region) ?? new Set();
      this.#seen.set(region, seen.add(way));
    }
  }

  #hear(happening: Happening): void {
    this.#options.watch?.(happening);
    this.#metrics.report(happening);
    this.#log.report(happening);
    if (happening.what === 'trouble')
      this.#find(`trouble of ${happening.stage}: ${stackOf(happening.error)}`);
    if (happening.what === 'poll' && happening.failure === 'bug')
      this.#find(`a poll failed: ${stackOf(happening.error)}`);
  }

  #find(what: string): void {
    this.findings.push(what);
  }

  async run(): Promise<void> {
    const { isLarge, excess } = this.#options;
    await this.#pass(LATENT_MS);
    const strangers = [() => this.#visit(), () => this.#configure(), () => this.#command()];
    if (excess) await this.#exceed(excess);
    else for (const come of isLarge ? strangers : [pick(this.#random, strangers)]) await come();
    await this.#honestBirdsFail();
    await this.#stops();
    if (isLarge) {
      // What is stored by now must not stop a next life of the daemon either.
      this.#seen.clear();
      this.#start();
      await this.#honestBirdsFail();
      await this.#stops();
    }
    await this.#looksStored();
    for (const path of isLarge ? PAGES : [pick(this.#random, PAGES)]) await this.#read(path);
    if (Object.hasOwn(globalThis, EXECUTED)) this.#find('a text was executed');
    const polluted = Object.keys(Object.prototype);
    if (polluted.length > 0) this.#find(`the prototype of all objects was changed: ${polluted.join()}`);
  }

  /** Lets time pass, and checks that no turn of the event loop is long. */
  async #pass(ms: number, isDone = () => false): Promise<boolean> {
    const untilUs = this.#clock.nowUs() + ms * 1000;
    while (!isDone() && this.#clock.nowUs() < untilUs) await this.#clock.advance(STEP_MS);
    this.#measure('time passed');
    return isDone();
  }

  #measure(during: string): void {
    const turnMs = this.#meter.longestMs();
    this.longestTurnMs = Math.max(this.longestTurnMs, turnMs);
    if (turnMs > LONGEST_TURN_MS) this.#find(`${LONG_TURN} ${Math.round(turnMs)} ms: ${during}`);
  }

  async #visit(): Promise<void> {
    for (let count = 0; count < 3; count += 1) await this.#ask(hostileRequest(this.#random, this.#web.url));
  }

  async #exceed(excess: NonNullable<RunOptions['excess']>): Promise<void> {
    if (excess.of === 'answers') return this.#pass(EXCESS_MS).then(() => {});
    if (excess.of === 'configuration') {
      const text = this.#meter.apart(excess.text);
      return this.#load(text);
    }
    if (excess.of === 'connections') return this.#connect(excess.count);
    if (excess.of === 'unread answers') return this.#leaveUnread(excess.count);
    await this.#acknowledgeMany(excess.acknowledged ?? 0);
    for (let at = 0; at < (excess.alerts ?? 0); at += 1) {
      const labels = { ...anAlert({ id: '' }).labels, region: 'us', bird: `${at} `.padEnd(400, 'x') };
      await this.#meter.apart(() =>
        putAlert(this.#store, anAlert({ id: `long-${at}`, scope: `us/bird/${at}`, labels })),
      );
    }
    for (let at = 0; at < excess.count; at += 1) {
      const asked = this.#meter.apart(() => excess.request(at));
      await this.#ask(asked);
    }
  }

  /** As if they had been acknowledged one after another. */
  async #acknowledgeMany(count: number): Promise<void> {
    const nowUs = this.#clock.nowUs();
    const silences = Array.from({ length: count }, (_, at) => ({
      id: `acknowledged-${at}`,
      matchers: [knownMatcher({ name: 'bird', op: '=', value: `gone ${at}` })],
      startsAtUs: nowUs,
      endsAtUs: nowUs + 86_400_000_000,
      updatedAtUs: nowUs,
      createdBy: 'x',
      comment: 'x',
      recurrence: null,
      alertId: `gone-${at}`,
      alertStartsAtUs: nowUs,
    }));
    await this.#meter.apart(() => this.#store.transaction((tx) => tx.silences.put(silences)));
  }

  /** Opens connections that send nothing, and checks how many of them are kept. */
  async #connect(count: number): Promise<void> {
    const { hostname, port } = new URL(this.#web.url);
    const sockets = Array.from({ length: count }, () => connect(Number(port), hostname));
    for (const socket of sockets) socket.on('error', () => {}).resume();
    await new Promise((resolve) => setTimeout(resolve, SETTLED_MS));
    const open = sockets.filter((socket) => socket.readyState === 'open').length;
    for (const socket of sockets) socket.destroy();
    if (open > MOST_CONNECTIONS) this.#find(`${open} connections were open at once`);
    this.#measure('connections were opened');
  }

  /** Requests large responses and reads none of them; checks whether others still get a response. */
  async #leaveUnread(count: number): Promise<void> {
    const nowUs = this.#clock.nowUs();
    await this.#meter.apart(() =>
      this.#store.transaction(async (tx) => {
        const { stream } = await tx.streams.open('us', 'notification', '');
        const message = 'x'.repeat(32_000);
        const events = Array.from({ length: 300 }, (_, at) =>
          anEvent({ id: `unread${at}`, region: 'us', message, occurredAtUs: nowUs + at }),
        );
        await tx.events.insert(stream, events);
      }),
    );
    const { hostname, port } = new URL(this.#web.url);
    const sockets = Array.from({ length: count }, () => connect(Number(port), hostname));
    const head = `GET /api/v1/events?limit=1000 HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`;
    for (const socket of sockets)
      socket
        .on('error', () => {})
        .pause()
        .write(head);
    let status = 0;
    for (let tries = 0; tries < 20 && status !== 503; tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, SETTLED_MS));
      ({ status } = await send(this.#web.url, { method: 'GET', path: '/', headers: {} }));
    }
    for (const socket of sockets) socket.destroy();
    if (status !== 503) this.#find(`${count} large answers waited to be read`);
    await new Promise((resolve) => setTimeout(resolve, SETTLED_MS));
  }

  async #configure(): Promise<void> {
    await this.#load(this.#meter.apart(() => hostileConfig(this.#random)));
  }

  async #load(text: string): Promise<void> {
    const mistake = mistakeOfLoading(text);
    if (mistake) this.#find(`a configuration: ${mistake}`);
    await turn();
    this.#measure('a configuration was read');
  }

  async #command(): Promise<void> {
    const args = hostileArguments(this.#random, this.#web.url);
    const { exit, output } = await runHostile(this.#clock, args);
    const shown = `nestwatch ${args.map((one) => JSON.stringify(one.slice(0, 100))).join(' ')}`;
    if (exit < 0 || exit > 4) this.#find(`${shown} ended with ${exit}`);
    if (output.includes('this should not happen')) this.#find(`${shown}: ${output}`);
    this.#checkText('text', shown, output);
    this.#measure(shown);
  }

  async #ask(asked: HostileRequest): Promise<Answer> {
    const since = process.threadCpuUsage();
    const answer = await this.#meter.apart(() => send(this.#web.url, asked));
    const { user, system } = process.threadCpuUsage(since);
    const shown = `${asked.method} ${asked.path.slice(0, 300)} ${asked.body?.slice(0, 500) ?? ''}`;
    const { status, contentType, body } = answer;
    const tookMs = (user + system) / 1000;
    if (tookMs > LONGEST_ANSWER_MS) this.#find(`${shown} took ${Math.round(tookMs)} ms of processor time`);
    if (status >= 500 && status !== 501) this.#find(`${shown} was answered with ${status}`);
    if (contentType.includes('html')) this.#checkText('html', shown, body);
    else if (contentType.includes('json')) this.#checkText('json', shown, body);
    else if (asked.path.startsWith('/metrics')) this.#checkText('metrics', shown, body);
    else this.#checkText('text', shown, body);
    this.#measure(shown);
    return answer;
  }

  async #honestBirdsFail(): Promise<void> {
    const isOnlyOfOneBird = this.#service.birdId !== undefined && this.#options.excess?.of !== 'answers';
    const regions = isOnlyOfOneBird ? ['eu', 'us'] : ['us'];
    for (const region of regions) {
      const world = this.#worlds[region]!;
      const honest = [...world.birds.values()][1]!;
      world.startFlight(honest.id, { fliesForMs: FLIGHT_MS, endsAs: 'failed', errorMessages: 'honest' });
    }
    const missing = (region: string) => WAYS.filter((way) => !this.#seen.get(region)?.has(way));
    if (await this.#pass(TOLD_WITHIN_MS, () => regions.every((region) => missing(region).length === 0)))
      return;
    for (const region of regions) {
      const ways = missing(region).join(', ');
      if (ways) this.#find(`the failure of the honest Bird of ${region} did not reach ${ways}`);
    }
  }

  async #looksStored(): Promise<void> {
    const silences = await this.#store.transaction((tx) => tx.silences.list());
    const plain = silences.filter(({ alertId }) => alertId === null).length;
    if (plain > MOST_SILENCES) this.#find(`${plain} silences are stored`);
    const acknowledged = silences.length - plain;
    if (acknowledged > MOST_ACKNOWLEDGEMENTS) this.#find(`${acknowledged} acknowledgements are stored`);
    if (!this.#file) return;
    const bytes = ['', '-wal'].reduce(
      (sum, end) => sum + (statSync(`${this.#file}${end}`, { throwIfNoEntry: false })?.size ?? 0),
      0,
    );
    if (bytes > MOST_STORED_BYTES) this.#find(`${bytes} bytes are stored`);
  }

  async #read(path: string): Promise<void> {
    const { status, body } = await this.#ask({ method: 'GET', path, headers: {} });
    for (const [, seconds] of body.matchAll(/^nestwatch_flight_duration_seconds_sum\{.*\} (\S+)$/gm))
      if (Number(seconds) > MOST_FLIGHT_SECONDS) this.#find(`Flights took ${seconds} s in all`);
    if (status !== 200) this.#find(`${path} was answered with ${status}`);
  }

  /** As in the real process, what waits for a slow response is abandoned after a while. */
  async #stops(): Promise<void> {
    const { stop, ended } = this.#life;
    stop.abort();
    let isOver = false;
    void ended.then(() => {
      isOver = true;
    });
    const { timeoutMs } = this.#config.regions[0]!;
    const isOverInTime = () => this.#pass(timeoutMs + STOP_WITHIN_MS, () => isOver);
    // Virtual time does not wait for what is parsed in slices, each in a turn of the event loop.
    if (!(await isOverInTime())) for (let turns = 0; turns < MOST_SLICES && !isOver; turns += 1) await turn();
    if (!(await isOverInTime())) this.#find('the daemon does not stop');
    await closeChannels(this.#channels);
  }

  async close(): Promise<void> {
    this.#life.stop.abort();
    this.#meter.stop();
    await this.#web.close();
    await this.#store.close();
    if (this.#file) rmSync(dirname(this.#file), { recursive: true });
  }
}

/** A region whose responses exceed a limit. What the real transport would refuse is refused here as well. */
function excessive(
  inner: Transport,
  excess: Extract<Excess, { of: 'answers' }>,
  { apart }: LoopMeter,
): Transport {
  return {
    ...inner,
    async send(request) {
      const response = await inner.send(request);
      return excess.path.test(request.url)
        ? fitting(
            request,
            apart(() => excess.alter(response)),
          )
        : response;
    },
  };
}

/** Every alert is sent through each of them. */
const WAYS = ['mail', 'hook', 'slack', 'teams', 'pagerduty', 'alertmanager', 'lake'];

/** All texts in a JSON value except those that Slack shows as they are. */
function markupOf(body: string): string[] {
  const texts: string[] = [];
  JSON.parse(body, function look(this: Readonly<Record<string, unknown>>, _key, value) {
    if (typeof value === 'string' && this.type !== 'plain_text') texts.push(value);
    return value;
  });
  return texts;
}

/** Lets what is read in slices be read before time goes on. */
async function manyTurns(): Promise<void> {
  for (let count = 0; count < 50; count += 1) await turn();
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
