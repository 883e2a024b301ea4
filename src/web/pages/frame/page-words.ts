/**
 * Chooses how things are named, marked and linked on all pages: for people who run automations, not for people who
 * run monitoring.
 */
import { html } from 'hono/html';
import { whyNotStarted } from '../../../domain/action/action.ts';
import type { Alert, Labels } from '../../../domain/alert/alert.ts';
import { signatureWords } from '../../../domain/alert/error-signature.ts';
import type { Place } from '../../../domain/alert/fact.ts';
import { kindOf } from '../../../domain/kinds/kinds.ts';
import type { Silence } from '../../../domain/muting/silence.ts';
import { birdPath, flightPath, flyPath, nestPath } from '../../../http/page-path.ts';
import { durationUs, type ShownBird } from '../../../operator/bird-report.ts';
import type { BirdOverview, FlightOverview, Standing } from '../../../store/bird-store.ts';
import type { DeliveryState } from '../../../store/outbox-store.ts';
import { instantsIn } from '../../../text/instant-words.ts';
import { isGuid, manyLines, plainText, regionName } from '../../../text/plain-text.ts';
import type { RegionState } from '../../web-options.ts';
import type { Html, Page } from './page.ts';
import type { Words } from './words.ts';

/** The longest name and message shown, in code points. */
export const NAME_LENGTH = 80;
export const MESSAGE_LENGTH = 300;

/** `Marketing / Translate blog`, with ids if names are unknown; empty for what concerns a whole region. */
export function placeName({ nest, nestId, bird, birdId }: Omit<Place, 'region'>): string {
  const nestName = plainText(nest, NAME_LENGTH) || (nestId && `Nest ${briefId(nestId)}`);
  const birdName = plainText(bird, NAME_LENGTH) || (birdId && `Bird ${briefId(birdId)}`);
  return [nestName, birdName].filter(Boolean).join(' / ');
}

/** An id within text that has no room for the whole. */
function briefId(id: string): string {
  return isGuid(id) ? id.slice(0, 8) : plainText(id, NAME_LENGTH);
}

/** An alert whose texts say instants in the reader's zone. They are stored in UTC. */
export function inReadersZone<A extends Pick<Alert, 'annotations'>>(zone: string, alert: A): A {
  if (zone === 'UTC') return alert;
  const said = Object.entries(alert.annotations).map(([name, text]) => [name, instantsIn(text, zone)]);
  return { ...alert, annotations: Object.fromEntries(said) };
}

/** The place of an alert, from its labels; the error of one that many Birds share. */
export function alertPlace(labels: Labels): string {
  const place = placeName({
    nest: labels.nest ?? '',
    nestId: labels.nest_id ?? '',
    bird: labels.bird ?? '',
    birdId: labels.bird_id ?? '',
  });
  // The entity of a Bird's alert is the Bird itself.
  const entity = labels.bird_id ? '' : plainText(labels.entity_name ?? '', NAME_LENGTH);
  const error = listsEvents(labels) ? plainText(signatureWords(labels.error ?? ''), MESSAGE_LENGTH) : '';
  return [place, entity, error, receiverPlace(labels)].filter(Boolean).join(' / ');
}

/** `ops (email)`; empty for an alert that is not about a receiver. */
export function receiverPlace({ receiver = '', integration = '' }: Labels): string {
  return receiver && integration ? plainText(`${receiver} (${integration})`, NAME_LENGTH) : '';
}

/** Whether the alert lists what its events are about. */
export function listsEvents({ alertname = '' }: Labels): boolean {
  return kindOf(alertname)?.words.listsEvents === true;
}

/** Alerts about a moment are called what their rule calls them. */
export function alertTitle({ kind }: Words, alertname: string, { title }: Labels = {}): string {
  if (title !== undefined && kindOf(alertname)?.words.isMoment) return plainText(title, NAME_LENGTH);
  return kind(alertname) ?? plainText(alertname, NAME_LENGTH);
}

/** What is so once such an alert is over. */
export function alertOver({ kindOver }: Words, alertname: string): string {
  return kindOver(alertname) ?? plainText(alertname, NAME_LENGTH);
}

/** A severity that only the configuration knows is shown unchanged. */
export function severityWord({ severities }: Words, severity: string): string {
  return isKnown(severities, severity) ? severities[severity] : plainText(severity, NAME_LENGTH);
}

/** Whether there is a word for what the service or a configuration says. */
export function isKnown<Known extends object>(known: Known, name: string): name is string & keyof Known {
  return Object.hasOwn(known, name);
}

/** The region's name for people. */
export function regionWord({ frame }: Words, region: string): string {
  return region === 'all' ? frame.allRegions : regionName(region);
}

/** Who silenced or acknowledged an alert, and why. */
export function silenceWords({ silences, frame }: Words, { alertId, createdBy, comment }: Silence): string {
  const by = createdBy || frame.somebody;
  const what = alertId === null ? silences.whatSilenced(by) : silences.whatAcknowledged(by);
  return plainText(comment ? `${what}: ${comment}` : what, MESSAGE_LENGTH);
}

/** Why nobody was notified. */
export function suppressionWords({ suppression }: Words, reason: string, detail: string): string {
  return plainText(suppression(reason, detail), MESSAGE_LENGTH);
}

export function eventTitle({ eventType }: Words, type: string): string {
  return eventType(type) ?? plainText(type, NAME_LENGTH);
}

export type Tone = 'good' | 'warn' | 'bad' | 'quiet';

const BAD_EVENTS = /\.(failed|EventError|Deactivated|FlowDeactivated|ConnectionDisconnected)$/;

export function eventTone(type: string): Tone {
  if (BAD_EVENTS.test(type)) return 'bad';
  if (type === 'flight.succeeded' || type === 'bird_log.Activated') return 'good';
  return /Suspended$|\.cancelled$/.test(type) ? 'warn' : 'quiet';
}

export function severityTone(severity: string): Tone {
  if (severity === 'critical' || severity === 'error') return 'bad';
  return severity === 'warning' ? 'warn' : 'quiet';
}

export const REGION_TONES: Readonly<Record<RegionState, Tone>> = {
  starting: 'quiet',
  unlisted: 'bad',
  up: 'good',
  down: 'bad',
  unauthorized: 'bad',
};

export const DELIVERY_TONES: Readonly<Record<DeliveryState, Tone>> = {
  pending: 'quiet',
  leased: 'quiet',
  delivered: 'good',
  retry: 'warn',
  ambiguous: 'warn',
  dead: 'bad',
  suppressed: 'quiet',
};

const GUIDS = /\b([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b/i;

/** One line. Ids of 36 signs are shown by their first eight, with the whole as tooltip. */
export function said(text: string, maxCodePoints: number): Html {
  return withShortIds(plainText(text, maxCodePoints));
}

export function saidInLines(text: string, maxCodePoints: number): Html {
  return withShortIds(manyLines(text, maxCodePoints));
}

function withShortIds(text: string): Html {
  // Every second part is what the group matched.
  const parts = text.split(GUIDS);
  return html`<bdi>${parts.map((part, index) => (index % 2 === 1 ? html`<span title="${part}">${part.slice(0, 8)}</span>` : part))}</bdi>`;
}

/** The step that failed: by its name if the service gives one, else by its id. */
export function saidStep({ scope, step }: { readonly scope: string; readonly step: string }): Html {
  return said(scope || step, NAME_LENGTH);
}

const TONES: Readonly<Record<Standing, Tone>> = {
  alerting: 'bad',
  failing: 'bad',
  off: 'quiet',
  well: 'good',
};

/** Alerts that somebody has acknowledged are not red, and a Bird that cannot fly is not well. */
export function standingTone(bird: ShownBird): Tone {
  return bird.isAcknowledged || isDraft(bird) ? 'quiet' : TONES[bird.standing];
}

function isDraft({ standing, status }: ShownBird): boolean {
  return standing === 'well' && status === 'unpublished';
}

export function standingPill({ words }: Page, bird: ShownBird): Html {
  const { standings } = words.birds;
  const standingWord = bird.isAcknowledged
    ? standings.acknowledged
    : isDraft(bird)
      ? standings.unpublished
      : standings[bird.standing];
  return html`<span class="pill ${standingTone(bird)}">${standingWord}</span>`;
}

/** A Bird's name, or else its id. */
export function birdTitle(words: Words, name: string, birdId: string): string {
  return plainText(name, NAME_LENGTH) || `${words.list.bird} ${briefId(birdId)}`;
}

export function birdLink(
  { root, words }: Page,
  { region, birdId, name }: Pick<BirdOverview, 'region' | 'birdId' | 'name'>,
): Html {
  return html`<a href="${root}${birdPath(region, birdId)}"><bdi>${birdTitle(words, name, birdId)}</bdi></a>`;
}

type NestPlace = Pick<FlightOverview, 'region' | 'nestId' | 'nest'>;

/** A Nest's name, or else its id. */
export function nestTitle(words: Words, { nest, nestId }: Pick<NestPlace, 'nest' | 'nestId'>): string {
  return plainText(nest, NAME_LENGTH) || `${words.list.nest} ${briefId(nestId)}`;
}

export function nestLink({ root, words }: Page, nest: NestPlace): Html {
  return html`<a href="${root}${nestPath(nest.region, nest.nestId)}"><bdi>${nestTitle(words, nest)}</bdi></a>`;
}

/** A link to the service's own application, if its address is known. */
export function inService({ words }: Page, address: string | undefined): Html | string {
  return address === undefined
    ? ''
    : html` · <a href="${address}" rel="noreferrer">${words.birds.inService}</a>`;
}

/** `failed`, linked to the Flight. An unknown status is shown unchanged. */
export function flightLink(page: Page, region: string, flightId: string, status: string): Html {
  const tone = flightTone(status);
  return html`<a class="text ${tone}" href="${page.root}${flightPath(region, flightId)}">${statusWords(page.words, status)}</a>`;
}

export function statusWords({ flight }: Words, status: string): string {
  return isKnown(flight.words, status) ? flight.words[status] : plainText(status, NAME_LENGTH) || '?';
}

/** The status of a Bird at the service. */
export function birdStatus({ birdStatuses }: Words, status: string): string {
  return isKnown(birdStatuses, status) ? birdStatuses[status] : plainText(status, NAME_LENGTH);
}

export function flightTitle({ flight }: Words, status: string): string {
  return isKnown(flight.statuses, status)
    ? flight.statuses[status]
    : flight.otherStatus(plainText(status, NAME_LENGTH));
}

export function flightTone(status: string): Tone {
  if (status === 'failed') return 'bad';
  return status === 'succeeded' ? 'good' : 'quiet';
}

/** Empty if unknown. */
export function flightTook({ time }: Words, flight: FlightOverview): string {
  const us = durationUs(flight);
  return us === undefined ? '' : time.took(us / 1000);
}

const MARKS: ReadonlyMap<string, string> = new Map([
  ['succeeded', '●'],
  ['failed', '✕'],
  ['cancelled', '○'],
  ['active', '…'],
]);

/** `● ● ✕`, oldest first. Screen readers get counts instead. */
export function flightMarks({ words }: Page, statuses: readonly string[]): Html {
  if (statuses.length === 0) return html`<span class="soft">${words.birds.never}</span>`;
  const marks = statuses.map((status) => {
    const kind = MARKS.has(status) ? status : 'other';
    return html`<span class="${kind}">${MARKS.get(status) ?? '·'}</span>`;
  });
  const said = countWords(words, statuses);
  return html`<span class="marks" role="img" aria-label="${said}" title="${said}">${marks}</span>`;
}

/** `8 succeeded, 2 failed`. */
export function countWords({ birds }: Words, statuses: readonly string[]): string {
  const count = (status: string) => statuses.filter((one) => one === status).length;
  const known = [
    [count('succeeded'), birds.succeeded],
    [count('failed'), birds.failed],
    [count('cancelled'), birds.cancelled],
    [count('active'), birds.active],
  ] as const;
  const other = known.reduce((left, [number]) => left - number, statuses.length);
  return [...known, [other, birds.other] as const]
    .filter(([number]) => number > 0)
    .map(([number, say]) => say(number))
    .join(', ');
}

/** `97.5 %`; empty if none ended. */
export function percent({ time }: Words, ratio: number | undefined): string {
  return ratio === undefined ? '' : time.percent(ratio);
}

/** A button, or why there is none. `address`: the Bird's or Flight's in the service's own application. */
export function flyLink(
  page: Page,
  bird: BirdOverview,
  failedFlightId: string,
  address: string | undefined,
): Html {
  const why = whyNotStarted(bird);
  if (why !== undefined) return html`<p class="small soft after">${why}${inService(page, address)}</p>`;
  const path = flyPath(bird.region, bird.birdId, failedFlightId);
  return html`<p class="actions"><a class="button" href="${page.root}${path}">${page.words.fly.button}</a></p>`;
}
