/** Renders one Bird: its status, last Flights, their durations and failures, its alerts and log. */
import { html } from 'hono/html';
import { sayAction } from '../../../domain/action/action.ts';
import type { Event } from '../../../domain/alert/event.ts';
import { countOutcomes, nearWords, outcomeWords, zonePlace } from '../../../domain/statistics/deadlines.ts';
import { type Cause, successRatio } from '../../../domain/statistics/flight-statistics.ts';
import { eventPath, flightPath } from '../../../http/page-path.ts';
import type { BirdReport } from '../../../operator/bird-report.ts';
import type { FlightOverview } from '../../../store/bird-store.ts';
import { clockIn, instantsIn } from '../../../text/instant-words.ts';
import { plainText } from '../../../text/plain-text.ts';
import { flightChart } from '../frame/charts.ts';
import {
  alertMessage,
  alertStanding,
  byWhom,
  factList,
  folded,
  foldedItem,
  lineItem,
  messageLine,
} from '../frame/items.ts';
import { type Columns, dataTable } from '../frame/list-page.ts';
import type { Html, Page } from '../frame/page.ts';
import { at, exactly, titledPage, when } from '../frame/page-frame.ts';
import {
  birdStatus,
  birdTitle,
  eventTitle,
  flightLink,
  flightTook,
  flyLink,
  inReadersZone,
  inService,
  MESSAGE_LENGTH,
  NAME_LENGTH,
  nestLink,
  percent,
  regionWord,
  said,
  saidStep,
  standingPill,
  standingTone,
} from '../frame/page-words.ts';

interface Beside {
  /** The Bird's address in the service's own application. */
  readonly address: string | undefined;
  /** Whether Birds of its region may be started again. */
  readonly mayFly: boolean;
}

export function renderBirdPage(page: Page, report: BirdReport, { address, mayFly }: Beside): Html {
  const { words } = page;
  const { bird } = report;
  const title = birdTitle(words, bird.name, bird.birdId);
  const tone = standingTone(bird);
  const last = report.flights.find(({ status }) => status === 'failed' || status === 'succeeded');
  const failed = last?.status === 'failed' ? last : undefined;
  return titledPage(page, {
    ...{ section: 'birds', tab: title, title: html`<bdi>${title}</bdi>`, icon: tone, isLive: true },
    lead: html`${standingPill(page, bird)} ${regionWord(words, bird.region)} · ${nestLink(page, bird)} · <code>${said(bird.birdId, NAME_LENGTH)}</code>${bird.present ? '' : html` · ${words.birds.notListed}`}${inService(page, address)}`,
    json: `api/v1/birds/${encodeURIComponent(bird.region)}/${encodeURIComponent(bird.birdId)}`,
    main: html`${facts(page, report)}
${mayFly && failed ? flyLink(page, bird, failed.flightId, address) : ''}
${alertSection(page, report)}
${flightSection(page, report)}
${causeSection(page, report)}
${logSection(page, report)}`,
  });
}

function facts(page: Page, report: BirdReport): Html {
  const { words, nowUs } = page;
  const { action, bird, counts, deadlines, durations, rhythm, switchedOff, unusual, failingSince } = report;
  const landed = report.flights.find(({ status }) => status === 'succeeded');
  const ago = (us: number) => when(page, us);
  const watched = (sinceUs: number) =>
    sinceUs < report.sinceUs
      ? ` (${words.nest.watchedSince(regionWord(words, bird.region), words.time.soFar((nowUs - report.sinceUs) / 1000))})`
      : '';
  const ended = (one: { readonly succeeded: number; readonly failed: number }) => one.succeeded + one.failed;
  const first = counts.find((one) => one.sinceUs < report.sinceUs);
  // Longer spans say the same, unless earlier Flights were read as well.
  const told = counts.filter((one) => !first || one.sinceUs >= first.sinceUs || ended(one) > ended(first));
  const ratios = told.map(
    (
      one,
    ) => html`<span>${words.birds.hours(one.hours)}${watched(one.sinceUs)}: <b>${percent(words, successRatio(one)) || '–'}</b>
<span class="small soft">${words.birds.outOf(ended(one))}</span></span>`,
  );
  const every = rhythm && words.birds.every(words.time.lasting(rhythm.everyUs / 1000));
  const late = rhythm && rhythm.nextUs < nowUs ? html`. ${words.birds.overdue}` : '';
  const { birds } = words;
  return factList({
    [birds.status]: html`<bdi>${birdStatus(words, bird.status)}</bdi> <span class="small soft">${birds.statusSince} ${ago(bird.statusSinceUs)}</span>`,
    [birds.switchedOff]: switchedOff && switchedOffWords(page, switchedOff),
    [birds.landed]: landed && flightAt(page, landed),
    [birds.failingSince]: failingSince && flightAt(page, failingSince),
    [words.fly.last]: action && html`<bdi>${sayAction(action, (us) => exactly(page, us))}</bdi>`,
    [birds.trigger]: html`<bdi>${plainText(bird.triggerType, NAME_LENGTH)}</bdi>`,
    [words.flight.next]:
      rhythm && html`${ago(rhythm.nextUs)} <span class="small soft">${every}${late}</span>`,
    [birds.deadlines]: deadlines.length > 0 ? deadlineLines(page, deadlines) : undefined,
    [birds.successRate]: html`<span class="ratio">${ratios}</span>`,
    [birds.unusual]:
      unusual.length > 0
        ? html`${unusual.map(({ text }) => html`<div>${instantsIn(text, page.zone)}</div>`)}`
        : undefined,
    [birds.durations]: durations && durationWords(page, durations),
  });
}

/** When the Flight ended, linked to it. */
function flightAt(page: Page, { region, flightId, startedAtUs, endedAtUs }: FlightOverview): Html {
  return html`<a href="${page.root}${flightPath(region, flightId)}">${at(page, endedAtUs || startedAtUs)}</a> <span class="small soft">${when(page, endedAtUs || startedAtUs)}</span>`;
}

/** `Next deadline today, 07:00 (Amsterdam) · last 14: 12 met, 1 late (24 min), 1 missed` */
function deadlineLines({ words: { birds }, nowUs }: Page, deadlines: BirdReport['deadlines']): Html {
  const lines = deadlines.map(({ rule, zone, nextUs, last, notJudged }) => {
    const near = (us: number) => nearWords(us, zone, nowUs);
    const parts = [
      nextUs === undefined ? '' : birds.nextDeadline(near(nextUs), zonePlace(zone)),
      last.length === 0 ? '' : birds.lastDeadlines(last.length, outcomeWords(countOutcomes(last))),
      notJudged ? birds.notJudged(near(notJudged.atUs), clockIn(zone, nowUs)(notJudged.sinceUs)) : '',
      deadlines.length > 1 ? birds.ofRule(plainText(rule, NAME_LENGTH)) : '',
    ];
    return html`<div><bdi>${parts.filter(Boolean).join(' · ')}</bdi></div>`;
  });
  return html`${lines}`;
}

function switchedOffWords(page: Page, event: Event): Html {
  const { root, words } = page;
  return html`<a href="${root}${eventPath(event.key)}">${eventTitle(words, event.type)}</a>
${byWhom(page, event)} <span class="small soft">${when(page, event.occurredAtUs)}</span>
${messageLine(event.message)}`;
}

function durationWords({ words }: Page, { count, p50Us, p95Us }: NonNullable<BirdReport['durations']>): Html {
  const lasting = (us: number) => words.time.took(us / 1000);
  const { p50, p95 } = words.birds;
  return html`${count === 1 ? lasting(p50Us) : html`${p50(lasting(p50Us))}, ${p95(lasting(p95Us))}`}
<span class="small soft">(${words.birds.ofSucceeded(count)})</span>`;
}

function flightSection(page: Page, { bird, flights, changes }: BirdReport): Html {
  const { root, words } = page;
  const all = `flights?${new URLSearchParams({ region: bird.region, bird: bird.birdId })}`;
  const title = html`<h2>${words.birds.latest} <a href="${root}api/v1/${all}">${words.frame.asJson}</a></h2>`;
  if (flights.length === 0) return html`${title}<p class="sheet empty">${words.birds.noFlights}</p>`;
  const columns: Columns<FlightOverview> = {
    [words.flight.started]: ({ startedAtUs }) =>
      startedAtUs > 0 ? when(page, startedAtUs) : words.flight.notKnown,
    [words.birds.status]: (one) => flightLink(page, one.region, one.flightId, one.status),
    [words.flight.took]: (one) => flightTook(words, one),
    [words.flight.step]: (one) => saidStep(one),
    [words.flight.error]: (one) => said(one.message, MESSAGE_LENGTH),
  };
  return html`${title}
${flightChart(page, flights, changes)}
<details><summary>${words.birds.asTable}</summary>${dataTable(words.birds.latest, columns, flights)}</details>`;
}

function causeSection(page: Page, { causes }: BirdReport): Html | string {
  if (causes.length === 0) return '';
  const { words } = page;
  const columns: Columns<Cause<FlightOverview>> = {
    [words.flight.error]: ({ example }) =>
      example.message ? said(example.message, MESSAGE_LENGTH) : words.birds.noMessage,
    [words.birds.times]: ({ count }) => count,
    [words.flight.step]: ({ example }) => saidStep(example),
    [words.birds.last]: ({ example }) =>
      html`<a href="${page.root}${flightPath(example.region, example.flightId)}">${when(page, example.endedAtUs || example.startedAtUs)}</a>`,
  };
  return html`<h2>${words.birds.causes}</h2>${dataTable(words.birds.causes, columns, causes)}`;
}

function alertSection(page: Page, { bird, alerts }: BirdReport): Html | string {
  if (alerts.length === 0) return '';
  const items = alerts.map((alert) =>
    lineItem(
      alertStanding(page, alert, bird.isAcknowledged),
      when(page, alert.state === 'firing' ? alert.startsAtUs : alert.endsAtUs),
      alertMessage(inReadersZone(page.zone, alert)),
    ),
  );
  return html`<h2>${page.words.frame.alerts}</h2><ul class="sheet">${items}</ul>`;
}

function logSection(page: Page, { bird, log }: BirdReport): Html {
  const { root, words } = page;
  const all = `events?${new URLSearchParams({ region: bird.region, bird: bird.birdId })}`;
  const title = html`<h2>${words.birds.log} <a href="${root}${all}">${words.birds.allEvents}</a></h2>`;
  if (log.length === 0) return html`${title}<p class="sheet empty">${words.birds.noLog}</p>`;
  return html`${title}<ul class="sheet">${folded(log).map((events) => foldedItem(page, events))}</ul>`;
}
