import { describe, expect, test } from 'vitest';
import { shortId } from '../../src/domain/alert/event.ts';
import { NestwatchError } from '../../src/errors.ts';
import { LIMITS } from '../../src/limits.ts';
import { createLog, type LogOptions } from '../../src/observe/log.ts';
import type { Happening } from '../../src/report.ts';
import { secret } from '../../src/secret.ts';
import { countProcessorMs } from '../processor-time.ts';
import { createVirtualClock } from '../virtual-clock.ts';

function logTo(options: Partial<LogOptions> = {}) {
  const clock = createVirtualClock();
  let text = '';
  const stream = { write: (line: string) => (text += line) };
  const log = createLog({ level: 'debug', format: 'json', stream, clock, ...options });
  const lines = (): Record<string, unknown>[] =>
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  return { ...log, clock, text: () => text, lines };
}

const DELIVERY = { what: 'delivery', receiver: 'pager', integration: 'webhook', attempt: 1 } as const;

describe('a log that nobody reads', () => {
  test('drops lines beyond a limit, reports it elsewhere, and says how many once it is read again [long]', () => {
    let isRead = false;
    let text = '';
    const told: string[] = [];
    const stream = {
      get writableLength() {
        return isRead ? 0 : text.length;
      },
      write: (line: string) => (text += line),
    };
    const log = createLog({
      ...{ level: 'info', format: 'json', stream, clock: createVirtualClock() },
      unread() {
        told.push('unread');
        // This is a line of the log as well.
        log.report({ what: 'limit_reached', limit: 'unread_log_bytes' });
      },
    });
    for (let line = 0; line < 10_000; line += 1) log.info('A line', { words: 'x'.repeat(1_000) });
    expect(text.length).toBeLessThan(LIMITS.unread_log_bytes.most + 2_000);
    expect(told).toEqual(['unread']);
    const written = text.split('\n').length - 1;
    isRead = true;
    log.info('The next line');
    const last = text
      .trimEnd()
      .split('\n')
      .slice(-2)
      .map((line) => JSON.parse(line));
    expect(last).toMatchObject([
      // Including the line that says that the limit was reached.
      { message: 'Lines of the log were left out, since nobody read it', lines: 10_001 - written },
      { message: 'The next line' },
    ]);
  });
});

describe('a line', () => {
  test('is a fixed sentence with its data, at the time of the given clock', () => {
    const { info, text } = logTo();
    info('The page is open', { url: 'http://127.0.0.1:9465', portWanted: 9465 });
    expect(text()).toBe(
      '{"level":"info","time":"2026-07-02T12:00:00.000000Z","url":"http://127.0.0.1:9465","port_wanted":9465,"message":"The page is open"}\n',
    );
  });

  test('of an event has its short id, as messages and pages do', () => {
    const { report, lines } = logTo();
    const key = 'eu/flight/77/failed';
    const occurredAtUs = 1_782_993_600_000_000;
    const event = { key, type: 'flight.failed', occurredAtUs, delayMs: 0, historic: false };
    const other = { ...event, key: 'eu/flight/78/failed' };
    report({ what: 'events', region: 'eu', feed: 'flight', events: [event, other] });
    expect(lines()).toMatchObject([{ key, short_id: shortId({ key, occurredAtUs }) }, { key: other.key }]);
    expect(lines()[0]).toMatchObject({ region: 'eu', feed: 'flight', type: 'flight.failed', delay_ms: 0 });
  });

  test('below the level is not written', () => {
    const { debug, info, warn, lines } = logTo({ level: 'warn' });
    debug('a');
    info('b');
    warn('c');
    expect(lines().map((line) => line.message)).toEqual(['c']);
  });

  test('for people is short, and in colour only if asked for', () => {
    const { report, text } = logTo({ format: 'pretty' });
    report({ what: 'notified', receiver: 'ops', groupKey: '{}:{}', reason: 'first', alerts: 2 });
    expect(text()).toBe(
      '[12:00:00] INFO: A notification was queued {"receiver":"ops","group_key":"{}:{}","reason":"first","alerts":2}\n',
    );
    const coloured = logTo({ format: 'pretty', colour: true });
    coloured.info('x');
    expect(coloured.text()).toContain('\u001b[32mINFO');
  });

  test.each(['json', 'pretty'] as const)('in %s contains no control characters from others', (format) => {
    const { warn, text } = logTo({ format });
    warn('x', { reason: 'a\u001b[2Jb\nc\u202ed', error: new Error('e\u001b[2Jf') });
    for (const control of ['\u001b', '\u202e']) expect(text()).not.toContain(control);
    expect(text()).toContain('a [2Jb cd');
  });
});

describe('what becomes a line, and at which level', () => {
  const trouble = { what: 'trouble', stage: 'intake' } as const;
  const late = new NestwatchError('timeout', 'late');
  const poll = { what: 'poll', region: 'eu', feed: 'flight', durationMs: 3, atUs: 1 } as const;
  const health = { what: 'region_health', region: 'eu', reason: 'x' } as const;
  const logs = { region: 'eu', feed: 'bird_log', count: 2 } as const;
  const alert = { what: 'alert', alertname: 'FlightFailed', region: 'eu', alertId: 'a' } as const;
  const sent = { ...DELIVERY, id: 'd' };
  const reload = { what: 'config_reload', atUs: 1 } as const;
  const table: [Happening, string, string][] = [
    [{ what: 'request', region: 'eu', operation: 'getBird', durationMs: 3 }, 'debug', 'A request ended'],
    [poll, 'debug', 'A poll ended'],
    [{ ...poll, failure: 'timeout', error: late }, 'warn', 'A poll failed'],
    [{ ...poll, failure: 'circuit_open' }, 'debug', 'A poll failed'],
    [{ ...health, health: 'up' }, 'info', 'The region answers'],
    [{ ...health, health: 'down' }, 'error', 'The region does not answer'],
    [{ ...health, health: 'unauthorized' }, 'error', 'The region refuses the token'],
    [{ ...logs, what: 'recovered' }, 'warn', 'An audit found entries that the polls had missed'],
    [{ ...logs, what: 'missing' }, 'error', 'The service counts entries that it does not return'],
    [
      { what: 'counts_untrue', region: 'eu', feed: 'bird_log', stream: 'logs/7' },
      'warn',
      'The counts of a stream are wrong: audits read its entries instead',
    ],
    [{ ...logs, what: 'quarantined', reason: 'x' }, 'warn', 'Malformed entries were set aside'],
    [{ ...alert, state: 'firing' }, 'warn', 'An alert fires'],
    [{ ...alert, state: 'resolved' }, 'info', 'An alert is resolved'],
    [{ ...sent, outcome: 'delivered' }, 'info', 'A notification was delivered'],
    [{ ...sent, outcome: 'delivered', isForwarded: true }, 'debug', 'Forwarded events were delivered'],
    [{ ...sent, outcome: 'retry' }, 'warn', 'A delivery failed and is retried'],
    [{ ...sent, outcome: 'dead' }, 'error', 'A delivery was given up'],
    [{ ...reload, success: true }, 'info', 'The configuration was read'],
    [
      { ...reload, success: false, mistakes: ['n.yaml:1:1: x: is not a key'] },
      'error',
      'The new configuration has mistakes and changes nothing',
    ],
    [{ ...trouble, error: late }, 'warn', 'A stage had trouble'],
    [{ ...trouble, error: new NestwatchError('disk_full', 'full') }, 'error', 'A stage had trouble'],
    [{ ...trouble, error: new TypeError('x') }, 'error', 'A bug occurred; the work continues'],
  ];
  test.each(table)('%j', (happening, level, message) => {
    const { report, lines } = logTo();
    report(happening);
    expect(lines()).toMatchObject([{ level, message }]);
  });

  test('the health of a region is reported when it changes', () => {
    const { report, lines } = logTo();
    const health = { what: 'region_health', region: 'eu', reason: 'no connection' } as const;
    for (const one of ['up', 'up', 'down', 'down', 'up'] as const) report({ ...health, health: one });
    expect(lines().map((line) => line.level)).toEqual(['info', 'error', 'info']);
  });
});

describe('repeated trouble', () => {
  const late = () => new NestwatchError('timeout', 'No answer');

  test('is reported once a minute with how often it was held back', async () => {
    const { report, lines, clock } = logTo();
    const happen = () => report({ what: 'trouble', stage: 'intake', region: 'eu', error: late() });
    for (let index = 0; index < 100; index += 1) happen();
    expect(lines()).toHaveLength(1);
    expect(lines()[0]).not.toHaveProperty('repeated');
    await clock.advance(59_999);
    happen();
    expect(lines()).toHaveLength(1);
    await clock.advance(1);
    happen();
    expect(lines()[1]).toMatchObject({ repeated: 100 });
  });

  test('does not hide trouble of another stage, region or code, nor another bug', () => {
    const { report, lines } = logTo();
    report({ what: 'trouble', stage: 'intake', region: 'eu', error: late() });
    report({ what: 'trouble', stage: 'intake', region: 'us', error: late() });
    report({ what: 'trouble', stage: 'store', region: 'eu', error: late() });
    report({ what: 'trouble', stage: 'intake', region: 'eu', error: new NestwatchError('not_json', 'HTML') });
    report({ what: 'trouble', stage: 'intake', region: 'eu', error: new TypeError('a') });
    report({ what: 'trouble', stage: 'intake', region: 'eu', error: new TypeError('b') });
    expect(lines()).toHaveLength(6);
  });

  test('is held back for deliveries by receiver and reason', () => {
    const { report, lines } = logTo();
    for (const id of ['a', 'b', 'c']) report({ ...DELIVERY, id, outcome: 'dead', reason: 'rejected' });
    report({ ...DELIVERY, id: 'd', outcome: 'dead', reason: 'rejected', receiver: 'ops' });
    expect(lines().map((line) => line.id)).toEqual(['a', 'd']);
  });
});

describe('errors', () => {
  test('show code, status, problem and causes; only a bug shows its stack', () => {
    const { report, lines } = logTo();
    const cause = Object.assign(new Error('connect failed'), { code: 'ECONNREFUSED' });
    const facts = { status: 502, problem: { title: 'Bad gateway' } };
    report({
      what: 'trouble',
      stage: 'intake',
      error: new NestwatchError('unavailable', 'No', { cause, facts }),
    });
    report({ what: 'trouble', stage: 'web', error: new RangeError('x', { cause: 'because' }) });
    const [foreseen, bug] = lines().map((line) => line.error as Record<string, unknown>);
    expect(foreseen).toEqual({
      code: 'unavailable',
      message: 'No',
      status: 502,
      problem: { title: 'Bad gateway' },
      cause: { name: 'Error', system_code: 'ECONNREFUSED', message: 'connect failed' },
    });
    expect(bug).toMatchObject({ code: 'bug', name: 'RangeError', message: 'x', cause: 'because' });
    expect((bug!.stack as string[])[1]).toContain('log.test.ts');
  });

  test('that are their own cause end', () => {
    const { warn, lines } = logTo();
    const error = new Error('loop');
    error.cause = error;
    warn('x', { error });
    expect(lines()).toHaveLength(1);
  });
});

describe('secrets', () => {
  const CANARY = 'canary-4711';

  test.each([
    ['in a secret', { token: secret(CANARY), other: secret(CANARY) }],
    ['under a name that tells it', { api_key: CANARY, nested: { headers: { Authorization: CANARY } } }],
    ['in lists', { all: [{ password: CANARY }, { Cookie: CANARY }] }],
    [
      'in an address',
      { url: `https://hooks.example.com/services/${CANARY}`, at: `see http://u:${CANARY}@h/x` },
    ],
    [
      'in an address behind other letters',
      { a: `${'x'.repeat(30)}https://u:${CANARY}@h/x`, b: `1_https://h.example/${CANARY}` },
    ],
    [
      'in a login that holds an @',
      {
        a: `postgres://u:pa@${CANARY}@h/x`,
        b: `postgres://u:pa@${CANARY}@/x?host=/run`,
        c: `https://${CANARY}@`,
      },
    ],
    ['in the query of an address', { url: `wss://h.example/?key=${CANARY}` }],
    ['in a header that was printed', { text: `authorization: ${CANARY}` }],
    ['in a bearer token', { text: `Bearer ${CANARY}` }],
    ['in a signing secret', { text: 'whsec_canary4711AAAA', note: '' }],
    ['in an error', { error: new Error(`GET https://h.example/${CANARY} failed`) }],
    ['in a cause', { error: new Error('x', { cause: new Error(`token=${CANARY}`) }) }],
    ['in an own field of a cause', { error: new Error('x', { cause: { secret: CANARY } }) }],
    [
      'in a problem',
      { error: new NestwatchError('bad_request', 'x', { facts: { problem: { token: CANARY } } }) },
    ],
  ])('%s are not written', (_, data) => {
    for (const format of ['json', 'pretty'] as const) {
      const { error, text } = logTo({ format });
      error('x', data);
      expect(text()).not.toMatch(/canary-?4711/);
      expect(text()).toContain('x');
    }
  });

  test.each([
    'token: canary4711',
    'token: canary',
    'token:canary of eu: ',
    'token=canary of eu: down',
    '{"token": "canary of eu: down"}',
    "password: 'canary' of eu: down",
    'password: canary is wrong',
    'the password: canary of the mail server',
    'api_key: canary must be another',
    'secret: is-canary',
    'password: is-canary must be another',
    'authorization: canary\nof eu: next',
    'token: canary4711 of eu: down',
    'the server sent access_token=canary and no more',
    'smtp_auth_password: canary',
    '{"client_secret":"canary"}',
    'X-Api-Key: canary',
  ])('in a sentence are not written: %j', (text) => {
    const { info, lines } = logTo();
    info('x', { text });
    expect(String(lines()[0]!.text)).not.toContain('canary');
  });

  test.each([
    'EU refuses the token: searchNests of eu: the service answered 401.',
    'Region eu refuses the token: getBirdLogs of us-2: the service answered 403',
    'regions.eu.token: is missing, or give token_file',
    'receivers[0].webhook_configs[0].secret: must be a text',
    'unreachable: no access token: connect ECONNREFUSED 127.0.0.1:1',
    'no access token: the server answered 400',
    'smtp_auth_password: cannot be read',
  ])('a sentence about one is unchanged: %s', (text) => {
    const { info, lines } = logTo();
    info('x', { text });
    expect(lines()).toMatchObject([{ text }]);
  });

  test('what only resembles one is unchanged', () => {
    const { info, lines } = logTo();
    info('x', { bird: 'Token of thanks', url: 'https://eu-1.blackbird.io/api-rest', region: 'eu' });
    expect(lines()).toMatchObject([
      { bird: 'Token of thanks', url: 'https://eu-1.blackbird.io/…', region: 'eu' },
    ]);
  });

  test('texts of the service take no longer to clean than they are long', () => {
    const { error } = logTo();
    const text = 'a-'.repeat(4_000);
    const spentMs = countProcessorMs();
    error('x', { texts: Array.from({ length: 8 }, () => text) });
    expect(spentMs()).toBeLessThan(250);
  });

  test('endless data is cut off', () => {
    const { info, text } = logTo();
    const loop: Record<string, unknown> = { name: 'a'.repeat(100_000) };
    loop.self = loop;
    info('x', { loop, many: Array.from({ length: 10_000 }, () => 'b') });
    expect(text().length).toBeLessThan(30_000);
  });
});

test('while the server of the store is unavailable, the first line says it for all stages', () => {
  const { report, lines } = logTo({ level: 'info' });
  const error = new NestwatchError('store_down', 'The store cannot be reached.');
  const impaired = {
    what: 'impaired',
    reason: 'store_failing',
    severity: 'critical',
    summary: 'The store is away.',
  } as const;
  const said = () => lines().map(({ message, stage, reason }) => [message, stage ?? reason]);
  for (let times = 0; times < 2; times += 1) {
    report({ what: 'trouble', stage: 'delivery', error });
    report({ what: 'trouble', stage: 'alerting', error });
    report({
      ...{ what: 'poll', region: 'eu', feed: 'flight', durationMs: 1, atUs: 0 },
      ...{ failure: 'store_down', error },
    } as const);
    report({ ...impaired, isOver: false });
    report({ what: 'trouble', stage: 'store', error: new NestwatchError('store_failed', 'damaged') });
    report({ ...impaired, isOver: true });
  }
  const once = [
    ['A stage had trouble', 'delivery'],
    ['A stage had trouble', 'store'],
    ['The watch is no longer impaired by this', 'store_failing'],
  ];
  // Within a minute, a line of the same kind is held back.
  expect(said()).toEqual([...once, once[2]]);
  // Health reports every other failure of the store.
  report({ ...impaired, isOver: false });
  expect(said().at(-1)).toEqual(['The watch is impaired', 'store_failing']);
});

test('an outage of the store is written although a shorter one before it was never found to impair the watch', async () => {
  const { report, lines, clock } = logTo({ level: 'info' });
  const error = new NestwatchError('store_down', 'The store cannot be reached.');
  const trouble: Happening = { what: 'trouble', stage: 'store', error };
  report(trouble);
  await clock.advance(3_600_000);
  report(trouble);
  await clock.advance(10_000);
  report(trouble);
  expect(lines().map(({ message }) => message)).toEqual(['A stage had trouble', 'A stage had trouble']);
});
