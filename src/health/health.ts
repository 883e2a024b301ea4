/**
 * Gathers the state of the watch and judges it: whenever somebody asks, and every few seconds, so that each
 * impairment has a start and the log records both its start and end.
 */

import {
  atPosition,
  integrationName,
  positioned,
  takesAlerts,
  traitsOf,
} from '../channels/integration-identity.ts';
import type { Config } from '../config/config.ts';
import { findRoutesToNobody, isAnybodyNotified } from '../config/routes-to-nobody.ts';
import { formatPath } from '../document/problem.ts';
import type { RegionSnapshot } from '../region-progress.ts';
import type { Happening, Report } from '../report.ts';
import type { FailingIntegration } from '../store/outbox-store.ts';
import type { RefusedFile } from '../store/ownership-store.ts';
import type { Store, StoreSpace, Transaction } from '../store/store.ts';
import { plainText } from '../text/plain-text.ts';
import { type Clock, sleep } from '../time/clock.ts';
import { type Impairment, impairmentKey } from './impairment.ts';
import {
  type HealthSnapshot,
  isDiskLow,
  judgeHealth,
  type KeptSnapshot,
  NOTHING_KEPT,
  type ReplicaSnapshot,
} from './judge-health.ts';
import { createStoreRoom, type StoreRefusal } from './readiness.ts';
import { createWatchFacts, type WatchFact } from './watch-facts.ts';

export interface HealthAnswer {
  /** Most severe first. If empty, nothing impairs the watch. */
  readonly impairments: readonly Impairment[];
  /** The space that the store takes; undefined while it cannot be measured. */
  readonly space: StoreSpace | undefined;
}

interface Health {
  read(): Promise<HealthAnswer>;
  /** The same, but data from the store may be a few seconds old. For callers that ask repeatedly. */
  readOften(): Promise<HealthAnswer>;
  /** The facts for alerts from the last answer. Each answer makes a new list; empty before the first. */
  facts(): readonly WatchFact[];
  /**
   * Why the store accepts nothing, so that the watch stands still, although it may recover by itself. Undefined while
   * it works.
   */
  storeRefusal(): StoreRefusal | undefined;
  /** Why the configuration file is not in force; undefined if it is. */
  refusedConfig(): RefusedFile | undefined;
  /** Receives every report. */
  hear(happening: Happening): void;
  /** Checks every few seconds until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>;
}

interface HealthOptions {
  /** The configuration in force. */
  readonly config: () => Pick<Config, 'route' | 'receivers' | 'forward' | 'poll'>;
  readonly store: Store;
  readonly regions: () => readonly RegionSnapshot[];
  readonly replicas: () => readonly ReplicaSnapshot[];
  readonly clock: Clock;
  readonly report: Report;
  /** Called when alerting should look at a new answer. */
  readonly changed: () => void;
  /** Whether this replica raises alerts; if false, another one does. */
  readonly isAlerting: () => boolean;
  /** The secrets whose file cannot be read again, by key, and why. */
  readonly unreadSecrets?: (() => ReadonlyMap<string, string>) | undefined;
}

/** An impairment is notified after two checks: with the usual `group_wait` that is within a minute. */
const LOOK_EVERY_MS = 10_000;
/**
 * Alerting looks by itself once a minute. Until then it must be told about new impairments, and about those that will
 * soon have lasted long enough to fire.
 */
const NEWS_US = 120_000_000;

/** Audits are due at their interval, after a poll. A feed more than this many turns late is not proven. */
const PROOF_TURNS = 3;
const LEAST_PROOF_MS = 3_600_000;

/** Enough for a place and a sentence. The text is kept in the store, where other replicas see it. */
const MAX_MISTAKE_CODE_POINTS = 300;

const NO_FACTS: readonly WatchFact[] = [];

export function createHealth(options: HealthOptions): Health {
  const { store, regions, replicas, clock, report, isAlerting } = options;
  const room = createStoreRoom(clock);
  let kept = NOTHING_KEPT;
  let keptMs = Number.NEGATIVE_INFINITY;
  let refusedConfig: RefusedFile | undefined;
  /** The impairments found by the last check. */
  let known = new Map<string, Impairment>();
  const toFacts = createWatchFacts(clock);
  let facts = NO_FACTS;

  function refusal(space: StoreSpace | undefined) {
    return room.refusal(space?.free !== undefined && !isDiskLow(space));
  }

  async function readStore(): Promise<void> {
    const { receivers } = options.config();
    try {
      kept = await store.transaction((tx) => readKept(tx, receivers, clock.nowUs()));
      keptMs = clock.monotonicMs();
      room.answered();
    } catch (error) {
      // The previous data stays in use, and `room` receives this report.
      report({ what: 'trouble', stage: 'store', error });
    }
  }

  function snapshot(): HealthSnapshot {
    const nowUs = clock.nowUs();
    const config = options.config();
    const space = store.space();
    return {
      nowUs,
      regions: regions(),
      proofMs: proofMsOf(config),
      route: routeOf(config),
      store: { space, refusal: refusal(space) },
      refusedConfig,
      unreadSecrets: options.unreadSecrets?.(),
      replicas: replicas(),
      kept,
    };
  }

  /** An impairment began when it was first seen, or earlier if the finding knows better. */
  function follow(found: readonly Impairment[]): Impairment[] {
    const followed = found.map((one) => {
      const before = known.get(impairmentKey(one));
      return before ? { ...one, sinceUs: Math.min(before.sinceUs, one.sinceUs) } : one;
    });
    const now = new Map(followed.map((one) => [impairmentKey(one), one]));
    for (const [key, one] of now) if (!known.has(key)) report(happening(one, false));
    for (const [key, one] of known) if (!now.has(key)) report(happening(one, true));
    known = now;
    return followed;
  }

  function hear(happening: Happening): void {
    room.hear(happening);
    if (happening.what !== 'config_reload') return;
    const { success, mistakes = [], atUs } = happening;
    const [first = ''] = mistakes;
    const refused = {
      mistakes: Math.max(1, mistakes.length),
      first: plainText(first, MAX_MISTAKE_CODE_POINTS),
    };
    refusedConfig = success ? undefined : { ...refused, sinceUs: refusedConfig?.sinceUs ?? atUs };
  }

  async function read(oldestMs = 0): Promise<HealthAnswer> {
    if (clock.monotonicMs() - keptMs >= oldestMs) await readStore();
    const seen = snapshot();
    const impairments = follow(judgeHealth(seen));
    const before = facts;
    // A replica that starts alerting begins with what it sees now: what it saw before may be over.
    const seenNow = toFacts(seen, impairments);
    facts = isAlerting() ? seenNow : NO_FACTS;
    const isYoung = ({ isImpaired, sinceUs }: WatchFact) => isImpaired && seen.nowUs - sinceUs < NEWS_US;
    if (facts.some(isYoung) || saidBy(facts) !== saidBy(before)) options.changed();
    return { impairments, space: seen.store.space };
  }

  return {
    read: () => read(),
    readOften: () => read(LOOK_EVERY_MS),
    facts: () => facts,
    refusedConfig: () => refusedConfig,
    storeRefusal: () => refusal(store.space()),
    hear,
    async run(signal) {
      while (!signal.aborted) {
        try {
          await read();
        } catch (error) {
          report({ what: 'trouble', stage: 'store', error });
        }
        await sleep(clock, LOOK_EVERY_MS, signal);
      }
    },
  };
}

function proofMsOf({ poll: { auditIntervalMs, maxIntervalMs } }: Pick<Config, 'poll'>): number {
  return Math.max(LEAST_PROOF_MS, PROOF_TURNS * (auditIntervalMs + maxIntervalMs));
}

function routeOf(config: Pick<Config, 'route' | 'receivers' | 'forward'>) {
  return {
    isAnybodyNotified: isAnybodyNotified(config),
    isForwarded: config.forward.length > 0,
    routes: findRoutesToNobody(config).map(({ path, receiver }) => ({ path: formatPath(path), receiver })),
  };
}

/** What alerts would show of these facts. For a fact that says "not impaired" only its subject counts. */
function saidBy(facts: readonly WatchFact[]): string {
  return JSON.stringify(
    facts.map(({ reason, region, isImpaired, severity, title, sentences }) =>
      isImpaired ? [reason, region, severity, title, sentences] : [reason, region],
    ),
  );
}

function happening({ reason, severity, summary, region, receiver }: Impairment, isOver: boolean): Happening {
  return { what: 'impaired', reason, severity, summary, isOver, region, receiver };
}

// Reads from the store what bears on the health of the watch, so that a restart forgets none of it.

const DEAD_FOR_US = 7 * 86_400_000_000;
const QUARANTINED_FOR_US = 3_600_000_000;
/**
 * What is dropped at one moment says nothing yet, be it one answer or all that were under way to a receiver that
 * restarts: the next attempt, within a second, may be accepted.
 */
const FAILING_ATTEMPTS = 2;
const RETRIED_WITHIN_US = 1_000_000;
const FAILING_FOR_US = 10_000_000;

export async function readKept(
  tx: Transaction,
  receivers: Config['receivers'],
  nowUs: number,
): Promise<KeptSnapshot> {
  const { dead, delivered, quarantined, faults, ...known } = await tx.troubles.read({
    deadAfterUs: nowUs - DEAD_FOR_US,
    quarantinedFromUs: nowUs - QUARANTINED_FOR_US,
    nowUs,
  });
  const { count, latest } = faults;
  const failing = known.failing.flatMap((one) => {
    const countsAfterUs = one.failures < FAILING_ATTEMPTS ? FAILING_FOR_US : RETRIED_WITHIN_US;
    if (nowUs - one.sinceUs < countsAfterUs) return [];
    const { integrations = [] } = receivers.find(({ name }) => name === one.receiver) ?? {};
    // An integration that is no longer configured does not count.
    const integration = atPosition(integrations, one.position);
    if (integration?.kind !== one.integration) return [];
    return [{ ...one, name: integrationName(integrations, integration), among: integrations.length }];
  });
  return {
    failing,
    isNobodyReached: isNobodyReached(receivers, failing, delivered),
    dead,
    quarantined,
    faults: {
      count,
      first: latest ? `${latest.sort.replace('_', ' ')} ${latest.name}: ${latest.reason}` : '',
      sinceUs: latest?.sinceUs ?? 0,
    },
  };
}

/**
 * Whether no receiver is reached: of the receivers that take alerts and were tried, none accepts them through any
 * integration. The store does not record which integrations were tried. So if a receiver has never accepted anything,
 * those of its integrations that do not fail count as untried.
 */
function isNobodyReached(
  receivers: Config['receivers'],
  failing: readonly FailingIntegration[],
  delivered: readonly string[],
): boolean {
  const tried = receivers.filter(
    (one) =>
      takesAlerts(one) &&
      (delivered.includes(one.name) || failing.some(({ receiver }) => receiver === one.name)),
  );
  const acceptsNothing = ({ name, integrations }: Config['receivers'][number]) => {
    if (!delivered.includes(name)) return true;
    const positions = failing.flatMap(({ receiver, position }) => (receiver === name ? [position] : []));
    return positioned(integrations).every(
      ([position, one]) => traitsOf(one).takesEvents || positions.includes(position),
    );
  };
  return tried.length > 0 && tried.every(acceptsNothing);
}
