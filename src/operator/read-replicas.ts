/** Lists the replicas that share the store, and what each of them does. */
import { ALERTING, type OwnershipView, regionOf } from '../store/ownership-store.ts';
import type { Transaction } from '../store/store.ts';

export interface ReplicaView {
  /** Its number, which is never reused, not even by a restart of the same process. */
  readonly replica: number;
  /** Unique among the replicas that are present. */
  readonly name: string;
  readonly version: string;
  readonly startedUs: number;
  /** `silent`: it did not renew its entry in time, and is removed unless it still does. */
  readonly state: 'working' | 'leaving' | 'silent';
  readonly isAlerting: boolean;
  /** The regions that it reads. */
  readonly regions: readonly OwnedRegionView[];
}

interface OwnedRegionView {
  readonly region: string;
  /** Grows each time the region passes from one replica to another. */
  readonly epoch: number;
  /** Since when the replica has owned the region. */
  readonly sinceUs: number;
}

/** Oldest first; empty if a process has its own store. Instants are by the store's clock. */
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
