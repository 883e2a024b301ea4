import type { Alert } from '../alerts/alert.ts';
import type { Group, Standing } from '../alerts/group.ts';
import type { Muting } from '../alerts/muting.ts';
import type { Route } from '../alerts/route.ts';
import { isAcknowledgementOver } from '../alerts/silence.ts';
import { ended } from '../alerts/silence-change.ts';
import { type Withheld, withhold } from '../alerts/withhold.ts';
import type { Happening } from '../report.ts';
import type { Transaction } from '../store/store.ts';

/** Keeps what a flush must not tell; the rest is told. What is never told is written with the reason. */
export async function keepMuted(
  tx: Transaction,
  muting: Muting,
  { group, standings, route }: { group: Group; standings: readonly Standing[]; route: Route },
  nowUs: number,
): Promise<Pick<Withheld, 'open' | 'waiting'> & { readonly suppressed: readonly Happening[] }> {
  const { open, waiting, members, suppressions } = withhold(
    group,
    standings,
    (alert) => muting.why(alert, route),
    nowUs,
  );
  await tx.suppress(suppressions);
  await tx.putGroupMembers(members);
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
  const over = (await tx.silences(nowUs)).filter((silence) => {
    const alert = silence.alertId === null ? undefined : byId.get(silence.alertId);
    return alert !== undefined && isAcknowledgementOver(silence, alert);
  });
  await tx.putSilences(over.flatMap((silence) => ended(silence, nowUs)));
}
