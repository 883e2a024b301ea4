import * as z from 'zod';
import type { Edge } from '../../process-io.ts';
import { type DaemonOptions, daemonJson } from '../daemon-client.ts';
import { filterParameters, readMatcherArguments } from '../matcher-arguments.ts';
import { table } from '../table.ts';
import { jsonText, shown, shownTime } from '../terminal-text.ts';

interface AlertsOptions extends DaemonOptions {
  readonly active: boolean;
  readonly silenced: boolean;
  readonly inhibited: boolean;
  /** A regular expression. */
  readonly receiver: string | undefined;
  readonly json: boolean;
}

const alertsShape = z.array(
  z.object({
    labels: z.record(z.string(), z.string()),
    annotations: z.record(z.string(), z.string()).default({}),
    startsAt: z.string(),
    status: z.object({ state: z.string() }),
  }),
);
type DaemonAlert = z.output<typeof alertsShape>[number];

/** The alerts that fire. As for amtool, those that nothing hides, unless hidden ones are asked for. */
export async function alerts(edge: Edge, args: readonly string[], options: AlertsOptions): Promise<number> {
  const { active, silenced, inhibited, receiver } = options;
  const query = filterParameters(readMatcherArguments(args));
  query.set('active', String(active || !(silenced || inhibited)));
  query.set('silenced', String(silenced));
  query.set('inhibited', String(inhibited));
  if (receiver !== undefined) query.set('receiver', receiver);
  const { json, data } = await daemonJson(
    edge,
    options,
    { method: 'GET', path: `/api/v2/alerts?${query}` },
    alertsShape,
  );
  edge.stdout.write(options.json ? jsonText(json) : alertTable(data));
  return 0;
}

/** The alerts that fire and that these matchers would hide. */
export async function matchingAlerts(
  edge: Edge,
  options: DaemonOptions,
  filter: URLSearchParams,
): Promise<{ readonly json: unknown; readonly data: readonly DaemonAlert[] }> {
  return daemonJson(edge, options, { method: 'GET', path: `/api/v2/alerts?${filter}` }, alertsShape);
}

export function alertTable(list: readonly DaemonAlert[]): string {
  if (list.length === 0) return 'No alerts.\n';
  const rows = list
    .toSorted((a, b) => (a.startsAt < b.startsAt ? -1 : 1))
    .map(({ labels, annotations, startsAt, status }) => [
      shown(labels.alertname ?? ''),
      shown(labels.severity ?? ''),
      shown(labels.region ?? ''),
      shownTime(startsAt),
      status.state,
      shown(annotations.summary ?? ''),
    ]);
  return table([['ALERTNAME', 'SEVERITY', 'REGION', 'STARTED', 'STATE', 'SUMMARY'], ...rows]);
}
