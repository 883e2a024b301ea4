/** Decides which alerts are muted at one instant, and why: by silences, inhibition and a route's time intervals. */
import type { Labels } from '../alert/alert.ts';
import { type Fault, FaultBox } from '../alert/fault.ts';
import { isPart } from '../kinds/failures/shared-cause.ts';
import { workOf } from '../matchers/matcher.ts';
import type { Route } from '../routing/route.ts';
import { createInhibitor, type Inhibitor, type InhibitRule, workOfRule } from './inhibit.ts';
import { concerns, isHiding, type Recurrences, type Silence, type Silenceable } from './silence.ts';
import type { SuppressionReason } from './suppression.ts';
import { mutingIntervals, type TimeIntervals } from './time-interval.ts';

export interface Mutes {
  /** The silences that mute it. */
  readonly silencedBy: readonly Silence[];
  /** Fingerprints of the alerts that inhibit it. */
  readonly inhibitedBy: readonly string[];
}

/** Why an alert is muted. */
export interface Mute {
  readonly reason: SuppressionReason;
  /** By whom or what, for people. */
  readonly detail: string;
  /** See `InhibitRule`. */
  readonly standsIn?: boolean;
}

/**
 * Lets other work run after much was done. `work` is measured in instructions of regular expressions, or steps as
 * simple. If it returns a promise, it is awaited.
 */
type GiveWay = (work: number) => Promise<unknown> | undefined;

export interface Muting {
  of(alert: Silenceable, giveWay: GiveWay): Promise<Mutes>;
  /** Adds the labels of one more firing alert: `firing` for alerts that are read later. */
  fires(labels: Labels): void;
  /** The names of the time intervals that mute everything of a route; empty for none. */
  ofRoute(route: Route): readonly string[];
  /** Why the alert is muted on this route; null if it is not. The order of reasons is Alertmanager's. */
  why(alert: Silenceable, route: Route, giveWay: GiveWay): Promise<Mute | null>;
  /** Silences and inhibit rules that have failed so far; they mute nothing. */
  faults(): readonly Fault[];
}

/** Whether a receiver is told of everything of which an alert with these labels tells. */
export type IsTold = (labels: Labels, receiver: string) => boolean;

export interface MutingOptions {
  readonly silences: readonly Silence[];
  readonly inhibitRules: readonly InhibitRule[];
  /**
   * Labels of the alerts that fire now, at least of those that `sourceNames` names. Alerts that are over and fire on
   * because they flap are excluded: nothing is a consequence of them.
   */
  readonly firing: readonly Labels[];
  readonly timeIntervals: TimeIntervals;
  readonly recurrences: Recurrences;
  /** Absent: every one is. */
  readonly isTold?: IsTold;
  readonly nowUs: number;
}

/** The least work of checking an alert, even if nothing mutes it. */
const LEAST_WORK = 50;

export async function createMuting(options: MutingOptions, giveWay: GiveWay): Promise<Muting> {
  const { silences, inhibitRules, firing, timeIntervals, recurrences, isTold = () => true, nowUs } = options;
  const faults = new FaultBox();
  const isHidingNow = (silence: Silence) =>
    faults.guard('silence', silence.id, () => isHiding(silence, nowUs, recurrences), false);
  const hides = (silence: Silence, alert: Silenceable) =>
    faults.guard('silence', silence.id, () => concerns(silence, alert), false);
  const inhibitors = inhibitRules.map((rule, index) => guarded(`inhibit_rules[${index}]`, rule, faults));
  const fires = (labels: Labels) => {
    for (const inhibitor of inhibitors) inhibitor.fires(labels);
  };
  for (const labels of firing) fires(labels);
  const inhibitedBy = (labels: Labels) => inhibitors.flatMap((one) => one.sourceOf(labels) ?? []);
  const byAlert = Map.groupBy(silences.filter(isHidingNow), ({ alertId }) => alertId);
  const leastWork = inhibitRules.reduce((sum, rule) => sum + workOfRule(rule), LEAST_WORK);
  const shares = await inShares(byAlert.get(null) ?? [], giveWay);
  /** The silences that could mute it; those that acknowledge it come last. */
  const sharesFor = ({ id }: Silenceable): readonly Share[] => {
    const own = byAlert.get(id);
    return own ? [...shares, { silences: own, work: own.length }] : shares;
  };
  const byRoute = new Map<Route, readonly string[]>();
  const ofRoute = (route: Route) => {
    const known = byRoute.get(route);
    if (known) return known;
    const names = mutingIntervals(route, timeIntervals, nowUs);
    byRoute.set(route, names);
    return names;
  };

  return {
    async of(alert, giveWay) {
      const sources = inhibitedBy(alert.labels);
      let pause = giveWay(leastWork);
      if (pause) await pause;
      const silencedBy: Silence[] = [];
      for (const { silences, work } of sharesFor(alert)) {
        for (const one of silences) if (hides(one, alert)) silencedBy.push(one);
        pause = giveWay(work);
        if (pause) await pause;
      }
      return { silencedBy, inhibitedBy: sources.map(({ fingerprint }) => fingerprint) };
    },
    fires,
    ofRoute,
    faults: () => faults.all(),
    async why(alert, route, giveWay) {
      const source = inhibitedBy(alert.labels).find(
        ({ standsIn, labels }) => !standsIn || (isPart(alert) && isTold(labels, route.receiver)),
      );
      let pause = giveWay(leastWork);
      if (pause) await pause;
      if (source) {
        const { labels, fingerprint, standsIn } = source;
        return {
          reason: 'inhibited',
          detail: `${standsIn ? 'part of' : 'by'} ${labels.alertname} (${fingerprint})`,
          standsIn,
        };
      }
      const intervals = ofRoute(route);
      if (intervals.length > 0) return { reason: 'time_interval', detail: intervals.join(', ') };
      for (const { silences, work } of sharesFor(alert)) {
        const silence = silences.find((one) => hides(one, alert));
        pause = giveWay(work);
        if (pause) await pause;
        if (!silence) continue;
        const { id, createdBy, comment } = silence;
        return { reason: 'silenced', detail: `by ${createdBy}: ${comment} (${id})` };
      }
      return null;
    },
  };
}

/** Silences that are checked one after another before other work may run. */
interface Share {
  readonly silences: readonly Silence[];
  readonly work: number;
}

/** The most work of a share; a single silence may exceed it. */
const MOST_OF_A_SHARE = 1_000;

/** Compiles their expressions, which takes as long as evaluating them. */
async function inShares(silences: readonly Silence[], giveWay: GiveWay): Promise<Share[]> {
  const shares: Share[] = [];
  let share: { silences: Silence[]; work: number } | undefined;
  for (const silence of silences) {
    const work = workOf(silence.matchers);
    if (!share || share.work + work > MOST_OF_A_SHARE) {
      share = { silences: [], work: 0 };
      shares.push(share);
    }
    share.silences.push(silence);
    share.work += work;
    const pause = giveWay(work);
    if (pause) await pause;
  }
  return shares;
}

/** A rule that failed, and so does not know everything that fires, inhibits nothing. */
function guarded(name: string, rule: InhibitRule, faults: FaultBox): Inhibitor {
  const inhibitor = createInhibitor(rule);
  let isWhole = true;
  return {
    fires(labels) {
      const heard = () => {
        inhibitor.fires(labels);
        return true;
      };
      isWhole &&= faults.guard('inhibit_rule', name, heard, false);
    },
    sourceOf: (labels) =>
      isWhole ? faults.guard('inhibit_rule', name, () => inhibitor.sourceOf(labels), undefined) : undefined,
  };
}
