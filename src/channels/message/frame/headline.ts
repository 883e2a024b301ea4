/** Writes the title of a message about several alerts: what is new in it, and what else still fires. */
import type { Labels } from '../../../domain/alert/alert.ts';
import { commonLabels } from '../../../domain/alert/labels.ts';
import {
  type GroupNotification,
  type NotifiedAlert,
  summaryTitle,
} from '../../../domain/grouping/notification.ts';
import { kindOf } from '../../../domain/kinds/kinds.ts';
import { howMany } from '../../../text/instant-words.ts';
import { plainText, regionName } from '../../../text/plain-text.ts';
import { type Cluster, isFollowUp, type Tone } from '../alert-clusters.ts';
import { hasOwnDescription, isMoment, isNoRecovery, stateSentence, subjectOf } from '../alert-subject.ts';

type Counted = Pick<
  GroupNotification,
  | 'alerts'
  | 'firingTotal'
  | 'newTotal'
  | 'resolvedTotal'
  | 'truncatedAlerts'
  | 'threadPosition'
  | 'reason'
  | 'groupSort'
>;

/**
 * Of a first message: `5 Birds failed, 2 causes, 1 resolved`. Of a later one, what is new in it: `2 more Birds failed, 1
 * recovered, 3 still failing`, or `Translate blog lands again, 3 still failing`. Of several kinds the most frequent is
 * named: `5 Birds land again, 2 more over`.
 */
export function headlineOf(counted: Counted, clusters: readonly Cluster[], goesOn: boolean): string {
  const { alerts, firingTotal, resolvedTotal } = counted;
  const open = alerts.filter((alert) => alert.status === 'firing');
  if (isOfChanges(counted)) return changesOf(counted);
  const counting = open.length > 0 ? open : alerts;
  const lasting = clusters.filter(({ tone }) => tone !== 'resolved' && tone !== 'neutral');
  // What nestwatch says itself, such as since when something waits, is no cause; nor is a moment.
  const causes =
    open.some(({ labels }) => hasOwnDescription(labels)) || open.every(isMoment) ? 0 : lasting.length;
  const counts = [
    sentenceOf(counting, open.length > 0 ? firingTotal : resolvedTotal, goesOn),
    ...(open.length > 0 && causes > 1 && counted.truncatedAlerts === 0 ? [`${causes} causes`] : []),
    ...(open.length > 0 && resolvedTotal > 0 ? [`${resolvedTotal} resolved`] : []),
  ];
  return counts.join(', ');
}

/** True if the only news is that some recovered, while others still fire. */
export function isOnlyRecovery(counted: Counted): boolean {
  const over = counted.alerts.filter(({ status }) => status === 'resolved');
  return (
    isOfChanges(counted) &&
    newOf(counted) === 0 &&
    over.length > 0 &&
    !over.some(isNoRecovery) &&
    !counted.alerts.some(({ status, events }) => status === 'firing' && events.length > 0)
  );
}

/** True for a message about what was told before that brings more than new events, while something still fires. */
function isOfChanges({ firingTotal, reason, ...counted }: Counted): boolean {
  return isFollowUp(counted) && firingTotal > 0 && (reason === 'new_alerts' || reason === 'resolved');
}

function changesOf(counted: Counted): string {
  const { alerts, firingTotal, resolvedTotal } = counted;
  const again = alerts.filter((one) => isMoment(one) && one.status === 'firing' && !one.isNew);
  const fresh = alerts.filter((one) => one.isNew || again.includes(one));
  const over = alerts.filter(({ status }) => status === 'resolved');
  const freshTotal = newOf(counted) + again.length;
  const stillTotal = firingTotal - freshTotal;
  const still = stillTotal > 0 ? [`${stillTotal} ${stillWords(alerts)}`] : [];
  const ended = resolvedTotal > 0 ? [`${resolvedTotal} ${overWords(over)}`] : [];
  if (freshTotal > 0) {
    return [sentenceOf(fresh, freshTotal, false, true), ...ended, ...still].join(', ');
  }
  const going = alerts.filter(({ status, events }) => status === 'firing' && events.length > 0);
  if (going.length > 0) {
    const others = stillTotal - going.length;
    const rest = others > 0 ? [`${others} more ${stillWords(alerts)}`] : [];
    return [sentenceOf(going, going.length, true), ...ended, ...rest].join(', ');
  }
  return [sentenceOf(over, resolvedTotal, false), ...still].join(', ');
}

/** True if it is the first notification of something that fires: no reminder, recovery, or news of what goes on. */
export function firesNewly(counted: Counted): boolean {
  return counted.firingTotal > 0 && (counted.reason === 'first' || newOf(counted) > 0);
}

function newOf({ newTotal, alerts }: Counted): number {
  return newTotal ?? alerts.filter(({ isNew }) => isNew).length;
}

/** `still failing`, or what it is called for the only kind that still fires. */
function stillWords(alerts: readonly NotifiedAlert[]): string {
  const going = alerts.filter(({ status, isNew }) => status === 'firing' && !isNew);
  const kinds = [...new Set(going.map(({ labels }) => labels.alertname ?? ''))];
  const [, words] = (kinds.length === 1 && /\b(still .*)$/.exec(kindOf(kinds[0]!)?.words.still ?? '')) || [];
  return words ?? 'still open';
}

function overWords(over: readonly NotifiedAlert[]): string {
  const recovered = over.every(
    ({ labels, ending }) => ending === 'over' && labels.alertname === 'FlightFailed',
  );
  return recovered ? 'recovered' : 'over';
}

/** `Translate blog failed`, or `Connection lost: Phrase TMS`. */
export function sentenceOfOne(alert: NotifiedAlert, goesOn: boolean): string {
  const who = subjectOf(alert);
  return stateSentence([alert], { who, titled: who, isMany: false }, goesOn);
}

/**
 * `5 Birds failed` if each alert is about another Bird, otherwise `Flight failed: 5 alerts`. `isMore`: besides others. Of
 * several states the most frequent is named, if the message lists all.
 */
function sentenceOf(
  alerts: readonly NotifiedAlert[],
  total: number,
  goesOn: boolean,
  isMore = false,
): string {
  const [only] = alerts;
  if (only && total === 1) return sentenceOfOne(only, goesOn);
  const states = Map.groupBy(alerts, (one) => stateSentence([one], { ...NOBODY, isMany: false }, goesOn));
  if (only && states.size > 1 && alerts.length === total) {
    const most = [...states.values()].reduce((a, b) => (b.length > a.length ? b : a));
    const named = sentenceOf(most, most.length, goesOn, isMore);
    const state = alerts.every(isMoment) ? '' : only.status === 'firing' ? ' open' : ' over';
    return `${named}, ${total - most.length} more${state}`;
  }
  const birds = new Set(alerts.flatMap(({ labels }) => labels.bird_id || labels.bird || []));
  const noun = birds.size === alerts.length ? 'Bird' : 'alert';
  const counted = howMany(total, noun);
  const who = isMore ? `${total} more Birds` : counted;
  const about = { who: noun === 'Bird' ? who : undefined, titled: isMore ? `${total} new` : counted };
  return stateSentence(alerts, { ...about, isMany: total !== 1 }, goesOn);
}

/** For comparing states alone. */
const NOBODY = { who: 'x', titled: 'x' };

// Writes subjects of mails. A telling one says how things stand: `✕ Translate blog failed · EU Marketing`. A stable one
// is the same in all mails of a thread, with `Re: ` from the second on: `[nestwatch] EU - Marketing / Translate blog:
// FlightFailed`. Filters and ticket systems can depend on that, so it says of an alert its name as routes and silences
// do, follows from the group's labels alone, and adds nothing beyond ASCII, for which it would be encoded.
//
// The mails of a group stay together by References, and by a stable subject in all programs: Gmail adds a mail to a conversation if its References name a mail of
// it and the subject is the same apart from `Re:` (Google Workspace Updates, 29 March 2019), and so does RFC 5256. Outlook
// goes by References and by `Thread-Topic`, which may be what a subject ends with (MS-OXCMAIL, 2.2.3.2.7).

const NAME_CODE_POINTS = 60;
const TOPIC_CODE_POINTS = 150;
const PLACE_LABELS = new Set(['alertname', 'region', 'nest', 'nest_id', 'bird', 'bird_id']);

const MARKS: Readonly<Record<Tone, string>> = { critical: '✕', warning: '✕', resolved: '✓', neutral: '–' };

/**
 * `✕ Translate blog failed · EU Marketing`, `✓ Translate blog lands again · EU Marketing`, `Reminder: Translate blog still
 * fails · EU Marketing`. Of what is neither a failure nor a recovery: `– Production changed: Translate blog · EU Marketing`.
 */
export function tellingSubject(headline: string, tone: Tone, place: string): string {
  const marked = headline.startsWith('Reminder: ') ? headline : `${MARKS[tone]} ${headline}`;
  return place === '' ? marked : `${marked} · ${place.replace(' · ', ' ')}`;
}

/** The stable subject of a notification's mail. */
export function stableSubject(notification: GroupNotification): string {
  // A summary is the only mail of its thread, so it has no `Re: `, and its topic says what it contains.
  const isReply = notification.threadPosition > 0 && !notification.summary;
  const subject = `[nestwatch] ${topicOf(notification)}`;
  return isReply ? `Re: ${subject}` : subject;
}

/** What all subjects of a thread have in common: where, and what. If the group's labels say neither, its receiver. */
export function topicOf(notification: GroupNotification): string {
  const { groupSort, groupLabels: own, receiver, summary } = notification;
  if (summary) return summaryTitle(summary);
  const groupLabels = groupSort === 'held_back' ? sharedPlace(notification) : own;
  const place = placeOf(groupLabels);
  const others = Object.entries(groupLabels)
    .filter(([name]) => !PLACE_LABELS.has(name))
    .map(([, value]) => short(value))
    .filter((value) => value !== '');
  // A group without labels may be about anything: only its receiver stays the same.
  const anything = others.length > 0 ? 'Alerts' : `Alerts for ${short(receiver)}`;
  // A name of invisible characters says nothing either.
  const what = short(groupLabels.alertname ?? '') || (place ? '' : anything);
  const about = [place, what].filter((part) => part !== '').join(': ');
  return plainText(`${about}${others.length > 0 ? ` (${others.join(', ')})` : ''}`, TOPIC_CODE_POINTS);
}

/** The labels of the place that all alerts of one notification share. */
function sharedPlace({ alerts }: GroupNotification): Labels {
  const shared = Object.entries(commonLabels(alerts.map(({ labels }) => labels)));
  return Object.fromEntries(shared.filter(([name]) => PLACE_LABELS.has(name)));
}

function placeOf({ region, nest, nest_id, bird, bird_id }: Labels): string {
  const inside = [nest || (nest_id && `Nest ${nest_id}`), bird || (bird_id && `Bird ${bird_id}`)];
  const path = inside.flatMap((name) => short(name ?? '') || []).join(' / ');
  return [region ? regionName(region) : '', path].filter((part) => part !== '').join(' - ');
}

function short(text: string): string {
  return plainText(text, NAME_CODE_POINTS);
}
