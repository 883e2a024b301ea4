/** The page that makes a silence: it shows what would be hidden before it is made. */
import type { Context } from 'hono';
import { html } from 'hono/html';
import { type Labels, labelOf } from '../../../domain/alert/alert.ts';
import { formatMatcher, type Matcher, parseMatcherLists } from '../../../domain/matchers/matcher.ts';
import { MatcherSyntaxError } from '../../../domain/matchers/matcher-syntax.ts';
import { hidesFromUs, type Recurrences, type Silence } from '../../../domain/muting/silence.ts';
import type { SilenceRequest } from '../../../domain/muting/silence-change.ts';
import { LIMITS } from '../../../limits.ts';
import type { RoutedAlert } from '../../../operator/routed-alert.ts';
import { exactTime } from '../../../text/instant-words.ts';
import { manyLines } from '../../../text/plain-text.ts';
import { LONGEST_MS, parseDuration } from '../../../time/duration.ts';
import { parseInstant } from '../../../time/instant.ts';
import { signedBy } from '../../access/identify.ts';
import { refuse } from '../../query.ts';
import { MAX_AUTHOR_LENGTH, MAX_COMMENT_LENGTH } from '../../silence-request.ts';
import { sentence } from '../frame/form.ts';
import type { Page } from '../frame/page.ts';
import { frame, type Html } from '../frame/page-frame.ts';
import { previewList } from './silence-view.ts';

/** What a person typed, field by field. */
export interface SilenceForm {
  /** One or more in each line. */
  readonly matchers: string;
  readonly start: string;
  readonly duration: string;
  readonly author: string;
  readonly comment: string;
  readonly cron: string;
  readonly timezone: string;
  readonly window: string;
}

const DEFAULT_DURATION = '2h';
const DEFAULT_WINDOW = '1h';

export function readSilenceForm(c: Context, given: URLSearchParams): SilenceForm {
  const text = (name: string, otherwise = '') => (given.get(name) ?? otherwise).trim();
  return {
    matchers: text('matchers'),
    start: text('start'),
    duration: text('duration', DEFAULT_DURATION),
    author: signedBy(c.get('identity'), text('author')),
    comment: text('comment'),
    cron: text('cron'),
    timezone: text('timezone', 'UTC'),
    window: text('window', DEFAULT_WINDOW),
  };
}

/** The matchers that mean this alert and its like: what it is about, without what may change while it fires. */
export function matchersFor(labels: Labels): string {
  const names = [
    'alertname',
    'region',
    'nest_id',
    'bird_id',
    'entity_id',
    'error',
    'receiver',
    'integration',
  ];
  return names
    .flatMap((name) => {
      const value = labelOf(labels, name);
      return value ? [formatMatcher({ name, op: '=', value })] : [];
    })
    .join('\n');
}

/** Throws `usage` for text that is no matcher. */
export function readFormMatchers(text: string): Matcher[] {
  try {
    return parseMatcherLists(text.split('\n').filter((line) => line.trim() !== ''));
  } catch (error) {
    if (error instanceof MatcherSyntaxError) throw refuse(`Matchers: ${error.message}.`);
    throw error;
  }
}

/** Throws `usage` with what a person has to change. */
export function requestOf(form: SilenceForm, nowUs: number): SilenceRequest {
  const matchers = readFormMatchers(form.matchers);
  if (matchers.length === 0) throw refuse('Matchers: name at least one, such as bird="Translate blog".');
  const times = timesOf(form, nowUs);
  if (form.author === '') throw refuse('Your name is missing: others see who made the silence.');
  if (form.comment === '') throw refuse('Reason: say why, others will wonder.');
  if (form.author.length > MAX_AUTHOR_LENGTH || form.comment.length > MAX_COMMENT_LENGTH) {
    throw refuse('Your name or the reason is too long.');
  }
  return { matchers, ...times, createdBy: form.author, comment: form.comment };
}

/** From when on such a silence would hide something; undefined for never. Throws `usage` as `requestOf` does. */
export function firstHidingUs(
  form: SilenceForm,
  nowUs: number,
  recurrences: Recurrences,
): number | undefined {
  const times = timesOf(form, nowUs);
  const mistake = times.recurrence && recurrences.problem(times.recurrence);
  if (mistake) throw refuse(sentence(mistake));
  return hidesFromUs(times, nowUs, recurrences);
}

function timesOf(form: SilenceForm, nowUs: number): Pick<Silence, 'startsAtUs' | 'endsAtUs' | 'recurrence'> {
  const startsAtUs = form.start === '' ? nowUs : parseInstant(form.start)?.us;
  if (startsAtUs === undefined)
    throw refuse('Start: write it as 2026-07-02 13:59:34 (UTC), or leave it empty for now.');
  const durationMs = durationOf('Duration', form.duration);
  return {
    startsAtUs,
    endsAtUs: startsAtUs + durationMs * 1000,
    recurrence:
      form.cron === ''
        ? null
        : { cron: form.cron, timezone: form.timezone, durationMs: durationOf('Each time for', form.window) },
  };
}

function durationOf(field: string, text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined || ms === 0 || ms > LONGEST_MS)
    throw refuse(`${field}: write a duration such as 30m, 2h or 3d.`);
  return ms;
}

interface SilencePage {
  readonly form: SilenceForm;
  /** What has to be changed first; empty for nothing. */
  readonly problem: string;
  /** The alerts that fire and that the form's matchers fit. */
  readonly hidden: readonly RoutedAlert[];
  readonly recurrences: Recurrences;
  readonly nowUs: number;
}

/** What was typed, for its fields: a link may have filled them. */
function shownForm(form: SilenceForm): SilenceForm {
  const fields = Object.entries(form).map(([name, text]) => [
    name,
    manyLines(text, LIMITS.silence_characters.most),
  ]);
  return Object.fromEntries(fields) as SilenceForm;
}

export function renderSilencePage(at: Page, page: SilencePage): Html {
  const { problem } = page;
  const form = shownForm(page.form);
  const { title, shown } = preview(page);
  return frame({
    title: 'nestwatch: silence alerts',
    tone: 'quiet',
    page: at,
    section: 'silences',
    body: html`<header class="narrow">
<h1>Silence alerts</h1>
<p class="lead">While a silence lasts, nobody is told of the alerts that it matches. What still fires when it ends is told then.</p>
${problem ? html`<p class="notice" role="alert" id="problem">${problem}</p>` : ''}
</header>
<main id="main" class="narrow">
<form method="post" action="silence" class="sheet fields">
<label for="matchers">Matchers, all of which must fit</label>
<textarea id="matchers" name="matchers" rows="4" required spellcheck="false" aria-describedby="matchers-help">${form.matchers}</textarea>
<p class="small soft" id="matchers-help">One in each line: <code>nest="Marketing"</code>, <code>severity!="critical"</code>, <code>bird=~"Translate.*"</code>.</p>
<div class="pair">
<div><label for="duration">For how long</label>
<input id="duration" name="duration" value="${form.duration}" required autocomplete="off" placeholder="30m, 2h, 3d"></div>
<div><label for="start">Start (UTC)</label>
<input id="start" name="start" value="${form.start}" autocomplete="off" placeholder="now"></div>
</div>
<label for="author">Your name</label>
<input id="author" name="author" value="${form.author}" required autocomplete="name" maxlength="${MAX_AUTHOR_LENGTH}">
<label for="comment">Reason</label>
<input id="comment" name="comment" value="${form.comment}" required autocomplete="off" maxlength="${MAX_COMMENT_LENGTH}">
<details${form.cron ? html` open` : ''}>
<summary>Only at certain times</summary>
<div class="pair">
<div><label for="cron">Begins at (cron)</label>
<input id="cron" name="cron" value="${form.cron}" autocomplete="off" spellcheck="false" placeholder="0 2 * * 6"></div>
<div><label for="window">Each time for</label>
<input id="window" name="window" value="${form.window}" autocomplete="off"></div>
</div>
<label for="timezone">Time zone</label>
<input id="timezone" name="timezone" value="${form.timezone}" autocomplete="off" spellcheck="false">
</details>
<div class="buttons">
<button class="main">Silence</button>
<button formmethod="get" formnovalidate>Show what it hides</button>
</div>
</form>
<section><h2 id="preview">${title}</h2>
${shown}
</section>
</main>`,
  });
}

function preview({ form, hidden, recurrences, nowUs }: SilencePage): {
  readonly title: Html;
  readonly shown: Html;
} {
  const title = html`What it hides`;
  let fromUs: number | undefined;
  let matchers: readonly Matcher[] = [];
  try {
    fromUs = firstHidingUs(form, nowUs, recurrences);
    matchers = readFormMatchers(form.matchers);
  } catch {
    // The problem stands above the form.
    return { title, shown: html`<p class="sheet empty">Correct what is typed to see that.</p>` };
  }
  if (matchers.length === 0) {
    return { title, shown: html`<p class="sheet empty">Name what it matches to see that.</p>` };
  }
  if (fromUs === undefined) {
    const never = html`<p class="sheet empty">Nothing: it ends before it hides anything. Let it last longer.</p>`;
    return { title, shown: never };
  }
  return {
    title: fromUs === nowUs ? html`${title} now` : html`What it would hide from ${exactTime(fromUs)} on`,
    shown: previewList(hidden),
  };
}
