/** Renders one Flight: how it ended, at which step and with which error, and who was notified. */
import { html } from 'hono/html';
import type { Event } from '../../../domain/alert/event.ts';
import type { FlightLog, FlightStep } from '../../../domain/alert/fact.ts';
import { birdPath, deliveryPath, eventPath } from '../../../http/page-path.ts';
import { durationUs, type FlightReport } from '../../../operator/bird-report.ts';
import type { Delivery } from '../../../store/outbox-store.ts';
import { plainText } from '../../../text/plain-text.ts';
import type { NameOf } from '../../web-options.ts';
import { alertStanding, deliveryPill, factList, saidActions, withheldList } from '../frame/items.ts';
import { type Columns, dataTable } from '../frame/list-page.ts';
import type { Html, Page } from '../frame/page.ts';
import { at, titledPage, when } from '../frame/page-frame.ts';
import {
  birdTitle,
  flightLink,
  flightTitle,
  flightTone,
  flyLink,
  inService,
  isKnown,
  MESSAGE_LENGTH,
  NAME_LENGTH,
  nestLink,
  regionWord,
  said,
  saidInLines,
  saidStep,
} from '../frame/page-words.ts';

/** The full length that a message may have. */
const ERROR_LENGTH = 40_000;
/** For each of up to a hundred log entries. */
const STEP_LENGTH = 1_000;

interface Beside {
  /** The Flight's address in the service's own application. */
  readonly address: string | undefined;
  /** Its log, if requested. */
  readonly log: FlightLog | undefined;
  /** Whether Birds of its region may be started again. */
  readonly mayFly: boolean;
  readonly nameOf: NameOf;
}

export function renderFlightPage(page: Page, report: FlightReport, beside: Beside): Html {
  const { root, words } = page;
  const { flight, event } = report;
  const title = flightTitle(words, flight.status);
  const bird = birdTitle(words, flight.bird, flight.birdId);
  return titledPage(page, {
    ...{ section: 'birds', tone: flightTone(flight.status), isLive: beside.log === undefined },
    tab: `${title}, ${bird}`,
    title: html`${title}: <bdi>${bird}</bdi>`,
    lead: html`${regionWord(words, flight.region)} · ${nestLink(page, flight)} · <a href="${root}${birdPath(flight.region, flight.birdId)}"><bdi>${bird}</bdi></a>${inService(page, beside.address)}`,
    json: `api/v1/flights/${encodeURIComponent(flight.region)}/${encodeURIComponent(flight.flightId)}`,
    main: html`${besideLinks(page, report)}
${facts(page, report)}
${saidActions(page, report.actions)}${beside.mayFly && flight.status === 'failed' && report.bird ? flyLink(page, report.bird, flight.flightId, beside.address) : ''}
${errorSection(page, report)}
${logSection(page, beside.log)}
${alertSection(page, report)}
${notifiedSection(page, report, beside)}
${event ? html`<p class="after"><a href="${root}${eventPath(event.key)}">${words.flight.why}</a></p>` : ''}`,
  });
}

/** The Flights of the Bird before and after it, and how they ended. */
function besideLinks(page: Page, { previous, next }: FlightReport): Html | string {
  const { words } = page;
  const link = (name: string, one: FlightReport['next']) =>
    one &&
    html`<span>${name}: ${flightLink(page, one.region, one.flightId, one.status)} <span class="small soft">${when(page, one.startedAtUs)}</span></span>`;
  if (!previous && !next) return '';
  return html`<nav class="between after" aria-label="${words.flight.beside}">${link(words.flight.previous, previous) ?? html`<span></span>`}${link(words.flight.next, next)}</nav>`;
}

function facts(page: Page, { flight, event }: FlightReport): Html {
  const { words, nowUs } = page;
  const isActive = flight.endedAtUs === 0 && flight.startedAtUs > 0 && flight.status === 'active';
  const lastedUs = isActive ? nowUs - flight.startedAtUs : durationUs(flight);
  const moment = (us: number) =>
    us === 0
      ? words.flight.notKnown
      : html`${at(page, us)} <span class="small soft">${when(page, us)}</span>`;
  const took = lastedUs === undefined ? '' : words.time.took(lastedUs / 1000);
  return factList({
    [words.flight.started]: moment(flight.startedAtUs),
    [words.list.ended]: isActive ? '' : moment(flight.endedAtUs),
    [words.flight.took]: isActive ? `${took}, ${words.flight.underWay}` : took,
    [words.flight.step]: flight.scope || flight.step ? saidStep(flight) : '',
    [words.flight.errorType]: errorType(page, event),
    [words.list.flight]: html`<code>${said(flight.flightId, NAME_LENGTH)}</code>`,
  });
}

function errorType({ words }: Page, event: Event | undefined): Html | string {
  const type = String(event?.attributes.error_type ?? '');
  const { errorTypes } = words.flight;
  return isKnown(errorTypes, type) ? errorTypes[type] : type && said(type, NAME_LENGTH);
}

function errorSection({ words }: Page, { flight, event }: FlightReport): Html | string {
  const message = event?.message ?? '';
  if (message.trim())
    return html`<h2>${words.flight.error}</h2><div class="sheet"><pre>${saidInLines(message, ERROR_LENGTH)}</pre></div>`;
  if (flight.status !== 'failed') return '';
  return html`<h2>${words.flight.error}</h2><p class="sheet empty">${event ? words.flight.noError : words.flight.noEvent}</p>`;
}

/** The log is read from the service only on request. */
function logSection(page: Page, log: FlightLog | undefined): Html {
  const { words } = page;
  const title = html`<h2 id="log">${words.flight.log}</h2>`;
  if (!log) return html`${title}<p><a class="button" href="?log#log">${words.flight.readLog}</a></p>`;
  if ('refused' in log) {
    return html`${title}<p class="sheet empty"><bdi>${plainText(log.refused, MESSAGE_LENGTH)}</bdi></p>
<p class="after"><a class="button" href="?log#log">${words.alerts.askAgain}</a></p>`;
  }
  if (log.steps.length === 0) return html`${title}<p class="sheet empty">${words.flight.noLog}</p>`;
  const columns: Columns<FlightStep> = {
    [words.flight.at]: ({ atUs }) => at(page, atUs),
    [words.flight.entry]: (step) => stepTitle(page, step),
    [words.flight.step]: ({ scope, step }) => saidStep({ scope, step }),
    [words.list.message]: ({ message }) => said(message, STEP_LENGTH),
  };
  return html`${title}${dataTable(words.flight.log, columns, log.steps)}
${log.more > 0 ? html`<p class="small soft after">${words.flight.olderEntries(log.more)}</p>` : ''}`;
}

function stepTitle({ words }: Page, { sort, level, wentOn }: FlightStep): Html {
  const isFailure = sort === 'error' && wentOn === null;
  const text = sort === 'log' && level ? plainText(level, NAME_LENGTH) : words.flight.entries[sort];
  return html`<span class="whole text ${isFailure ? 'bad' : ''}"><bdi>${text}</bdi></span> ${wentOn ? html`<span class="small soft">${words.flight[wentOn]}</span>` : ''}`;
}

function alertSection(page: Page, { flight, alerts }: FlightReport): Html | string {
  const { words } = page;
  if (flight.status !== 'failed' && alerts.length === 0) return '';
  const items = alerts.map((alert) => html`<li>${alertStanding(page, alert)}</li>`);
  return html`<h2>${words.frame.alerts}</h2>
${items.length > 0 ? html`<ul class="sheet">${items}</ul>` : html`<p class="sheet empty">${words.flight.noAlerts}</p>`}`;
}

function notifiedSection(
  page: Page,
  { flight, deliveries, suppressions }: FlightReport,
  { nameOf }: Beside,
): Html | string {
  if (flight.status !== 'failed' && deliveries.length + suppressions.length === 0) return '';
  const { root, words } = page;
  const columns: Columns<Delivery> = {
    [words.flight.receiver]: (one) => plainText(one.receiver, NAME_LENGTH),
    [words.list.by]: (one) =>
      html`<a href="${root}${deliveryPath(one.id)}">${plainText(nameOf(one), NAME_LENGTH)}</a>`,
    [words.list.state]: ({ state }) => deliveryPill(page, state),
    [words.flight.at]: (one) => when(page, one.settledAtUs || one.createdAtUs),
  };
  return html`<h2>${words.flight.notified}</h2>
${deliveries.length > 0 ? dataTable(words.flight.notified, columns, deliveries) : html`<p class="sheet empty">${words.flight.nobody}</p>`}
${withheldList(page, words.event.never, suppressions)}`;
}
