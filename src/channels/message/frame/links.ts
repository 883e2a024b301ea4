import { type Labels, labelOf } from '../../../domain/alert/alert.ts';
import type { GroupNotification, NotifiedAlert } from '../../../domain/grouping/notification.ts';
import { matchersOf } from '../../../domain/matchers/matcher.ts';
import { alertPath } from '../../../http/page-path.ts';
import { commonLabels, subjectOf } from '../alert-subject.ts';
import { linkable } from '../encode.ts';

export interface Link {
  readonly text: string;
  readonly url: string;
}

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
export function linksOf(whole: GroupNotification, externalUrl: string): Link[] {
  // Escalations of several groups may be one message.
  const shared = commonLabels(whole.alerts);
  const own = Object.entries(whole.groupLabels).filter(([name, value]) => labelOf(shared, name) === value);
  const notification =
    whole.groupSort === 'escalation' ? { ...whole, groupLabels: Object.fromEntries(own) } : whole;
  const { alerts, groupLabels, firingTotal, summary } = notification;
  const open = alerts.filter(({ status }) => status === 'firing');
  const [first] = open;
  const only = open.length === 1 ? first : undefined;
  const runbooks = new Set(alerts.map((alert) => alert.annotations.runbook_url ?? ''));
  const acknowledgeUrl = firingTotal === 1 ? only?.acknowledgeUrl : undefined;
  const links = [
    { text: pageWords(notification), url: pageUrl(notification, externalUrl) },
    ...(acknowledgeUrl ? [{ text: 'Acknowledge', url: acknowledgeUrl }] : []),
    ...(only?.flyAgain === undefined ? [] : [{ text: 'Fly again', url: flyUrl(externalUrl, only) }]),
    ...(only ? [{ text: 'Silence', url: silenceUrl(externalUrl, 'alert', only.id) }] : []),
    // A summary's labels are its own, not those of its alerts.
    ...(open.length > 1 && !summary && Object.keys(groupLabels).length > 0
      ? [{ text: 'Silence all of these', url: silenceUrl(externalUrl, 'matchers', matchersOf(groupLabels)) }]
      : []),
    ...(alerts.length === 1 ? serviceLinks(alerts[0]!.annotations) : []),
    ...[...runbooks].slice(0, MAX_RUNBOOKS).map((url) => ({ text: 'Runbook', url })),
  ];
  return linkableOf(links);
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
  return links.flatMap(({ text, url }) => {
    const href = linkable(url);
    return href ? [{ text, url: href }] : [];
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
  const { region, nest_id, nest = nest_id, bird_id, bird = bird_id, alertname: name, error } = groupLabels;
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

/** The page that asks whether to start the alert's Bird again. */
function flyUrl(externalUrl: string, { labels, flyAgain = '' }: NotifiedAlert): string {
  const { region = '', bird_id: bird = '' } = labels;
  return `${externalUrl}/fly?${new URLSearchParams({ region, bird, ...(flyAgain && { flight: flyAgain }) })}`;
}

/** The page that makes a silence, filled in. It shows what would be silenced, and asks. */
function silenceUrl(externalUrl: string, name: 'alert' | 'matchers', value: string): string {
  // `linkable` would refuse it anyway.
  if (value.length > MAX_SILENCED_UNITS) return '';
  // A slash is allowed in a query, and keeps the address readable.
  const query = new URLSearchParams({ [name]: value }).toString().replaceAll('%2F', '/');
  return `${externalUrl}/silence?${query}`;
}
