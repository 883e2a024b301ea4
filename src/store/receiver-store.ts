import type { ReceiverPace } from './record.ts';

export interface ReceiverStore {
  pace(receiver: string): Promise<ReceiverPace>;
  putPace(pace: ReceiverPace): Promise<void>;
}
