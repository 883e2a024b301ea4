/** Says in one line at the end of a message why somebody gets it; and, if nothing in it links to the page, why. */
import type { DigestNotification, GroupNotification } from '../../../domain/grouping/notification.ts';
import { goQuote } from '../../../domain/matchers/matcher.ts';
import { plainText } from '../../../text/plain-text.ts';
import { NAME_CODE_POINTS } from '../alert-subject.ts';

const MATCHERS_CODE_POINTS = 200;

/** `You get this because alerts with severity="critical" go to receiver ops of nestwatch.` */
export function whySent(notification: GroupNotification | DigestNotification, externalUrl: string): string {
  const to = `receiver ${plainText(notification.receiver, NAME_CODE_POINTS)} of nestwatch`;
  const why = `You get this because ${notification.kind === 'digest' ? digestWords(notification, to) : groupWords(notification, to)}.`;
  return externalUrl === ''
    ? `${why} Links to nestwatch are missing because web.external_url is not set.`
    : why;
}

function digestWords({ digest, to: members }: DigestNotification, to: string): string {
  if (members)
    return `you are an active member of the Nest, and ${to} mails its report to the members of each Nest`;
  return `digest ${plainText(digest.name, NAME_CODE_POINTS)} goes to ${to}`;
}

function groupWords(notification: GroupNotification, to: string): string {
  if (notification.to)
    return `you are an active member of the Nest, and ${to} mails alerts to the members of their Nest`;
  const matchers = matchersOf(notification);
  if (matchers === undefined) return `these alerts go to ${to}`;
  if (matchers === '') return `${to} gets the alerts that no more specific route matches`;
  return `alerts with ${plainText(matchers, MATCHERS_CODE_POINTS)} go to ${to}`;
}

/** The matchers of the group's route, from the root down; empty for the root; undefined if the key does not tell. */
function matchersOf({ groupSort, groupKey, groupLabels }: GroupNotification): string | undefined {
  const pairs = Object.entries(groupLabels)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${goQuote(value)}`);
  const labels = `:{${pairs.join(', ')}}`;
  if (groupSort !== 'route' || !groupKey.startsWith('{') || !groupKey.endsWith(labels)) return undefined;
  const route = groupKey.slice(0, -labels.length).replace(/#\d+$/, '');
  return route
    .slice(1, -1)
    .split('}/{')
    .filter((part) => part !== '')
    .join(', ');
}
