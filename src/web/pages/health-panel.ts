/** Renders the health answer: headline, tone and title, and the list of what impairs the watch. */
import { html } from 'hono/html';
import { type Said, sayFinding } from '../../health/finding.ts';
import type { Impairment, ImpairmentSeverity } from '../../health/impairment.ts';
import type { FiringCounts } from '../../operator/count-firing.ts';
import type { FaultRecord } from '../../store/fault-store.ts';
import { plainText } from '../../text/plain-text.ts';
import type { Page } from './frame/page.ts';
import { exactly, type Html, timed } from './frame/page-frame.ts';
import { MESSAGE_LENGTH, NAME_LENGTH, severityTone, type Tone } from './frame/page-words.ts';

interface Standing {
  readonly impairments: readonly Impairment[];
  /** Undefined while the store does not answer. */
  readonly alerts: FiringCounts | undefined;
  /** The severities of the alerts that wait for a person. */
  readonly severities: readonly string[];
  /** How many of these alerts are `WatchImpaired`, which only repeats the impairments. */
  readonly echoes: number;
}

const TONES: Readonly<Record<ImpairmentSeverity, Tone>> = { critical: 'bad', warning: 'warn', info: 'quiet' };

/** Green, `All quiet`, if and only if nothing impairs the watch and no alert fires; amber if all that fire are known. */
export function headlineOf({ impairments, alerts, echoes }: Standing, page: Page): string {
  const { words } = page;
  const waiting = (alerts?.unacknowledged ?? 0) - (impairments.length > 0 ? echoes : 0);
  const firing = waiting > 0 ? [words.health.fresh(waiting)] : [];
  // Impairments that end by themselves are only named if there is nothing else.
  const [gravest, ...others] =
    waiting > 0 ? impairments.filter(({ severity }) => severity !== 'info') : impairments;
  const isGrave = gravest?.severity === 'critical';
  const impaired = gravest
    ? [said(page, gravest).title, ...(others.length > 0 ? [words.health.more(others.length)] : [])]
    : [];
  const parts = isGrave ? [...impaired, ...firing] : [...firing, ...impaired];
  if (parts.length === 0 && alerts)
    return alerts.firing > 0 ? words.health.known(alerts.firing) : words.health.quiet;
  if (parts.length === 0) return words.health.unknown;
  const text = parts.join(', ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function toneOf({ impairments, alerts, severities }: Standing): Tone {
  const tones = [...impairments.map(({ severity }) => TONES[severity]), ...severities.map(severityTone)];
  if (tones.includes('bad')) return 'bad';
  if (tones.includes('warn') || (alerts?.firing ?? 0) > 0) return 'warn';
  return tones.includes('quiet') || !alerts ? 'quiet' : 'good';
}

/** In the language of the page. */
function said(page: Page, { finding }: Impairment): Said {
  return sayFinding(page.words.findings, finding, (us) => exactly(page, us));
}

/** Empty if nothing impairs the watch. */
export function healthPanel(
  page: Page,
  impairments: readonly Impairment[],
  setAside: readonly FaultRecord[],
): Html {
  if (impairments.length === 0) return html``;
  const { root, words } = page;
  return html`<section id="health">
<h2>${words.health.title} <a href="${root}api/v1/health">${words.frame.asJson}</a></h2>
<ul class="sheet">${impairments.map((one) => item(page, one, setAside))}</ul>
</section>`;
}

function item(page: Page, one: Impairment, setAside: readonly FaultRecord[]): Html {
  const { words, nowUs } = page;
  const tone = TONES[one.severity];
  const { title: text, summary, action } = said(page, one);
  const title = text.charAt(0).toUpperCase() + text.slice(1);
  return html`<li class="alert ${tone}">
<div class="row"><div><h3><bdi>${title}</bdi></h3> <span class="pill ${tone}">${words.health[one.severity]}</span></div>
<span class="small soft">${words.health.lasting} ${timed(page, one.sinceUs, words.time.soFar((nowUs - one.sinceUs) / 1000))}</span></div>
<p><bdi>${summary}</bdi></p>
${one.reason === 'faults_set_aside' ? faults(setAside) : ''}
<p class="small soft">${action}${links(page, one)}</p>
</li>`;
}

/** What was set aside, so that a person can remove it. */
function faults(setAside: readonly FaultRecord[]): Html {
  const items = setAside.map(({ sort, name, reason }) => {
    const what = plainText(`${sort.replace('_', ' ')} ${name}`, NAME_LENGTH);
    return html`<li class="small"><bdi>${what}</bdi>: <bdi>${plainText(reason, MESSAGE_LENGTH)}</bdi></li>`;
  });
  return html`<ul>${items}</ul>`;
}

/** Links to details. */
function links({ root, words }: Page, { reason, receiver }: Impairment): Html {
  if (reason !== 'deliveries_dead' && reason !== 'receivers_failing') return html``;
  const query = new URLSearchParams({
    ...(reason === 'deliveries_dead' && { state: 'dead' }),
    ...(receiver !== undefined && { receiver }),
  });
  return html` <a href="${root}deliveries?${query.toString()}">${words.frame.deliveries}</a>`;
}
