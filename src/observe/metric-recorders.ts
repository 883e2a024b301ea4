/** Updates the metrics from the reports of the stages. */
import { EVENT_TYPES, isOwnFeed } from '../domain/alert/event.ts';
import { SUPPRESSION_REASONS } from '../domain/muting/suppression.ts';
import { codeOf } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import type { Happening } from '../report.ts';
import { type BirdSeries, createNestSeries } from './bird-series.ts';
import type { Instruments } from './instruments.ts';
import { METRICS } from './metric-catalogue.ts';

// Decides which causes of failures get a series of their own: the most frequent ones of each region. The texts come
// from outside, so without a limit each failure could create a series. Any other cause counts as `_other` until it
// was seen more often than the rarest one shown. Then it takes that one's place: the rarest one's series is removed,
// and its later failures count as `_other`. So no counter ever falls, and from then on their sum is the number of all
// failures.

const OTHER_CAUSES = '_other';
const NONE = '_none';

/** The most causes counted for each region to find the frequent ones; the oldest is forgotten first. */
const REMEMBERED = 1_000;

/** Returns the value of the label `error`, and calls `gone` for a cause whose series must be removed. */
function createCauseLabel() {
  const regions = new Map<string, Record<'shown' | 'waiting', Map<string, number>>>();

  return (name: string, error: string, gone: (error: string) => void): string => {
    if (error === OTHER_CAUSES) return OTHER_CAUSES;
    const cause = error || NONE;
    const { shown, waiting } = regions.getOrInsertComputed(name, () => ({
      shown: new Map<string, number>(),
      waiting: new Map<string, number>(),
    }));
    const count = (shown.get(cause) ?? waiting.get(cause) ?? 0) + 1;
    if (shown.has(cause) || shown.size < LIMITS.shown_causes.most) {
      shown.set(cause, count);
      return cause;
    }
    const [rarest, least] = [...shown].reduce((one, other) => (other[1] < one[1] ? other : one));
    if (count <= least) {
      remember(waiting, cause, count);
      return OTHER_CAUSES;
    }
    shown.delete(rarest);
    gone(rarest);
    remember(waiting, rarest, least);
    waiting.delete(cause);
    shown.set(cause, count);
    return cause;
  };
}

function remember(waiting: Map<string, number>, cause: string, count: number): void {
  waiting.delete(cause);
  waiting.set(cause, count);
  if (waiting.size > REMEMBERED) waiting.delete(waiting.keys().next().value!);
}

/** The known ways in which Flights end. */
export const END_STATUSES: readonly string[] = ['succeeded', 'failed', 'cancelled'];
/** Longer event keys get no exemplar: OpenMetrics allows 128 characters for its name and value. */
const MAX_EXEMPLAR_LENGTH = 110;
/** New values that one enum of the service may bring before further ones count as `other`. */
const ROOM_FOR_NEW_VALUES = 20;

/** The label for values beyond the limit. */
const OTHER = 'other';

/** The form of the service's own words; no other text becomes a label. */
const WORD = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;

type Recorders = {
  readonly [What in Happening['what']]: (one: Extract<Happening, { what: What }>) => void;
};

interface RecordersOptions {
  readonly metrics: Instruments;
  readonly birds: BirdSeries;
  /** The most Nests of one region with series of their own. */
  readonly nestsPerRegion: () => number;
  /** Turns an end status that the service invents into a safe label. */
  readonly endStatusLabel: (status: string) => string;
  /** Called when this replica takes on or gives up a duty that only one replica has at a time. */
  readonly owned: Recorders['duty'];
  /** Called for a value that gets no series of its own. */
  readonly drop: (metric: keyof Instruments) => void;
}

export function createRecorders(options: RecordersOptions): Recorders {
  const { metrics, owned } = options;
  return {
    ...intakeRecorders(options),
    ...birdRecorders(options),
    ...deliveryRecorders(options),
    config_reload({ success, atUs }) {
      metrics.reloadSuccessful.set(success ? 1 : 0);
      if (success) metrics.reloadTime.set(atUs / 1e6);
    },
    trouble({ stage, error }) {
      metrics.troubles.inc({ stage, reason: codeOf(error) });
    },
    limit_reached({ limit }) {
      metrics.limitReached.inc({ limit });
    },
    action({ region, action, outcome }) {
      metrics.actions.inc({ region, action, outcome });
    },
    deadline({ region, outcome }) {
      metrics.deadlines.inc({ region, outcome });
    },
    // Alerts, cursors and impairments are read at each scrape; queued notifications count when they are delivered.
    alert() {},
    counts_untrue() {},
    duty: owned,
    impaired() {},
    joined() {},
    left_out() {},
    relieves() {},
    notified() {},
    set_aside() {},
    write() {},
  };
}

/** Lets the known values of a label through, and a limited number of new ones. */
function guardOf({ drop }: RecordersOptions, metric: keyof Instruments, known: readonly string[]) {
  return createLabelGuard(known, () => drop(metric));
}

/** The exemplar of an event: its key. */
function exemplarOf(key: string | undefined): Readonly<Record<string, string>> {
  return key !== undefined && key.length <= MAX_EXEMPLAR_LENGTH ? { event_key: key } : {};
}

function intakeRecorders(options: RecordersOptions) {
  const { metrics } = options;
  const typeLabels = {
    notification: guardOf(options, 'events', EVENT_TYPES.notification),
    bird_log: guardOf(options, 'events', EVENT_TYPES.bird_log),
    flight: guardOf(options, 'events', EVENT_TYPES.flight),
    inventory: guardOf(options, 'events', EVENT_TYPES.inventory),
    action: guardOf(options, 'events', EVENT_TYPES.action),
  };
  return {
    request({ region, operation, durationMs, failure }) {
      metrics.requests.inc({ region, operation });
      metrics.requestDuration.observe({ region, operation }, seconds(durationMs));
      if (failure) metrics.requestsFailed.inc({ region, operation, reason: failure });
    },
    rate_limit({ region, requestsPerSecond }) {
      metrics.rateLimit.set({ region }, requestsPerSecond);
    },
    poll({ region, feed, durationMs, failure, atUs }) {
      metrics.polls.inc({ region, feed });
      metrics.pollDuration.observe({ region, feed }, seconds(durationMs));
      if (failure) metrics.pollsFailed.inc({ region, feed, reason: failure });
      else metrics.pollLastSuccess.set({ region, feed }, atUs / 1e6);
    },
    events({ region, feed, events }) {
      const labels = { region, feed };
      const counts = new Map<string, number>();
      for (const one of events) {
        const type = typeLabels[feed](one.type);
        counts.set(type, (counts.get(type) ?? 0) + 1);
      }
      for (const [type, count] of counts) metrics.events.inc({ ...labels, type }, count);
      // Their instant is that at which nestwatch noticed or did it.
      if (isOwnFeed(feed)) return;
      // A bucket shows the last exemplar that it was given, so only that one is worth its time.
      const given = new Set<number | undefined>();
      for (let at = events.length - 1; at >= 0; at -= 1) {
        const { key, historic, delayMs } = events[at]!;
        if (historic) continue;
        const value = seconds(delayMs);
        const bucket = METRICS.eventDelay.buckets.find((most) => value <= most);
        const exemplarLabels = given.has(bucket) ? {} : exemplarOf(key);
        given.add(bucket);
        metrics.eventDelay.observe({ labels, value, exemplarLabels });
      }
    },
    duplicates({ region, feed, count }) {
      metrics.duplicates.inc({ region, feed }, count);
    },
    quarantined({ region, feed, count }) {
      metrics.quarantined.inc({ region, feed }, count);
    },
    recovered({ region, feed, count }) {
      metrics.recovered.inc({ region, feed }, count);
    },
    missing({ region, feed, count }) {
      metrics.missing.inc({ region, feed }, count);
    },
    region_health({ region, health }) {
      metrics.regionUp.set({ region }, health === 'up' ? 1 : 0);
    },
    connection_lost({ region, state }) {
      metrics.connectionsLost.inc({ region, state });
    },
  } satisfies Partial<Recorders>;
}

function birdRecorders(options: RecordersOptions) {
  const { metrics, birds, nestsPerRegion, endStatusLabel, drop } = options;
  const nests = createNestSeries({ metrics, nestsPerRegion, endStatuses: END_STATUSES, dropped: drop });
  const causeLabel = createCauseLabel();
  return {
    flight(seen) {
      if (seen.status === 'active') return birds.flightStarted(seen);
      const { region, nestId, durationMs } = seen;
      const status = endStatusLabel(seen.status);
      const exemplar = exemplarOf(seen.eventKey);
      birds.flightEnded(seen, status, seen.atUs);
      const took = durationMs === undefined ? undefined : seconds(durationMs);
      nests.flightEnded({ region, nestId, status, seconds: took, exemplar });
      if (seen.cause === undefined) return;
      const error = causeLabel(region, seen.cause, (gone) =>
        metrics.flightFailures.remove({ region, error: gone }),
      );
      metrics.flightFailures.inc({ labels: { region, error }, value: 1, exemplarLabels: exemplar });
    },
    flights_active(seen) {
      birds.flightsActive(seen, seen.count);
    },
    inventory({ region, birds: listed }) {
      birds.inventory(region, listed);
      nests.inventory(region, listed);
    },
  } satisfies Partial<Recorders>;
}

function deliveryRecorders(options: RecordersOptions) {
  const { metrics } = options;
  const suppressedLabel = guardOf(options, 'notificationsSuppressed', SUPPRESSION_REASONS);
  return {
    suppressed({ reason, count }) {
      metrics.notificationsSuppressed.inc({ reason: suppressedLabel(reason) }, count);
    },
    delivery({ receiver, integration, outcome, reason, latencyMs }) {
      if (outcome === 'suppressed') {
        metrics.notificationsSuppressed.inc({ reason: suppressedLabel(reason ?? 'at_delivery') });
        return;
      }
      metrics.notifications.inc({ receiver, integration });
      // A delivered notification has a reason if some of its recipients refused it.
      if (outcome !== 'delivered' || reason) {
        metrics.notificationsFailed.inc({ receiver, integration, reason: reason ?? 'rejected' });
      }
      if (outcome === 'delivered' && latencyMs !== undefined) {
        metrics.notificationLatency.observe({ receiver, integration }, seconds(latencyMs));
      }
    },
    template_failed({ receiver, integration }) {
      metrics.templatesFailed.inc({ receiver, integration });
    },
    heartbeat({ outcome, atUs }) {
      if (outcome !== 'sent') return;
      metrics.heartbeatSent.inc();
      metrics.heartbeatLastSuccess.set(atUs / 1e6);
    },
  } satisfies Partial<Recorders>;
}

/**
 * Limits the values of one label, although the service may send any. The known values pass, then the first 20 new
 * ones that look like a word. For any other value `refused` is called and `other` is returned.
 */
export function createLabelGuard(known: readonly string[], refused: () => void): (value: string) => string {
  const allowed = new Set(known);
  return (value) => {
    if (allowed.has(value)) return value;
    if (allowed.size < known.length + ROOM_FOR_NEW_VALUES && WORD.test(value)) {
      allowed.add(value);
      return value;
    }
    refused();
    return OTHER;
  };
}

/** Durations may be negative when a clock steps back; a metric accepts only positive ones. */
function seconds(ms: number): number {
  return Math.max(0, ms / 1000);
}
