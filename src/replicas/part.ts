/**
 * The part that a process has in the watch. One that has its store to itself does everything, always. Where several
 * share a store, each reads the regions that it owns, one of them alerts and one repeats, and all send (`ownership.ts`).
 */
import type { RegionSetting, WatchedRegion } from '../intake/watched-region.ts';
import { ALERTING } from '../store/ownership-store.ts';
import type { Store, WakeUp } from '../store/store.ts';
import { createOwnedRegion } from './owned-region.ts';
import { whileRepeating } from './owned-repeating.ts';
import {
  createOwnership,
  type Ownership,
  type OwnershipOptions,
  type ReplicaPart,
  type Senders,
} from './ownership.ts';

/** Works until `signal` aborts; all that it writes goes through `store`. */
type Work = (signal: AbortSignal, store: Store) => Promise<void>;

/** What this process can do with a region. */
export interface RegionWay {
  /** Begins to read it; at this rate, where one is known. */
  readonly create: (store: Store, startPerSecond: number | undefined) => WatchedRegion;
  /** Whether its service answers this process. */
  readonly reaches: (signal: AbortSignal) => Promise<boolean>;
}

export interface Part {
  /** False where the process has its store to itself. */
  readonly isShared: boolean;
  /** Takes part until `signal` aborts; `heard` is called for what others ring. The function that is returned ends it. */
  take(signal: AbortSignal, heard: (what: WakeUp) => void): () => Promise<void>;
  /** Says to the other replicas that there is something for them to do. */
  ring(what: WakeUp): void;
  /** Decides for everybody, whenever that is this process's to do, until `signal` aborts. */
  whileAlerting(work: Work, signal: AbortSignal): Promise<void>;
  /** Whether it decides for everybody now. */
  isAlerting(): boolean;
  /** Does what is repeated for everybody, whenever that is this process's to do, until `signal` aborts. */
  whileRepeating(work: Work, signal: AbortSignal): Promise<void>;
  /** A region that is read whenever that is this process's to do. `knownPerSecond` is what its service bore just now. */
  region(setting: RegionSetting, way: RegionWay, knownPerSecond: number | undefined): WatchedRegion;
  /** Those that share the store, this one among them; none where the process has it to itself. */
  replicas(): ReturnType<Ownership['replicas']>;
  /** What delivery has to know, where several share the store. */
  readonly senders: Senders | undefined;
  /** How often to look for what another one may have left, in case a wake is lost; undefined where there is none. */
  readonly lookEveryMs: number | undefined;
}

interface PartOptions extends Omit<OwnershipOptions, keyof ReplicaPart> {
  /** Whether what is repeated here is not accepted any more. */
  readonly repeatsInVain: () => boolean;
  /** Where several share the store; absent where this one has it to itself. */
  readonly replica?: ReplicaPart | undefined;
}

/** Beside reading, alerting takes so much. */
const ALERTING_PART = 1 / 4;

/** Wakes are lost with a connection or a process only, and who notices that looks at once. */
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

  /** What alerting takes grows with what is read. */
  function alertingWeight(): number {
    const read = ownership.view()?.duties.filter(({ duty }) => duty !== ALERTING) ?? [];
    return 1 + ALERTING_PART * read.reduce((sum, { weight }) => sum + weight, 0);
  }

  /** Moving what is done for everybody makes nothing more even. */
  function whileOwned(duty: string, weight: () => number, run: Work, signal: AbortSignal): Promise<void> {
    const show = () => ({ weight: weight(), shown: '' });
    return ownership.whileOwned({ duty, isFixed: true, run, show }, signal);
  }

  return {
    isShared: true,
    take(signal, heard) {
      // Who ends without a word has not rung for what it committed last, nor for what it was sending.
      const membership = ownership.begin(() => {
        heard('alerting');
        heard('delivery');
      });
      const deafen = wakes.listen(heard);
      signal.addEventListener('abort', () => membership.leave(), { once: true });
      return async () => {
        deafen();
        await membership.end();
      };
    },
    ring: (what) => wakes.ring(what),
    whileAlerting: (work, signal) => whileOwned(ALERTING, alertingWeight, work, signal),
    isAlerting: () => ownership.owns(ALERTING),
    whileRepeating: (work, signal) =>
      whileRepeating({ ...options, ownership, isInVain: repeatsInVain }, work, signal),
    region: (setting, way) => createOwnedRegion({ ...options, ...way, setting, ownership }),
    replicas: () => ownership.replicas(),
    senders: ownership.senders,
    lookEveryMs: LOOK_EVERY_MS,
  };
}
