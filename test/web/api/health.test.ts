import { describe, expect, test } from 'vitest';
import { type ErrorCode, NestwatchError } from '../../../src/errors.ts';
import { secret } from '../../../src/secret.ts';
import { anImpairment, putAlert } from '../sample.ts';
import { serve } from '../served.ts';

const JSON_ANSWER = { accept: 'application/json' };
const impaired = { impairments: async () => ({ impairments: [anImpairment()], space: undefined }) };

interface HealthJson {
  readonly quiet: boolean;
  readonly impaired: boolean;
  readonly impairments: readonly object[];
  readonly alerts: { readonly firing: number; readonly unacknowledged: number } | null;
}

const failing = (code: ErrorCode, message: string) => ({
  transaction: () => Promise.reject(new NestwatchError(code, message)),
  space: () => undefined,
  close: async () => {},
});

describe('GET /api/v1/health', () => {
  test('is quiet when nothing impairs the watch and nothing fires', async () => {
    const { ask } = await serve();
    const { status, json } = await ask('/api/v1/health');
    expect([status, json]).toEqual([
      200,
      {
        quiet: true,
        impaired: false,
        impairments: [],
        alerts: { firing: 0, unacknowledged: 0 },
        store: { bytes: 1_000_000, free_bytes: 2_000_000 },
      },
    ]);
  });

  test('says what impairs the watch, whom it concerns and what to do', async () => {
    const { ask } = await serve(impaired);
    const { json } = await ask<HealthJson>('/api/v1/health');
    expect(json).toMatchObject({ quiet: false, impaired: true });
    expect(json.impairments).toEqual([
      {
        reason: 'streams_overdue',
        severity: 'warning',
        since: '2026-07-02T11:48:00.000000Z',
        region: 'eu',
        feed: 'flight',
        title: 'EU is behind',
        summary:
          'The Flights of 2 of 12 Birds in EU were not read in time: the oldest reading is 12 min old.',
        action:
          'If reading fails, the log says why. Otherwise raise regions.eu.requests_per_second as far as the service allows, watch fewer Nests, or raise poll.max_interval.',
        stops_heartbeat: false,
      },
    ]);
    const status = await ask<{ health: HealthJson }>('/api/v1/status');
    expect(status.json.health).toEqual(json);
    const ready = await ask<HealthJson>('/-/ready', JSON_ANSWER);
    expect(ready.json.impairments).toEqual(json.impairments);
  });

  test('is not quiet while something fires that nobody has acknowledged', async () => {
    const { ask, post, store } = await serve();
    await putAlert(store, { id: 'a' });
    const read = async () => (await ask<HealthJson>('/api/v1/health')).json;
    expect(await read()).toMatchObject({ quiet: false, alerts: { firing: 1, unacknowledged: 1 } });
    await post('/api/v1/alerts/acknowledge', { ids: ['a'], author: 'Anna' });
    expect(await read()).toMatchObject({ quiet: true, alerts: { firing: 1, unacknowledged: 0 } });
    await putAlert(store, { id: 'b', labels: { alertname: 'FlightFailed', region: 'us' } });
    expect(await read()).toMatchObject({ quiet: false, alerts: { firing: 2, unacknowledged: 1 } });
  });

  test('is answered even if the store does not answer, and then it is unknown whether all is quiet', async () => {
    const { ask } = await serve({ store: failing('disk_full', 'no space') });
    const unknown = { quiet: false, alerts: null };
    expect(await ask('/api/v1/health')).toMatchObject({ status: 200, json: unknown });
    const none = { replicas: null, alerts: null, deliveries: null, set_aside: null };
    expect(await ask('/api/v1/status')).toMatchObject({ status: 200, json: { health: unknown, ...none } });
    expect(await ask('/')).toMatchObject({ status: 200, body: expect.stringContaining('does not answer') });
  });

  test.each([
    [
      'store_down',
      'it is away',
      'The store does not answer or refuses access, so nothing new can be kept or sent: it is away',
    ],
    ['disk_full', 'no space', 'The store has no space left to grow: nothing new can be kept or sent.'],
    ['store_failed', 'EIO', 'The store fails, so nothing new can be kept or sent: EIO'],
  ] as const)(
    'says what the first page says, and when to ask again, while the store fails: %s',
    async (code, message, sentence) => {
      const publicStatus = { nests: ['*'], hasNames: false };
      const { ask, post, submit } = await serve({ store: failing(code, message), web: { publicStatus } });
      const refused = { status: 503, headers: { 'retry-after': '5' } };
      for (const path of ['/alerts', '/birds', '/events', '/silences', '/nests'])
        expect(await ask(path)).toMatchObject({ ...refused, body: `${sentence}\n` });
      expect(await ask('/api/v1/birds')).toMatchObject({ ...refused, json: { error: sentence } });
      expect(await ask('/api/v2/silences')).toMatchObject({ ...refused, json: sentence });
      expect(await post('/api/v1/deliveries/retry', { ids: ['d'] })).toMatchObject(refused);
      const fields = {
        matchers: 'region="eu"',
        duration: '2h',
        author: 'Ann',
        comment: 'x',
        confirmed: 'yes',
      };
      expect(await submit('/silence', fields)).toMatchObject(refused);
      expect(await ask('/public/eu/Marketing')).toMatchObject({
        ...refused,
        body: 'The store accepts nothing at present.\n',
      });
    },
  );

  test('without a token /-/ready says only the reasons for which the watch is impaired', async () => {
    const { ask } = await serve({ ...impaired, web: { bearerToken: secret('s3cret') } });
    const open = await ask<HealthJson>('/-/ready', JSON_ANSWER);
    expect(open.json.impairments).toEqual(['streams_overdue']);
    expect(open.body).not.toContain('Birds');
    const named = await ask<HealthJson>('/-/ready', { ...JSON_ANSWER, authorization: 'Bearer s3cret' });
    expect(named.json.impairments).toMatchObject([{ region: 'eu' }]);
  });

  test('takes no parameters', async () => {
    const { ask } = await serve();
    expect((await ask('/api/v1/health?region=eu')).status).toBe(400);
  });
});
