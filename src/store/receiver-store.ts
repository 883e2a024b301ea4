import type { ReceiverPace } from '../domain/grouping/throttle.ts';

/** Stores how much each throttled receiver was sent recently. */
export interface ReceiverStore {
  /** An empty pace if nothing is known of the receiver. */
  pace(receiver: string): Promise<ReceiverPace>;
  putPace(pace: ReceiverPace): Promise<void>;
}
