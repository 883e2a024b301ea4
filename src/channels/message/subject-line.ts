import type { Labels } from '../../domain/alert/alert.ts';
import type { GroupNotification } from '../../domain/grouping/notification.ts';
import { summaryTitle } from '../../domain/grouping/summary.ts';
import { plainText } from '../../text/plain-text.ts';
import { regionName } from '../../text/region-name.ts';
import { commonLabels } from './alert-subject.ts';

const NAME_CODE_POINTS = 60;
const SUBJECT_CODE_POINTS = 200;
const PLACE_LABELS = new Set(['alertname', 'region', 'nest', 'nest_id', 'bird', 'bird_id']);

/**
 * `[nestwatch] EU · Marketing / Translate blog: FlightFailed`, from the group's labels alone, and its receiver where it
 * has none, because everything else may change from one mail of the group to the next; `Re: ` on all but the first.
 */
export function mailSubject(notification: GroupNotification): string {
  const { threadPosition, summary } = notification;
  // A summary is the only one of its thread, as is what was held back.
  if (summary) return `[nestwatch] ${summaryTitle(summary)}`;
  const groupLabels =
    notification.groupSort === 'held_back' ? sharedPlace(notification) : notification.groupLabels;
  const place = placeOf(groupLabels);
  const others = Object.entries(groupLabels)
    .filter(([name, value]) => !PLACE_LABELS.has(name) && value !== '')
    .map(([, value]) => short(value));
  // Alerts of one group that has no labels may be about anything: all that stays the same is for whom they are.
  const anything = others.length > 0 ? 'Alerts' : `Alerts for ${short(notification.receiver)}`;
  const what = groupLabels.alertname ? short(groupLabels.alertname) : place ? '' : anything;
  const about = [place, what].filter((part) => part !== '').join(': ');
  const subject = `[nestwatch] ${about}${others.length > 0 ? ` (${others.join(', ')})` : ''}`;
  return `${threadPosition > 0 ? 'Re: ' : ''}${plainText(subject, SUBJECT_CODE_POINTS)}`;
}

/** The labels that all groups of one notification share. */
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
