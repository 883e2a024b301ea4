import * as z from 'zod';
import { matchesAll } from '../alerts/matcher.ts';
import { NestwatchError } from '../errors.ts';
import { type DaemonOptions, daemonJson } from './ask-daemon.ts';
import type { Edge } from './edge.ts';
import { readMatcherArguments } from './matcher-arguments.ts';
import { jsonText, shown } from './shown.ts';

export interface AcknowledgeOptions extends DaemonOptions {
  readonly author: string | undefined;
  readonly comment: string | undefined;
  readonly json: boolean;
}

const FAILED = 1;
/** As many as the daemon gives and takes at once. */
const MOST = 1000;

const firingShape = z.object({
  alerts: z.array(z.object({ id: z.string(), labels: z.record(z.string(), z.string()) })),
});
const answerShape = z.object({
  acknowledged: z.array(z.object({ id: z.string(), silence_id: z.string() })),
  refused: z.array(z.object({ id: z.string(), error: z.string() })),
});

/**
 * Acknowledges the alerts that match and fire: each is silenced until it is resolved. Prints the ids of the silences;
 * exits 1 where no alert matches, or one of them could not be acknowledged.
 */
export async function acknowledge(
  edge: Edge,
  args: readonly string[],
  options: AcknowledgeOptions,
): Promise<number> {
  const matchers = readMatcherArguments(args);
  if (matchers.length === 0) {
    throw new NestwatchError('usage', 'name at least one matcher, such as \'nest="Marketing"\'');
  }
  const author = options.author ?? edge.environment.USER ?? '';
  if (author.trim() === '') {
    throw new NestwatchError('usage', 'say with --author who takes care of it: others see it');
  }
  const path = `/api/v1/alerts?state=firing&limit=${MOST}`;
  const firing = await daemonJson(edge, options, { method: 'GET', path }, firingShape);
  const ids = firing.data.alerts.flatMap(({ id, labels }) => (matchesAll(matchers, labels) ? [id] : []));
  if (ids.length === 0) {
    edge.stderr.write('nestwatch: no alert fires that matches\n');
    return FAILED;
  }
  const body = { ids, author, comment: options.comment ?? '' };
  const { json, data } = await daemonJson(
    edge,
    options,
    { method: 'POST', path: '/api/v1/alerts/acknowledge', body },
    answerShape,
  );
  const lines = data.acknowledged.map(({ silence_id: id }) => `${shown(id)}\n`);
  edge.stdout.write(options.json ? jsonText(json) : lines.join(''));
  for (const { id, error } of data.refused) edge.stderr.write(`nestwatch: ${shown(id)}: ${shown(error)}\n`);
  return data.refused.length === 0 ? 0 : FAILED;
}
