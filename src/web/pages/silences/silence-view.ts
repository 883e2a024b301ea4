/** Renders silences for the pages and their forms. */
import { html } from 'hono/html';
import { formatMatcher } from '../../../domain/matchers/matcher.ts';
import { type Silence, silenceState } from '../../../domain/muting/silence.ts';
import type { RoutedAlert } from '../../../operator/routed-alert.ts';
import { plainText } from '../../../text/plain-text.ts';
import { formatDuration } from '../../../time/duration.ts';
import type { Page } from '../frame/page.ts';
import { type Html, when } from '../frame/page-frame.ts';
import {
  alertPlace,
  alertTitle,
  MESSAGE_LENGTH,
  NAME_LENGTH,
  regionWord,
  silenceWords,
} from '../frame/page-words.ts';
import type { Words } from '../frame/words.ts';

/** A silence, with the number of firing alerts that it hides now, and the acknowledgements that are folded with it. */
interface ShownSilence {
  readonly silence: Silence;
  readonly hides: number;
  readonly others: readonly Silence[];
}

/** The silences that are shown, in the order of their ends, and the number of all entries. */
export interface ShownSilences {
  readonly shown: readonly ShownSilence[];
  readonly total: number;
}

/**
 * Among the silences that have not expired, acknowledgements come last, since they belong to their alerts. Those of one
 * person and comment are one entry.
 */
export function shownSilences(
  silences: readonly Silence[],
  routed: readonly RoutedAlert[],
  nowUs: number,
  most: number,
): ShownSilences {
  const lasting = silences.filter((silence) => silenceState(silence, nowUs) !== 'expired');
  const [plain, own] = [lasting.filter(isPlain), lasting.filter((one) => !isPlain(one))];
  const byWhom = Map.groupBy(own, ({ createdBy, comment }) => JSON.stringify([createdBy, comment]));
  const inOrder = [...plain.map((one) => [one]), ...byWhom.values()];
  const hides = new Map<string, number>();
  for (const { silencedBy } of routed) {
    for (const id of silencedBy) hides.set(id, (hides.get(id) ?? 0) + 1);
  }
  return {
    shown: inOrder.slice(0, most).map(([silence, ...others]) => ({
      silence: silence!,
      hides: hides.get(silence!.id) ?? 0,
      others,
    })),
    total: inOrder.length,
  };
}

function isPlain({ alertId }: Silence): boolean {
  return alertId === null;
}

/** Of acknowledgements that are folded. */
const SHOWN_INSIDE = 50;

export function silenceItem(page: Page, { silence, hides, others }: ShownSilence): Html {
  const { root, words, nowUs } = page;
  const { silences } = words;
  if (others.length > 0) {
    const inside = [silence, ...others].slice(0, SHOWN_INSIDE);
    const more = others.length + 1 - inside.length;
    return html`<li><details><summary>${words.count.alerts(others.length + 1)} <bdi>${silenceWords(words, silence)}</bdi></summary>
<ul>${inside.map((one) => silenceItem(page, { silence: one, hides: 0, others: [] }))}${more > 0 ? html`<li class="soft">${words.silences.moreAlerts(more)}</li>` : ''}</ul></details></li>`;
  }
  const { id, startsAtUs, endsAtUs, recurrence, alertId } = silence;
  const isPending = silenceState(silence, nowUs) === 'pending';
  const title = matcherText(words, silence);
  const ends = html`${silences.ends} ${when(page, endsAtUs)}`;
  const lasts =
    alertId !== null
      ? silences.untilResolved
      : isPending
        ? html`${silences.begins} ${when(page, startsAtUs)}, ${ends}`
        : ends;
  const windows = recurrence
    ? plainText(
        silences.recurring(formatDuration(recurrence.durationMs), recurrence.cron, recurrence.timezone),
        NAME_LENGTH,
      )
    : '';
  return html`<li id="silence-${id}"><div class="row"><div><span class="what matchers"><bdi>${title}</bdi></span>
${isPending ? html`<span class="pill quiet">${silences.notYet}</span>` : ''}
${hides > 0 ? html`<span class="pill warn">${silences.hides(hides)}</span>` : ''}</div>
<form method="post" action="${root}expire-silence"><input type="hidden" name="id" value="${id}">
<button class="small" aria-label="${silences.endThat(title)}">${silences.end}</button></form></div>
<p class="small soft"><bdi>${silenceWords(words, silence)}</bdi> · ${lasts}${windows ? ` · ${windows}` : ''}</p></li>`;
}

function matcherText(words: Words, { matchers, alertId }: Silence): string {
  // An acknowledgement has a matcher for every label of its alert. The alert's name and place are shorter.
  const labels = Object.fromEntries(matchers.map(({ name, value }) => [name, value]));
  return alertId === null
    ? plainText(matchers.map(formatMatcher).join(', '), MESSAGE_LENGTH)
    : [alertTitle(words, labels.alertname ?? ''), alertPlace(labels)].filter(Boolean).join(' · ');
}

const SHOWN_PREVIEW = 20;

/** The firing alerts that would be hidden. */
export function previewList({ words }: Page, hidden: readonly RoutedAlert[]): Html {
  if (hidden.length === 0) {
    return html`<p class="sheet empty">${words.silences.hidesNothing}</p>`;
  }
  const items = hidden.slice(0, SHOWN_PREVIEW).map(
    ({ alert: { labels } }) => html`<li><span class="what">${alertTitle(words, labels.alertname ?? '')}</span>
<span class="soft"><bdi>${[regionWord(words, labels.region ?? ''), alertPlace(labels)].filter(Boolean).join(' · ')}</bdi></span></li>`,
  );
  const more = hidden.length - items.length;
  return html`<ul class="sheet">${items}${more > 0 ? html`<li class="soft">${words.silences.moreAlerts(more)}</li>` : ''}</ul>`;
}
