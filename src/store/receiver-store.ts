import type { ReceiverPace } from '../domain/grouping/throttle.ts';

/** The room of throttled receivers: how much each was sent lately. */
export interface ReceiverStore {
  /** An empty pace for a receiver of which nothing is known. */
  pace(receiver: string): Promise<ReceiverPace>;
  putPace(pace: ReceiverPace): Promise<void>;
}
