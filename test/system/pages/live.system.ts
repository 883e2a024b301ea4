/** Open pages follow what happens, and keep what their reader is doing; in a real browser. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openLiveDaemon, until } from '../live-daemon.ts';
import { openBrowser } from './open-browser.ts';

let browser: Browser;

beforeAll(async () => {
  browser = await openBrowser();
});

afterAll(() => browser.close());

interface Opened {
  readonly page: Page;
  readonly daemon: Awaited<ReturnType<typeof openLiveDaemon>>;
  close(): Promise<void>;
}

async function open(options: Parameters<Browser['newContext']>[0] = {}): Promise<Opened> {
  const daemon = await openLiveDaemon();
  const context = await browser.newContext({
    locale: 'en-GB',
    viewport: { width: 1000, height: 400 },
    ...options,
  });
  const page = await context.newPage();
  return {
    page,
    daemon,
    async close() {
      await context.close();
      await daemon.close();
    },
  };
}

/** Time of a page whose clock is installed, in steps that are shorter than any state of a page that fails lasts. */
const timePasses = (page: Page, isThen: () => boolean | Promise<boolean>, what: string) =>
  until(async () => {
    await page.clock.runFor(5_000);
    return isThen();
  }, what);

const staleNotice = (page: Page) =>
  page.getByRole('alert').filter({ hasText: 'nestwatch does not answer this page' });

const hasUpdated = (page: Page, times: number) =>
  until(
    () => page.evaluate(`Number(document.documentElement.dataset.updated ?? 0) >= ${times}`),
    `the page was updated ${times} times`,
  );

describe('an open page', () => {
  test('shows a new alert within seconds, and is still the same page', async () => {
    const { page, daemon, close } = await open();
    await page.goto(daemon.url);
    await page.evaluate('globalThis.isSame = true');
    daemon.fails('Translate blog');
    await page.getByRole('link', { name: 'Flight failed' }).first().waitFor({ timeout: 30_000 });
    await until(async () => (await page.title()).startsWith('(1)'), 'the title says so');
    expect(await page.evaluate('globalThis.isSame')).toBe(true);
    await close();
  });

  test('keeps the focus, what is typed, a selection, opened details and the scroll position', async () => {
    const { page, daemon, close } = await open();
    daemon.fails('Translate blog');
    await page.goto(new URL('alerts', daemon.url).href);
    await page.getByRole('link', { name: 'Flight failed' }).first().waitFor({ timeout: 30_000 });
    await page.goto(new URL('alerts', daemon.url).href);
    await page.getByText('All filters').click();
    await page.getByLabel('Bird', { exact: true }).fill('half of a na');
    await page.evaluate(`{
      const input = document.activeElement;
      input.setSelectionRange(2, 6);
      scrollTo(0, 40);
    }`);
    await hasUpdated(page, 1);
    const kept = await page.evaluate(
      `[document.activeElement.name, document.activeElement.value, document.activeElement.selectionStart, document.activeElement.selectionEnd, scrollY]`,
    );
    expect(kept).toEqual(['bird', 'half of a na', 2, 6, 40]);

    await page.goto(new URL('birds', daemon.url).href);
    await page.getByRole('link', { name: 'Translate blog' }).click();
    await page.getByRole('heading', { name: 'Translate blog' }).waitFor();
    await page.evaluate(`{
      const text = document.querySelector('h1').firstChild;
      const target = text.nodeType === 3 ? text : document.querySelector('h1').querySelector('bdi')?.firstChild ?? text;
      getSelection().setBaseAndExtent(target, 0, target, 4);
      for (const one of document.querySelectorAll('details')) one.open = true;
    }`);
    const before = await page.evaluate(`getSelection().toString()`);
    daemon.fails('Translate blog');
    await hasUpdated(page, 2);
    expect(await page.evaluate(`getSelection().toString()`)).toBe(before);
    expect(await page.evaluate(`[...document.querySelectorAll('details')].every((one) => one.open)`)).toBe(
      true,
    );
    await close();
  });

  test('stays as it is while it is paused, also for the keyboard', async () => {
    const { page, daemon, close } = await open();
    await page.goto(daemon.url);
    const pause = page.getByRole('button', { name: 'Pause updates' });
    await pause.press('Enter');
    expect(await pause.getAttribute('aria-pressed')).toBe('true');
    daemon.fails('Translate blog');
    await until(() => daemon.told.includes('firing Translate blog'), 'the alert fires');
    expect(await page.getByText('No active alerts.').count()).toBe(1);
    await pause.press('Enter');
    await page.getByRole('link', { name: 'Flight failed' }).first().waitFor();
    expect(await pause.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
    await close();
  });

  test('says when it cannot be updated, and no longer once it can', async () => {
    const { page, daemon, close } = await open();
    await page.clock.install();
    await page.goto(new URL('wall', daemon.url).href);
    const notice = staleNotice(page);
    await page.route('**/*', (route) => route.abort());
    await timePasses(page, () => notice.isVisible(), 'it says so');
    expect(await page.title()).toBe('nestwatch: not updated');
    await page.unrouteAll();
    await timePasses(page, async () => !(await notice.isVisible()), 'it no longer says so');
    expect(await page.title()).not.toBe('nestwatch: not updated');
    await close();
  });

  test('is asked for again soon after an answer that never came, while much changes', async () => {
    const { page, daemon, close } = await open();
    const wall = new URL('wall', daemon.url).href;
    await page.clock.install();
    // The stream ends at once and begins again, each time with a change.
    const body = 'retry: 100\nevent: change\ndata: {}\n\n';
    await page.route('**/api/v1/stream', (route) =>
      route.fulfill({ contentType: 'text/event-stream', body }),
    );
    await page.goto(wall);
    let isAskedFor = false;
    await page.route(wall, () => {
      isAskedFor = true;
    });
    await timePasses(page, () => isAskedFor, 'the page is asked for');
    await page.unroute(wall);
    await timePasses(page, () => staleNotice(page).isVisible(), 'it says that it is not updated');
    // So that another change comes first.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    await page.clock.runFor(10_000);
    await staleNotice(page).waitFor({ state: 'hidden' });
    await close();
  });

  test('goes on asking after a page without the notice, such as one of another version', async () => {
    const { page, daemon, close } = await open();
    await page.clock.install();
    await page.goto(new URL('wall', daemon.url).href);
    await page.evaluate(`document.querySelector('.stale').remove()`);
    await page.route('**/*', (route) => route.abort());
    const isStale = async () => (await page.title()) === 'nestwatch: not updated';
    await timePasses(page, isStale, 'it says that it is not updated');
    await page.unrouteAll();
    await timePasses(page, async () => !(await isStale()), 'it no longer says so');
    await close();
  });

  test('is loaded again once its reader is sent elsewhere, as when a login has ended', async () => {
    const { page, daemon, close } = await open();
    await page.goto(daemon.url);
    daemon.fails('Translate blog');
    await hasUpdated(page, 1);
    const again = page.waitForEvent('load');
    const login = { status: 303, headers: { location: 'https://login.example.com/' } };
    await page.route(daemon.url, (route) => route.fulfill(login), { times: 1 });
    daemon.fails('Sort mail');
    await again;
    await page.getByRole('link', { name: 'Flight failed' }).first().waitFor();
    await close();
  });

  test('of the public is kept up to date without the stream, and says when it cannot be', async () => {
    const { page, daemon, close } = await open();
    let nests: { readonly nest_id: string }[] = [];
    await until(async () => {
      ({ nests } = (await (await fetch(new URL('api/v1/nests', daemon.url))).json()) as {
        nests: typeof nests;
      });
      return nests.length > 0;
    }, 'the Nest is known');
    const url = new URL(`public/eu/${nests[0]!.nest_id}`, daemon.url).href;
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await page.clock.install();
    await page.goto(url);
    await page.route(url, async (route) => {
      const body = await (await route.fetch()).text();
      await route.fulfill({
        body: body.replace(/<h1([^>]*)>[^<]*/, '<h1$1>Two Birds fail'),
        contentType: 'text/html',
      });
    });
    await timePasses(page, () => page.getByText('Two Birds fail').isVisible(), 'it shows what changed');
    await page.route('**/*', (route) => route.abort());
    await timePasses(page, () => staleNotice(page).isVisible(), 'it says so');
    expect(asked.filter((path) => path.includes('stream'))).toEqual([]);
    await close();
  });

  test('polls if there is no stream', async () => {
    const { page, daemon, close } = await open();
    await page.route('**/api/v1/stream', (route) => route.fulfill({ status: 503, body: '{}' }));
    await page.goto(daemon.url);
    daemon.fails('Translate blog');
    await page.getByRole('link', { name: 'Flight failed' }).first().waitFor({ timeout: 45_000 });
    await close();
  });
});

describe('the time zone of the reader', () => {
  test('is reported by the script, and used from then on', async () => {
    const { page, daemon, close } = await open({ timezoneId: 'America/New_York' });
    await page.goto(daemon.url);
    await page.getByText('Times in America/New_York').waitFor();
    expect(await page.locator('header time').first().textContent()).toMatch(/ (GMT-[45]|E[SD]T)$/);
    expect(await page.locator('header time').first().getAttribute('title')).toMatch(/ UTC$/);
    await page.goto(new URL('events', daemon.url).href);
    expect(await page.locator('footer').textContent()).toContain('America/New_York');
    await close();
  });

  test('is UTC without a script, and the overview refreshes itself', async () => {
    const { page, daemon, close } = await open({ timezoneId: 'America/New_York', javaScriptEnabled: false });
    await page.goto(daemon.url);
    expect(await page.locator('footer').textContent()).toContain('Times in UTC');
    expect(await page.locator('header').textContent()).toContain('updates every 10 s');
    daemon.fails('Translate blog');
    await page.getByRole('link', { name: 'Flight failed' }).first().waitFor({ timeout: 30_000 });
    await close();
  });
});
