import type { ReplicaRecord } from '../ownership-store.ts';

/**
 * Makes the names of replicas unique. Processes on one machine have the same host name, and so may containers; the
 * replica's number is appended to such names, as in `web-1#7`.
 */
export function withUniqueNames(replicas: readonly ReplicaRecord[]): ReplicaRecord[] {
  const named = Map.groupBy(replicas, ({ name }) => name);
  return replicas.map((one) =>
    named.get(one.name)!.length > 1 ? { ...one, name: `${one.name}#${one.replica}` } : one,
  );
}
