import { describe, expect, test } from 'vitest';
import { runCommandLine } from '../../../src/cli/program.ts';
import { type HttpResponse, openTransport } from '../../../src/http/transport.ts';
import { createVirtualClock } from '../../virtual-clock.ts';
import { openService } from '../service.ts';
import { containing, createTestEdge, nestwatch, refused, tempFile } from '../test-io.ts';

/** Runs `simulate` until `use` has done its work. */
async function simulating(args: readonly string[], use: (url: string) => Promise<void>): Promise<string> {
  const { edge, stdout, signal, listeners } = createTestEdge({ clock: createVirtualClock() });
  const running = runCommandLine(edge, ['simulate', '--listen', '127.0.0.1:0', ...args]);
  while (listeners() === 0) await new Promise((resolve) => setImmediate(resolve));
  await use(/^base_url: (.*)$/m.exec(stdout())![1]!);
  signal('SIGTERM');
  expect(await running).toBe(0);
  expect(listeners()).toBe(0);
  return stdout();
}

async function ask(url: string, token: string): Promise<HttpResponse> {
  const transport = openTransport({ connections: 1, timeoutMs: 5000, maxBodyBytes: 1e7 });
  try {
    return await transport.send({ method: 'GET', url, headers: { authorization: token } });
  } finally {
    await transport.close();
  }
}

describe('simulate', () => {
  test('prints what a configuration needs, serves, and ends at a signal', async () => {
    const stdout = await simulating([], async (url) => {
      expect((await ask(`${url}/nests`, 'demo-token')).status).toBe(200);
      expect((await ask(`${url}/nests`, 'other')).status).toBe(401);
    });
    expect(stdout).toMatch(/^base_url: http:\/\/127\.0\.0\.1:\d+\/api-rest\ntoken: demo-token\n$/);
  });

  test('the same seed gives the same world, another seed another, and --birds their number', async () => {
    const worldOf = async (seed: string) => {
      const bodies: string[] = [];
      await simulating(['--seed', seed, '--birds', '4', '--token', 't'], async (url) => {
        const nests = (await ask(`${url}/nests`, 't')).body;
        bodies.push(nests);
        for (const { id } of JSON.parse(nests))
          bodies.push((await ask(`${url}/nests/${id}/birds`, 't')).body);
      });
      return bodies;
    };
    const world = await worldOf('7');
    expect(world.slice(1).flatMap((body) => JSON.parse(body))).toHaveLength(4);
    expect(await worldOf('7')).toEqual(world);
    expect(await worldOf('8')).not.toEqual(world);
  });

  test('--failures makes that share of the Flights fail', async () => {
    const failedOf = async (failures: string) => {
      const statuses: string[] = [];
      await simulating(['--birds', '4', '--flights', '200', '--failures', failures], async (url) => {
        for (const { id: nestId } of JSON.parse((await ask(`${url}/nests`, 'demo-token')).body)) {
          for (const { id } of JSON.parse((await ask(`${url}/nests/${nestId}/birds`, 'demo-token')).body)) {
            const { body } = await ask(`${url}/nests/${nestId}/birds/${id}/flights`, 'demo-token');
            statuses.push(...JSON.parse(body).map(({ status }: { status: string }) => status));
          }
        }
      });
      return statuses.filter((status) => status === 'failed').length / statuses.length;
    };
    expect(await failedOf('0')).toBe(0);
    expect(await failedOf('0.5')).toBeGreaterThan(0.3);
    const { exit, stderr } = await nestwatch(['simulate', '--listen', '127.0.0.1:0', '--failures', '20']);
    expect({ exit, stderr }).toMatchObject({ exit: 2, stderr: expect.stringContaining('from 0 to 1') });
  });

  test('--flights makes this many per hour, of all Birds together', async () => {
    const flightsOf = async (flights: string) => {
      let count = 0;
      await simulating(['--birds', '2', '--flights', flights, '--token', 't'], async (url) => {
        for (const { id: nestId } of JSON.parse((await ask(`${url}/nests`, 't')).body)) {
          for (const { id } of JSON.parse((await ask(`${url}/nests/${nestId}/birds`, 't')).body)) {
            const { body } = await ask(`${url}/nests/${nestId}/birds/${id}/flights`, 't');
            count += JSON.parse(body).length;
          }
        }
      });
      return count;
    };
    expect(await flightsOf('200')).toBeGreaterThan(5 * (await flightsOf('1')));
  });

  test('--faults makes it misbehave', async () => {
    const file = tempFile('faults.yaml', 'max_page_size: 3');
    await simulating(['--faults', file], async (url) => {
      const { body } = await ask(`${url}/notifications?pageSize=50`, 'demo-token');
      expect(JSON.parse(body)).toMatchObject({ pageSize: 3 });
    });
  });

  test.each([
    ['a file that is not there', '/no/such', 'nestwatch: /no/such does not exist\n'],
    ['an unknown fault', 'nonsense: 1', ':1:1: unknown key "nonsense"; the keys are '],
  ])('%s is wrong usage', async (_what, content, message) => {
    const file = content.startsWith('/') ? content : tempFile('faults.yaml', content);
    expect(await nestwatch(['simulate', '--listen', '127.0.0.1:0', '--faults', file])).toEqual(
      refused(containing(message)),
    );
  });

  test('--quiet makes a world in which nothing has happened, and nothing does by itself', async () => {
    await simulating(['--quiet', '--birds', '3', '--token', 't'], async (url) => {
      const nests = JSON.parse((await ask(`${url}/nests`, 't')).body) as { id: string }[];
      const birds = await Promise.all(
        nests.map(async ({ id }) => JSON.parse((await ask(`${url}/nests/${id}/birds`, 't')).body)),
      );
      expect(birds.flat()).toHaveLength(3);
      for (const { id, nestId } of birds.flat()) {
        expect((await ask(`${url}/nests/${nestId}/birds/${id}/flights`, 't')).body).toBe('[]');
      }
      expect(JSON.parse((await ask(`${url}/notifications`, 't')).body)).toMatchObject({ items: [] });
    });
    const args = ['simulate', '--listen', '127.0.0.1:0', '--quiet', '--flights', '3'];
    expect((await nestwatch(args)).stderr).toContain("'--quiet' cannot be used with option '--flights <n>'");
  });

  test('--control opens a second port, where the service is told what happens', async () => {
    const args = ['--quiet', '--birds', '0', '--control', '127.0.0.1:0'];
    const controlOf = (stdout: string) => /^# .* curl (http:.*)\/$/m.exec(stdout)![1]!;
    const { edge, stdout, signal, listeners } = createTestEdge({ clock: createVirtualClock() });
    const running = runCommandLine(edge, ['simulate', '--listen', '127.0.0.1:0', ...args]);
    while (listeners() === 0) await new Promise((resolve) => setImmediate(resolve));
    const control = controlOf(stdout());
    const tell = (path: string, body: string) => fetch(`${control}${path}`, { method: 'POST', body });
    await tell('/nests', '{"name": "Customer 3"}');
    await tell('/clock', '{"to": "2026-07-03T00:00:00Z"}');
    const url = /^base_url: (.*)$/m.exec(stdout())![1]!;
    const { body, headers } = await ask(`${url}/nests`, 'demo-token');
    expect(body).toContain('Customer 3');
    expect(headers.date).toBe('Fri, 03 Jul 2026 00:00:00 GMT');
    signal('SIGTERM');
    expect(await running).toBe(0);
    await expect(fetch(control)).rejects.toThrow();
  });

  test.each(['0.0.0.0:0', ':0', '192.0.2.1:0', '[::]:0', 'localhost.example.com:0', '4011'])(
    '--control %s is refused: only this machine may tell it',
    async (place) => {
      const args = ['simulate', '--listen', '127.0.0.1:0', '--control', place];
      expect(await nestwatch(args)).toEqual(
        refused(
          containing(`nestwatch: --control ${place}: must be an address of this machine alone, such as `),
        ),
      );
    },
  );

  test('a port in use is one sentence and exit 1', async () => {
    const host = new URL((await openService()).url).host;
    const { exit, stdout, stderr } = await nestwatch(['simulate', '--listen', host]);
    expect({ exit, stdout }).toEqual({ exit: 1, stdout: '' });
    const why = `Cannot listen on ${host}: another process listens there.`;
    expect(stderr).toMatch(new RegExp(`^nestwatch: --listen: ${why}\n`));
    const control = await nestwatch(['simulate', '--listen', '127.0.0.1:0', '--control', host]);
    expect({ exit: control.exit, stdout: control.stdout }).toEqual({ exit: 1, stdout: '' });
    expect(control.stderr).toMatch(new RegExp(`^nestwatch: --control: ${why}\n`));
  });
});
