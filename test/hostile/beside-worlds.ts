/**
 * Limits that no hostile world reaches in its short time. The part that keeps the limit is given more than it allows.
 */
import { loadConfig } from '../../src/config/load-config.ts';
import { ConfigError } from '../../src/document/problem.ts';
import { DEFAULT_RULES } from '../../src/domain/kinds/kinds.ts';
import { createConnectionPools } from '../../src/http/connection-pools.ts';
import { retryAfterMs } from '../../src/http/server-time.ts';
import { createLog } from '../../src/observe/log.ts';
import { createMetrics } from '../../src/observe/metrics.ts';
import type { Happening } from '../../src/report.ts';
import { createPasswordCheck } from '../../src/web/access/identify.ts';
import { createGate } from '../../src/web/bounded-work.ts';
import { createPush } from '../../src/web/push.ts';
import { NOTHING, textOf } from '../observe/scraped.ts';
import { createVirtualClock } from '../virtual-clock.ts';

const MANY = 5_000;
const DAY_MS = 86_400_000;
const MOST_SERIES = 1_200;

/** What a scrape contains of one metric, after these happenings and with these alerts. */
async function mistakeInSeries(
  metric: string,
  happenings: readonly Happening[],
  firing: (typeof NOTHING)['firing'] = [],
): Promise<string | undefined> {
  const metrics = createMetrics({
    version: '',
    revision: '',
    nodeVersion: '',
    clock: createVirtualClock(),
    regions: ['eu'],
    operations: [],
    receivers: [],
    rules: DEFAULT_RULES,
    collect: async () => ({ ...NOTHING, firing }),
    longestTurnMs: () => 0,
    processMetrics: false,
  });
  for (const happening of happenings) metrics.report(happening);
  const lines = (await textOf(metrics.render())).split('\n').filter((line) => line.startsWith(metric));
  return lines.length > MOST_SERIES ? `${metric} has ${lines.length} series` : undefined;
}

const numbers = Array.from({ length: MANY }, (_, at) => at);
const ended = (nestId: string, cause: string): Happening => ({
  what: 'flight',
  region: 'eu',
  nestId,
  birdId: '1',
  status: 'failed',
  atUs: 1,
  eventKey: 'eu/flight/1/failed',
  durationMs: 1,
  cause,
});

export const manyNests = () =>
  mistakeInSeries(
    'nestwatch_flight_duration_seconds_count',
    numbers.map((at) => ended(`n${at}`, '')),
  );

export const manyCauses = () =>
  mistakeInSeries(
    'nestwatch_flight_failures_total',
    numbers.map((at) => ended('1', `cause ${at}`)),
  );

export const manyFiring = () =>
  mistakeInSeries(
    'nestwatch_alerts_firing',
    [],
    numbers.map((at) => ({
      alertname: 'FlightFailed',
      severity: 'x',
      region: 'eu',
      nestId: `n${at}`,
      count: 1,
    })),
  );

/** For a configuration that must be refused. */
function mistakeInTaking(text: string): string | undefined {
  try {
    loadConfig({ file: 'n.yaml', text, environment: {}, readFile: () => '' });
    return `it is taken: ${text.slice(0, 200)}`;
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}

const region = (more: string) => `regions: { eu: { base_url: "https://x.example", token: x${more} } }`;

export const manyBirdsShown = async () => mistakeInTaking(`${region('')}\nmetrics: { max_birds: 50000 }`);

export const longLinks = async () =>
  mistakeInTaking(region(`, links: { nest: "https://x.example/${'x'.repeat(5_000)}/{{ nest_id }}" }`));

export async function longRetryAfter(): Promise<string | undefined> {
  const waitMs = retryAfterMs({ headers: { 'retry-after': '9'.repeat(9) } }, 0) ?? 0;
  return waitMs > DAY_MS ? `a receiver is left alone for ${waitMs / DAY_MS} days` : undefined;
}

const UNREAD_LINES = 20_000;

export async function unreadLog(): Promise<string | undefined> {
  let writableLength = 0;
  const stream = {
    get writableLength() {
      return writableLength;
    },
    write: (text: string) => (writableLength += text.length),
  };
  const log = createLog({ level: 'info', format: 'json', stream, clock: createVirtualClock() });
  for (let line = 0; line < UNREAD_LINES; line += 1) log.info('A line', { words: 'x'.repeat(1_000) });
  return writableLength > 10e6 ? `${writableLength} bytes of the log wait to be read` : undefined;
}

const MOST_ORIGINS = 500;

export async function manyOrigins(): Promise<string | undefined> {
  const pools = createConnectionPools({
    connections: 1,
    connectTimeoutMs: 1_000,
    timeoutMs: 1_000,
    maxBodyBytes: 1_000,
  });
  const all = numbers.map((at) => pools.to(new URL(`http://receiver-${at}.example`)));
  // Closing a connection takes a turn of the event loop.
  await new Promise(setImmediate);
  const open = all.filter((one) => !('closed' in one && one.closed)).length;
  await pools.destroy();
  return open > MOST_ORIGINS ? `connections to ${open} servers are kept` : undefined;
}

const PASSWORDS = 100;

export async function manyPasswords(): Promise<string | undefined> {
  const { check } = createPasswordCheck();
  const hash = `$scrypt$ln=14,r=8,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`;
  const answers = await Promise.allSettled(
    Array.from({ length: PASSWORDS }, (_, at) => check('ann', `guess ${at}`, hash)),
  );
  const busy = answers.filter((one) => one.status === 'fulfilled' && one.value === 'busy').length;
  return busy === 0 ? `${PASSWORDS} passwords waited to be compared` : undefined;
}

export async function manyRequests(): Promise<string | undefined> {
  let refused = 0;
  const gate = createGate(() => {
    refused += 1;
  });
  const opened = Promise.withResolvers<void>();
  const asked = numbers.map(() => gate(() => opened.promise).catch(() => {}));
  opened.resolve();
  await Promise.all(asked);
  return refused === 0 ? `${MANY} requests waited for the store` : undefined;
}

/** Without a limit of their own, pages that follow changes may take half of the connections. */
const MOST_FOLLOWERS = 100;

export async function manyFollowers(): Promise<string | undefined> {
  const push = createPush(createVirtualClock(), 1_000_000);
  const taken = numbers.filter(() => push.open() !== undefined).length;
  push.end();
  return taken > MOST_FOLLOWERS ? `${taken} pages followed at once` : undefined;
}
