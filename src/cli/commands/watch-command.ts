import { DaemonError } from '../../errors.ts';
import type { Edge } from '../../process-io.ts';
import { sleep } from '../../time/clock.ts';
import type { DaemonOptions } from '../daemon-client.ts';
import { layoutOf, shown } from '../terminal-text.ts';
import { untilStopped } from '../until-stopped.ts';
import { alertTable, type DaemonAlert, matchingAlerts } from './alerts-command.ts';

const EVERY_MS = 2_000;
const ALL = new URLSearchParams({ active: 'true', silenced: 'true', inhibited: 'true' });

/** Prints the alerts that fire, and then a line for each that begins or ends. A daemon that is away is waited for. */
export async function watch(
  edge: Edge,
  options: DaemonOptions & { readonly utc?: boolean; readonly json: boolean },
): Promise<number> {
  const layout = layoutOf(edge, options);
  const stop = new AbortController();
  void untilStopped(edge).then(() => stop.abort());
  const say = (what: string, { annotations }: DaemonAlert) =>
    edge.stdout.write(
      `${layout.clock(edge.clock.nowUs())}  ${what.padEnd('critical'.length)}  ${shown(annotations.summary ?? '')}\n`,
    );
  let before = await firing(edge, options);
  edge.stdout.write(alertTable([...before.values()], layout));
  while (!stop.signal.aborted) {
    await sleep(edge.clock, EVERY_MS, stop.signal);
    const now = await firing(edge, options).catch((error) => {
      if (!(error instanceof DaemonError)) throw error;
      return undefined;
    });
    if (!now) continue;
    for (const [key, alert] of now) if (!before.has(key)) say(alert.labels.severity ?? 'fires', alert);
    for (const [key, alert] of before) if (!now.has(key)) say('ended', alert);
    before = now;
  }
  return 0;
}

/** The alerts that fire, each episode under its own key. */
async function firing(edge: Edge, options: DaemonOptions): Promise<ReadonlyMap<string, DaemonAlert>> {
  const { data } = await matchingAlerts(edge, options, ALL);
  return new Map(data.map((alert) => [`${alert.id} ${alert.startsAt}`, alert]));
}
