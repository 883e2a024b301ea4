import { type Labels, labelOf } from '../../../domain/alert/alert.ts';
import { commonLabels } from '../../../domain/alert/labels.ts';
import type {
  DigestNotification,
  GroupNotification,
  NotifiedAlert,
} from '../../../domain/grouping/notification.ts';
import { goQuote, matchersOf } from '../../../domain/matchers/matcher.ts';
import { alertPath, flyPath } from '../../../http/page-path.ts';
import { plainText } from '../../../text/plain-text.ts';
import { NAME_CODE_POINTS, placeWithin, subjectOf } from '../alert-subject.ts';
import { linkable } from '../section.ts';

export interface Link {
  readonly text: string;
  readonly url: string;
  /** What the page there asks for about the only alert that fires. A chat with buttons may ask for it by one of them. */
  readonly action?: LinkAction;
}

export type LinkAction = 'acknowledge' | 'silence' | 'fly_again';

/** Annotations with links into the service's own application. */
export const ADDRESSES = ['flight_url', 'bird_url', 'nest_url'] as const;
const ADDRESS_WORDS = {
  flight_url: 'Flight in the service',
  bird_url: 'Bird in the service',
  nest_url: 'Nest in the service',
} as const;

const MAX_RUNBOOKS = 3;
/** With a longer alert id or longer matchers, nobody could follow the link. */
const MAX_SILENCED_UNITS = 2_000;

/** The links of a message. Addresses that a message may not link to are left out. */
export function linksOf(notification: GroupNotification, externalUrl: string): Link[] {
  const { alerts, groupLabels, firingTotal, summary } = notification;
  const open = firingOf(alerts);
  const only = onlyFiring(alerts);
  const runbooks = new Set(alerts.map((alert) => alert.annotations.runbook_url ?? ''));
  const acknowledgeUrl = firingTotal === 1 ? only?.acknowledgeUrl : undefined;
  const links: Link[] = [
    { text: pageWords(notification), url: pageUrl(notification, externalUrl) },
    ...(acknowledgeUrl ? [{ text: 'Acknowledge', url: acknowledgeUrl, action: 'acknowledge' as const }] : []),
    ...(only?.flyAgain === undefined ? [] : [flyLink(externalUrl, only)]),
    ...(only
      ? [{ text: 'Silence', url: silenceUrl(externalUrl, 'alert', only.id), action: 'silence' as const }]
      : []),
    // A summary's labels are its own, not those of its alerts.
    ...(open.length > 1 && !summary && Object.keys(groupLabels).length > 0
      ? [{ text: 'Silence all of these', url: silenceUrl(externalUrl, 'matchers', matchersOf(groupLabels)) }]
      : []),
    ...(alerts.length === 1 ? serviceLinks(alerts[0]!.annotations) : []),
    ...[...runbooks].slice(0, MAX_RUNBOOKS).map((url) => ({ text: 'Runbook', url })),
  ];
  return linkableOf(links);
}

function firingOf(alerts: readonly NotifiedAlert[]): NotifiedAlert[] {
  return alerts.filter(({ status }) => status === 'firing');
}

/** The alert that the actions of a message are about; undefined if none of its alerts fires, or several do. */
export function onlyFiring(alerts: readonly NotifiedAlert[]): NotifiedAlert | undefined {
  const [first, second] = firingOf(alerts);
  return second ? undefined : first;
}

/** Of several that fire, the page lists them with what acknowledges them. */
function pageWords({ alerts, firingTotal, summary }: GroupNotification): string {
  if (summary || alerts.length === 0) return 'Open nestwatch';
  if (firingTotal > 1) return 'See and acknowledge all';
  const [open] = alerts.filter(({ status }) => status === 'firing');
  if (open && alerts.length > 1) return `See ${subjectOf(open)} in nestwatch`;
  return alerts.length === 1 ? 'See it in nestwatch' : 'See them in nestwatch';
}

/** The links to addresses that a message may link to. */
export function linkableOf(links: readonly Link[]): Link[] {
  return links.flatMap((link) => {
    const href = linkable(link.url);
    return href ? [{ ...link, url: href }] : [];
  });
}

/** The page of the only alert, even when it is resolved; of several the list of them; of a summary the overview. */
function pageUrl(
  { alerts, groupLabels, summary }: Pick<GroupNotification, 'alerts' | 'groupLabels' | 'summary'>,
  externalUrl: string,
): string {
  const open = alerts.filter(({ status }) => status === 'firing');
  const [only] = open.length === 1 ? open : alerts.length === 1 ? alerts : [];
  if (only) return `${externalUrl}/${alertPath(only.id)}`;
  const {
    region: label,
    nest_id,
    nest = nest_id,
    bird_id,
    bird = bird_id,
    alertname: name,
    error,
  } = groupLabels;
  // That of alerts about the watch itself; the page filters by regions that are watched.
  const region = label === 'all' ? undefined : label;
  const filters = Object.entries({ region, nest, bird, name, cause: error }).filter(([, value]) => value);
  const isOver = open.length === 0 && alerts.length > 0;
  if (summary || (filters.length === 0 && !isOver)) return `${externalUrl}/`;
  const query = new URLSearchParams(filters as [string, string][]);
  if (isOver) query.set('state', 'resolved');
  return `${externalUrl}/alerts?${query}`;
}

/** Links to the nearest thing that the alert is about, from where people find the rest. */
function serviceLinks(annotations: Labels): Link[] {
  const [nearest] = ADDRESSES.flatMap((name) => {
    const url = labelOf(annotations, name);
    return url === undefined ? [] : [{ text: ADDRESS_WORDS[name], url }];
  });
  return nearest ? [nearest] : [];
}

/** To the page that asks whether to start the alert's Bird again. */
function flyLink(externalUrl: string, { labels, flyAgain = '' }: NotifiedAlert): Link {
  const { region = '', bird_id: bird = '' } = labels;
  const url = `${externalUrl}/${flyPath(region, bird, flyAgain)}`;
  return { text: 'Fly again', url, action: 'fly_again' };
}

/** The page that makes a silence, filled in. It shows what would be silenced, and asks. */
function silenceUrl(externalUrl: string, name: 'alert' | 'matchers', value: string): string {
  // `linkable` would refuse it anyway.
  if (value.length > MAX_SILENCED_UNITS) return '';
  // A slash is allowed in a query, and keeps the address readable.
  const query = new URLSearchParams({ [name]: value }).toString().replaceAll('%2F', '/');
  return `${externalUrl}/silence?${query}`;
}

// Makes the links to each alert of a message about several: to its page, and to acknowledge it.

/** With more than a screen of them the page is shorter. */
const MAX_EACH = 6;

export interface EachAlert {
  /** Its Bird or entity, with its Nest and region where those differ. */
  readonly name: string;
  readonly url: string;
  /** Absent if no link can acknowledge it. */
  readonly acknowledgeUrl?: string;
}

/** Links to the first firing alerts; the page leads to more. Empty if there is no page to link to. */
export function eachAlert(alerts: readonly NotifiedAlert[], externalUrl: string): readonly EachAlert[] {
  const open = alerts.filter(({ status }) => status === 'firing');
  // If only one fires, the links of the whole message lead to it.
  if (open.length < 2) return [];
  const shared = commonLabels(alerts.map(({ labels }) => labels));
  return open.slice(0, MAX_EACH).flatMap((alert) => {
    const url = linkable(`${externalUrl}/${alertPath(alert.id)}`);
    const acknowledgeUrl = alert.acknowledgeUrl && linkable(alert.acknowledgeUrl);
    return url === undefined
      ? []
      : [{ name: placeWithin(alert, shared), url, ...(acknowledgeUrl && { acknowledgeUrl }) }];
  });
}

// Says in one line at the end of a message why somebody gets it; and, if nothing in it links to the page, why.

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
  const matchers = routeMatchers(notification);
  if (matchers === undefined) return `these alerts go to ${to}`;
  if (matchers === '') return `${to} gets the alerts that no more specific route matches`;
  return `alerts with ${plainText(matchers, MATCHERS_CODE_POINTS)} go to ${to}`;
}

/** The matchers of the group's route, from the root down; empty for the root; undefined if the key does not tell. */
function routeMatchers({ groupSort, groupKey, groupLabels }: GroupNotification): string | undefined {
  const pairs = Object.entries(groupLabels)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${goQuote(value)}`);
  const labels = `:{${pairs.join(', ')}}`;
  if (groupSort !== 'route' || !groupKey.startsWith('{') || !groupKey.endsWith(labels)) return undefined;
  const route = groupKey.slice(0, -labels.length);
  // Behind the matchers may stand what distinguishes it from routes with the same ones.
  return route
    .slice(1, route.lastIndexOf('}'))
    .split('}/{')
    .filter((part) => part !== '')
    .join(', ');
}
