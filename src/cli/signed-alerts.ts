/** What somebody does to the alerts that match and fire, in their own name. */
import * as z from 'zod';
import { matchesAll } from '../alerts/matcher.ts';
import { NestwatchError } from '../errors.ts';
import { type DaemonOptions, daemonJson } from './ask-daemon.ts';
import type { Edge } from './edge.ts';
import { readMatcherArguments } from './matcher-arguments.ts';
import { jsonText, shown } from './shown.ts';

export interface SignedOptions extends DaemonOptions {
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
export const refusedShape = z.array(z.object({ id: z.string(), error: z.string() }));

export interface SignedAct<Answer> {
  readonly path: string;
  /** Why others want to know the author. */
  readonly who: string;
  readonly shape: z.ZodType<Answer>;
  /** The ids to print. */
  readonly done: (answer: Answer) => readonly string[];
}

/** Exits 1 where no alert matches, or it was refused for one of them. */
export async function actOnFiring<Answer extends { readonly refused: z.output<typeof refusedShape> }>(
  edge: Edge,
  args: readonly string[],
  options: SignedOptions,
  act: SignedAct<Answer>,
): Promise<number> {
  const matchers = readMatcherArguments(args);
  if (matchers.length === 0) {
    throw new NestwatchError('usage', 'name at least one matcher, such as \'nest="Marketing"\'');
  }
  const author = options.author ?? edge.environment.USER ?? '';
  if (author.trim() === '') {
    throw new NestwatchError('usage', `say with --author who ${act.who}: others see it`);
  }
  const path = `/api/v1/alerts?state=firing&limit=${MOST}`;
  const firing = await daemonJson(edge, options, { method: 'GET', path }, firingShape);
  const ids = firing.data.alerts.flatMap(({ id, labels }) => (matchesAll(matchers, labels) ? [id] : []));
  if (ids.length === 0) {
    edge.stderr.write('nestwatch: no alert fires that matches\n');
    return FAILED;
  }
  const body = { ids, author, comment: options.comment ?? '' };
  const { json, data } = await daemonJson(edge, options, { method: 'POST', path: act.path, body }, act.shape);
  const lines = act.done(data).map((id) => `${shown(id)}\n`);
  edge.stdout.write(options.json ? jsonText(json) : lines.join(''));
  for (const { id, error } of data.refused) edge.stderr.write(`nestwatch: ${shown(id)}: ${shown(error)}\n`);
  return data.refused.length === 0 ? 0 : FAILED;
}
