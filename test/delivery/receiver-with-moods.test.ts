import { Webhook } from 'standardwebhooks';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Receiver } from '../../src/channels/receiver.ts';
import { openWebhooks } from '../../src/channels/webhook/webhook-channel.ts';
import { NestwatchError } from '../../src/errors.ts';
import type { HttpRequest, HttpResponse } from '../../src/http/transport.ts';
import { secret } from '../../src/secret.ts';
import { NOW_US, webhook } from '../channels/sample-notifications.ts';
import type { VirtualClock } from '../virtual-clock.ts';
import { accepted, begin, HOUR_MS, world } from './outbox-world.ts';

describe('a receiver that fails in several ways', () => {
  /** The real webhook channel with a transport that answers as `answer` says. */
  function moody(clock: VirtualClock, answer: (nowUs: number, tries: number) => number | 'timeout') {
    const requests: (HttpRequest & { readonly atUs: number })[] = [];
    const webhookChannel = openWebhooks({
      clock,
      version: '1',
      openTransport: () => ({
        async send(request): Promise<HttpResponse> {
          requests.push({ ...request, atUs: clock.nowUs() });
          const status = answer(clock.nowUs(), requests.length);
          if (status === 'timeout') throw new NestwatchError('timeout', 'no answer within 10000 ms');
          return { status, headers: {}, body: '' };
        },
        close: async () => {},
      }),
    });
    const noMail = { send: async () => accepted, close: async () => {} };
    return { requests, channels: { webhook: webhookChannel, email: noMail } };
  }

  const KEY = 'whsec_bmVzdHdhdGNoIHNpZ25zIHdpdGggdGhpcw==';
  const SIGNED: Receiver = { name: 'ops', integrations: [webhook({ secret: secret(KEY) })] };

  test('that is down for two hours is notified when it is back, always under the same signed id [long]', async () => {
    const home = await world();
    const backAtUs = NOW_US + 2 * HOUR_MS * 1000;
    const { requests, channels } = moody(home.clock, (nowUs) => (nowUs < backAtUs ? 503 : 204));
    await home.queue({ id: 'd-1' });
    begin(home, channels, [SIGNED]);
    await home.clock.advance(3 * HOUR_MS);
    expect(await home.stateOf('d-1')).toMatchObject({
      state: 'delivered',
      attempts: requests.length,
      lastError: '',
    });
    expect(requests.length).toBeGreaterThan(15);
    expect(requests.at(-1)!.atUs - backAtUs).toBeLessThanOrEqual(61_000_000);
    const verifier = new Webhook(KEY);
    onTestFinished(() => void vi.useRealTimers());
    for (const { atUs, headers, body } of requests) {
      expect(headers['webhook-id']).toBe('d-1');
      vi.useFakeTimers({ now: atUs / 1000, toFake: ['Date'] });
      expect(verifier.verify(body!, headers)).toMatchObject({ version: '4' });
    }
    expect(new Set(requests.map(({ body }) => body)).size).toBe(1);
  });

  test('that answers 410 after an outage is given up after three slow refusals [long]', async () => {
    const home = await world();
    const { requests, channels } = moody(home.clock, (nowUs) =>
      nowUs < NOW_US + 2 * HOUR_MS * 1000 ? 503 : 410,
    );
    await home.queue({ id: 'd-1' });
    begin(home, channels);
    await home.clock.advance(3 * HOUR_MS);
    expect(await home.stateOf('d-1')).toMatchObject({
      state: 'dead',
      lastError: 'HTTP 410 (refusal 3 of 3)',
    });
    const [first, second, third] = requests.slice(-3).map(({ atUs }) => atUs / 1_000_000);
    expect([second! - first!, third! - second!]).toEqual([60, 300]);
    expect(home.reported.at(-1)).toMatchObject({ what: 'delivery', outcome: 'dead', reason: 'rejected' });
  });

  test('that accepts but does not answer in time gets the same id again', async () => {
    const home = await world();
    const { requests, channels } = moody(home.clock, (_, tries) => (tries === 1 ? 'timeout' : 200));
    await home.queue({ id: 'd-1' });
    begin(home, channels);
    await home.clock.advance(100);
    expect(await home.stateOf('d-1')).toMatchObject({ state: 'ambiguous', attempts: 1 });
    await home.clock.advance(1_000);
    expect(await home.stateOf('d-1')).toMatchObject({ state: 'delivered', attempts: 2 });
    expect(requests.map(({ headers }) => headers['webhook-id'])).toEqual(['d-1', 'd-1']);
  });

  test('that never comes back is given up after 72 h [long]', async () => {
    const home = await world();
    const { requests, channels } = moody(home.clock, () => 503);
    await home.queue({ id: 'd-1' });
    begin(home, channels);
    await home.clock.advance(71 * HOUR_MS);
    expect((await home.stateOf('d-1')).state).toBe('retry');
    await home.clock.advance(2 * HOUR_MS);
    expect(await home.stateOf('d-1')).toMatchObject({
      state: 'dead',
      lastError: expect.stringContaining('72 h'),
    });
    expect(requests.at(-1)!.atUs).toBe(NOW_US + 72 * HOUR_MS * 1000);
  });
});
