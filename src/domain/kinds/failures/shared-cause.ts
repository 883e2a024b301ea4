/**
 * Many Birds fail with one error: one alert about it, which inhibits theirs (`domain/muting/muting.ts`). It has the events
 * of all of them, so that whoever is told of it is told of each failure.
 */
import { dayAndTime, durationWords, howMany } from '../../../text/instant-words.ts';
import { plainText, regionName } from '../../../text/plain-text.ts';
import { type Alert, fire, hash64, type Labels, remember, resolve } from '../../alert/alert.ts';
import { reasonOf, signatureWords } from '../../alert/error-signature.ts';
import type { FactOf } from '../../alert/fact.ts';
import { annotate, birdName } from '../../alert/labels.ts';
import type { Parameters, RuleOf } from '../../alert/rule.ts';
import { defineKind, type Given, type Mistake } from '../kind.ts';
import { newestError } from './flight-failed.ts';

const PARAMETERS = {
  birds: {
    type: 'count',
    least: 0,
    most: 100,
    default: 5,
    description: 'How many Birds must fail with one error, at least 2. 0 turns these alerts off.',
  },
  withinMs: {
    type: 'duration',
    leastMs: 60_000,
    default: 1_800_000,
    description: 'The time within which that many of them must have begun to fail.',
  },
  across: {
    type: 'choice',
    of: ['region', 'all'],
    default: 'region',
    description:
      'Whether the Birds of each region count for themselves, or those of all regions together; then neither this rule nor an earlier one of the kind can match `region`.',
  },
} as const satisfies Parameters;

export type SharedCauseRule = RuleOf<typeof PARAMETERS>;

interface Memory {
  /** Since when fewer Birds fail than the rule asks for; 0 while enough do. */
  readonly fewerUs: number;
}

/** It ends once fewer Birds have failed for this long. */
const FEWER_FOR_MS = 600_000;

/** Birds that are named. */
export const MOST_LISTED = 20;
const NAME_CODE_POINTS = 60;
const MESSAGE_CODE_POINTS = 300;

export const sharedCause = defineKind({
  name: 'SharedCause',
  fires:
    'FlightFailed of at least `birds` Birds with the same error fires, and the last of them began to fail `within` that time. Who is told of it is not told of FlightFailed with this error meanwhile',
  resolves: 'fewer of them have failed for 10 minutes. What still fails is told then',
  words: {
    firing: 'One cause',
    still: 'Still one cause',
    over: 'Shared cause over',
    events: 'failure',
    hasOwnDescription: true,
    listsEvents: true,
  },
  runbook: {
    look: 'what the Birds share: a connection, a quota, a system that is down, or a person who published all of them. The alert lists them.',
    act: 'mend that one thing, then start the Birds again. Alerts of single Birds are on the page meanwhile, as inhibited.',
  },
  parameters: PARAMETERS,
  mistakes(given: Given): readonly Mistake[] {
    if (given('birds') !== 1) return [];
    const message = 'must be at least 2, since one Bird shares its error with no other; 0 turns it off';
    return [{ key: 'birds', isOfKey: false, message }];
  },
  severities: ['critical'],
  labels: ['error', 'region'],
  isAlsoOfNoRegion: true,
  isResolvableByHand: () => false,
  remembers: { fewerUs: 'instant' },

  raisedBy: ['shared_error'],
  observes: [],

  topic: ({ region, error }) => ({
    subject: subjectOfCause(error),
    labels: { region, error },
    isMatched: true,
  }),

  raise(alert, fact, context) {
    const { rule, labels, nowUs } = context;
    const fires = alert.state === 'firing';
    const isEnough = rule.birds > 0 && fact.birds >= rule.birds;
    const sinceUs = fires ? alert.startsAtUs : isEnough ? beganUs(fact, rule) : undefined;
    if (sinceUs === undefined) return undefined;
    const { fewerUs: before = 0 } = (alert.memory as Memory | null) ?? {};
    const fewerUs = isEnough ? 0 : before || nowUs;
    const annotations = annotate({ rule, labels }, summaryOf(fact, sinceUs), listOf(fact));
    const memory: Memory = { fewerUs };
    const dueAtUs = fewerUs > 0 ? fewerUs + FEWER_FOR_MS * 1000 : null;
    return fire(
      alert,
      { startsAtUs: sinceUs, labels, annotations, events: fact.events, memory, dueAtUs },
      nowUs,
    );
  },

  tick(alert, { rule, nowUs }) {
    if (alert.state !== 'firing') return remember(alert, null, null, nowUs);
    const { birds } = rule as SharedCauseRule;
    const by = `fewer than ${howMany(birds, 'Bird')} failed with this error for ${durationWords(FEWER_FOR_MS, 'exact')}`;
    return resolve(alert, alert.dueAtUs ?? nowUs, by, nowUs);
  },
});

type SharedError = FactOf<'shared_error'>;

/** The subject of alerts about this error: the same in each region, and for all regions together. */
export function subjectOfCause(error: string): string {
  return `cause/${hash64([error])}`;
}

/** The scopes of the causes of which an alert of a failed Flight with these labels may be a part. */
export function scopesOfCause({ region = '', error = '' }: Labels): [string, string] {
  const subject = subjectOfCause(error);
  return [`${region}/${subject}`, `all/${subject}`];
}

/** Whether the newest failure of an alert has the error of its label, which says with what the first one failed. */
export function isPart(alert: Pick<Alert, 'labels' | 'annotations' | 'memory'>): boolean {
  const { error = '' } = alert.labels;
  return error !== '' && newestError(alert) === error;
}

/** When the first of those Birds began to fail that count; undefined if the last ones did not begin close to each other. */
function beganUs({ parts }: SharedError, { birds, withinMs }: SharedCauseRule): number | undefined {
  const starts = parts.map(({ startsAtUs }) => startsAtUs).toSorted((a, b) => b - a);
  const [newest = 0] = starts;
  const close = starts.filter((us) => newest - us <= withinMs * 1000);
  return close.length >= birds ? close.at(-1) : undefined;
}

/** `6 Birds in 4 Nests (EU) fail with "DeepL API error …: Quota exceeded" since 2 Jul 2026, 12:02 UTC` */
function summaryOf({ region, error, birds, nests, isAll }: SharedError, startsAtUs: number): string {
  const atLeast = isAll ? '' : 'at least ';
  const where = region === 'all' ? '' : ` (${regionName(region)})`;
  const those = `${atLeast}${howMany(birds, 'Bird')} in ${howMany(nests, 'Nest')}${where}`;
  return `${those} fail with "${plainText(signatureWords(error), 120)}" since ${dayAndTime(startsAtUs)}`;
}

/** What the newest failure says, and a line for each Bird. */
function listOf({ region, error, said, parts, birds, isAll }: SharedError): string {
  const named = parts.slice(0, MOST_LISTED);
  const name = (text: string) => plainText(text, NAME_CODE_POINTS);
  const lines = named.map(({ place, startsAtUs }) => {
    const nest = place.nest || (place.nestId && `Nest ${place.nestId}`);
    const of = region === 'all' ? ` (${regionName(place.region)})` : '';
    return `${name(birdName(place))}${nest && ` in ${name(nest)}`}${of}, since ${dayAndTime(startsAtUs)}`;
  });
  const more = birds - named.length;
  if (more > 0) lines.push(`and ${isAll ? '' : 'at least '}${howMany(more, 'more Bird')}`);
  const newest = plainText(reasonOf(said), MESSAGE_CODE_POINTS);
  return [...(newest === '' || newest === error ? [] : [`The newest: ${newest}`]), ...lines].join('\n');
}
