/** Names what alerts are about, where, and since when, as people do. Names are clean and capped, but not escaped. */
import type { Labels } from '../../domain/alert/alert.ts';
import { signatureWords } from '../../domain/alert/error-signature.ts';
import type { NotifiedAlert } from '../../domain/grouping/notification.ts';
import type { Words } from '../../domain/kinds/kind.ts';
import { kindOf } from '../../domain/kinds/kinds.ts';
import { dayAndTime, durationWords } from '../../text/instant-words.ts';
import { plainText, regionName } from '../../text/plain-text.ts';

export const NAME_CODE_POINTS = 80;

/** What the alert is about: the Bird, entity, receiver, what impairs the watch, the error, who did it, the Nest or the region; and its step. */
export function subjectOf({ labels }: Pick<NotifiedAlert, 'labels'>): string {
  const name = nameOf(labels);
  return isOfStep(labels) ? `${name}, step ${plainText(labels.step ?? '', NAME_CODE_POINTS)}` : name;
}

/** Whether it is about a step. Rules may add a label of this name to other alerts. */
export function isOfStep({ alertname = '', step = '' }: Labels): boolean {
  return step !== '' && kindOf(alertname)?.labels.includes('step') === true;
}

function nameOf(labels: Labels): string {
  const { bird, bird_id, entity_name, entity_type, entity_id, receiver, integration, region } = labels;
  const { nest, nest_id } = labels;
  const { alertname = '', reason, initiator } = labels;
  // Rules may add a label of this name to other alerts.
  const isOfReason = kindOf(alertname)?.labels.includes('reason');
  const name =
    bird ||
    entity_name ||
    (bird_id && `Bird ${bird_id}`) ||
    (entity_id && `${entity_type ?? 'entity'} ${entity_id}`) ||
    (receiver && integration && `${receiver} (${integration})`) ||
    (isOfReason && reason?.replaceAll('_', ' ')) ||
    (kindOf(alertname)?.labels.includes('error') && signatureWords(labels.error ?? '')) ||
    (kindOf(alertname)?.labels.includes('initiator') && initiator) ||
    nest ||
    (nest_id && `Nest ${nest_id}`) ||
    (region && regionName(region)) ||
    'nestwatch';
  return plainText(name, NAME_CODE_POINTS);
}

/** `EU · Marketing / Translate blog`, without what the headline names already. */
export function placeOf(labels: Labels, only: NotifiedAlert | undefined): string {
  const nest = labels.nest || (labels.nest_id && `Nest ${labels.nest_id}`);
  const bird = labels.bird || (labels.bird_id && `Bird ${labels.bird_id}`);
  const inside = [nest, bird].filter(Boolean).map((name) => plainText(name!, NAME_CODE_POINTS));
  const places = [labels.region ? regionName(labels.region) : '', ...inside];
  const named = only && nameOf(only.labels);
  const [region = '', ...rest] = places.map((place) => (place === named ? '' : place));
  return [region, rest.filter((place) => place !== '').join(' / ')]
    .filter((place) => place !== '')
    .join(' · ');
}

function since(startsAtUs: number, endsAtUs: number, nowUs: number): string {
  if (endsAtUs === 0)
    return `since ${dayAndTime(startsAtUs)}, for ${durationWords((nowUs - startsAtUs) / 1000, 'two units')}`;
  return `from ${dayAndTime(startsAtUs)}, lasted ${durationWords((endsAtUs - startsAtUs) / 1000, 'two units')}`;
}

/** Whether it says what happened at an instant, rather than what lasts. */
export function isMoment({ labels }: Pick<NotifiedAlert, 'labels'>): boolean {
  return kindOf(labels.alertname ?? '')?.words.isMoment === true;
}

/** When the newest of their events happened. */
function happenedAt(alerts: readonly NotifiedAlert[]): string {
  const events = alerts.flatMap((alert) => alert.events.map(({ occurredAtUs }) => occurredAtUs));
  return `at ${dayAndTime(Math.max(...(events.length > 0 ? events : alerts.map((one) => one.startsAtUs))))}`;
}

/** The earliest start of the open alerts, or of all if none is open, and how long ago that is. */
export function sinceOf(alerts: readonly NotifiedAlert[], nowUs: number): string {
  const open = alerts.filter((alert) => alert.endsAtUs === 0);
  const among = open.length > 0 ? open : alerts;
  if (among.length === 0) return '';
  if (among.every(isMoment)) return happenedAt(among);
  const startsAtUs = Math.min(...among.map((alert) => alert.startsAtUs));
  const endsAtUs = open.length > 0 ? 0 : Math.max(...among.map((alert) => alert.endsAtUs));
  return since(startsAtUs, endsAtUs, nowUs);
}

/** What tells this alert from the others: its Bird or entity, and its Nest and region where those differ. */
export function placeWithin(alert: NotifiedAlert, shared: Labels): string {
  const { region, nest } = alert.labels;
  const parts = [
    shared.region === undefined && region ? regionName(region) : '',
    shared.nest === undefined && nest ? plainText(nest, NAME_CODE_POINTS) : '',
    subjectOf(alert),
  ];
  return [...new Set(parts.filter((part) => part !== ''))].join(' / ');
}

const ALERTNAME_CODE_POINTS = 60;
/** A rule may give any text as its title. */
const TITLE_CODE_POINTS = 200;

type Stated = Pick<NotifiedAlert, 'status' | 'ending' | 'labels' | 'annotations'>;

/** What happened to it, in a few words. An unknown kind is called by its own name. */
export function stateWords(alert: Stated, goesOn: boolean): string {
  const alertname = plainText(alert.labels.alertname ?? 'Alert', ALERTNAME_CODE_POINTS);
  const own = kindOf(alertname)?.words;
  const title = own?.isMoment ? plainText(alert.annotations.title ?? '', TITLE_CODE_POINTS) : '';
  const words: Words = {
    ...(own ?? { firing: alertname, still: `${alertname} (still)`, over: `${alertname}: resolved` }),
    ...(title !== '' && { firing: title, still: title, over: `${title}, over` }),
  };
  if (alert.status === 'firing') {
    const isAhead = words.ahead !== undefined && alert.annotations.due_by !== undefined;
    const now = isAhead ? words.ahead : goesOn ? words.still : words.firing;
    return alert.annotations.flapping === undefined ? now : `${now}, on and off`;
  }
  switch (alert.ending) {
    case 'over':
      return words.over;
    case 'superseded':
      return words.superseded ?? `${words.firing}, has become worse`;
    case 'moved':
      return `${words.firing}, continues elsewhere`;
    case 'gone':
      return `${words.firing}, no longer watched`;
    case 'by_hand':
      return `${words.firing}, resolved by hand`;
    default:
      // Only a success is a recovery: that failures stopped proves nothing.
      return words.quiet ?? words.over;
  }
}

/**
 * What happened to alerts, in a sentence: `Translate blog lands again`, `5 Birds failed`. If their kind has no verbs, or
 * they are not in one state, or nobody is given as `who`, as a title: `Connection lost: Phrase TMS`.
 */
export function stateSentence(
  alerts: readonly Stated[],
  { who, titled, isMany }: { who: string | undefined; titled: string; isMany: boolean },
  goesOn: boolean,
): string {
  const [verb, ...others] = new Set(alerts.map((alert) => verbOf(alert, goesOn, isMany)));
  if (who && verb !== undefined && others.length === 0) return `${who} ${verb}`;
  const [words = 'Alerts', ...more] = new Set(alerts.map((alert) => stateWords(alert, goesOn)));
  return `${more.length > 0 ? 'Alerts' : words}: ${titled}`;
}

function verbOf({ status, ending, labels, annotations }: Stated, goesOn: boolean, isMany: boolean) {
  const verbs = kindOf(labels.alertname ?? '')?.words.verbs;
  const state = status === 'firing' ? (goesOn ? 'still' : 'firing') : ending === 'over' ? ending : undefined;
  const verb = state && verbs?.[state][Number(isMany)];
  return verb && status === 'firing' && annotations.flapping !== undefined ? `${verb}, on and off` : verb;
}

/** True if its end is not good news: it became worse, goes on elsewhere, or is gone together with its subject. */
export function isNoRecovery({ ending }: Pick<NotifiedAlert, 'ending'>): boolean {
  return ending === 'superseded' || ending === 'moved' || ending === 'gone';
}

/** What people call the events of an alert; undefined if their number says nothing. */
export function eventNoun(alertname = ''): 'failure' | 'message' | 'event' | undefined {
  const noun = kindOf(alertname)?.words.events;
  return noun === null ? undefined : (noun ?? 'message');
}

/** Whether the description lists what its events are about. */
export function listsEvents({ alertname = '' }: Labels): boolean {
  return kindOf(alertname)?.words.listsEvents === true;
}

/** Whether the description is a sentence of our own. For other kinds it is what the service answered. */
export function hasOwnDescription({ alertname = '' }: Labels): boolean {
  return kindOf(alertname)?.words.hasOwnDescription === true;
}
