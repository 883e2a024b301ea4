import type { Alert } from '../domain/alert/alert.ts';
import { applyMutes, type Withheld } from '../domain/grouping/apply-mutes.ts';
import type { Group, Standing } from '../domain/grouping/group.ts';
import type { Muting } from '../domain/muting/muting.ts';
import type { Route } from '../domain/muting/route.ts';
import { isAcknowledgementOver } from '../domain/muting/silence.ts';
import { ended } from '../domain/muting/silence-change.ts';
import type { Happening } from '../report.ts';
import type { Transaction } from '../store/store.ts';

/** Keeps what a flush must not tell; the rest is told. What is never told is written with the reason. */
export async function keepMuted(
  tx: Transaction,
  muting: Muting,
  { group, standings, route }: { group: Group; standings: readonly Standing[]; route: Route },
  nowUs: number,
): Promise<Pick<Withheld, 'open' | 'waiting'> & { readonly suppressed: readonly Happening[] }> {
  const { open, waiting, members, suppressions } = applyMutes(
    group,
    standings,
    (alert) => muting.why(alert, route),
    nowUs,
  );
  await tx.suppressions.add(suppressions);
  await tx.groups.putMembers(members);
  const byReason = Map.groupBy(suppressions, ({ reason }) => reason);
  const suppressed = [...byReason].map(([reason, list]) => ({
    what: 'suppressed' as const,
    reason,
    count: list.length,
  }));
  return { open, waiting, suppressed };
}

/** Ends the silences that acknowledged an episode of these alerts which is over. */
export async function endAcknowledgements(
  tx: Transaction,
  alerts: readonly Alert[],
  nowUs: number,
): Promise<void> {
  const byId = new Map(alerts.map((alert) => [alert.id, alert]));
  const over = (await tx.silences.list(nowUs)).filter((silence) => {
    const alert = silence.alertId === null ? undefined : byId.get(silence.alertId);
    return alert !== undefined && isAcknowledgementOver(silence, alert);
  });
  await tx.silences.put(over.flatMap((silence) => ended(silence, nowUs)));
}
