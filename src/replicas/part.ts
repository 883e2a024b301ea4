/**
 * Gives the stages their part in the watch, whether or not several replicas share the store. A process that has its
 * store to itself does everything, always. Where several share it, each reads the regions that it owns, one alerts, one
 * repeats, and all of them send (`ownership.ts`).
 */
import type { RegionSetting, WatchedRegion } from '../intake/watched-region.ts';
import type { Report } from '../report.ts';
import { ALERTING } from '../store/ownership-store.ts';
import type { Store, WakeUp } from '../store/store.ts';
import type { Clock, Random } from '../time/clock.ts';
import { createOwnedRegion } from './owned-region.ts';
import {
  createOwnership,
  type Ownership,
  type OwnershipOptions,
  type ReplicaPart,
  type Senders,
} from './ownership.ts';
import { type OwnerTrouble, watchOwner } from './takeover.ts';

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
  /** Whether the repeats of this process are not accepted any more. */
  readonly repeatsInVain: () => boolean;
  /** Present if several replicas share the store. */
  readonly replica?: ReplicaPart | undefined;
}

/** The weight of alerting as a share of that of all reading. */
const ALERTING_PART = 1 / 4;

/** Wakes are lost only with a connection or a process, and a replica that notices either looks at once. */
export const LOOK_EVERY_MS = 30_000;

export function createPart({ replica, repeatsInVain, ...options }: PartOptions): Part {
  return replica ? partOf({ ...options, ...replica }, repeatsInVain) : wholeOf(options.store);
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

function partOf(options: OwnershipOptions, repeatsInVain: () => boolean): Part {
  const { wakes } = options;
  const ownership = createOwnership(options);

  /** The weight of alerting grows with that of what is read. */
  function alertingWeight(): number {
    const read = ownership.view()?.duties.filter(({ duty }) => duty !== ALERTING) ?? [];
    return 1 + ALERTING_PART * read.reduce((sum, { weight }) => sum + weight, 0);
  }

  /** Owns a duty that does not move for balance: moving what is done once for all balances nothing. */
  function whileOwned(duty: string, weight: () => number, run: Work, signal: AbortSignal): Promise<void> {
    const show = () => ({ weight: weight(), shown: '' });
    return ownership.whileOwned({ duty, isFixed: true, run, show }, signal);
  }

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
    whileAlerting: (work, signal) => whileOwned(ALERTING, alertingWeight, work, signal),
    isAlerting: () => ownership.owns(ALERTING),
    whileRepeating: (work, signal) =>
      whileRepeating({ ...options, ownership, isInVain: repeatsInVain }, work, signal),
    region: (setting, access) => createOwnedRegion({ ...options, ...access, setting, ownership }),
    replicas: () => ownership.replicas(),
    senders: ownership.senders,
    lookEveryMs: LOOK_EVERY_MS,
  };
}

/**
 * Lets one replica at a time send what is repeated: firing alerts to another Alertmanager, and the heartbeat. If that
 * is no longer accepted from it, another replica takes the duty over, unless it was itself not accepted a while ago.
 */

const REPEATING = 'repeating';
/** What the owner reports while its repeats are not accepted. */
const IN_VAIN = 'in vain';
/** For this long, a replica whose repeats were not accepted leaves the duty to others. */
const LEFT_MS = 3_600_000;

interface RepeatingOptions {
  readonly ownership: Ownership;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
  /** Whether the repeats of this replica are not accepted any more. */
  readonly isInVain: () => boolean;
}

/** Does the work whenever this replica owns the duty, until `signal` aborts. */
async function whileRepeating(
  { ownership, clock, random, report, isInVain }: RepeatingOptions,
  run: (signal: AbortSignal, store: Store) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  let inVainMs = Number.NEGATIVE_INFINITY;

  function show() {
    const isNotHeard = isInVain();
    if (isNotHeard) inVainMs = clock.monotonicMs();
    return { weight: 1, shown: isNotHeard ? IN_VAIN : '' };
  }

  /** The trouble of the owner: another replica, whose repeats are not accepted. Undefined if there is none. */
  function trouble() {
    const { nowUs = 0, duties = [] } = ownership.view() ?? {};
    const owned = duties.find(({ duty }) => duty === REPEATING);
    const { shown, shownUs = 0 } = ownership.shown(REPEATING) ?? {};
    if (shown !== IN_VAIN || !owned || owned.owner === 0 || ownership.owns(REPEATING)) return undefined;
    return { sinceUs: owned.sinceUs, shownUs, nowUs, epoch: owned.epoch };
  }

  async function takeOver({ epoch }: OwnerTrouble): Promise<void> {
    await ownership.takeOver({ duty: REPEATING, epoch });
  }

  const reaches = async () => clock.monotonicMs() - inVainMs >= LEFT_MS;
  const failed = (error: unknown) => report({ what: 'trouble', stage: 'store', error });
  const watching = watchOwner(
    { clock, random, trouble, reaches, answered: () => {}, takeOver },
    signal,
    failed,
  );
  await ownership.whileOwned({ duty: REPEATING, isFixed: true, run, show }, signal);
  await watching;
}
