/**
 * What a channel is: one way out of the house, such as mails or Slack. Its folder holds all of it, and the registry
 * lists it; configuration, alerting, delivery and the commands know channels by this interface alone.
 */
import type * as z from 'zod';
import type { Check } from '../document/check.ts';
import type { Path } from '../document/problem.ts';
import type { GroupNotification, Notification, NotifiedAlert } from '../domain/grouping/notification.ts';
import type { AuthorizedTransportOptions } from '../http/authorized-transport.ts';
import type { LookUp } from '../http/look-up.ts';
import type { Transport } from '../http/transport.ts';
import type { FailureReason } from '../report.ts';
import type { Clock } from '../time/clock.ts';
import type { Integration } from './receiver.ts';

export interface Channel<I extends Integration = Integration> {
  /** Its integrations stand in a receiver's `<kind>_configs`. */
  readonly kind: I['kind'];
  readonly audience: Audience;
  readonly pace: Pace;
  /** One entry of `<kind>_configs`. */
  readonly shape: z.ZodObject;
  /** Its keys of `global`. */
  readonly globalShape?: z.ZodRawShape;
  /** Reads what `global` says, then entry by entry; an entry that is wrong reads as undefined. */
  reader(check: Check): (path: Path) => I | undefined;
  /** Absent where nothing is special. */
  traits?(integration: I): Traits;
  /** Whom an integration reaches, for people: addresses and a host, never a secret. */
  destination(integration: I): string;
  /** What an integration would be sent. Nothing leaves. */
  preview(integration: I, notification: GroupNotification, externalUrl: string): Preview;
  probe(integration: I): Probe;
  open(options: ChannelOptions): OpenChannel<I>;
}

/** Whom a channel's messages are for, which decides what becomes of a notification that is large. */
export type Audience =
  /** It is one message, which lists the first alerts and counts the rest. */
  | 'people'
  /** It is sent whole, in as many parts as that takes. */
  | 'programs'
  /** It is sent for each incident by itself, which the service keeps open until it hears of the end. */
  | 'incidents';

/** What else alerting must know of an integration. */
export interface Traits {
  /** True when it needs the state of each alert of a summary as well, which else is one message. */
  readonly needsEveryState?: boolean;
  /** True when it takes events, each by itself, and no alerts. */
  readonly takesEvents?: boolean;
  /** Alerts in one notification at the most; absent for no limit but our own. */
  readonly maxAlerts?: number;
  /** Present when it reaches the members of the alerts' Nests: the addresses that are notified beside them. */
  readonly nestMembers?: { readonly beside: readonly string[] };
}

/** How much of one integration is under way. */
export interface Pace {
  /** Tries in flight at once. */
  readonly inFlight: number;
  /** Deliveries claimed at once, those in flight among them: many where they are sent quickly. */
  readonly claimed: number;
}

export interface Preview {
  /** The message as it would be sent, for people to read; without secrets. */
  readonly text: string;
  readonly templateError?: string;
}

/** A try of the way to a service that sends nothing. */
export interface Probe {
  /** Equal for integrations that one try stands for. */
  readonly key: string;
  /** What is tried, where several integrations mostly share it; absent for the integration itself. */
  readonly server?: string;
  /** Rejects where the way is closed. */
  run(): Promise<void>;
}

export interface ChannelOptions {
  readonly clock: Clock;
  readonly version: string;
  /** Called once by each channel over HTTP for all its integrations that have the same timeout and `http_config`. */
  readonly openTransport: (options: AuthorizedTransportOptions) => Transport;
  /** Looks up names for channels that are not over HTTP; absent for how it is done without. */
  readonly lookUp?: LookUp | undefined;
}

/** A channel that sends; it is to be closed. */
export interface OpenChannel<I extends Integration = Integration> {
  /**
   * Tries once. What the outside does wrong is an outcome; it throws a `NestwatchError` only for what is wrong on
   * our side, such as a secret file that cannot be read.
   */
  send(
    integration: I,
    attempt: Attempt,
    notification: Notification,
    /** The page's address, without a trailing slash: what links in the message begin with. */
    externalUrl: string,
  ): Promise<Outcome>;
  /** Ends connections; a try that is under way ends as not accepted or unknown. */
  close(): Promise<void>;
  /** Present where an alert ends by itself unless it is sent again. */
  readonly repeats?: {
    readonly everyMs: number;
    /** Sends once more what still fires. */
    send(integration: I, alerts: readonly RepeatedAlert[], externalUrl: string): Promise<Outcome>;
  };
}

/** The open channels by their kinds. */
export type OpenChannels = Readonly<Partial<Record<string, OpenChannel>>>;

/** A delivery as the channel that tries it must know it. */
export interface Attempt {
  /** The same on every try. */
  readonly id: string;
  readonly receiver: string;
  /** Position among the receiver's integrations, from 0. */
  readonly position: number;
  /** Of several recipients those who are still to be reached; absent for all. */
  readonly remaining?: readonly string[];
  /** How the service called the last message of the same group that it accepted; absent for none. */
  readonly reference?: string;
}

/** Of an alert what a service must hear again. */
export type RepeatedAlert = Pick<NotifiedAlert, 'id' | 'labels' | 'annotations' | 'startsAtUs' | 'endsAtUs'>;

/** How one try ended, whatever the channel. Texts are for people: cleaned, capped and free of secrets. */
export type Outcome =
  | {
      readonly kind: 'accepted';
      /** Of several recipients those who refused it for good, each with the receiver's words. */
      readonly refused?: string;
      /** Why a template of the integration could not be used as it is: the built-in text stands in its place, or gaps do. */
      readonly templateError?: string;
      /** How the service calls the message, by which later news of the same group can change it. */
      readonly reference?: string;
    }
  /** Certainly not accepted, and the same message may be accepted later. */
  | {
      readonly kind: 'failed';
      readonly reason: FailureReason;
      readonly error: string;
      /** How long the receiver asked us to wait. */
      readonly retryAfterMs?: number;
      /** Where some recipients have accepted it: the others, to whom alone the next try goes. */
      readonly remaining?: readonly string[];
      /** Beside these, who refused it for good, each with the receiver's words. */
      readonly refused?: string;
    }
  /** It left us, and no answer shows whether it was accepted. */
  | { readonly kind: 'unknown'; readonly reason: FailureReason; readonly error: string }
  /** The receiver refused this message as it is. */
  | { readonly kind: 'refused'; readonly reason: FailureReason; readonly error: string }
  /** There is nothing to send, now or ever. `isGone`: since the integration is no longer configured. */
  | { readonly kind: 'nothing'; readonly why: string; readonly isGone?: true };

/** Why an integration that is for groups does not take single events. */
export const ONLY_CLOUDEVENTS = 'single events are forwarded only to webhooks with format cloudevents';

/** Why an integration that only knows alerts does not take a digest. */
export const NO_DIGEST = 'a digest is not an alert: it is sent only by mail, chat and webhook';
