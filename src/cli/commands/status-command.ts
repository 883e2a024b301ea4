/** Says how the running daemon is: to people, and to what supervises it. */
import { NestwatchError } from '../../errors.ts';
import type { Edge } from '../../process-io.ts';
import type { DeliveryState } from '../../store/outbox-store.ts';
import { ago, howMany } from '../../text/instant-words.ts';
import { plainText } from '../../text/plain-text.ts';
import type { Clock } from '../../time/clock.ts';
import { parseInstant } from '../../time/instant.ts';
import type { healthJson } from '../../web/api/alert-json.ts';
import type { configurationJson, regionJson, replicaJson } from '../../web/api/api-v1.ts';
import { type Answer, EXIT } from '../command-rows.ts';
import { askAnyDaemon, daemonJson, type PrintOptions } from '../daemon-client.ts';
import { type Layout, layoutOf, shown, table, wrapped } from '../terminal-text.ts';

interface Status {
  readonly version: string;
  readonly started_at: string;
  readonly configuration: ReturnType<typeof configurationJson>;
  readonly health: ReturnType<typeof healthJson>;
  readonly regions: readonly Region[];
  // Null while the store does not answer.
  readonly replicas: readonly Replica[] | null;
  readonly alerts: readonly AlertCount[] | null;
  readonly deliveries: Readonly<Record<string, Partial<Record<DeliveryState, number>>>> | null;
}
type Replica = ReturnType<typeof replicaJson>;
type AlertCount = { alertname: string; severity: string; state: string; count: number };
type Region = ReturnType<typeof regionJson>;

/** Exits with 1 while something impairs the watch. */
export async function status(edge: Edge, options: PrintOptions): Promise<Answer> {
  const view = await daemonJson<Status>(edge, options, { path: '/api/v1/status' }, 'regions');
  const text = statusText(view, edge.clock, layoutOf(edge, {}));
  return { json: view, text, exit: view.health.impairments.length > 0 ? EXIT.failed : 0 };
}

function healthText(
  { health }: Status,
  since: (text: string | null) => string,
  width = Number.POSITIVE_INFINITY,
): string {
  const known = health.alerts?.firing ?? 0;
  if (health.quiet) return known > 0 ? `${howMany(known, 'known alert')}.\n` : 'All quiet.\n';
  const waiting = health.alerts?.unacknowledged ?? 0;
  const firing =
    waiting > 0 ? `${howMany(waiting, 'active alert')} neither acknowledged nor silenced.\n` : '';
  if (health.impairments.length === 0) return firing;
  const items = health.impairments.map((one) =>
    [
      `  ${shown(one.severity)} ${shown(one.reason)}, since ${since(one.since)}`,
      wrapped(`    ${shown(one.summary)}`, width, 4),
      wrapped(`    ${shown(one.action)}`, width, 4),
    ].join('\n'),
  );
  return `${firing}The watch is impaired:\n${items.join('\n')}\n`;
}

function statusText(view: Status, clock: Clock, layout: Layout): string {
  const since = (text: string | null) => age(text, clock);
  const feeds = view.regions.flatMap(({ region, feeds: all, reads }) =>
    all.map((feed) => ({ region, ...feed, reads: reads.find((one) => one.feed === feed.feed) })),
  );
  const firing = view.alerts?.filter(({ state }) => state === 'firing') ?? [];
  const deliveries = Object.entries(view.deliveries ?? {});
  return [
    `nestwatch ${shown(view.version)}, started ${since(view.started_at)}\n${healthText(view, since, layout.width)}${configurationText(view, clock)}`,
    table<Region>(
      {
        REGION: ({ region }) => shown(region),
        STATE: ({ health }) => shown(health),
        SINCE: (one) => since(one.since),
        NESTS: ({ nests }) => String(nests),
        BIRDS: ({ birds }) => String(birds),
        'REQUESTS/S': (one) => one.requests_per_second.toFixed(1),
        REASON: ({ health, reason }) => (health === 'up' ? '' : shown(reason)),
      },
      view.regions,
      layout,
      { none: '', least: ['REQUESTS/S', 'SINCE'] },
    ),
    table<(typeof feeds)[number]>(
      {
        REGION: ({ region }) => shown(region),
        FEED: ({ feed }) => shown(feed),
        STREAMS: ({ streams }) => String(streams),
        OVERDUE: ({ reads }) => String(reads?.overdue ?? '-'),
        'OLDEST READING': ({ reads }) => since(reads?.oldest_read ?? null),
        'COMPLETE TO': (one) => since(one.verified_until),
        'ACTIVE FLIGHTS': (one) => (one.feed === 'flight' ? String(one.open_flights) : '-'),
      },
      feeds,
      layout,
      { none: '', least: ['ACTIVE FLIGHTS', 'STREAMS'] },
    ),
    ...(view.replicas?.length ? [replicasText(view.replicas, since, layout)] : []),
    firing.length > 0
      ? table<AlertCount>(
          {
            ALERT: ({ alertname }) => shown(alertname),
            SEVERITY: ({ severity }) => shown(severity),
            FIRING: (one) => String(one.count),
          },
          firing,
          layout,
        )
      : view.alerts
        ? 'No active alerts.\n'
        : 'Alerts are not known while the store does not answer.\n',
    deliveries.length > 0
      ? table<(typeof deliveries)[number]>(
          {
            RECEIVER: ([receiver]) => shown(receiver),
            DELIVERIES: ([, states]) =>
              Object.entries(states)
                .map(([state, total]) => `${total} ${shown(state)}`)
                .join(', '),
          },
          deliveries,
          layout,
        )
      : view.deliveries
        ? 'No deliveries yet.\n'
        : 'Deliveries are not known while the store does not answer.\n',
  ].join('\n');
}

/** The epoch of a region grows each time that it moves from one replica to another. */
function replicasText(
  replicas: readonly Replica[],
  since: (text: string | null) => string,
  layout: Layout,
): string {
  return table<Replica>(
    {
      REPLICA: ({ name }) => shown(name),
      VERSION: ({ version }) => shown(version),
      STARTED: (one) => since(one.started_at),
      STATE: ({ state, own }) => `${shown(state)}${own ? ', this one' : ''}`,
      'READS (EPOCH)': ({ regions }) =>
        regions.map(({ region, epoch }) => `${shown(region)} (${epoch})`).join(', ') || '-',
      ALERTING: ({ alerting }) => (alerting ? 'yes' : ''),
    },
    replicas,
    layout,
    { none: '' },
  );
}

/** Empty if the configuration in force is that of the file. */
function configurationText({ configuration }: Status, clock: Clock): string {
  const { mistakes, needs_restart: keys, read_at: readAt } = configuration;
  if (mistakes.length > 0) {
    const places = mistakes.map((one) => `  ${shown(one)}\n`).join('');
    return `The configuration file has mistakes, so the configuration read ${age(readAt, clock)} stays in force:\n${places}`;
  }
  return keys.length > 0 ? `Changed, and changes only at a restart: ${shown(keys.join(', '))}\n` : '';
}

/** A dash for never. */
function age(text: string | null, clock: Clock): string {
  const at = text ? parseInstant(text) : undefined;
  return at ? ago(at.us, clock.nowUs()) : '-';
}

const HEALTH_TIMEOUT_MS = 3000;

interface Health {
  readonly healthy: boolean;
  readonly working: boolean;
  readonly ready: boolean;
  readonly reasons: readonly string[];
}

/**
 * For containers: prints nothing if the daemon is healthy, and one line otherwise. A daemon that is still starting is
 * healthy; one whose work is interrupted, because its store is full, is not.
 */
export async function healthcheck(edge: Edge, options: PrintOptions): Promise<Answer> {
  const answer = (isHealthy: boolean, ready: boolean, reasons: readonly string[]): Answer => {
    if (!isHealthy) edge.stderr.write(`nestwatch: not healthy: ${plainText(reasons.join(' '), 300)}\n`);
    return { json: { healthy: isHealthy, ready, reasons }, text: '', exit: isHealthy ? 0 : EXIT.failed };
  };
  try {
    const request = { path: '/-/ready', headers: { accept: 'application/json' } };
    const { status, body } = await askAnyDaemon(edge, options, request, HEALTH_TIMEOUT_MS);
    const read = healthIn(body);
    if (read) return answer(read.healthy && read.working, read.ready, read.reasons);
    return answer(false, false, [`HTTP ${status}, and this is not the answer of a nestwatch daemon`]);
  } catch (error) {
    // Only a daemon that does not answer is unhealthy. A wrong command is a different error.
    if (!(error instanceof NestwatchError) || !['unreachable', 'timeout', 'not_json'].includes(error.code))
      throw error;
    return answer(false, false, [error.message]);
  }
}

function healthIn(body: string): Health | undefined {
  try {
    const json: Partial<Health> = JSON.parse(body);
    return Array.isArray(json.reasons) && typeof json.healthy === 'boolean' ? (json as Health) : undefined;
  } catch {
    return undefined;
  }
}
