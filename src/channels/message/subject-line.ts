/**
 * Writes subjects of mails. A telling one says how things stand: `✕ Translate blog failed · EU Marketing`. A stable one
 * is the same in all mails of a thread, with `Re: ` from the second on: `[nestwatch] EU - Marketing / Translate blog:
 * FlightFailed`. Filters and ticket systems can depend on that, so it says of an alert its name as routes and silences
 * do, follows from the group's labels alone, and adds nothing beyond ASCII, for which it would be encoded.
 *
 * The mails of a group stay together by References, and by a stable subject in all programs: Gmail adds a mail to a conversation if its References name a mail of
 * it and the subject is the same apart from `Re:` (Google Workspace Updates, 29 March 2019), and so does RFC 5256. Outlook
 * goes by References and by `Thread-Topic`, which may be what a subject ends with (MS-OXCMAIL, 2.2.3.2.7).
 */
import type { Labels } from '../../domain/alert/alert.ts';
import type { GroupNotification } from '../../domain/grouping/notification.ts';
import { summaryTitle } from '../../domain/grouping/summary.ts';
import { plainText } from '../../text/plain-text.ts';
import { regionName } from '../../text/region-name.ts';
import type { Tone } from './alert-clusters.ts';
import { commonLabels } from './alert-subject.ts';

const NAME_CODE_POINTS = 60;
const TOPIC_CODE_POINTS = 150;
const PLACE_LABELS = new Set(['alertname', 'region', 'nest', 'nest_id', 'bird', 'bird_id']);

const MARKS: Readonly<Record<Tone, string>> = { critical: '✕', warning: '✕', resolved: '✓', neutral: '–' };

/**
 * `✕ Translate blog failed · EU Marketing`, `✓ Translate blog lands again`, `Reminder: Translate blog still fails · EU
 * Marketing`.
 */
export function tellingSubject(headline: string, tone: Tone, place: string): string {
  const marked = headline.startsWith('Reminder: ') ? headline : `${MARKS[tone]} ${headline}`;
  return tone === 'resolved' || place === '' ? marked : `${marked} · ${place.replace(' · ', ' ')}`;
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
  const shared = Object.entries(commonLabels(alerts));
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
