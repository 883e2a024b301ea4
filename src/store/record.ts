/** What stands in the store, as its transactions take and give it. */
import type { Event, Feed } from '../domain/alert/event.ts';
import type { Place } from '../domain/alert/fact.ts';
import type { Notification } from '../domain/grouping/notification.ts';

/** A Nest or Bird as the inventory last saw it. */
export interface NestRecord {
  readonly region: string;
  readonly nestId: string;
  readonly name: string;
  /** False from the reading on that no longer listed it. */
  readonly present: boolean;
}

export interface BirdRecord {
  readonly region: string;
  readonly birdId: string;
  readonly nestId: string;
  readonly name: string;
  /** `active`, `unpublished`, `suspended` or a value not known today. */
  readonly status: string;
  /** `manual`, `event`, `scheduled` or a value not known today. */
  readonly triggerType: string;
  readonly present: boolean;
  /** When the status was last seen to change, by our clock; the first reading counts. */
  readonly statusSinceUs: number;
}

/** A stream is one feed of one entity: of the region (notifications, `birdId` empty) or of one Bird. */
export interface StreamRecord {
  /** Small, never reused. */
  readonly stream: number;
  readonly region: string;
  /** `inventory`: no entries, but malformed Nests and Birds that were set aside. */
  readonly feed: Feed | 'inventory';
  readonly birdId: string;
  /** Newest `createdAt` (flights: `startDate`) committed; 0 before the first. */
  readonly cursorUs: number;
  /** Newest `createdAt` (flights: `startDate`) that retention has deleted, at most the cursor; 0 for none. */
  readonly prunedUs: number;
}

/** Where the service counts entries that cannot be read. */
export interface GapRecord {
  readonly fromUs: number;
  readonly toUs: number;
  /** How many. */
  readonly missing: number;
  /** Audits in a row that found it. */
  readonly seen: number;
  /** How many of them people have been told of. */
  readonly told: number;
}

/**
 * How far a stream is known to be complete, as its last audits left it. Flights are not audited: of theirs it holds
 * the gaps alone, each as one missing Flight.
 */
export interface AuditRecord {
  readonly stream: number;
  /** Nothing is missing up to here; 0 before the first audit. */
  readonly verifiedUs: number;
  /** When its last day, and all that is kept of it, were last audited. */
  readonly dayAuditedUs: number;
  readonly wholeAuditedUs: number;
  /** When entries were last seen to be gone that should have been there; 0 for never. */
  readonly deletedUs: number;
  readonly gaps: readonly GapRecord[];
}

export interface FlightRecord {
  readonly stream: number;
  /** Lower case. */
  readonly flightId: string;
  /** 0 when the service gave no `startDate`. */
  readonly startedAtUs: number;
  readonly status: string;
  /** True while the Flight is watched: not seen to have ended. */
  readonly open: boolean;
  /** How often it was seen to end; the second end's event has `#2`. */
  readonly ends: number;
  /**
   * When it ended; absent while it is open, and where that is not known. Of an open one that has failed and waits for
   * its reason: when that was first seen.
   */
  readonly endedAtUs?: number;
}

/** A Flight in the air that may be there for too long. */
export interface FlightToJudge {
  readonly stream: number;
  readonly flightId: string;
  readonly startedAtUs: number;
  readonly place: Place;
}

/** An active Bird that may have stopped flying. */
export interface BirdToJudge {
  readonly place: Place;
  readonly triggerType: string;
  readonly statusSinceUs: number;
  /** The stream of its Flights; undefined before the first poll. */
  readonly stream: number | undefined;
  /** When the latest of them started; 0 for none. */
  readonly lastStartUs: number;
}

export interface QuarantinedEntry {
  /** The entry as it came, JSON, capped. */
  readonly raw: string;
  /** What is wrong with it. */
  readonly reason: string;
}

/**
 * `pending → leased → delivered`, or `retry` (refused for now), `ambiguous` (accepted or not is unknown), `dead`
 * (given up), `suppressed` (never to be sent, with the reason). Only pending, retry and ambiguous are claimed.
 */
export const DELIVERY_STATES = [
  'pending',
  'leased',
  'delivered',
  'retry',
  'ambiguous',
  'dead',
  'suppressed',
] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** One notification on its way to one integration of one receiver. */
export interface Delivery {
  /** The `webhook-id`, and what the mail's Message-ID is made from: the same on every try. */
  readonly id: string;
  readonly notificationId: string;
  readonly receiver: string;
  /** Its kind: `email`, `webhook`, `slack` and the like. */
  readonly integration: string;
  /** Position among the receiver's integrations, from 0. */
  readonly position: number;
  /**
   * Deliveries of one integration's lane are sent one after another, as they were created; empty: in no order, as are
   * those with `remaining`.
   */
  readonly lane: string;
  readonly state: DeliveryState;
  /** Tries begun. */
  readonly attempts: number;
  readonly createdAtUs: number;
  /** When it may be claimed again. */
  readonly nextAttemptAtUs: number;
  /** When it was delivered, died or was suppressed; 0 before. */
  readonly settledAtUs: number;
  /** What the last try ended with, for people; empty when none failed. */
  readonly lastError: string;
  /** When it is given to the receiver's fallback as well, unless it is accepted before; absent for never. */
  readonly fallbackAtUs?: number;
  /** Of several recipients those who are still to be reached, since the others have accepted it; absent for all. */
  readonly remaining?: readonly string[];
}

/** A claimed delivery with what it carries. */
export interface ClaimedDelivery {
  readonly delivery: Delivery;
  readonly notification: Notification;
}

export interface Settlement {
  readonly id: string;
  readonly state: 'delivered' | 'retry' | 'ambiguous' | 'dead' | 'suppressed';
  readonly nextAttemptAtUs: number;
  readonly lastError: string;
  /** True when a try came to nothing: it counts for the fallback, and for the integration's health if it was for all. */
  readonly failed?: boolean;
  /** Who is still to be reached after it; absent for those before it. */
  readonly remaining?: readonly string[];
}

/** An integration of which nothing was accepted since its tries began to fail. */
export interface FailingIntegration {
  readonly receiver: string;
  readonly integration: string;
  readonly position: number;
  /** Tries that failed in a row. */
  readonly failures: number;
  /** When the first of them ended. */
  readonly sinceUs: number;
  readonly lastError: string;
}

/** What a receiver with a cap was told lately, as the cap last left it. */
export interface ReceiverPace {
  readonly receiver: string;
  /** When the notifications of the last hour were queued, the oldest first. */
  readonly toldAtUs: readonly number[];
  /** Notifications held back since the last one that was queued. */
  readonly heldBack: number;
  /** When several that were held back were last told as one; absent for never. */
  readonly foldedAtUs?: number;
}

/** How far the digests of one name have come. */
export interface DigestRecord {
  readonly name: string;
  /** The instant of the last one; when the name was first known, before there was one. */
  readonly lastUs: number;
  /** The last event that it counted; absent before the first digest. */
  readonly lastEvent?: number;
}

/** Mail addresses of the active members of a Nest. */
export interface NestMembers {
  readonly region: string;
  readonly nestId: string;
  readonly addresses: readonly string[];
}

export interface EventQuery {
  readonly region?: string | undefined;
  readonly feed?: Feed | undefined;
  readonly type?: string | undefined;
  /** Occurred at or after. */
  readonly sinceUs?: number | undefined;
  /** Occurred before. */
  readonly untilUs?: number | undefined;
  /** 1 to 1000. */
  readonly limit: number;
  /** `next` of an earlier answer. */
  readonly cursor?: string | undefined;
}

export interface DeliveryQuery {
  readonly state?: DeliveryState | undefined;
  readonly receiver?: string | undefined;
  readonly limit: number;
}

/** An event that waits to be forwarded to a receiver, in the order of commits. */
export interface ForwardedEvent {
  readonly receiver: string;
  readonly event: Event;
}
