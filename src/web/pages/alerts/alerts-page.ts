/** Renders the page of all alerts, by cause or separately: those that fire, and those that are over. */
import type { Hono } from 'hono';
import { html } from 'hono/html';
import { fingerprint, type Labels, severityRank } from '../../../domain/alert/alert.ts';
import { signature, signatureWords } from '../../../domain/alert/error-signature.ts';
import type { Episode } from '../../../domain/digest/digest.ts';
import { formatMatcher, matchersOf } from '../../../domain/matchers/matcher.ts';
import type { Muting } from '../../../domain/muting/muting.ts';
import { acknowledgementsByAlert, type Silence } from '../../../domain/muting/silence.ts';
import { madeTogether } from '../../../domain/muting/silence-change.ts';
import { alertPath } from '../../../http/page-path.ts';
import {
  acknowledgementOf,
  countFiring,
  type FiringCounts,
  readAlerts,
  readEnded,
  type ShownAlert,
  showAlerts,
} from '../../../operator/read-alerts.ts';
import type { Cause } from '../../../store/alert-store.ts';
import type { FlightEnds, NestKey } from '../../../store/bird-store.ts';
import { messageOfEpisode } from '../../../store/month-report.ts';
import type { Transaction } from '../../../store/store.ts';
import { plainText } from '../../../text/plain-text.ts';
import { QueryError } from '../../requests/query.ts';
import {
  type AskedAlerts,
  type ListContext,
  type Listed,
  readAlertQuery,
} from '../../requests/read-lists.ts';
import type { PagesOptions } from '../../web-options.ts';
import { endsWords, spark } from '../frame/charts.ts';
import { type FilteredBy, isNarrowed, selection } from '../frame/filter-form.ts';
import { messageLine } from '../frame/items.ts';
import { addListPage, type ListView, listPage, type Preset } from '../frame/list-page.ts';
import type { Html, Page } from '../frame/page.ts';
import { when, where } from '../frame/page-frame.ts';
import { alertPlace, alertTitle, inReadersZone, severityTone, silenceWords } from '../frame/page-words.ts';
import {
  actsLine,
  alertItem,
  choiceOf,
  lasting,
  mutePills,
  type ProblemCard,
  problemCard,
  undoForm,
} from './alert-item.ts';

const LISTED = 50;

export function addAlertList(pages: Hono, options: PagesOptions): void {
  const { store, muting } = options;
  addListPage(pages, options, '/alerts', {
    limit: LISTED,
    read: (search, context) => listEntries(search, context, muting),
    render: async (page, view) => {
      const { counts, done } = await store.transaction(async (tx) => {
        const silences = view.done === undefined ? [] : await tx.silences.list(page.nowUs);
        const made = silences.find(({ id }) => id === view.done);
        return {
          counts: await countFiring(tx, await muting(tx, page.nowUs), page.nowUs),
          done: made ? madeTogether(made, silences) : [],
        };
      });
      return renderAlertsPage(page, view, counts, done);
    },
  });
}

/** One line of the page: a cause with several alerts, a single alert, or what ended by one cause. */
export type AlertsEntry =
  | ({ readonly cause: Cause; readonly latest: readonly ShownAlert[] } & WithEnds)
  | ({ readonly alert: ShownAlert } & WithEnds)
  | { readonly over: EndedCause };

/** How Flights of the Nests of the shown alerts ended within the last day. */
interface WithEnds {
  readonly ends?: readonly FlightEnds[];
}

/** Episodes of one kind, severity and error that ended, the latest first. */
interface EndedCause {
  readonly episodes: readonly Episode[];
  readonly acknowledgement: Silence | undefined;
  /** The newest message. */
  readonly message: string;
}

/** `counts` are those of all alerts, whatever the filters. */
function renderAlertsPage(
  at: Page,
  view: ListView<AlertsEntry>,
  counts: FiringCounts,
  done: readonly Silence[],
): Html {
  const { given } = view;
  const page = { ...at, back: given.toString() };
  const { words } = page;
  const state = given.get('state') || 'firing';
  return listPage(page, view, {
    ...{
      section: 'alerts',
      title: words.frame.alerts,
      lead: words.alerts.active(counts.firing, counts.unacknowledged),
    },
    ...{ json: 'api/v1/alerts', usual: { state: 'firing' } },
    fields: fieldsOf(page, given.get('cause') ?? ''),
    presets: presetsOf(page),
    above: doneNotice(page, done),
    below: chosenBar(page),
    list: (entries) =>
      html`<h2 class="heard">${words.frame.alerts}</h2><ul class="sheet">${entries.map((entry) => entryItem(page, entry, given))}</ul>`,
    none:
      counts.firing === 0 && state === 'firing' && !isNarrowed(given)
        ? words.alerts.none
        : words.list.nothing,
  });
}

/** Appears once something is chosen. */
function chosenBar({ root, words, back }: Page): Html {
  return html`<form id="chosen" class="chosen" method="post" action="${root}acknowledge-preview"><input type="hidden" name="back" value="${back}">
<button class="main">${words.alerts.acknowledgeChosen}</button> <button formaction="${root}silence-preview">${words.alerts.silenceChosen}</button></form>`;
}

/** Says what was done to what was chosen, and takes it back. */
function doneNotice(page: Page, done: readonly Silence[]): Html | string {
  const [first] = done;
  if (!first) return '';
  const { acknowledge, alerts } = page.words;
  return html`<div class="notice good" role="status">${first.alertId === null ? alerts.silenced : acknowledge.done(done.length)} ${undoForm(page, first, done.length)}</div>`;
}

/** What people ask for in the morning. Nights last from 18:00 to 9:00 in the reader's zone. */
function presetsOf({ words, zone, nowUs }: Page): readonly Preset[] {
  const day = (before: number) =>
    Temporal.Instant.fromEpochMilliseconds(Math.floor(nowUs / 1000))
      .toZonedDateTimeISO(zone)
      .toPlainDate()
      .subtract({ days: before })
      .toString();
  const during = { state: 'all', ...(zone !== 'UTC' && { zone }) };
  return [
    { text: words.alerts.stateFiring, query: {} },
    {
      text: words.alerts.lastNight,
      query: { ...during, since: `${day(1)} 18:00`, until: `${day(0)} 09:00` },
    },
    { text: words.alerts.today, query: { ...during, since: day(0) } },
    { text: words.alerts.sevenDays, query: { state: 'all', since: '7d' } },
    { text: words.alerts.stateResolved, query: { state: 'resolved' } },
  ];
}

function fieldsOf({ words }: Page, cause: string): FilteredBy {
  const { alerts, list } = words;
  const yesOrNo = (name: string, label: string) =>
    selection(name, label, ['true', 'false'], (one) => (one === 'true' ? list.yes : list.no));
  const states = { resolved: alerts.stateResolved, all: alerts.stateAll };
  return [
    {
      ...selection('state', list.state, ['resolved', 'all'], (one) => states[one]),
      any: alerts.stateFiring,
    },
    ...(['region', 'severity', 'name'] as const),
    yesOrNo('acknowledged', alerts.acknowledged),
    yesOrNo('silenced', alerts.silenced),
    ...(['nest', 'bird', 'flight', 'text', 'since', 'until'] as const),
    // In place of its pattern, which is not for people.
    ...(cause === '' ? [] : [selection('cause', alerts.cause, [cause], () => alerts.sameCause)]),
  ];
}

/** Firing alerts by cause, each with so many of its places, or one more where "1 more" would stand for it. */
export function problemList(page: Page, entries: readonly AlertsEntry[], mostPlaces?: number): Html {
  return html`${entries.map((entry) => entryItem(page, entry, new URLSearchParams(), mostPlaces))}`;
}

/** The alerts that it stands for. */
export function alertsOf(entry: AlertsEntry): readonly ShownAlert[] {
  if ('over' in entry) return [];
  return 'alert' in entry ? [entry.alert] : entry.latest;
}

function entryItem(page: Page, entry: AlertsEntry, given: URLSearchParams, mostPlaces = Infinity): Html {
  if ('over' in entry) return overItem(page, entry.over, given);
  return 'alert' in entry
    ? alertItem(page, entry.alert, daySpark(page, entry))
    : causeItem(page, entry, given, mostPlaces);
}

/** The last day of the Nests that it is about. */
function daySpark(page: Page, entry: WithEnds & AlertsEntry): Html | string {
  const { ends = [] } = entry;
  if (ends.length === 0) return '';
  const nests = new Set(alertsOf(entry).map(({ alert: { labels } }) => `${labels.region}/${labels.nest_id}`));
  return html`${spark(page, ends)}<p class="small soft">${page.words.strip.ofNests(nests.size)}: ${endsWords(page, ends)}</p>`;
}

function causeItem(
  page: Page,
  entry: Extract<AlertsEntry, { readonly cause: Cause }>,
  given: URLSearchParams,
  mostPlaces: number,
): Html {
  const { words } = page;
  const { cause, latest } = entry;
  const { alertname, severity, isAcknowledged, alerts } = cause;
  const isHidden = alerts === latest.length && latest.every(isHiddenFromAll);
  // Said once of all: another alert stands in for them.
  const areInhibited = latest.every(({ isInhibited }) => isInhibited);
  const places = (
    given.has('cause') ? [] : latest.slice(0, alerts === mostPlaces + 1 ? alerts : mostPlaces)
  ).map(
    (one) => html`<li id="alert-${fingerprint(one.alert.labels)}">
${choiceOf(page, one.alert)}${placeLink(page, one.alert.id, one.alert.labels)}
${!areInhibited && (one.silencedBy.some(({ alertId }) => alertId === null) || one.isInhibited) ? mutePills(page, one) : ''}</li>`,
  );
  const [title, ...others] = new Set(latest.map(({ alert }) => alert.annotations.title));
  const tone = isAcknowledged || isHidden ? 'quiet' : severityTone(severity);
  return card(page, given, cause, {
    ...{ severity, places, tone, alerts, day: daySpark(page, entry) },
    title: alertTitle(words, alertname, title !== undefined && others.length === 0 ? { title } : {}),
    pills: html`${isAcknowledged ? html`<span class="pill quiet">${words.alerts.acknowledged}</span>` : ''}${areInhibited ? html`<span class="pill quiet">${words.alerts.inhibited}</span>` : ''}`,
    stamp: lasting(page, cause.firstStartsAtUs),
    about: newestCause(page, latest),
    query: { state: 'firing', acknowledged: String(isAcknowledged) },
    actions: causeActions(page, cause, latest),
  });
}

/** Whether people are not notified of it. */
export function isHiddenFromAll({ silencedBy, isInhibited }: ShownAlert): boolean {
  return silencedBy.length > 0 || isInhibited;
}

/** The pages that ask before all alerts of a cause are acknowledged or silenced. */
function causeActions(page: Page, cause: Cause, latest: readonly ShownAlert[]): Html | string {
  const [first] = latest;
  const { words, root, back } = page;
  const { alertname } = cause;
  if (!first) return '';
  const matchers = causeMatchers(cause, latest);
  const title = alertTitle(words, alertname);
  const button = (text: string, until: string, key: string) => {
    const query = new URLSearchParams({
      alert: first.alert.id,
      matchers,
      until,
      ...(back !== undefined && { back }),
    });
    return html`<a class="button" href="${root}silence?${query}" aria-label="${words.alerts.all(text, cause.alerts)}: ${title}" data-key="${key}">${words.alerts.all(text, cause.alerts)}</a>`;
  };
  return html`${cause.isAcknowledged ? '' : button(words.alerts.acknowledge, 'landed', 'a')}
${button(words.alerts.silence, '1h', 's')}`;
}

/**
 * What all alerts of a cause share. If they have no error, that may be more than they; then also their ids, if few enough
 * to be known.
 */
function causeMatchers(
  { alertname, severity, region = '', nestId = '', cause, alerts }: Cause,
  latest: readonly ShownAlert[],
): string {
  const labels = latest.map(({ alert }) => alert.labels);
  const error = labels[0]?.error === cause ? cause : '';
  const shared = matchersOf({ alertname, severity, region, nest_id: nestId, error });
  const name = ['bird_id', 'entity_id'].find((one) => labels.every((own) => /^[\w-]+$/.test(own[one] ?? '')));
  if (error || name === undefined || alerts > latest.length) return shared;
  return `${shared}\n${formatMatcher({ name, op: '=~', value: labels.map((own) => own[name]).join('|') })}`;
}

/**
 * The newest message, who can end that, and whether the alerts, which share their first error, say different things
 * now.
 */
function newestCause({ words, zone }: Page, latest: readonly ShownAlert[]): Html {
  const newest = latest.toSorted(
    (a, b) => (b.lastEvent?.occurredAtUs ?? 0) - (a.lastEvent?.occurredAtUs ?? 0),
  );
  const messages = newest.map(({ alert, lastEvent }) => {
    const { description, summary } = inReadersZone(zone, alert).annotations;
    return lastEvent?.message || description || summary || '';
  });
  const { alert, lastEvent } = newest[0]!;
  const first =
    newest.length > 1 ? plainText(signatureWords(alert.labels.error ?? ''), FIRST_ERROR_LENGTH) : '';
  const several = new Set(messages.map(signature)).size > 1 ? words.alerts.severalCauses(first) : '';
  return html`${messageLine(messages[0]!, several)}${actsLine(alert, lastEvent)}`;
}

const SHOWN_PLACES = 5;
const FIRST_ERROR_LENGTH = 80;

function overItem(
  page: Page,
  { episodes, acknowledgement, message }: EndedCause,
  given: URLSearchParams,
): Html {
  const { words } = page;
  const [latest] = episodes as readonly [Episode];
  const { alertname, labels } = latest;
  const { severity = '', error } = labels;
  const ofAlert = [...Map.groupBy(episodes, ({ alertId }) => alertId).values()];
  const shown = given.has('cause') || error === undefined ? ofAlert : ofAlert.slice(0, SHOWN_PLACES);
  const places = shown.map((all) => {
    const [{ alertId, labels: own, startsAtUs, endsAtUs, ending }] = all as [Episode];
    const lasted = words.alerts.lasted(words.time.lasting((endsAtUs - startsAtUs) / 1000));
    const by = words.alert.ended(ending ?? '', alertname);
    return html`<li>${placeLink(page, alertId, own)} <span class="small soft">${all.length > 1 ? `${words.alerts.times(all.length)}, ` : ''}${words.alerts.resolvedAt} ${when(page, endsAtUs)}, ${lasted}${by && `: ${by}`}</span></li>`;
  });
  const cause = ofAlert.length > shown.length ? (error ?? '') : '';
  return card(
    page,
    given,
    { alertname, cause },
    {
      ...{ severity, places, alerts: ofAlert.length, tone: 'quiet' },
      title: alertTitle(words, alertname),
      pills: html`<span class="pill quiet">${words.alert.isOver}</span>`,
      stamp: html`${words.alerts.last} ${when(page, latest.endsAtUs)}`,
      about: html`${messageLine(message)}${actsLine(latest)}${acknowledgement ? html`<p class="small soft"><bdi>${silenceWords(words, acknowledgement)}</bdi></p>` : ''}`,
      query: { state: 'resolved' },
    },
  );
}

function placeLink(page: Page, id: string, labels: Labels): Html {
  return html`<a href="${page.root}${alertPath(id)}">${where(page, labels.region ?? '', alertPlace(labels))}</a>`;
}

interface CauseCard extends ProblemCard {
  readonly alerts: number;
  /** What its own list asks for besides name, severity and cause. */
  readonly query: Readonly<Record<string, string>>;
}

/** The title leads to each of the alerts, unless they are all shown: then the cause is empty. */
function card(
  page: Page,
  given: URLSearchParams,
  { alertname, cause }: Pick<Cause, 'alertname' | 'cause'>,
  shown: CauseCard,
): Html {
  const { severity, alerts, title, query } = shown;
  const each = new URLSearchParams({
    ...Object.fromEntries(given),
    ...{ name: alertname, severity, cause, ...query },
  });
  each.delete('cursor');
  const path = cause !== '' && !given.has('cause') ? `alerts?${each}` : undefined;
  const more = alerts - shown.places.length;
  const rest = page.words.count.more(more);
  const others =
    more > 0 && !given.has('cause')
      ? [
          html`<li class="more">${path === undefined ? rest : html`<a href="${page.root}${path}">${rest}</a>`}</li>`,
        ]
      : [];
  return problemCard(page, {
    ...shown,
    places: [...shown.places, ...others],
    title: alerts > 1 ? `${alerts} × ${title}` : title,
    ...(path !== undefined && { path }),
  });
}

const ASKED = { states: ['firing', 'resolved'], order: 'severest' } as const;
/** Episodes that are grouped by cause for one page. */
const OVER = 500;

/** Alerts, or causes with some of their alerts. */
function listEntries(
  search: URLSearchParams,
  context: ListContext,
  loadMuting: (tx: Transaction, nowUs: number) => Promise<Muting>,
): (tx: Transaction) => Promise<Listed<AlertsEntry>> {
  const isAll = search.get('state') === 'all';
  const own = new URLSearchParams(search);
  if (isAll) own.delete('state');
  const asked = readAlertQuery(own, context, ASKED);
  const firing = { ...asked, state: asked.state ?? 'firing' };
  if (asked.isSilenced !== undefined && (isAll || asked.state === 'resolved'))
    throw new QueryError({ says: 'silenced' });
  return async (tx) => {
    const muting = await loadMuting(tx, context.nowUs);
    if (!isAll) return readEntries(tx, muting, firing);
    // Those that fire come before the first of those that are over, on pages of their own if they are many.
    const { cursor } = asked;
    const isFiring = cursor === undefined || cursor.startsWith(OF_FIRING);
    const part = { ...firing, cursor: cursor?.slice(OF_FIRING.length) };
    const shown = isFiring ? await readEntries(tx, muting, part) : { items: [] };
    if (shown.next !== undefined) return { items: shown.items, next: `${OF_FIRING}${shown.next}` };
    const rest = { ...asked, state: 'resolved', cursor: isFiring ? undefined : cursor } as const;
    const over = await readEntries(tx, muting, rest);
    return { items: [...shown.items, ...over.items], next: over.next };
  };
}

/** Marks a cursor of those that fire, in a list that goes on with those that are over. */
const OF_FIRING = 'firing.';

export async function readEntries(
  tx: Transaction,
  muting: Muting,
  query: AskedAlerts,
): Promise<Listed<AlertsEntry>> {
  const { isSilenced, cause, state } = query;
  const isByCause = state === 'firing' && isSilenced === undefined;
  if (isByCause && cause === undefined) return readCauses(tx, muting, query);
  // Alerts are deleted soon after they are resolved, but their episodes are kept. Only the alerts themselves know
  // their Flights.
  if (state === 'resolved' && query.flight === undefined) return readOver(tx, query);
  const { alerts, next } = await readAlerts(tx, muting, query, isSilenced);
  // Above the alerts of one cause stands what can be done about all of them.
  const whole = isByCause && query.cursor === undefined ? await readCauses(tx, muting, query) : undefined;
  const cards = whole?.items.filter((one) => 'cause' in one) ?? [];
  return { items: [...cards, ...alerts.map((alert) => ({ alert }))], next };
}

/** Who acknowledged an episode that is over. */
async function acknowledgementsOver(tx: Transaction, nowUs: number) {
  const silences = acknowledgementsByAlert(await tx.silences.list());
  return (alertId: string, episode: Pick<Episode, 'startsAtUs' | 'endsAtUs'>) =>
    acknowledgementOf({ ...episode, state: 'resolved' }, silences.get(alertId) ?? [], nowUs);
}

/** What ended, by cause. A filter by what somebody acknowledged makes the page shorter. */
async function readOver(tx: Transaction, query: AskedAlerts): Promise<Listed<AlertsEntry>> {
  const { episodes: read, next } = await readEnded(tx, query, OVER, query.cursor);
  const acknowledgementOver = await acknowledgementsOver(tx, query.nowUs);
  const acknowledgement = (one: Episode) => acknowledgementOver(one.alertId, one);
  const { isAcknowledged } = query;
  const episodes = read.filter(
    (one) => isAcknowledged === undefined || (acknowledgement(one) !== undefined) === isAcknowledged,
  );
  const byCause = Map.groupBy(episodes, ({ alertname, labels: { severity = '', error = '' } }) =>
    JSON.stringify([alertname, severity, error]),
  );
  const items: AlertsEntry[] = [];
  for (const all of byCause.values()) {
    const message = await messageOfEpisode(tx, all[0]!);
    items.push({ over: { episodes: all, acknowledgement: all.map(acknowledgement).find(Boolean), message } });
    await tx.pause();
  }
  return { items, next };
}

/**
 * A cause with a single alert is replaced by the alert. Of those on a page that are as severe, and as well known, the
 * first is about most: a shared cause is a single alert, but of many events.
 */
async function readCauses(tx: Transaction, muting: Muting, query: AskedAlerts): Promise<Listed<AlertsEntry>> {
  const { causes, next } = await tx.alerts.causes(query);
  const all = await showAlerts(
    tx,
    muting,
    causes.flatMap((one) => one.latest),
    query.nowUs,
  );
  await tx.pause();
  const nests = all.map(({ alert }): NestKey => {
    const { region = '', nest_id: nestId = '' } = alert.labels;
    return { region, nestId };
  });
  const ends = await tx.birds.nestEnds(nests, query.nowUs - DAY_US);
  const items: { readonly entry: AlertsEntry; readonly cause: Cause; readonly size: number }[] = [];
  let done = 0;
  for (const cause of causes) {
    const from = done;
    done += cause.latest.length;
    const latest = all.slice(from, done);
    // Each Nest once.
    const byNest = new Map(
      latest.map((_, index) => [JSON.stringify(nests[from + index]), ends[from + index]!]),
    );
    const shown = { ends: [...byNest.values()].flat() };
    const [only] = latest;
    const entry = cause.alerts === 1 && only ? { alert: only, ...shown } : { cause, latest, ...shown };
    const events = latest.reduce((sum, { alert }) => sum + alert.eventsTotal, 0);
    items.push({ entry, cause, size: Math.max(cause.alerts, events) });
  }
  items.sort(
    (a, b) =>
      Number(a.cause.isAcknowledged) - Number(b.cause.isAcknowledged) ||
      severityRank({ severity: b.cause.severity }) - severityRank({ severity: a.cause.severity }) ||
      b.size - a.size,
  );
  return { items: items.map(({ entry }) => entry), next };
}

const DAY_US = 86_400_000_000;
