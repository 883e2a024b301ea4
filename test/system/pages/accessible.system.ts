/** Every page, checked by axe's rules in each look: no finding, and no horizontal scrolling. */
import axe from 'axe-core';
import type { Browser, BrowserContext } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LOOKS, openBrowser } from './open-browser.ts';
import { crawl, openPagesDaemon } from './pages-daemon.ts';

/** WCAG 2.2 at level AA, and what axe calls best practices. */
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

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

describe.each(LOOKS)('$name', ({ options }) => {
  let context: BrowserContext;

  beforeAll(async () => {
    // Axe runs inside the page, which the page's own policy rightly forbids.
    context = await browser.newContext({ locale: 'en-GB', ...options, bypassCSP: true });
  });

  afterAll(() => context.close());

  test('every page', async () => {
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
      ].map((path) => new URL(path, daemon.url).href),
    ];
    // No page links to it: only people who were given its address know it.
    const [nest] = (await daemon.ask('api/v1/nests')).nests;
    all.push(new URL(`public/eu/${nest.nest_id}`, daemon.url).href);
    const page = await context.newPage();
    const findings: string[] = [];
    for (const address of all) {
      await page.goto(address);
      await page.evaluate(axe.source);
      const { violations } = await page.evaluate(
        (values) =>
          (globalThis as unknown as { axe: typeof axe }).axe.run({ runOnly: { type: 'tag', values } }),
        RULES,
      );
      const path = address.slice(daemon.url.length);
      for (const { id, help, nodes } of violations) {
        findings.push(`${path}: ${id}, ${help}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`);
      }
      const over = await page
        .locator('html')
        .evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
      if (over > 0) findings.push(`${path}: it is ${over} px wider than the window`);
    }
    expect(findings).toEqual([]);
  });
});
