/** Creates silences, by choices in words or by matchers, first showing what would be hidden; and ends them. */
import type { Context, Hono } from 'hono';
import { html } from 'hono/html';
import { alertSlips } from '../../../config/label-warnings.ts';
import { type Labels, labelOf } from '../../../domain/alert/alert.ts';
import {
  formatMatcher,
  type Matcher,
  matchersOf,
  matchesAll,
  parseMatcherLists,
} from '../../../domain/matchers/matcher.ts';
import { MatcherSyntaxError } from '../../../domain/matchers/matcher-syntax.ts';
import { hidesFromUs, type Recurrences, type Silence } from '../../../domain/muting/silence.ts';
import type { SilenceRequest } from '../../../domain/muting/silence-change.ts';
import { alertPath } from '../../../http/page-path.ts';
import { LIMITS } from '../../../limits.ts';
import { SUBJECT_LABELS, usualLabels } from '../../../operator/act-on-alerts.ts';
import { type RoutedAlert, readRoutedAlerts } from '../../../operator/read-alerts.ts';
import { manyLines } from '../../../text/plain-text.ts';
import { LONGEST_MS, parseDuration } from '../../../time/duration.ts';
import { parseInstant } from '../../../time/instant.ts';
import { isTimezone, parseWallTime } from '../../../time/zone-format.ts';
import { select } from '../../bounded-work.ts';
import { refuse } from '../../requests/query.ts';
import { MAX_AUTHOR_LENGTH, MAX_COMMENT_LENGTH } from '../../requests/silence-request.ts';
import type { PagesOptions } from '../../web-options.ts';
import {
  authorOf,
  backTo,
  cancelLink,
  checkSignature,
  fieldsOf,
  nameField,
  problemOf,
  sentence,
} from '../frame/form.ts';
import { type Html, type Page, pageOf } from '../frame/page.ts';
import { exactly, marked, titledPage } from '../frame/page-frame.ts';
import { alertPlace, NAME_LENGTH, placeName, said } from '../frame/page-words.ts';
import type { Words } from '../frame/words.ts';
import { chosenMatchers, previewList } from './silences-page.ts';

/** The pages that create silences and end them. */
export function addSilencing(pages: Hono, options: PagesOptions): void {
  const { store, alerting, recurrences, silenceEditor, clock } = options;

  const readRouted = (nowUs: number) =>
    store.transaction(async (tx) => readRoutedAlerts(tx, await options.muting(tx, nowUs), alerting));

  /** The alert that led to the form. */
  async function alertOf({ alert: id }: SilenceForm) {
    return id === '' ? undefined : store.transaction((tx) => tx.alerts.find(id));
  }

  async function labelsOfSome(ids: readonly string[]): Promise<Labels[]> {
    return store.transaction(async (tx) => {
      const found = [];
      for (const id of ids) found.push((await tx.alerts.find(id))?.labels);
      return found.filter((labels) => labels !== undefined);
    });
  }

  /** Throws `usage` for invalid matchers, and for those that no alert can ever meet or that all do. */
  async function matched({ words }: Page, form: SilenceForm, routed: readonly RoutedAlert[]) {
    const matchers = readFormMatchers(words, form.matchers);
    const firing = routed.map(({ alert }) => alert.labels);
    const [slip] = alertSlips(matchers, { rules: alerting.rules, regions: options.regions(), firing });
    if (slip !== undefined) throw refuse(words.mistakes.matchers(slip));
    return select(routed, ({ alert }) => matchesAll(matchers, alert.labels), options);
  }

  /** Acknowledges what fires and matches, so that it ends with the alerts. Returns the page that takes it back. */
  async function acknowledgeAll(page: Page, form: SilenceForm) {
    const by = { createdBy: form.author, comment: form.comment };
    checkSignature(page.words, by);
    if (readFormMatchers(page.words, form.matchers).length === 0) throw refuse(page.words.mistakes.noMatcher);
    const shown = await matched(page, form, await readRouted(page.nowUs));
    if (shown.length === 0) throw refuse(page.words.mistakes.noAlert);
    const result = await silenceEditor.acknowledge(
      shown.map(({ alert }) => alert),
      by,
    );
    if (!result.ok) throw refuse(sentence(result.message));
    return { id: result.id, page: `acknowledge?${new URLSearchParams({ alert: shown[0]!.alert.id })}` };
  }

  async function show(c: Context, form: SilenceForm, problem: string) {
    const page = pageOf(c, clock);
    const routed = await readRouted(page.nowUs);
    let hidden: readonly RoutedAlert[] | undefined;
    const mistake = await problemOf(c.get('words'), async () => {
      hidden = await matched(page, form, routed);
    });
    return renderSilencePage(page, {
      form,
      labels: (await alertOf(form))?.labels,
      problem: problem || mistake,
      hidden,
      recurrences,
    });
  }

  /** Nothing is silenced before somebody has seen what that mutes. */
  async function ask(c: Context, given: URLSearchParams) {
    const page = pageOf(c, clock);
    const typed = readSilenceForm(c, given, page.zone);
    const alert = typed.matchers === '' ? await alertOf(typed) : undefined;
    const several = await labelsOfSome(given.getAll('alert'));
    const chosen =
      several.length > 1 && typed.matchers === ''
        ? matchersOfChosen(several)
        : alert
          ? scopesOf(page, alert.labels)[0]!.matchers
          : chosenMatchers(given);
    const form = chosen === '' ? typed : { ...typed, matchers: chosen };
    const problem = await problemOf(c.get('words'), async () => {
      readFormMatchers(page.words, form.matchers);
      firstHidingUs(page.words, form, page.nowUs, recurrences);
    });
    return c.html(await show(c, form, problem));
  }

  pages.get('/silence', (c) => ask(c, new URL(c.req.url).searchParams));
  pages.post('/silence-preview', async (c) => ask(c, await fieldsOf(c)));

  pages.post('/silence', async (c) => {
    const page = pageOf(c, clock);
    const fields = await fieldsOf(c);
    const form = readSilenceForm(c, fields, page.zone);
    let done = '';
    const problem = await problemOf(c.get('words'), async () => {
      if (form.until === UNTIL_LANDED) {
        const made = await acknowledgeAll(page, form);
        done = backTo(fields, made.id) ?? made.page;
        return;
      }
      const request = requestOf(page.words, form, page.nowUs);
      await matched(page, form, await readRouted(page.nowUs));
      const result = await silenceEditor.set(request);
      if (!result.ok) throw refuse(sentence(result.message));
      done = backTo(fields, result.id) ?? `silences#silence-${result.id}`;
    });
    if (problem === '') return c.redirect(done, 303);
    return c.html(await show(c, form, problem), 400);
  });

  pages.post('/expire-silence', async (c) => {
    // A silence that no longer exists has ended as well.
    const fields = await fieldsOf(c);
    const isWhole = fields.has('whole');
    await silenceEditor.expire(fields.get('id') ?? '', isWhole);
    const alert = fields.get('alert') ?? '';
    const usual = isWhole ? 'alerts' : alert === '' ? 'silences' : alertPath(alert);
    return c.redirect(backTo(fields) ?? usual, 303);
  });
}

/** What a person typed, field by field. */
interface SilenceForm {
  /** The id of the alert that led here; empty without one. */
  readonly alert: string;
  /** The query of the list of alerts that led here; absent for another page. */
  readonly back?: string;
  /** One or more per line. */
  readonly matchers: string;
  /** One of `UNTILS`. */
  readonly until: string;
  readonly start: string;
  /** The time zone of `start`. */
  readonly zone: string;
  readonly duration: string;
  readonly author: string;
  readonly comment: string;
  readonly cron: string;
  readonly timezone: string;
  readonly window: string;
}

const DEFAULT_DURATION = '2h';
const DEFAULT_WINDOW = '1h';

/** `zone` is the reader's. If a link has a start but no zone, the start is in UTC. */
function readSilenceForm(c: Context, given: URLSearchParams, zone: string): SilenceForm {
  const text = (name: string, otherwise = '') => (given.get(name) ?? otherwise).trim();
  return {
    ...(given.has('back') && { back: text('back') }),
    alert: text('alert'),
    // A choice stands for its matchers.
    matchers: text('scope') || text('matchers'),
    until: text('until', text('alert') === '' || given.has('duration') ? '' : '1h'),
    start: text('start'),
    zone: text('zone', text('start') === '' ? zone : 'UTC'),
    duration: text('duration', DEFAULT_DURATION),
    author: authorOf(c, given),
    comment: text('comment'),
    cron: text('cron'),
    timezone: text('timezone', zone),
    window: text('window', DEFAULT_WINDOW),
  };
}

/** Throws `usage` for invalid matchers. */
function readFormMatchers({ mistakes }: Words, text: string): Matcher[] {
  try {
    return parseMatcherLists(text.split('\n').filter((line) => line.trim() !== ''));
  } catch (error) {
    if (error instanceof MatcherSyntaxError) throw refuse(mistakes.matchers(error.message));
    throw error;
  }
}

/** Throws `usage` with what a person has to correct. */
function requestOf(words: Words, form: SilenceForm, nowUs: number): SilenceRequest {
  const { mistakes } = words;
  const matchers = readFormMatchers(words, form.matchers);
  if (matchers.length === 0) throw refuse(mistakes.noMatcher);
  const times = timesOf(words, form, nowUs);
  if (form.author === '') throw refuse(mistakes.noName);
  if (form.comment === '') throw refuse(mistakes.noReason);
  if (form.author.length > MAX_AUTHOR_LENGTH || form.comment.length > MAX_COMMENT_LENGTH) {
    throw refuse(mistakes.tooLong);
  }
  return { matchers, ...times, createdBy: form.author, comment: form.comment };
}

/** From when on such a silence would hide something; undefined for never. Throws `usage` like `requestOf`. */
function firstHidingUs(
  words: Words,
  form: SilenceForm,
  nowUs: number,
  recurrences: Recurrences,
): number | undefined {
  const times = timesOf(words, form, nowUs);
  const mistake = times.recurrence && recurrences.problem(times.recurrence);
  if (mistake) throw refuse(sentence(mistake));
  return hidesFromUs(times, nowUs, recurrences);
}

function timesOf(
  { mistakes }: Words,
  form: SilenceForm,
  nowUs: number,
): Pick<Silence, 'startsAtUs' | 'endsAtUs' | 'recurrence'> {
  const { start, zone } = form;
  if (!isTimezone(zone)) throw refuse(mistakes.query({ says: 'zone', name: 'zone' }));
  const startsAtUs = start === '' ? nowUs : (parseWallTime(start, zone) ?? parseInstant(start)?.us);
  if (startsAtUs === undefined) throw refuse(mistakes.start(zone));
  const chosenUs = untilUs(form.until, zone, startsAtUs, nowUs);
  const endsAtUs = chosenUs ?? startsAtUs + durationOf(form.duration, mistakes.duration) * 1000;
  // No store could read it again, so nobody would be notified of anything.
  if (!Number.isSafeInteger(endsAtUs)) throw refuse(mistakes.duration);
  return {
    startsAtUs,
    endsAtUs,
    recurrence:
      form.cron === ''
        ? null
        : { cron: form.cron, timezone: form.timezone, durationMs: durationOf(form.window, mistakes.window) },
  };
}

function durationOf(text: string, mistake: string): number {
  const ms = parseDuration(text);
  if (ms === undefined || ms === 0 || ms > LONGEST_MS) throw refuse(mistake);
  return ms;
}

interface SilencePage {
  readonly form: SilenceForm;
  /** What has to be corrected first; empty for nothing. */
  readonly problem: string;
  /** The labels of the alert that led here. */
  readonly labels: Labels | undefined;
  /** The firing alerts that the form's matchers match; undefined if these are wrong. */
  readonly hidden: readonly RoutedAlert[] | undefined;
  readonly recurrences: Recurrences;
}

/** What was typed, made safe to show in the form: a link may have filled it in. */
function shownForm(form: SilenceForm): SilenceForm {
  const fields = Object.entries(form).map(([name, text]) => [
    name,
    manyLines(text, LIMITS.silence_characters.most),
  ]);
  return Object.fromEntries(fields) as SilenceForm;
}

function renderSilencePage(at: Page, page: SilencePage): Html {
  const { problem, form, labels } = page;
  const words = at.words.silence;
  const { title, shown } = preview(at, page);
  const isUntilLanded = labels !== undefined && form.until === UNTIL_LANDED;
  const named = isUntilLanded ? words.acknowledgeTitle : words.title;
  return titledPage(at, {
    ...{ section: 'silences', title: named, problem, isNarrow: true },
    lead: isUntilLanded ? at.words.acknowledge.leadOfMany : words.lead,
    main: html`${formOf(at, shownForm(form), labels, isUntilLanded)}
<section><h2 id="preview">${isUntilLanded ? words.acknowledged(page.hidden?.length ?? 0) : title}</h2>
${shown}
</section>`,
  });
}

function formOf(page: Page, form: SilenceForm, labels: Labels | undefined, isUntilLanded: boolean): Html {
  const words = page.words.silence;
  const scopes = labels ? scopesToChoose(page, labels, form.matchers) : [];
  const typed = html`<label for="matchers">${words.matchers}</label>
<textarea id="matchers" name="matchers" rows="4" spellcheck="false" aria-describedby="matchers-help">${form.matchers}</textarea>
<p class="small soft" id="matchers-help">${marked(words.matchersHelp)}</p>
<div class="pair">
<div><label for="duration">${words.duration}</label>
<input id="duration" name="duration" value="${form.duration}" required autocomplete="off" placeholder="30m, 2h, 3d"></div>
<div><label for="start">${words.start(form.zone)}</label>
<input type="hidden" name="zone" value="${form.zone}">
<input id="start" name="start" value="${form.start}" autocomplete="off" placeholder="${words.startHint}"></div>
</div>`;
  return html`<form method="post" action="silence" class="sheet fields">${form.back === undefined ? '' : html`<input type="hidden" name="back" value="${form.back}">`}
${
  labels
    ? html`<input type="hidden" name="alert" value="${form.alert}">
${scopeChoices(page, scopes, form.matchers)}
${isUntilLanded ? html`<input type="hidden" name="until" value="${UNTIL_LANDED}">` : untilChoices(page, form.until)}
<details><summary>${isUntilLanded ? words.matchers : words.more}</summary>${scopes.map(({ text, matchers }) => html`<p class="small">${said(text, 3 * NAME_LENGTH)}: <code>${said(matchers, 500)}</code></p>`)}${typed}</details>`
    : typed
}
${nameField(page.words, form.author)}
<label for="comment">${words.reason}${isUntilLanded ? html` <span class="soft">${page.words.signature.optional}</span>` : ''}</label>
<input id="comment" name="comment" value="${form.comment}"${isUntilLanded ? '' : html` required`} autocomplete="off" maxlength="${MAX_COMMENT_LENGTH}">
${isUntilLanded ? '' : recurrenceFields(page, form)}
<div class="buttons">
<button class="main">${isUntilLanded ? page.words.alerts.acknowledge : page.words.alerts.silence}</button>
<button formaction="silence-preview" formnovalidate>${words.show}</button>${cancelLink(page.words, cancelPath(form))}
</div>
</form>`;
}

function cancelPath({ alert, back }: SilenceForm): string {
  return back !== undefined ? backTo(new URLSearchParams({ back }))! : alert ? alertPath(alert) : 'silences';
}

function recurrenceFields({ words: { silence: words } }: Page, form: SilenceForm): Html {
  return html`<details${form.cron ? html` open` : ''}>
<summary>${words.times}</summary>
<div class="pair">
<div><label for="cron">${words.cron}</label>
<input id="cron" name="cron" value="${form.cron}" autocomplete="off" spellcheck="false" placeholder="0 2 * * 6"></div>
<div><label for="window">${words.window}</label>
<input id="window" name="window" value="${form.window}" autocomplete="off"></div>
</div>
<label for="timezone">${words.zone}</label>
<input id="timezone" name="timezone" value="${form.timezone}" autocomplete="off" spellcheck="false">
</details>`;
}

function preview(
  at: Page,
  { form, hidden, recurrences }: SilencePage,
): { readonly title: string; readonly shown: Html } {
  const { nowUs, words: all } = at;
  const words = all.silence;
  const nothing = (text: string) => html`<p class="sheet empty">${text}</p>`;
  let fromUs: number | undefined;
  let matchers: readonly Matcher[] = [];
  try {
    fromUs = firstHidingUs(all, form, nowUs, recurrences);
    matchers = readFormMatchers(all, form.matchers);
  } catch {
    // The problem is shown above the form.
    return { title: words.preview, shown: nothing(words.correct) };
  }
  if (hidden === undefined) return { title: words.preview, shown: nothing(words.correct) };
  if (matchers.length === 0) return { title: words.preview, shown: nothing(words.nameOne) };
  if (fromUs === undefined) return { title: words.preview, shown: nothing(words.tooShort) };
  return {
    title: fromUs === nowUs ? words.previewNow : words.previewFrom(exactly(at, fromUs)),
    shown: previewList(at, hidden),
  };
}

/** The labels that alerts of one cause share. */
const CAUSE_LABELS = ['alertname', 'severity', 'error'];

interface Scope {
  readonly text: string;
  readonly matchers: string;
}

/** What may be silenced because of an alert, the usual choice first. */
function scopesOf({ words: { silence: words } }: Page, labels: Labels): Scope[] {
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

/**
 * What alerts that were chosen share, and of what differs all values, of which none may be there too. Errors of a Bird
 * change while its alert fires.
 */
function matchersOfChosen(all: readonly Labels[]): string {
  const isOfBirds = all.some(({ bird_id }) => bird_id !== undefined);
  const names = SUBJECT_LABELS.filter((name) => name !== 'error' || !isOfBirds);
  const lines = names.flatMap((name) => {
    const [value = '', ...others] = new Set(all.map((labels) => labelOf(labels, name) ?? ''));
    if (others.length === 0) return value === '' ? [] : [formatMatcher({ name, op: '=', value })];
    const values = [value, ...others].map((one) => one.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    return [formatMatcher({ name, op: '=~', value: values.join('|') })];
  });
  return lines.join('\n');
}

/** Those of the alert, and what is chosen if it is none of them. */
function scopesToChoose(page: Page, labels: Labels, chosen: string): readonly Scope[] {
  const known = scopesOf(page, labels);
  if (chosen === '' || known.some(({ matchers }) => matchers === chosen)) return known;
  return [{ text: page.words.silence.asListed, matchers: chosen }, ...known];
}

/** Choices of what. Empty stands for the matchers of the text area. */
function scopeChoices({ words: { silence: words } }: Page, scopes: readonly Scope[], chosen: string): Html {
  const shown = scopes.map(({ text, matchers }) =>
    choice('scope', matchers, matchers === chosen, said(text, 3 * NAME_LENGTH)),
  );
  return html`<fieldset><legend>${words.scope}</legend>${shown}${choice('scope', '', chosen === '', words.ownMatchers)}</fieldset>`;
}

/** The choices of until when; empty stands for the duration that is typed. */
const UNTILS = ['1h', 'tomorrow', 'monday', 'landed', ''] as const;

/** Until all that fire now are over: they are acknowledged. */
const UNTIL_LANDED = 'landed';

function untilChoices({ words: { silence: words } }: Page, chosen: string): Html {
  const shown = UNTILS.map((value) =>
    choice('until', value, value === chosen, words.untils[value || 'typed']),
  );
  return html`<fieldset><legend>${words.until}</legend>${shown}</fieldset>`;
}

const HOUR_US = 3_600_000_000;
const MORNING = '08:00';

/** Until when such a choice lasts, a duration from its start on; undefined for one that no instant ends. */
function untilUs(choice: string, zone: string, startsAtUs: number, nowUs: number): number | undefined {
  if (choice === '1h') return startsAtUs + HOUR_US;
  const today = Temporal.Instant.fromEpochMilliseconds(Math.floor(nowUs / 1000))
    .toZonedDateTimeISO(zone)
    .toPlainDate();
  if (choice !== 'tomorrow' && choice !== 'monday') return undefined;
  const days = choice === 'tomorrow' ? 1 : 8 - today.dayOfWeek;
  const morning = today.add({ days }).toZonedDateTime({ timeZone: zone, plainTime: MORNING });
  return morning.epochMilliseconds * 1000;
}

function choice(name: string, value: string, isChosen: boolean, text: Html | string): Html {
  return html`<label class="choice"><input type="radio" name="${name}" value="${value}"${isChosen ? html` checked` : ''}> <span>${text}</span></label>`;
}
