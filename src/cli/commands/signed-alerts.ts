/** Acknowledges or resolves the firing alerts that match, or adds a note to one, in a person's name. */
import * as z from 'zod';
import { NestwatchError } from '../../errors.ts';
import type { Edge } from '../../process-io.ts';
import { filterParameters, readMatcherArguments } from '../command-arguments.ts';
import { type DaemonOptions, daemonJson } from '../daemon-client.ts';
import { jsonText, shown } from '../terminal-text.ts';

interface SignedOptions extends DaemonOptions {
  readonly author: string | undefined;
  readonly comment: string | undefined;
  readonly json: boolean;
}

const FAILED = 1;
/** The most alerts that the daemon accepts at once. */
const MOST = 1000;

const firingShape = z.array(z.object({ id: z.string() }));
const refusedShape = z.array(z.object({ id: z.string(), error: z.string() }));

interface SignedAct<Answer> {
  readonly path: string;
  /** Why others want to know the author. */
  readonly who: string;
  readonly shape: z.ZodType<Answer>;
  /** The ids to print. */
  readonly done: (answer: Answer) => readonly string[];
}

const acknowledgedShape = z.object({
  acknowledged: z.array(z.object({ id: z.string(), silence_id: z.string() })),
  refused: refusedShape,
});

/** Acknowledges the firing alerts that match: each is silenced until it is resolved. Prints the ids of the silences. */
export function acknowledge(edge: Edge, args: readonly string[], options: SignedOptions): Promise<number> {
  return actOnFiring(edge, args, options, {
    path: '/api/v1/alerts/acknowledge',
    who: 'takes care of it',
    shape: acknowledgedShape,
    done: ({ acknowledged }) => acknowledged.map((one) => one.silence_id),
  });
}

const resolvedShape = z.object({
  resolved: z.array(z.object({ id: z.string(), ends_at: z.string() })),
  refused: refusedShape,
});

/** Resolves the firing alerts that match, because a person knows that they are over. Prints their ids. */
export function resolve(edge: Edge, args: readonly string[], options: SignedOptions): Promise<number> {
  return actOnFiring(edge, args, options, {
    path: '/api/v1/alerts/resolve',
    who: 'says that it is over',
    shape: resolvedShape,
    done: ({ resolved }) => resolved.map(({ id }) => id),
  });
}

const notedShape = z.object({ id: z.string(), alert_id: z.string() });

interface NoteOptions extends Omit<SignedOptions, 'comment'> {
  readonly public: boolean;
}

/** Adds a note to an alert, which may be over. Prints the id of the alert. */
export async function note(edge: Edge, id: string, text: string, options: NoteOptions): Promise<number> {
  const author = authorOf(edge, options, 'writes it');
  const body = { id, text, author, public: options.public };
  const asked = { method: 'POST', path: '/api/v1/alerts/note', body } as const;
  const { json, data } = await daemonJson(edge, options, asked, notedShape);
  edge.stdout.write(options.json ? jsonText(json) : `${shown(data.alert_id)}\n`);
  return 0;
}

function authorOf(edge: Edge, options: Pick<SignedOptions, 'author'>, who: string): string {
  const author = options.author ?? edge.environment.USER ?? '';
  if (author.trim() !== '') return author;
  throw new NestwatchError('usage', `say with --author who ${who}: others see it`);
}

/** Exits with 1 if no alert matches, or if one was refused. */
async function actOnFiring<Answer extends { readonly refused: z.output<typeof refusedShape> }>(
  edge: Edge,
  args: readonly string[],
  options: SignedOptions,
  act: SignedAct<Answer>,
): Promise<number> {
  const matchers = readMatcherArguments(args);
  if (matchers.length === 0) {
    throw new NestwatchError('usage', 'name at least one matcher, such as \'nest="Marketing"\'');
  }
  const author = authorOf(edge, options, act.who);
  // All that match: Alertmanager's API has no limit, while nestwatch's own returns the newest.
  const path = `/api/v2/alerts?${filterParameters(matchers)}`;
  const firing = await daemonJson(edge, options, { method: 'GET', path }, firingShape);
  const ids = firing.data.map(({ id }) => id);
  if (ids.length === 0) {
    edge.stderr.write('nestwatch: no alert fires that matches\n');
    return FAILED;
  }
  const answers: unknown[] = [];
  let isAllDone = true;
  for (let from = 0; from < ids.length; from += MOST) {
    const body = { ids: ids.slice(from, from + MOST), author, comment: options.comment ?? '' };
    const asked = { method: 'POST', path: act.path, body } as const;
    const { json, data } = await daemonJson(edge, options, asked, act.shape);
    const lines = act.done(data).map((id) => `${shown(id)}\n`);
    if (!options.json) edge.stdout.write(lines.join(''));
    for (const { id, error } of data.refused) edge.stderr.write(`nestwatch: ${shown(id)}: ${shown(error)}\n`);
    isAllDone &&= data.refused.length === 0;
    answers.push(json);
  }
  if (options.json) edge.stdout.write(jsonText(joined(answers as Lists[])));
  return isAllDone ? 0 : FAILED;
}

type Lists = Readonly<Record<string, readonly unknown[]>>;

/** Joins the lists of all answers. */
function joined(answers: readonly Lists[]): Lists {
  const names = Object.keys(answers[0] ?? {});
  return Object.fromEntries(names.map((name) => [name, answers.flatMap((one) => one[name] ?? [])]));
}
