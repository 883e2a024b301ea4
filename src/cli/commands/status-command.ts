import * as z from 'zod';
import type { Edge } from '../../process-io.ts';
import { ago } from '../../text/instant-words.ts';
import type { Clock } from '../../time/clock.ts';
import { parseInstant } from '../../time/instant.ts';
import { type DaemonOptions, daemonJson } from '../daemon-client.ts';
import { table } from '../table.ts';
import { jsonText, shown } from '../terminal-text.ts';

interface StatusOptions extends DaemonOptions {
  readonly json: boolean;
}

/** The daemon may be of another version: what is missing shows as a dash, and what is new is passed over. */
const instant = z.string().nullish();
const statusShape = z.object({
  version: z.string(),
  started_at: instant,
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
    }),
  ),
  alerts: z
    .array(z.object({ alertname: z.string(), severity: z.string(), state: z.string(), count: z.number() }))
    .default([]),
  deliveries: z.record(z.string(), z.record(z.string(), z.number())).default({}),
});
type Status = z.output<typeof statusShape>;

export async function status(edge: Edge, options: StatusOptions): Promise<number> {
  const { json, data } = await daemonJson(
    edge,
    options,
    { method: 'GET', path: '/api/v1/status' },
    statusShape,
  );
  edge.stdout.write(options.json ? jsonText(json) : statusText(data, edge.clock));
  return 0;
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
      since(feed.last_success),
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
    `nestwatch ${shown(view.version)}, started ${since(view.started_at)}\n`,
    table([['REGION', 'STATE', 'SINCE', 'NESTS', 'BIRDS', 'REQUESTS/S', 'REASON'], ...regions]),
    table([
      ['REGION', 'FEED', 'STREAMS', 'LAST READ', 'READ UP TO', 'COMPLETE TO', 'ACTIVE FLIGHTS'],
      ...feeds,
    ]),
    alerts.length > 0 ? table([['ALERT', 'SEVERITY', 'FIRING'], ...alerts]) : 'No active alerts.\n',
    deliveries.length > 0 ? table([['RECEIVER', 'DELIVERIES'], ...deliveries]) : 'No deliveries yet.\n',
  ].join('\n');
}

function count(value: number | null | undefined): string {
  return value === null || value === undefined ? '-' : String(value);
}

/** A dash for never. */
function age(text: string | null | undefined, clock: Clock): string {
  const at = text ? parseInstant(text) : undefined;
  return at ? ago(at.us, clock.nowUs()) : '-';
}
