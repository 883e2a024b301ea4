/** The daemon is given another configuration while the server of its store is away. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openApp } from '../../../src/app.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { systemClock } from '../../../src/time/clock.ts';
import { createTestEdge } from '../../cli/test-io.ts';
import { findServer, type PostgresServer, startServer } from '../../store/postgres/postgres-server.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startServer(findServer()!, []);
}, 60_000);
afterAll(() => server?.remove());

function configOf(receiver: string) {
  return loadConfig({
    file: 'nestwatch.yaml',
    text: `
regions: { eu: { base_url: "http://127.0.0.1:9/api-rest", token: token } }
store: { url: "${server.url}" }
route: { receiver: ${receiver} }
receivers: [{ name: a }, { name: b }]
web: { listen: "127.0.0.1:0" }`,
    environment: {},
    readFile: () => '',
  });
}

test.each([true, false])('it comes into force, whether the store is shared or not: %s', async (isShared) => {
  const { edge } = createTestEdge({ clock: systemClock() });
  const config = configOf('a');
  const applied: string[] = [];
  const app = await openApp(edge, {
    ...{ config, isShared, logLevel: 'error', logFormat: 'json' },
    readAgain: () => configOf('b'),
    applied: ({ route }) => applied.push(route.receiver),
  });
  const stop = new AbortController();
  const running = app.daemon.run(stop.signal);
  await server.stop('immediate');
  expect((await app.reload()).mistakes).toEqual([]);
  expect(applied).toEqual(['b']);
  await server.start();
  stop.abort();
  await running;
  await app.close();
});
