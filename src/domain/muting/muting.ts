/** Which alerts are muted, and why: by silences, inhibition and the times of a route, at one instant. */
import type { Labels } from '../alert/alert.ts';
import { type Fault, FaultBox } from '../alert/fault.ts';
import { workOf } from '../matchers/matcher.ts';
import type { Route } from '../routing/route.ts';
import { createInhibitor, type Inhibitor, type InhibitRule, workOfRule } from './inhibit.ts';
import { concerns, isHiding, type Recurrences, type Silence, type Silenceable } from './silence.ts';
import type { SuppressionReason } from './suppression.ts';
import { mutingIntervals, type TimeIntervals } from './time-interval.ts';

export interface Mutes {
  /** Ids of the silences that hide it. */
  readonly silencedBy: readonly string[];
  /** Fingerprints of the alerts that inhibit it. */
  readonly inhibitedBy: readonly string[];
}

/** Why an alert is muted. */
export interface Mute {
  readonly reason: SuppressionReason;
  /** By whom or what, for people. */
  readonly detail: string;
}

export interface Muting {
  of(alert: Silenceable): Mutes;
  /** These are the labels of one more alert that fires: `firing` for alerts that are read later. */
  fires(labels: Labels): void;
  /** How much work it is to ask about one alert: in instructions of regular expressions, or what is as simple. */
  readonly work: number;
  /** The names of the time intervals that mute everything of a route; empty for none. */
  ofRoute(route: Route): readonly string[];
  /** Why this route is muted for the alert; null when it is not. The order is Alertmanager's. */
  why(alert: Silenceable, route: Route): Mute | null;
  /** Silences and inhibitions that failed up to now: they mute nothing. */
  faults(): readonly Fault[];
}

export interface MutingOptions {
  readonly silences: readonly Silence[];
  readonly inhibitRules: readonly InhibitRule[];
  /**
   * Labels of the alerts that fire now, at least of those that `sourceNames` names. One that is over and fires on
   * because it flaps is not among them: nothing is a consequence of it.
   */
  readonly firing: readonly Labels[];
  readonly timeIntervals: TimeIntervals;
  readonly recurrences: Recurrences;
  readonly nowUs: number;
}

/** What asking about an alert takes though nothing mutes it. */
const LEAST_WORK = 100;

export function createMuting(options: MutingOptions): Muting {
  const { silences, inhibitRules, firing, timeIntervals, recurrences, nowUs } = options;
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
  const hiding = silences.filter(isHidingNow);
  const inhibitedBy = (labels: Labels) => inhibitors.flatMap((one) => one.sourceOf(labels) ?? []);
  const asked = [...hiding.map(({ matchers }) => workOf(matchers)), ...inhibitRules.map(workOfRule)];
  const byRoute = new Map<Route, readonly string[]>();
  const ofRoute = (route: Route) => {
    const known = byRoute.get(route);
    if (known) return known;
    const names = mutingIntervals(route, timeIntervals, nowUs);
    byRoute.set(route, names);
    return names;
  };

  return {
    of: (alert) => ({
      silencedBy: hiding.filter((silence) => hides(silence, alert)).map(({ id }) => id),
      inhibitedBy: inhibitedBy(alert.labels).map(({ fingerprint }) => fingerprint),
    }),
    fires,
    work: asked.reduce((sum, work) => sum + work, LEAST_WORK),
    ofRoute,
    faults: () => faults.all(),
    why(alert, route) {
      const [source] = inhibitedBy(alert.labels);
      if (source) {
        return { reason: 'inhibited', detail: `by ${source.labels.alertname} (${source.fingerprint})` };
      }
      const intervals = ofRoute(route);
      if (intervals.length > 0) return { reason: 'time_interval', detail: intervals.join(', ') };
      const silence = hiding.find((one) => hides(one, alert));
      if (!silence) return null;
      const { id, createdBy, comment } = silence;
      return { reason: 'silenced', detail: `by ${createdBy}: ${comment} (${id})` };
    },
  };
}

/** A rule that does not know all that fires, because it failed, inhibits nothing. */
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
