import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { runCommandLine } from '../../src/cli/program.ts';
import { listenInTest } from '../http/servers.ts';
import { anAlert, NOW_US, putAlert } from '../web/sample.ts';
import { serve } from '../web/served.ts';
import { createTestEdge } from './test-io.ts';

test('watch lists what fires, and then says what begins and ends', async () => {
  const { store, web } = await serve();
  const first = anAlert({ id: 'a' });
  await putAlert(store, first);
  const { edge, stdout, signal } = createTestEdge();
  const exit = runCommandLine(edge, ['watch', '--url', web.url]);
  await expect.poll(stdout).toMatch(/critical .*Flight of Translate blog failed/);
  await putAlert(store, { id: 'b', annotations: { summary: 'Another one' } });
  await expect.poll(stdout).toMatch(/UTC {2}critical {2}Another one\n/);
  await putAlert(store, { ...first, state: 'resolved', endsAtUs: NOW_US });
  await expect.poll(stdout).toMatch(/UTC {2}ended {5}Flight of Translate blog failed/);
  signal('SIGINT');
  expect(await exit).toBe(0);
});

test('watch ends at once when it is interrupted, even while the daemon does not answer', async () => {
  const asked = Promise.withResolvers<void>();
  const { url } = await listenInTest(createServer(() => asked.resolve()));
  const { edge, stderr, signal, listeners } = createTestEdge();
  const exit = runCommandLine(edge, ['watch', '--url', url]);
  await asked.promise;
  signal('SIGINT');
  expect([await exit, stderr(), listeners()]).toEqual([0, '', 0]);
}, 10_000);

test.each([[[200, 503, 503, 200, 401]], [[503, 503, 200, 401]]])(
  'watch says once that the daemon is away, and when it is back; it ends when its token is refused: %j',
  async (answers) => {
    const server = createServer((_request, response) => response.writeHead(answers.shift() ?? 401).end('[]'));
    const { url } = await listenInTest(server);
    const { edge, stderr } = createTestEdge();
    expect(await runCommandLine(edge, ['watch', '--url', url])).toBe(1);
    const [away, back, refused] = stderr().split('\n');
    expect([away, back]).toEqual([
      'nestwatch: waits for the daemon: the daemon answered 503',
      'nestwatch: the daemon answers again',
    ]);
    expect(refused).toContain('the daemon asks for its token');
  },
);
