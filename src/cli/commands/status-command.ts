import * as z from 'zod';
import type { Edge } from '../../process-io.ts';
import { howMany } from '../../text/counts.ts';
import { ago } from '../../text/instant-words.ts';
import type { Clock } from '../../time/clock.ts';
import { parseInstant } from '../../time/instant.ts';
import { type DaemonOptions, daemonJson } from '../daemon-client.ts';
import { jsonText, type Layout, layoutOf, shown, shownSentence, table } from '../terminal-text.ts';

interface StatusOptions extends DaemonOptions {
  readonly json: boolean;
}

/** The daemon may have another version. A missing field is shown as a dash, and a new one is ignored. */
const instant = z.string().nullish();
const impairmentShape = z.object({
  reason: z.string(),
  severity: z.string().default(''),
  since: instant,
  summary: z.string().default(''),
  action: z.string().default(''),
});
const statusShape = z.object({
  version: z.string(),
  started_at: instant,
  health: z
    .object({
      quiet: z.boolean(),
      impairments: z.array(impairmentShape),
      alerts: z.object({ firing: z.number(), unacknowledged: z.number() }).nullish(),
    })
    .nullish(),
  configuration: z
    .object({
      read_at: instant,
      mistakes: z.array(z.string()).default([]),
      needs_restart: z.array(z.string()).default([]),
    })
    .default({ mistakes: [], needs_restart: [] }),
  regions: z.array(
    z.object({
      region: z.string(),
      health: z.string(),
      reason: z.string().default(''),
      since: instant,
      requests_per_second: z.number().nullish(),
      nests: z.number().nullish(),
      birds: z.number().nullish(),
      feeds: z
        .array(
          z.object({
            feed: z.string(),
            cursor: instant,
            last_success: instant,
            streams: z.number().nullish(),
            open_flights: z.number().nullish(),
            verified_until: instant,
          }),
        )
        .default([]),
      reads: z
        .array(z.object({ feed: z.string(), overdue: z.number().nullish(), oldest_read: instant }))
        .default([]),
    }),
  ),
  replicas: z
    .array(
      z.object({
        name: z.string(),
        own: z.boolean().default(false),
        version: z.string().default(''),
        started_at: instant,
        state: z.string().default(''),
        alerting: z.boolean().default(false),
        regions: z.array(z.object({ region: z.string(), epoch: z.number().nullish() })).default([]),
      }),
    )
    .default([]),
  alerts: z
    .array(z.object({ alertname: z.string(), severity: z.string(), state: z.string(), count: z.number() }))
    .default([]),
  deliveries: z.record(z.string(), z.record(z.string(), z.number())).default({}),
});
type Status = z.output<typeof statusShape>;
type Region = Status['regions'][number];

/** A daemon of an earlier version does not report its health, which is not a failure. */
export async function status(edge: Edge, options: StatusOptions): Promise<number> {
  const { json, data } = await daemonJson(
    edge,
    options,
    { method: 'GET', path: '/api/v1/status' },
    statusShape,
  );
  edge.stdout.write(options.json ? jsonText(json) : statusText(data, edge.clock, layoutOf(edge, {})));
  return (data.health?.impairments ?? []).length > 0 ? IMPAIRED : 0;
}

const IMPAIRED = 1;

function healthText({ health }: Status, since: (text: string | null | undefined) => string): string {
  if (!health) return '';
  if (health.quiet) return 'All quiet.\n';
  const waiting = health.alerts?.unacknowledged ?? 0;
  const firing =
    waiting > 0 ? `${howMany(waiting, 'active alert')} neither acknowledged nor silenced.\n` : '';
  if (health.impairments.length === 0) return firing;
  const items = health.impairments.map((one) =>
    [
      `  ${shown(one.severity)} ${shown(one.reason)}, since ${since(one.since)}`,
      `    ${shownSentence(one.summary)}`,
      `    ${shownSentence(one.action)}`,
    ].join('\n'),
  );
  return `${firing}The watch is impaired:\n${items.join('\n')}\n`;
}

function statusText(view: Status, clock: Clock, layout: Layout): string {
  const since = (text: string | null | undefined) => age(text, clock);
  const feeds = view.regions.flatMap(({ region, feeds: all, reads }) =>
    all.map((feed) => ({ region, ...feed, reads: reads.find((one) => one.feed === feed.feed) })),
  );
  const firing = view.alerts.filter(({ state }) => state === 'firing');
  const deliveries = Object.entries(view.deliveries);
  return [
    `nestwatch ${shown(view.version)}, started ${since(view.started_at)}\n${healthText(view, since)}${configurationText(view, clock)}`,
    table<Region>(
      {
        REGION: ({ region }) => shown(region),
        STATE: ({ health }) => shown(health),
        SINCE: (one) => since(one.since),
        NESTS: ({ nests }) => count(nests),
        BIRDS: ({ birds }) => count(birds),
        'REQUESTS/S': (one) => one.requests_per_second?.toFixed(1) ?? '-',
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
        STREAMS: ({ streams }) => count(streams),
        OVERDUE: ({ reads }) => count(reads?.overdue),
        'OLDEST READING': ({ reads }) => since(reads?.oldest_read),
        'READ UP TO': ({ cursor }) => since(cursor),
        'COMPLETE TO': (one) => since(one.verified_until),
        'ACTIVE FLIGHTS': (one) => (one.feed === 'flight' ? count(one.open_flights) : ''),
      },
      feeds,
      layout,
      { none: '', least: ['ACTIVE FLIGHTS', 'STREAMS'] },
    ),
    ...(view.replicas.length > 0 ? [replicasText(view, since, layout)] : []),
    firing.length > 0
      ? table<Status['alerts'][number]>(
          {
            ALERT: ({ alertname }) => shown(alertname),
            SEVERITY: ({ severity }) => shown(severity),
            FIRING: (one) => String(one.count),
          },
          firing,
          layout,
        )
      : 'No active alerts.\n',
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
      : 'No deliveries yet.\n',
  ].join('\n');
}

/** The epoch of a region grows each time that it moves from one replica to another. */
function replicasText(
  { replicas }: Status,
  since: (text: string | null | undefined) => string,
  layout: Layout,
): string {
  return table<Status['replicas'][number]>(
    {
      REPLICA: ({ name }) => shown(name),
      VERSION: ({ version }) => shown(version),
      STARTED: (one) => since(one.started_at),
      STATE: ({ state, own }) => `${shown(state)}${own ? ', this one' : ''}`,
      'READS (EPOCH)': ({ regions }) =>
        regions.map(({ region, epoch }) => `${shown(region)} (${count(epoch)})`).join(', ') || '-',
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

function count(value: number | null | undefined): string {
  return value === null || value === undefined ? '-' : String(value);
}

/** A dash for never. */
function age(text: string | null | undefined, clock: Clock): string {
  const at = text ? parseInstant(text) : undefined;
  return at ? ago(at.us, clock.nowUs()) : '-';
}
