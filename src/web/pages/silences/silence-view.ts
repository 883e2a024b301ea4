/** Silences as the page and its forms speak of them. */
import { html } from 'hono/html';
import { formatMatcher } from '../../../domain/matchers/matcher.ts';
import { type Silence, silenceState } from '../../../domain/muting/silence.ts';
import type { RoutedAlert } from '../../../operator/routed-alert.ts';
import { howMany } from '../../../text/counts.ts';
import { plainText } from '../../../text/plain-text.ts';
import { regionName } from '../../../text/region-name.ts';
import { formatDuration } from '../../../time/duration.ts';
import { type Html, when } from '../frame/page-frame.ts';
import { alertPlace, alertTitle, MESSAGE_LENGTH, NAME_LENGTH, silenceWords } from '../frame/page-words.ts';

/** A silence with how many alerts that fire it concerns now. */
export interface ShownSilence {
  readonly silence: Silence;
  readonly hides: number;
}

/** Those that are not over, in the order in which they end. */
export function shownSilences(
  silences: readonly Silence[],
  routed: readonly RoutedAlert[],
  nowUs: number,
): ShownSilence[] {
  return silences
    .filter((silence) => silenceState(silence, nowUs) !== 'expired')
    .map((silence) => ({
      silence,
      hides: routed.filter((one) => one.silencedBy.includes(silence.id)).length,
    }));
}

export function silenceItem({ silence, hides }: ShownSilence, nowUs: number): Html {
  const { id, startsAtUs, endsAtUs, recurrence, alertId } = silence;
  const isPending = silenceState(silence, nowUs) === 'pending';
  const title = matcherText(silence);
  const ends =
    alertId !== null
      ? html`until it is resolved`
      : isPending
        ? html`begins ${when(startsAtUs, nowUs)}, ends ${when(endsAtUs, nowUs)}`
        : html`ends ${when(endsAtUs, nowUs)}`;
  const windows = recurrence
    ? plainText(
        `for ${formatDuration(recurrence.durationMs)} at each ${recurrence.cron} (${recurrence.timezone})`,
        NAME_LENGTH,
      )
    : '';
  return html`<li><div class="row"><div><span class="what matchers"><bdi>${title}</bdi></span>
${isPending ? html`<span class="pill quiet">Not yet</span>` : ''}
${hides > 0 ? html`<span class="pill warn">Hides ${howMany(hides, 'alert')}</span>` : ''}</div>
<form method="post" action="expire-silence"><input type="hidden" name="id" value="${id}">
<button class="small" aria-label="End the silence ${title}">End now</button></form></div>
<p class="small soft"><bdi>${silenceWords(silence)}</bdi> · ${ends}${windows ? ` · ${windows}` : ''}</p></li>`;
}

function matcherText({ matchers, alertId }: Silence): string {
  // An acknowledgement names every label of its alert: its name and place say it shorter.
  const labels = Object.fromEntries(matchers.map(({ name, value }) => [name, value]));
  return alertId === null
    ? plainText(matchers.map(formatMatcher).join(', '), MESSAGE_LENGTH)
    : [alertTitle(labels.alertname ?? ''), alertPlace(labels)].filter(Boolean).join(' · ');
}

const SHOWN_PREVIEW = 20;

/** The alerts that fire and would be hidden. */
export function previewList(hidden: readonly RoutedAlert[]): Html {
  if (hidden.length === 0) {
    return html`<p class="sheet empty">No alert that is active now. Those that come while it lasts are hidden.</p>`;
  }
  const items = hidden.slice(0, SHOWN_PREVIEW).map(
    ({ alert: { labels } }) => html`<li><span class="what">${alertTitle(labels.alertname ?? '')}</span>
<span class="soft"><bdi>${[regionName(labels.region ?? ''), alertPlace(labels)].filter(Boolean).join(' · ')}</bdi></span></li>`,
  );
  const more = hidden.length - items.length;
  return html`<ul class="sheet">${items}${more > 0 ? html`<li class="soft">and ${howMany(more, 'more alert')}</li>` : ''}</ul>`;
}
