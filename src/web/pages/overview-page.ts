/**
 * Renders the overview page: the status of the watch, for people. It works without JavaScript. Everything from
 * outside passes through `plainText`, and `html` escapes what is inserted.
 */
import { html } from 'hono/html';
import { watchImpaired } from '../../domain/kinds/watch-impaired.ts';
import { type Said, sayFinding } from '../../health/finding.ts';
import { IMPAIRMENTS, type Impairment, type ImpairmentSeverity } from '../../health/impairment.ts';
import { nestPath } from '../../http/page-path.ts';
import type { ReplicaView } from '../../operator/read-replicas.ts';
import type { FeedReads, RegionProgress } from '../../region-progress.ts';
import type { FaultRecord } from '../../store/sql/upkeep/noted-faults.ts';
import { plainText } from '../../text/plain-text.ts';
import { type ConfigurationView, reasonOf, sinceOf, stateOf } from '../web-options.ts';
import { alertsOf, isHiddenFromAll, problemList } from './alerts/alerts-page.ts';
import { spark, strip, stripBars } from './frame/charts.ts';
import { happenedList } from './frame/items.ts';
import { type Columns, dataTable } from './frame/list-page.ts';
import type { Html, Page } from './frame/page.ts';
import { at, exactly, frame, marked, timed, when } from './frame/page-frame.ts';
import {
  alertTitle,
  MESSAGE_LENGTH,
  NAME_LENGTH,
  nestTitle,
  REGION_TONES,
  regionWord,
  silenceWords,
  type Tone,
} from './frame/page-words.ts';
import { type PageView, SHOWN_PROBLEMS } from './overview.ts';
import { silenceItem } from './silences/silences-page.ts';

export function renderPage(page: Page, view: PageView): Html {
  const words = page.words.overview;
  const { status, nowUs, impairments, alerts } = view;
  const lasting = page.words.time.soFar((nowUs - status.startedAtUs) / 1000);
  const running = page.words.frame.running(status.version, lasting);
  const [tone, headline] = [toneOf(view), headlineOf(page, view)];
  const waiting = alerts?.unacknowledged ?? 0;
  return frame({
    title: `${waiting > 0 ? `(${waiting}) ` : ''}nestwatch: ${headline}`,
    tone,
    page,
    section: 'overview',
    isLive: view.isLive,
    ...(view.isLive && { refreshSeconds: REFRESH_SECONDS }),
    footing: html`${running} · <a href="metrics">${page.words.frame.metrics}</a> · <a href="wall">${words.wall}</a> · <a href="notifications">${page.words.browsers.title}</a> · `,
    body: html`<header>
<div class="headline"><h1 class="text ${tone}">${headline}</h1>
<span class="small soft">${liveness(page, view)} · <a href="report">${page.words.report.thisMonth}</a></span></div>
<p class="lead">${leadOf(page, view)}</p>
${view.isOpen ? html`<p class="notice">${marked(words.open)}</p>` : ''}
${configurationNotice(page, status.configuration)}
${pauseNotice(page, view)}
</header>
<main id="main" class="brief">
${view.ends.length > 0 ? strip(page, page.words.strip.day, stripBars(view.ends, nowUs, 48, 0.5, view)) : ''}
${healthPanel(page, impairments, view.setAside)}
<section>
<h2>${words.alerts} ${alerts?.firing ? html`<a href="alerts">${words.allAlerts(alerts.firing)}</a>` : ''}</h2>
${alertList(page, view, 1)}
${alerts && view.problems.length > SHOWN_ON_PHONES ? html`<p class="small after"><a href="alerts">${words.restOfAlerts(alerts.firing)}</a></p>` : ''}
</section>
<div class="columns">
<section>
<h2>${words.happened} <a href="events">${words.allEvents}</a></h2>
${alerts ? happenedList(page, view.happened, FEW_HAPPENINGS) : notKnown(page)}
</section>
${nestTiles(page, view, SHOWN_NESTS)}
</div>
<details class="watch"><summary>${words.watch}</summary>
<section>
<h2>${words.regions} ${asJson(page)}</h2>
<div class="regions">${status.regions.map((region) => regionCard(page, region))}</div>
</section>
${alerts ? silenceSection(page, view) : ''}
${replicaSection(page, view)}
</details>
</main>`,
  });
}

function asJson({ words }: Page): Html {
  return html`<a href="api/v1/status">${words.frame.asJson}</a>`;
}

function leadOf(page: Page, { status, alerts, acknowledged, silences, problems }: PageView): Html {
  const { words } = page;
  const { health } = words;
  const birds = status.regions.reduce((sum, region) => sum + region.birds, 0);
  const known = alerts ? alerts.firing - alerts.unacknowledged : 0;
  const who = [
    ...[...acknowledged].map(([name, all]) =>
      health.acknowledgedBy(all.length, plainText(name, NAME_LENGTH)),
    ),
    ...silences.shown
      .filter(({ silence, hides }) => hides > 0 && silence.alertId === null)
      .map(({ silence, hides }) => `${hides} ${silenceWords(words, silence)}.`),
  ];
  const hidden = who.length > 0 ? who.slice(0, NAMED).join(' ') : health.acknowledged(known);
  const causes = problems.flatMap((one) => ('cause' in one && !one.cause.isAcknowledged ? one.cause : []));
  const [most] = causes.sort((a, b) => b.alerts - a.alerts);
  const fresh = alerts?.unacknowledged ?? 0;
  // Those that another alert stands in for are not new.
  const isMost = most && causes.length > 1 && most.alerts * 2 > fresh && most.alerts <= fresh;
  const mostly = isMost ? health.mostly(most.alerts, alertTitle(words, most.alertname)) : '';
  return html`${mostly}${health.watching(birds, status.regions.length)} ${lastCheck(page, status.regions)}${
    known > 0 ? html` <bdi>${hidden}</bdi>` : ''
  }`;
}

/** When the stream that has waited longest was read: every statement about all streams holds up to then. */
function lastCheck(page: Page, regions: readonly RegionProgress[]): Html {
  const { words } = page;
  const unread = regions.filter((region) => oldestReadUs(region) === 0);
  if (regions.length === 0) return html``;
  if (unread.length > 0) {
    return html`${words.health.unread(unread.map((region) => regionWord(words, region.region)).join(', '))}`;
  }
  return html`${words.health.allRead} ${when(page, Math.min(...regions.map(oldestReadUs)))}.`;
}

/** 0 if something was never read, or if there is nothing to read. The inventory, listed less often, is no part of it. */
function oldestReadUs({ reads }: RegionProgress): number {
  const polled = reads.filter(({ feed, streams }) => feed !== 'inventory' && streams > 0);
  return polled.length === 0 ? 0 : Math.min(...polled.map((one) => one.oldestReadUs));
}

function liveness(page: Page, { isLive, nowUs }: PageView): Html {
  const words = page.words.overview;
  const now = at(page, nowUs);
  return isLive
    ? html`${now}<noscript> · ${words.live(REFRESH_SECONDS)} · <a href="?paused">${words.pause}</a></noscript>`
    : html`${now} · ${words.paused} · <a href="./">${words.resume}</a>`;
}
/** Causes that are left on a phone (`page-style.ts`). */
const SHOWN_ON_PHONES = 3;
const FEW_HAPPENINGS = 4;
const SHOWN_NESTS = 4;
/** How often a browser reloads the page. */
const REFRESH_SECONDS = 10;
/** People who have acknowledged or silenced something that are named. */
const NAMED = 3;

/** Says which configuration is in force, if it is not the file's. */
function configurationNotice(page: Page, configuration: ConfigurationView): Html {
  const { mistakes, needsRestart, readAtUs } = configuration;
  const words = page.words.overview;
  if (mistakes.length > 0) {
    const items = mistakes.map((one) => html`<li><bdi>${plainText(one, MESSAGE_LENGTH)}</bdi></li>`);
    const { before, after } = words.mistakes;
    return html`<div class="notice"><p>${before} ${when(page, readAtUs)} ${after}</p><ul>${items}</ul></div>`;
  }
  if (needsRestart.length === 0) return html``;
  const keys = needsRestart.map((key) => html` <code>${key}</code>`);
  return html`<p class="notice">${words.needsRestart}${keys}.</p>`;
}

/** Says that no rule may start Birds. */
function pauseNotice(page: Page, { actionsPaused }: PageView): Html | string {
  if (!actionsPaused) return '';
  const by = plainText(actionsPaused.by, NAME_LENGTH) || page.words.frame.somebody;
  return html`<p class="notice">${marked(page.words.overview.actionsPaused(by, exactly(page, actionsPaused.atUs)))}</p>`;
}

/** While the store does not answer, which is not the same as none. */
function notKnown({ words }: Page): Html {
  return html`<p class="sheet empty">${words.overview.notKnown}</p>`;
}

function alertList(page: Page, { alerts, problems }: PageView, mostPlaces?: number): Html {
  if (!alerts) return notKnown(page);
  if (problems.length === 0) return html`<p class="sheet empty">${page.words.alerts.none}</p>`;
  return html`<ul class="sheet">${problemList(page, problems.slice(0, SHOWN_PROBLEMS), mostPlaces)}</ul>`;
}

function nestTiles(page: Page, { nests, nestEnds }: PageView, most = nests.length): Html | string {
  if (nests.length === 0) return '';
  const { words } = page;
  const tiles = nests.slice(0, most).map((nest, index) => {
    const tone = nest.firing + nest.failing > 0 ? 'bad' : nest.off > 0 ? 'warn' : 'good';
    return html`<li class="${tone}"><a href="${nestPath(nest.region, nest.nestId)}"><b><bdi>${nestTitle(words, nest)}</bdi></b> <span class="small soft">${regionWord(words, nest.region)} · ${words.overview.tile(nest.birds, nest.firing, nest.off)}</span> ${spark(page, nestEnds[index]!)}<span class="small soft">${words.strip.ends(nest.succeeded + nest.failed, nest.failed)}</span></a></li>`;
  });
  return html`<section><h2>${words.frame.nests} <a href="nests">${words.overview.allNests}</a></h2><ul class="tiles">${tiles}</ul></section>`;
}

function silenceSection(page: Page, { silences: { shown, total } }: PageView): Html {
  const words = page.words.overview;
  const link = html`<a href="silence">${words.newSilence}</a>`;
  if (total === 0) return html`<p class="small soft after">${words.noSilences} ${link}</p>`;
  const more = total - shown.length;
  return html`<section id="silences"><h2>${page.words.frame.silences} ${link}</h2>
<ul class="sheet">${shown.map((one) => silenceItem(page, one))}</ul>
${more > 0 ? html`<p class="small soft after">${page.words.count.more(more)}: <a href="silences">${page.words.search.all}</a></p>` : ''}</section>`;
}

function regionCard(page: Page, region: RegionProgress): Html {
  const { words, nowUs } = page;
  const { overview } = words;
  const state = stateOf(region);
  const tone = REGION_TONES[state];
  const sinceUs = sinceOf(region);
  const rate = Math.round(region.requestsPerSecond * 10) / 10;
  const lasting = words.time.soFar((nowUs - sinceUs) / 1000);
  return html`<div class="sheet region">
<div class="row"><div><h3>${regionWord(words, region.region)}</h3> <span class="pill ${tone}">${words.regionStates[state]}</span></div>
${state === 'starting' || sinceUs === 0 ? '' : html`<span class="small soft">${words.time.for} ${timed(page, sinceUs, lasting)}</span>`}</div>
${tone === 'bad' ? html`<p class="text bad">${plainText(reasonOf(region), MESSAGE_LENGTH)}</p>` : ''}
<p class="small soft">${overview.size(region.birds, region.nests)} · ${overview.rate(rate)}</p>
<table><thead><tr><th scope="col">${words.list.feed}</th><th scope="col">${overview.streams}</th><th scope="col">${overview.oldestReading}</th></tr></thead>
<tbody>${region.reads.map((reads) => feedRow(page, region, reads))}</tbody></table>
</div>`;
}

function replicaSection(page: Page, { replicas, status }: PageView): Html {
  if (replicas.length === 0) return html``;
  const { words, nowUs } = page;
  const own = words.overview.replicas;
  const columns: Columns<ReplicaView> = {
    [own.name]: ({ name, replica }) =>
      html`<bdi>${plainText(name, NAME_LENGTH)}</bdi>${
        replica === status.replica ? html` <span class="pill quiet">${own.answers}</span>` : ''
      }`,
    [own.version]: ({ version }) => plainText(version, NAME_LENGTH),
    [own.runs]: ({ startedUs }) => timed(page, startedUs, words.time.soFar((nowUs - startedUs) / 1000)),
    [own.does]: (replica) =>
      html`${replicaDuties(page, replica)}${
        replica.state === 'working'
          ? ''
          : html` <span class="pill ${replica.state === 'silent' ? 'warn' : 'quiet'}">${own[replica.state]}</span>`
      }`,
  };
  return html`<section><h2>${own.title} ${asJson(page)}</h2>${dataTable(own.title, columns, replicas)}</section>`;
}

function replicaDuties({ words }: Page, { regions, isAlerting }: ReplicaView): string {
  const own = words.overview.replicas;
  const read = regions.map(({ region, epoch }) => own.region(regionWord(words, region), epoch));
  return [...read, ...(isAlerting ? [own.alerting] : [])].join(', ') || own.nothing;
}

function feedRow(
  page: Page,
  { feeds }: RegionProgress,
  { feed, streams, overdue, oldestReadUs }: FeedReads,
): Html {
  const words = page.words.overview;
  const read =
    oldestReadUs > 0
      ? html`<span class="text ${overdue > 0 ? 'warn' : ''}">${when(page, oldestReadUs)}</span>`
      : html`<span class="soft">${streams > 0 ? words.notYet : words.nothingToRead}</span>`;
  const openFlights = feeds.find((one) => one.feed === feed)?.openFlights ?? 0;
  const active = openFlights > 0 ? html` · ${words.activeFlights(openFlights)}` : '';
  const late = overdue > 0 ? html` <span class="pill warn">${words.overdue(overdue)}</span>` : '';
  return html`<tr><th scope="row">${page.words.feeds[feed]}${active}${late}</th><td>${streams}</td><td>${read}</td></tr>`;
}

const TONES: Readonly<Record<ImpairmentSeverity, Tone>> = { critical: 'bad', warning: 'warn', info: 'quiet' };

/** Green, `All quiet`, if and only if nothing impairs the watch and no alert fires; amber if all that fire are known. */
function headlineOf(page: Page, { waiting: shown, impairments, alerts }: PageView): string {
  const { words } = page;
  // They only repeat the impairments.
  const echoes = shown.filter(({ alertname }) => alertname === watchImpaired.name).length;
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

/** Red about what is new, amber about what somebody knows of. Of many alerts, the new ones may not have been looked at. */
function toneOf({ waiting, impairments, alerts, problems }: PageView): Tone {
  const all = problems.flatMap(alertsOf);
  const hidden = all.filter(isHiddenFromAll);
  const shown = all.filter((one) => !isHiddenFromAll(one)).map(({ alert }) => alert);
  const fresh = waiting.length > 0 ? waiting : shown;
  const isUnseen = fresh.length === 0 && (alerts?.unacknowledged ?? 0) > 0;
  const known = new Set<string | null>(hidden.map(({ alert }) => alert.alertname));
  const tones = impairments.map(({ reason, severity }) =>
    severity === 'critical' && known.has(IMPAIRMENTS[reason].alert) ? 'warn' : TONES[severity],
  );
  if (tones.includes('bad') || isUnseen || fresh.some(({ labels }) => labels.severity !== 'info'))
    return 'bad';
  if (tones.includes('warn') || (alerts?.firing ?? 0) > 0) return 'warn';
  return tones.includes('quiet') || !alerts ? 'quiet' : 'good';
}

/** In the language of the page. */
function said(page: Page, { finding }: Impairment): Said {
  return sayFinding(page.words.findings, finding, (us) => exactly(page, us));
}

/** Empty if nothing impairs the watch. */
function healthPanel(page: Page, impairments: readonly Impairment[], setAside: readonly FaultRecord[]): Html {
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
  const head = html`<div class="row"><div><h3><bdi>${title}</bdi></h3> <span class="pill ${tone}">${words.health[one.severity]}</span></div>
<span class="small soft">${words.time.for} ${timed(page, one.sinceUs, words.time.soFar((nowUs - one.sinceUs) / 1000))}</span></div>`;
  const more = html`<p><bdi>${summary}</bdi></p>
${one.reason === 'faults_set_aside' ? faults(setAside) : ''}
<p class="small soft">${action}${links(page, one)}</p>`;
  // What ends by itself is folded away.
  return html`<li class="alert ${tone}">${one.severity === 'info' ? html`<details><summary>${head}</summary>${more}</details>` : html`${head}${more}`}</li>`;
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

export function renderWall(page: Page, view: PageView): Html {
  const { words, nowUs } = page;
  const [tone, headline] = [toneOf(view), headlineOf(page, view)];
  return frame({
    title: `nestwatch: ${headline}`,
    tone,
    page,
    hasNavigation: false,
    isWall: true,
    isLive: true,
    refreshSeconds: 10,
    body: html`<header><p class="brand"><a class="plain" href="./">nestwatch</a><span>${at(page, nowUs)}</span></p>
<h1 class="text ${tone}">${headline}</h1>
<p class="lead">${leadOf(page, view)}</p></header>
<main id="main">
${view.alerts ? strip(page, words.strip.day, stripBars(view.ends, nowUs, 48, 0.5, view)) : ''}
<div class="columns">
<section><h2>${words.overview.alerts}</h2>
${alertList(page, view)}</section>
${nestTiles(page, view)}
</div>
</main>`,
  });
}
