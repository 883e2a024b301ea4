/**
 * Decides what a message says, before it is text, HTML or a chat's blocks, which are all written from this view.
 * Everything in it is clean and capped, but not escaped. It depends on the notification alone, so every try of a
 * delivery says the same.
 */
import { type Labels, labelOf } from '../../domain/alert/alert.ts';
import { type Event, shortId } from '../../domain/alert/event.ts';
import { commonLabels, EVENT_LABELS } from '../../domain/alert/labels.ts';
import { CONTEXT_ANNOTATIONS, FLOWN_AGAIN } from '../../domain/context/findings.ts';
import {
  type FlushReason,
  type GroupNotification,
  type NotifiedAlert,
  summaryTitle,
} from '../../domain/grouping/notification.ts';
import { kindOf } from '../../domain/kinds/kinds.ts';
import { dayAndTime } from '../../text/instant-words.ts';
import { firstLines, plainText, regionName, shortGuid } from '../../text/plain-text.ts';
import {
  type Cluster,
  clustersOf,
  eventsOf,
  isHarmless,
  messageOf,
  type Tone,
  toneOf,
} from './alert-clusters.ts';
import {
  hasOwnDescription,
  isMoment,
  isOfStep,
  listsEvents,
  NAME_CODE_POINTS,
  placeOf,
  sinceOf,
  stateWords,
  subjectOf,
} from './alert-subject.ts';
import { MAX_EVENTS } from './bounded.ts';
import {
  type EventLine,
  eventLines,
  type FlightHistory,
  flightHistory,
  flightTimes,
  isFlight,
  LINE_CODE_POINTS,
  newestFirst,
  reasonLine,
  sayMore,
  stepOf,
} from './event-line.ts';
import { headlineOf, isOnlyRecovery, sentenceOfOne, tellingSubject } from './frame/headline.ts';
import { ADDRESSES, type EachAlert, eachAlert, type Link, linksOf, whySent } from './frame/links.ts';
import { linkable, type Section } from './section.ts';

export interface MailView {
  readonly tone: Tone;
  /** Subject and state: `Translate blog failed`. */
  readonly headline: string;
  /** The headline with its place, for lists of messages (`tellingSubject`). */
  readonly subject: string;
  /** Where, since when, for how long. */
  readonly context: string;
  /** More about the only alert, one sentence each: what it means, or what resolved it. */
  readonly lead: readonly string[];
  /** The message of the only alert; empty if there are several. */
  readonly message: readonly string[];
  readonly messageTitle: string;
  /** About the only alert; if there are several, the Nest and the Bird that all share. */
  readonly details: readonly (readonly [name: string, value: string])[];
  /** The history of the only alert's Bird. */
  readonly history?: FlightHistory;
  /** Several alerts, clustered by cause. */
  readonly clusters: readonly Cluster[];
  /** Links to each of several alerts that fires. */
  readonly each: readonly EachAlert[];
  /** Alerts that fire and have no link in `each`. */
  readonly eachMore: number;
  /** Alerts that the notification counts but does not carry. */
  readonly alertsMore: number;
  /** The page, which has everything; absent if its address cannot be linked to. */
  readonly page?: string;
  /**
   * Of the only alert: events that are new since the last mail, newest first, without the one that the details are
   * about.
   */
  readonly events: readonly EventLine[];
  /** New events that are not listed. */
  readonly eventsMore: number;
  readonly eventsTitle: string;
  /** Titled lists; only in digests. */
  readonly sections?: readonly Section[];
  /** What else people should know, a sentence each. */
  readonly notices: readonly string[];
  readonly links: readonly Link[];
  readonly footer: string;
}

const MESSAGE_LINES = 8;
const NOTICE_CODE_POINTS = 500;
/** Reasons for which a notification brings nothing but more of the same. */
const GOES_ON = new Set<FlushReason>(['new_events', 'repeat']);
const OWN_ANNOTATIONS = new Set([
  'summary',
  'description',
  'runbook_url',
  'resolved_by',
  'flapping',
  'switched_off',
  ...CONTEXT_ANNOTATIONS,
  'due_by',
  ...ADDRESSES,
]);
const OWN_LABELS = new Set([
  ...['alertname', 'severity', 'region', 'nest', 'nest_id', 'bird', 'bird_id', 'flight_id', 'type'],
  ...['entity_type', 'entity_id', 'entity_name', 'error', 'error_type', 'novelty'],
  ...['reason', 'receiver', 'integration', 'unusual'],
]);

/** The id that a rule has until somebody names it: it tells people nothing. */
const RULE_WITHOUT_NAME = /^[0-9a-f]{8}(-\d+)?$/;

export function mailView(notification: GroupNotification, externalUrl: string): MailView {
  const { createdAtUs, summary, reason } = notification;
  const isUpdate = notification.threadPosition > 0;
  const goesOn = GOES_ON.has(reason);
  const counts = foldSuperseded(foldParts(notification.alerts));
  const alerts = counts.map(({ alert }) => alert);
  const hidden = notification.alerts.length - alerts.length;
  const shown = new Set(alerts.map(({ id }) => id));
  const hiddenFiring = notification.alerts.filter(({ id, status }) => status === 'firing' && !shown.has(id));
  const resolvedTotal = Math.max(0, notification.resolvedTotal - hidden + hiddenFiring.length);
  const firingTotal = notification.firingTotal - hiddenFiring.length;
  const isFresh = hiddenFiring.filter(({ isNew }) => isNew).length;
  const newTotal = notification.newTotal === undefined ? {} : { newTotal: notification.newTotal - isFresh };
  const counted = { ...notification, alerts, resolvedTotal, firingTotal, ...newTotal };
  const [first] = alerts;
  const isOne = alerts.length === 1 && firingTotal + resolvedTotal <= 1;
  const only = isOne && !summary ? first : undefined;
  const milder = (only && counts[0]?.milder) ?? [];
  const clusters = only ? [] : clustersOf(alerts, notification, goesOn);
  const message = only ? messageLines(ownMessageOf(only)) : [];
  const { lines, more } = only && !listsEvents(only.labels) ? linesOf(only, message) : { lines: [], more: 0 };
  const page = linkable(`${externalUrl}/`);
  // What is new may be only what is listed under it.
  const isOld = only?.part !== undefined && only.status === 'firing' && !only.isNew;
  const told = only
    ? sentenceOfOne(milder[0] ?? only, goesOn || isOld)
    : headlineOf(counted, clusters, goesOn);
  const headline = summary ? summaryTitle(summary) : reason === 'repeat' ? `Reminder: ${told}` : told;
  const tone = !only && isOnlyRecovery(counted) ? 'resolved' : toneOf(alerts);
  const shared = commonLabels(alerts.map(({ labels }) => labels));
  const place = placeOf(shared, only);
  const each = only ? [] : eachAlert(alerts, externalUrl);
  const context = [
    place,
    summary ? `${dayAndTime(summary.fromUs)} to ${dayAndTime(summary.toUs)}` : sinceOf(alerts, createdAtUs),
    ...(only ? eventsOf([only]) : []),
  ];
  return {
    tone,
    headline,
    subject: tellingSubject(headline, tone === 'warning' && isHarmless(alerts) ? 'neutral' : tone, place),
    context: context.filter((part) => part !== '').join(' · '),
    lead: only ? leadOf(only, milder) : [],
    message,
    messageTitle: only ? messageTitleOf(only, message, reason) : '',
    details: only ? detailsOf(only) : clean(placeDetails(shared)),
    ...(only?.history && only.history.length > 1 && { history: flightHistory(only.history) }),
    clusters,
    each,
    eachMore: firingTotal - each.length,
    alertsMore: notification.truncatedAlerts,
    ...(page !== undefined && { page }),
    events: lines,
    eventsMore: more,
    eventsTitle: isUpdate ? 'New since the last message' : 'Before that',
    notices: (notification.notices ?? []).map((one) => plainText(one, NOTICE_CODE_POINTS)),
    links: linksOf(counted, externalUrl),
    footer: whySent(notification, externalUrl),
  };
}

function messageTitleOf({ status, events }: NotifiedAlert, message: readonly string[], reason: FlushReason) {
  if (sayMore(events, message[0] ?? '')) return 'Several causes, the newest';
  return status === 'resolved' || reason === 'repeat' ? 'Last message' : 'Message';
}

/** The message of an alert, or of the one that is listed under it, unless its own words say it. */
function ownMessageOf(only: Whole): string {
  if (isInOwnWords(only)) return '';
  if (!hasOwnDescription(only.labels)) return messageOf(only);
  const message = only.part && only.status === 'firing' ? messageOf(only.part) : '';
  return (only.annotations.description ?? '').includes(reasonLine(message)) ? '' : message;
}

/** The first lines of a message, after the one that says what went wrong. */
function messageLines(message: string): string[] {
  const reason = reasonLine(message);
  const lines = firstLines(message, MESSAGE_LINES, LINE_CODE_POINTS);
  return reason === (lines[0] ?? '') ? lines : [reason, ...lines];
}

/** The event whose message is shown, and whose Flight the details are about. */
function newestEventOf({ events, labels }: NotifiedAlert): Event | undefined {
  if (listsEvents(labels)) return undefined;
  return events.find(({ message }) => message !== '') ?? events[0];
}

/** The lines of all other Flights, and of events that say something else than the message. */
function linesOf(only: NotifiedAlert, message: readonly string[]): ReturnType<typeof eventLines> {
  const newest = newestEventOf(only);
  const [said = ''] = message;
  const others = only.events.filter(
    (event) =>
      event !== newest &&
      (isFlight(event) || isMoment(only) || said === '' || reasonLine(event.message) !== said),
  );
  const { lines, more } = eventLines(
    others.toSorted(newestFirst),
    { message: said, labels: only.labels, place: isOfOnePlace(only), step: newest ? stepOf(newest) : '' },
    MAX_EVENTS,
  );
  return { lines, more: lines.length > 0 ? more + only.eventsOmitted : 0 };
}

/** Whether its summary begins with what the event says: nestwatch itself noticed that, and has no more to say. */
function isInOwnWords(alert: NotifiedAlert): boolean {
  const said = messageOf(alert).slice(0, LINE_CODE_POINTS);
  return isMoment(alert) && said !== '' && (alert.annotations.summary ?? '').startsWith(said);
}

/** A moment may be about what happened in several places of a Nest or region. */
function isOfOnePlace(alert: NotifiedAlert): boolean {
  const { bird_id, entity_id } = alert.labels;
  return !isMoment(alert) || bird_id !== undefined || entity_id !== undefined;
}

type Details = readonly [name: string, value: string | number | boolean | undefined][];

function detailsOf(alert: NotifiedAlert): [string, string][] {
  const { labels, annotations } = alert;
  const newest = newestEventOf(alert);
  const explained = newest ?? (listsEvents(labels) ? undefined : alert.lastEvent);
  const [verb, times] = newest && isFlight(newest) ? flightTimes(newest) : ['started', ''];
  // The labels of a moment are those of its first event; this may be a later one.
  const isOfFirst = (name: string) => isMoment(alert) && EVENT_LABELS.some((one) => one === name);
  const isRuleWithoutName = (name: string, value: string) => name === 'rule' && RULE_WITHOUT_NAME.test(value);
  const others = Object.entries(labels).filter(
    ([name, value]) =>
      !OWN_LABELS.has(name) &&
      !isOfFirst(name) &&
      !isRuleWithoutName(name, value) &&
      !(name === 'step' && isOfStep(labels)),
  );
  return clean([
    ...placeDetails(labels),
    [labels.entity_type ?? 'Entity', named(labels.entity_name, labels.bird_id ? '' : labels.entity_id)],
    ['Flight', shortGuid(String(newest?.attributes.flight_id ?? labels.flight_id ?? ''))],
    [verb.charAt(0).toUpperCase() + verb.slice(1), times],
    ['Step', newest && stepOf(newest).replace(/^step /, '')],
    [newest ? 'Event' : 'Last event', explained && shortId(explained)],
    ['Severity', labels.severity],
    ['Labels', others.map(([name, value]) => `${name}=${value}`).join(', ')],
    ...Object.entries(annotations)
      .filter(([name]) => !OWN_ANNOTATIONS.has(name) && !(name === 'title' && isMoment(alert)))
      .slice(0, 5),
  ]);
}

function placeDetails(labels: Labels): Details {
  return [
    ['Nest', named(labels.nest, labels.nest_id)],
    ['Bird', named(labels.bird, labels.bird_id)],
  ];
}

/** The details that have a value. */
function clean(details: Details): [string, string][] {
  return details
    .map(([name, value]): [string, string] => [
      plainText(name, NAME_CODE_POINTS),
      plainText(String(value ?? ''), LINE_CODE_POINTS),
    ])
    .filter(([, value]) => value !== '');
}

function named(name: string | undefined, id: string | undefined): string {
  return name && id ? `${name} (${id})` : name || id || '';
}

const SENTENCE_CODE_POINTS = 300;

const CALM = 'The alert was flapping, so it counts as resolved only now that it has stayed calm.';

/** `milder` are the alerts that became this one. */
function leadOf(alert: NotifiedAlert, milder: readonly NotifiedAlert[]): string[] {
  const {
    summary = '',
    description = '',
    resolved_by: by = '',
    flapping = '',
    switched_off: off = '',
  } = alert.annotations;
  const isOurs = hasOwnDescription(alert.labels);
  const isWhole = kindOf(alert.labels.alertname ?? '')?.words.hasWholeDescription === true;
  if (alert.status === 'resolved') {
    const flown = alert.annotations[FLOWN_AGAIN] ?? '';
    return [...[by, flown].filter((one) => one !== '').map(sentence), ...(flapping === '' ? [] : [CALM])];
  }
  const isWhoSaid = off.startsWith(`by ${summary.split(' by ').at(-1)}, `);
  const own = isOurs ? description.split('\n').filter((line) => line !== '') : [];
  return [
    ...(!isWhole && saysMore(summary, alert) && !own.some((line) => line.startsWith(summary))
      ? [isInOwnWords(alert) ? withStop(plainText(summary, SENTENCE_CODE_POINTS)) : sentence(summary)]
      : []),
    ...(off === '' || isWhoSaid ? [] : [sentence(`switched off ${off}`)]),
    ...(isWhole ? [...own, ...contextOf(alert)] : [...contextOf(alert), ...own]).map(sentence),
    ...milder.map((one) => `It was a ${severityOf(one)} since ${dayAndTime(one.startsAtUs)}.`),
    ...(flapping === '' ? [] : [sentence(flapping)]),
  ];
}

/** Why it fires now and who can act. */
export function contextOf({ annotations }: NotifiedAlert): string[] {
  return CONTEXT_ANNOTATIONS.flatMap((name) => labelOf(annotations, name) ?? []);
}

function severityOf({ labels }: NotifiedAlert): string {
  return plainText(labels.severity ?? 'warning', 40);
}

/** True if the summary has a word that the first two lines of the mail do not have. */
function saysMore(summary: string, alert: NotifiedAlert): boolean {
  const { nest, nest_id: nestId = '', region = '' } = alert.labels;
  const place = `${plainText(nest || `Nest ${nestId}`, NAME_CODE_POINTS)} ${regionName(region)}`;
  const known = new Set(wordsOf(`${stateWords(alert, false)} ${subjectOf(alert)} ${place} in of a`));
  return wordsOf(plainText(summary, SENTENCE_CODE_POINTS)).some((word) => !known.has(word));
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

function sentence(text: string): string {
  const clean = plainText(text, SENTENCE_CODE_POINTS);
  return withStop(clean.slice(0, 1).toUpperCase() + clean.slice(1));
}

function withStop(text: string): string {
  return /[.!?…]\)?$/.test(text) ? text : `${text}.`;
}

/** An alert with one that is listed under it. */
interface Whole extends NotifiedAlert {
  readonly part?: NotifiedAlert;
}

/** An alert as people count it. */
interface Counted {
  /** With the messages and the start of the milder ones. */
  readonly alert: Whole;
  /** Alerts of the same kind and subject that became this one. */
  readonly milder: readonly NotifiedAlert[];
}

/**
 * Lists an alert under another one of the same Bird that contains it, if both fire or both are over: a failed Flight
 * under the deadline that was missed because of it.
 */
function foldParts(alerts: readonly NotifiedAlert[]): readonly Whole[] {
  const wholes = alerts.filter(({ labels }) => kindOf(labels.alertname ?? '')?.contains !== undefined);
  const whole = (alert: NotifiedAlert) =>
    wholes.find((one) => {
      const isPart = kindOf(one.labels.alertname ?? '')?.contains === alert.labels.alertname;
      return isPart && one.status === alert.status && isSameSubject(one, alert);
    });
  if (wholes.length === 0) return alerts;
  const parts = Map.groupBy(alerts, whole);
  return (parts.get(undefined) ?? []).map((alert) =>
    (parts.get(alert) ?? []).reduce<Whole>((all, part) => {
      const context = CONTEXT_ANNOTATIONS.flatMap((name) => {
        const said = labelOf(part.annotations, name);
        return said === undefined ? [] : [[name, said] as const];
      });
      const annotations = { ...Object.fromEntries(context), ...all.annotations };
      return { ...joined(all, part), startsAtUs: alert.startsAtUs, annotations, part };
    }, alert),
  );
}

/** Leaves out an alert that became worse if the same notification shows what it became. */
function foldSuperseded(alerts: readonly Whole[]): readonly Counted[] {
  const ended = alerts.filter((alert) => alert.ending === 'superseded');
  if (ended.length === 0) return alerts.map((alert) => ({ alert, milder: [] }));
  const firing = alerts.filter((alert) => alert.status === 'firing');
  const became = new Map<NotifiedAlert, NotifiedAlert>();
  for (const alert of ended) {
    const worse = firing.find((one) => isSameSubject(alert, one) && hasBecome(alert, one));
    if (worse) became.set(alert, worse);
  }
  return alerts
    .filter((alert) => !became.has(alert))
    .map((alert) => {
      const milder = ended.filter((one) => became.get(one) === alert && isSameKind(one, alert));
      return { alert: milder.reduce(joined, alert), milder };
    });
}

function joined<One extends NotifiedAlert>(alert: One, milder: NotifiedAlert): One {
  return {
    ...alert,
    startsAtUs: Math.min(alert.startsAtUs, milder.startsAtUs),
    events: [...alert.events, ...milder.events],
    eventsTotal: alert.eventsTotal + milder.eventsTotal,
    eventsOmitted: alert.eventsOmitted + milder.eventsOmitted,
  };
}

function hasBecome(alert: NotifiedAlert, worse: NotifiedAlert): boolean {
  const { supersededBy } = kindOf(alert.labels.alertname ?? '') ?? {};
  return isSameKind(alert, worse) || (supersededBy !== undefined && worse.labels.alertname === supersededBy);
}

/** What alerts about one subject differ in that are not levels of each other. */
const KIND = ['alertname', 'rule', 'objective', 'reason'] as const;

function isSameKind(alert: NotifiedAlert, other: NotifiedAlert): boolean {
  return KIND.every((name) => labelOf(alert.labels, name) === labelOf(other.labels, name));
}

const SUBJECT = ['region', 'nest_id', 'bird_id', 'entity_type', 'entity_id', 'entity_name'] as const;

function isSameSubject(alert: NotifiedAlert, other: NotifiedAlert): boolean {
  return SUBJECT.every((name) => labelOf(alert.labels, name) === labelOf(other.labels, name));
}
