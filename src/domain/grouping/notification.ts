/** Defines what a receiver is notified of. */
import { dayAndTime, howMany } from '../../text/instant-words.ts';
import type { Ending, Labels } from '../alert/alert.ts';
import type { Event } from '../alert/event.ts';
import type { Digest } from '../digest/digest.ts';
import type { SentReport } from '../digest/report-figures.ts';
import { isMoment, kindOf } from '../kinds/kinds.ts';
import type { GroupSort } from './group.ts';

/** Why a group notifies now. */
export type FlushReason = 'first' | 'new_alerts' | 'new_events' | 'resolved' | 'repeat';

/** An alert as shown in a notification. */
export interface NotifiedAlert {
  readonly id: string;
  readonly status: 'firing' | 'resolved';
  /** It fires, and its group's last notification did not say so. */
  readonly isNew?: true;
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly startsAtUs: number;
  /** 0 while firing. */
  readonly endsAtUs: number;
  /** How it ended; absent while firing. */
  readonly ending?: Ending;
  readonly fingerprint: string;
  /** Events since the last notification to this receiver, newest first: the newest 20, or all in a batch. */
  readonly events: readonly Event[];
  /** All events of this episode. */
  readonly eventsTotal: number;
  /** New events that are counted but not listed. */
  readonly eventsOmitted: number;
  /** Its newest event, if it is the only alert and has no new events. */
  readonly lastEvent?: Pick<Event, 'key' | 'occurredAtUs'>;
  /** How the Bird's last Flights ended, oldest first; absent if there were none, or they were not looked up. */
  readonly history?: readonly FlightOutcome[];
  /** Its Bird can be started again from the page that asks; the id of the Flight that failed, which may be empty. */
  readonly flyAgain?: string;
  /** The link to acknowledge a firing alert; set only while the notification is sent. */
  readonly acknowledgeUrl?: string;
}

/** How a Flight ended. */
export type FlightOutcome = 'succeeded' | 'failed' | 'cancelled';

/** What a receiver is notified of, fixed when it is queued. */
export type Notification = GroupNotification | DigestNotification | ForwardNotification;

/**
 * The identities of the receiver's integrations when it was queued (`channels/integration-identity.ts`): with these, each
 * delivery finds its integration again after the configuration has changed. Absent before it is queued.
 */
type Identities = readonly string[];

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
  /** The values of its route's labels; absent if the route has none. */
  readonly routeLabels?: Labels;
  readonly status: 'firing' | 'resolved';
  /** Changed alerts first, up to a limit; empty if it only ends an incident (`incident.ts`). */
  readonly alerts: readonly NotifiedAlert[];
  /** Alerts contained neither in this notification nor in another part of it. */
  readonly truncatedAlerts: number;
  readonly firingTotal: number;
  /** How many of the firing alerts are new; absent if the notification does not depend on that. */
  readonly newTotal?: number;
  readonly resolvedTotal: number;
  readonly thread: string;
  /** 0 for the first of its thread. */
  readonly threadPosition: number;
  /** The same in all notifications of one flush, for all receivers. */
  readonly flushId?: string;
  /** Which part of a large notification this is, from 1; absent if it is complete. */
  readonly part?: { readonly number: number; readonly of: number };
  /** What else people should know about it, one sentence each. */
  readonly notices?: readonly string[];
  /**
   * What it summarises, if it is a summary. Its alerts then list no events, except for integrations that take only
   * events.
   */
  readonly summary?: Summary;
  /** It only says that somebody has acknowledged everything that fires; sent only to services that keep incidents. */
  readonly acknowledged?: true;
  /** Mail addresses that replace the integration's own. */
  readonly to?: readonly string[];
  /** Members of the Nest who cannot be mailed; absent for none. */
  readonly leftOut?: readonly LeftOut[];
  readonly identities?: Identities;
}

/** A recipient whom a message does not reach, now or ever. Both texts are for people, and clean. */
export interface LeftOut {
  readonly recipient: string;
  readonly why: string;
}

export interface DigestNotification {
  readonly kind: 'digest';
  readonly id: string;
  readonly receiver: string;
  readonly createdAtUs: number;
  readonly digest: Digest | SentReport;
  /** Mail addresses that replace the integration's own: of the members of the Nest. */
  readonly to?: readonly string[];
  /** Members of the Nest who cannot be mailed; absent for none. */
  readonly leftOut?: readonly LeftOut[];
  /** The time zone of its schedule, and of its times if the reader sets none. */
  readonly timezone?: string;
  readonly identities?: Identities;
}

/** Single events, for receivers that want them all. */
export interface ForwardNotification {
  readonly kind: 'forward';
  readonly id: string;
  readonly receiver: string;
  readonly createdAtUs: number;
  /** 1 to 100. */
  readonly events: readonly Event[];
  /** Half of a batch that was not accepted as a whole. */
  readonly isHalf?: true;
  readonly identities?: Identities;
}

/** The most alerts of one notification that get a link to acknowledge them. */
export const MAX_ACKNOWLEDGE_LINKS = 20;

/** The most new events listed for one alert. */
export const MAX_EVENTS = 20;

/** What a summary of old news counts (`CATCH_UP` in `sorts.ts`). */
export interface Summary {
  /** When the first and the last of its events occurred. */
  readonly fromUs: number;
  readonly toUs: number;
  readonly events: number;
  readonly alerts: number;
  /** Alerts that still fire. */
  readonly firing: number;
  /** The kind with the most events first. */
  readonly kinds: readonly KindCount[];
}

export interface KindCount {
  readonly alertname: string;
  readonly events: number;
  readonly alerts: number;
  readonly firing: number;
}

/** `Caught up: 312 events of 240 alerts, 12 still open`: the summary in one line. */
export function summaryTitle({ events, alerts, kinds }: Summary): string {
  return `Caught up: ${howMany(events, 'event')} of ${howMany(alerts, 'alert')}${openOf(kinds)}`;
}

/** How many still fire; nothing of moments, which are over at once. */
function openOf(kinds: readonly KindCount[]): string {
  const lasting = kinds.filter((kind) => !isMoment(kind));
  const firing = lasting.reduce((sum, kind) => sum + kind.firing, 0);
  if (lasting.length === 0) return '';
  return firing === 0 ? ', all over' : `, ${firing} still open`;
}

/** The summary in sentences, for formats that have no layout of their own for it. */
export function summaryWords({ fromUs, toUs, events, kinds }: Summary): string[] {
  const from = dayAndTime(fromUs);
  const to = dayAndTime(toUs);
  const when = from === to ? `on ${from}` : `from ${from} to ${to}`;
  const that =
    events === 1
      ? 'It is counted here instead of being sent separately'
      : 'They are counted here instead of being sent one by one';
  return [
    `${howMany(events, 'event')} ${when} could be read only much later. ${that}.`,
    ...kinds.map(
      (kind) =>
        `${kindOf(kind.alertname)?.words.firing ?? kind.alertname}: ${howMany(kind.events, 'event')} of ${howMany(kind.alerts, 'alert')}${openOf([kind])}.`,
    ),
  ];
}
