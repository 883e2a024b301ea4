/** Decides how Birds and Flights are named, marked and linked on all of their pages. */
import { html } from 'hono/html';
import { birdPath, flightPath, nestPath } from '../../../http/page-path.ts';
import type { ShownBird } from '../../../operator/acknowledged-birds.ts';
import type { BirdOverview, FlightOverview, Standing } from '../../../store/bird-store.ts';
import { plainText } from '../../../text/plain-text.ts';
import type { Page } from './page.ts';
import type { Html } from './page-frame.ts';
import { briefId, isKnown, NAME_LENGTH, type Tone } from './page-words.ts';
import type { Words } from './words.ts';

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
  return plainText(name, NAME_LENGTH) || `${words.birds.bird} ${briefId(birdId)}`;
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
  return plainText(nest, NAME_LENGTH) || `${words.birds.nest} ${briefId(nestId)}`;
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
