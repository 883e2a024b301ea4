import { describe, expect, test } from 'vitest';
import type { SubscribedBrowser } from '../../../src/domain/grouping/subscribed-browser.ts';
import type { Run } from '../test-store.ts';
import { HOSTILE_TEXTS, NOW_US } from './sample-records.ts';

const browser = (changes: Partial<SubscribedBrowser> = {}): SubscribedBrowser => ({
  ...{ id: 'a', receiver: 'ops', person: 'anna', name: 'Firefox on Linux', subscribedAtUs: NOW_US },
  ...{ endpoint: 'https://push.example.com/a', p256dh: 'BA', auth: 'aa' },
  ...changes,
});

export function describeBrowsers(run: Run): void {
  describe('subscribed browsers', () => {
    const put = (...all: readonly SubscribedBrowser[]) =>
      run(async (tx) => {
        for (const one of all) await tx.browsers.put(one);
      });
    const list = () => run.browsers.list();

    test('are returned exactly, the oldest first', async () => {
      const [person = '', name = '', receiver = ''] = HOSTILE_TEXTS;
      const late = browser({ id: 'b', person, name, receiver, subscribedAtUs: NOW_US + 1 });
      await put(late, browser());
      expect(await list()).toEqual([browser(), late]);
    });

    test('are subscribed once to each receiver, and removed from one', async () => {
      await put(browser(), browser({ receiver: 'pager' }), browser({ auth: 'bb' }));
      expect(await list()).toEqual([browser({ auth: 'bb' }), browser({ receiver: 'pager' })]);
      await run.browsers.delete('ops', ['a', 'unknown']);
      expect(await list()).toEqual([browser({ receiver: 'pager' })]);
    });
  });
}
