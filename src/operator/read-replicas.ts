/** The replicas that share the store, with what each of them does. */
import { ALERTING, type OwnershipView, regionOf } from '../store/ownership-store.ts';
import type { Transaction } from '../store/store.ts';

export interface ReplicaView {
  /** Its number: never given twice, also to another life of the same process. */
  readonly replica: number;
  /** Differs from that of all others that are there. */
  readonly name: string;
  readonly version: string;
  readonly startedUs: number;
  /** `silent`: it has not said in time that it lives, and is removed if it does not. */
  readonly state: 'working' | 'leaving' | 'silent';
  readonly isAlerting: boolean;
  /** Those that it reads. */
  readonly regions: readonly OwnedRegionView[];
}

interface OwnedRegionView {
  readonly region: string;
  /** Grows each time that the region goes from one replica to another. */
  readonly epoch: number;
  /** Since when the replica has it. */
  readonly sinceUs: number;
}

/** The oldest first; none where a process has the store to itself. Instants are those of the store's clock. */
export async function readReplicas(tx: Transaction): Promise<readonly ReplicaView[]> {
  return replicasOf(await tx.ownership.view());
}

export function replicasOf({ nowUs, replicas, duties }: OwnershipView): readonly ReplicaView[] {
  return replicas
    .toSorted((a, b) => a.replica - b.replica)
    .map(({ replica, name, version, startedUs, expiresUs, isLeaving }) => {
      const own = duties.filter(({ owner }) => owner === replica);
      return {
        ...{ replica, name, version, startedUs },
        state: isLeaving ? 'leaving' : expiresUs < nowUs ? 'silent' : 'working',
        isAlerting: own.some(({ duty }) => duty === ALERTING),
        regions: own.flatMap(({ duty, epoch, sinceUs }) => {
          const region = regionOf(duty);
          return region === undefined ? [] : [{ region, epoch, sinceUs }];
        }),
      };
    });
}
