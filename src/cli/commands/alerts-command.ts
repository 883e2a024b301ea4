import * as z from 'zod';
import type { Edge } from '../../process-io.ts';
import { filterParameters, readMatcherArguments } from '../command-arguments.ts';
import { type DaemonOptions, daemonJson } from '../daemon-client.ts';
import { filterArguments } from '../list-filters.ts';
import { type Columns, jsonText, type Layout, layoutOf, shown, table } from '../terminal-text.ts';

interface AlertsOptions extends DaemonOptions {
  readonly active: boolean;
  readonly silenced: boolean;
  readonly inhibited: boolean;
  /** A regular expression. */
  readonly receiver: string | undefined;
  readonly utc?: boolean;
  readonly json: boolean;
}

const alertsShape = z.array(
  z.looseObject({
    id: z.string(),
    labels: z.record(z.string(), z.string()),
    annotations: z.record(z.string(), z.string()).default({}),
    startsAt: z.string(),
    status: z.looseObject({ state: z.string() }),
  }),
);
export type DaemonAlert = z.output<typeof alertsShape>[number];

/** The most alerts that one answer may contain. */
const ASKED = '1000';

/**
 * Filters of every list that are not matchers: a Nest or Bird by its id or part of its name, unless the value is
 * quoted. The other filters, `region` and `severity`, mean the same as matchers.
 */
export const FILTER = /^(?:nest|bird|flight|name|text|since|until)=(?![~"])/;

/** Lists firing alerts. As in amtool, hidden ones are only included on request. */
export async function alerts(edge: Edge, args: readonly string[], options: AlertsOptions): Promise<number> {
  const { active, silenced, inhibited, receiver } = options;
  const filters = args.filter((arg) => FILTER.test(arg));
  const query = filterParameters(readMatcherArguments(args.filter((arg) => !FILTER.test(arg))));
  query.set('active', String(active || !(silenced || inhibited)));
  query.set('silenced', String(silenced));
  query.set('inhibited', String(inhibited));
  if (receiver !== undefined) query.set('receiver', receiver);
  const { data } = await matchingAlerts(edge, options, query);
  const ids = filters.length > 0 ? await idsOf(edge, options, filters) : undefined;
  const list = ids ? data.filter(({ id }) => ids.has(id)) : data;
  edge.stdout.write(options.json ? jsonText(list) : alertTable(list, layoutOf(edge, options)));
  return 0;
}

/** The ids of the alerts that match the filters. */
async function idsOf(edge: Edge, options: DaemonOptions, filters: readonly string[]): Promise<Set<string>> {
  const query = filterArguments(filters, 'silences');
  query.set('state', 'firing');
  query.set('limit', ASKED);
  const shape = z.object({ alerts: z.array(z.object({ id: z.string() })), next: z.string().optional() });
  const ids = new Set<string>();
  for (;;) {
    const { data } = await daemonJson(
      edge,
      options,
      { method: 'GET', path: `/api/v1/alerts?${query}` },
      shape,
    );
    for (const { id } of data.alerts) ids.add(id);
    if (data.next === undefined) return ids;
    query.set('cursor', data.next);
  }
}

/** The firing alerts that these matchers would hide. */
export async function matchingAlerts(
  edge: Edge,
  options: DaemonOptions,
  filter: URLSearchParams,
): Promise<{ readonly json: unknown; readonly data: readonly DaemonAlert[] }> {
  return daemonJson(edge, options, { method: 'GET', path: `/api/v2/alerts?${filter}` }, alertsShape);
}

const SEVERITIES = ['info', 'warning', 'critical'];

const COLUMNS: Columns<DaemonAlert> = {
  SEVERITY: ({ labels }) => shown(labels.severity ?? ''),
  STARTED: ({ startsAt }) => ({ at: startsAt }),
  ALERTNAME: ({ labels }) => shown(labels.alertname ?? ''),
  STATE: ({ status }) => status.state,
  SUMMARY: ({ annotations }) => shown(annotations.summary ?? ''),
  MESSAGE: ({ annotations }) => shown(annotations.description ?? ''),
};

/** The severest first, and of these the latest. */
export function alertTable(list: readonly DaemonAlert[], layout?: Layout): string {
  if (list.length === 0) return 'No alerts.\n';
  const rank = ({ labels }: DaemonAlert) => SEVERITIES.indexOf(labels.severity ?? '');
  const sorted = list.toSorted((a, b) => rank(b) - rank(a) || (a.startsAt < b.startsAt ? 1 : -1));
  return table(COLUMNS, sorted, layout, { least: ['STATE', 'ALERTNAME'] });
}
