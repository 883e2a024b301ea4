import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { shortId } from '../../src/domain/alert/event.ts';
import { newGroup } from '../../src/domain/grouping/group.ts';
import { DEFAULT_RULES } from '../../src/domain/kinds/kinds.ts';
import { secret } from '../../src/secret.ts';
import { alert, group } from '../channels/sample-notifications.ts';
import { rule } from '../domain/world.ts';
import { listenInTest } from '../http/servers.ts';
import {
  aDelivery,
  anAlert,
  anAlertingConfig,
  anEvent,
  NOW_US,
  putAlert,
  putDeliveries,
} from '../web/sample.ts';
import { putFlights } from '../web/sample-birds.ts';
import { type ServeOptions, serve } from '../web/served.ts';
import { containing, done, failed, matching, nestwatch, refused, tempFile } from './test-io.ts';

const MINUTE = 60_000_000;

async function daemon(options: ServeOptions = {}) {
  const served = await serve(options);
  await putAlert(served.store, { id: 'a' });
  await putAlert(served.store, {
    id: 'b',
    labels: { alertname: 'BirdTriggerFailing', severity: 'warning', region: 'us', bird: 'Post news' },
    annotations: { summary: 'Trigger of Post news fails' },
  });
  /** Runs a command against this daemon. */
  const run = (...args: string[]) =>
    nestwatch([...args, '--url', served.web.url], { clock: served.clock, environment: { USER: 'ben' } });
  const silences = () => served.store.transaction((tx) => tx.silences.list());
  return { ...served, run, silences };
}

describe('alerts', () => {
  test('lists what fires and is not muted, as a table or as the API returns it', async () => {
    const { run, ask } = await daemon();
    const { exit, stdout } = await run('alerts');
    expect(exit).toBe(0);
    expect(stdout).toMatch(/^SEVERITY +STARTED +ALERTNAME +STATE +SUMMARY +MESSAGE$/m);
    expect(stdout).toMatch(
      /^critical +2026-07-02 11:48:00 UTC +FlightFailed +active +Flight of Translate blog failed/m,
    );
    expect(JSON.parse((await run('alerts', '--json')).stdout)).toEqual((await ask('/api/v2/alerts')).json);
    expect((await run('alerts', 'query')).stdout).toBe(stdout);
  });

  test('lists the severest first, also an error, which is between warning and critical', async () => {
    const { run, store } = await daemon();
    const labels = { alertname: 'Own', severity: 'error', region: 'us' };
    await putAlert(store, { id: 'c', labels, annotations: { summary: 'Own rule' } });
    const rows = (await run('alerts')).stdout.match(/^(?:critical|error|warning)/gm);
    expect(rows).toEqual(['critical', 'error', 'warning']);
  });

  test.each([
    [['FlightFailed'], ['FlightFailed']],
    [['bird=~"Post.*"'], ['BirdTriggerFailing']],
    [['region=us', 'severity!=warning'], []],
    [['--receiver', 'pag.*'], ['FlightFailed']],
    // As in other lists: by a part of a name, and by texts that are in no label.
    [['bird=post'], ['BirdTriggerFailing']],
    [['bird="post"'], []],
    [['FlightFailed', 'bird=post'], []],
    [['name=flightfailed'], ['FlightFailed']],
    [['text=trigger of'], ['BirdTriggerFailing']],
    [['until=5m', 'region=eu'], ['FlightFailed']],
    [['since=5m', 'region=eu'], ['FlightFailed']],
    [['until=15m'], []],
    [['flight=none'], []],
  ])('%j [long]', async (args, expected) => {
    const { run } = await daemon();
    const list = JSON.parse((await run('alerts', ...args, '--json')).stdout);
    expect(list.map((one: { labels: { alertname: string } }) => one.labels.alertname)).toEqual(expected);
  });

  test('shows silenced ones if asked for', async () => {
    const { run } = await daemon();
    await run('silence', 'add', 'FlightFailed', '-c', 'x');
    const { stdout, stderr } = await run('alerts');
    expect(stdout).not.toContain('FlightFailed');
    expect(stderr).toContain('one alert fires that is acknowledged, silenced or inhibited');
    expect(await run('alerts', 'FlightFailed')).toMatchObject({ stdout: 'No alerts.\n', stderr });
    expect((await run('alerts', '-a', '-s', '-i', 'FlightFailed')).stderr).toBe('');
    expect((await run('alerts', 'BirdTriggerFailing')).stderr).toBe('');
    const silenced = (await run('alerts', '--silenced')).stdout;
    expect(silenced).toMatch(/^critical .* FlightFailed +suppressed /m);
    expect(silenced).not.toContain('BirdTriggerFailing');
    expect((await run('alerts', '--silenced', '--active')).stdout).toContain('BirdTriggerFailing');
  });

  test('text from the service cannot steer the terminal', async () => {
    const { run, store } = await daemon();
    await putAlert(store, { id: 'c', annotations: { summary: '\u001b[2Jgone\n\u202Eevil' } });
    const { stdout } = await run('alerts');
    expect(stdout).not.toContain('\u001b');
    expect(stdout).not.toContain('\u202E');
  });
});

describe('alerts resolve', () => {
  test('ends each alert that matches, in the name of the author, and prints its id', async () => {
    const { run, store } = await daemon();
    expect(await run('alerts', 'resolve', 'FlightFailed', '-c', 'mended')).toEqual(done('a\n'));
    expect(await store.transaction((tx) => tx.alerts.find('a'))).toMatchObject({
      state: 'resolved',
      annotations: { resolved_by: 'it was resolved by hand by ben: mended' },
    });
    const left = (await run('alerts')).stdout;
    expect(left).not.toContain('FlightFailed');
    expect(left).toContain('BirdTriggerFailing');
  });

  test('--json prints what the API answers', async () => {
    const { run } = await daemon();
    const { exit, stdout } = await run('alerts', 'resolve', 'region=us', '--author', 'ann', '--json');
    expect([exit, JSON.parse(stdout)]).toEqual([
      0,
      { resolved: [{ id: 'b', ends_at: expect.any(String) }], refused: [] },
    ]);
  });

  test('says why it does not end what would fire again, ends the rest, and fails', async () => {
    const { run, store } = await daemon();
    const labels = { alertname: 'FeedIncomplete', severity: 'warning', region: 'us', feed: 'flight' };
    await putAlert(store, { id: 'gap', labels });
    expect(await run('alerts', 'resolve', 'region=us')).toEqual({
      exit: 1,
      stdout: 'b\n',
      stderr:
        'nestwatch: gap: it is measured again and again and is still so: acknowledge or silence it instead\n',
    });
  });

  test('finds all that fire, even the oldest, and ends more than the daemon takes at once [long]', async () => {
    const { run, store } = await daemon();
    const labels = { alertname: 'FlightFailed', severity: 'warning', region: 'eu' };
    await store.transaction((tx) =>
      tx.alerts.put(
        Array.from({ length: 1_100 }, (_, index) => {
          const startsAtUs = NOW_US + index;
          return anAlert({ id: `newer-${index}`, labels: { ...labels, bird: `Bird ${index}` }, startsAtUs });
        }),
      ),
    );
    const connection = { alertname: 'ConnectionDisconnected', severity: 'critical', region: 'eu' };
    await putAlert(store, { id: 'old', labels: connection, startsAtUs: NOW_US - MINUTE });
    expect(await run('alerts', 'resolve', 'ConnectionDisconnected')).toEqual(done('old\n'));
    const { exit, stdout } = await run('alerts', 'resolve', 'bird=~"Bird .*"', '--json');
    const { resolved, refused } = JSON.parse(stdout);
    expect([exit, resolved.length, refused]).toEqual([0, 1_100, []]);
    expect((await run('alerts', 'resolve', 'bird=~"Bird .*"')).exit).toBe(1);
  });

  test('without a match fails, and requires an author', async () => {
    const { run } = await daemon();
    expect(await run('alerts', 'resolve', 'nest=elsewhere')).toEqual(
      failed('nestwatch: no alert fires that matches\n'),
    );
    expect(await run('alerts', 'resolve', 'FlightFailed', '-a', ' ')).toEqual(
      refused(containing('say with --author who says that it is over')),
    );
    expect((await run('alerts', 'resolve')).exit).toBe(2);
  });
});

describe('alerts note', () => {
  test('stands in what is shown of the alert, and in the Markdown', async () => {
    const { run } = await daemon();
    const text = 'The | TMS \u001b[2Jis down';
    expect(await run('alerts', 'note', 'a', text)).toEqual(done('a\n'));
    const { stdout } = await run('alerts', 'note', 'a', 'found', '-a', 'ann', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ alert_id: 'a', author: 'ann', text: 'found', public: false });
    const shown = (await run('alerts', 'show', 'a')).stdout;
    expect(shown).toContain('noted      by ben at 2026-07-02 12:00:00 UTC: The | TMS [2Jis down');
    expect(shown).toContain('noted      by ann');
    const page = (await run('alerts', 'show', 'a', '--format', 'markdown')).stdout;
    expect(page).toContain('| 2026-07-02 12:00:00 UTC | ben notes: The \\| TMS \\[2Jis down |');
  });

  test.each([
    [['none', 'x'], 'there is no alert none'],
    [['a', ' '], '<text> must not be empty'],
    [['a', 'x', '-a', ' '], 'say with --author who writes it'],
    [['a', 'x', '--public'], 'no public page shows this alert'],
    [['a'], "missing required argument 'text'"],
  ])('%j is refused', async (args, words) => {
    const { run } = await daemon();
    expect(await run('alerts', 'note', ...args)).toEqual(refused(containing(words)));
  });
});

describe('silence', () => {
  test('acknowledge silences each alert that matches until it is resolved', async () => {
    const { run, silences } = await daemon();
    const { exit, stdout } = await run('silence', 'acknowledge', 'FlightFailed', '-c', 'on it');
    const [silence, ...others] = await silences();
    expect([exit, stdout, others]).toEqual([0, `${silence!.id}\n`, []]);
    expect(silence).toMatchObject({ createdBy: 'ben', comment: 'on it', recurrence: null });
    expect((await run('silence', 'list')).stdout).toMatch(/acknowledged: .* when resolved/);
    expect((await run('alerts')).stdout).not.toContain('FlightFailed');
  });

  test('acknowledge prints what is done before a later request fails', async () => {
    let asked = 0;
    const server = createServer(async (request, response) => {
      const { ids = [] } = request.method === 'POST' ? ((await json(request)) as { ids: string[] }) : {};
      if (ids.length > 0) asked += 1;
      const firing = Array.from({ length: 1_001 }, (_, at) => ({ id: `a${at}` }));
      const acknowledged = ids.map((id) => ({ id, silence_id: `of-${id}` }));
      response.writeHead(asked < 2 ? 200 : 503);
      response.end(JSON.stringify(ids.length > 0 ? { acknowledged, refused: [] } : firing));
    });
    const { url } = await listenInTest(server);
    const { exit, stdout } = await nestwatch(['silence', 'acknowledge', 'x', '-a', 'ben', '--url', url]);
    expect([exit === 0, stdout.match(/^of-a\d+$/gm)?.length]).toEqual([false, 1_000]);
  });

  test('acknowledge without a match fails, and requires an author', async () => {
    const { run, silences } = await daemon();
    expect(await run('silence', 'acknowledge', 'nest=elsewhere')).toEqual(
      failed('nestwatch: no alert fires that matches\n'),
    );
    expect(await run('silence', 'acknowledge', 'FlightFailed', '-a', ' ')).toEqual(
      refused(containing('--author')),
    );
    expect(await silences()).toEqual([]);
  });

  test('expire --json names those that it ended', async () => {
    const { run } = await daemon();
    const ids = [];
    for (const bird of ['X', 'Y']) {
      ids.push((await run('silence', 'add', `bird=${bird}`, '-c', 'why')).stdout.trim());
    }
    const { exit, stdout } = await run('silence', 'expire', ...ids, '--json');
    expect([exit, JSON.parse(stdout)]).toEqual([0, { expired: ids }]);
    const third = (await run('silence', 'add', 'bird=Z', '-c', 'why')).stdout.trim();
    const why = `x: silence not found; those before it were ended: ${third}\n`;
    expect(await run('silence', 'expire', third, 'x')).toEqual(refused(containing(why)));
  });

  test('add prints the id; list and expire take it', async () => {
    const { run, silences, changes } = await daemon();
    const added = await run('silence', 'add', 'FlightFailed', 'nest=~"Mark.*"', '-d', '2h', '-c', 'TMS down');
    const [silence] = await silences();
    expect(added).toEqual({ exit: 0, stdout: `${silence!.id}\n`, stderr: '' });
    expect(silence).toMatchObject({
      matchers: [
        { name: 'alertname', op: '=', value: 'FlightFailed' },
        { name: 'nest', op: '=~', value: 'Mark.*' },
      ],
      startsAtUs: NOW_US,
      endsAtUs: NOW_US + 120 * MINUTE,
      createdBy: 'ben',
      comment: 'TMS down',
    });
    expect((await run('silence', 'list')).stdout).toMatch(
      /alertname="FlightFailed" nest=~"Mark\.\*" +2026-07-02 14:00:00 UTC +- +ben +TMS down$/m,
    );
    expect((await run('silence', 'list', '-q')).stdout).toBe(`${silence!.id}\n`);
    expect((await run('silence', 'list', '-q', 'alertname=Other')).stdout).toBe('');
    expect((await run('silence', 'list', '-q', 'text=tms', 'nest=Marketing')).stdout).toBe(
      `${silence!.id}\n`,
    );
    expect((await run('silence', 'list', '-q', 'nest=Sandbox')).stdout).toBe('');
    expect(await run('silence', 'list', 'since=yesterday')).toEqual(
      refused(containing('since: must be a duration like 2h, or an instant')),
    );
    expect(await run('silence', 'expire', silence!.id)).toEqual(done());
    expect((await run('silence', 'list')).stdout).toBe('No silences.\n');
    expect((await run('silence', 'list', '--expired', '-q')).stdout).toBe(`${silence!.id}\n`);
    expect(changes).toHaveLength(2);
  });

  test.each([
    ['nets=orders', /^nestwatch: no alert has a label "nets"; did you mean nest\?\n/],
    ['nets!=orders', /^nestwatch: no alert has a label "nets"; did you mean nest\?\n$/],
    ['FlightFaild', /matches no alert; did you mean FlightFailed\?\n/],
    ['nest=Other', /^nestwatch: it matches no alert that fires now\n$/],
  ])('add says of %s that it mutes nothing, or everything', async (matcher, words) => {
    const { run, silences } = await daemon();
    const { exit, stdout, stderr } = await run('silence', 'add', matcher, '-c', 'x');
    expect([exit, stdout]).toEqual([0, `${(await silences())[0]!.id}\n`]);
    expect(stderr).toMatch(words);
  });

  test('add takes instants, an author, and windows that recur', async () => {
    const { run, silences } = await daemon();
    const times = ['--start', '2026-07-03T00:00:00Z', '--end', '2026-08-03T00:00:00+02:00'];
    const windows = ['--cron', '0 2 * * 6', '--window', '4h', '--timezone', 'Europe/Amsterdam'];
    const { exit } = await run(
      'silence',
      'add',
      'nest=Sandbox, EMEA',
      '-c',
      'x',
      '-a',
      'anna',
      ...times,
      ...windows,
    );
    expect(exit).toBe(0);
    expect(await silences()).toMatchObject([
      {
        matchers: [{ name: 'nest', op: '=', value: 'Sandbox, EMEA' }],
        startsAtUs: Date.UTC(2026, 6, 3) * 1000,
        endsAtUs: Date.UTC(2026, 7, 2, 22) * 1000,
        createdBy: 'anna',
        recurrence: { cron: '0 2 * * 6', timezone: 'Europe/Amsterdam', durationMs: 4 * 3_600_000 },
      },
    ]);
    expect((await run('silence', 'list')).stdout).toContain('4h at 0 2 * * 6 Europe/Amsterdam');
  });

  test('add --dry-run only shows what it would mute', async () => {
    const { run, silences } = await daemon();
    const { exit, stdout } = await run('silence', 'add', 'severity=warning', '--dry-run');
    expect(exit).toBe(0);
    expect(stdout).toMatch(/^Hides now, of what fires:\nSEVERITY /);
    expect(stdout).toContain('BirdTriggerFailing');
    expect(stdout).not.toContain('FlightFailed');
    expect(await silences()).toEqual([]);
  });

  test.each([
    ['a window that is not open yet', ['--cron', '0 3 * * *', '--window', '1h', '-d', '3d'], '03:00:00'],
    [
      'the zone of the window',
      ['--cron', '0 3 * * *', '--window', '1h', '-d', '3d', '--timezone', 'Europe/Amsterdam'],
      '01:00:00',
    ],
    ['a start', ['--start', '2026-07-03T05:30:00Z'], '05:30:00'],
    [
      'a start within a window',
      ['--start', '2026-07-03T03:30:00Z', '-d', '1d', '--cron', '0 3 * * *', '--window', '1h'],
      '03:30:00',
    ],
  ])('add --dry-run says from when on it mutes: %s', async (_, args, time) => {
    const { run } = await daemon();
    const first = `Hides nothing now; from 2026-07-03 ${time} UTC on it would hide, of what fires now:`;
    const { exit, stdout } = await run('silence', 'add', 'severity=warning', '--dry-run', ...args);
    expect([exit, stdout.split('\n')[0]]).toEqual([0, first]);
    expect(stdout).toContain('BirdTriggerFailing');
    const json = await run('silence', 'add', 'severity=warning', '--dry-run', '--json', ...args);
    expect(json.stderr).toBe(`nestwatch: ${first}\n`);
    expect(JSON.parse(json.stdout)).toHaveLength(1);
  });

  test('add --dry-run knows a window that is open, and one that comes after the silence ends', async () => {
    const { run } = await daemon();
    const shown = async (cron: string) => {
      const args = ['--cron', cron, '--window', '1h', '-d', '2h'];
      return (await run('silence', 'add', 'FlightFailed', '--dry-run', ...args)).stdout.split('\n')[0];
    };
    expect(await shown('30 11 * * *')).toBe('Hides now, of what fires:');
    expect(await shown('0 14 * * *')).toBe(
      'Never hides anything: no window opens before it ends at 2026-07-02 14:00:00 UTC. It matches, of what fires now:',
    );
  });

  test.each([
    ['--cron', '0 25 * * *', '--window', '1h'],
    ['--cron', '0 2 * *', '--window', '1h'],
    ['--cron', '0 2 * * *', '--window', '8d'],
    ['--cron', '0 2 * * *', '--window', '1h', '--timezone', 'Mars/Base'],
    ['--cron', '0 2 * * *'],
    ['--start', '2020-01-01T00:00:00Z'],
    ['--end', 'later'],
  ])('add --dry-run refuses what would be refused: %j', async (...args) => {
    const { run } = await daemon();
    const add = (...more: string[]) => run('silence', 'add', 'FlightFailed', '-c', 'x', ...args, ...more);
    const real = await add();
    expect(real).toMatchObject({ exit: 2, stdout: '' });
    expect(await add('--dry-run')).toEqual(real);
  });

  test.each([
    [['add'], "missing required argument 'matcher'"],
    [['add', 'FlightFailed'], 'say why with --comment'],
    [['add', 'a=b', 'FlightFailed', '-c', 'x'], 'of FlightFailed)'],
    [['add', 'a=~"("', '-c', 'x'], 'missing closing )'],
    [['add', 'a=b', '-c', 'x', '-d', 'long'], '--duration must be a duration such as 2h, not long'],
    [['add', 'a=b', '-c', 'x', '--end', 'later'], '--end must be an RFC 3339 instant'],
    [['add', 'a=b', '-c', 'x', '--end', '9000-01-01'], '--end must be before the year 2255'],
    [['add', 'a=b', '-c', 'x', '--end', '2020-01-01T00:00:00Z'], 'the silence must begin before it ends'],
    [['add', 'a=b', '-c', 'x', '--cron', '0 2 * * 6'], '--cron needs --window'],
    [['add', 'a=b', '-c', 'x', '--window', '2h'], '--timezone and --window belong to --cron'],
    [['add', 'a=b', '-c', 'x', '--cron', 'x', '--window', '2h'], 'the cron expression must have five fields'],
    [['add', 'a=~".*"', '-c', 'x'], 'at least one matcher must not match the empty string'],
    [['expire', 'no-such-id'], 'no-such-id: silence not found; none was ended'],
  ])('%j is wrong usage', async (args, message) => {
    const { run, silences } = await daemon();
    expect(await run('silence', ...args)).toEqual(refused(containing(message)));
    expect(await silences()).toEqual([]);
  });

  test('the token of the daemon is required', async () => {
    const { run } = await daemon({ web: { bearerToken: secret('t0ken') } });
    const args = ['silence', 'add', 'a=b', '-c', 'x'];
    expect(await run(...args)).toEqual(failed(containing('token')));
    expect((await run(...args, '--token-file', tempFile('t', 't0ken\n'))).exit).toBe(0);
  });
});

describe('routes', () => {
  const file = () =>
    tempFile(
      'n.yaml',
      `regions: { eu: { base_url: "http://127.0.0.1:1/api-rest", token: t } }
route:
  receiver: ops
  routes:
    - matchers: ['severity="critical"', 'nest=~"Prod.*"']
      receiver: pager
      continue: true
      routes: [{ matchers: [team=a], receiver: a }, { receiver: ops }]
    - matchers: ['severity="warning"']
    - matchers: ['nest="Marketing, EMEA"', 'note="{a,b=c}"']
      receiver: a
receivers: [{ name: ops }, { name: pager }, { name: a }]
`,
    );

  test('show prints the tree as amtool does', async () => {
    const { exit, stdout } = await nestwatch(['routes', 'show', '--config.file', file()]);
    expect(exit).toBe(0);
    expect(stdout.replaceAll('\u00a0', ' ')).toBe(`Routing tree:
.
└── default-route  receiver: ops
    ├── {nest=~"Prod.*",severity="critical"}  continue: true  receiver: pager
    │   ├── {team="a"}  receiver: a
    │   └── default-route  receiver: ops
    ├── {severity="warning"}  receiver: ops
    └── {nest="Marketing, EMEA",note="{a,b=c}"}  receiver: a

`);
    expect((await nestwatch(['routes', '--config.file', file()])).stdout).toBe(stdout);
  });

  test.each([
    [[], 'ops\n'],
    [['severity=critical', 'nest=Prod 1', 'team=a'], 'a\n'],
    [['severity=critical', 'nest="Prod"', 'team=b'], 'ops\n'],
    [['severity=warning'], 'ops\n'],
    [['nest=Marketing, EMEA', 'note={a,b=c}'], 'a\n'],
    [['nest="Marketing, EMEA"', 'note="{a,b=c}"'], 'a\n'],
    [["nest='Marketing, EMEA'", 'note={a,b=c}'], 'ops\n'],
  ])('test %j names the receivers', async (labels, expected) => {
    expect(await nestwatch(['routes', 'test', '--config.file', file(), ...labels])).toEqual(done(expected));
  });

  test('--json prints them for programs', async () => {
    const shown = await nestwatch(['routes', 'show', '--json', '--config.file', file()]);
    expect(JSON.parse(shown.stdout)).toMatchObject({
      receiver: 'ops',
      routes: [
        { receiver: 'pager', continue: true, matchers: ['severity="critical"', 'nest=~"Prod.*"'] },
        {},
        {},
      ],
    });
    const tested = await nestwatch(['routes', 'test', '--json', '--config.file', file(), 'a=b']);
    expect(JSON.parse(tested.stdout)).toEqual(['ops']);
  });

  test.each(['severity!=critical', 'severity', 'a=~b'])('%s is no label', async (label) => {
    expect(await nestwatch(['routes', 'test', '--config.file', file(), label])).toEqual(
      refused(containing(`labels must be given as name=value, not ${label}`)),
    );
  });
});

describe('deliveries', () => {
  async function withDeliveries() {
    const served = await daemon();
    await putDeliveries(served.store, [
      { id: 'd1', state: 'delivered', attempts: 1, settledAtUs: NOW_US },
      { id: 'd2', state: 'dead', attempts: 3, settledAtUs: NOW_US, lastError: '410 \u001b[2J Gone' },
      { id: 'd3', receiver: 'pager', integration: 'webhook' },
    ]);
    return served;
  }

  test('lists them, the newest first, or those that were given up', async () => {
    const { run, ask } = await withDeliveries();
    const { exit, stdout } = await run('deliveries');
    expect(exit).toBe(0);
    expect(stdout.match(/^d\d/gm)).toEqual(['d3', 'd2', 'd1']);
    expect(stdout).toMatch(
      /^d2 +ops +email +dead +3 +2026-07-02 11:58:00 UTC +Events +2026-07-02 12:00:00 UTC +410 \[2J Gone$/m,
    );
    expect((await run('deliveries', '--dead')).stdout.match(/^d\d/gm)).toEqual(['d2']);
    expect((await run('deliveries', '--receiver', 'pager')).stdout.match(/^d\d/gm)).toEqual(['d3']);
    expect((await run('deliveries', '--receiver', 'none')).stdout).toBe('No deliveries.\n');
    expect(await run('deliveries', '--dead', '--state', 'delivered')).toEqual(
      refused(containing("option '--dead' cannot be used with option '--state <state>'")),
    );
    expect(JSON.parse((await run('deliveries', '--json')).stdout)).toEqual(
      (await ask('/api/v1/deliveries')).json,
    );
    const few = await run('deliveries', '--limit', '2');
    expect(few.stdout.match(/^d\d/gm)).toHaveLength(2);
    expect(few.stderr).toBe('There are more: give --limit, or a filter such as until=.\n');
    expect((await run('deliveries')).stderr).toBe('');
    expect(await run('deliveries', '--state', 'lost')).toEqual(
      refused(containing('state: must be one of pending')),
    );
  });

  test('retry queues what was given up again, and names what was not', async () => {
    const { run, store, changes } = await withDeliveries();
    const result = await run('deliveries', 'retry', 'd2', 'd1');
    expect(result).toEqual({
      exit: 1,
      stdout: 'd2\n',
      stderr: 'nestwatch: d1 is no delivery that was given up\n',
    });
    const found = await store.transaction((tx) => tx.outbox.find('d2'));
    expect(found!.delivery).toMatchObject({ state: 'pending', attempts: 0 });
    expect(changes).toHaveLength(1);
    expect((await run('deliveries', 'retry', 'd1')).exit).toBe(1);
    expect(changes).toHaveLength(1);
  });
});

describe('explain', () => {
  test('tells the steps from top to bottom', async () => {
    const { run, store, ask } = await daemon();
    await putAlert(store, { id: 'c' }, [{ id: 'f1/failed' }]);
    const { exit, stdout } = await run('explain', 'eu/flight/f1/failed');
    expect(exit).toBe(0);
    expect(stdout.split('\n')).toEqual([
      'eu/flight/f1/failed: flight.failed in eu / Marketing / Translate blog',
      '  The target language "nl-BE" is not supported',
      expect.stringMatching(
        /^seen {7}by feed flight: occurred 2026-07-02 11:59:00 UTC, observed 2026-07-02 11:59:04 UTC, 4\.0 s later/,
      ),
      'rule       FlightFailed: the built-in one decides now',
      'alert      c, event 1 of it, firing since 2026-07-02 11:48:00 UTC',
      'context    changed_before: not said, because the log that was read says of no publishing or activation within 14 days before',
      'context    seen_before: not said, because the failure has no message',
      'context    who_acts: not said, because the log of the Flight says no type of the error',
      'context    also_failing: not said, because the failure has no message',
      'context    connection_lost: not said, because no connection of the Nest or the organisation was lost within a day before',
      '',
    ]);
    expect(JSON.parse((await run('explain', 'eu/flight/f1/failed', '--json')).stdout)).toEqual(
      (await ask('/api/v1/events/eu/flight/f1/failed/explain')).json,
    );
  });

  test('names the rule that decides, besides its number', async () => {
    const rules = [rule('FlightFailed', { id: 'mine' }), ...DEFAULT_RULES];
    const { run, store } = await daemon({ alerting: { ...anAlertingConfig(), rules } });
    await putAlert(store, { id: 'c' }, [{ id: 'f1/failed' }]);
    const { stdout } = await run('explain', 'eu/flight/f1/failed');
    expect(stdout).toContain('\nrule       FlightFailed: mine, number 1 of the rules decides now\n');
  });

  test('names the refused recipients of a mail, and what was postponed and sent later', async () => {
    const { run, store } = await daemon();
    const event = anEvent({ id: 'f1/failed' });
    await putAlert(store, { id: 'c' }, [event]);
    const key = 'eu/flight/f1/failed';
    const suppression = {
      alertId: 'c',
      afterSeq: 0,
      lastSeq: 1,
      groupKey: 'g',
      receiver: 'ops',
      detail: 'x',
    };
    await store.transaction((tx) =>
      tx.suppressions.add([
        { ...suppression, reason: 'receiver_cap', atUs: NOW_US },
        { ...suppression, reason: 'receiver_cap', receiver: 'pager', atUs: NOW_US },
        { ...suppression, reason: 'silenced', atUs: NOW_US },
      ]),
    );
    const told = group({ alerts: [alert({ events: [event] })], createdAtUs: NOW_US + MINUTE });
    const lastError = 'b@example.com: 550 no such \u001b[2J user';
    const settled = { state: 'delivered', attempts: 1, settledAtUs: NOW_US, lastError } as const;
    await store.transaction((tx) => tx.outbox.enqueue(told, [aDelivery({ id: 'd', ...settled })]));
    const { stdout } = await run('explain', key);
    expect(stdout.split('\n').slice(10)).toEqual([
      expect.stringMatching(/^notified {3}ops at .* as first: /),
      '  by email: delivered, 2026-07-02 12:00:00 UTC, 1 try (d): b@example.com: 550 no such [2J user',
      'put off    for receiver ops: receiver_cap x, decided 2026-07-02 12:00:00 UTC',
      'suppressed for receiver pager: receiver_cap x, decided 2026-07-02 12:00:00 UTC',
      'suppressed for receiver ops: silenced x, decided 2026-07-02 12:00:00 UTC',
      '',
    ]);
  });

  test('says whom an escalation is for, and that it may not come', async () => {
    const alerting = anAlertingConfig();
    const escalation = { afterMs: 1_800_000, receiver: 'boss' };
    const { run, store } = await daemon({
      alerting: { ...alerting, route: { ...alerting.route, escalation } },
    });
    await putAlert(store, { id: 'c' }, [{ id: 'f1/failed' }]);
    const groupKey = 'escalation:1:{}:{}';
    await store.transaction(async (tx) => {
      await tx.groups.put([
        newGroup({
          sort: 'escalation',
          key: groupKey,
          route: alerting.route.path,
          receiver: 'boss',
          labels: {},
          nextFlushAtUs: NOW_US + 30 * MINUTE,
        }),
      ]);
      await tx.groups.putMembers([
        { groupKey, sort: 'escalation', alertId: 'c', notifiedSeq: 0, notifiedState: 'none' },
      ]);
    });
    expect((await run('explain', 'eu/flight/f1/failed')).stdout).toContain(
      `waiting    for receiver boss until 2026-07-02 12:30:00 UTC in ${groupKey}, unless it is over or acknowledged before\n`,
    );
  });

  test('takes a key with a hash in it', async () => {
    const { run, store } = await daemon();
    await putAlert(store, { id: 'c' }, [{ id: 'f1/failed#2' }]);
    expect((await run('explain', 'eu/flight/f1/failed#2')).stdout).toContain(
      'eu/flight/f1/failed#2: flight.failed',
    );
  });

  test('without an event, it shows all that is known about an alert of the watch or an active Flight [long]', async () => {
    const { run, store } = await daemon();
    await putDeliveries(store, [{ id: 'd1' }]);
    const place = { region: 'eu', nestId: '682' };
    const silent = { ...place, birdId: '99', name: 'Silent one', present: true, triggerType: 'event' };
    await store.transaction((tx) =>
      tx.inventory.putBirds([{ ...silent, status: 'active', statusSinceUs: NOW_US }]),
    );
    await putFlights(store, { ...place, birdId: '98' }, [
      { id: 'f-now', status: 'active', startedAtUs: NOW_US },
    ]);
    for (const [id, kind, words, ...shows] of [
      ['a', 'alert', /^a: firing since /, 'alerts', 'show', 'a'],
      ['d1', 'delivery', /^d1: pending to /, 'deliveries', 'show', 'd1'],
      ['f-now', 'flight', /^f-now: active/, 'flights', 'show', 'f-now'],
      ['99', 'bird', /^Silent one/, 'birds', 'show', '99'],
    ] as const) {
      const { exit, stdout, stderr } = await run('explain', id);
      expect(exit, id).toBe(0);
      expect(stdout, id).toMatch(words);
      expect(stderr, id).toBe(
        `nestwatch: No event of this ${kind} is kept: ${id}. This is what is known of it.\n`,
      );
      expect(stdout, id).toBe((await run(...shows)).stdout);
      expect((await run('explain', id, '--json')).stdout, id).toBe((await run(...shows, '--json')).stdout);
    }
  });

  test('of something unknown is wrong usage', async () => {
    const { run } = await daemon();
    expect(await run('explain', 'eu/flight/x')).toEqual(
      refused(
        'nestwatch: Nothing is kept under eu/flight/x, no event, alert, Bird, Flight, delivery or silence.\nSee `nestwatch explain --help`.\n',
      ),
    );
  });
});

describe('existing silences', () => {
  test('query is another name for list, and filters by author and id', async () => {
    const { run } = await daemon();
    const first = (await run('silence', 'add', 'bird=a', '-c', 'x', '-a', 'ann')).stdout.trim();
    const second = (await run('silence', 'add', 'bird=b', '-c', 'x', '-a', 'ben')).stdout.trim();
    expect((await run('silence', 'query', '-q', '--created-by', 'ann')).stdout).toBe(`${first}\n`);
    expect((await run('silence', 'query', '-q', '--id', second)).stdout).toBe(`${second}\n`);
    expect(JSON.parse((await run('silence', 'query', '--id', second, '--json')).stdout)).toMatchObject([
      { id: second },
    ]);
  });

  test('update changes what is given and leaves the rest', async () => {
    const { run, silences } = await daemon();
    const id = (await run('silence', 'add', 'bird=a', '-d', '1h', '-c', 'why')).stdout.trim();
    const [before] = await silences();
    expect(await run('silence', 'update', id, '-d', '3h')).toEqual(done(`${id}\n`));
    const [after] = await silences();
    expect(after).toMatchObject({ id, comment: 'why', createdBy: 'ben' });
    expect(after!.endsAtUs - before!.endsAtUs).toBe(120 * MINUTE);
    await run('silence', 'update', id, '-c', 'another reason');
    expect(await silences()).toMatchObject([{ id, comment: 'another reason', endsAtUs: after!.endsAtUs }]);
    expect(await run('silence', 'update', id)).toEqual(
      refused(containing('say what changes: --duration, --start, --end or --comment')),
    );
    expect(await run('silence', 'update', 'none', '-d', '1h')).toMatchObject({ exit: 2, stdout: '' });
  });

  test('update says which ones it had changed before one that failed', async () => {
    const { run } = await daemon();
    const first = (await run('silence', 'add', 'bird=a', '-d', '1h', '-c', 'why')).stdout.trim();
    // It begins later, so it is another silence.
    const start = ['--start', '2026-07-02T13:00:00Z', '-d', '2h'];
    const { exit, stderr } = await run('silence', 'update', first, 'none', ...start);
    expect(exit).toBe(2);
    const [now] = JSON.parse((await run('silence', 'query', '--json')).stdout);
    expect(now.id).not.toBe(first);
    expect(stderr).toBe(
      `nestwatch: none: silence not found; those before it were changed: ${now.id}\nSee \`nestwatch silence update --help\`.\n`,
    );
    expect((await run('silence', 'update', 'none', ...start)).stderr).toContain(
      'nestwatch: none: silence not found; none was changed',
    );
  });

  test('export and import transfer them to another daemon', async () => {
    const { run } = await daemon();
    await run('silence', 'add', 'bird=~"a.*"', 'nest!=x', '-c', 'why', '-a', 'ann');
    await run('silence', 'add', 'bird=b', '--cron', '0 2 * * 6', '--window', '2h', '-d', '9d', '-c', 'w');
    await run('silence', 'acknowledge', 'FlightFailed');
    const exported = (await run('silence', 'export')).stdout;
    expect(JSON.parse(exported)).toHaveLength(2);
    const other = await daemon();
    const imported = await other.run('silence', 'import', tempFile('s.json', exported));
    expect(imported).toMatchObject({ exit: 0, stderr: '' });
    const listed = async (of: typeof other.run) =>
      JSON.parse((await of('silence', 'export')).stdout).map(({ id: _id, ...rest }: { id: string }) => rest);
    expect(await listed(other.run)).toEqual(await listed(run));
  });

  test('update, export and import leave annotations unchanged', async () => {
    const { run, silences } = await daemon();
    await run('silence', 'add', 'bird=a', '-c', 'why');
    const [added] = JSON.parse((await run('silence', 'export')).stdout);
    const annotations = { ticket: 'OPS-7' };
    const file = tempFile('s.json', JSON.stringify([{ ...added, annotations }]));
    const id = (await run('silence', 'import', file)).stdout.trim();
    const imported = async () => (await silences()).find((one) => one.id === id);
    expect(await imported()).toMatchObject({ annotations });
    expect((await run('silence', 'update', id, '-c', 'another reason')).exit).toBe(0);
    expect(await imported()).toMatchObject({ comment: 'another reason', annotations });
    expect(JSON.parse((await run('silence', 'export')).stdout)).toContainEqual(
      expect.objectContaining({ id, annotations }),
    );
    const without = tempFile('s.json', `\uFEFF${JSON.stringify([{ ...added, annotations: null }])}`);
    expect((await run('silence', 'import', without)).exit).toBe(0);
  });

  test.each([
    ['no JSON', 'x', 's.json must hold a JSON list of silences'],
    ['another list', '[{"id":"1"}]', 'it is another one at 0.matchers'],
  ])('import refuses %s', async (_what, text, message) => {
    const { run } = await daemon();
    expect(await run('silence', 'import', tempFile('s.json', text))).toEqual(refused(containing(message)));
  });

  test('import says which one was refused, and which were accepted before it', async () => {
    const { run, silences } = await daemon();
    await run('silence', 'add', 'bird=a', '-c', 'why');
    const [good] = JSON.parse((await run('silence', 'export')).stdout);
    const bad = { ...good, endsAt: '2020-01-01T00:00:00Z' };
    const { exit, stderr } = await run('silence', 'import', tempFile('s.json', JSON.stringify([good, bad])));
    const [, second] = await silences();
    expect(exit).toBe(2);
    expect(stderr).toMatch(/^nestwatch: silence 2: .*; those before it were imported: /);
    expect(stderr).toContain(second!.id.slice(0, 8) || 'never');
  });
});

describe('events, alerts and deliveries', () => {
  const event = anEvent({ id: 'f1/failed', message: 'The quota\u202e is used up' });

  test('events are listed with the short id that explain takes', async () => {
    const { run, store } = await daemon();
    await putAlert(store, { id: 'FlightFailed/x' }, [event, { id: 'f2/failed' }]);
    const { exit, stdout } = await run('events', 'quota', 'since=1h');
    expect([exit, stdout.split('\n').length]).toEqual([0, 3]);
    expect(stdout).toContain(`${shortId(event)}  flight.failed`);
    expect(stdout).not.toContain('\u202e');
    expect((await run('events', 'bird=nobody')).stdout).toBe('No events.\n');
    expect((await run('events', 'quota', '--type', 'flight.failed')).stdout).toBe(stdout);
    expect((await run('events', '--type', 'flight.succeeded')).stdout).toBe('No events.\n');
    expect((await run('events', 'colour=red')).exit).toBe(2);
    expect((await run('events', 'region=mars')).stderr).toContain('region: must be one of');
    for (const id of [shortId(event), 'FlightFailed/x', `http://x/events/${event.key}`]) {
      expect((await run('explain', id)).stdout, id).toContain(': flight.failed in eu / Marketing');
    }
  });

  test('writes are listed with who asked for them', async () => {
    const { run } = await daemon();
    expect((await run('writes')).stdout).toBe('No writes.\n');
    await run('silence', 'add', 'bird=x', '--comment', 'tea', '--author', 'anna');
    expect(await run('writes', 'tea', 'since=1h')).toEqual(
      done(
        matching(
          /AT .* ACTION .*\n.* nobody_asked {2}127\.0\.0\.1 +200 +POST \/api\/v2\/silences\?warn=true /,
        ),
      ),
    );
    expect((await run('writes', 'who=ben')).stdout).toBe('No writes.\n');
    expect((await run('writes', 'nest=x')).exit).toBe(2);
    expect(JSON.parse((await run('writes', '--json')).stdout).writes).toHaveLength(1);
  });

  test('an alert is shown with its events, also by JSON', async () => {
    const { run, store } = await daemon();
    await putAlert(store, { id: 'FlightFailed/x' }, [event]);
    const { exit, stdout } = await run('alerts', 'show', 'FlightFailed/x');
    expect(exit).toBe(0);
    expect(stdout).toContain('FlightFailed/x: firing since 2026-07-02 11:48:00 UTC');
    expect(stdout).toContain('routed     to pager, ops');
    expect(stdout).toContain(shortId(event));
    expect(JSON.parse((await run('alerts', 'show', 'FlightFailed/x', '--json')).stdout).events).toHaveLength(
      1,
    );
    expect((await run('alerts', 'show', 'none')).stderr).toContain('Nothing is known of an alert');
  });

  test('the first page of a post-mortem is Markdown in which texts from outside are no markup', async () => {
    const { run, store } = await daemon();
    const hostile = anEvent({ id: 'hostile', message: '<img src=x> | [a](http://evil.example) *quota*' });
    const resolved = { state: 'resolved', endsAtUs: NOW_US, ending: 'over' } as const;
    const annotations = {
      description: '1. ask @acme/oncall on www.evil.example',
      summary: 'Flight of # Translate blog failed',
      resolved_by: 'a Flight succeeded',
    };
    await putAlert(store, { id: 'FlightFailed/x', ...resolved, annotations }, [hostile]);
    const { exit, stdout } = await run('alerts', 'show', 'FlightFailed/x', '--format', 'markdown');
    expect(exit).toBe(0);
    expect(stdout).toContain('# Flight of \\# Translate blog failed\n');
    expect(stdout).toContain('| Ended | 2026-07-02 12:00:00 UTC, after 12 min: a Flight succeeded |');
    expect(stdout).toContain(
      '| flight.failed \\<img src=x\\> \\| \\[a\\](http:\\/\\/evil.example) \\*quota\\* |',
    );
    expect(stdout).toContain('> 1\\. ask @\u200Bacme/oncall on www\u200B.evil.example\n');
    expect(stdout).toMatch(/## Timeline\n[^#]*\| The alert fires \|\n[^#]*\| The alert is resolved \|\n/);
    expect(stdout).toContain('## Who was told\n\nNobody.\n');
    expect((await run('alerts', 'show', 'FlightFailed/x', '--format', 'pdf')).exit).toBe(2);
  });

  test.each([
    [0, -6, 'waits for its turn since 2026-07-02 11:54:00 UTC'],
    [2, -6, 'due since 2026-07-02 11:54:00 UTC'],
    [2, 1, 'next try 2026-07-02 12:01:00 UTC'],
  ])('a delivery tried %i times and due in %i min', async (attempts, minutes, words) => {
    const { run, store } = await daemon();
    const nextAttemptAtUs = NOW_US + minutes * 60_000_000;
    await putDeliveries(store, [{ id: 'd-1', attempts, nextAttemptAtUs }]);
    expect((await run('deliveries', 'show', 'd-1')).stdout).toContain(`, ${words}\n`);
  });

  test('a delivery is shown with what it is about', async () => {
    const { run, store } = await daemon();
    await putDeliveries(store, [{ id: 'd-1', lastError: 'HTTP 503', state: 'retry', attempts: 2 }]);
    const { exit, stdout } = await run('deliveries', 'show', 'd-1');
    expect(exit).toBe(0);
    expect(stdout).toContain('d-1: retry to ops by email');
    expect(stdout).toContain('tries      2: HTTP 503');
    expect((await run('deliveries', 'http', '503')).stdout).toContain('d-1');
    expect((await run('deliveries', 'http', '404')).stdout).toBe('No deliveries.\n');
    expect((await run('deliveries', 'show', 'none')).exit).toBe(2);
  });
});
