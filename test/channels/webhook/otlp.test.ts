/** Ended Flights as traces. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { openWebhooks, webhookChannel } from '../../../src/channels/webhook/webhook-channel.ts';
import type { Event } from '../../../src/domain/alert/event.ts';
import { openTransport } from '../../../src/http/transport.ts';
import { secret } from '../../../src/secret.ts';
import { createVirtualClock } from '../../virtual-clock.ts';
import { delivery, failedFlight, forward, MINUTE_US, NOW_US, webhook } from '../sample-notifications.ts';

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly attributes: readonly { readonly key: string; readonly value: { readonly stringValue: string } }[];
  readonly [more: string]: unknown;
}

/** A collector that answers all requests alike, and what it was sent. */
async function collector(
  status = 200,
  answer: unknown = {},
  headers: Record<string, string> = {},
  text = JSON.stringify(answer),
) {
  const bodies: { readonly path: string; readonly spans: readonly Span[] }[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { resourceSpans } = JSON.parse(body);
    bodies.push({ path: request.url!, spans: resourceSpans[0]?.scopeSpans[0].spans ?? [] });
    response.writeHead(status, headers).end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const url = secret(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`);
  const integration = webhook({ format: 'otlp', url });
  const channel = openWebhooks({ clock: createVirtualClock(), version: '1', openTransport });
  onTestFinished(() => channel.close());
  const send = (events: readonly Event[]) => channel.send(integration, delivery(), forward(events), '');
  return { bodies, send, integration };
}

const ended = (at: number, type: string): Event => {
  const failed = failedFlight(at);
  return { ...failed, type: `flight.${type}`, key: failed.key.replace('failed', type), message: '' };
};

test('a name with half a surrogate pair is no reason to refuse the others', async () => {
  const { bodies, send } = await collector();
  await send([failedFlight(1, { bird: 'half \ud83d' })]);
  expect(bodies[0]!.spans[0]!.name).toBe('RUN half \ufffd');
});

test('each ended Flight is a trace with the same ids on every try, and nothing else is sent', async () => {
  const { bodies, send } = await collector();
  const others: Event[] = [
    { ...failedFlight(9), feed: 'bird_log', type: 'bird_log.Published' },
    { ...failedFlight(9), feed: 'flight', type: 'flight.started' },
  ];
  const events = [failedFlight(1), ended(2, 'succeeded'), ended(3, 'cancelled'), ...others];
  expect(await send(events)).toEqual({ kind: 'accepted' });
  expect(await send(events)).toEqual({ kind: 'accepted' });
  const [first, again] = bodies;
  expect(again).toEqual(first);
  const [failed, succeeded] = first!.spans;
  const named = Object.fromEntries(failed!.attributes.map(({ key, value }) => [key, value.stringValue]));
  const { flight_id: flightId, started_at_us: startUs } = failedFlight(1).attributes;
  expect(named).toMatchObject({
    'cicd.pipeline.name': 'Translate blog',
    'cicd.pipeline.run.id': flightId,
    'cicd.pipeline.result': 'failure',
    'error.type': expect.any(String),
    'nestwatch.region': 'eu',
    'nestwatch.nest': 'Marketing',
    'nestwatch.bird_id': '148890',
  });
  expect(failed).toMatchObject({
    traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
    spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
    name: 'RUN Translate blog',
    kind: 2,
    endTimeUnixNano: `${NOW_US - MINUTE_US}000`,
    ...(typeof startUs === 'number' && { startTimeUnixNano: `${startUs}000` }),
    status: { code: 2, message: failedFlight(1).message },
  });
  expect(succeeded!.status).toBeUndefined();
  expect(first!.spans).toHaveLength(3);
  expect(new Set(first!.spans.map(({ traceId }) => traceId)).size).toBe(3);
  expect(await send(others)).toMatchObject({ kind: 'nothing' });
});

test('a thousand Flights are ten requests', async () => {
  const { bodies, send } = await collector();
  await send(Array.from({ length: 1_000 }, (_, at) => failedFlight(at)));
  expect(bodies.map(({ spans }) => spans.length)).toEqual(Array(10).fill(100));
});

test.each([
  [
    'a part that it rejects',
    200,
    { partialSuccess: { rejectedSpans: '3', errorMessage: 'too old' } },
    { kind: 'accepted', leftOut: [{ recipient: '3 spans', why: 'too old' }] },
  ],
  [
    'all that it rejects',
    200,
    { partialSuccess: { rejectedSpans: '4', errorMessage: 'too old' } },
    { kind: 'refused', error: 'it rejected every span: too old', isFinal: true },
  ],
  ['a warning', 200, { partialSuccess: { rejectedSpans: 0, errorMessage: 'slow' } }, { kind: 'accepted' }],
  ['too much', 429, {}, { kind: 'failed', reason: 'rate_limited', retryAfterMs: 7_000 }],
  ['out of order', 503, {}, { kind: 'failed', reason: 'unavailable', retryAfterMs: 7_000 }],
  [
    'what is wrong, for good',
    400,
    { message: 'bad span' },
    { kind: 'refused', reason: 'rejected', isFinal: true },
  ],
])('%s is said by the collector', async (_, status, answer, outcome) => {
  const { send } = await collector(status, answer, { 'retry-after': '7' });
  expect(await send([1, 2, 3, 4].map((at) => failedFlight(at)))).toMatchObject(outcome);
});

test('a page for people is no answer of a collector', async () => {
  const { send, integration } = await collector(
    200,
    undefined,
    {},
    '\n<!doctype html><title>Sign in</title>',
  );
  expect(await send([failedFlight(1)])).toEqual({
    kind: 'failed',
    reason: 'rejected',
    error: 'HTTP 200 with a page for people, which no collector sends',
  });
  await expect(webhookChannel.probe(integration).run()).rejects.toThrow('a page for people');
});

test('an empty answer accepts, as of collectors that say nothing', async () => {
  const { send } = await collector(200, undefined, {}, '');
  expect(await send([failedFlight(1)])).toEqual({ kind: 'accepted' });
});

test('a wrong path is found without sending a span', async () => {
  const right = await collector();
  await webhookChannel.probe(right.integration).run();
  expect(right.bodies).toEqual([{ path: '/v1/traces', spans: [] }]);
  const wrong = await collector(404, { message: 'no such route' });
  await expect(webhookChannel.probe(wrong.integration).run()).rejects.toThrow(
    /\/v1\/traces answered HTTP 404: .*no such route/,
  );
});
