/**
 * Flushes the groups that are due, each in five stages within the transaction of the caller:
 *
 *   load ──► mute ──► decide ──► notify ──► settle
 *
 * - *load*: the group's alerts, and its route in the present configuration; without one it is dissolved.
 * - *mute*: what a silence, an inhibition or a time interval mutes waits, or is suppressed for good.
 * - *decide*: whether the group notifies now, and of what. Pure, by the group's sort (`domain/grouping/sorts/`).
 * - *notify*: queues a delivery for everybody concerned, unless the receiver is throttled.
 * - *settle*: writes of what the group has notified, and ends incidents.
 */
import { SORTS } from '../domain/grouping/sorts/sorts.ts';
import type { Recurrences } from '../domain/muting/silence.ts';
import { loadMuting } from '../store/load-muting.ts';
import type { Transaction } from '../store/store.ts';
import { decideFlush } from './flush/decide-flush.ts';
import type { FlushConfig, FlushContext } from './flush/flush-context.ts';
import { loadGroup } from './flush/load-group.ts';
import { muteAlerts } from './flush/mute-alerts.ts';
import { notify } from './flush/notify.ts';
import { settleGroup } from './flush/settle-group.ts';
import { NOTHING, type Step, type Tally } from './step.ts';

/** Groups flushed in one transaction, and alerts after which no other group is begun in it. */
const BATCH = 200;
const BATCH_ALERTS = 1_000;

/** `everyGroup`: all of them, due or not, but for those whose instant is the point of them. */
export async function flushGroups(
  tx: Transaction,
  config: FlushConfig,
  recurrences: Recurrences,
  nowUs: number,
  everyGroup: boolean,
): Promise<Step> {
  const [untilUs, limit] = everyGroup ? [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER] : [nowUs, BATCH];
  const due = await tx.groups.due(untilUs, limit);
  if (due.length === 0) return NOTHING;
  const tally: Tally = { queued: 0, happenings: [] };
  const muting = await loadMuting(tx, config, recurrences, nowUs);
  const context: FlushContext = { tx, config, muting, tally, nowUs };
  let done = 0;
  let alerts = 0;
  for (const group of due) {
    if (alerts >= BATCH_ALERTS && !everyGroup) break;
    done += 1;
    if (SORTS[group.sort].isTimed && group.nextFlushAtUs > nowUs) continue;
    const loaded = await loadGroup(context, group);
    alerts += loaded.inGroup.length;
    if (loaded.route === undefined) continue;
    const muted = await muteAlerts(context, loaded);
    const flushed = await decideFlush(context, muted);
    const notified = await notify(context, muted, flushed);
    await settleGroup(context, muted, flushed, notified);
  }
  return { done: everyGroup ? 0 : done, ...tally };
}
