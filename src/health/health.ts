/**
 * Gathers what is known of the watch and has it judged, whenever somebody asks and every few seconds besides, so that
 * each impairment has its beginning, and the log has both its ends.
 */
import type { Config } from '../config/config.ts';
import { findDeadEnds, isAnybodyNotified } from '../config/dead-ends.ts';
import { formatPath } from '../document/problem.ts';
import type { Happening, Report } from '../report.ts';
import type { Store, StoreSpace } from '../store/store.ts';
import { plainText } from '../text/plain-text.ts';
import { type Clock, sleep } from '../time/clock.ts';
import { type Impairment, impairmentKey } from './impairment.ts';
import { isDiskLow, judgeHealth } from './judge-health.ts';
import { NOTHING_KEPT, readKept } from './read-kept.ts';
import type {
  HealthSnapshot,
  RefusedConfig,
  RegionSnapshot,
  ReplicaSnapshot,
  StoreRefusal,
} from './snapshot.ts';
import { createStoreRoom } from './store-room.ts';
import { createWatchFacts, type WatchFact } from './watch-facts.ts';

export interface HealthAnswer {
  /** The gravest first; nothing impairs the watch where there is none. */
  readonly impairments: readonly Impairment[];
  /** What the store takes; undefined while that cannot be seen. */
  readonly space: StoreSpace | undefined;
}

export interface Health {
  read(): Promise<HealthAnswer>;
  /** The same, where what the store keeps may have been read a few seconds ago: for who asks again and again. */
  readOften(): Promise<HealthAnswer>;
  /** What alerts are to hear of the last answer; another list after each, empty before the first. */
  facts(): readonly WatchFact[];
  /** Why the store takes nothing: the watch stands still, although it may go on by itself. Undefined while it does. */
  storeRefusal(): StoreRefusal | undefined;
  /** Why the configuration in the file is not in force; undefined where it is. */
  refusedConfig(): RefusedConfig | undefined;
  /** Hears what is reported. */
  hear(happening: Happening): void;
  /** Looks every few seconds until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>;
}

interface HealthOptions {
  /** The one that is in force. */
  readonly config: () => Pick<Config, 'route' | 'receivers' | 'forward' | 'poll'>;
  readonly store: Store;
  readonly regions: () => readonly RegionSnapshot[];
  readonly replicas: () => readonly ReplicaSnapshot[];
  readonly clock: Clock;
  readonly report: Report;
  /** Called when alerts have to hear of an answer. */
  readonly changed: () => void;
  /** Whether alerts are raised here: another replica does so where it is false. */
  readonly isAlerting: () => boolean;
}

/** What is found by two looks is mailed: with the usual `group_wait` within a minute. */
const LOOK_EVERY_MS = 10_000;
/** Where nobody is mailed for it, and the store answers, so many of those go by; whoever asks has a look of their own. */
const LOOKS_SPARED = 2;

/**
 * Alerting looks for itself every minute; before that it has to hear what is new, and what may be about to fire because
 * it has lasted for a moment.
 */
const NEWS_US = 120_000_000;

/** Audits are due at their interval, after a poll; what is late by more turns than that is not proven. */
const PROOF_TURNS = 3;
const LEAST_PROOF_MS = 3_600_000;

/** Enough for a place and a sentence; it goes to the store, for other replicas to see. */
const MAX_MISTAKE_CODE_POINTS = 300;

const NO_FACTS: readonly WatchFact[] = [];

export function createHealth(options: HealthOptions): Health {
  const { store, regions, replicas, clock, report, isAlerting } = options;
  const room = createStoreRoom(clock);
  let kept = NOTHING_KEPT;
  let keptMs = Number.NEGATIVE_INFINITY;
  let refusedConfig: RefusedConfig | undefined;
  /** What was found by the last look. */
  let known = new Map<string, Impairment>();
  const toFacts = createWatchFacts();
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
      // What was known before still is, and the room hears of this.
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
      replicas: replicas(),
      kept,
    };
  }

  /** What lasts has begun when it was first seen, where it says nothing better itself. */
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
    // Who begins to alert begins with what it sees then: what it saw as one of the others may be over.
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
      for (let spared = LOOKS_SPARED; !signal.aborted; spared += 1) {
        const isUrgent = isAlerting() || refusal(store.space()) !== undefined;
        try {
          if (isUrgent || spared >= LOOKS_SPARED) {
            await read();
            spared = -1;
          }
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
    routes: findDeadEnds(config).map(({ path, receiver }) => ({ path: formatPath(path), receiver })),
  };
}

/** What alerts say by them; of what does not impair the watch, that it was seen. */
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
