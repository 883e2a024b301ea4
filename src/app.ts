/** Assembles a running daemon: store, log, metrics, page, channels and transports. */
import { randomBytes, randomUUID } from 'node:crypto';
import { lookup } from 'node:dns';
import { browserReceivers, newPushKeys, readPushKeys } from './channels/browser/browser-channel.ts';
import type { Browsers } from './channels/channel.ts';
import { closeChannels, openChannels } from './channels/registry.ts';
import { hasButtons } from './channels/slack/slack-channel.ts';
import type { Config } from './config/config.ts';
import { createServiceLinks } from './config/sections/regions-section.ts';
import { createDaemon, type Daemon, type Setup } from './daemon.ts';
import { createDeliveryMessages } from './delivery/delivery-message.ts';
import { HEARTBEAT_TIMEOUT_MS } from './delivery/heartbeat.ts';
import { countSilences } from './domain/muting/silence.ts';
import { codeOf, NestwatchError } from './errors.ts';
import { openAuthorizedTransport } from './http/authorized-transport.ts';
import { createBytesInFlight } from './http/http-exchange.ts';
import { createLookUp, type LookUp } from './http/look-up.ts';
import { openTransport } from './http/transport.ts';
import { LIMITS } from './limits.ts';
import { createLog, type Log, type LogLevel } from './observe/log.ts';
import { createLoopWatch } from './observe/loop-watch.ts';
import { type Collected, createMetrics } from './observe/metrics.ts';
import { type AcknowledgeLinks, createAcknowledgeLinks } from './operator/acknowledge-link.ts';
import type { Edge } from './process-io.ts';
import { createReloading, type ReloadOutcome } from './reload.ts';
import type { Happening, Report } from './report.ts';
import { type Secret, secret } from './secret.ts';
import { OPERATIONS } from './service/operations.ts';
import { openStore, type StoreOptions } from './store/open-store.ts';
import type { OpenStore, Store } from './store/store.ts';
import type { Step } from './store/versions/steps.ts';
import { tableChanges } from './store/versions/table-changes.ts';
import { exactTime } from './text/instant-words.ts';
import { type Clock, sleep } from './time/clock.ts';
import { VERSION } from './version.ts';
import type { createOidc } from './web/access/oidc.ts';
import { openFilesAllowed } from './web/connections.ts';
import { type Door, openDoor, type Web } from './web/server.ts';

/** The size limit of the watchdog's response, of which only the status matters. */
const MAX_WATCHDOG_BYTES = 1024 * 1024;

/** How long a start waits for the server of the store, which may be failing over, or for whoever has locked its file. */
const START_PATIENCE_MS = 120_000;

/** The most previously set-aside faults that are reported at the start. */
const REPORTED_FAULTS = 20;

/**
 * Errors that end the process. After an I/O error the state of the disk is unknown, and this version does not know
 * what another one did to the tables.
 */
const FATAL: ReadonlySet<string> = new Set(['store_failed', 'store_newer', 'store_other']);

/** Prunes soon after the start, for who restarts often, and then once an hour, whatever the wall clock says. */
const FIRST_PRUNE_MS = 600_000;
const PRUNE_EVERY_MS = 3_600_000;

export interface App {
  readonly daemon: Daemon;
  readonly log: Log;
  /** Address of the page, with the actual port. */
  readonly url: string;
  /** Reads the configuration again while the daemon runs. Never rejects. */
  reload(): Promise<ReloadOutcome>;
  /** Rejects when the store can no longer be trusted and the process must end. */
  readonly fatal: Promise<never>;
  /**
   * Closes what was opened, in reverse order, once the daemon has ended or its time to do so is over. Transactions
   * that a daemon begins after that are rejected with `cancelled`.
   */
  close(): Promise<void>;
}

interface AppOptions {
  readonly config: Config;
  /** Whether other processes may use the store at the same time; only a store on a server can be shared. */
  readonly isShared?: boolean;
  /** Reads the configuration again; throws `ConfigError` with every mistake. Without it a reload is refused. */
  readonly readAgain?: () => Config | Promise<Config>;
  /** The secrets whose file cannot be read again, by key, and why; their last values stay in use. */
  readonly unreadSecrets?: () => ReadonlyMap<string, string>;
  /** Called when a reloaded configuration is in force. */
  readonly applied?: (config: Config) => void;
  readonly logLevel: LogLevel;
  readonly logFormat: 'json' | 'pretty';
  /** Receives every report as well. */
  readonly listener?: Report;
  /** Ends the opening. Whoever runs the daemon ends what follows. */
  readonly signal?: AbortSignal;
  /** Changes the tables in a file by another process. */
  readonly migrateElsewhere?: (path: string) => Promise<void>;
  /** The steps to the newest version of the tables; those of this version by default. */
  readonly steps?: readonly Step[] | undefined;
}

/**
 * Listens before it opens the store, which may take long when its tables are changed: whoever supervises the process
 * learns that it works. Throws `cancelled` if `signal` aborts meanwhile.
 */
export async function openApp(edge: Edge, options: AppOptions): Promise<App> {
  const log = openLog(edge, options, () => report({ what: 'limit_reached', limit: 'unread_log_bytes' }));
  let report: Report = log.report;
  const opening = createOpening(edge.clock);
  const door = await openDoor(
    {
      config: options.config.web,
      openFiles: openFilesAllowed(),
      clock: edge.clock,
      report: (happening) => report(happening),
    },
    opening.sentence,
  );
  try {
    const opened = await openStoreUnless(edge, options, {
      changing(change) {
        opening.waitsFor('changing tables');
        log.info('The tables of the store are being changed', {
          ...change,
          changes: tableChanges(change.from),
        });
      },
      away(error) {
        if (options.config.store.postgres) {
          opening.waitsFor('waiting for its server');
          log.warn('The server of the store is away; the start waits for it', { error });
        } else {
          opening.waitsFor('waiting for another program that has locked it');
          log.warn('Another program has locked the store; the start waits for it', { error });
        }
      },
    });
    const app = await assemble(edge, options, log, opened, door);
    report = app.report;
    return app;
  } catch (error) {
    if (codeOf(error) === 'cancelled') log.info('nestwatch has stopped');
    await door.close();
    throw error;
  }
}

/** What the process says while it opens the store. */
function createOpening({ nowUs }: Clock) {
  const since = exactTime(nowUs());
  let what = '';
  return {
    waitsFor(reason: string) {
      what = `: ${reason}`;
    },
    sentence: () => `The store is being opened${what}, since ${since}.`,
  };
}

/** Opens the store, unless `signal` aborts before it is open. */
async function openStoreUnless(
  { clock }: Edge,
  { config, isShared = false, signal, migrateElsewhere, steps }: AppOptions,
  happened: Pick<StoreOptions, 'changing' | 'away'>,
): Promise<OpenStore> {
  const cancelled = Promise.withResolvers<never>();
  const cancel = () =>
    cancelled.reject(new NestwatchError('cancelled', 'nestwatch was stopped while it opened the store'));
  if (signal?.aborted) cancel();
  signal?.addEventListener('abort', cancel);
  const opening = openStore({
    ...{ ...config.store, ...happened, clock, isShared, migrateElsewhere, steps },
    patienceMs: START_PATIENCE_MS,
  });
  try {
    return await Promise.race([opening, cancelled.promise]);
  } catch (error) {
    // The process is about to end; whatever was begun on the store ends with it.
    opening.then(
      ({ store }) => store.close(),
      () => {},
    );
    throw error;
  } finally {
    signal?.removeEventListener('abort', cancel);
  }
}

async function assemble(
  edge: Edge,
  options: AppOptions,
  log: Log,
  { store, sharing }: OpenStore,
  door: Door,
): Promise<App & { readonly report: Report }> {
  const { config, readAgain = notAgain, unreadSecrets } = options;
  const { random } = edge;
  const clock = sharing?.storeClock ?? edge.clock;
  const promptStore = sharing?.prompt ?? store;
  const replica = sharing && { name: edge.hostName, version: VERSION, ...sharing };
  const [linkKey, pushKeys] = await store.transaction(async (tx) => [
    await tx.upkeep.signingKey('link', randomBytes(32).toString('base64url')),
    await tx.upkeep.signingKey('push', newPushKeys()),
  ]);
  const browsers: Browsers = {
    keys: readPushKeys(pushKeys),
    of: (receiver) =>
      store.transaction(async (tx) => (await tx.browsers.list()).filter((one) => one.receiver === receiver)),
    forget: (receiver, ids) => store.transaction((tx) => tx.browsers.delete(receiver, ids)),
  };
  const { promise: fatal, reject: die } = Promise.withResolvers<never>();
  // It may reject while nobody is listening.
  fatal.catch(() => {});

  const loop = createLoopWatch(clock);
  const lastFailures = createLastFailures(store);
  await lastFailures.read(config.regions);
  const metrics = createMetrics({
    ...metricsOptions(edge, config, clock),
    lastFailureUs: lastFailures.ofBird,
    isShared: replica !== undefined,
    longestTurnMs: loop.longestTurnMs,
    collect: createCollect(
      promptStore,
      clock,
      (happening) => reportOutside(happening),
      () => daemon,
      () => inForce.regions.some(({ fly }) => fly),
    ),
  });

  let web: Web | undefined;
  let inForce = config;

  function report(happening: Happening): void {
    metrics.report(happening);
    log.report(happening);
    web?.hear(happening);
    options.listener?.(happening);
    if (happening.what === 'duty') void takeOver(happening);
    if ('error' in happening && FATAL.has(codeOf(happening.error))) die(happening.error);
  }

  /** The previous owner of the region has seen its Flights fail. */
  async function takeOver({ region, isOwned }: Extract<Happening, { what: 'duty' }>): Promise<void> {
    if (region === undefined || !isOwned) return;
    await readLastFailures([{ name: region }]);
  }

  /** Only metrics need them, so nothing else waits for a store that is away. */
  async function readLastFailures(regions: readonly { readonly name: string }[]): Promise<void> {
    try {
      await lastFailures.read(regions);
    } catch (error) {
      reportOutside({ what: 'trouble', stage: 'store', error });
    }
  }

  /** Reports from outside the daemon's stages, such as a write or a configuration that was refused. */
  function reportOutside(happening: Happening): void {
    report(happening);
    daemon.hear(happening);
  }

  const lookUp = createLookUp({ ask: lookup, clock });
  const login = { key: secret(linkKey), ended: new Set(), clock, report: reportOutside };
  const webOf = (of: typeof setup) => openWebParts(of, browsers, login);
  const setupOf = (of: Config) => openSetup(of, secret(linkKey), clock, report, { lookUp, browsers });
  const setup = setupOf(config);
  const daemon = createDaemon({
    store,
    promptStore,
    clock,
    random,
    report,
    replica,
    unreadSecrets,
    ...setup,
  });
  const reloading = createReloading({ config, read: readAgain, apply, clock, report: reportOutside });
  const startedAtUs = clock.nowUs();
  const faults = await store.transaction((tx) => tx.faults.list(startedAtUs, REPORTED_FAULTS));
  for (const { sort, name, reason } of faults) report({ what: 'set_aside', sort, name, reason });

  async function apply(next: Config): Promise<void> {
    await readLastFailures(next.regions);
    inForce = next;
    const following = setupOf(next);
    metrics.follow(configuredOf(next));
    await daemon.follow(following);
    await metrics.keepRegions(configuredOf(next).regions);
    web?.follow(await webOf(following));
    options.applied?.(next);
  }

  async function closeAll(): Promise<void> {
    loop.stop();
    await store.close();
  }

  try {
    const served = door.serve({
      ...(await webOf(setup)),
      openFiles: openFilesAllowed(),
      store: promptStore,
      isShared: replica !== undefined,
      status: () => ({
        version: VERSION,
        startedAtUs,
        configuration: reloading.view(),
        regions: daemon.regions(),
        replica: daemon.replica()?.replica,
      }),
      metrics: metrics.render,
      health: daemon.readiness,
      impairments: daemon.health,
      newId: randomUUID,
      changed: () => daemon.wake(),
      probe: (region) => daemon.probe(region),
      flightLog: (place) => daemon.flightLog(place),
      reload: reloading.reload,
      clock,
      report: reportOutside,
    });
    web = served;
    const pruning = new AbortController();
    void pruneEachHour(daemon, edge.clock, reportOutside, pruning.signal);
    return {
      daemon,
      log,
      report: reportOutside,
      url: served.url,
      reload: reloading.reload,
      fatal,
      async close() {
        pruning.abort();
        await served.close();
        await closeAll();
      },
    };
  } catch (error) {
    await setup.close();
    await closeAll();
    throw error;
  }
}

function openLog(
  { stderr, environment, clock }: Edge,
  { logLevel, logFormat }: AppOptions,
  unread: () => void,
): Log {
  return createLog({
    level: logLevel,
    format: logFormat,
    colour: stderr.isTTY === true && !environment.NO_COLOR,
    stream: stderr,
    unread,
    clock,
  });
}

function metricsOptions({ environment }: Edge, config: Config, clock: Clock) {
  return {
    version: VERSION,
    revision: environment.NESTWATCH_REVISION ?? '',
    nodeVersion: process.version,
    clock,
    ...configuredOf(config),
    operations: OPERATIONS.map((operation) => operation.id),
    ...config.metrics,
    processMetrics: true,
  };
}

/** The parts of a configuration that the metrics show. */
function configuredOf({ regions, receivers, rules }: Config) {
  const acting = regions.filter(({ fly }) => fly).map(({ name }) => name);
  return { regions: regions.map((region) => region.name), acting, receivers, rules };
}

/** The parts of a configuration that the page and the APIs show. What few configurations need is loaded only for them. */
async function openWebParts(
  { config, links, channels: { slack } }: Setup & { readonly links: AcknowledgeLinks },
  { keys }: Browsers,
  login: Parameters<typeof createOidc>[2],
) {
  const { receivers, web } = config;
  const messages = createDeliveryMessages(receivers, web, randomUUID);
  const serviceLinks = createServiceLinks(config.regions);
  const browsers = { publicKey: keys.publicKey, receivers: browserReceivers(receivers) };
  const oidc = web.access?.oidc;
  const hasPresses = receivers.some(({ integrations }) => integrations.some(hasButtons));
  return {
    ...{ config: web, alerting: config, links, serviceLinks, messages, browsers },
    oidc: oidc && (await import('./web/access/oidc.ts')).createOidc(oidc, web.externalUrl, login),
    presses:
      hasPresses && slack?.answer
        ? (await import('./channels/slack/slack-press.ts')).createSlackPresses(receivers, slack.answer)
        : undefined,
  };
}

function notAgain(): never {
  throw new NestwatchError('usage', 'this configuration was not read from a file');
}

/** When a Flight of each Bird last failed. It is read from the store, so it survives a restart. */
function createLastFailures(store: Store) {
  const found = new Map<string, ReadonlyMap<string, number>>();
  return {
    async read(regions: readonly { readonly name: string }[]): Promise<void> {
      for (const { name } of regions) {
        found.set(name, await store.transaction((tx) => tx.flights.lastFailures(name)));
      }
    },
    /** 0 for never. */
    ofBird: (region: string, birdId: string): number => found.get(region)?.get(birdId) ?? 0,
  };
}

const NOTHING_COUNTED = {
  ...{ alerts: [], firing: [], silences: [], setAside: [], deliveries: [] },
  isPaused: undefined,
};

/**
 * Collects what a scrape asks of the store and the stages. If the store does not answer, the last counts are
 * repeated.
 */
function createCollect(
  store: Store,
  clock: Clock,
  report: Report,
  daemonOf: () => Daemon,
  isActing: () => boolean,
) {
  let counts: Pick<Collected, keyof typeof NOTHING_COUNTED> = NOTHING_COUNTED;
  return async (isAlerting: boolean): Promise<Collected> => {
    try {
      // If another replica does the alerting, that one shows these counts.
      if (isAlerting)
        counts = await store.transaction(async (tx) => ({
          alerts: await tx.alerts.count(),
          firing: await tx.alerts.countFiring(),
          silences: countSilences(await tx.silences.list(), clock.nowUs()),
          setAside: await tx.faults.count(clock.nowUs()),
          isPaused: isActing() ? (await tx.actions.paused()) !== undefined : undefined,
          deliveries: await tx.outbox.count(),
        }));
    } catch (error) {
      // Metrics must work even if the disk is full.
      report({ what: 'trouble', stage: 'store', error });
    }
    const daemon = daemonOf();
    const regions = daemon.regions();
    const { impairments, space } = await daemon.health();
    return {
      ...counts,
      cursors: regions.flatMap(({ region, feeds }) => feeds.map((feed) => ({ region, ...feed }))),
      reads: regions.flatMap(({ region, reads }) => reads.map((read) => ({ region, ...read }))),
      replica: daemon.replica()?.name,
      impaired: impairments.map(({ reason }) => reason),
      space,
      ready: daemon.readiness().ready,
    };
  };
}

type Shared = { readonly lookUp: LookUp; readonly browsers: Browsers };

/** Opens a configuration's connections to the regions, the receivers and the watchdog. */
function openSetup(config: Config, linkKey: Secret, clock: Clock, report: Report, shared: Shared) {
  const { lookUp } = shared;
  const regions = new Map(config.regions.map((region) => [region.name, region]));
  const channels = openChannels({
    clock,
    version: VERSION,
    openTransport: (options) => openAuthorizedTransport({ ...options, lookUp }),
    ...shared,
  });
  const watchdog = openAuthorizedTransport({
    connections: 1,
    timeoutMs: HEARTBEAT_TIMEOUT_MS,
    maxBodyBytes: MAX_WATCHDOG_BYTES,
    lookUp,
    http: config.heartbeat?.http,
    nowUs: clock.nowUs,
  });
  return {
    config,
    transportOf(name: string) {
      const { concurrency, timeoutMs, tls, proxy } = regions.get(name)!;
      return openTransport({
        connections: concurrency,
        timeoutMs,
        maxBodyBytes: LIMITS.answer_bytes.most,
        lookUp,
        inFlight: createBytesInFlight(LIMITS.bytes_in_flight.most, () =>
          report({ what: 'limit_reached', limit: 'bytes_in_flight', region: name }),
        ),
        ...(tls && { tls }),
        ...(proxy && { proxy }),
      });
    },
    channels,
    watchdog,
    links: createAcknowledgeLinks(linkKey, config.web.externalUrl),
    async close(): Promise<void> {
      await Promise.all([watchdog.close(), closeChannels(channels)]);
    },
  };
}

/** Until `signal` aborts. */
export async function pruneEachHour(
  daemon: Pick<Daemon, 'prune'>,
  clock: Clock,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  for (let waitMs = FIRST_PRUNE_MS; ; waitMs = PRUNE_EVERY_MS) {
    await sleep(clock, waitMs, signal);
    if (signal.aborted) return;
    try {
      while ((await daemon.prune()) > 0);
    } catch (error) {
      // A stop closes the store meanwhile.
      if (codeOf(error) !== 'cancelled') report({ what: 'trouble', stage: 'store', error });
    }
  }
}
