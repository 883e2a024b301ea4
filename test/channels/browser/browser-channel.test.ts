import { createPublicKey, verify } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  type BrowserIntegration,
  newPushKeys,
  readPushKeys,
} from '../../../src/channels/browser/browser-channel.ts';
import type { Browsers } from '../../../src/channels/channel.ts';
import { closeChannels, openChannels } from '../../../src/channels/registry.ts';
import type { Notification } from '../../../src/domain/grouping/notification.ts';
import type { SubscribedBrowser } from '../../../src/domain/grouping/subscribed-browser.ts';
import { NestwatchError } from '../../../src/errors.ts';
import { openAuthorizedTransport } from '../../../src/http/authorized-transport.ts';
import type { HttpRequest, HttpResponse } from '../../../src/http/transport.ts';
import { secret } from '../../../src/secret.ts';
import { makeAuthority, makeCertificate } from '../../http/certificates.ts';
import { openFolder } from '../../http/servers.ts';
import { createVirtualClock } from '../../virtual-clock.ts';
import { anyGroupNotification } from '../any-notification.ts';
import { alert, delivery, forward, group, NOW_US } from '../sample-notifications.ts';
import { createBrowser } from './sample-browser.ts';

const PAGE = 'https://watch.example.com';
const INTEGRATION: BrowserIntegration = {
  ...{
    kind: 'browser',
    services: ['push.example.com:8443'],
    ttlMs: 86_400_000,
    timeoutMs: 10_000,
    sendResolved: true,
  },
};
const KEYS = readPushKeys(newPushKeys());
const ENDPOINT = 'https://fcm.googleapis.com/fcm/send/cAnArY';

const browser = createBrowser();

function subscribed(id: string, changes: Partial<SubscribedBrowser> = {}): SubscribedBrowser {
  const whose = { receiver: 'ops', person: 'anna', name: `Firefox ${id}`, subscribedAtUs: NOW_US };
  return { id, ...whose, endpoint: `${ENDPOINT}/${id}`, ...browser.keys, ...changes };
}

type Answer = Partial<HttpResponse> | NestwatchError;

/** `answer` gets the id with which an endpoint ends. */
function pushService(all: readonly SubscribedBrowser[], answer: (id: string) => Answer = () => ({})) {
  const requests: HttpRequest[] = [];
  const forgotten: string[] = [];
  const browsers: Browsers = {
    keys: KEYS,
    of: async (receiver) => all.filter((one) => one.receiver === receiver && !forgotten.includes(one.id)),
    forget: async (_, ids) => void forgotten.push(...ids),
  };
  const channels = openChannels({
    ...{ clock: createVirtualClock(), version: '1.2.3', browsers },
    openTransport: () => ({
      async send(request) {
        requests.push(request);
        const said = answer(request.url.split('/').at(-1)!);
        if (said instanceof NestwatchError) throw said;
        return { status: 201, headers: {}, body: '', ...said };
      },
      close: async () => {},
    }),
  });
  const send = (notification: Notification = group(), remaining?: readonly string[], page = PAGE) =>
    channels.browser!.send(INTEGRATION, delivery({ ...(remaining && { remaining }) }), notification, page);
  return { send, requests, forgotten, shown: () => requests.map(({ bytes }) => browser.decrypted(bytes!)) };
}

test('a message reaches every subscribed browser, readable only there, under the id of its delivery', async () => {
  const { send, requests, shown } = pushService([
    subscribed('a'),
    subscribed('b'),
    subscribed('c', { receiver: 'other' }),
  ]);
  expect(await send()).toEqual({ kind: 'accepted' });
  expect(requests.map(({ url }) => url)).toEqual([`${ENDPOINT}/a`, `${ENDPOINT}/b`]);
  expect(shown()[0]).toEqual({
    title: 'Translate blog failed',
    body: expect.stringContaining('the provider answered 429 Too Many Requests'),
    url: `${PAGE}/alerts/FlightFailed/93f7e433/eu/bird/148890`,
    tag: delivery().id,
  });
  const [{ headers }, again] = requests as [HttpRequest, HttpRequest];
  expect(headers).toMatchObject({ 'Content-Encoding': 'aes128gcm', TTL: '86400', Urgency: 'high' });
  expect(headers.Topic).toBe(again.headers.Topic);
});

test('it leads to its alert, however the address of the page is written', async () => {
  const { send, shown } = pushService([subscribed('a')]);
  await send(group(), undefined, 'https://Watch.example.com:443');
  expect(shown()).toMatchObject([{ url: `${PAGE}/alerts/FlightFailed/93f7e433/eu/bird/148890` }]);
});

test('the push service knows the sender by the keys of the store', async () => {
  const { send, requests } = pushService([subscribed('a')]);
  await send();
  const [, token = '', known] =
    /^vapid t=([^,]+), k=(.+)$/.exec(requests[0]!.headers.Authorization ?? '') ?? [];
  expect(known).toBe(KEYS.publicKey);
  const [head, claims = '', signature = ''] = token.split('.');
  expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({
    aud: 'https://fcm.googleapis.com',
    sub: PAGE,
  });
  const point = Buffer.from(KEYS.publicKey, 'base64url');
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((half) => half.toString('base64url')) as [
    string,
    string,
  ];
  const key = createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' });
  const isSigned = verify(
    'sha256',
    Buffer.from(`${head}.${claims}`),
    { key, dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  );
  expect(isSigned).toBe(true);
});

test('over the wire it arrives byte for byte, at a push service that is configured', async () => {
  const folder = openFolder();
  onTestFinished(() => folder.close());
  makeAuthority(folder.path, 'authority');
  makeCertificate(folder.path, 'authority', 'server');
  const file = (name: string) => readFileSync(join(folder.path, name));
  const arrived = Promise.withResolvers<Buffer>();
  const server = createServer(
    { key: file('server.key'), cert: file('server.pem') },
    async (request, response) => {
      arrived.resolve(Buffer.concat(await Array.fromAsync(request)));
      response.writeHead(201).end();
    },
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const host = `localhost:${(server.address() as AddressInfo).port}`;
  const all = [subscribed('a', { endpoint: `https://${host}/push` })];
  const clock = createVirtualClock();
  const channels = openChannels({
    ...{ clock, version: '1.2.3', openTransport: openAuthorizedTransport },
    browsers: { keys: KEYS, of: async () => all, forget: async () => {} },
  });
  onTestFinished(() => closeChannels(channels));
  const http = {
    headers: [],
    followRedirects: false,
    tls: { ca: secret(String(file('authority.pem'))), insecureSkipVerify: false },
  };
  const integration: BrowserIntegration = { ...INTEGRATION, services: [host], http };
  expect(await channels.browser!.send(integration, delivery(), group(), PAGE)).toEqual({ kind: 'accepted' });
  expect(browser.decrypted(await arrived.promise)).toMatchObject({ title: 'Translate blog failed' });
});

test('without an address of the page there is no link', async () => {
  const { send, shown } = pushService([subscribed('a')]);
  await send(group(), undefined, '');
  expect(shown()).toMatchObject([{ url: '' }]);
});

test('whatever it says, it is text within what a push service takes [long]', async () => {
  const { send, requests, shown } = pushService([subscribed('a')]);
  await fc.assert(
    fc.asyncProperty(anyGroupNotification, async (notification) => {
      await send(notification);
      expect(requests.at(-1)!.bytes!.length).toBeLessThanOrEqual(4_096);
      requests.splice(0, requests.length - 1);
      expect(Object.keys(shown()[0] as object).sort()).toEqual(['body', 'tag', 'title', 'url']);
    }),
  );
});

describe('a subscription', () => {
  test.each([404, 410])('that is over (%s) is removed, and the others have the message', async (status) => {
    const { send, forgotten, requests } = pushService([subscribed('a'), subscribed('b')], (id) =>
      id === 'a' ? { status } : {},
    );
    expect(await send()).toEqual({
      kind: 'accepted',
      leftOut: [{ recipient: 'Firefox a of anna', why: 'it is no longer subscribed' }],
    });
    expect(forgotten).toEqual(['a']);
    await send();
    expect(requests).toHaveLength(3);
  });

  test('whose push service is away is tried again, without those that have the message', async () => {
    let isAway = true;
    const { send, requests, forgotten } = pushService([subscribed('a'), subscribed('b')], (id) =>
      id === 'a' && isAway ? { status: 503, headers: { 'retry-after': '30' } } : {},
    );
    const outcome = await send();
    expect(outcome).toMatchObject({
      kind: 'failed',
      reason: 'unavailable',
      remaining: ['a'],
      retryAfterMs: 30_000,
    });
    expect(forgotten).toEqual([]);
    isAway = false;
    expect(await send(group(), ['a'])).toEqual({ kind: 'accepted' });
    expect(requests.map(({ url }) => url.at(-1))).toEqual(['a', 'b', 'a']);
    expect(requests[2]!.headers.Topic).toBe(requests[0]!.headers.Topic);
  });

  test('beside one that is refused has not been reached, so the receiver fails as a whole', async () => {
    const { send } = pushService([subscribed('a'), subscribed('b')], (id) => ({
      status: id === 'a' ? 403 : 503,
    }));
    const outcome = await send();
    expect(outcome).toMatchObject({ kind: 'failed', reason: 'unavailable' });
    expect(outcome).not.toHaveProperty('remaining');
  });

  test('of which no answer says whether it was accepted is sent again under the same id', async () => {
    const lost = new NestwatchError('timeout', 'fcm.googleapis.com did not answer');
    const { send, shown } = pushService([subscribed('a')], () => lost);
    expect(await send()).toMatchObject({ kind: 'failed', reason: 'timeout' });
    await send();
    expect(shown()).toMatchObject([{ tag: delivery().id }, { tag: delivery().id }]);
  });

  test('is refused, and its endpoint is not repeated', async () => {
    const { send } = pushService([subscribed('a')], () => ({
      status: 403,
      body: `no key for ${ENDPOINT}/a`,
    }));
    const outcome = await send();
    expect(outcome).toMatchObject({ kind: 'refused', reason: 'rejected' });
    expect(JSON.stringify(outcome)).not.toContain('cAnArY');
  });

  test.each([
    'http://fcm.googleapis.com/x',
    'https://127.0.0.1/x',
    'https://[::1]/x',
    'https://169.254.169.254/latest/meta-data',
    'https://fcm.googleapis.com.evil.example/x',
    'https://fcm.googleapis.com:8443/x',
    'https://user@fcm.googleapis.com/x',
    'https://evil.example/fcm.googleapis.com',
    'https://evilpush.services.mozilla.com.example/x',
    'file:///etc/passwd',
  ])('is never sent to %s', async (endpoint) => {
    const { send, requests } = pushService([subscribed('a', { endpoint })]);
    expect(await send()).toMatchObject({ kind: 'refused' });
    expect(requests).toEqual([]);
  });

  test.each(['https://updates.push.services.mozilla.com/wpush/v2/x', 'https://push.example.com:8443/x'])(
    'is sent to %s',
    async (endpoint) => {
      const { send, requests } = pushService([subscribed('a', { endpoint })]);
      expect(await send()).toEqual({ kind: 'accepted' });
      expect(requests).toMatchObject([{ url: endpoint }]);
    },
  );
});

test('nobody who is subscribed is a reason to tell the fallback', async () => {
  expect(await pushService([]).send()).toMatchObject({
    kind: 'nothing',
    leftOut: [{ recipient: 'browsers' }],
  });
  expect(await pushService([subscribed('a')], () => ({ status: 410 })).send()).toMatchObject({
    kind: 'nothing',
    leftOut: [{ recipient: 'Firefox a of anna' }],
  });
});

test('a recovery is less urgent, and single events are not for people', async () => {
  const { send, requests } = pushService([subscribed('a')]);
  await send(
    group({ alerts: [alert({ status: 'resolved', endsAtUs: NOW_US })], firingTotal: 0, reason: 'resolved' }),
  );
  expect(requests[0]!.headers.Urgency).toBe('normal');
  expect(await send(forward([]))).toMatchObject({ kind: 'nothing' });
});

test('a command that knows no browsers says where to send a test from', async () => {
  const channels = openChannels({
    ...{ clock: createVirtualClock(), version: '1.2.3' },
    openTransport: () => expect.unreachable(),
  });
  expect(await channels.browser!.send(INTEGRATION, delivery(), group(), PAGE)).toMatchObject({
    kind: 'nothing',
    why: expect.stringContaining('/deliveries'),
  });
});
