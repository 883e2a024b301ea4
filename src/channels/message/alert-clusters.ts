import { type Labels, labelOf } from '../../domain/alert/alert.ts';
import { signature } from '../../domain/alert/error-signature.ts';
import { commonLabels } from '../../domain/alert/labels.ts';
import { ANNOTATION_OF, CONTEXT_ANNOTATIONS } from '../../domain/context/findings.ts';
import type { GroupNotification, NotifiedAlert } from '../../domain/grouping/notification.ts';
import { kindOf } from '../../domain/kinds/kinds.ts';
import { dayAndTime, howMany } from '../../text/instant-words.ts';
import { plainText } from '../../text/plain-text.ts';
import {
  eventNoun,
  hasOwnDescription,
  isNoRecovery,
  placeOf,
  placeWithin,
  sinceOf,
  stateWords,
} from './alert-subject.ts';
import {
  type EventLine,
  eventLines,
  newestFirst,
  placeIds,
  reasonLine,
  type Said,
  sayMore,
  stepOfAll,
} from './event-line.ts';

/** `neutral`: resolved, but not a recovery. */
export type Tone = 'critical' | 'warning' | 'resolved' | 'neutral';

/** Several alerts of one kind, state and cause, shown as one. */
export interface Cluster {
  readonly tone: Tone;
  readonly alerts: number;
  /** `Flight failed`, preceded by the count if there are several. */
  readonly title: string;
  /** The newest message; empty for what is resolved. */
  readonly cause: string;
  readonly places: readonly string[];
  readonly placesMore: number;
  /** What differs from other clusters; may be empty. */
  readonly context: string;
  /** The newest of the new events, newest first. */
  readonly lines: readonly EventLine[];
  /** New events that no line shows; 0 if there are no lines at all. */
  readonly linesMore: number;
}

const PLACES = 12;
const END_CODE_POINTS = 120;
const CLAUSE_CODE_POINTS = 300;
/** The most lines of one cluster. */
const LINES = 5;
/** More than there are alerts in any message. */
const FAR_MORE = 1e9;
/** Severities that do not call for red. */
const MILD = new Set(['warning', 'info', 'none']);
/** Severities of what is no failure. */
const HARMLESS = new Set(['info', 'none']);

/**
 * Clusters with news of what fires first, then of what is resolved, then of what still fires; of each the largest first.
 * `goesOn`: nothing in the message is new.
 */
export function clustersOf(
  alerts: readonly NotifiedAlert[],
  notification: GroupNotification,
  goesOn: boolean,
): Cluster[] {
  const { createdAtUs, summary } = notification;
  const shared = commonLabels(alerts.map(({ labels }) => labels));
  // What the head of the mail already says, to the minute.
  const beginning = summary ? '' : beginningOf(alerts);
  const isGoingOn = ({ status, isNew }: NotifiedAlert) =>
    goesOn || (status === 'firing' && isFollowUp(notification) && !isNew);
  const wordsOf = (alert: NotifiedAlert) => stateWords(alert, isGoingOn(alert));
  // Those that recovered did so whatever the cause was; how late one landed is its own.
  const byCause = Map.groupBy(alerts, (alert) =>
    JSON.stringify([wordsOf(alert), alert.status === 'firing' ? stableCauseOf(alert) : ownEndOf(alert)]),
  );
  const placesOf = (members: readonly NotifiedAlert[], known = shared) => [
    ...new Set(members.map((alert) => placeWithin(alert, known))),
  ];
  const byHeading = Map.groupBy([...byCause.values()], (members) =>
    JSON.stringify([wordsOf(members[0]!), placesOf(members)]),
  );
  const rank = ([first, ...others]: readonly NotifiedAlert[]) => {
    const isOld = isGoingOn(first!) && !goesOn && first!.events.length === 0;
    const tier = first!.status === 'resolved' ? 1 : isOld ? 0 : 2;
    return 1 + others.length + tier * FAR_MORE;
  };
  return [...byHeading.values()]
    .map((causes) => causes.flat())
    .sort((a, b) => rank(b) - rank(a))
    .map((members) => {
      const common = commonLabels(members.map(({ labels }) => labels));
      const isMany = members.length > 1;
      const places = placesOf(members, isMany ? common : shared);
      const where = isMany ? placeOf(beyond(common, shared), undefined) : '';
      const words = wordsOf(members[0]!);
      const isOver = members[0]!.status === 'resolved';
      const cause = isOver ? '' : causeOf(members.toSorted(newestSaidFirst)[0]!);
      const events = members.flatMap((alert) => alert.events);
      const isOfSeveral = !isOver && !hasOwnDescription(members[0]!.labels) && sayMore(events, cause);
      const place = places.length === 1;
      const step = stepOfAll(events);
      const context = contextOf(members, alerts);
      return {
        tone: toneOf(members),
        alerts: members.length,
        title: isMany ? `${members.length} × ${words}${where && ` · ${where}`}` : words,
        cause: isOfSeveral ? `Several causes, the newest: ${cause}` : cause,
        places: places.slice(0, PLACES),
        placesMore: Math.max(0, places.length - PLACES),
        context: [
          ...(beginningOf(members) === beginning ? [] : [sinceOf(members, createdAtUs)]),
          ...(isOver ? [isMany ? ownEndOf(members[0]!) : endOf(members[0]!)] : []),
          ...eventsOf(members),
          step,
          ...(isOver ? [] : placeIds(place ? common : shared, shared)),
          ...context.shared,
        ]
          .filter((part) => part !== '')
          .join(' · '),
        ...linesOf(members, { message: cause, labels: isMany ? common : shared, place, step }, context),
      };
    });
}

/** True if what it lists as firing was told before, unless it is new. */
export function isFollowUp({
  threadPosition,
  groupSort,
}: Pick<GroupNotification, 'threadPosition' | 'groupSort'>): boolean {
  return threadPosition > 0 || groupSort === 'held_back';
}

/** Why or by whom it ended, unless that is clear from what happened. */
function endOf({ labels, annotations }: NotifiedAlert): string {
  const isClear = kindOf(labels.alertname ?? '')?.words.verbs !== undefined;
  return isClear ? '' : plainText(annotations.resolved_by ?? '', END_CODE_POINTS);
}

/** The same of a kind whose ends differ in what they say. */
function ownEndOf(alert: NotifiedAlert): string {
  return kindOf(alert.labels.alertname ?? '')?.words.hasWholeDescription ? endOf(alert) : '';
}

/** The region and Nest that a cluster shares, but not the whole message. */
function beyond({ region, nest }: Labels, shared: Labels): Labels {
  return {
    ...(shared.region === undefined && region && { region }),
    ...(shared.nest === undefined && nest && { nest }),
  };
}

/**
 * The lines of a cluster: one event of each alert before more of the same, so that as many Birds as possible have a
 * line.
 */
function linesOf(
  members: readonly NotifiedAlert[],
  said: Said,
  { ownOf }: SharedContext,
): Pick<Cluster, 'lines' | 'linesMore'> {
  const each = members.map(({ events }) => events.toSorted(newestFirst));
  const first = each.flatMap((events) => events.slice(0, 1)).sort(newestFirst);
  const rest = each.flatMap((events) => events.slice(1)).sort(newestFirst);
  const context = new Map(each.flatMap(([event], at) => (event ? [[event.key, ownOf(members[at]!)]] : [])));
  const { lines, more } = eventLines([...first, ...rest], { ...said, context }, LINES);
  const omitted = members.reduce((count, { eventsOmitted }) => count + eventsOmitted, 0);
  return { lines, linesMore: lines.length > 0 ? more + omitted : 0 };
}

/** Why they fire now and who can act. */
interface SharedContext {
  /** What can be said once, of all of them. */
  readonly shared: readonly string[];
  /** What only one of them says, such as who published its Bird. */
  readonly ownOf: (alert: NotifiedAlert) => string;
}

function contextOf(members: readonly NotifiedAlert[], all: readonly NotifiedAlert[]): SharedContext {
  if (members[0]?.status !== 'firing') return { shared: [], ownOf: () => '' };
  const isOneError = new Set(members.map(({ labels }) => labels.error)).size === 1;
  const saidBy = (name: string) => {
    const said = new Set(members.map((alert) => clauseOf(alert, name)));
    // That an error is new is said of its first failure alone, and true of them all.
    if (isOneError && name === ANNOTATION_OF.novelty) said.delete('');
    return [...said];
  };
  // Which others fail with the same error, the message shows itself if it is about them.
  const { region, error } = members[0].labels;
  const isSame = ({ status, labels }: NotifiedAlert) =>
    status === 'firing' && labels.region === region && labels.error === error;
  const showsOthers = members.length > 1 || all.some((one) => one !== members[0] && isSame(one));
  const names = CONTEXT_ANNOTATIONS.filter((name) => !showsOthers || name !== ANNOTATION_OF.also_failing);
  const shared = names.filter((name) => saidBy(name).length <= 1);
  const own = names.filter((name) => !shared.includes(name));
  return {
    shared: shared.map((name) => saidBy(name)[0] ?? ''),
    ownOf: (alert) =>
      own
        .map((name) => clauseOf(alert, name))
        .filter((part) => part !== '')
        .join(' · '),
  };
}

function clauseOf({ annotations }: NotifiedAlert, name: string): string {
  return plainText(labelOf(annotations, name) ?? '', CLAUSE_CODE_POINTS);
}

function beginningOf(alerts: readonly NotifiedAlert[]): string {
  const open = alerts.filter(({ status }) => status === 'firing');
  if (open.length === 0) return sinceOf(alerts, 0);
  return `open ${dayAndTime(Math.min(...open.map(({ startsAtUs }) => startsAtUs)))}`;
}

/** The number of events, if that is more than the number of alerts: `34 failures, 29 of them new`. */
export function eventsOf(alerts: readonly NotifiedAlert[]): string[] {
  const total = alerts.reduce((count, alert) => count + alert.eventsTotal, 0);
  const fresh = alerts.reduce((count, alert) => count + alert.events.length + alert.eventsOmitted, 0);
  const noun = eventNoun(alerts[0]?.labels.alertname);
  if (!noun || total <= alerts.length) return [];
  const isPartNew = noun === 'failure' && fresh > 0 && fresh < total;
  return [`${howMany(total, noun)}${isPartNew ? `, ${fresh} of them new` : ''}`];
}

function newestSaidFirst(a: NotifiedAlert, b: NotifiedAlert): number {
  return saidAtUs(b) - saidAtUs(a);
}

function saidAtUs({ events, startsAtUs }: NotifiedAlert): number {
  return events.find(({ message }) => message !== '')?.occurredAtUs ?? startsAtUs;
}

/** What is shown as its cause, without what varies. A sentence of our own stays whole: its numbers are what it says. */
function stableCauseOf(alert: NotifiedAlert): string {
  const cause = causeOf(alert);
  return hasOwnDescription(alert.labels) ? cause : signature(cause);
}

/**
 * The first line of the last message. A description of our own is taken whole, since its last sentence says what to do.
 */
function causeOf(alert: NotifiedAlert): string {
  const { summary = '', description = '' } = alert.annotations;
  // Its events are those of an alert that is listed under it.
  const isWhole = kindOf(alert.labels.alertname ?? '')?.words.hasWholeDescription;
  const said = (isWhole && description) || messageOf(alert) || summary;
  return reasonLine(hasOwnDescription(alert.labels) ? said.replaceAll('\n', ' ') : said);
}

export function toneOf(alerts: readonly Pick<NotifiedAlert, 'status' | 'ending' | 'labels'>[]): Tone {
  const open = alerts.filter((alert) => alert.status === 'firing');
  if (open.length === 0) return alerts.some(isNoRecovery) ? 'neutral' : 'resolved';
  return open.every((alert) => MILD.has(alert.labels.severity ?? '')) ? 'warning' : 'critical';
}

/** Whether nothing that fires is a failure. */
export function isHarmless(alerts: readonly Pick<NotifiedAlert, 'status' | 'labels'>[]): boolean {
  return alerts.every(({ status, labels }) => status !== 'firing' || HARMLESS.has(labels.severity ?? ''));
}

/** The last message of an alert. */
export function messageOf(alert: NotifiedAlert): string {
  return alert.events.find((event) => event.message !== '')?.message || alert.annotations.description || '';
}
