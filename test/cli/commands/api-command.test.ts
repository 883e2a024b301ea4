import { createServer } from 'node:http';
import { describe, expect, test } from 'vitest';
import { OPERATIONS } from '../../../src/service/operations.ts';
import { listenInTest } from '../../http/servers.ts';
import { openService, TOKEN } from '../service.ts';
import { containing, done, nestwatch, refused, type TestEdgeOptions, tempFile } from '../test-io.ts';

async function setUp() {
  const service = await openService();
  const api = (args: readonly string[], options: TestEdgeOptions = {}) =>
    nestwatch(['api', ...args, '--base-url', service.url], {
      environment: { NESTWATCH_TOKEN: TOKEN },
      ...options,
    });
  return { ...service, api, bird: ['--nestId', service.nest.id, '--birdId', service.manual.id] };
}

/** A service that gives the same answer to every request, or one answer per page. */
async function answering(status: number, body: string | ((page: number) => string), type = 'text/html') {
  let requests = 0;
  const server = createServer(({ url = '' }, response) => {
    requests += 1;
    const page = Number(new URL(url, 'http://service').searchParams.get('page'));
    response.writeHead(status, { 'content-type': type }).end(typeof body === 'string' ? body : body(page));
  });
  const { url } = await listenInTest(server);
  const api = (...args: string[]) =>
    nestwatch(['api', ...args, '--base-url', url], {
      environment: { NESTWATCH_TOKEN: TOKEN },
    });
  return { api, requests: () => requests };
}

const USAGE = '\nSee `nestwatch api --help`.\n';

describe('api', () => {
  test('every operation answers through it [long]', async () => {
    const { api, world, user, nest, manual, bird } = await setUp();
    const flight = world.startFlight(manual.id, {
      fliesForMs: 1000,
      endsAs: 'failed',
      errorMessages: 'boom',
    });
    const ids: Readonly<Record<string, readonly string[]>> = {
      nestId: ['--nestId', nest.id],
      birdId: ['--birdId', manual.id],
      flightId: ['--flightId', flight.id],
      userId: ['--userId', user.id],
    };
    const body = ['--body', JSON.stringify({ userId: user.id })];
    const seen: Record<string, unknown> = {};
    for (const { id, parameters, hasBody } of OPERATIONS) {
      const path = parameters.flatMap(({ name, place }) => (place === 'path' ? ids[name]! : []));
      const { exit, stdout, stderr } = await api([id, ...path, ...(hasBody ? body : []), '--yes']);
      expect({ id, exit, stderr: stdout ? stderr : '' }).toEqual({ id, exit: 0, stderr: '' });
      seen[id] = stdout === '' ? stderr : JSON.parse(stdout);
    }
    expect(seen).toMatchObject({
      searchNests: [{ id: nest.id, name: 'Marketing' }],
      getNest: { id: nest.id },
      addUserToNest: 'addUserToNest: done\n',
      removeUserFromNest: 'removeUserFromNest: done\n',
      searchBirds: [{ id: manual.id }, { name: 'Sync pages' }],
      getBird: { name: 'Translate blog' },
      flyBird: 'flyBird: done\n',
      getBirdLogs: { items: [], totalCount: 0 },
      searchFlights: [{}, {}],
      getFlight: { id: flight.id, status: 'active' },
      getFlightLogs: { items: [{ eventType: 1 }] },
      getNotifications: { items: [], page: 0 },
      searchUsers: [{ firstName: 'Anna' }],
      getUser: { id: user.id },
    });
    expect(bird).toHaveLength(4);
  });

  test('query parameters are sent, in upper or lower case', async () => {
    const { api, nest } = await setUp();
    const { stdout } = await api(['searchBirds', '--nestId', nest.id, '--triggertype=event']);
    expect(JSON.parse(stdout)).toMatchObject([{ name: 'Sync pages' }]);
  });

  test('flyBird of an event Bird shows the whole problem and exits 4', async () => {
    const { api, nest, event } = await setUp();
    const { exit, stdout, stderr } = await api([
      'flyBird',
      '--nestId',
      nest.id,
      '--birdId',
      event.id,
      '--yes',
    ]);
    expect(exit).toBe(4);
    expect(JSON.parse(stdout)).toMatchObject({
      title: 'Bad Request',
      status: 400,
      detail: expect.stringContaining('manual'),
      instance: `/api-rest/nests/${nest.id}/birds/${event.id}`,
      traceId: expect.any(String),
    });
    expect(stderr).toMatch(/^nestwatch: flyBird of .*: the service answered 400\n/);
  });

  test('a refused token exits 4, and is not printed', async () => {
    const { api } = await setUp();
    const { exit, stdout, stderr } = await api(['searchUsers'], {
      environment: { NESTWATCH_TOKEN: 'wr0ng' },
    });
    expect(exit).toBe(4);
    expect(JSON.parse(stdout)).toMatchObject({ status: 401 });
    expect(stderr).toContain('the service answered 401');
    expect(stdout + stderr).not.toContain('wr0ng');
  });

  test('--all reads every page and prints them as one', async () => {
    const { api, world, bird, manual } = await setUp();
    for (let count = 0; count < 5; count += 1) world.save(manual.id);
    // The service returns fewer entries than requested, so every page is short.
    world.behaviours.maxPageSize = 2;
    const one = JSON.parse((await api(['getBirdLogs', ...bird, '--pageSize', '3'])).stdout);
    const all = JSON.parse((await api(['getBirdLogs', ...bird, '--all'])).stdout);
    expect([one.items.length, one.totalCount]).toEqual([2, 5]);
    expect(all).toMatchObject({ totalCount: 5, page: 0, pageSize: 5 });
    expect(new Set(all.items.map(({ id }: { id: string }) => id)).size).toBe(5);
    expect((await api(['getBirdLogs', ...bird, '--page', '1', '--all'])).stderr).toBe(
      `nestwatch: --all reads every page: leave out --page${USAGE}`,
    );
  });
});

describe('--all', () => {
  const PAGES = [[{ id: 'a' }, { id: 'b' }], [{ id: 'c' }], []];
  const paged = (more: (items: readonly object[]) => object) =>
    answering(200, (page) => JSON.stringify(more(PAGES[page] ?? [])), 'application/json');

  test.each([
    ['no count', (items: readonly object[]) => ({ items })],
    ['null for counts', (items: readonly object[]) => ({ items, totalCount: null, pageSize: null })],
    ['a count that is cut off', (items: readonly object[]) => ({ items, totalCount: 2, pageSize: 2 })],
    ['a count that lags', (items: readonly object[]) => ({ items, totalCount: 0, pageSize: 2 })],
    ['counts as texts', (items: readonly object[]) => ({ items, totalCount: '3', pageSize: '2' })],
    ['null for an empty page', (items: readonly object[]) => ({ items: items.length > 0 ? items : null })],
  ])('continues to the last page if the service returns %s', async (_what, more) => {
    const { api } = await paged(more);
    const { exit, stdout } = await api('getNotifications', '--all');
    expect([exit, JSON.parse(stdout)]).toEqual([
      0,
      { items: [{ id: 'a' }, { id: 'b' }, { id: 'c' }], totalCount: 3, page: 0, pageSize: 3 },
    ]);
  });

  test('ends if the service returns the same page again and again', async () => {
    const { api, requests } = await answering(
      200,
      '{"items":[{"id":"a"}],"totalCount":1}',
      'application/json',
    );
    const { exit, stdout } = await api('getNotifications', '--all');
    expect([exit, JSON.parse(stdout).items, requests()]).toEqual([0, [{ id: 'a' }], 2]);
  });

  test.each(['{"message":"try later"}', '[]', 'null'])('does not take %s for a page', async (body) => {
    const { api } = await answering(200, body, 'application/json');
    const stderr = containing('getNotifications: the answer is JSON of another shape');
    expect(await api('getNotifications', '--all')).toMatchObject({ exit: 4, stderr });
  });
});

describe('an answer of api', () => {
  const FLY = ['flyBird', '--nestId', '1', '--birdId', '2', '--yes'];

  test('that is not JSON is still shown, without what steers a terminal', async () => {
    const { api } = await answering(200, '<h1>Maintenance</h1>\u001b[31m');
    const { exit, stdout, stderr } = await api('searchNests');
    expect(exit).toBe(4);
    expect(stdout).toBe('<h1>Maintenance</h1> [31m\n');
    expect(stderr).toContain('a body that is not JSON');
  });

  test('that is not JSON is also shown with a status of failure', async () => {
    const { api } = await answering(404, 'no such route');
    expect(await api('searchNests')).toMatchObject({ exit: 4, stdout: 'no such route\n' });
  });

  test('to a write that is not JSON is shown, and the write is done', async () => {
    const { api } = await answering(200, 'Flight 77 started');
    expect(await api(...FLY)).toEqual(done('Flight 77 started\n'));
  });

  test('to a write that failed says that it was sent once', async () => {
    const { api, requests } = await answering(503, '');
    const { exit, stdout, stderr } = await api(...FLY);
    expect([exit, stdout, requests()]).toEqual([4, '', 1]);
    expect(stderr).toContain('Whether it was done is not known: look before you send it again.');
    expect(stderr).not.toContain('tried again');
  });

  test('keeps the digits of long numbers, as numbers', async () => {
    const long = '[{"id":9007199254740993,"small":1,"text":"9007199254740993","part":0.10}]';
    const { api } = await answering(200, long, 'application/json');
    const { stdout } = await api('searchNests');
    expect(stdout.replace(/\s/g, '')).toBe(long.replace('0.10', '0.1'));
  });
});

describe('before api writes', () => {
  const writes = (world: { requests(): { byOperation: Readonly<Record<string, number>> } }) =>
    world.requests().byOperation.flyBird ?? 0;

  test('it asks, and yes sends', async () => {
    const { api, world, bird } = await setUp();
    const { exit, stderr } = await api(['flyBird', ...bird], {
      typed: 'y\n',
      environment: { NESTWATCH_TOKEN: TOKEN },
    });
    expect(stderr).toMatch(
      /^start a Flight of a manual Bird: nestId=\d+ birdId=\d+ in .*\nDo it\? \[y\/N\] /,
    );
    expect([exit, writes(world)]).toEqual([0, 1]);
  });

  test.each(['n\n', '\n', 'yeah\n', ''])('it asks, and %j sends nothing', async (typed) => {
    const { api, world, bird } = await setUp();
    const { exit, stderr } = await api(['flyBird', ...bird], {
      typed,
      environment: { NESTWATCH_TOKEN: TOKEN },
    });
    expect(stderr).toContain('nestwatch: nothing was done\n');
    expect([exit, writes(world)]).toEqual([1, 0]);
  });

  test('without a terminal and without --yes it sends nothing and exits 2', async () => {
    const { api, world, bird } = await setUp();
    expect(await api(['flyBird', ...bird])).toEqual(
      refused(`nestwatch: flyBird changes something: without a terminal it needs --yes${USAGE}`),
    );
    expect(writes(world)).toBe(0);
  });
});

describe('wrong usage of api', () => {
  const IDS = OPERATIONS.map(({ id }) => id).join(', ');

  test.each([
    ['no operation', [], `name an operation: ${IDS}`],
    ['an unknown operation', ['getFoo'], `there is no operation "getFoo": it is one of ${IDS}`],
    [
      'a missing parameter',
      ['getBird', '--nestId', '5'],
      'getBird: birdId is missing (required: nestId, birdId)',
    ],
    [
      'an unknown parameter',
      ['searchNests', '--page', '5'],
      'searchNests: there is no parameter "page" (it takes no parameters)',
    ],
    [
      'a value that there is not',
      ['searchBirds', '--nestId', '5', '--Status', 'asleep'],
      'searchBirds: Status must be one of active, unpublished, suspended, not "asleep" (required: nestId; optional: TriggerType, Status)',
    ],
    [
      'a missing body',
      ['addUserToNest', '--nestId', '5', '--yes'],
      'addUserToNest needs --body with JSON, as {"userId": "…"}',
    ],
    [
      'a token that is missing',
      ['searchNests', '--base-url', 'http://127.0.0.1:1'],
      '--base-url needs a token: --token-file FILE or $NESTWATCH_TOKEN',
    ],
    [
      'an address that is none',
      ['searchNests', '--base-url', 'eu-1'],
      '--base-url must be a URL that begins with http:// or https://',
    ],
    ['a second operation', ['searchNests', 'b'], 'one operation at a time: searchNests or b'],
    ['a parameter without a value', ['getNest', '--nestId'], '--nestId needs a value'],
    ['an option for a value', ['getNest', '--nestId', '--yes'], '--nestId needs a value'],
    ['a parameter twice', ['getNest', '--nestId', '1', '--nestId=2'], '--nestId is given twice'],
    ['one hyphen', ['getNest', '-x'], 'there is no option -x: parameters begin with --'],
    [
      'a value that begins with hyphens',
      ['getBirdLogs', '--nestId=--x', '--birdId', '-5', '--page', '-1'],
      'getBirdLogs: page must be a whole number from 0 to 2147483647, not "-1" (required: nestId, birdId; optional: page, pageSize, ascending, from, to)',
    ],
  ])('%s', async (_what, args, message) => {
    expect(await nestwatch(['api', ...args])).toEqual(refused(`nestwatch: ${message}${USAGE}`));
  });

  test('--help lists the operations with their parameters, or one of them', async () => {
    const all = await nestwatch(['api', '--help']);
    for (const { id } of OPERATIONS) expect(all.stdout).toContain(`  ${id}\n`);
    const one = await nestwatch(['api', 'searchBirds', '--help']);
    expect(one.stdout).toContain(
      '--nestId … [--TriggerType manual|event|scheduled] [--Status active|unpublished|suspended]',
    );
    expect(one.stdout).not.toContain('getFlight');
  });
});

describe('the region of a call', () => {
  test('comes from the configuration; if there are several it must be named', async () => {
    const { url } = await openService();
    const region = `{ base_url: "${url}", token: '${TOKEN}' }`;
    const one = tempFile('n.yaml', `regions: { eu: ${region} }`);
    const two = tempFile(
      'n.yaml',
      `regions: { eu: ${region}, us: { base_url: "http://127.0.0.1:1", token: t } }`,
    );
    const api = (...args: string[]) => nestwatch(['api', 'searchUsers', ...args]);

    expect(JSON.parse((await api('--config.file', one)).stdout)).toHaveLength(1);
    expect(JSON.parse((await api('--config.file', two, '--region', 'eu')).stdout)).toHaveLength(1);
    expect((await api('--config.file', two)).stderr).toBe(
      `nestwatch: name a region with --region: the configuration has eu, us${USAGE}`,
    );
    expect((await api('--config.file', one, '--region', 'asia')).stderr).toBe(
      `nestwatch: there is no region asia: the configuration has eu${USAGE}`,
    );
  });

  test('without a configuration its token comes from a file', async () => {
    const { url } = await openService();
    const file = tempFile('token', `${TOKEN}\n`);
    const { exit } = await nestwatch(['api', 'searchUsers', '--base-url', url, '--token-file', file]);
    expect(exit).toBe(0);
    expect(await nestwatch(['api', 'searchUsers', '--base-url', url, '--token-file', '/no/such'])).toEqual(
      refused(containing('nestwatch: /no/such cannot be read\n')),
    );
  });
});
