import { formatMatcher, type Matcher, matcherJson, matcherParts } from '../../domain/matchers/matcher.ts';
import {
  createRecurrences,
  hidesFromUs,
  type Recurrence,
  type Silence,
} from '../../domain/muting/silence.ts';
import { setSilence } from '../../domain/muting/silence-change.ts';
import type { Edge } from '../../process-io.ts';
import { formatInstant } from '../../time/instant.ts';
import type { gettableSilence } from '../../web/api/alertmanager-json.ts';
import {
  durationOf,
  filterArguments,
  filterParameters,
  instantOf,
  readMatcherArguments,
  wrongUsage,
} from '../command-arguments.ts';
import type { Answer } from '../command-rows.ts';
import { daemonJson, type PrintOptions } from '../daemon-client.ts';
import { layoutOf, linesOfIds, shown, shownTime } from '../terminal-text.ts';
import { alertTable, FILTER, matchingAlerts } from './alerts-command.ts';
import { listText, type PrintedList } from './printed-lists.ts';

interface SilenceAddOptions extends PrintOptions {
  readonly duration: string;
  readonly start: string | undefined;
  readonly end: string | undefined;
  readonly comment: string | undefined;
  readonly author: string | undefined;
  readonly cron: string | undefined;
  readonly timezone: string | undefined;
  readonly window: string | undefined;
  readonly dryRun: boolean;
}

/**
 * Adds a silence and prints its id. With `dryRun` it only prints which firing alerts the silence would hide, and from
 * when on.
 */
export async function silenceAdd(
  edge: Edge,
  args: readonly string[],
  options: SilenceAddOptions,
): Promise<Answer> {
  const matchers = readMatcherArguments(args);
  if (matchers.length === 0) throw wrongUsage('name at least one matcher, such as \'nest="Marketing"\'');
  if (!options.comment && !options.dryRun) throw wrongUsage('say why with --comment');
  const startsAtUs = options.start === undefined ? edge.clock.nowUs() : instantOf('--start', options.start);
  const endsAtUs =
    options.end === undefined
      ? startsAtUs + durationOf('--duration', options.duration) * 1000
      : instantOf('--end', options.end);
  if (startsAtUs >= endsAtUs) throw wrongUsage('the silence must begin before it ends');
  const recurrence = recurrenceOf(options);
  if (options.dryRun) return dryRun(edge, matchers, { startsAtUs, endsAtUs, recurrence }, options);
  const body = {
    matchers: matchers.map(matcherJson),
    startsAt: formatInstant(startsAtUs),
    endsAt: formatInstant(endsAtUs),
    createdBy: options.author ?? edge.environment.USER ?? '',
    comment: options.comment,
    ...(recurrence && { recurrence: { ...recurrence, duration: options.window } }),
  };
  const request = { method: 'POST', path: '/api/v2/silences?warn=true', body } as const;
  type Added = { readonly silenceID: string; readonly warnings?: readonly string[] };
  const { warnings = [], ...answer } = await daemonJson<Added>(edge, options, request, 'silenceID');
  for (const one of warnings) edge.stderr.write(`nestwatch: ${shown(one)}\n`);
  return { json: answer, text: linesOfIds([answer.silenceID]) };
}

/** Refuses what the daemon would refuse. */
async function dryRun(
  edge: Edge,
  matchers: readonly Matcher[],
  times: Pick<Silence, 'startsAtUs' | 'endsAtUs' | 'recurrence'>,
  options: SilenceAddOptions,
): Promise<Answer> {
  const recurrences = createRecurrences();
  const nowUs = edge.clock.nowUs();
  const request = { matchers, ...times, createdBy: '', comment: '' };
  const change = setSilence([], request, { newId: '', recurrences, nowUs });
  if (!change.ok) throw wrongUsage(change.message);
  const firing = await matchingAlerts(edge, options, filterParameters(matchers));
  const when = whenItHides(hidesFromUs(times, nowUs, recurrences), times.endsAtUs, nowUs);
  if (options.json) edge.stderr.write(`nestwatch: ${when}\n`);
  return { json: firing, text: `${when}\n${alertTable(firing, layoutOf(edge, {}))}` };
}

function whenItHides(fromUs: number | undefined, endsAtUs: number, nowUs: number): string {
  if (fromUs === nowUs) return 'Hides now, of what fires:';
  const time = (us: number) => shownTime(formatInstant(us));
  return fromUs === undefined
    ? `Never hides anything: no window opens before it ends at ${time(endsAtUs)}. It matches, of what fires now:`
    : `Hides nothing now; from ${time(fromUs)} on it would hide, of what fires now:`;
}

function recurrenceOf({ cron, timezone, window }: SilenceAddOptions): Recurrence | null {
  if (cron === undefined) {
    if (timezone !== undefined || window !== undefined)
      throw wrongUsage('--timezone and --window belong to --cron');
    return null;
  }
  if (window === undefined) throw wrongUsage('--cron needs --window: for how long it hides each time');
  return { cron, timezone: timezone ?? 'UTC', durationMs: durationOf('--window', window) };
}

type DaemonSilence = ReturnType<typeof gettableSilence>;

interface SilenceListOptions extends PrintOptions {
  readonly expired: boolean;
  /** Only silences by this author, or with these ids. */
  readonly createdBy?: string | undefined;
  readonly id?: readonly string[];
  readonly quiet: boolean;
}

/**
 * Lists silences that have not expired, or only expired ones. Arguments that are not matchers are filters as in other
 * lists.
 */
export async function silenceList(
  edge: Edge,
  args: readonly string[],
  options: SilenceListOptions,
): Promise<Answer> {
  const query = filterParameters(readMatcherArguments(args.filter((arg) => !FILTER.test(arg))));
  const filters = filterArguments(
    args.filter((arg) => FILTER.test(arg)),
    'silences',
  );
  for (const [name, value] of filters) query.set(name, value);
  for (const state of ['active', 'pending']) query.set(state, String(!options.expired));
  query.set('expired', String(options.expired));
  const path = `/api/v2/silences?${query}`;
  const all = await daemonJson<readonly DaemonSilence[]>(edge, options, { path }, 'length');
  const { createdBy, id: ids = [] } = options;
  const list = all.filter(
    (one) =>
      (createdBy === undefined || one.createdBy === createdBy) && (ids.length === 0 || ids.includes(one.id)),
  );
  const text = options.quiet
    ? linesOfIds(list.map(({ id }) => id))
    : listText(SILENCES, list, layoutOf(edge, {}));
  return { json: list, text };
}

const SILENCES: PrintedList<DaemonSilence> = {
  columns: {
    ID: ({ id }) => shown(id),
    STATE: ({ status }) => status.state,
    MATCHERS: (one) => shown(one.alertId === undefined ? matcherText(one) : `acknowledged: ${one.alertId}`),
    ENDS: ({ alertId, endsAt }) => (alertId === undefined ? { at: endsAt } : 'when resolved'),
    RECURS: ({ recurrence: one }) => (one ? shown(`${one.duration} at ${one.cron} ${one.timezone}`) : ''),
    'CREATED BY': ({ createdBy }) => shown(createdBy),
    COMMENT: ({ comment }) => shown(comment),
  },
  least: ['RECURS', 'STATE', 'CREATED BY', 'ID'],
  none: 'No silences.\n',
};

function matcherText({ matchers }: DaemonSilence): string {
  return matchers.map((one) => formatMatcher(matcherParts(one))).join(' ');
}
