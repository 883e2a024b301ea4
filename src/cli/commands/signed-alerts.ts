/** Acknowledges or resolves the firing alerts that match, or adds a note to one, in a person's name. */
import { NestwatchError } from '../../errors.ts';
import type { Edge } from '../../process-io.ts';
import { authorOf } from '../at-terminal.ts';
import { filterParameters, readMatcherArguments } from '../command-arguments.ts';
import { type Answer, EXIT } from '../command-rows.ts';
import { daemonJson, type PrintOptions } from '../daemon-client.ts';
import { linesOfIds, shown } from '../terminal-text.ts';

interface SignedOptions extends PrintOptions {
  readonly author: string | undefined;
  readonly comment: string | undefined;
}

/** The most alerts that the daemon accepts at once. */
const MOST = 1000;

type Act = 'acknowledged' | 'resolved';

interface SignedAct {
  readonly path: string;
  /** Why others want to know the author. */
  readonly who: string;
  /** The key of what was done in the answer. */
  readonly sign: Act;
  /** The id to print. */
  readonly idOf: (one: Done) => string;
}

interface Done {
  readonly id: string;
  readonly silence_id?: string;
}
interface Refused {
  readonly id: string;
  readonly error: string;
}

/** Acknowledges the firing alerts that match: each is silenced until it is resolved. Prints the ids of the silences. */
export function acknowledge(
  edge: Edge,
  args: readonly string[],
  options: SignedOptions,
): Promise<number | Answer> {
  return actOnFiring(edge, args, options, {
    path: '/api/v1/alerts/acknowledge',
    who: 'takes care of it',
    sign: 'acknowledged',
    idOf: (one) => one.silence_id!,
  });
}

/** Resolves the firing alerts that match, because a person knows that they are over. Prints their ids. */
export function resolve(
  edge: Edge,
  args: readonly string[],
  options: SignedOptions,
): Promise<number | Answer> {
  return actOnFiring(edge, args, options, {
    path: '/api/v1/alerts/resolve',
    who: 'says that it is over',
    sign: 'resolved',
    idOf: ({ id }) => id,
  });
}

interface NoteOptions extends Omit<SignedOptions, 'comment'> {
  readonly public: boolean;
}

/** Adds a note to an alert, which may be over. Prints the id of the alert. */
export async function note(edge: Edge, id: string, text: string, options: NoteOptions): Promise<Answer> {
  const author = authorOf(edge, options, 'writes it');
  const body = { id, text, author, public: options.public };
  const asked = { method: 'POST', path: '/api/v1/alerts/note', body } as const;
  const answer = await daemonJson<{ alert_id: string }>(edge, options, asked, 'alert_id');
  return { json: answer, text: linesOfIds([answer.alert_id]) };
}

/** Exits with 1 if no alert matches, or if one was refused. */
async function actOnFiring(
  edge: Edge,
  args: readonly string[],
  options: SignedOptions,
  act: SignedAct,
): Promise<number | Answer> {
  const matchers = readMatcherArguments(args);
  if (matchers.length === 0) {
    throw new NestwatchError('usage', 'name at least one matcher, such as \'nest="Marketing"\'');
  }
  const author = authorOf(edge, options, act.who);
  // All that match: Alertmanager's API has no limit, while nestwatch's own returns the newest.
  const path = `/api/v2/alerts?${filterParameters(matchers)}`;
  const firing = await daemonJson<readonly { id: string }[]>(edge, options, { path }, 'length');
  const ids = firing.map(({ id }) => id);
  if (ids.length === 0) {
    edge.stderr.write('nestwatch: no alert fires that matches\n');
    return EXIT.failed;
  }
  const done: Done[] = [];
  const refused: Refused[] = [];
  for (let from = 0; from < ids.length; from += MOST) {
    const body = { ids: ids.slice(from, from + MOST), author, comment: options.comment ?? '' };
    const asked = { method: 'POST', path: act.path, body } as const;
    const answer = await daemonJson<Readonly<Record<Act, readonly Done[]>> & { refused: readonly Refused[] }>(
      edge,
      options,
      asked,
      act.sign,
    );
    // At once: should the next ones fail, these are done.
    if (!options.json) edge.stdout.write(linesOfIds(answer[act.sign].map(act.idOf)));
    for (const { id, error } of answer.refused)
      edge.stderr.write(`nestwatch: ${shown(id)}: ${shown(error)}\n`);
    done.push(...answer[act.sign]);
    refused.push(...answer.refused);
  }
  const exit = refused.length === 0 ? 0 : EXIT.failed;
  return options.json ? { json: { [act.sign]: done, refused }, text: '', exit } : exit;
}
