/**
 * Writes subjects of mails: `[nestwatch] EU · Marketing / Translate blog: Flight failed`. What follows in the thread
 * has `Re: ` before that, and the end `Re: [nestwatch] [Recovered] EU · Marketing / Translate blog: Flight failed`.
 *
 * A tired person sees that it is over without opening the mail, and the mails of a group still stay together: the part
 * after the brackets follows from the group's labels alone. Gmail adds a mail to a conversation if its References name
 * a mail of it and the subject is the same (Google Workspace Updates, 29 March 2019). In that it ignores `Re:` and
 * brackets at the beginning (as many have found whose `[OK]` and `[Triggered]` became one conversation), and so does
 * RFC 5256. Outlook goes by References and by `Thread-Topic`, which has the constant part: a topic may be what a
 * subject ends with (MS-OXCMAIL, 2.2.3.2.7).
 */
import type { Labels } from '../../domain/alert/alert.ts';
import type { GroupNotification } from '../../domain/grouping/notification.ts';
import { summaryTitle } from '../../domain/grouping/summary.ts';
import { kindOf } from '../../domain/kinds/kinds.ts';
import { plainText } from '../../text/plain-text.ts';
import { regionName } from '../../text/region-name.ts';
import { commonLabels, subjectOf } from './alert-subject.ts';

const NAME_CODE_POINTS = 60;
const TOPIC_CODE_POINTS = 150;
const END_CODE_POINTS = 70;
const PLACE_LABELS = new Set(['alertname', 'region', 'nest', 'nest_id', 'bird', 'bird_id']);

/** The subject of a notification's mail. `headline` is the title of its message. */
export function mailSubject(notification: GroupNotification, headline: string): string {
  const { threadPosition, summary } = notification;
  // A summary is the only mail of its thread, and its title says what it contains.
  if (summary) return `[nestwatch] ${summaryTitle(summary)}`;
  const end = endOf(notification, headline);
  const parts = ['[nestwatch]', ...(end === '' ? [] : [`[${end}]`]), topicOf(notification)];
  return `${threadPosition > 0 ? 'Re: ' : ''}${parts.join(' ')}`;
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
  const what = kindWords(groupLabels.alertname ?? '') || (place ? '' : anything);
  const about = [place, what].filter((part) => part !== '').join(': ');
  return plainText(`${about}${others.length > 0 ? ` (${others.join(', ')})` : ''}`, TOPIC_CODE_POINTS);
}

function kindWords(alertname: string): string {
  return kindOf(alertname)?.words.firing ?? short(alertname);
}

/**
 * How it ended, once nothing of the group fires any more; empty before that, when all subjects of a thread are the
 * same.
 */
function endOf(notification: GroupNotification, headline: string): string {
  const { status, groupLabels, groupSort, alerts, resolvedTotal } = notification;
  const [first] = alerts;
  if (!first || status === 'firing') return '';
  const subject = resolvedTotal === 1 ? subjectOf(first) : '';
  const { region = '', nest, bird } = groupSort === 'held_back' ? first.labels : groupLabels;
  const isNamed = subject !== '' && [bird, nest, regionName(region)].includes(subject);
  const end =
    isNamed && headline.endsWith(`: ${subject}`) ? headline.slice(0, -subject.length - 2) : headline;
  return plainText(end, END_CODE_POINTS).replaceAll('[', '(').replaceAll(']', ')');
}

/** The labels of the place that all alerts of one notification share. */
function sharedPlace({ alerts }: GroupNotification): Labels {
  const shared = Object.entries(commonLabels(alerts));
  return Object.fromEntries(shared.filter(([name]) => PLACE_LABELS.has(name)));
}

function placeOf({ region, nest, nest_id, bird, bird_id }: Labels): string {
  const inside = [nest || (nest_id && `Nest ${nest_id}`), bird || (bird_id && `Bird ${bird_id}`)];
  const path = inside.flatMap((name) => short(name ?? '') || []).join(' / ');
  return [region ? regionName(region) : '', path].filter((part) => part !== '').join(' · ');
}

function short(text: string): string {
  return plainText(text, NAME_CODE_POINTS);
}
