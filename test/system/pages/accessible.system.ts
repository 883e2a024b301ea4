/** Every page, checked by axe's rules in each look: no finding, and no horizontal scrolling. */
import axe from 'axe-core';
import type { Browser, Page, ViewportSize } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openBrowser } from './open-browser.ts';
import { crawl, openPagesDaemon } from './pages-daemon.ts';

/** WCAG 2.2 at level AA, and what axe calls best practices. */
const ALL: axe.RunOnly = {
  type: 'tag',
  values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
};

/** A width and a colour scheme in which people see the pages, and what depends on them that no other look shows. */
interface Look {
  readonly name: string;
  readonly runOnly: axe.RunOnly;
  readonly viewport: ViewportSize;
  readonly colorScheme: 'light' | 'dark';
}

const WIDE = { width: 1280, height: 900 };
const NARROW = { width: 320, height: 640 };
const LOOKS: readonly Look[] = [
  { name: 'light', viewport: WIDE, colorScheme: 'light', runOnly: ALL },
  {
    name: 'dark',
    viewport: WIDE,
    colorScheme: 'dark',
    runOnly: { type: 'rule', values: ['color-contrast'] },
  },
  { name: '320 px, dark', viewport: NARROW, colorScheme: 'dark', runOnly: ALL },
  // A window of 1280 px at a zoom of 200 % has room for 640 px of the page.
  {
    name: '200 % zoom',
    viewport: { width: 640, height: 450 },
    colorScheme: 'light',
    runOnly: { type: 'rule', values: ['target-size'] },
  },
];

let daemon: Awaited<ReturnType<typeof openPagesDaemon>>;
let browser: Browser;
let addresses: ReadonlyMap<string, string>;

beforeAll(async () => {
  daemon = await openPagesDaemon();
  browser = await openBrowser();
  addresses = await crawl(daemon.url);
});

afterAll(async () => {
  await browser.close();
  await daemon.close();
});

test('every kind of page can be reached by links from the overview', () => {
  const rooms = new Set([...addresses.keys()].map((form) => form.replace(/\?.*/, '')));
  expect([...rooms].sort()).toEqual(
    expect.arrayContaining([
      '',
      'acknowledge',
      'alerts',
      'alerts/{}/{}/{}/{}',
      'birds',
      'birds/{}/{}',
      'config',
      'deliveries',
      'deliveries/{}',
      'events',
      'events/{}/{}/{}/{}',
      'flights',
      'flights/{}/{}',
      'nests',
      'nests/{}/{}',
      'report',
      'resolve',
      'silence',
      'silences',
    ]),
  );
});

test('every page, in every look', { timeout: 300_000 }, async () => {
  const all = [
    ...addresses.values(),
    ...[
      'search?text=Translate',
      'search?text=nothing',
      'alerts/unknown',
      'alerts?since=yesterday',
      'report?month=1',
      'flights?status=failed',
      'flights?text=zzz',
      'no/such/page',
      'notifications',
    ].map((path) => new URL(path, daemon.url).href),
  ];
  // No page links to it: only people who were given its address know it.
  const [nest] = (await daemon.ask('api/v1/nests')).nests;
  all.push(new URL(`public/eu/${nest.nest_id}`, daemon.url).href);
  // Axe runs inside the page, which the page's own policy rightly forbids.
  const context = await browser.newContext({ locale: 'en-GB', bypassCSP: true });
  const page = await context.newPage();
  const findings: string[] = [];
  for (const address of all) {
    await page.goto(address);
    await page.evaluate(axe.source);
    const path = address.slice(daemon.url.length);
    for (const look of LOOKS) {
      for (const finding of await findingsIn(page, look)) findings.push(`${path}, ${look.name}: ${finding}`);
    }
  }
  await context.close();
  expect(findings).toEqual([]);
});

/** What is wrong with the page that is open if somebody sees it so. */
async function findingsIn(page: Page, { viewport, colorScheme, runOnly }: Look): Promise<string[]> {
  await page.setViewportSize(viewport);
  await page.emulateMedia({ colorScheme });
  const violations = await page.evaluate(async (only) => {
    const { run } = (globalThis as unknown as { axe: typeof axe }).axe;
    // To describe what is as it should be as well takes axe four times as long.
    return (await run({ runOnly: only, resultTypes: ['violations'] })).violations;
  }, runOnly);
  const findings = violations.map(
    ({ id, help, nodes }) => `${id}, ${help}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`,
  );
  const over = await page
    .locator('html')
    .evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
  return over > 0 ? [...findings, `it is ${over} px wider than the window`] : findings;
}
