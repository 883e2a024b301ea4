import { applyMutes } from '../../domain/grouping/apply-mutes.ts';
import type { FlushContext, LoadedGroup, MutedGroup } from './flush-context.ts';

/** Separates what is muted from what is not. What will never be notified is written with the reason. */
export async function muteAlerts(
  { tx, muting, tally, nowUs }: FlushContext,
  loaded: LoadedGroup,
): Promise<MutedGroup> {
  const { group, inGroup, route } = loaded;
  const { open, waiting, members, suppressions } = applyMutes(
    group,
    inGroup,
    (alert) => muting.why(alert, route),
    nowUs,
  );
  await tx.suppressions.add(suppressions);
  await tx.groups.putMembers(members);
  for (const [reason, list] of Map.groupBy(suppressions, (one) => one.reason)) {
    tally.happenings.push({ what: 'suppressed', reason, count: list.length });
  }
  return { ...loaded, open, waiting };
}
