/** Serves the report of a month, of all Nests or one, as a page that can be printed and as CSV of the same figures. */
import type { Context, Hono } from 'hono';
import { html } from 'hono/html';
import { type ReportRow, reportCsv } from '../../domain/digest/report-figures.ts';
import { birdPath, nestPath } from '../../http/page-path.ts';
import { type Month, readMonthReport } from '../../store/month-report.ts';
import { oneOf, readQuery, refuse } from '../requests/query.ts';
import type { PagesOptions } from '../web-options.ts';
import { strip } from './frame/charts.ts';
import { problemOf, sentence } from './frame/form.ts';
import { type Columns, dataTable } from './frame/list-page.ts';
import { type Html, type Page, pageOf } from './frame/page.ts';
import { exactly, titledPage, unknownPage, where } from './frame/page-frame.ts';
import { alertPlace, MESSAGE_LENGTH, regionWord, said } from './frame/page-words.ts';

type ReportView = Awaited<ReturnType<typeof readReport>>;

/** Rows of a table on the page; the CSV has all. */
const SHOWN = 10;

export function addReport(pages: Hono, options: PagesOptions): void {
  pages.get('/report', async (c) => {
    const page = pageOf(c, options.clock);
    let view: ReportView | undefined;
    const problem = await problemOf(c.get('words'), async () => {
      view = await readReport(c, page, options);
    });
    if (view) return c.html(renderReport(page, view));
    return c.html(unknownPage(page, 'nests', page.words.report.named('report'), problem), 400);
  });
  pages.get('/report.csv', async (c) => {
    const { tables } = await readReport(c, pageOf(c, options.clock), options);
    c.header('content-type', 'text/csv; charset=utf-8');
    c.header('content-disposition', 'attachment');
    return c.body(reportCsv(tables));
  });
}

/** Throws `usage` for invalid values. */
async function readReport(c: Context, page: Page, options: PagesOptions) {
  const { zone, nowUs, words } = page;
  const given = readQuery(new URL(c.req.url).searchParams, ['month', 'region', 'nest']);
  const { store, alerting } = options;
  const regions = options.regions();
  const region = oneOf('region', given.region, regions);
  const asked = { nestId: given.nest, month: given.month, zone, config: alerting, nowUs };
  const report = await readMonthReport(store, { ...asked, regions: region ? [region] : regions });
  const names = report.months.map(({ name }) => name);
  oneOf('month', given.month, names);
  const [nest] = given.nest ? report.tables.worst_nests : [];
  if (given.nest && !nest) throw refuse(words.nest.unknown);
  return { ...report, own: { ...(region && { region }), ...(given.nest && { nest: given.nest }) }, nest };
}

function renderReport(page: Page, report: ReportView): Html {
  const { words, nowUs } = page;
  const { month, earlier, later, days, watched, own, nest } = report;
  const { month: whole, days: _, worst_nests, ...others } = report.tables;
  const tables = nest ? others : { worst_nests, ...others };
  const { named, monthName, figure, watchedSince, flightsSince, alertsSince } = words.report;
  const title = words.report.title(monthName(month.name), month.untilUs <= nowUs);
  const link = (path: string, { name }: Month, text: string) =>
    html`<a class="button" href="${path}?${new URLSearchParams({ ...own, month: name })}">${text}</a>`;
  const gap = (us: number, say: (instant: string) => string) =>
    us > month.fromUs ? `${say(exactly(page, us))} ` : '';
  return titledPage(page, {
    ...{ title, lead: nest ? subject(page, '', nest) : named('all_nests') },
    main: html`<nav class="actions presets" aria-label="${named('other_months')}">${[earlier, later].map((one) => one && link('report', one, monthName(one.name)))}${link('report.csv', month, words.report.csv)}</nav>
<p class="small soft after">${[...watched].map(([region, us]) => gap(us, (instant) => watchedSince(regionWord(words, region), instant)))}${gap(report.flightsUs, flightsSince)}${gap(report.alertsUs, alertsSince)}</p>
<dl class="figures">${Object.entries(whole[0]!.figures).map(([name, value]) => {
      const shown = figure(name, value);
      return shown && html`<div><dt>${named(name)}</dt><dd>${shown}</dd></div>`;
    })}</dl>
${strip(page, named('flights_by_day'), days, own)}
<div class="columns even">${Object.entries(tables).map(([name, rows]) => table(page, name, rows))}</div>`,
  });
}

function table(page: Page, name: string, rows: readonly ReportRow[]): Html | string {
  const { named, figure } = page.words.report;
  if (rows.length === 0) return '';
  const columns: Columns<ReportRow> = {
    [named('about')]: (row) => subject(page, name, row),
    ...Object.fromEntries(
      Object.keys(rows[0]!.figures).map((column) => [
        named(column),
        ({ figures }: ReportRow) => ({ number: figure(column, figures[column]) }),
      ]),
    ),
  };
  return html`<section><h2>${named(name)}</h2>${dataTable(named(name), columns, rows.slice(0, SHOWN))}</section>`;
}

function subject(page: Page, table: string, { labels, text = '' }: ReportRow): Html {
  const { words, root } = page;
  if (!labels) {
    const ended = table === 'how_alerts_ended' ? sentence(words.alert.ended(text, '')) : text;
    return said(ended || words.birds.noMessage, MESSAGE_LENGTH);
  }
  const { region = '', nest_id, bird_id } = labels;
  const about = text && html` · ${said(text, MESSAGE_LENGTH)}`;
  if (nest_id === undefined) return html`${regionWord(words, region)}${about}`;
  const path = bird_id === undefined ? nestPath(region, nest_id) : birdPath(region, bird_id);
  return html`<a class="plain" href="${root}${path}">${where(page, region, alertPlace(labels))}</a>${about}`;
}
