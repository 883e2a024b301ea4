/**
 * Flushes the groups that are due, each in five stages, within the caller's transaction:
 *
 *   load ──► mute ──► decide ──► notify ──► settle
 *
 * - *load*: reads the group's alerts, and its route in the present configuration; without a route the group is
 *   dissolved. A receiver that the group had in an earlier configuration is notified once more before that
 *   (`flush/former-receiver.ts`).
 * - *mute*: sets apart the alerts that a silence, an inhibition or a time interval mutes. They wait, or are suppressed
 *   for good.
 * - *decide*: decides whether the group notifies now, and of what, by the pure functions of its sort
 *   (`domain/grouping/sorts/`).
 * - *notify*: queues a delivery for each integration concerned, unless the receiver is throttled.
 * - *settle*: writes what the group has notified of, and resolves incidents in which nothing fires any more.
 *
 * A group that a flood of alerts is joining waits for more of them first, for 2 s at most (`isFlooded`).
 *
 * If a stage fails, all that it did for that group is rolled back and the group is set aside for a while. The other
 * groups are flushed.
 */
import { createServiceLinks } from '../config/sections/region-links.ts';
import { isFlooded } from '../domain/grouping/flush.ts';
import type { Group } from '../domain/grouping/group.ts';
import { SORTS } from '../domain/grouping/sorts/sorts.ts';
import type { Recurrences } from '../domain/muting/silence.ts';
import { loadMuting } from '../store/load-muting.ts';
import { readPast } from '../store/read-context.ts';
import type { Transaction } from '../store/store.ts';
import { pausing } from '../time/pause-after.ts';
import { decideFlush } from './flush/decide-flush.ts';
import type { FlushConfig, FlushContext } from './flush/flush-context.ts';
import { notifyFormerReceiver } from './flush/former-receiver.ts';
import { receiversHeldBackFrom } from './flush/gathered-groups.ts';
import { createUnsettledGatherings } from './flush/keep-order.ts';
import { loadGroup, muteAlerts } from './flush/load-group.ts';
import { notify } from './flush/notify.ts';
import { settleGroup } from './flush/settle-group.ts';
import type { Growth } from './join-groups.ts';
import { withoutOtherEnds } from './known-to-fallback.ts';
import { NOTHING, noteFaults, type Step, setGroupAside, type Tally } from './step-runner.ts';

/** Limits of one transaction: the groups flushed, and the alerts after which no further group is begun. */
export const MOST_GROUPS = 400;
const BATCH_ALERTS = 1_000;

/** Which groups are flushed. */
interface Which {
  /** All groups, due or not, except timed ones (`Sort.isTimed`) that are not due. */
  readonly everyGroup: boolean;
  /** How many alerts joined each group since all that were due were last flushed, which clears it. A flooded group waits. */
  readonly growth: Growth;
  /** The most groups flushed. Default: `MOST_GROUPS`. */
  readonly most?: number;
  /**
   * All alerts that changed before this instant have joined; Infinity for all (default). If others wait, a group is
   * flushed only if it was due by then and none of its alerts waits, so it tells all that it was to tell when it was due.
   */
  readonly joinedUntilUs?: number;
}

export async function flushGroups(
  tx: Transaction,
  config: FlushConfig,
  recurrences: Recurrences,
  { everyGroup, growth, most = MOST_GROUPS, joinedUntilUs = Number.POSITIVE_INFINITY }: Which,
  nowUs: number,
): Promise<Step> {
  const [untilUs, limit] = everyGroup
    ? [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]
    : [Math.min(nowUs, joinedUntilUs - 1), MOST_GROUPS];
  const areWaiting = joinedUntilUs < Number.POSITIVE_INFINITY;
  const found = await tx.groups.due(untilUs, limit, areWaiting);
  if (found.length === 0) return NOTHING;
  const due = everyGroup ? found : await foldEscalations(tx, found, nowUs);
  const muting = await loadMuting(tx, config, recurrences, nowUs);
  const serviceLinks = createServiceLinks(config.regions);
  const past = readPast(tx);
  const pauseAfter = pausing(tx);
  const heldBackFrom = await receiversHeldBackFrom(tx, config.receivers);
  const unsettledGatherings = createUnsettledGatherings(tx, config.receivers);
  const broken = new Set(await tx.faults.names('group'));
  const shared = {
    tx,
    config,
    muting,
    pauseAfter,
    heldBackFrom,
    unsettledGatherings,
    serviceLinks,
    past,
    isAtOnce: everyGroup,
    nowUs,
  };
  const batch: Batch = {
    due,
    mostGroups: everyGroup ? Number.POSITIVE_INFINITY : most,
    mostAlerts: everyGroup ? Number.POSITIVE_INFINITY : BATCH_ALERTS,
    isLeft: (group) =>
      everyGroup
        ? SORTS[group.sort].isTimed === true && group.nextFlushAtUs > nowUs
        : isFlooded(group, growth.get(group.key) ?? 0, nowUs),
    async flush(group, tally) {
      const alerts = await flushGroup({ ...shared, tally }, group);
      if (broken.has(group.key)) await tx.faults.mend('group', [group.key]);
      return alerts;
    },
  };
  const { done, tally } = (await flushTogether(tx, batch)) ?? (await flushSingly(tx, batch, nowUs));
  tally.happenings.push(...(await noteFaults(tx, muting.faults(), nowUs)));
  // A flooded group waits only until the next flush. Otherwise it would stay due and keep this step running.
  if (done === due.length && !areWaiting) growth.clear();
  return { done, isAll: everyGroup || (done === due.length && found.length < limit), ...tally };
}

interface Batch {
  readonly due: readonly Group[];
  readonly mostGroups: number;
  readonly mostAlerts: number;
  /** Whether a group is skipped for now. */
  isLeft(group: Group): boolean;
  /** Flushes a group; returns how many alerts it has. */
  flush(group: Group, tally: Tally): Promise<number>;
}

interface Flushed {
  /** Groups that were looked at. */
  readonly done: number;
  readonly tally: Tally;
}

/**
 * Flushes all in one savepoint, since one for each would cost as much as the flush itself. Undefined if a group fails.
 */
async function flushTogether(tx: Transaction, batch: Batch): Promise<Flushed | undefined> {
  const tally: Tally = { queued: 0, happenings: [] };
  const outcome = await tx.attempt(() => flushEach(batch, (group) => batch.flush(group, tally)));
  return outcome.ok ? { done: outcome.value, tally } : undefined;
}

/** Flushes each group in its own savepoint, and sets aside those that fail. */
async function flushSingly(tx: Transaction, batch: Batch, nowUs: number): Promise<Flushed> {
  const tally: Tally = { queued: 0, happenings: [] };
  const done = await flushEach(batch, async (group) => {
    const own: Tally = { queued: 0, happenings: [] };
    const outcome = await tx.attempt(() => batch.flush(group, own));
    if (!outcome.ok) {
      tally.happenings.push(...(await setGroupAside(tx, group, outcome.error, nowUs)));
      return 0;
    }
    tally.queued += own.queued;
    tally.happenings.push(...own.happenings);
    return outcome.value;
  });
  return { done, tally };
}

/** Flushes the groups in order until they are enough, or had enough alerts together; returns how many were looked at. */
async function flushEach(
  { due, mostGroups, mostAlerts, isLeft }: Batch,
  flushOne: (group: Group) => Promise<number>,
): Promise<number> {
  let done = 0;
  let groups = 0;
  let alerts = 0;
  for (const group of due) {
    if (groups >= mostGroups || alerts >= mostAlerts) break;
    done += 1;
    if (isLeft(group)) continue;
    groups += 1;
    alerts += await flushOne(group);
  }
  return done;
}

/** Flushes one group; returns how many alerts it has. */
async function flushGroup(context: FlushContext, group: Group): Promise<number> {
  const loaded = await loadGroup(context, await notifyFormerReceiver(context, group));
  if (loaded.route === undefined) return loaded.inGroup.length;
  const muted = await withoutOtherEnds(context, await muteAlerts(context, loaded));
  const flushed = await decideFlush(context, muted);
  const notified = await notify(context, muted, flushed);
  await settleGroup(context, muted, flushed, notified);
  return loaded.inGroup.length;
}

/** Escalations that are due within this time of the first go with it. */
const FOLD_US = 30_000_000;

/**
 * Folds escalations of one Nest, by one route to one receiver, that are due at about the same time into the first of
 * them, so that one message tells of all. Returns the groups that are still due.
 */
async function foldEscalations(
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
