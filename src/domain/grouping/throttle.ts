/** Throttles receivers: limits their notifications if the configuration caps them per hour, or folds storms or ends. */
import { durationWords } from '../../text/instant-words.ts';

/** What was recently sent to a receiver, as far as throttling needs to know. */
export interface ReceiverPace {
  readonly receiver: string;
  /** When the notifications of the last hour were queued, oldest first; without a cap the last few only. */
  readonly queuedAtUs: readonly number[];
  /** Notifications held back since the last one that was queued. */
  readonly heldBack: number;
  /** When several held-back notifications were last sent as one; absent for never. */
  readonly foldedAtUs?: number;
  /** What waits to be told together (`foldEnds`); absent for nothing. */
  readonly ends?: Ends;
}

interface Ends {
  readonly untilUs: number;
  /** The first group that waits. */
  readonly groupKey: string;
  /** Set if others wait as well. */
  readonly areSeveral?: true;
}

/** What the receiver's configuration allows; absent for no limit. */
interface Limits {
  readonly maxNotificationsPerHour?: number | undefined;
  readonly foldStormsMs?: number | undefined;
}

/**
 * Decides whether a receiver may be notified now. `isHeldBack`: the notification is about what was held back before.
 * `freeAtUs` is when it may be, null for now; `notices` say what was held back before it. `pace` is to be stored if it is
 * queued or held back now.
 * `isBehind`: something about its alerts is still held back. Their news must not overtake it, or it would be in both
 * messages.
 */
export function throttle(
  { maxNotificationsPerHour: max, foldStormsMs: foldMs }: Limits,
  pace: ReceiverPace,
  isHeldBack: boolean,
  nowUs: number,
  isBehind = false,
): { readonly pace: ReceiverPace; readonly freeAtUs: number | null; readonly notices: readonly string[] } {
  const { recentUs, freeAtUs: cappedUs } = admission(pace.queuedAtUs, max ?? Number.POSITIVE_INFINITY, nowUs);
  const stormUs = foldMs === undefined ? null : afterStormUs(recentUs, pace.foldedAtUs ?? 0, foldMs, nowUs);
  if (cappedUs !== null || stormUs !== null || isBehind) {
    const freeAtUs = Math.max(cappedUs ?? nowUs, stormUs ?? nowUs);
    return { pace: { ...pace, queuedAtUs: recentUs, heldBack: pace.heldBack + 1 }, freeAtUs, notices: [] };
  }
  const folded = isHeldBack && pace.heldBack > 1 ? { foldedAtUs: nowUs } : {};
  const { ends, ...rest } = pace;
  // Without a cap only the last ones matter, and a storm would have thousands written with each.
  const lastUs = max === undefined ? recentUs.slice(-FIRST_OF_STORM) : recentUs;
  return {
    pace: {
      ...rest,
      ...(ends && !isHeldBack && { ends }),
      ...folded,
      queuedAtUs: [...lastUs, nowUs],
      heldBack: 0,
    },
    freeAtUs: null,
    notices: heldBackNotices(pace.heldBack, max, foldMs),
  };
}

/** Says why, if the configuration still limits the receiver. */
function heldBackNotices(heldBack: number, max: number | undefined, foldMs: number | undefined): string[] {
  const why = [
    ...(max === undefined ? [] : [`at most ${max} an hour are sent`]),
    ...(foldMs === undefined
      ? []
      : [`what comes in a storm is sent together, every ${durationWords(foldMs, 'exact')}`]),
  ];
  if (heldBack === 0 || why.length === 0) return [];
  const what = heldBack === 1 ? '1 notification was' : `${heldBack} notifications were`;
  return [`${what} held back before this one: ${why.join(', and ')}.`];
}

const WINDOW_US = 3_600_000_000;

/**
 * When the next notification may be queued, null for now. `queuedAtUs` must be in order of time, and `max` 1 or more. No
 * hour has more than `max` notifications; instants in the clock's future do not count.
 */
export function admission(queuedAtUs: readonly number[], max: number, nowUs: number) {
  const recentUs = queuedAtUs.filter((atUs) => atUs > nowUs - WINDOW_US && atUs <= nowUs);
  const blocking = recentUs.at(-max);
  return { recentUs, freeAtUs: blocking === undefined ? null : blocking + WINDOW_US };
}

/** How many notifications of a storm are sent one by one. */
const FIRST_OF_STORM = 3;

/**
 * When a receiver that folds storms may be notified next; null for now. Within two intervals the first three
 * notifications go out at once. Later ones wait until the last one is an interval old, and are sent as one; this
 * continues while there is more than one to combine. `foldedAtUs` is when that last happened, 0 for never.
 */
export function afterStormUs(
  queuedAtUs: readonly number[],
  foldedAtUs: number,
  intervalMs: number,
  nowUs: number,
): number | null {
  const intervalUs = intervalMs * 1000;
  const recentUs = queuedAtUs.filter((atUs) => atUs > nowUs - 2 * intervalUs && atUs <= nowUs);
  const lastUs = recentUs.at(-1);
  if (lastUs === undefined || lastUs + intervalUs <= nowUs) return null;
  const isStorm = recentUs.length >= FIRST_OF_STORM || recentUs.includes(foldedAtUs);
  return isStorm ? lastUs + intervalUs : null;
}

/**
 * Decides when a group tells what only goes on or is over: now, by itself (`untilUs` null), or together with all that
 * waits for the same. The first of them waits for `foldEndsMs` if another notification was queued as long before. A
 * group that waited alone tells it itself, in its thread.
 */
export function foldEnds(
  foldEndsMs: number,
  pace: ReceiverPace,
  groupKey: string,
  nowUs: number,
): { readonly pace: ReceiverPace; readonly untilUs: number | null } {
  const foldUs = foldEndsMs * 1000;
  const { ends, ...rest } = pace;
  // What lies further away is of a clock that was set, or was told with news.
  if (ends && Math.abs(ends.untilUs - nowUs) <= foldUs) {
    const { untilUs } = ends;
    const isOwn = ends.groupKey === groupKey;
    if (ends.areSeveral || (untilUs > nowUs && isOwn)) return { pace, untilUs };
    if (untilUs > nowUs) return { pace: { ...pace, ends: { ...ends, areSeveral: true } }, untilUs };
    if (isOwn) return { pace: rest, untilUs: null };
  }
  const isBusy = pace.queuedAtUs.some((atUs) => atUs <= nowUs && atUs > nowUs - foldUs);
  const untilUs = isBusy ? nowUs + foldUs : null;
  return { pace: { ...rest, ...(untilUs !== null && { ends: { untilUs, groupKey } }) }, untilUs };
}
