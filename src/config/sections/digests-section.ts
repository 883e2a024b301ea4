import * as z from 'zod';
import { type Check, checkName, namesIn, readList, refuseRepeated } from '../../document/check.ts';
import type { Path } from '../../document/problem.ts';
import { words } from '../../document/value-shape.ts';
import { zoneMistakes } from '../../domain/kinds/kind.ts';
import { cronProblem } from '../../time/cron.ts';
import { isTimezone } from '../../time/zone-format.ts';

export const digestShape = z.strictObject({
  name: words.describe(
    'Name in the subject. Each digest covers the time since the last one of this name; the first covers one period of `cron`.',
  ),
  cron: words.describe(
    'When it is sent: minute, hour, day of month, month, day of week, such as `"0 8 * * 1-5"`.',
  ),
  timezone: words
    .prefault('UTC')
    .describe('Time zone of `cron` and of the times in the digest, such as Europe/Amsterdam.'),
  receiver: words.describe('A receiver with mail, chat or webhook integrations.'),
  skip_empty: z.boolean().prefault(false).describe('Sends no digest if nothing happened.'),
  format: z
    .enum(['summary', 'report'])
    .prefault('summary')
    .describe(
      '`report`: the month in which the day before lies, with the figures of the page `/report`, and as CSV; on the 1st that is the whole month before.',
    ),
  for_each: z.enum(['nest']).optional().describe('With `format: report`: one message for each Nest.'),
  to: z
    .enum(['nest_members'])
    .optional()
    .describe(
      'With `for_each: nest`: mails go to the active members of the Nest instead of `to` of the receiver.',
    ),
  detail: z
    .enum(['full', 'counts'])
    .prefault('full')
    .describe('`counts`: without errors, names of people, ids and links, as for customers.'),
  minutes_saved: z
    .number()
    .gt(0, { error: 'must be more than 0' })
    .max(10_000)
    .optional()
    .describe('Minutes of work that a succeeded Flight saves: a report says the hours of all.'),
});

/** A summary of what happened since the last one with the same name. */
export interface DigestConfig {
  readonly name: string;
  /** Five fields; valid in its time zone. */
  readonly cron: string;
  readonly timezone: string;
  readonly receiver: string;
  /** If true, nothing is sent when nothing happened. */
  readonly skipEmpty: boolean;
  /** Set if a report of the month is sent instead. */
  readonly report?: {
    /** A message for each Nest. */
    readonly isForEachNest: boolean;
    /** Mails go to the members of the Nest. */
    readonly isToMembers: boolean;
    /** Without errors, people and ids. */
    readonly isCountsOnly: boolean;
    readonly minutesSaved?: number | undefined;
  };
}

/** The two keys that are validated together, separately from the rest, so that other mistakes do not hide theirs. */
const timesShape = z.object(digestShape.pick({ cron: true, timezone: true }).shape);

export function readDigests(check: Check): DigestConfig[] {
  const receivers = namesIn(check, 'receivers');
  const paths = readList(check, ['digests']);
  refuseRepeated(check, paths, 'digest');
  return paths.flatMap((path) => {
    checkName(check, [...path, 'receiver'], receivers, 'receiver');
    checkReport(check, path);
    const digest = check.read(digestShape, path);
    const times = check.read(timesShape, path);
    if (!times) return [];
    const { cron, timezone } = times;
    const isZone = isTimezone(timezone);
    const addProblem = (place: 'cron' | 'timezone', mistake: string | undefined) => {
      if (!mistake) return;
      const isHidden = check.isExpanded([...path, place]);
      const text = isHidden ? `is not a ${HIDDEN[place]} (it comes from the environment)` : mistake;
      check.problem([...path, place], text);
    };
    const mistake = cronProblem(cron, isZone ? timezone : 'UTC');
    addProblem('cron', mistake);
    if (!isZone) addProblem('timezone', zoneMistakes(() => timezone)[0]?.message);
    if (!digest || mistake || !isZone) return [];
    const report = digest.format === 'report' && {
      isForEachNest: digest.for_each === 'nest',
      isToMembers: digest.to === 'nest_members',
      isCountsOnly: digest.detail === 'counts',
      minutesSaved: digest.minutes_saved,
    };
    const own = { name: digest.name, receiver: digest.receiver, skipEmpty: digest.skip_empty };
    return [{ ...own, cron, timezone, ...(report && { report }) }];
  });
}

function checkReport(check: Check, path: Path): void {
  const raw = (key: string) => check.raw([...path, key]);
  for (const key of ['for_each', 'to', 'detail', 'minutes_saved']) {
    if (raw(key) === undefined || raw('format') === 'report') continue;
    check.keyProblem([...path, key], 'belongs to `format: report`: set that too, or leave this out');
  }
  if (raw('to') !== undefined && raw('for_each') === undefined) {
    check.keyProblem([...path, 'to'], 'needs `for_each: nest`');
  }
}

const HIDDEN = { cron: 'valid cron expression', timezone: 'time zone' };
