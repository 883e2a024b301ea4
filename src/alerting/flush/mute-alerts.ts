import { alertAsKnown, applyMutes, isToBeMuted } from '../../domain/grouping/apply-mutes.ts';
import { SORTS } from '../../domain/grouping/sorts/sorts.ts';
import { timedRoute } from '../../domain/grouping/timed-route.ts';
import type { Mute } from '../../domain/muting/muting.ts';
import type { FlushContext, LoadedGroup, MutedGroup } from './flush-context.ts';

/**
 * Separates muted alerts from the others. What will never be notified of is recorded as suppressed, with the reason.
 */
export async function muteAlerts(
  { tx, config, muting, pauseAfter, tally, nowUs }: FlushContext,
  loaded: LoadedGroup,
): Promise<MutedGroup> {
  const { group, inGroup, route } = loaded;
  const mutes = new Map<string, Mute>();
  for (const standing of inGroup) {
    if (!isToBeMuted(standing)) continue;
    const alert = alertAsKnown(group, standing);
    const timed = timedRoute(group, route, alert.labels, config.route, muting);
    const mute = await muting.why(alert, timed, pauseAfter);
    // A summary counts what is old, of which the alert that inhibits it says nothing.
    if (mute && !(mute.standsIn && SORTS[group.sort].sumsUp)) mutes.set(standing.alert.id, mute);
  }
  const { open, waiting, members, suppressions } = applyMutes(
    group,
    inGroup,
    ({ id }) => mutes.get(id) ?? null,
    nowUs,
  );
  await tx.suppressions.add(suppressions);
  await tx.groups.putMembers(members);
  for (const [reason, list] of Map.groupBy(suppressions, (one) => one.reason)) {
    tally.happenings.push({ what: 'suppressed', reason, count: list.length });
  }
  return { ...loaded, open, waiting };
}
