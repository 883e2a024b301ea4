import type { Integration } from '../config/config.ts';
import type { Notification } from '../domain/grouping/notification.ts';
import type { FailureReason } from '../report.ts';
import type { Delivery } from '../store/outbox-store.ts';

/** How one try ended, whatever the channel. Texts are for people: cleaned, capped and free of secrets. */
export type Outcome =
  | {
      readonly kind: 'accepted';
      /** Of several recipients those who refused it for good, each with the receiver's words. */
      readonly refused?: string;
      /** Why a template of the integration could not be used as it is: the built-in text stands in its place, or gaps do. */
      readonly templateError?: string;
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
  /** It left us, and no answer tells whether it was accepted. */
  | { readonly kind: 'unknown'; readonly reason: FailureReason; readonly error: string }
  /** The receiver refused this message as it is. */
  | { readonly kind: 'refused'; readonly reason: FailureReason; readonly error: string }
  /** There is nothing to send, now or ever. */
  | { readonly kind: 'nothing'; readonly why: string };

/** Why an integration that is for groups does not take single events. */
export const ONLY_CLOUDEVENTS = 'single events are forwarded to webhooks with format cloudevents only';

/** Why an integration that only knows alerts does not take a digest. */
export const NO_DIGEST = 'a digest is no alert: it goes to mails, Slack, Teams and webhooks only';

/** One way out of the house, for every integration of its kind. */
export interface Channel<I extends Integration> {
  /**
   * Tries once. What the outside does wrong is an outcome; it throws a `NestwatchError` only for what is wrong on
   * our side, such as a secret file that cannot be read.
   */
  send(
    integration: I,
    delivery: Delivery,
    notification: Notification,
    /** The page's address, without a trailing slash: what links in the message begin with. */
    externalUrl: string,
  ): Promise<Outcome>;
  /** Ends connections; a try that is under way ends as not accepted or unknown. */
  close(): Promise<void>;
}
