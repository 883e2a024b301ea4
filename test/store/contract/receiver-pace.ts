import { describe, expect, test } from 'vitest';
import type { Run } from './subject.ts';

export function describeReceivers(run: Run): void {
  describe("a receiver's pace", () => {
    test('is stored as it was left', async () => {
      const none = { receiver: 'ops', queuedAtUs: [], heldBack: 0 };
      expect(await run((tx) => tx.receivers.pace('ops'))).toEqual(none);
      const pace = { receiver: 'ops', queuedAtUs: [1, 2], heldBack: 3 };
      await run((tx) => tx.receivers.putPace({ ...pace, heldBack: 1 }));
      await run((tx) => tx.receivers.putPace(pace));
      expect(await run((tx) => tx.receivers.pace('ops'))).toEqual(pace);
      expect(await run((tx) => tx.receivers.pace('other'))).toEqual({ ...none, receiver: 'other' });
    });
  });
}
