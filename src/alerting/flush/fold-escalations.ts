import type { Group } from '../../domain/grouping/group.ts';
import type { Transaction } from '../../store/store.ts';

/** Escalations that are due within this time of the first go with it. */
const FOLD_US = 30_000_000;
/** Groups that are looked through for them. */
const MOST_GROUPS = 400;

/**
 * Folds escalations of one Nest, by one route to one receiver, that are due at about the same time into the first of
 * them, so that one message tells of all. Returns the groups that are still due.
 */
export async function foldEscalations(
  tx: Transaction,
  due: readonly Group[],
  nowUs: number,
): Promise<readonly Group[]> {
  if (!due.some(isUntold)) return due;
  const soon = await tx.groups.due(nowUs + FOLD_US, MOST_GROUPS);
  const folded: string[] = [];
  for (const [first, ...others] of Map.groupBy(soon.filter(isUntold), placeOf).values()) {
    if (!first || first.nextFlushAtUs > nowUs) continue;
    for (const { key } of others) {
      const inGroup = await tx.groups.members(key);
      await tx.groups.putMembers(inGroup.map(({ member }) => ({ ...member, groupKey: first.key })));
      folded.push(key);
    }
  }
  await tx.groups.delete(folded);
  return due.filter(({ key }) => !folded.includes(key));
}

function isUntold({ sort, notifications }: Group): boolean {
  return sort === 'escalation' && notifications === 0;
}

function placeOf({ receiver, route, labels: { region, nest, nest_id } }: Group): string {
  return JSON.stringify([receiver, route, region, nest, nest_id]);
}
