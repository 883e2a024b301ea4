/**
 * Gives the stages their part in the watch, whether or not several replicas share the store. A process that has its
 * store to itself does everything, always. Where several share it, each reads the regions that it owns, one alerts, one
 * repeats, and all of them send (`ownership.ts`).
 */
import type { RegionSetting, WatchedRegion } from '../intake/watched-region.ts';
import type { InventoryRead, RegionSnapshot } from '../region-progress.ts';
import type { Report } from '../report.ts';
import { ALERTING, regionDuty } from '../store/ownership-store.ts';
import type { Store, Wakes, WakeUp } from '../store/store.ts';
import { type Clock, type Random, sleep } from '../time/clock.ts';
import {
  createOwnership,
  type Ownership,
  type OwnershipOptions,
  type ReplicaPart,
  type Senders,
} from './ownership.ts';

/** Works until `signal` aborts; all that it writes goes through `store`. */
type Work = (signal: AbortSignal, store: Store) => Promise<void>;

/** How this process can read a region. */
interface RegionAccess {
  /** Starts reading it, at this rate if one is known. */
  readonly create: (store: Store, startPerSecond: number | undefined) => WatchedRegion;
  /** Whether its service answers this process. */
  readonly reaches: (signal: AbortSignal) => Promise<boolean>;
}

export interface Part {
  /** False if the process has its store to itself. */
  readonly isShared: boolean;
  /**
   * Takes part until `signal` aborts. `heard` is called for each wake of another replica. The returned function ends
   * it.
   */
  take(signal: AbortSignal, heard: (what: WakeUp) => void): () => Promise<void>;
  /** Wakes the other replicas, since there is something for them to do. */
  ring(what: WakeUp): void;
  /** Does the work of alerting whenever this process has that duty, until `signal` aborts. */
  whileAlerting(work: Work, signal: AbortSignal): Promise<void>;
  /** Whether this process alerts now. */
  isAlerting(): boolean;
  /** Does the work of repeating whenever this process has that duty, until `signal` aborts. */
  whileRepeating(work: Work, signal: AbortSignal): Promise<void>;
  /**
   * A region that is read whenever this process has that duty. `knownPerSecond`: the rate that its service just
   * allowed.
   */
  region(setting: RegionSetting, access: RegionAccess, knownPerSecond: number | undefined): WatchedRegion;
  /** The replicas that share the store, including this one; none if the process has it to itself. */
  replicas(): ReturnType<Ownership['replicas']>;
  /** What delivery must know if several replicas share the store. */
  readonly senders: Senders | undefined;
  /** How often to look for what another replica may have left, in case a wake is lost; undefined if there is none. */
  readonly lookEveryMs: number | undefined;
}

interface PartOptions extends Omit<OwnershipOptions, keyof ReplicaPart> {
  /** Present if several replicas share the store. */
  readonly replica?: ReplicaPart | undefined;
}

/** The name of the duty to send what is repeated: firing alerts to another Alertmanager, and the heartbeat. */
const REPEATING = 'repeating';

/** Wakes are lost only with a connection or a process, and a replica that notices either looks at once. */
export const LOOK_EVERY_MS = 30_000;

export function createPart({ replica, ...options }: PartOptions): Part {
  return replica ? partOf({ ...options, ...replica }) : wholeOf(options.store);
}

function wholeOf(store: Store): Part {
  return {
    isShared: false,
    take: () => async () => {},
    ring() {},
    whileAlerting: (work, signal) => work(signal, store),
    isAlerting: () => true,
    whileRepeating: (work, signal) => work(signal, store),
    region: (_, { create }, knownPerSecond) => create(store, knownPerSecond),
    replicas: () => [],
    senders: undefined,
    lookEveryMs: undefined,
  };
}

function partOf(options: OwnershipOptions): Part {
  const { wakes } = options;
  const ownership = createOwnership(options);

  return {
    isShared: true,
    take(signal, heard) {
      // A replica that died has not woken the others for what it committed last, nor for what it was sending.
      const membership = ownership.begin(() => {
        heard('alerting');
        heard('delivery');
      });
      const deafen = wakes.listen(heard);
      signal.addEventListener('abort', () => membership.leave(), { once: true });
      let ended: Promise<void> | undefined;
      return () => {
        deafen();
        ended ??= membership.end();
        return ended;
      };
    },
    ring: (what) => wakes.ring(what),
    whileAlerting: (run, signal) => ownership.whileOwned({ duty: ALERTING, run }, signal),
    isAlerting: () => ownership.owns(ALERTING),
    whileRepeating: (run, signal) => ownership.whileOwned({ duty: REPEATING, run }, signal),
    region: (setting, access) => createOwnedRegion({ ...options, ...access, setting, ownership }),
    replicas: () => ownership.replicas(),
    senders: ownership.senders,
    lookEveryMs: LOOK_EVERY_MS,
  };
}

// A region that replicas share: this replica reads it while it owns its duty. All replicas know its state: the owner
// reports that to the store every few seconds, and the others answer from the report. The report also tells them
// whether the owner reaches the region.
//
// A region is taken over from a replica that cannot reach it. Each replica has its own network, resolver and secret
// files, so a region may be unreachable for its reader alone, and stay so. If the reader reports such trouble for a
// while, this replica asks the service too. If the service answers twice, and the reader has reported in between that it
// still gets no answer, this replica takes the region over. If no replica reaches it, it stays with its reader and is
// asked less and less often.
//
//   reached by its reader ──trouble lasts──► asked now and then ──answers──► asked once more ──answers──► taken over
//            ▲                                   ▲                                 │
//            └───────── the trouble is over ─────┴──────── no answer ──────────────┘

/**
 * The form of what is reported. A version of nestwatch that reports something else uses another number, so that neither
 * misreads the other.
 */
const SHAPE = 1;

/** What the owner of a region reports. */
interface ShownRegion {
  readonly shape: number;
  readonly snapshot: RegionSnapshot;
  /** When the last successful reading of each Bird's Flights began. */
  readonly flightsReadUs: Readonly<Record<string, number>>;
  readonly inventoryRead?: InventoryRead | undefined;
}

interface OwnedRegionOptions {
  readonly setting: RegionSetting;
  readonly ownership: Ownership;
  /** Starts reading it, at this rate if one is known. */
  readonly create: (store: Store, startPerSecond: number | undefined) => WatchedRegion;
  /** Whether its service answers this replica. */
  readonly reaches: (signal: AbortSignal) => Promise<boolean>;
  readonly wakes: Pick<Wakes, 'ring'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
}

/** Most outages of a service are over by then. */
const LASTS_US = 45_000_000;
/** An owner that has not reported for this long has died, which is noticed elsewhere. */
const SHOWN_WITHIN_US = 60_000_000;
const LOOK_MS = 10_000;
const LEAST_ASKED_MS = 30_000;
const MOST_ASKED_MS = 300_000;
/** A replica that took a region over and lost it again does not take it sooner than this: the service may be at fault. */
const TAKEN_AGAIN_MS = 600_000;

/** A rate that was reported longer ago is not used. Then the one kept for restarts is (`KeptRate`). */
const RATE_KEPT_US = 120e6;

export function createOwnedRegion(options: OwnedRegionOptions): WatchedRegion {
  const { setting, ownership, create, reaches, wakes, clock, random, report } = options;
  const { name } = setting.region;
  const duty = regionDuty(name);
  let own: WatchedRegion | undefined;
  let parsed: { readonly text: string; readonly shown: ShownRegion } | undefined;

  /** What its last owner reported; undefined if that is nothing, or of another `SHAPE`. */
  function shown(): ShownRegion | undefined {
    const text = ownership.shown(duty)?.shown;
    if (text === undefined) return undefined;
    if (parsed?.text !== text) parsed = { text, shown: JSON.parse(text) as ShownRegion };
    return parsed.shown.shape === SHAPE ? parsed.shown : undefined;
  }

  /**
   * The rate at which it was read until just now. With it a new owner neither overloads the service nor starts from
   * scratch.
   */
  function lateRate(): number | undefined {
    const { shownUs = 0 } = ownership.shown(duty) ?? {};
    const isLate = (ownership.view()?.nowUs ?? 0) - shownUs < RATE_KEPT_US;
    return (isLate && shown()?.snapshot.requestsPerSecond) || undefined;
  }

  /** Its present state if this replica reads it. */
  function seen(): RegionSnapshot | undefined {
    return own?.snapshot();
  }

  function show() {
    const snapshot = seen();
    if (!own || !snapshot) return '';
    const flightsReadUs = Object.fromEntries(own.flightReads());
    const said: ShownRegion = { shape: SHAPE, snapshot, flightsReadUs, inventoryRead: own.inventoryRead() };
    return JSON.stringify(said);
  }

  /**
   * Says who can ask the service. Only the reader of a region may: two together would exceed what the service allows.
   */
  function whomToAsk(): string {
    const { duties = [], replicas = [] } = ownership.view() ?? {};
    const owner = duties.find((one) => one.duty === duty)?.owner;
    const reader = replicas.find(({ replica }) => replica === owner);
    return reader
      ? `Replica ${reader.name} reads this region: ask for the log at its own address.`
      : 'No replica reads this region now: ask again in a moment.';
  }

  /** The trouble that another replica, which reads it, has with its service; undefined if there is none. */
  function trouble() {
    const { nowUs = 0, duties = [] } = ownership.view() ?? {};
    const owned = duties.find((one) => one.duty === duty);
    const { shownUs = 0 } = ownership.shown(duty) ?? {};
    const now = shown()?.snapshot;
    if (!now || !owned || owned.owner === 0 || ownership.owns(duty)) return undefined;
    if (now.health.health === 'up' && !now.unlisted) return undefined;
    const sinceUs = Math.max(now.unlisted?.sinceUs ?? now.health.sinceUs, owned.sinceUs);
    if (nowUs - sinceUs < LASTS_US || nowUs - shownUs > SHOWN_WITHIN_US) return undefined;
    return { shownUs, nowUs, epoch: owned.epoch };
  }

  /** When the service answered this replica, by the store's clock; undefined if it did not the last time. */
  let answeredUs: number | undefined;
  let askEveryMs = LEAST_ASKED_MS;
  let askedMs = Number.NEGATIVE_INFINITY;
  let takenMs = Number.NEGATIVE_INFINITY;

  async function lookAtOwner(signal: AbortSignal): Promise<void> {
    const now = trouble();
    if (!now) {
      answeredUs = undefined;
      askEveryMs = LEAST_ASKED_MS;
      return;
    }
    if (clock.monotonicMs() - takenMs < TAKEN_AGAIN_MS) return;
    // A report from before that answer says nothing about the time after it.
    if (answeredUs !== undefined && now.shownUs <= answeredUs) return;
    if (answeredUs === undefined && clock.monotonicMs() - askedMs < askEveryMs) return;
    askedMs = clock.monotonicMs();
    const isAnswered = await reaches(signal);
    if (signal.aborted) return;
    const isSecond = answeredUs !== undefined;
    answeredUs = isAnswered && !isSecond ? now.nowUs : undefined;
    if (!isAnswered) askEveryMs = Math.min(2 * askEveryMs, MOST_ASKED_MS);
    // Its reader may try it at once.
    else if (!isSecond) wakes.ring(`probe ${name}`);
    else if (trouble()?.epoch === now.epoch) {
      takenMs = clock.monotonicMs();
      if (await ownership.takeOver({ duty, epoch: now.epoch })) report({ what: 'relieves', region: name });
    }
  }

  async function watchOwner(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(clock, LOOK_MS * (0.5 + random()), signal);
      if (signal.aborted) return;
      try {
        await lookAtOwner(signal);
      } catch (error) {
        report({ what: 'trouble', stage: 'store', region: name, error });
      }
    }
  }

  const snapshot = () => seen() ?? shown()?.snapshot ?? notShown(setting);

  return {
    name,
    setting,
    async run(signal) {
      const watching = watchOwner(signal);
      await ownership.whileOwned(
        {
          duty,
          show,
          async run(owned, store) {
            const region = create(store, lateRate());
            own = region;
            try {
              await region.run(owned);
            } finally {
              own = undefined;
            }
          },
        },
        signal,
      );
      await watching;
    },
    runOnce: () => Promise.reject(new Error('a region that several replicas share is read by its owner')),
    probe: () => own?.probe(),
    flightLog: async (place) => (await own?.flightLog(place)) ?? { refused: whomToAsk() },
    lookForLogs: () => own?.lookForLogs(),
    flightsReadUs(birdId) {
      if (own) return own.flightsReadUs(birdId);
      const reads = shown()?.flightsReadUs ?? {};
      return Object.hasOwn(reads, birdId) ? reads[birdId] : undefined;
    },
    flightReads: () => own?.flightReads() ?? Object.entries(shown()?.flightsReadUs ?? {}),
    inventoryRead: () => (own ? own.inventoryRead() : shown()?.inventoryRead),
    serviceAheadUs: () => own?.serviceAheadUs() ?? shown()?.snapshot.clockAheadUs ?? 0,
    progress: snapshot,
    snapshot,
    verified: () => ({ region: name, verifiedUntilUs: verifiedUntilUs(snapshot()) }),
  };
}

/** Up to when the region is known to be complete. Feeds with nothing to poll do not count. */
function verifiedUntilUs({ feeds }: RegionSnapshot): number {
  return Math.min(...feeds.filter((one) => one.polled > 0).map((one) => one.verifiedUntilUs));
}

/** The state of a region that no replica of this store has read yet. */
function notShown({ region }: RegionSetting): RegionSnapshot {
  return {
    region: region.name,
    health: { health: 'up', reason: '', sinceUs: 0 },
    requestsPerSecond: 0,
    nests: 0,
    birds: 0,
    started: false,
    auditsBehindMs: 0,
    feeds: [],
    reads: [],
    excludedNests: 0,
    include: region.nests.include,
    clockAheadUs: 0,
    beganUs: 0,
    firstPass: { streams: 0, read: 0 },
    proofs: [],
  };
}
