/** What makes mails of one group a thread: a constant subject, and ids that anyone can derive again. */

import { createHash } from 'node:crypto';
import type { Labels } from '../../domain/alert/alert.ts';
import type { DigestNotification, GroupNotification } from '../../domain/grouping/notification.ts';
import { isHeldBack } from '../../domain/grouping/special-groups.ts';
import { summaryTitle } from '../../domain/grouping/summary.ts';
import type { Delivery } from '../../store/record.ts';
import { plainText } from '../../text/plain-text.ts';
import { commonLabels, regionName } from '../message/alert-subject.ts';
import type { Readable } from '../message/digest-view.ts';

const NAME_CODE_POINTS = 60;
const SUBJECT_CODE_POINTS = 200;
const PLACE_LABELS = new Set(['alertname', 'region', 'nest', 'nest_id', 'bird', 'bird_id']);

/**
 * `[nestwatch] EU · Marketing / Translate blog: FlightFailed`, from the group's labels alone, because everything else
 * may change from one mail of the group to the next; `Re: ` on all but the first.
 */
export function mailSubject(notification: GroupNotification): string {
  const { threadPosition, summary } = notification;
  // A summary is the only one of its thread, as is what was held back.
  if (summary) return `[nestwatch] ${summaryTitle(summary)}`;
  const groupLabels = isHeldBack(notification.groupKey)
    ? sharedPlace(notification)
    : notification.groupLabels;
  const place = placeOf(groupLabels);
  const others = Object.entries(groupLabels)
    .filter(([name, value]) => !PLACE_LABELS.has(name) && value !== '')
    .map(([, value]) => short(value));
  const what = groupLabels.alertname ? short(groupLabels.alertname) : place ? '' : 'Alerts';
  const about = [place, what].filter((part) => part !== '').join(': ');
  const subject = `[nestwatch] ${about}${others.length > 0 ? ` (${others.join(', ')})` : ''}`;
  return `${threadPosition > 0 ? 'Re: ' : ''}${plainText(subject, SUBJECT_CODE_POINTS)}`;
}

/** What groups that are told together have in common. */
function sharedPlace({ alerts }: GroupNotification): Labels {
  const shared = Object.entries(commonLabels(alerts));
  return Object.fromEntries(shared.filter(([name]) => PLACE_LABELS.has(name)));
}

function placeOf({ region, nest, nest_id, bird, bird_id }: Labels): string {
  const inside = [nest || (nest_id && `Nest ${nest_id}`), bird || (bird_id && `Bird ${bird_id}`)];
  const path = inside.flatMap((name) => (name ? [short(name)] : [])).join(' / ');
  return [region ? regionName(region) : '', path].filter((part) => part !== '').join(' · ');
}

function short(text: string): string {
  return plainText(text, NAME_CODE_POINTS);
}

export interface ThreadHeaders {
  readonly messageId: string;
  readonly inReplyTo?: string;
  readonly references?: string;
}

/**
 * The first mail's Message-ID comes from the thread and whom it goes to, a later one's from its delivery: so a reply
 * knows the first mail without asking anybody, and every try of a delivery has the same id (RFC 5322, 3.6.4).
 */
export function threadHeaders(
  notification: Readable,
  { id, receiver, position }: Pick<Delivery, 'id' | 'receiver' | 'position'>,
  externalUrl: string,
): ThreadHeaders {
  const { thread, threadPosition } = notification.kind === 'digest' ? ownThread(notification) : notification;
  const host = URL.parse(externalUrl)?.hostname || 'localhost';
  const first = `<thread.${digest(thread, receiver, String(position))}@${host}>`;
  if (threadPosition === 0) return { messageId: first };
  return { messageId: `<${digest('delivery', id)}@${host}>`, inReplyTo: first, references: first };
}

/** A digest stands alone. */
function ownThread({ id }: DigestNotification) {
  return { thread: id, threadPosition: 0 };
}

function digest(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}
