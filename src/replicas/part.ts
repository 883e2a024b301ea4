/**
 * Gives the stages their part in the watch, whether or not several replicas share the store. A process that has its
 * store to itself does everything, always. Where several share it, each reads the regions that it owns, one alerts, one
 * repeats, and all of them send (`ownership.ts`).
 */
import type { RegionSetting, WatchedRegion } from '../intake/watched-region.ts';
import { ALERTING } from '../store/ownership-store.ts';
import type { Store, WakeUp } from '../store/store.ts';
import { createOwnedRegion } from './owned-region.ts';
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
