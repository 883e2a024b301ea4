import { describe, expect, test } from 'vitest';
import type { Run } from '../test-store.ts';

export function describeReceivers(run: Run): void {
  describe("a receiver's pace", () => {
    test('is stored as it was left', async () => {
      const none = { receiver: 'ops', queuedAtUs: [], heldBack: 0 };
      expect(await run.receivers.pace('ops')).toEqual(none);
      const pace = { receiver: 'ops', queuedAtUs: [1, 2], heldBack: 3 };
      await run.receivers.putPace({ ...pace, heldBack: 1 });
      await run.receivers.putPace(pace);
      expect(await run.receivers.pace('ops')).toEqual(pace);
      expect(await run.receivers.pace('other')).toEqual({ ...none, receiver: 'other' });
    });
  });
}
