import { expect, test } from 'vitest';
import { runCommandLine } from '../../src/cli/program.ts';
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
