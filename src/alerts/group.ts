import type { Labels } from './alert.ts';
import type { Event } from './event.ts';

/** Alerts of one route with the same values of its `group_by` labels: what one notification speaks of. */
export interface Group {
  /** Alertmanager's form: the route's path of matchers, a colon, the group labels: `{}/{severity="critical"}:{alertname="FlightFailed"}`. */
  readonly key: string;
  /** Position of the route in the tree, e.g. `0.1`: the receiver and the timers come from the present configuration. */
  readonly route: string;
  readonly receiver: string;
  readonly labels: Labels;
  /** When it is looked at next. */
  readonly nextFlushAtUs: number;
  /** When the last notification was queued; 0 before the first of this thread. */
  readonly notifiedAtUs: number;
  /** Begins anew when a group that was resolved fires again: one thread of mails. */
  readonly thread: string;
  /** Notifications queued in this thread. */
  readonly notifications: number;
}

/** What a group has told of one of its alerts. */
export interface GroupMember {
  readonly groupKey: string;
  readonly alertId: string;
  /** Events up to this `seq` are in a notification already. */
  readonly toldSeq: number;
  /** The alert's state in the last notification; `none` before the first. */
  readonly toldState: 'none' | 'firing' | 'resolved';
}

/** Why a group notifies now. */
export type FlushReason = 'first' | 'new_alerts' | 'new_events' | 'resolved' | 'repeat';

/** An alert as it stands in a notification. */
export interface NotifiedAlert {
  readonly id: string;
  readonly status: 'firing' | 'resolved';
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly startsAtUs: number;
  /** 0 while firing. */
  readonly endsAtUs: number;
  readonly fingerprint: string;
  /** Events new since the last notification to this receiver: the newest 20, newest first. */
  readonly events: readonly Event[];
  /** All events of this firing episode. */
  readonly eventsTotal: number;
  /** New events that are counted but not listed. */
  readonly eventsOmitted: number;
}

/** What a receiver is told, fixed when it is queued. */
export type Notification =
  | {
      readonly kind: 'group';
      readonly id: string;
      readonly receiver: string;
      readonly createdAtUs: number;
      readonly reason: FlushReason;
      readonly groupKey: string;
      readonly groupLabels: Labels;
      readonly status: 'firing' | 'resolved';
      /** The changed ones first; capped. */
      readonly alerts: readonly NotifiedAlert[];
      readonly truncatedAlerts: number;
      readonly firingTotal: number;
      readonly resolvedTotal: number;
      readonly thread: string;
      /** 0 for the first of its thread. */
      readonly threadPosition: number;
    }
  | {
      readonly kind: 'forward';
      readonly id: string;
      readonly receiver: string;
      readonly createdAtUs: number;
      /** 1 to 100. */
      readonly events: readonly Event[];
    };
