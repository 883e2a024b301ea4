import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { openWebhooks, type WebhookIntegration } from '../../../src/channels/webhook/webhook-channel.ts';
import type { Notification } from '../../../src/domain/grouping/notification.ts';
import { NestwatchError } from '../../../src/errors.ts';
import {
  type HttpRequest,
  type HttpResponse,
  openTransport,
  type Transport,
} from '../../../src/http/transport.ts';
import { secret } from '../../../src/secret.ts';
import { compileTemplate } from '../../../src/templates/liquid.ts';
import { SAMPLE_VARIABLES } from '../../../src/templates/variables.ts';
import { createVirtualClock } from '../../virtual-clock.ts';
import { alert, delivery, failedFlight, forward, group, NOW_US, webhook } from '../sample-notifications.ts';

type Answer = Partial<HttpResponse> | NestwatchError;

/** A receiver that gives these answers in turn, the last one repeatedly, and keeps what it was sent. */
function receiver(...answers: Answer[]) {
  const requests: HttpRequest[] = [];
  const timeouts: number[] = [];
  let isClosed = false;
  const openTransport = ({ timeoutMs }: { timeoutMs: number }): Transport => {
    timeouts.push(timeoutMs);
    return {
      async send(request) {
        requests.push(request);
        const answer = answers.length > 1 ? answers.shift()! : answers[0]!;
        if (answer instanceof NestwatchError) throw answer;
        return { status: 200, headers: {}, body: '', ...answer };
      },
      async close() {
        isClosed = true;
      },
    };
  };
  const channel = openWebhooks({ clock: createVirtualClock(), version: '1.2.3', openTransport });
  const send = (changes: Partial<WebhookIntegration> = {}, notification: Notification = group()) =>
    channel.send(webhook(changes), delivery(), notification, 'http://nestwatch.example');
  return { channel, requests, timeouts, send, isClosed: () => isClosed };
}

const outcomeOf = (answer: Answer, changes: Partial<WebhookIntegration> = {}) =>
  receiver(answer).send(changes);

afterEach(() => {
  vi.useRealTimers();
});

describe('what a webhook is sent', () => {
  test('is the alertmanager body with its sender, its id and the time of the attempt', async () => {
    const { channel, requests } = receiver({});
    await channel.send(webhook(), delivery({ id: 'd-42' }), group(), 'http://nestwatch.example');
    expect(requests).toHaveLength(1);
    const [{ method, url, headers, body }] = requests as [HttpRequest];
    expect({ method, url }).toEqual({ method: 'POST', url: 'http://receiver.example/hook' });
    expect(headers).toEqual({
      'content-type': 'application/json',
      'user-agent': 'nestwatch/1.2.3',
      'webhook-id': 'd-42',
      'webhook-timestamp': String(NOW_US / 1_000_000),
    });
    expect(JSON.parse(body!)).toMatchObject({ version: '4', externalURL: 'http://nestwatch.example' });
  });

  test('is a batch with format cloudevents', async () => {
    const { requests, send } = receiver({});
    await send({ format: 'cloudevents' }, forward([failedFlight(1)]));
    expect(requests[0]?.headers['content-type']).toBe('application/cloudevents-batch+json');
    expect(JSON.parse(requests[0]!.body!)).toMatchObject([{ specversion: '1.0', id: failedFlight(1).key }]);
  });

  test('is cut to max_alerts', async () => {
    const { requests, send } = receiver({});
    await send({ maxAlerts: 1 }, group({ alerts: [alert(), alert()] }));
    expect(JSON.parse(requests[0]!.body!)).toMatchObject({ truncatedAlerts: 1 });
  });

  test('further batches have ids of their own, and all of them must be accepted', async () => {
    const alerts = Array.from({ length: 6 }, (_, index) =>
      alert({ events: Array.from({ length: 20 }, (_, at) => failedFlight(index * 20 + at)) }),
    );
    const { requests, send } = receiver({}, { status: 503 }, {});
    for (const kind of ['failed', 'accepted'])
      expect(await send({ format: 'cloudevents' }, group({ alerts }))).toMatchObject({ kind });
    expect(requests.map(({ headers }) => headers['webhook-id'])).toEqual(['d-1', 'd-1.2', 'd-1', 'd-1.2']);
  });

  test('is nothing if the format has nothing to say', async () => {
    const { requests, send } = receiver({});
    const silent = group({ alerts: [alert({ events: [] })] });
    expect(await send({ format: 'cloudevents' }, silent)).toEqual({
      kind: 'nothing',
      why: 'no new event in it to send as a CloudEvent',
    });
    expect((await send({}, forward([failedFlight(1)]))).kind).toBe('nothing');
    expect(requests).toEqual([]);
  });

  test.each([
    [
      'whsec_ and base64',
      'whsec_bmVzdHdhdGNoIHNpZ25zIHdpdGggdGhpcw==',
      new Webhook('whsec_bmVzdHdhdGNoIHNpZ25zIHdpdGggdGhpcw=='),
    ],
    ['base64', 'bmVzdHdhdGNoIHNpZ25zIHdpdGggdGhpcw==', new Webhook('bmVzdHdhdGNoIHNpZ25zIHdpdGggdGhpcw==')],
    [
      'a passphrase',
      'correct horse – batteriestärke',
      new Webhook(Buffer.from('correct horse – batteriestärke'), { format: 'raw' }),
    ],
  ])('is signed with %s so that the standard verifier accepts it', async (_, text, verifier) => {
    const { requests, send } = receiver({});
    await send({ secret: secret(text) }, group({ receiver: 'öps' }));
    const { headers, body } = requests[0]!;
    vi.useFakeTimers({ now: NOW_US / 1000 + 2_000, toFake: ['Date'] });
    expect(verifier.verify(body!, headers)).toMatchObject({ receiver: 'öps' });
    expect(() => verifier.verify(`${body} `, headers)).toThrow('No matching signature found');
    expect(() => verifier.verify(body!, { ...headers, 'webhook-id': 'd-2' })).toThrow();
  });

  test('is signed with both secrets while one is replaced, and each of them alone verifies it', async () => {
    const { requests, send } = receiver({});
    const [old, fresh] = ['b2xkIGtleSBvZiB0aGUgaG9vaw==', 'bmV3IGtleSBvZiB0aGUgaG9vaw=='];
    await send({ secret: secret(fresh), previousSecret: secret(old) });
    const { headers, body } = requests[0]!;
    expect(headers['webhook-signature']!.split(' ')).toEqual([
      expect.stringMatching(/^v1,/),
      expect.stringMatching(/^v1,/),
    ]);
    vi.useFakeTimers({ now: NOW_US / 1000, toFake: ['Date'] });
    for (const key of [old, fresh]) expect(new Webhook(key).verify(body!, headers)).toBeDefined();
    expect(() => new Webhook('b3RoZXI=').verify(body!, headers)).toThrow();
  });

  test('is the JSON of its template', async () => {
    const { requests, send } = receiver({});
    const template = compileTemplate('{"t":"{{ message }}","n":{{ alerts.size }}}', 'json', SAMPLE_VARIABLES);
    const hostile = group({ alerts: [alert({ events: [failedFlight(1, { message: '"},{"\\ <b>' })] })] });
    const outcome = await send({ format: 'template', template }, hostile);
    expect(outcome).toEqual({ kind: 'accepted' });
    expect(requests[0]!.headers['content-type']).toBe('application/json');
    expect(JSON.parse(requests[0]!.body!)).toEqual({ t: '"},{"\\ <b>', n: 1 });
  });

  test('is its template with empty values if some are missing, with a note if it shows notices', async () => {
    const { requests, send } = receiver({});
    const birds = ['one', 'two'].map((bird) => alert({ labels: { ...alert().labels, bird } }));
    const template = compileTemplate(
      '{"content":"{{ status }} {{ commonLabels.bird }}","notes":{{ notices | json }},"id":{{ commonLabels.bird | json }}}',
      'json',
      SAMPLE_VARIABLES,
    );
    const notification = group({ alerts: birds, notices: ['8 notifications were held back'] });
    const outcome = await send({ format: 'template', template }, notification);
    expect(outcome).toMatchObject({
      kind: 'accepted',
      templateError: expect.stringMatching(
        /^The template body failed: undefined variable: commonLabels.bird/,
      ),
    });
    expect(JSON.parse(requests[0]!.body!)).toEqual({
      content: 'firing ',
      notes: [
        '8 notifications were held back',
        expect.stringMatching(/^The template body failed: .*\. Missing values are left empty\.$/),
      ],
      id: null,
    });
  });

  test("is Alertmanager's body with a note if its template also fails without them", async () => {
    const { requests, send } = receiver({});
    const template = compileTemplate('{"t":{% if alerts.size == 1 %}1{% endif %}}', 'json', SAMPLE_VARIABLES);
    const outcome = await send({ format: 'template', template }, group({ alerts: [alert(), alert()] }));
    expect(outcome).toMatchObject({
      kind: 'accepted',
      templateError: expect.stringContaining('body failed'),
    });
    expect(JSON.parse(requests[0]!.body!)).toMatchObject({
      version: '4',
      notices: [expect.stringContaining('The built-in text is used instead.')],
    });
  });

  test('one transport is opened for each timeout, and closed', async () => {
    const { channel, timeouts, isClosed, send } = receiver({});
    for (const timeoutMs of [1_000, 5_000, 1_000]) await send({ timeoutMs });
    expect(timeouts).toEqual([1_000, 5_000]);
    await channel.close();
    expect(isClosed()).toBe(true);
  });
});

describe('what an answer means', () => {
  test.each([200, 201, 202, 204])('%i accepts', async (status) => {
    expect(await outcomeOf({ status })).toEqual({ kind: 'accepted' });
  });

  test.each([
    [408, 'unavailable'],
    [425, 'unavailable'],
    [429, 'rate_limited'],
    [500, 'unavailable'],
    [503, 'unavailable'],
    [599, 'unavailable'],
  ])('%i may succeed later', async (status, reason) => {
    const failed = { kind: 'failed', reason, error: `HTTP ${status}: busy` };
    expect(await outcomeOf({ status, body: 'busy' })).toEqual(failed);
  });

  test.each([
    [301, 'redirected'],
    [307, 'redirected'],
    [400, 'rejected'],
    [401, 'rejected'],
    [404, 'rejected'],
    [410, 'rejected'],
  ])('%i refuses', async (status, reason) => {
    expect(await outcomeOf({ status })).toEqual({ kind: 'refused', reason, error: `HTTP ${status}` });
  });

  test.each([
    ['120', 120_000],
    [new Date(NOW_US / 1000 + 90_000).toUTCString(), 90_000],
    ['0.5', 500],
    ['soon', undefined],
    ['-5', undefined],
    [String(3 * 86_400), 3_600_000],
    ['99999999999', 3_600_000],
    [new Date(NOW_US / 1000 + 3 * 86_400_000).toUTCString(), 3_600_000],
  ])('a Retry-After of %s is respected, up to an hour', async (value, retryAfterMs) => {
    const outcome = await outcomeOf({ status: 429, headers: { 'retry-after': value } });
    expect(outcome.kind === 'failed' && outcome.retryAfterMs).toBe(retryAfterMs);
  });

  test('a date is read by the receiver’s clock', async () => {
    const headers = {
      date: 'Thu, 01 Jan 2026 03:00:00 GMT',
      'retry-after': 'Thu, 01 Jan 2026 03:00:20 GMT',
    };
    const outcome = await outcomeOf({ status: 503, headers });
    expect(outcome.kind === 'failed' && outcome.retryAfterMs).toBe(20_000);
  });

  test('its words are cleaned, capped, and omitted if they are a page', async () => {
    const body = `no\u202E\n\u0007 ${'x'.repeat(5_000)}`;
    const words = await outcomeOf({ status: 400, body });
    expect(words.kind === 'refused' && words.error).toMatch(/^HTTP 400: no x+…$/);
    expect(words.kind === 'refused' && words.error.length).toBe(300);
    const page = await outcomeOf({ status: 502, headers: { 'content-type': 'text/html' }, body: '<h1>' });
    expect(page).toMatchObject({ error: 'HTTP 502' });
  });

  test('what it repeats of the URL is not passed on', async () => {
    const url = secret('https://x.example/services/T0canary/b%20canary?key=k-canary');
    const body = 'Cannot POST /services/T0canary/b%20canary or "b canary" with key=k-canary';
    const outcome = await outcomeOf({ status: 404, body }, { url });
    expect(outcome).toMatchObject({ kind: 'refused' });
    expect(JSON.stringify(outcome)).not.toMatch(/canary/);
  });
});

describe('what no answer means', () => {
  const caused = (code: string) => ({ cause: Object.assign(new Error(code), { code }) });

  test.each([
    [new NestwatchError('unreachable', 'no', caused('ECONNREFUSED')), 'failed', 'unreachable'],
    [new NestwatchError('unreachable', 'no', caused('ENOTFOUND')), 'failed', 'unreachable'],
    [new NestwatchError('unreachable', 'no', caused('CERT_HAS_EXPIRED')), 'failed', 'unreachable'],
    [new NestwatchError('timeout', 'no', caused('UND_ERR_CONNECT_TIMEOUT')), 'failed', 'timeout'],
    [new NestwatchError('timeout', 'no', caused('UND_ERR_HEADERS_TIMEOUT')), 'unknown', 'timeout'],
    [new NestwatchError('timeout', 'no'), 'unknown', 'timeout'],
    [new NestwatchError('unreachable', 'no', caused('UND_ERR_SOCKET')), 'unknown', 'ambiguous'],
    [new NestwatchError('unreachable', 'no', caused('ECONNRESET')), 'unknown', 'ambiguous'],
    [new NestwatchError('unreachable', 'no', caused('UND_ERR_HEADERS_OVERFLOW')), 'unknown', 'ambiguous'],
    [
      new NestwatchError('unreachable', 'no', caused('UND_ERR_RES_CONTENT_LENGTH_MISMATCH')),
      'unknown',
      'ambiguous',
    ],
    [new NestwatchError('not_json', 'cut'), 'unknown', 'ambiguous'],
    [new NestwatchError('too_large', 'long', { facts: { status: 200 } }), 'accepted', undefined],
    [new NestwatchError('not_json', 'cut', { facts: { status: 500 } }), 'failed', 'unavailable'],
  ])('%o is %s (%s)', async (error, kind, reason) => {
    const outcome = await outcomeOf(error);
    expect(outcome.kind).toBe(kind);
    expect('reason' in outcome ? outcome.reason : undefined).toBe(reason);
  });

  test('a bug of our own is not taken for an answer', async () => {
    const channel = openWebhooks({
      clock: createVirtualClock(),
      version: '1',
      openTransport: () => ({ send: () => Promise.reject(new TypeError('bug')), close: async () => {} }),
    });
    await expect(channel.send(webhook(), delivery(), group(), '')).rejects.toThrow(TypeError);
  });
});

describe('over a real connection', () => {
  test('an answer, none that can be read, and a port where nobody listens are distinguished', async () => {
    const bodies: string[] = [];
    const server = createServer((request, response) => {
      request.setEncoding('utf8');
      let body = '';
      request.on('data', (chunk: string) => {
        body += chunk;
      });
      request.on('end', () => {
        bodies.push(body);
        if (request.url === '/broken') request.socket.destroy();
        else if (request.url === '/garbled') request.socket.end('accepted\r\n\r\n');
        else response.writeHead(204).end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const channel = openWebhooks({ clock: createVirtualClock(), version: '1', openTransport });
    const send = (path: string) =>
      channel.send(webhook({ url: secret(`${origin}${path}`) }), delivery(), group(), 'http://x');
    try {
      expect(await send('/hook')).toEqual({ kind: 'accepted' });
      expect(await send('/broken')).toMatchObject({ kind: 'unknown', reason: 'ambiguous' });
      const error = expect.stringMatching(/its answer is no HTTP$/);
      expect(await send('/garbled')).toMatchObject({ kind: 'unknown', reason: 'ambiguous', error });
      expect(bodies).toHaveLength(3);
      await new Promise((resolve) => server.close(resolve));
      expect(await send('/hook')).toMatchObject({ kind: 'failed', reason: 'unreachable' });
    } finally {
      await channel.close();
      server.closeAllConnections();
    }
  });
});
