/** Somebody who is notified, with all ways to them. */
export interface Receiver {
  readonly name: string;
  /** By which clients of Alertmanager's API choose receivers, beside the name; absent for none. */
  readonly labels?: Readonly<Record<string, string>>;
  /**
   * By channel, in the order of the registry; within one in the order of the file. An empty list notifies nobody, as in
   * Alertmanager.
   */
  readonly integrations: readonly Integration[];
  /** The receiver that gets what this one does not accept as well. */
  readonly fallback?: string;
  /** Notifications in any hour at the most; absent for all. */
  readonly maxNotificationsPerHour?: number;
  /** What comes in a storm is sent as one, once in this time; absent: each by itself. */
  readonly foldStormsMs?: number;
}

/** One way to a receiver: what all of them share. All else of it only its channel knows. */
export interface Integration {
  /** The kind of its channel. */
  readonly kind: string;
  /** Whether it is notified of the end of an alert. */
  readonly sendResolved: boolean;
}
