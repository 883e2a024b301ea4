/** Starts a Flight of a manual Bird again, and waits until it is known what came of that. */
import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import { NestwatchError } from '../../errors.ts';
import type { Edge } from '../../process-io.ts';
import { sleep } from '../../time/clock.ts';
import { askLine } from '../ask-line.ts';
import { type DaemonOptions, daemonJson } from '../daemon-client.ts';
import { jsonText, shown, shownSentence } from '../terminal-text.ts';
import { findBird } from './birds-command.ts';

interface FlyOptions extends DaemonOptions {
  readonly region: string | undefined;
  readonly yes: boolean;
  readonly author: string | undefined;
  readonly comment: string | undefined;
  readonly json: boolean;
}

const answerShape = z.object({
  action: z.object({
    id: z.string(),
    state: z.string(),
    is_new_flight_looked_for: z.boolean(),
    summary: z.string(),
  }),
});
const refusedShape = z.object({ error: z.string() });

/** The exit code of what the service, or the daemon on its behalf, does not do. */
const UPSTREAM = 4;
const LOOK_MS = 500;
/** The service's answer and the new Flight are usually there within seconds. */
const PATIENCE_MS = 60_000;

/** Exits with 4 and the reason if the Bird cannot be started, or if it is not known whether it was. */
export async function birdsFly(edge: Edge, bird: string, options: FlyOptions): Promise<number> {
  const author = (options.author ?? edge.environment.USER ?? '').trim();
  if (author === '') throw new NestwatchError('usage', 'say with --author who starts it: others see it');
  const { region } = options;
  const found = await findBird(edge, [bird, ...(region === undefined ? [] : [`region=${region}`])], options);
  const name = shown(found.bird || found.bird_id);
  if (!options.yes && !(await isConfirmed(edge, name))) return 1;
  const path = `/api/v1/birds/${encodeURIComponent(found.region)}/${encodeURIComponent(found.bird_id)}/fly`;
  const body = { author, comment: options.comment ?? '', id: randomUUID() };
  const shape = z.union([answerShape, refusedShape]);
  let { json, data } = await daemonJson(
    edge,
    options,
    { method: 'POST', path, body, scope: 'fly', alsoAnswers: 409 },
    shape,
  );
  const untilMs = edge.clock.monotonicMs() + PATIENCE_MS;
  while ('action' in data && !isSettled(data.action) && edge.clock.monotonicMs() < untilMs) {
    await sleep(edge.clock, LOOK_MS);
    const asked = { method: 'GET', path: `/api/v1/actions/${data.action.id}` } as const;
    ({ json, data } = await daemonJson(edge, options, asked, answerShape));
  }
  if ('error' in data) {
    edge.stderr.write(`nestwatch: ${name}: ${shownSentence(data.error)}\n`);
    return UPSTREAM;
  }
  edge.stdout.write(options.json ? jsonText(json) : `${name}: ${shownSentence(data.action.summary)}\n`);
  return data.action.state === 'done' ? 0 : UPSTREAM;
}

type Shown = z.output<typeof answerShape>['action'];

function isSettled({ state, is_new_flight_looked_for: isLooking }: Shown): boolean {
  return state === 'refused' || state === 'withheld' || (['done', 'unknown'].includes(state) && !isLooking);
}

/** Throws `usage` if there is no terminal to ask at. */
async function isConfirmed(edge: Edge, name: string): Promise<boolean> {
  if (!edge.stdin.isTTY) {
    throw new NestwatchError('usage', 'this starts a Flight: without a terminal it needs --yes');
  }
  const question = `This starts a new Flight of ${name} from its beginning.\nDo it? [y/N] `;
  const answer = await askLine(question, { input: edge.stdin, output: edge.stderr });
  return /^y(es)?$/i.test(answer?.trim() ?? '');
}

interface PauseOptions extends DaemonOptions {
  readonly author: string | undefined;
  readonly json: boolean;
}

/** Stops all rules that start Birds, or lets them go on. */
export async function pauseActions(
  edge: Edge,
  what: 'pause' | 'resume',
  options: PauseOptions,
): Promise<number> {
  const author = (options.author ?? edge.environment.USER ?? '').trim();
  if (author === '') throw new NestwatchError('usage', 'say with --author who you are: others see it');
  const scope = what === 'resume' ? 'fly' : 'write';
  const request = { method: 'POST', path: `/api/v1/actions/${what}`, body: { author }, scope } as const;
  const { json, data } = await daemonJson(edge, options, request, z.object({ paused: z.boolean() }));
  edge.stdout.write(
    options.json ? jsonText(json) : `rules ${data.paused ? 'start no Birds' : 'may start Birds'}\n`,
  );
  return 0;
}
