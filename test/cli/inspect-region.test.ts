import { expect, test } from 'vitest';
import { inspectRegion, readEveryMs } from '../../src/cli/commands/check-online.ts';
import type { ServiceClient } from '../../src/service/client.ts';

const POLL = { intervalMs: 30_000, maxIntervalMs: 300_000 };

/** A service with this many Nests called `Prod 1`, `Prod 2`, …, each with this many Birds. */
function service(nests: number, birdsEach: number) {
  let asked = 0;
  const answer = (value: unknown) => Promise.resolve({ value, serverTimeUs: null });
  const entries = (count: number, name: string) =>
    Array.from({ length: count }, (_, at) => ({
      ok: true,
      entry: { id: `${at + 1}`, name: `${name} ${at + 1}` },
    }));
  const client = {
    searchNests: () => answer(entries(nests, 'Prod')),
    searchBirds: () => {
      asked += 1;
      return answer(entries(birdsEach, 'Bird'));
    },
  } as unknown as ServiceClient;
  return { client, asked: () => asked };
}

const inspect = (client: ServiceClient, include: string[] = ['*'], requestsPerSecond = 5) =>
  inspectRegion(client, { nests: { include, exclude: [] }, requestsPerSecond }, POLL);

test('says how many Birds would be watched, and how often', async () => {
  expect(await inspect(service(3, 4).client)).toEqual({
    note: '12 Birds in 3 Nests, each is read about every 30 s',
  });
  expect(await inspect(service(3, 50).client)).toEqual({
    note: '150 Birds in 3 Nests, each is read about every 82 s',
  });
});

test('warns of globs that match no Nest, and requests no Birds', async () => {
  const { client, asked } = service(3, 4);
  expect(await inspect(client, ['Prdo*', 'x"y'])).toEqual({
    note: 'no Nest is watched',
    warning:
      'of its 3 Nests none matches nests.include ("Prdo*", "x\\"y") without being excluded: nothing is watched',
  });
  expect(asked()).toBe(0);
});

test('warns of a token that sees no Nest, and of Nests without Birds', async () => {
  expect((await inspect(service(0, 0).client)).warning).toContain('it lists no Nest');
  expect((await inspect(service(2, 0).client)).warning).toContain('its Nests have no Birds');
});

test('warns if poll.max_interval cannot be kept, with the rate that could', async () => {
  const { note, warning } = await inspect(service(4, 250).client);
  expect(note).toBe('1000 Birds in 4 Nests');
  expect(warning).toBe(
    'each is read about every 9 min at 5 requests a second, and poll.max_interval asks for 5 min: watch fewer Nests, raise it, or allow 10 requests a second if the service takes them',
  );
  expect((await inspect(service(4, 250).client, ['*'], 10)).warning).toBeUndefined();
});

test('counts the Birds of some Nests if there are many', async () => {
  const { client, asked } = service(200, 2);
  expect((await inspect(client)).note).toMatch(/^about 400 Birds in 200 Nests/);
  expect(asked()).toBe(50);
});

test('more Birds or fewer requests take longer', () => {
  expect(readEveryMs(150, 5)).toBeCloseTo(82_500);
  expect(readEveryMs(300, 5)).toBeCloseTo(2 * 82_500);
  expect(readEveryMs(150, 10)).toBeCloseTo(82_500 / 2);
});
