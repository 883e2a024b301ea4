/**
 * Serves worlds to clients in the same process, without a network. Delays follow the world's clock, which may be
 * virtual.
 */

import { NestwatchError } from '../../src/errors.ts';
import type { HttpResponse, Transport } from '../../src/http/transport.ts';
import { createExchange, type Exchange } from '../../src/simulator/answers/simulator-server.ts';
import type { World } from '../../src/simulator/world/world.ts';
import { sleep } from '../../src/time/clock.ts';

/**
 * Takes worlds by base URL (`https://eu.example/api-rest`); any other address is unreachable. Answers that take
 * longer than `timeoutMs` fail with `timeout`, as they would over a network.
 */
export function simulatorTransport(
  worlds: Readonly<Record<string, World>>,
  options: { readonly timeoutMs?: number } = {},
): Transport {
  const timeoutMs = options.timeoutMs ?? 15_000;
  const doors = new Map<string, { readonly world: World; readonly exchange: Exchange }>();
  for (const [baseUrl, world] of Object.entries(worlds)) {
    doors.set(new URL(baseUrl).origin, { world, exchange: createExchange(world) });
  }
  let isClosed = false;

  return {
    async send({ method, url, headers, body }): Promise<HttpResponse> {
      const { origin, host, pathname, search } = new URL(url);
      const door = doors.get(origin);
      if (isClosed || !door) throw new NestwatchError('unreachable', `no answer from ${host}: ECONNREFUSED`);
      const reply = door.exchange({ method, path: `${pathname}${search}`, headers, body });
      if (reply.delayMs > 0) await sleep(door.world.clock, Math.min(reply.delayMs, timeoutMs));
      if (reply.delayMs > timeoutMs) {
        throw new NestwatchError('timeout', `${host} did not answer within ${timeoutMs} ms`);
      }
      if (reply.kind === 'reset')
        throw new NestwatchError('unreachable', `no answer from ${host}: ECONNRESET`);
      if (reply.kind === 'cut') throw new NestwatchError('not_json', `${host} cut its answer short`);
      return reply.response;
    },
    async close() {
      isClosed = true;
    },
  };
}
