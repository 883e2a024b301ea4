/**
 * Why an alert fires now, and who can act: a closed list of findings, made from what is stored. Each is a clause that is
 * true as it stands, and says nothing about causes: one that names the wrong reason is worse than none. What was looked
 * for and not found has a reason too.
 */
import { ago, dayAndTime, durationWords, howMany } from '../../text/instant-words.ts';
import { plainText, regionName } from '../../text/plain-text.ts';
import type { Alert, Labels } from '../alert/alert.ts';
import type { Event } from '../alert/event.ts';
import type { Novelty } from '../alert/fact.ts';
import { connectionDisconnected } from '../kinds/connection-disconnected.ts';
import { errorOf, flightFailed, startOf } from '../kinds/failures/flight-failed.ts';
import { isPart, sharedCause } from '../kinds/failures/shared-cause.ts';
import { flightSlow, slowSince } from '../kinds/flight-slow.ts';

/** What can be looked for, by the words of `context.show`, with the annotation that says it; in the order of a message. */
export const ANNOTATION_OF = {
  change: 'changed_before',
  novelty: 'seen_before',
  who_acts: 'who_acts',
  also_failing: 'also_failing',
  connection: 'connection_lost',
} as const;
export type FindingSort = keyof typeof ANNOTATION_OF;
export const FINDING_SORTS = Object.keys(ANNOTATION_OF) as readonly FindingSort[];
/** The annotation that says what nestwatch did about it. */
export const FLOWN_AGAIN = 'flown_again';
export const CONTEXT_ANNOTATIONS: readonly string[] = [...Object.values(ANNOTATION_OF), FLOWN_AGAIN];

export type Finding = { readonly sort: FindingSort } & (
  | {
      /** A clause that begins in lower case. */
      readonly text: string;
      readonly eventKey?: string;
      /** The alert about the connection. */
      readonly alertId?: string;
    }
  /** Why there is nothing to say. */
  | { readonly missing: string }
);

/** What the findings are made from; each is read only if it is needed. */
export interface Past {
  /** The first and the last event of the alert's episode; undefined if it is no longer kept. */
  firstEvent(alert: Alert): Promise<Event | undefined>;
  lastEvent(alert: Alert): Promise<Event | undefined>;
  /** When a Bird was published or activated between these instants, newest first. */
  changes(region: string, birdId: string, fromUs: number, untilUs: number): Promise<readonly Event[]>;
  /** How the Bird's last Flights that failed or succeeded ended, the one that started last first: at most `MOST_FLIGHTS`, and one with 0 if any has no start. */
  ends(
    region: string,
    birdId: string,
  ): Promise<readonly { startedAtUs: number; endedAtUs: number; failed: boolean; again: boolean }[]>;
  /** Since when nestwatch watches the Bird. */
  watchedSinceUs(region: string, birdId: string): Promise<number>;
  /** The Birds of the region that fail with the error, or of all regions for `all`. */
  failing(region: string, error: string): Promise<Failing>;
  /** Firing alerts of the region about connections that the service has given up. */
  lostConnections(region: string): Promise<readonly Alert[]>;
}

/** The Birds that fail with one error. */
export interface Failing {
  readonly birds: number;
  readonly nests: number;
  /** False if only some of the alerts were looked at. */
  readonly isAll: boolean;
  /** One alert of each of the Birds that began to fail last, the latest first. */
  readonly latest: readonly Alert[];
}

/** A Bird that fails, with names as they are shown. */
interface FailingBird {
  readonly birdId: string;
  readonly nestId: string;
  readonly name: string;
  /** The name with its Nest's. */
  readonly nameInNest: string;
}

function failingBird({
  labels: { bird_id: birdId = '', bird, nest_id: nestId = '', nest },
}: Alert): FailingBird {
  const name = plainText(bird ?? `Bird ${birdId}`, NAME_CODE_POINTS);
  const nameInNest = nest === undefined ? name : `${name} (${plainText(nest, NAME_CODE_POINTS)})`;
  return { birdId, nestId, name, nameInNest };
}

/** Flights that are searched for the last success. */
export const MOST_FLIGHTS = 200;

/** Alerts of a region with one error that are looked at: a storm may have 20,000. */
export const MOST_FAILING = 200;

/** Alerts of other Birds that are named. */
const MOST_NAMED = 3;

const DAY_US = 86_400_000_000;
/** An older change is no news. */
const LONGEST_BEFORE_US = 14 * DAY_US;
/** Nor is a connection that was lost longer ago. */
const LOST_BEFORE_US = DAY_US;

const NAME_CODE_POINTS = 120;

/** What can be said of an alert, by its kind. */
const SORTS_OF = new Map<string, readonly FindingSort[]>([
  [flightFailed.name, FINDING_SORTS],
  [flightSlow.name, ['change']],
  [sharedCause.name, ['change', 'who_acts']],
]);

/** What to say of an alert, in the order of a message. */
export async function contextOf(alert: Alert, shown: readonly FindingSort[], past: Past): Promise<Finding[]> {
  const sorts = SORTS_OF.get(alert.alertname);
  if (!sorts || alert.state !== 'firing') return [];
  const first = alert.eventsTotal > 0 ? await past.firstEvent(alert) : undefined;
  const found: Finding[] = [];
  for (const sort of sorts.filter((one) => shown.includes(one))) {
    const finding = await FIND[sort](alert, first, past);
    found.push({ sort, ...(typeof finding === 'string' ? { missing: finding } : finding) });
  }
  return found;
}

/** The annotations that the findings make. */
export function annotationsOf(findings: readonly Finding[]): Record<string, string> {
  return Object.fromEntries(
    findings.flatMap((one) => ('text' in one ? [[ANNOTATION_OF[one.sort], one.text]] : [])),
  );
}

/** The findings that annotations say. */
export function findingsIn(annotations: Labels): Finding[] {
  return FINDING_SORTS.flatMap((sort) => {
    const text = annotations[ANNOTATION_OF[sort]];
    return text === undefined ? [] : [{ sort, text }];
  });
}

/** Who can end an error, by the service's word for its type. */
const WHO_ACTS = new Map([
  ['PluginMisconfiguration', 'to act: somebody who edits the Bird (configuration error)'],
  ['PluginApplication', 'likely to pass: the connected app did not respond'],
  ['CorePlatform', "to act: the app's developers (unexpected app issue)"],
  ['PluginUnhandled', "to act: the app's developers (unexpected app issue)"],
  ['RequestTimeOut', 'too large or too slow: split the content'],
  ['OutOfMemory', 'too large or too slow: split the content'],
  ['FileSizeLimit', 'too large or too slow: split the content'],
]);

/** The type of the newest error of an alert, whose message people read; without its event that of the first. Empty if unknown. */
export function errorTypeOf({ labels }: Pick<Alert, 'labels'>, last: Event | undefined): string {
  const { error = '', error_type: first = '' } = labels;
  const isOfFirst = !last || errorOf(last.message) === error;
  return String(last?.attributes.error_type || (isOfFirst ? first : ''));
}

/** Who can end an error of this type, as a clause; undefined if nothing is known. */
export function whoActs(errorType: string): string | undefined {
  return WHO_ACTS.get(errorType);
}

/** Returns why there is nothing to say, as text. */
type Find = (
  alert: Alert,
  first: Event | undefined,
  past: Past,
) => Promise<string | { readonly text: string; readonly eventKey?: string; readonly alertId?: string }>;

const NO_EVENT = 'the first event of this episode is no longer kept';
const NO_MESSAGE = 'the failure has no message';
const OTHER_ERROR = 'the newest failure has another error than the first';

const FIND: Readonly<Record<FindingSort, Find>> = {
  async change(alert, first, past) {
    const { region = '', bird_id: birdId = '' } = alert.labels;
    const slow = alert.alertname === flightSlow.name ? slowSince(alert) : undefined;
    if (slow) {
      const [last, ...others] = await past.changes(region, birdId, slow.usualUs, slow.sinceUs);
      if (last) return saidOf(last, 1 + others.length, 'slow', slow.sinceUs);
      return 'the log that was read says of no publishing or activation since the last Flight that was not slow';
    }
    if (alert.alertname === sharedCause.name) return changedTogether(alert, past);
    const change = await changeBefore(past, region, birdId, first);
    if (typeof change === 'string') return change;
    const { text, eventKey } = saidOf(change.last, change.since, 'failed', change.failedUs);
    const flown = change.hasFlown
      ? 'the last Flight before that succeeded'
      : 'it had not flown before, as far as is known';
    return { text: `${text}; ${flown}`, eventKey };
  },

  async novelty(alert) {
    const text = alert.annotations.seen_before;
    if (text !== undefined) return { text };
    if (!isPart(alert)) return alert.labels.error ? OTHER_ERROR : NO_MESSAGE;
    if (alert.labels.novelty === 'known') return 'the error is known';
    return 'the errors of the region were still being learned';
  },

  async who_acts(alert, _, past) {
    const type = errorTypeOf(alert, await past.lastEvent(alert));
    const text = WHO_ACTS.get(type);
    if (text !== undefined) return { text };
    return type === ''
      ? 'the log of the Flight says no type of the error'
      : `nothing is known about ${plainText(type, NAME_CODE_POINTS)}`;
  },

  async also_failing(alert, _, past) {
    const { region = '', error = '', bird_id: birdId = '', nest_id: nestId = '' } = alert.labels;
    if (!isPart(alert)) return error ? OTHER_ERROR : NO_MESSAGE;
    const { birds, isAll, latest } = await past.failing(region, error);
    const named = latest
      .filter(({ labels }) => labels.bird_id !== birdId)
      .slice(0, MOST_NAMED)
      .map(failingBird);
    if (named.length === 0) return 'no other Bird of the region fails with this error';
    const names = named.map((one) => (one.nestId === nestId ? one.name : one.nameInNest));
    const more = birds - 1 - names.length;
    const atLeast = isAll ? '' : 'at least ';
    const others = more > 0 ? ` and ${atLeast}${howMany(more, 'more Bird')}` : '';
    return { text: `also failing with this error: ${names.join(', ')}${others}` };
  },

  async connection({ labels: { region = '', nest_id: nestId = '' } }, first, past) {
    if (!first) return NO_EVENT;
    const failedUs = startOf(first);
    const lost = (await past.lostConnections(region))
      .filter(({ labels, startsAtUs }) => {
        const isHere = labels.nest_id === undefined || labels.nest_id === nestId;
        return isHere && startsAtUs <= failedUs && failedUs - startsAtUs <= LOST_BEFORE_US;
      })
      .toSorted((a, b) => b.startsAtUs - a.startsAtUs)[0];
    if (!lost) return 'no connection of the Nest or the organisation was lost within a day before';
    const { entity_name: name, entity_id: id = '', nest_id: of } = lost.labels;
    const long = durationWords((failedUs - lost.startsAtUs) / 1000, 'one unit');
    // Without a Nest it is one of the organisation, or the service does not say.
    const whose = of === undefined ? ', for which the service names no Nest,' : ' of this Nest';
    const connection = plainText(name ?? id, NAME_CODE_POINTS);
    return { text: `the connection ${connection}${whose} was lost ${long} before`, alertId: lost.id };
  },
};

interface ChangeBefore {
  readonly last: Event;
  /** How many changes there were since the last Flight before it. */
  readonly since: number;
  readonly failedUs: number;
  readonly hasFlown: boolean;
}

/** The change after which a Bird fails that had not failed before; a text says why none is named. */
async function changeBefore(
  past: Past,
  region: string,
  birdId: string,
  first: Event | undefined,
): Promise<ChangeBefore | string> {
  if (!first) return NO_EVENT;
  const failedUs = startOf(first);
  const changes = await past.changes(region, birdId, failedUs - LONGEST_BEFORE_US, failedUs);
  const [last] = changes;
  if (!last) return 'the log that was read says of no publishing or activation within 14 days before';
  const ends = await past.ends(region, birdId);
  if (ends.at(-1)?.startedAtUs === 0) return 'the service does not say when some of its Flights started';
  const success = ends.find(({ failed, again }) => !failed || again);
  if (success && success.startedAtUs > last.occurredAtUs)
    return 'a Flight that started after the last change succeeded, or ended more than once';
  const before = ends.find(({ startedAtUs }) => startedAtUs <= last.occurredAtUs);
  if (before?.again) return 'the last Flight before the last change ended more than once';
  if (before?.failed) return 'it had failed before the last change already';
  const sinceUs = before ? await past.watchedSinceUs(region, birdId) : 0;
  // One that was in the air when nestwatch came is known, while others that started after it need not be.
  if (before && before.startedAtUs < sinceUs && before.endedAtUs > sinceUs)
    return 'what flew before the last change is not known: nestwatch did not watch it yet';
  if (!before && ends.length >= MOST_FLIGHTS)
    return `its last ${MOST_FLIGHTS} Flights failed after the last change`;
  const since = changes.filter(({ occurredAtUs }) => !before || occurredAtUs > before.startedAtUs).length;
  return { last, since, failedUs, hasFlown: before !== undefined };
}

/** Whether one person changed all Birds that share an error before they failed. */
async function changedTogether({ labels: { region = '', error = '' } }: Alert, past: Past) {
  const { birds, latest } = await past.failing(region, error);
  if (birds > latest.length) return 'more Birds fail than are looked at';
  const found: Event[] = [];
  for (const part of latest) {
    const { region: own = '', bird_id: birdId = '' } = part.labels;
    const change = await changeBefore(past, own, birdId, await past.firstEvent(part));
    if (typeof change === 'string') return `of ${failingBird(part).name}: ${change}`;
    found.push(change.last);
  }
  const [one, ...others] = found.toSorted((a, b) => a.occurredAtUs - b.occurredAtUs);
  const who = plainText(String(one?.attributes.initiator ?? ''), NAME_CODE_POINTS);
  const isOne = others.every(({ type, attributes }) => type === one?.type && attributes.initiator === who);
  if (!one || who === '' || !isOne) return 'they were not all changed by one person';
  const [from, until] = [one, others.at(-1) ?? one].map(({ occurredAtUs }) => dayAndTime(occurredAtUs));
  const what = one.type.endsWith('.Published') ? 'published' : 'activated';
  const then = from === until ? `at ${from}` : `between ${from} and ${until}`;
  return { text: `all of them were ${what} by ${who} ${then}`, eventKey: one.key };
}

/** `published by editor@example.com 12 min before the first failed Flight started, the last of 3 changes` */
function saidOf(
  { key, type, occurredAtUs, attributes }: Event,
  changes: number,
  how: string,
  flownUs: number,
) {
  const who = plainText(String(attributes.initiator ?? ''), NAME_CODE_POINTS);
  const what = type.endsWith('.Published') ? 'published' : 'activated';
  const by = who === '' ? what : `${what} by ${who}`;
  const long = durationWords((flownUs - occurredAtUs) / 1000, 'one unit');
  const many = changes > 1 ? `, the last of ${changes} changes` : '';
  return { text: `${by} ${long} before the first ${how} Flight started${many}`, eventKey: key };
}

/** The alerts that `Past.lostConnections` finds. */
export const LOST = { alertname: connectionDisconnected.name, severity: 'critical' } as const;

// Whether an error is new in a region. Nothing is claimed while a region is learned, or about failures without a message.

/** Before errors of a region were noted for so long, none is called new. */
const LEARNED_US = 7 * DAY_US;

/** How long an error is remembered. */
export const ERRORS_KEPT_US = 400 * DAY_US;

/** The most errors remembered over all regions; those seen last longest ago are forgotten first. */
export const MOST_ERRORS = 20_000;

/** An error of a region, as it was known before a failure. */
export interface SeenError {
  readonly lastUs: number;
  /** The last Flight that failed with it. */
  readonly flightId: string;
  /** The name of that Flight's Bird, or its id. */
  readonly bird: string;
}

/** What is remembered of a region's errors. */
export interface Remembered {
  /** Since when they are noted. */
  readonly sinceUs: number;
  /** Errors last seen before were forgotten for lack of room; undefined if that never happened. */
  readonly forgottenBeforeUs: number | undefined;
}

/** `backAfterMs`: not seen for longer, an error is `back`. Undefined if nothing can be said. */
export function noveltyOf(
  { region, atUs }: { readonly region: string; readonly atUs: number },
  seen: SeenError | undefined,
  { sinceUs, forgottenBeforeUs }: Remembered,
  backAfterMs: number,
): Novelty | undefined {
  if (atUs - sinceUs < LEARNED_US) return undefined;
  if (seen) {
    if (atUs - seen.lastUs <= backAfterMs * 1000) return { label: 'known', words: '' };
    const [flight, bird] = [seen.flightId, seen.bird].map((name) => plainText(name, NAME_CODE_POINTS));
    const words = `back: last seen ${ago(seen.lastUs, atUs)}, in Flight ${flight} of ${bird}`;
    return { label: 'back', words };
  }
  const knownUs = Math.min(atUs - sinceUs, ERRORS_KEPT_US);
  if (forgottenBeforeUs !== undefined && atUs - forgottenBeforeUs < knownUs) {
    return { label: 'new', words: `not seen for ${daysOf(atUs - forgottenBeforeUs)}` };
  }
  const words = `new: no Bird of ${regionName(region)} had this error in the ${daysOf(knownUs)} that nestwatch has watched`;
  return { label: 'new', words };
}

function daysOf(us: number): string {
  return howMany(Math.max(0, Math.floor(us / DAY_US)), 'day');
}
