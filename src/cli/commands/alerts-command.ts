/** Lists the alerts that fire, and goes on to tell which begin and end. */
import { severityRank } from '../../domain/alert/alert.ts';
import { DaemonError } from '../../errors.ts';
import type { Edge } from '../../process-io.ts';
import { sleep } from '../../time/clock.ts';
import type { GettableAlert } from '../../web/api/alertmanager-json.ts';
import { abortAtSignal } from '../at-terminal.ts';
import { filterArguments, filterParameters, readMatcherArguments } from '../command-arguments.ts';
import type { Answer } from '../command-rows.ts';
import { type DaemonOptions, daemonJson, type PrintOptions } from '../daemon-client.ts';
import { type Layout, layoutOf, shown } from '../terminal-text.ts';
import { listText, type PrintedList } from './printed-lists.ts';

interface AlertsOptions extends PrintOptions {
  readonly active: boolean;
  readonly silenced: boolean;
  readonly inhibited: boolean;
  /** A regular expression. */
  readonly receiver: string | undefined;
}

/** The most alerts that one answer may contain. */
const ASKED = '1000';

/**
 * Filters of every list that are not matchers: a Nest or Bird by its id or part of its name, unless the value is
 * quoted. The other filters, `region` and `severity`, mean the same as matchers.
 */
export const FILTER = /^(?:nest|bird|flight|name|text|since|until)=(?![~"])/;

/** Lists firing alerts. As in amtool, hidden ones are only included on request; without it, their number is said. */
export async function alerts(edge: Edge, args: readonly string[], options: AlertsOptions): Promise<Answer> {
  const { silenced, inhibited, receiver } = options;
  const active = options.active || !(silenced || inhibited);
  const filters = args.filter((arg) => FILTER.test(arg));
  const query = filterParameters(readMatcherArguments(args.filter((arg) => !FILTER.test(arg))));
  if (receiver !== undefined) query.set('receiver', receiver);
  const firing = await matchingAlerts(edge, options, query);
  const ids = filters.length > 0 ? await idsOf(edge, options, filters) : undefined;
  const found = ids ? firing.filter(({ id }) => ids.has(id)) : firing;
  // As Alertmanager reads these flags.
  const list = found.filter(
    ({ status: { state, silencedBy, inhibitedBy } }) =>
      (active || state !== 'active') &&
      (silenced || silencedBy.length === 0) &&
      (inhibited || inhibitedBy.length === 0),
  );
  const hidden = found.length - list.length;
  if (active && hidden > 0 && !options.json) {
    const are = hidden === 1 ? 'one alert fires that is' : `${hidden} alerts fire that are`;
    edge.stderr.write(
      `nestwatch: ${are} acknowledged, silenced or inhibited: --active --silenced --inhibited lists all\n`,
    );
  }
  return { json: list, text: alertTable(list, layoutOf(edge, options)) };
}

/** The ids of the alerts that match the filters. */
async function idsOf(edge: Edge, options: DaemonOptions, filters: readonly string[]): Promise<Set<string>> {
  const query = filterArguments(filters, 'alerts');
  query.set('state', 'firing');
  query.set('limit', ASKED);
  const ids = new Set<string>();
  for (;;) {
    const asked = { path: `/api/v1/alerts?${query}` };
    const page = await daemonJson<{ alerts: { id: string }[]; next?: string }>(
      edge,
      options,
      asked,
      'alerts',
    );
    for (const { id } of page.alerts) ids.add(id);
    if (page.next === undefined) return ids;
    query.set('cursor', page.next);
  }
}

/** The firing alerts that these matchers would hide. */
export async function matchingAlerts(
  edge: Edge,
  options: DaemonOptions,
  filter: URLSearchParams,
): Promise<readonly GettableAlert[]> {
  return daemonJson(edge, options, { path: `/api/v2/alerts?${filter}` }, 'length');
}

const ALERTS: PrintedList<GettableAlert> = {
  columns: {
    SEVERITY: ({ labels }) => shown(labels.severity ?? ''),
    STARTED: ({ startsAt }) => ({ at: startsAt }),
    ALERTNAME: ({ labels }) => shown(labels.alertname ?? ''),
    STATE: ({ status }) => status.state,
    SUMMARY: ({ annotations }) => shown(annotations.summary ?? ''),
    MESSAGE: ({ annotations }) => shown(annotations.description ?? ''),
  },
  least: ['STATE', 'ALERTNAME'],
  none: 'No alerts.\n',
};

/** The severest first, and of these the latest. */
export function alertTable(list: readonly GettableAlert[], layout: Layout): string {
  const rank = ({ labels }: GettableAlert) => severityRank(labels);
  const sorted = list.toSorted((a, b) => rank(b) - rank(a) || (a.startsAt < b.startsAt ? 1 : -1));
  return listText(ALERTS, sorted, layout);
}

const EVERY_MS = 2_000;

/**
 * Prints the alerts that fire, and then a line for each that begins or ends. A daemon that is away is waited for, which
 * is said once.
 */
export async function watch(edge: Edge, options: PrintOptions): Promise<number> {
  const layout = layoutOf(edge, options);
  const { signal, release } = abortAtSignal(edge);
  const say = (what: string, { annotations }: GettableAlert) =>
    edge.stdout.write(
      `${layout.clock(edge.clock.nowUs())}  ${what.padEnd('critical'.length)}  ${shown(annotations.summary ?? '')}\n`,
    );
  let before: ReadonlyMap<string, GettableAlert> | undefined;
  let isAway = false;
  for (; !signal.aborted; await sleep(edge.clock, EVERY_MS, signal)) {
    const now = await firing(edge, options, signal).catch((error) => {
      // A token that is refused does not mend.
      if (!(error instanceof DaemonError) || error.code === 'unauthorized') throw error;
      if (!isAway && !signal.aborted)
        edge.stderr.write(`nestwatch: waits for the daemon: ${error.message}\n`);
      isAway = true;
    });
    if (!now) continue;
    if (isAway) edge.stderr.write('nestwatch: the daemon answers again\n');
    isAway = false;
    if (!before) edge.stdout.write(alertTable([...now.values()], layout));
    for (const [key, alert] of now)
      if (before?.has(key) === false) say(alert.labels.severity ?? 'fires', alert);
    for (const [key, alert] of before ?? []) if (!now.has(key)) say('ended', alert);
    before = now;
  }
  release();
  return 0;
}

/** The alerts that fire, each episode under its own key. */
async function firing(
  edge: Edge,
  options: DaemonOptions,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, GettableAlert>> {
  const request = { path: '/api/v2/alerts', signal };
  const list = await daemonJson<readonly GettableAlert[]>(edge, options, request, 'length');
  return new Map(list.map((alert) => [`${alert.id} ${alert.startsAt}`, alert]));
}
