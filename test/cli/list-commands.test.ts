import { describe, expect, onTestFinished, test } from 'vitest';
import { secret } from '../../src/secret.ts';
import { serveHttp } from '../http/servers.ts';
import { NOW_US } from '../web/sample.ts';
import { MINUTE_US, putBirds, putFlights } from '../web/sample-birds.ts';
import { serve } from '../web/served.ts';
import { containing, done, matching, nestwatch, refused } from './test-io.ts';

async function daemon() {
  const served = await serve();
  await putBirds(served.store);
  const run = (...args: string[]) => nestwatch([...args, '--url', served.web.url], { clock: served.clock });
  return { ...served, run };
}

describe('birds', () => {
  test('lists those in trouble first, as a table or as the API gives it', async () => {
    const { run, ask } = await daemon();
    const { exit, stdout } = await run('birds');
    expect(exit).toBe(0);
    expect(stdout).toMatch(/^STANDING +STATUS +REGION +NEST +BIRD +ID +TRIGGER +LAST FLIGHT +ENDED AS\n/);
    expect(stdout.split('\n')[1]).toMatch(
      /^alerting +active +eu +Marketing +Translate blog +148890 +event +2026-07-02 11:00:00 UTC +failed$/,
    );
    expect(JSON.parse((await run('birds', '--json')).stdout)).toEqual((await ask('/api/v1/birds')).json);
  });

  test.each([
    [['nest=marketing'], ['Translate blog', 'Post news']],
    [['standing=off'], ['Old one']],
    [['post', 'news'], ['Post news']],
    [['region=us', 'text=blog'], []],
    [['severity=critical', 'flight=f0'], ['Translate blog']],
    [['since=45m', 'name=news'], ['Post news']],
  ])('%j [long]', async (args, expected) => {
    const { run } = await daemon();
    const { birds } = JSON.parse((await run('birds', ...args, '--json')).stdout);
    expect(birds.map((one: { bird: string }) => one.bird)).toEqual(expected);
  });

  test.each([
    [['colour=red'], 'there is no filter "colour"; there are region, nest, bird'],
    [['bird=a', 'bird=b'], 'the filter bird is given more than once'],
    [['words', 'text=b'], '"words" and text= both say what to look for'],
    [['region=asia'], 'region: must be one of eu, us'],
    [['--limit', 'many'], 'limit: must be a whole number'],
  ])('%j is refused', async (args, message) => {
    const { run } = await daemon();
    expect(await run('birds', ...args)).toEqual(refused(containing(message)));
  });

  test("from a Bird's name to its last failure's step and message", async () => {
    const { run } = await daemon();
    const { exit, stdout } = await run('birds', 'show', 'Translate blog');
    expect(exit).toBe(0);
    expect(stdout).toContain('Translate blog in eu / Marketing: alerting');
    expect(stdout).toContain('status     active, first seen 2026-07-02 11:00:00 UTC, trigger event');
    expect(stdout).toContain('last 24 h  4 succeeded, 4 failed (50 % succeeded)');
    expect(stdout).toContain('durations  half within 4 min, 95 of 100 within 8 min');
    expect(stdout).toContain('cause      4 × Translation failed: the provider answered # …');
    expect(stdout).toMatch(
      /^failed {5}2026-07-02 11:01:00 UTC, step Translate text: Translation failed: .* \(Flight f0\)$/m,
    );
    expect((await run('birds', 'show', '3')).stdout).toMatch(
      /^off {8}2026-07-02 11:59:00 UTC bird_log.Suspended by anna@example.com$/m,
    );
    expect((await run('birds', 'show', 'Post news')).stdout).toMatch(
      /^next {7}2026-07-02 12:30:00 UTC, about every 1 h$/m,
    );
  });

  test('one Flight of six that succeeded', async () => {
    const { run, store } = await daemon();
    const flights = Array.from({ length: 6 }, (_, n) => {
      return {
        id: `x${n}`,
        status: n === 0 ? 'succeeded' : 'failed',
        startedAtUs: NOW_US - (n + 5) * MINUTE_US,
      };
    });
    await putFlights(store, { region: 'us', birdId: '3' }, flights);
    const { stdout } = await run('birds', 'show', '3');
    expect(stdout).toContain('1 succeeded, 5 failed (16.7 % succeeded)');
    expect(stdout).toContain('durations  1 min, of the last Flight that succeeded\n');
  });

  test('a name of none, or of several', async () => {
    const { run } = await daemon();
    const none = await run('birds', 'show', 'nobody');
    expect([none.exit, none.stderr]).toEqual([2, expect.stringContaining('no Bird nobody is known')]);
    const several = await run('birds', 'show', 'o');
    expect(several.exit).toBe(2);
    expect(several.stderr).toContain('several Birds fit');
    expect(several.stderr).toContain('Post news');
  });

  test('a name that is part of more names than are read at once', async () => {
    const { run, store } = await daemon();
    const bird = { region: 'eu', nestId: '682', present: true, status: 'active', statusSinceUs: NOW_US };
    const named = (name: string) => ({ ...bird, birdId: `of ${name}`, name, triggerType: 'manual' });
    const birds = [...Array.from({ length: 120 }, (_, n) => named(`part ${n}`)), named('art')];
    await store.transaction((tx) => tx.inventory.putBirds(birds));
    expect((await run('birds', 'show', 'ar')).stderr).toContain('several Birds fit');
    expect((await run('birds', 'show', 'art')).stdout).toContain('art in eu / Marketing:');
  });
});

test('nests lists the worst first', async () => {
  const { run } = await daemon();
  expect(await run('nests')).toEqual(
    done(
      matching(/^NEST +REGION +ID +BIRDS +FAILING +OFF +ALERTS +FLIGHTS 24H +FAILED\nMarketing +eu +682 /),
    ),
  );
});

test.each([
  ['http://', '148890', '/birds/eu/148890'],
  ['http://', 'Translate blog', ''],
])('open says where the page is: %s %s', async (_, id, path) => {
  const { run, web } = await daemon();
  const { exit, stdout, stderr } = await run('open', id);
  expect(stdout).toBe(path === '' ? '' : `${web.url}${path}\n`);
  expect([exit, stderr]).toEqual(
    path === '' ? [2, expect.stringContaining('nothing is known under Translate blog')] : [0, ''],
  );
});

describe('open does not take a refusal for an id that nobody knows', () => {
  test('by the daemon', async () => {
    const { web } = await serve({ web: { bearerToken: secret('the-token') } });
    const { exit, stdout, stderr } = await nestwatch(['open', '148890', '--url', web.url]);
    expect([exit, stdout]).toEqual([1, '']);
    expect(stderr).toContain('the daemon asks for its token: give --token-file');
  });

  test('by a proxy in front of it', async () => {
    const { url, close } = await serveHttp(() => ({ status: 502, body: 'Bad Gateway' }));
    onTestFinished(close);
    const { exit, stderr } = await nestwatch(['open', '148890', '--url', url]);
    expect([exit, stderr]).toEqual([1, containing('the daemon answered 502: Bad Gateway')]);
  });
});

describe('on a terminal of 80 characters', () => {
  test.each(['birds', 'flights', 'nests', 'events', 'alerts', 'deliveries', 'status'])(
    '%s fits, without a word that the terminal would break',
    async (command) => {
      const { clock, web } = await daemon();
      const { stdout } = await nestwatch([command, '--url', web.url], {
        clock,
        columns: 80,
        environment: { NO_COLOR: '1' },
      });
      expect(stdout).not.toBe('');
      for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    },
  );

  test('instants are short there, and words of state have a colour', async () => {
    const { clock, web } = await daemon();
    const { stdout } = await nestwatch(['flights', '--utc', '--url', web.url], { clock, columns: 120 });
    expect(stdout).toContain(' 2 Jul 11:00:00  \u001b[31mfailed');
  });
});

describe('flights', () => {
  test.each([
    [['flights', 'status=faild'], 'No Flights. (Known statuses: active, succeeded, failed, cancelled)\n'],
    [['birds', 'status=nope'], 'No Birds. (Known statuses: active, unpublished, suspended)\n'],
    [['flights', 'status=cancelled'], 'No Flights.\n'],
  ])('%j says which statuses there are if it may be mistyped', async (args, expected) => {
    const { run } = await daemon();
    expect(await run(...args)).toEqual(done(expected));
  });

  test('a status that the service invented is listed', async () => {
    const { run, store } = await daemon();
    await putFlights(store, { birdId: '2' }, [{ id: 'x', status: 'held', startedAtUs: NOW_US }]);
    expect((await run('flights', 'status=held')).stdout).toMatch(/ held .* x /);
  });

  test('lists the latest first, and shows one with its whole error', async () => {
    const { run } = await daemon();
    const { stdout } = await run('flights', 'bird=Translate blog', 'status=failed', '--limit', '1');
    expect(stdout).toMatch(/^STARTED +STATUS +TOOK +REGION +NEST +BIRD +FLIGHT +STEP +MESSAGE\n/);
    expect(stdout.split('\n')[1]).toMatch(
      /^2026-07-02 11:00:00 UTC +failed +1 min +eu +Marketing +Translate blog +f0 +Translate text +Translation failed/,
    );
    const one = await run('flights', 'show', 'f0');
    expect(one.exit).toBe(0);
    expect(one.stdout).toContain('f0: failed in eu / Marketing / Translate blog');
    expect(one.stdout).toContain('step       Translate text');
    expect(one.stdout).toContain('\n              at Poll (line 12)');
    expect(one.stdout).toContain('alert      a, firing');
    expect(one.stdout).toContain('eu/flight/f0/failed; nestwatch explain');
    expect(one.stdout).not.toMatch(/^log/m);
    expect((await run('flights', 'show', 'f0', '--log')).stdout).toMatch(
      /^log {8}2 older entries are not shown\nlog {8}2026-07-02 12:00:00 UTC error, step translate: Quota ?$/m,
    );
    expect((await run('flights', 'show', 'none')).stderr).toContain('no Flight none is kept');
  });

  test('text from the service cannot steer the terminal', async () => {
    const { run, store } = await daemon();
    const message = '\u001b[2Jgone\n\u202Eevil';
    await putFlights(store, { birdId: '2' }, [{ id: 'x', status: 'failed', startedAtUs: NOW_US, message }]);
    for (const args of [['flights'], ['flights', 'show', 'x'], ['birds', 'show', '2']]) {
      const { stdout } = await run(...args);
      expect(stdout).toContain('evil');
      expect(stdout).not.toContain('\u001b');
      expect(stdout).not.toContain('\u202e');
    }
  });
});

test.each(['flights', 'events'])('%s finds what is further back than one request searches', async (list) => {
  const { run, ask, store } = await daemon();
  const old = { id: 'old', status: 'failed', startedAtUs: NOW_US - 100 * MINUTE_US };
  const message = 'x'.repeat(2 ** 20);
  const many = Array.from({ length: 20 }, (_, index) => {
    return { id: `long-${index}`, status: 'failed', startedAtUs: NOW_US - index, message };
  });
  await putFlights(store, { birdId: '2' }, [...many, { ...old, message: 'Needle' }]);
  const [first] = Object.values((await ask(`/api/v1/${list}?text=needle`)).json as object);
  expect(first).toEqual([]);

  const { stdout, stderr } = await run(list, 'needle');
  expect([stdout.match(/Needle/g), stderr]).toEqual([['Needle'], '']);
  expect(JSON.parse((await run(list, 'needle', '--json')).stdout)[list]).toMatchObject([
    { message: 'Needle' },
  ]);
});
