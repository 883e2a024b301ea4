/** Starts a Flight of a manual Bird again, and waits until it is known what came of that. */
import { randomUUID } from 'node:crypto';
import { DaemonError } from '../../errors.ts';
import type { Edge } from '../../process-io.ts';
import { sleep } from '../../time/clock.ts';
import type { actionJson } from '../../web/api/alert-json.ts';
import type { birdReportJson } from '../../web/api/bird-json.ts';
import { authorOf, isConfirmed } from '../at-terminal.ts';
import { type Answer, EXIT } from '../command-rows.ts';
import { type DaemonRequest, daemonJson, type PrintOptions } from '../daemon-client.ts';
import { shown, shownTime } from '../terminal-text.ts';
import { findBird } from './show-one.ts';

interface FlyOptions extends PrintOptions {
  readonly region: string | undefined;
  readonly yes: boolean;
  readonly author: string | undefined;
  readonly comment: string | undefined;
}

type BirdReport = ReturnType<typeof birdReportJson>;
type Taken = { readonly action: ReturnType<typeof actionJson> };

const LOOK_MS = 500;
/** The service's answer and the new Flight are usually there within seconds. */
const PATIENCE_MS = 60_000;

/** Exits with 4 and the reason if the Bird cannot be started, or if it is not known whether it was. */
export async function birdsFly(edge: Edge, bird: string, options: FlyOptions): Promise<number | Answer> {
  const author = authorOf(edge, options, 'starts it');
  const { region } = options;
  const filters = region === undefined ? [] : [`region=${region}`];
  const found = await findBird(edge, bird, filters, options, '--region');
  const name = shown(found.bird) || shown(found.bird_id);
  const path = `/api/v1/birds/${encodeURIComponent(found.region)}/${encodeURIComponent(found.bird_id)}`;
  const report = await daemonJson<BirdReport>(edge, options, { path }, 'counts');
  const lastEnded = report.flights.find(({ status }) => status !== 'active');
  const flight = lastEnded?.status === 'failed' ? lastEnded.flight_id : '';
  const question = [...hintsOf(report, flight), `This starts a new Flight of ${name} from its beginning.`];
  if (!options.yes && !(await isConfirmed(edge, question.join('\n'), 'this starts a Flight')))
    return EXIT.failed;
  const body = { author, comment: options.comment ?? '', flight, id: randomUUID() };
  const request = { method: 'POST', path: `${path}/fly`, body, scope: 'fly', alsoAnswers: 409 } as const;
  const answer = await outcomeOf(edge, options, request);
  if ('error' in answer) {
    edge.stderr.write(`nestwatch: ${name}: ${shown(answer.error)}\n`);
    return EXIT.upstream;
  }
  const { summary, state } = answer.action;
  return {
    json: answer,
    text: `${name}: ${shown(summary)}\n`,
    exit: state === 'done' ? 0 : EXIT.upstream,
  };
}

/** What people need to know before they start it. */
function hintsOf({ action, flights }: BirdReport, failedFlightId: string): string[] {
  const isFlown =
    failedFlightId !== '' &&
    action?.failed_flight_id === failedFlightId &&
    (action.state === 'done' || action.state === 'unknown');
  const inAir = flights.find(({ status }) => status === 'active');
  return [
    ...(isFlown ? [`Its last failed Flight was flown again already: ${shown(action.summary)}`] : []),
    ...(inAir ? [`A Flight of it is in the air since ${shownTime(inAir.started_at)}.`] : []),
  ];
}

/** Asks for it, then what came of it. */
async function outcomeOf(
  edge: Edge,
  options: FlyOptions,
  request: DaemonRequest,
): Promise<Taken | { readonly error: string }> {
  try {
    let answer = await daemonJson<Taken | { readonly error: string }>(edge, options, request, 'action');
    const untilMs = edge.clock.monotonicMs() + PATIENCE_MS;
    while ('action' in answer && !isSettled(answer.action) && edge.clock.monotonicMs() < untilMs) {
      await sleep(edge.clock, LOOK_MS);
      const asked = { path: `/api/v1/actions/${answer.action.id}` };
      answer = await daemonJson<Taken>(edge, options, asked, 'action');
    }
    return answer;
  } catch (error) {
    if (!(error instanceof DaemonError) || error.code === 'unauthorized') throw error;
    return {
      error: `it is not known whether it was started, so look at its Flights first: ${error.message}`,
    };
  }
}

function isSettled({ state, is_new_flight_looked_for: isLooking }: Taken['action']): boolean {
  return state === 'refused' || state === 'withheld' || (['done', 'unknown'].includes(state) && !isLooking);
}

type PauseOptions = Pick<FlyOptions, 'author'> & PrintOptions;

/** Stops all rules that start Birds. */
export function pauseActions(edge: Edge, options: PauseOptions): Promise<Answer> {
  return setPause(edge, 'pause', 'write', options);
}

/** Lets all rules start Birds again. */
export function resumeActions(edge: Edge, options: PauseOptions): Promise<Answer> {
  return setPause(edge, 'resume', 'fly', options);
}

async function setPause(
  edge: Edge,
  what: 'pause' | 'resume',
  scope: 'write' | 'fly',
  options: PauseOptions,
): Promise<Answer> {
  const author = authorOf(edge, options, 'you are');
  const request = { method: 'POST', path: `/api/v1/actions/${what}`, body: { author }, scope } as const;
  const answer = await daemonJson<{ paused: boolean }>(edge, options, request, 'paused');
  return { json: answer, text: `rules ${answer.paused ? 'start no Birds' : 'may start Birds'}\n` };
}
