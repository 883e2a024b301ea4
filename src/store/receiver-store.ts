/** The room of receivers with a cap on their notifications: how much of it each has used lately. */

/** What was lately queued for a receiver with a cap, and what the cap held back. */
export interface ReceiverPace {
  readonly receiver: string;
  /** When the notifications of the last hour were queued, the oldest first. */
  readonly queuedAtUs: readonly number[];
  /** Notifications held back since the last one that was queued. */
  readonly heldBack: number;
  /** When several that were held back were last sent as one; absent for never. */
  readonly foldedAtUs?: number;
}

export interface ReceiverStore {
  /** An empty pace for a receiver of which nothing is known. */
  pace(receiver: string): Promise<ReceiverPace>;
  putPace(pace: ReceiverPace): Promise<void>;
}
