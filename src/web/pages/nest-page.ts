/** Serves and renders one Nest: 90 days of its Flights, what fails, its Birds, and what happened. */
import type { Hono } from 'hono';
import { html } from 'hono/html';
import { isPublicNest } from '../../config/sections/web-section.ts';
import { successRatio } from '../../domain/statistics/flight-statistics.ts';
import { publicPath } from '../../http/page-path.ts';
import { type ShownBird, showBirds } from '../../operator/bird-report.ts';
import type { FlightEnds, NestOverview } from '../../store/bird-store.ts';
import { plainText } from '../../text/plain-text.ts';
import { nestPlace } from '../service-place.ts';
import type { PagesOptions } from '../web-options.ts';
import { type AlertsEntry, problemList, readEntries } from './alerts/alerts-page.ts';
import { thingOf } from './birds/bird-routes.ts';
import { strip, stripBars } from './frame/charts.ts';
import { type Happened, happenedList, readHappened } from './frame/items.ts';
import { type Columns, dataTable } from './frame/list-page.ts';
import { type Html, type Page, pageOf } from './frame/page.ts';
import { titledPage, unknownPage } from './frame/page-frame.ts';
import {
  birdLink,
  flightMarks,
  inService,
  NAME_LENGTH,
  nestTitle,
  percent,
  regionWord,
  standingPill,
} from './frame/page-words.ts';

const DAY_US = 86_400_000_000;
const STRIP_US = 90 * DAY_US;
const SHOWN_CAUSES = 20;
const SHOWN_BIRDS = 50;

interface NestView {
  readonly nest: NestOverview;
  /** Of the last 90 days. */
  readonly ends: readonly FlightEnds[];
  /** When its region was first watched. */
  readonly sinceUs: number;
  readonly problems: readonly AlertsEntry[];
  readonly birds: readonly ShownBird[];
  readonly happened: Happened;
  /** Mail addresses; empty if nobody asked for them. */
  readonly members: readonly string[];
  readonly isPublic: boolean;
  /** In the service's own application. */
  readonly address: string | undefined;
}

export function addNestPage(pages: Hono, options: PagesOptions): void {
  const { regions, clock, serviceLinks } = options;
  const { publicStatus } = options.config;
  pages.get('/nests/*', async (c) => {
    const page = pageOf(c, clock);
    const { unknown } = page.words.nest;
    const thing = thingOf(c, 'nests', regions());
    const view = thing && (await readNestView(options, thing.region, thing.id, page.nowUs));
    if (!view) return c.html(unknownPage(page, 'nests', unknown, page.words.birds.unknownLead), 404);
    const { nest, nestId } = view.nest;
    const isPublic = !!publicStatus && isPublicNest(publicStatus, nest, nestId);
    const address = serviceLinks(nestPlace(view.nest)).nest;
    return c.html(renderNestPage(page, { ...view, address, isPublic }));
  });
}

/** Undefined for a Nest that the service does not list. */
async function readNestView(
  { store, muting }: PagesOptions,
  region: string,
  nestId: string,
  nowUs: number,
): Promise<Omit<NestView, 'isPublic' | 'address'> | undefined> {
  return store.transaction(async (tx) => {
    const of = { regions: [region], nest: nestId };
    const { nests } = await tx.birds.nestPage({ ...of, countedSinceUs: nowUs - DAY_US, limit: SHOWN_BIRDS });
    const nest = nests.find((one) => one.nestId === nestId);
    if (!nest) return undefined;
    const asked = {
      region,
      nest: nestId,
      state: 'firing',
      order: 'severest',
      isSilenced: undefined,
    } as const;
    const members = await tx.inventory.nestMembers(region);
    return {
      nest,
      ends: await tx.birds.flightEnds({ regions: [region], nestId, sinceUs: nowUs - STRIP_US }),
      sinceUs: (await tx.inventory.knownSince(region)) ?? nowUs,
      problems: (await readEntries(tx, await muting(tx, nowUs), { ...asked, nowUs, limit: SHOWN_CAUSES }))
        .items,
      birds: await showBirds(tx, (await tx.birds.page({ ...of, limit: SHOWN_BIRDS })).birds, nowUs),
      happened: await readHappened(tx, { region, nest: nestId }, nowUs),
      members: members.find((one) => one.nestId === nestId)?.addresses ?? [],
    };
  });
}

function renderNestPage(page: Page, view: NestView): Html {
  const { root, words, nowUs } = page;
  const { nest, ends, problems, birds, happened, members, isPublic } = view;
  const { region, nestId } = nest;
  const name = nestTitle(words, nest);
  const own = { region, nest: nestId };
  const tone = nest.firing + nest.failing > 0 ? 'bad' : 'good';
  const columns: Columns<ShownBird> = {
    [words.list.bird]: (one) => birdLink(page, one),
    [words.birds.standing]: (one) => standingPill(page, one),
    [words.birds.latest]: (one) => flightMarks(page, one.latest),
  };
  return titledPage(page, {
    ...{ section: 'nests', title: name, icon: tone, isLive: true },
    lead: html`${regionWord(words, region)} · ${words.overview.tile(nest.birds, nest.firing, nest.off)}${inService(page, view.address)}`,
    main: html`${strip(page, words.strip.quarter, stripBars(ends, nowUs, 90, 24), own, html`<a href="${root}report?${new URLSearchParams(own)}">${words.report.thisMonth}</a>`)}
<p class="small soft after ratio">${ratios(page, view)}</p>
<h2>${words.nest.problems}</h2>
${problems.length > 0 ? html`<ul class="sheet">${problemList(page, problems)}</ul>` : html`<p class="sheet empty">${words.nest.noProblems}</p>`}
<h2>${words.frame.birds} <a href="${root}birds?${new URLSearchParams(own)}">${words.nest.birds}</a></h2>
${dataTable(words.frame.birds, columns, birds)}
<h2>${words.overview.happened}</h2>
${happenedList(page, happened)}
${members.length > 0 ? html`<h2>${words.nest.members}</h2><p class="sheet empty"><bdi>${members.map((one) => plainText(one, NAME_LENGTH)).join(', ')}</bdi></p>` : ''}
${isPublic ? html`<p class="small soft after"><a href="${root}${publicPath(region, nestId)}">${words.birds.publicPage}</a> · ${words.nest.badge} <code>${root}${publicPath(region, nestId)}/badge.svg</code></p>` : ''}`,
  });
}

/** How its Flights ended lately; says so if that has not been watched for so long. */
function ratios({ words, nowUs }: Page, { nest, ends, sinceUs }: NestView): Html {
  const spans: [days: number, name: string][] = [
    [1, words.nest.day],
    [7, words.nest.week],
    [30, words.nest.month],
  ];
  // Further spans would say the same.
  const told = spans.findIndex(([days]) => sinceUs > nowUs - days * DAY_US);
  const shown = told < 0 ? spans : spans.slice(0, told + 1);
  return html`${shown.map(([days, name]) => {
    const fromUs = nowUs - days * DAY_US;
    const counts = { succeeded: 0, failed: 0 };
    for (const one of ends) {
      if (one.sinceUs < fromUs) continue;
      counts.succeeded += one.succeeded;
      counts.failed += one.failed;
    }
    const watched =
      sinceUs > fromUs
        ? ` (${words.nest.watchedSince(regionWord(words, nest.region), words.time.soFar((nowUs - sinceUs) / 1000))})`
        : '';
    const share = percent(words, successRatio(counts));
    return html`<span>${words.nest.within(name)}${watched}: ${words.strip.ends(counts.succeeded + counts.failed, counts.failed)}${share && `, ${words.nest.succeeded(share)}`}</span>`;
  })}`;
}
