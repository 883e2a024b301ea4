/** Whom to notify, with all integrations that reach them. */
export interface Receiver {
  readonly name: string;
  /** By which clients of Alertmanager's API choose receivers besides the name; absent for none. */
  readonly labels?: Readonly<Record<string, string>>;
  /**
   * By channel, in the order of the registry; within a channel in the order of the file. With none, nobody is notified,
   * as in Alertmanager.
   */
  readonly integrations: readonly Integration[];
  /** The receiver that also gets what this one does not accept. */
  readonly fallback?: string;
  /** The most notifications within any hour; absent for no limit. */
  readonly maxNotificationsPerHour?: number;
  /** The notifications of a storm are sent as one, once in this time; absent: each by itself. */
  readonly foldStormsMs?: number;
  /** What only goes on or ends waits this long if the receiver was just notified, and is sent as one; absent: it does not. */
  readonly foldEndsMs?: number;
}

/** One means of reaching a receiver: what all integrations share. Only its channel knows the rest. */
export interface Integration {
  /** The kind of its channel. */
  readonly kind: string;
  /** Whether it is notified when an alert resolves. */
  readonly sendResolved: boolean;
  /** `send_resolved: true` is written, so it is also notified when a moment is over, such as EventMatched. */
  readonly endsMoments?: true;
}
