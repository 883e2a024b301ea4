/** What a silence of an alert is about and how long it lasts, as choices in words in place of matchers and durations. */
import { html } from 'hono/html';
import { type Labels, labelOf } from '../../../domain/alert/alert.ts';
import { formatMatcher, matchersOf } from '../../../domain/matchers/matcher.ts';
import { SUBJECT_LABELS, usualLabels } from '../../../operator/edit-silences.ts';
import type { Page } from '../frame/page.ts';
import type { Html } from '../frame/page-frame.ts';
import { alertPlace, NAME_LENGTH, placeName } from '../frame/page-words.ts';
import { said } from '../frame/said.ts';

/** The labels that alerts of one cause share. */
const CAUSE_LABELS = ['alertname', 'severity', 'error'];

/** What may be silenced because of an alert, the usual choice first. */
function scopesOf({ words: { silence: words } }: Page, labels: Labels): { text: string; matchers: string }[] {
  const { nest_id: nestId, nest = '', bird_id: birdId } = labels;
  const ofNest = { nest, nestId: nestId ?? '', bird: '', birdId: '' };
  return [
    ...(birdId === undefined
      ? []
      : [{ text: words.thisBird(alertPlace(labels)), matchers: matchersOf(labels, usualLabels(labels)) }]),
    { text: labels.error ? words.thisError : words.thisAlert, matchers: matchersOf(labels, SUBJECT_LABELS) },
    ...(labels.error ? [{ text: words.thisCause, matchers: matchersOf(labels, CAUSE_LABELS) }] : []),
    ...(nestId === undefined
      ? []
      : [{ text: words.thisNest(placeName(ofNest)), matchers: matchersOf(labels, ['region', 'nest_id']) }]),
  ];
}

/** The matchers of the first choice. */
export function usualMatchers(page: Page, labels: Labels): string {
  return scopesOf(page, labels)[0]!.matchers;
}

const CHOSEN_LABELS = ['alertname', 'region', 'nest_id', 'bird_id', 'entity_id', 'receiver', 'integration'];

/** What alerts that were chosen share, and of what differs all values, of which none may be there too. */
export function matchersOfChosen(all: readonly Labels[]): string {
  const lines = CHOSEN_LABELS.flatMap((name) => {
    const [value = '', ...others] = new Set(all.map((labels) => labelOf(labels, name) ?? ''));
    if (others.length === 0) return value === '' ? [] : [formatMatcher({ name, op: '=', value })];
    const values = [value, ...others].map((one) => one.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    return [formatMatcher({ name, op: '=~', value: values.join('|') })];
  });
  return lines.join('\n');
}

/** Choices of what, each with its matchers. Empty stands for the matchers of the text area. */
export function scopeChoices(page: Page, labels: Labels, chosen: string): Html {
  const words = page.words.silence;
  const known = scopesOf(page, labels);
  const isOwn = !known.some(({ matchers }) => matchers === chosen);
  const scopes = isOwn && chosen !== '' ? [{ text: words.asListed, matchers: chosen }, ...known] : known;
  const shown = scopes.map(({ text, matchers }) =>
    choice(
      'scope',
      matchers,
      matchers === chosen,
      said(text, 3 * NAME_LENGTH),
      html`<code>${said(matchers, 500)}</code>`,
    ),
  );
  return html`<fieldset><legend>${words.scope}</legend>${shown}${choice('scope', '', chosen === '', words.ownMatchers)}</fieldset>`;
}

/** The choices of until when; empty stands for the duration that is typed. */
const UNTILS = ['1h', 'tomorrow', 'monday', 'landed', ''] as const;

/** Until all that fire now are over: they are acknowledged. */
export const UNTIL_LANDED = 'landed';

export function untilChoices({ words: { silence: words } }: Page, chosen: string): Html {
  const shown = UNTILS.map((value) =>
    choice('until', value, value === chosen, words.untils[value || 'typed']),
  );
  return html`<fieldset><legend>${words.until}</legend>${shown}</fieldset>`;
}

const HOUR_US = 3_600_000_000;
const MORNING = '08:00';

/** Until when such a choice lasts; undefined for one that no instant ends. */
export function untilUs(choice: string, zone: string, nowUs: number): number | undefined {
  if (choice === '1h') return nowUs + HOUR_US;
  const today = Temporal.Instant.fromEpochMilliseconds(Math.floor(nowUs / 1000))
    .toZonedDateTimeISO(zone)
    .toPlainDate();
  if (choice !== 'tomorrow' && choice !== 'monday') return undefined;
  const days = choice === 'tomorrow' ? 1 : 8 - today.dayOfWeek;
  const morning = today.add({ days }).toZonedDateTime({ timeZone: zone, plainTime: MORNING });
  return morning.epochMilliseconds * 1000;
}

function choice(
  name: string,
  value: string,
  isChosen: boolean,
  text: Html | string,
  more: Html | string = '',
): Html {
  return html`<label class="choice"><input type="radio" name="${name}" value="${value}"${isChosen ? html` checked` : ''}> <span>${text}${more && html` <span class="soft">${more}</span>`}</span></label>`;
}
