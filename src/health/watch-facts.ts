/**
 * Turns the health answer into facts for alerts. For each reason without an alert of its own (and for each region, if
 * the reason is about regions) a fact says that it impairs the watch, or that it was seen not to. There is no fact if
 * neither can be seen: shortly after a start, or while a region is away, an alert stays as it is, so that a restart
 * notifies nobody.
 */
import type { FactOf } from '../domain/alert/fact.ts';
import type { RegionSnapshot } from '../region-progress.ts';
import { aheadOf, type Clock, LEAST_STEP_US, readClock } from '../time/clock.ts';
import { IMPAIRMENT_REASONS, IMPAIRMENTS, type Impairment, type ImpairmentReason } from './impairment.ts';
import { type HealthSnapshot, NOTHING_KEPT } from './judge-health.ts';

export type WatchFact = FactOf<'watch_health'>;

/** Turns a snapshot and its impairments into facts. It remembers since when each impairment lasts. */
type WatchFacts = (snapshot: HealthSnapshot, found: readonly Impairment[]) => readonly WatchFact[];

const OF_REGIONS: ReadonlySet<ImpairmentReason> = new Set([
  'inventory_failing',
  'no_birds',
  'clock_wrong',
  'feed_unproven',
]);

const REPORTED = IMPAIRMENT_REASONS.filter((reason) => IMPAIRMENTS[reason].alert === 'WatchImpaired');

/** `clock` tells whether the clock that dates the snapshots was set ahead. */
export function createWatchFacts(clock: Clock): WatchFacts {
  /** When each current impairment was first seen. */
  const firstSeenUs = new Map<string, number>();
  let last = readClock(clock);

  /** If the clock was set ahead, an impairment has not lasted longer. */
  function followClock(): void {
    const present = readClock(clock);
    const byUs = aheadOf(last, present);
    last = present;
    if (byUs < LEAST_STEP_US) return;
    for (const [subject, sinceUs] of firstSeenUs) firstSeenUs.set(subject, sinceUs + byUs);
  }

  return (snapshot, found) => {
    const { nowUs } = snapshot;
    followClock();
    const bySubject = Map.groupBy(found, subjectOf);
    return subjects(snapshot).flatMap(({ reason, region }): WatchFact[] => {
      const subject = subjectOf({ reason, region: region?.region });
      const impairments = bySubject.get(subject) ?? [];
      const about = { fact: 'watch_health', reason, ...(region && { region: region.region }) } as const;
      const endsByItself = 'endsByItself' in IMPAIRMENTS[reason];
      if (impairments.length > 0) {
        if (!impairments.every((one) => isNews(one, snapshot, found))) return [];
        // If the clock was set back, the impairment must not have to wait longer.
        const sinceUs = Math.min(firstSeenUs.get(subject) ?? nowUs, nowUs);
        firstSeenUs.set(subject, sinceUs);
        return [{ ...about, isImpaired: true, endsByItself, sinceUs, ...said(impairments) }];
      }
      if (!(region ? isSeenOf(region, reason) : isSeen(snapshot, reason))) return [];
      firstSeenUs.delete(subject);
      const nothing = { severity: 'warning', title: '', sentences: [] } as const;
      return [{ ...about, isImpaired: false, endsByItself, sinceUs: nowUs, ...nothing }];
    });
  };
}

interface Subject {
  readonly reason: ImpairmentReason;
  readonly region: RegionSnapshot | undefined;
}

function subjects({ regions }: HealthSnapshot): Subject[] {
  return REPORTED.flatMap((reason): Subject[] => {
    return OF_REGIONS.has(reason)
      ? regions.map((region) => ({ reason, region }))
      : [{ reason, region: undefined }];
  });
}

function subjectOf({
  reason,
  region,
}: {
  readonly reason: ImpairmentReason;
  readonly region?: string | undefined;
}) {
  return JSON.stringify([reason, OF_REGIONS.has(reason) ? region : undefined]);
}

/**
 * Whether an impairment should raise an alert. If nobody at all is notified, nobody would be told of it, except of
 * its end. Feeds just read are still being proven, and feeds read late are proven late; the latter has an alert of
 * its own.
 */
function isNews(
  { reason, finding, region }: Impairment,
  { route }: HealthSnapshot,
  found: readonly Impairment[],
): boolean {
  if (reason === 'nobody_notified') return route.isAnybodyNotified;
  if (reason !== 'feed_unproven') return true;
  const isLate = found.some((one) => one.reason === 'streams_overdue' && one.region === region);
  return finding.sort !== 'being_proven' && !isLate;
}

/** The most severe first, then the others with the same subject. */
function said(impairments: readonly Impairment[]): Pick<WatchFact, 'severity' | 'title' | 'sentences'> {
  const { severity, title, action } = impairments[0]!;
  return {
    severity: severity === 'critical' ? 'critical' : 'warning',
    title: title.charAt(0).toUpperCase() + title.slice(1),
    sentences: [...impairments.map(({ summary }) => summary), action],
  };
}

/** Whether an impairment for this reason would be noticed now. */
function isSeen({ store, kept }: HealthSnapshot, reason: ImpairmentReason): boolean {
  if (reason === 'disk_low') return store.space !== undefined && store.refusal === undefined;
  const isOfStore = reason === 'deliveries_dead' || reason === 'faults_set_aside';
  return !isOfStore || kept !== NOTHING_KEPT;
}

/** The same for a region, which must have been read since the start. */
function isSeenOf({ health, started, firstPass }: RegionSnapshot, reason: ImpairmentReason): boolean {
  return health.health === 'up' && started && (reason !== 'feed_unproven' || !firstPass);
}
