import { describe, expect, onTestFinished, test } from 'vitest';
import type { AlertmanagerIntegration } from '../../src/channels/alertmanager/alertmanager-channel.ts';
import type { PagerdutyIntegration } from '../../src/channels/incident/pagerduty-channel.ts';
import type { PostIntegration } from '../../src/channels/post-channel.ts';
import { openChannels } from '../../src/channels/registry.ts';
import type { SlackIntegration } from '../../src/channels/slack/slack-channel.ts';
import type { TeamsIntegration } from '../../src/channels/teams/teams-channel.ts';
import { createRepeating, type Rounds } from '../../src/delivery/repeat-alerts.ts';
import type { Notification } from '../../src/domain/grouping/notification.ts';
import { NestwatchError } from '../../src/errors.ts';
import type { HttpRequest, HttpResponse } from '../../src/http/transport.ts';
import type { Happening } from '../../src/report.ts';
import { secret } from '../../src/secret.ts';
import { compileTemplate } from '../../src/templates/liquid.ts';
import { SAMPLE_VARIABLES } from '../../src/templates/variables.ts';
import { member, alert as storedAlert, group as storedGroup } from '../store/contract/sample-records.ts';
import { openMemory } from '../store/test-store.ts';
import { createVirtualClock } from '../virtual-clock.ts';
import { alert, delivery, failedFlight, forward, group } from './sample-notifications.ts';

const URL = 'https://watch.example.com';
const COMMON = { url: secret('https://s.example/services/T0canary'), timeoutMs: 10_000, sendResolved: true };
const template = (text: string) => compileTemplate(text, 'text', SAMPLE_VARIABLES);

const SLACK = {
  ...{ kind: 'slack', ...COMMON, channel: '', username: '', iconEmoji: '', iconUrl: '' },
} as const satisfies SlackIntegration;
const TEAMS = { kind: 'msteamsv2', ...COMMON } as const satisfies TeamsIntegration;
const PAGERDUTY = {
  kind: 'pagerduty',
  ...COMMON,
  routingKey: secret('routing-canary'),
  severity: null,
} as const satisfies PagerdutyIntegration;
const ALERTMANAGER = {
  kind: 'alertmanager',
  ...COMMON,
  url: secret('http://am.example:9093'),
} as const satisfies AlertmanagerIntegration;
const ALL: readonly PostIntegration[] = [SLACK, TEAMS, PAGERDUTY, ALERTMANAGER];

type Answer = Partial<HttpResponse> | NestwatchError;

function service(answer: Answer | ((request: HttpRequest) => Answer) = {}) {
  const requests: HttpRequest[] = [];
  const clock = createVirtualClock();
  const channels = openChannels({
    clock,
    version: '1.2.3',
    openTransport: () => ({
      async send(request) {
        requests.push(request);
        const said = typeof answer === 'function' ? answer(request) : answer;
        if (said instanceof NestwatchError) throw said;
        return { status: 200, headers: {}, body: 'ok', ...said };
      },
      close: async () => {},
    }),
  });
  const send = <I extends PostIntegration>(integration: I, notification: Notification = group()) =>
    channels[integration.kind]!.send(integration, delivery(), notification, URL);
  return { requests, channels, clock, send, bodies: () => requests.map(({ body }) => JSON.parse(body!)) };
}

describe('each service', () => {
  test.each([
    [SLACK, 'https://s.example/services/T0canary', { blocks: expect.any(Array) }],
    [TEAMS, 'https://s.example/services/T0canary', { type: 'message' }],
    [PAGERDUTY, 'https://s.example/services/T0canary', { routing_key: 'routing-canary' }],
    [ALERTMANAGER, 'http://am.example:9093/api/v2/alerts', [{ labels: alert().labels }]],
  ] as const)('$kind gets its own form at its own address', async (integration, url, body) => {
    const { send, requests, bodies } = service({ status: 202 });
    expect(await send(integration)).toEqual({ kind: 'accepted' });
    expect(requests).toMatchObject([
      {
        method: 'POST',
        url,
        headers: { 'content-type': 'application/json', 'user-agent': 'nestwatch/1.2.3' },
      },
    ]);
    expect(bodies()).toMatchObject([body]);
  });

  // The services' answers: Slack `ok` or a word, Teams 202, PagerDuty 202, 400 or 429, Alertmanager 200 or 400.
  test.each<[number, string, string, string | undefined]>([
    [200, 'ok', 'accepted', undefined],
    [202, '{"success":true}', 'accepted', undefined],
    [400, 'invalid_blocks', 'refused', 'rejected'],
    [403, 'action_prohibited', 'refused', 'rejected'],
    [404, 'no_service', 'refused', 'rejected'],
    [410, 'channel_is_archived', 'refused', 'rejected'],
    [429, 'rate_limited', 'failed', 'rate_limited'],
    [500, 'rollup_error', 'failed', 'unavailable'],
    [302, '', 'refused', 'redirected'],
  ])('the answer %i %s means %s', async (status, body, kind, reason) => {
    for (const integration of ALL) {
      const outcome = await service({ status, body }).send(integration);
      expect(outcome).toMatchObject({
        kind,
        ...(reason && { reason, error: expect.stringContaining(`HTTP ${status}`) }),
      });
    }
  });

  test('that refuses with 200 is a failure if it does so', async () => {
    const answer = { body: '{"ok":false,"error":"channel_is_archived"}' };
    expect(await service(answer).send(SLACK)).toEqual({
      kind: 'refused',
      reason: 'rejected',
      error: 'Slack says: channel_is_archived',
    });
    expect(await service(answer).send(TEAMS)).toEqual({ kind: 'accepted' });
  });

  test('is waited for as long as it asks', async () => {
    const outcome = await service({ status: 429, headers: { 'retry-after': '30' } }).send(SLACK);
    expect(outcome).toMatchObject({ kind: 'failed', retryAfterMs: 30_000 });
  });

  test.each([429, 503])('with %i is waited for even if its words were cut off', async (status) => {
    const facts = { status, headers: { 'retry-after': '30' } };
    const cut = new NestwatchError('not_json', 'cut', { facts });
    for (const integration of ALL) {
      expect(await service(cut).send(integration)).toMatchObject({ kind: 'failed', retryAfterMs: 30_000 });
    }
  });

  test('what it repeats of a key is not passed on', async () => {
    for (const integration of ALL) {
      const body = 'no T0canary and no routing-canary';
      const text = JSON.stringify(await service({ status: 400, body }).send(integration));
      if (integration.kind !== 'alertmanager') expect(text).not.toContain('T0canary');
      if (integration.kind === 'pagerduty') expect(text).not.toContain('routing-canary');
    }
  });

  test('that is judged by its words has accepted nothing if these were cut off', async () => {
    const cut = new NestwatchError('not_json', 'cut', { facts: { status: 200 } });
    expect(await service(cut).send(SLACK)).toMatchObject({ kind: 'unknown', reason: 'ambiguous' });
    expect(await service(cut).send(TEAMS)).toEqual({ kind: 'accepted' });
    const refusal = new NestwatchError('not_json', 'cut', { facts: { status: 400 } });
    expect(await service(refusal).send(SLACK)).toMatchObject({ kind: 'refused', reason: 'rejected' });
  });

  test('that does not answer is retried', async () => {
    for (const integration of ALL) {
      const outcome = await service(new NestwatchError('timeout', 'no')).send(integration);
      expect(outcome).toMatchObject({ kind: 'unknown', reason: 'timeout' });
    }
  });

  test('is for groups only', async () => {
    for (const integration of ALL) {
      const { send, requests } = service();
      expect((await send(integration, forward([failedFlight(1)]))).kind).toBe('nothing');
      expect(requests).toEqual([]);
    }
  });
});

describe('templates', () => {
  test('replace the built-in texts', async () => {
    const { send, bodies } = service();
    await send({ ...SLACK, title: template('T {{ status }}'), text: template('B {{ alerts.size }}') });
    await send({ ...TEAMS, title: template('T {{ status }}') });
    await send({ ...PAGERDUTY, description: template('D {{ status }}') });
    const [slack, teams, pagerduty] = bodies();
    expect(slack.blocks.slice(0, 2)).toMatchObject([
      { text: { text: 'T firing' } },
      { text: { text: 'B 1' } },
    ]);
    expect(teams.attachments[0].content.fallbackText).toBe('T firing');
    expect(pagerduty.payload.summary).toBe('D firing');
  });

  test('that fail lose nothing but themselves: the built-in text is sent, with a note', async () => {
    const fails = template('{{ commonLabels.nobody }}');
    for (const integration of [
      { ...SLACK, text: fails },
      { ...TEAMS, title: fails },
      { ...PAGERDUTY, description: fails },
    ]) {
      const { send, requests } = service();
      const outcome = await send(integration);
      expect(outcome).toEqual({
        kind: 'accepted',
        templateError: expect.stringMatching(
          /^The template \w+ failed: undefined variable: commonLabels\.nobody/,
        ),
      });
      expect(requests[0]!.body).toContain('Translate blog failed');
      expect(requests[0]!.body).toContain('The built-in text is used instead.');
    }
  });
});

describe('firing alerts are repeated to another Alertmanager', () => {
  async function watched(answer: Parameters<typeof service>[0] = {}) {
    const { channels, clock, requests, bodies } = service(answer);
    const store = await openMemory(clock);
    const reported: Happening[] = [];
    const rounds: Rounds = new Map();
    const begin = () => {
      const repeating = createRepeating({
        store,
        receivers: [{ name: 'ops', integrations: [ALERTMANAGER] }],
        channels,
        clock,
        report: (happening) => reported.push(happening),
        externalUrl: URL,
        rounds,
      });
      const stop = new AbortController();
      const running = repeating.run(stop.signal);
      return async () => {
        stop.abort();
        await running;
      };
    };
    let stop = begin();
    const reload = async () => {
      await stop();
      stop = begin();
    };
    onTestFinished(() => stop());
    const told = { notifiedSeq: 1, notifiedState: 'firing' } as const;
    /** This many alerts fire, and were notified. */
    const fire = (count: number) =>
      store.transaction(async (tx) => {
        const ids = Array.from({ length: count }, (_, at) => `alert-${at}`);
        await tx.alerts.put(ids.map((id) => storedAlert(id)));
        await tx.groups.put([storedGroup('g')]);
        await tx.groups.putMembers(ids.map((id) => member('g', id, told)));
      });
    const setAside = () =>
      store.transaction(async (tx) => (await tx.faults.list(clock.nowUs(), 9)).map(({ reason }) => reason));
    return { store, clock, requests, bodies, reported, told, reload, fire, setAside };
  }

  test('every minute, but nothing that was not notified or is resolved', async () => {
    const { store, clock, requests, bodies, told } = await watched();
    await clock.advance(61_000);
    expect(requests).toEqual([]);
    await store.transaction(async (tx) => {
      await tx.alerts.put([
        storedAlert('a-told'),
        storedAlert('b-over', { state: 'resolved', endsAtUs: 1 }),
        storedAlert('c-untold'),
      ]);
      await tx.groups.put([storedGroup('g')]);
      await tx.groups.putMembers([
        member('g', 'a-told', told),
        member('g', 'b-over', told),
        member('g', 'c-untold'),
      ]);
    });
    await clock.advance(120_000);
    expect(bodies().map((body: unknown[]) => body.length)).toEqual([1, 1]);
    expect(requests[0]!.url).toBe('http://am.example:9093/api/v2/alerts');
  });

  test('and if that fails it is reported, and retried in the next round', async () => {
    const { clock, requests, reported, fire } = await watched({ status: 503, body: 'starting' });
    await fire(1);
    await clock.advance(121_000);
    expect(requests).toHaveLength(2);
    const message = 'receiver ops was not notified again of what fires: HTTP 503: starting';
    expect(reported).toMatchObject([
      { what: 'trouble', error: { code: 'unavailable', message } },
      { what: 'trouble' },
    ]);
  });

  /** The alerts of the accepted requests, each once. */
  const acceptedOf = (requests: readonly HttpRequest[], accepts: (request: HttpRequest) => boolean) =>
    new Set(
      requests
        .filter(accepts)
        .flatMap(({ body }) =>
          (JSON.parse(body!) as { generatorURL: string }[]).map((one) => one.generatorURL),
        ),
    );

  test('even if one of them is refused, and that is reported once it lasts [long]', async () => {
    const accepts = ({ body }: HttpRequest) => !body!.includes('alert-7"');
    const { clock, requests, fire, setAside } = await watched((request) =>
      accepts(request) ? {} : { status: 500, body: 'a label' },
    );
    await fire(1_200);
    await clock.advance(61_000);
    expect(acceptedOf(requests, accepts).size).toBe(1_199);
    expect(requests.length).toBeLessThan(30);
    await clock.advance(60_000);
    expect(await setAside()).toEqual([]);
    await clock.advance(60_000);
    expect(await setAside()).toEqual([
      expect.stringContaining('was not notified again of what fires: HTTP 500'),
    ]);
  });

  test('even if a request with all of them is too large', async () => {
    const accepts = ({ body }: HttpRequest) => body!.length < 20_000;
    const { clock, requests, reported, fire } = await watched((request) =>
      accepts(request) ? {} : { status: 413 },
    );
    await fire(500);
    await clock.advance(61_000);
    expect(acceptedOf(requests, accepts).size).toBe(500);
    expect(reported).toEqual([]);
  });

  test('in few requests if it refuses everything, which is reported until it accepts them [long]', async () => {
    let isBack = false;
    const { clock, requests, fire, setAside } = await watched(() => ({ status: isBack ? 200 : 503 }));
    await fire(1_200);
    await clock.advance(181_000);
    expect(requests.length).toBeLessThan(3 * 40);
    expect(await setAside()).toHaveLength(1);
    isBack = true;
    await clock.advance(60_000);
    expect(await setAside()).toEqual([]);
  });

  test('only up to the third request without an answer [long]', async () => {
    const { clock, requests, fire } = await watched(new NestwatchError('timeout', 'no'));
    await fire(3_000);
    await clock.advance(61_000);
    expect(requests).toHaveLength(3);
  });

  test('every minute, however often the configuration is read again', async () => {
    const { clock, requests, reload, fire } = await watched();
    await fire(1);
    for (let second = 0; second < 130; second += 1) {
      await clock.advance(1_000);
      await reload();
    }
    expect(requests).toHaveLength(2);
  });
});
