import { type IncomingMessage, request } from 'node:http';
import { describe, expect, test } from 'vitest';
import type { Happening } from '../../src/report.ts';
import { secret } from '../../src/secret.ts';
import { createPush } from '../../src/web/push.ts';
import { createVirtualClock } from '../virtual-clock.ts';
import { serve } from './served.ts';

const NEWS: Happening = { what: 'set_aside', sort: 'rule', name: 'r', reason: 'x' };
const NO_NEWS: Happening = { what: 'rate_limit', region: 'eu', requestsPerSecond: 1 };

/** What a following page is sent. */
async function follow(push: ReturnType<typeof createPush>) {
  const reader = push.open()!.getReader();
  const decoder = new TextDecoder();
  const next = async () => {
    const { value, done } = await reader.read();
    return done ? 'end' : decoder.decode(value);
  };
  expect(await next()).toBe('retry: 3000\n\n');
  return { next, leave: () => reader.cancel() };
}

describe('open pages', () => {
  test('are told that something changed, at most once a second', async () => {
    const clock = createVirtualClock();
    const push = createPush(clock, 1024);
    const page = await follow(push);
    for (let index = 0; index < 100; index += 1) push.hear(NEWS);
    await clock.advance(1);
    expect(await page.next()).toBe('event: change\ndata: {}\n\n');
    for (let index = 0; index < 100; index += 1) push.hear(NEWS);
    let isThere = false;
    const second = page.next().then((text) => {
      isThere = true;
      return text;
    });
    await clock.advance(900);
    expect(isThere).toBe(false);
    await clock.advance(100);
    expect(await second).toBe('event: change\ndata: {}\n\n');
  });

  test('are not told of polls, but get a comment now and then that keeps the connection', async () => {
    const clock = createVirtualClock();
    const push = createPush(clock, 1024);
    const page = await follow(push);
    push.hear(NO_NEWS);
    await clock.advance(20_000);
    expect(await page.next()).toBe(': \n\n');
  });

  test('poll every few seconds if another replica may have changed something', async () => {
    const clock = createVirtualClock();
    const page = await follow(createPush(clock, 1024, true));
    for (let times = 0; times < 3; times += 1) {
      await clock.advance(5_000);
      expect(await page.next()).toBe('event: change\ndata: {}\n\n');
    }
    await page.leave();
    expect(clock.pending()).toBe(0);
  });

  test('are told once a second at most by both together', async () => {
    const clock = createVirtualClock();
    const push = createPush(clock, 1024, true);
    const page = await follow(push);
    await clock.advance(4_500);
    push.hear(NEWS);
    await clock.advance(1);
    await page.next();
    let isThere = false;
    const second = page.next().then(() => {
      isThere = true;
    });
    await clock.advance(900);
    expect(isThere).toBe(false);
    await clock.advance(100);
    await second;
  });

  test('are disconnected if they read nothing, and leave nothing behind when they go', async () => {
    const clock = createVirtualClock();
    const push = createPush(clock, 1024);
    const silent = await follow(push);
    for (let index = 0; index < 40; index += 1) {
      push.hear(NEWS);
      await clock.advance(1_000);
    }
    const received: string[] = [];
    while (received.at(-1) !== 'end') received.push(await silent.next());
    expect(received.length).toBeLessThan(25);
    const page = await follow(push);
    push.hear(NEWS);
    await page.leave();
    expect(clock.pending()).toBe(0);
  });

  test('use no more than half of the connections', () => {
    const push = createPush(createVirtualClock(), 80);
    for (let index = 0; index < 10; index += 1) expect(push.open()).toBeDefined();
    expect(push.open()).toBe(undefined);
    expect(
      Array.from(
        { length: 51 },
        (
          (many) => () =>
            many.open()
        )(createPush(createVirtualClock(), 4096)),
      ).at(-1),
    ).toBe(undefined);
  });
});

/** Resolves to the answer as soon as its headers have arrived. */
function openStream(url: string, headers: Record<string, string> = {}): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request(new URL('/api/v1/stream', url), { headers }, resolve).on('error', reject).end();
  });
}

describe('GET /api/v1/stream', () => {
  test('is an event stream that ends with the daemon, and does not delay its end', async () => {
    const { web, close } = await serve();
    const answer = await openStream(web.url);
    expect(answer.statusCode).toBe(200);
    expect(answer.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    const ended = new Promise((resolve) => answer.on('end', resolve));
    answer.resume();
    // The test's clock stands still, so no timer cuts anything off.
    await close();
    await ended;
  });

  test('sends what the daemon reports', async () => {
    const { web, clock } = await serve();
    const answer = await openStream(web.url);
    const texts = answer[Symbol.asyncIterator]();
    expect(String((await texts.next()).value)).toBe('retry: 3000\n\n');
    web.hear(NEWS);
    await clock.advance(1);
    expect(String((await texts.next()).value)).toBe('event: change\ndata: {}\n\n');
    answer.destroy();
  });

  test('needs the right to read, and ends when the configuration is read again', async () => {
    const { web, options } = await serve({ web: { bearerToken: secret('t0ken') } });
    const refused = await openStream(web.url);
    expect(refused.statusCode).toBe(401);
    refused.resume();
    const answer = await openStream(web.url, { authorization: 'Bearer t0ken' });
    const texts = answer[Symbol.asyncIterator]();
    expect(String((await texts.next()).value)).toBe('retry: 3000\n\n');
    web.follow(options);
    expect((await texts.next()).done).toBe(true);
  });

  test('is refused beyond its limit, which is counted', async () => {
    const { web, ask, reported } = await serve({ openFiles: 16 });
    const answers = [await openStream(web.url), await openStream(web.url)];
    const { status, body } = await ask('/api/v1/stream');
    expect([status, body]).toEqual([503, expect.stringContaining('Too many follow already')]);
    expect(reported).toContainEqual({ what: 'limit_reached', limit: 'stream_clients' });
    for (const answer of answers) answer.destroy();
  });

  test('answers HEAD without following, and takes no parameters', async () => {
    const { ask } = await serve();
    expect((await ask('/api/v1/stream', {}, 'HEAD')).status).toBe(200);
    expect((await ask('/api/v1/stream?x=1')).status).toBe(400);
  });
});
