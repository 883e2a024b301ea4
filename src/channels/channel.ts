/**
 * Defines what a channel is: one means of notifying, such as email or Slack. A folder holds all of a channel, and the
 * registry lists it. Configuration, alerting, delivery and the commands know channels only by this interface.
 */
import type * as z from 'zod';
import type { Check } from '../document/check.ts';
import type { Path } from '../document/problem.ts';
import type {
  GroupNotification,
  LeftOut,
  Notification,
  NotifiedAlert,
} from '../domain/grouping/notification.ts';
import type { SubscribedBrowser } from '../domain/grouping/subscribed-browser.ts';
import type { AuthorizedTransportOptions } from '../http/authorized-transport.ts';
import type { LookUp } from '../http/look-up.ts';
import type { Transport } from '../http/transport.ts';
import type { FailureReason } from '../report.ts';
import type { Secret } from '../secret.ts';
import type { Clock } from '../time/clock.ts';
import type { Integration } from './receiver.ts';

export interface Channel<I extends Integration = Integration> {
  /** Its integrations are listed in a receiver's `<kind>_configs`. */
  readonly kind: I['kind'];
  readonly audience: Audience;
  readonly pace: Pace;
  /** One entry of `<kind>_configs`. */
  readonly shape: z.ZodObject;
  /** Its keys of `global`. */
  readonly globalShape?: z.ZodRawShape;
  /**
   * Reads the keys of `global`; the result reads one entry at a path. Reports mistakes to `check`; an entry that has
   * one reads as undefined.
   */
  reader(check: Check): (path: Path) => I | undefined;
  /** Absent if nothing is special. */
  traits?(integration: I): Traits;
  /** Whom an integration reaches, for people to read: addresses or a host, never a secret. */
  destination(integration: I): string;
  /** What an integration would be sent. Sends nothing. */
  preview(integration: I, notification: GroupNotification, externalUrl: string): Promise<Preview>;
  probe(integration: I): Probe;
  /** Asks which of these members of Nests it would not reach. Present if it can notify members. */
  leftOut?(integration: I, members: readonly string[]): Promise<readonly LeftOut[]>;
  open(options: ChannelOptions): OpenChannel<I>;
}

/** Whom a channel's messages are for. This decides what becomes of a large notification. */
export type Audience =
  /** One message, which lists the first alerts and counts the rest. */
  | 'people'
  /** All of it, in as many parts as needed. */
  | 'programs'
  /** One message for each incident, which the service keeps open until it is told that nothing fires any more. */
  | 'incidents';

/** What else alerting must know of an integration. */
export interface Traits {
  /** True if it needs the state of each alert even from a summary, which is otherwise one message. */
  readonly needsEveryState?: boolean;
  /** True if it takes single events instead of alerts. */
  readonly takesEvents?: boolean;
  /** The most alerts in one notification; absent for no limit but our own. */
  readonly maxAlerts?: number;
  /** Present if it notifies the members of the alerts' Nests. `beside`: addresses that are notified as well. */
  readonly nestMembers?: { readonly beside: readonly string[] };
}

/** How many deliveries of one integration may be under way. */
export interface Pace {
  /** Attempts in flight at once. */
  readonly inFlight: number;
  /** Deliveries claimed at once, including those in flight: many if they are sent quickly. */
  readonly claimed: number;
}

export interface Preview {
  /** The message as it would be sent, for people to read; without secrets. */
  readonly text: string;
  readonly templateError?: string;
}

/** Tries whether a service can be reached, without sending a message. */
export interface Probe {
  /** The same for integrations that one attempt stands for. */
  readonly key: string;
  /** What is tried, if several integrations usually share it; absent if it is the integration itself. */
  readonly server?: string;
  /** Rejects if it cannot be reached. */
  run(): Promise<void>;
}

export interface ChannelOptions {
  readonly clock: Clock;
  readonly version: string;
  /** Called once by each channel over HTTP for all of its integrations that have the same timeout and `http_config`. */
  readonly openTransport: (options: AuthorizedTransportOptions) => Transport;
  /** Looks up host names for channels that do not use HTTP; absent for their library's own way. */
  readonly lookUp?: LookUp | undefined;
  /** The browsers that people subscribed; absent in commands, since only the daemon knows them. */
  readonly browsers?: Browsers | undefined;
}

export interface Browsers {
  /** By which push services know the sender (VAPID, RFC 8292), each in base64url. */
  readonly keys: { readonly publicKey: string; readonly privateKey: Secret };
  of(receiver: string): Promise<readonly SubscribedBrowser[]>;
  /** Removes subscriptions that are over. */
  forget(receiver: string, ids: readonly string[]): Promise<void>;
}

/** A channel that can send. It must be closed. */
export interface OpenChannel<I extends Integration = Integration> {
  /**
   * Tries once. Whatever goes wrong outside is an outcome. Throws a `NestwatchError` only for what is wrong on our
   * side, such as a secret file that cannot be read.
   */
  send(
    integration: I,
    attempt: Attempt,
    notification: Notification,
    /** The page's address without a trailing slash; links in the message begin with it. */
    externalUrl: string,
  ): Promise<Outcome>;
  /**
   * Says what came of a press of a button, at the address that the service gave with it, which is not a secret of ours.
   * Present if messages can have buttons that act.
   */
  answer?(integration: I, url: string, message: object): Promise<Outcome>;
  /** Closes connections. An attempt that is under way ends as `failed` or `unknown`. */
  close(): Promise<void>;
  /** Present if the service resolves an alert by itself unless it is sent again. */
  readonly repeats?: {
    readonly everyMs: number;
    /** Sends again what still fires. */
    send(integration: I, alerts: readonly RepeatedAlert[], externalUrl: string): Promise<Outcome>;
  };
}

/** The open channels by kind. */
export type OpenChannels = Readonly<Partial<Record<string, OpenChannel>>>;

/** What a channel must know of the delivery that it attempts. */
export interface Attempt {
  /** The same on every attempt. */
  readonly id: string;
  readonly receiver: string;
  /** Which of the receiver's integrations it is for (`integration-identity.ts`). */
  readonly position: number;
  /** The recipients that are still to be reached, if others have accepted it; absent for all. */
  readonly remaining?: readonly string[];
  /** The service's reference to the last message of the same group that it accepted; absent for none. */
  readonly reference?: string;
}

/** What is sent of an alert that is repeated. */
export type RepeatedAlert = Pick<NotifiedAlert, 'id' | 'labels' | 'annotations' | 'startsAtUs' | 'endsAtUs'>;

/** How one attempt ended, for any channel. Texts are for people: cleaned, capped and free of secrets. */
export type Outcome =
  | {
      readonly kind: 'accepted';
      /** The recipients that it does not reach, now or ever. */
      readonly leftOut?: readonly LeftOut[];
      /**
       * Why a template of the integration could not be used as it is. The built-in text was sent instead, or a text
       * with gaps.
       */
      readonly templateError?: string;
      /** The service's reference to the message, by which later news of the same group can change it. */
      readonly reference?: string;
    }
  /** Certainly not accepted. The same message may be accepted later. */
  | {
      readonly kind: 'failed';
      readonly reason: FailureReason;
      readonly error: string;
      /** How long the receiver asked us to wait. */
      readonly retryAfterMs?: number;
      /** If some recipients have accepted it: the others, who alone get the next attempt. */
      readonly remaining?: readonly string[];
      /** Besides these, the recipients that it does not reach, now or ever. */
      readonly leftOut?: readonly LeftOut[];
    }
  /** It was sent, and no answer shows whether it was accepted. */
  | { readonly kind: 'unknown'; readonly reason: FailureReason; readonly error: string }
  /** The receiver refused this message as it is. `isFinal`: its protocol forbids to send it again. */
  | {
      readonly kind: 'refused';
      readonly reason: FailureReason;
      readonly error: string;
      readonly isFinal?: true;
    }
  /**
   * There is nothing to send, now or ever. `isGone`: the integration is no longer configured; `leftOut`: it works, but it
   * reaches nobody for whom the message is.
   */
  | {
      readonly kind: 'nothing';
      readonly why: string;
      readonly isGone?: true;
      readonly leftOut?: readonly LeftOut[];
    };

/** Why an integration that takes notifications of groups does not take single events. */
export const ONLY_CLOUDEVENTS =
  'single events are forwarded only to webhooks with format cloudevents or otlp';

/** Why an integration that only knows alerts does not take a digest. */
export const NO_DIGEST = 'a digest is not an alert: it is sent only by mail, chat and webhook';
