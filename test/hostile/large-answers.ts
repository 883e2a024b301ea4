/**
 * A region that sends eight large responses at once, over real sockets. Measures how much of them is held in memory.
 */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createBytesInFlight } from '../../src/http/http-exchange.ts';
import { openTransport } from '../../src/http/transport.ts';
import { LIMITS } from '../../src/limits.ts';
import { secret } from '../../src/secret.ts';
import { createServiceClient } from '../../src/service/client.ts';
import { systemClock } from '../../src/time/clock.ts';

const MIB = 2 ** 20;
const AT_ONCE = 8;
const ANSWER_BYTES = 15 * MIB;
/**
 * For responses being received. While its parts are joined, one of them is in memory twice, and on a busy machine
 * unused parts are collected late. Without the limit all eight are held, 120 MiB, most of them twice.
 */
const MOST_HELD_BYTES = 150 * MIB;
const LOOK_EVERY_MS = 1;
const LONGEST_WAIT_MS = 5_000;

/** What is wrong; undefined if nothing is. */
export async function mistakeWithLargeAnswers(): Promise<string | undefined> {
  const mayEnd = whenAllAre(AT_ONCE);
  const server = createServer((_, response) => void answer(response, mayEnd)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const clock = systemClock();
  const transport = openTransport({
    connections: AT_ONCE,
    timeoutMs: 60_000,
    maxBodyBytes: LIMITS.answer_bytes.most,
    inFlight: createBytesInFlight(LIMITS.bytes_in_flight.most, () => {}),
  });
  const client = createServiceClient({
    region: {
      name: 'eu',
      baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      token: secret('token'),
      requestsPerSecond: 1_000,
      concurrency: AT_ONCE,
    },
    transport,
    clock,
    random: () => 0.5,
    report: () => {},
    startPerSecond: 1_000,
  });
  const before = process.memoryUsage().arrayBuffers;
  let most = 0;
  const looking = setInterval(() => {
    most = Math.max(most, process.memoryUsage().arrayBuffers - before);
  }, LOOK_EVERY_MS);
  const asked = Array.from({ length: AT_ONCE }, (_, nest) => client.searchBirds(String(nest)));
  const answers = await Promise.allSettled(asked);
  clearInterval(looking);
  await client.close();
  await transport.close();
  server.closeAllConnections();
  server.close();
  const failed = answers.find(({ status }) => status === 'rejected');
  if (failed) return `an answer came to nothing: ${String((failed as PromiseRejectedResult).reason)}`;
  if (most > MOST_HELD_BYTES) return `${Math.round(most / MIB)} MiB of answers were held at once`;
  return undefined;
}

/**
 * Returns a function that resolves for all callers once `count` have called it, or after a timeout, in case they wait
 * for each other.
 */
function whenAllAre(count: number): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let left = count;
  return () => {
    left -= 1;
    if (left === 0) resolve();
    setTimeout(resolve, LONGEST_WAIT_MS).unref();
    return promise;
  };
}

/**
 * A list with one item that is no Bird, and long. It is sent from one buffer, so that the server
 * itself needs no memory, and ends when the others have come as far.
 */
async function answer(response: ServerResponse, mayEnd: () => Promise<void>): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.write('["');
  const part = Buffer.alloc(64 * 1024, 'x');
  for (let sent = 0; sent < ANSWER_BYTES; sent += part.length) {
    if (!response.write(part)) await once(response, 'drain');
  }
  await mayEnd();
  response.end('"]');
}
