import { labelOf } from '../../domain/alert/alert.ts';
import { ANNOTATION_OF, CONTEXT_ANNOTATIONS } from '../../domain/context/findings.ts';
import type { GroupNotification, NotifiedAlert } from '../../domain/grouping/notification.ts';
import { howMany } from '../../text/counts.ts';
import { dayAndTime } from '../../text/instant-words.ts';
import {
  commonLabels,
  eventNoun,
  hasOwnDescription,
  isNoRecovery,
  placeWithin,
  sinceOf,
  stateWords,
} from './alert-subject.ts';
import {
  type EventLine,
  eventLines,
  firstLine,
  newestFirst,
  placeIds,
  type Said,
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
  /** The last message of the first of them. */
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
/** The most lines of one cluster. */
const LINES = 10;
/** Far longer than our labels; those of notifications made by hand may be of any length. */
const SIGNATURE_UNITS = 1_000;
/** More than there are alerts in any message. */
const FAR_MORE = 1e9;
/** Severities that do not call for red. */
const MILD = new Set(['warning', 'info', 'none']);

/**
 * Clusters of new alerts first, then of resolved ones, then of those that still fire; of each the largest first.
 * `goesOn`: nothing in the message is new.
 */
export function clustersOf(
  alerts: readonly NotifiedAlert[],
  { createdAtUs, summary, threadPosition }: GroupNotification,
  goesOn: boolean,
): Cluster[] {
  const shared = commonLabels(alerts);
  // What the head of the mail already says, to the minute.
  const beginning = summary ? '' : beginningOf(alerts);
  const isGoingOn = ({ status, isNew }: NotifiedAlert) =>
    goesOn || (status === 'firing' && threadPosition > 0 && !isNew);
  const byCause = new Map<string, NotifiedAlert[]>();
  for (const alert of alerts) {
    const signature = alert.labels.error?.slice(0, SIGNATURE_UNITS) || causeOf(alert);
    const key = JSON.stringify([stateWords(alert, isGoingOn(alert)), signature]);
    byCause.set(key, [...(byCause.get(key) ?? []), alert]);
  }
  const stillSaid = new Set(alerts.filter(({ status }) => status === 'firing').map(causeOf));
  const rank = ([first, ...others]: readonly NotifiedAlert[]) => {
    const tier = first!.status === 'resolved' ? 1 : isGoingOn(first!) && !goesOn ? 0 : 2;
    return 1 + others.length + tier * FAR_MORE;
  };
  return [...byCause.values()]
    .sort((a, b) => rank(b) - rank(a))
    .map((members) => {
      const places = [...new Set(members.map((alert) => placeWithin(alert, shared)))];
      const words = stateWords(members[0]!, isGoingOn(members[0]!));
      const own = causeOf(members[0]!);
      // Why it failed is shown with those that still fail.
      const cause = members[0]!.status === 'resolved' && stillSaid.has(own) ? '' : own;
      const place = places.length === 1;
      const labels = place ? commonLabels(members) : shared;
      const step = stepOfAll(members.flatMap(({ events }) => events));
      return {
        tone: toneOf(members),
        alerts: members.length,
        title: members.length > 1 ? `${members.length} × ${words}` : words,
        cause,
        places: places.slice(0, PLACES),
        placesMore: Math.max(0, places.length - PLACES),
        context: [
          ...(beginningOf(members) === beginning ? [] : [sinceOf(members, createdAtUs)]),
          ...eventsOf(members),
          step,
          ...placeIds(labels, shared),
          ...sharedContext(members),
        ]
          .filter((part) => part !== '')
          .join(' · '),
        ...linesOf(members, { message: own, labels, place, step }),
      };
    });
}

/**
 * The lines of a cluster: one event of each alert before more of the same, so that as many Birds as possible have a
 * line.
 */
function linesOf(members: readonly NotifiedAlert[], said: Said): Pick<Cluster, 'lines' | 'linesMore'> {
  const each = members.map(({ events }) => events.toSorted(newestFirst));
  const first = each.flatMap((events) => events.slice(0, 1)).sort(newestFirst);
  const rest = each.flatMap((events) => events.slice(1)).sort(newestFirst);
  const { lines, more } = eventLines([...first, ...rest], said, LINES);
  const omitted = members.reduce((count, { eventsOmitted }) => count + eventsOmitted, 0);
  return { lines, linesMore: lines.length > 0 ? more + omitted : 0 };
}

/** What all say about why they fire now and who can act. Which others fail with the same error, the cluster shows itself. */
function sharedContext(members: readonly NotifiedAlert[]): string[] {
  const [first, ...others] = members;
  if (!first || first.status === 'resolved') return [];
  return CONTEXT_ANNOTATIONS.flatMap((name) => {
    const said = labelOf(first.annotations, name) ?? [];
    const isShared = others.every(({ annotations }) => labelOf(annotations, name) === said);
    return isShared && !(others.length > 0 && name === ANNOTATION_OF.also_failing) ? said : [];
  });
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

/**
 * The first line of the last message. A description of our own is taken whole, since its last sentence says what to do.
 */
function causeOf(alert: NotifiedAlert): string {
  const said = messageOf(alert) || alert.annotations.summary || '';
  return firstLine(hasOwnDescription(alert.labels) ? said.replaceAll('\n', ' ') : said);
}

export function toneOf(alerts: readonly Pick<NotifiedAlert, 'status' | 'ending' | 'labels'>[]): Tone {
  const open = alerts.filter((alert) => alert.status === 'firing');
  if (open.length === 0) return alerts.some(isNoRecovery) ? 'neutral' : 'resolved';
  return open.every((alert) => MILD.has(alert.labels.severity ?? '')) ? 'warning' : 'critical';
}

/** The last message of an alert. */
export function messageOf(alert: NotifiedAlert): string {
  return alert.events.find((event) => event.message !== '')?.message || alert.annotations.description || '';
}
