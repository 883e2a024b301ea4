import * as z from 'zod';
import type { Edge } from '../../process-io.ts';
import { howMany } from '../../text/counts.ts';
import { ago } from '../../text/instant-words.ts';
import type { Clock } from '../../time/clock.ts';
import { parseInstant } from '../../time/instant.ts';
import { type DaemonOptions, daemonJson } from '../daemon-client.ts';
import { table } from '../table.ts';
import { jsonText, shown, shownSentence } from '../terminal-text.ts';

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

/** A daemon of an earlier version does not report its health, which is not a failure. */
export async function status(edge: Edge, options: StatusOptions): Promise<number> {
  const { json, data } = await daemonJson(
    edge,
    options,
    { method: 'GET', path: '/api/v1/status' },
    statusShape,
  );
  edge.stdout.write(options.json ? jsonText(json) : statusText(data, edge.clock));
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

function statusText(view: Status, clock: Clock): string {
  const since = (text: string | null | undefined) => age(text, clock);
  const regions = view.regions.map((one) => [
    shown(one.region),
    shown(one.health),
    since(one.since),
    count(one.nests),
    count(one.birds),
    one.requests_per_second?.toFixed(1) ?? '-',
    one.health === 'up' ? '' : shown(one.reason),
  ]);
  const feeds = view.regions.flatMap((one) =>
    one.feeds.map((feed) => [
      shown(one.region),
      shown(feed.feed),
      count(feed.streams),
      count(one.reads.find((reads) => reads.feed === feed.feed)?.overdue),
      since(one.reads.find((reads) => reads.feed === feed.feed)?.oldest_read),
      since(feed.cursor),
      since(feed.verified_until),
      feed.feed === 'flight' ? count(feed.open_flights) : '',
    ]),
  );
  const firing = view.alerts.filter(({ state }) => state === 'firing');
  const alerts = firing.map((one) => [shown(one.alertname), shown(one.severity), String(one.count)]);
  const deliveries = Object.entries(view.deliveries).map(([receiver, states]) => [
    shown(receiver),
    Object.entries(states)
      .map(([state, total]) => `${total} ${shown(state)}`)
      .join(', '),
  ]);
  return [
    `nestwatch ${shown(view.version)}, started ${since(view.started_at)}\n${healthText(view, since)}${configurationText(view, clock)}`,
    table([['REGION', 'STATE', 'SINCE', 'NESTS', 'BIRDS', 'REQUESTS/S', 'REASON'], ...regions]),
    table([
      [
        'REGION',
        'FEED',
        'STREAMS',
        'OVERDUE',
        'OLDEST READING',
        'READ UP TO',
        'COMPLETE TO',
        'ACTIVE FLIGHTS',
      ],
      ...feeds,
    ]),
    ...(view.replicas.length > 0 ? [replicasText(view, since)] : []),
    alerts.length > 0 ? table([['ALERT', 'SEVERITY', 'FIRING'], ...alerts]) : 'No active alerts.\n',
    deliveries.length > 0 ? table([['RECEIVER', 'DELIVERIES'], ...deliveries]) : 'No deliveries yet.\n',
  ].join('\n');
}

/** The epoch of a region grows each time that it moves from one replica to another. */
function replicasText({ replicas }: Status, since: (text: string | null | undefined) => string): string {
  const rows = replicas.map((one) => [
    shown(one.name),
    shown(one.version),
    since(one.started_at),
    `${shown(one.state)}${one.own ? ', this one' : ''}`,
    one.regions.map(({ region, epoch }) => `${shown(region)} (${count(epoch)})`).join(', ') || '-',
    one.alerting ? 'yes' : '',
  ]);
  return table([['REPLICA', 'VERSION', 'STARTED', 'STATE', 'READS (EPOCH)', 'ALERTING'], ...rows]);
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
