import type { ReplicaRecord } from '../ownership-store.ts';

/**
 * Replicas by names that tell them apart. Processes of one machine have the same host name, and containers may be given
 * the same: behind such a name stands the number of the replica, as in `web-1#7`.
 */
export function toldApart(replicas: readonly ReplicaRecord[]): ReplicaRecord[] {
  const named = Map.groupBy(replicas, ({ name }) => name);
  return replicas.map((one) =>
    named.get(one.name)!.length > 1 ? { ...one, name: `${one.name}#${one.replica}` } : one,
  );
}
