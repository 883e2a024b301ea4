/** What a receiver is notified of. */
import type { Ending, Labels } from '../alert/alert.ts';
import type { Event } from '../alert/event.ts';
import type { Digest } from '../digest/digest.ts';
import type { GroupSort } from './group.ts';
import type { Summary } from './summary.ts';

/** Why a group notifies now. */
export type FlushReason = 'first' | 'new_alerts' | 'new_events' | 'resolved' | 'repeat';

/** An alert as it stands in a notification. */
export interface NotifiedAlert {
  readonly id: string;
  readonly status: 'firing' | 'resolved';
  /** It fires, and the last notification of its group did not say so. */
  readonly isNew?: true;
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly startsAtUs: number;
  /** 0 while firing. */
  readonly endsAtUs: number;
  /** How it ended; absent while firing. */
  readonly ending?: Ending;
  readonly fingerprint: string;
  /** Events new since the last notification to this receiver, newest first: the newest 20, or all in a batch. */
  readonly events: readonly Event[];
  /** All events of this firing episode. */
  readonly eventsTotal: number;
  /** New events that are counted but not listed. */
  readonly eventsOmitted: number;
  /** Its newest event, where it is the only alert and has no new ones. */
  readonly lastEvent?: Pick<Event, 'key' | 'occurredAtUs'>;
  /** How the Bird's last Flights ended, the oldest first; absent where none has, or it was not looked up. */
  readonly history?: readonly FlightOutcome[];
  /** Where it can be acknowledged, of one that fires; it is there while the notification is sent. */
  readonly acknowledgeUrl?: string;
}

/** How a Flight ended. */
export type FlightOutcome = 'succeeded' | 'failed' | 'cancelled';

/** What a receiver is notified of, fixed when it is queued. */
export type Notification = GroupNotification | DigestNotification | ForwardNotification;

/**
 * Which integrations the receiver had when it was queued, by position: by them each of its deliveries finds its own
 * again after the configuration has changed. Absent in what an earlier version has queued.
 */
type Ways = readonly string[];

/** News of a group of alerts. */
export interface GroupNotification {
  readonly kind: 'group';
  readonly id: string;
  readonly receiver: string;
  readonly createdAtUs: number;
  readonly reason: FlushReason;
  readonly groupKey: string;
  readonly groupSort: GroupSort;
  readonly groupLabels: Labels;
  /** What the labels of its route say of it; absent where the route has none. */
  readonly routeLabels?: Labels;
  readonly status: 'firing' | 'resolved';
  /** The changed ones first; capped; none where it only ends an incident (`incident.ts`). */
  readonly alerts: readonly NotifiedAlert[];
  /** Alerts that neither this notification nor another part of it carries. */
  readonly truncatedAlerts: number;
  readonly firingTotal: number;
  /** Of those that fire, the ones that are new; absent in a notification that does not go by what is new. */
  readonly newTotal?: number;
  readonly resolvedTotal: number;
  readonly thread: string;
  /** 0 for the first of its thread. */
  readonly threadPosition: number;
  /** The same in all notifications of one flush, whoever they are for. */
  readonly flushId?: string;
  /** Which part of a big notification this is, from 1; absent where it is whole. */
  readonly part?: { readonly number: number; readonly of: number };
  /** What else people should know of it, a sentence each. */
  readonly notices?: readonly string[];
  /** What it sums up, if that is what it does; its alerts then list no events, but for those who take events alone. */
  readonly summary?: Summary;
  /** It only says that somebody has acknowledged all that fires: for services that keep incidents, and nobody else. */
  readonly acknowledged?: true;
  /** Mail addresses that stand in the place of the integration's own. */
  readonly to?: readonly string[];
  readonly ways?: Ways;
}

export interface DigestNotification {
  readonly kind: 'digest';
  readonly id: string;
  readonly receiver: string;
  readonly createdAtUs: number;
  readonly digest: Digest;
  /** Of its hour, and so of its times, where a reader names none. */
  readonly timezone?: string;
  readonly ways?: Ways;
}

/** Events as they are, for those who want them all. */
export interface ForwardNotification {
  readonly kind: 'forward';
  readonly id: string;
  readonly receiver: string;
  readonly createdAtUs: number;
  /** 1 to 100. */
  readonly events: readonly Event[];
  /** A part of a batch that was not accepted as a whole. */
  readonly isHalf?: true;
  readonly ways?: Ways;
}

/** Alerts of one notification that can be acknowledged by a link at the most. */
export const MAX_ACKNOWLEDGE_LINKS = 20;

/** New events listed for one alert at the most. */
export const MAX_EVENTS = 20;
