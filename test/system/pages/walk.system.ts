/**
 * What people do on the pages, in a real browser: with a mouse and with only a keyboard, with scripts and without.
 * Each task starts at the overview, and the API shows that it was done.
 */
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../live-daemon.ts';
import { keyboard, mouse } from './hands.ts';
import { openBrowser } from './open-browser.ts';
import { openPagesDaemon } from './pages-daemon.ts';

let browser: Browser;

beforeAll(async () => {
  browser = await openBrowser();
});

afterAll(() => browser.close());

describe.each([
  { by: 'a mouse, with scripts', hands: mouse, javaScriptEnabled: true, isWhole: true },
  // Only where a script moves the focus or changes what is shown.
  { by: 'a keyboard, with scripts', hands: keyboard, javaScriptEnabled: true, isWhole: false },
  // What works by a keyboard without scripts works by a mouse too.
  { by: 'a keyboard, without scripts', hands: keyboard, javaScriptEnabled: false, isWhole: true },
])('by $by', ({ hands, javaScriptEnabled, isWhole }) => {
  let daemon: Awaited<ReturnType<typeof openPagesDaemon>>;
  let context: BrowserContext;
  let page: Page;

  beforeAll(async () => {
    daemon = await openPagesDaemon();
    context = await browser.newContext({ javaScriptEnabled, locale: 'en-GB' });
  });

  afterAll(async () => {
    await context.close();
    await daemon.close();
  });

  beforeEach(async () => {
    // A new page: the form that a previous test sent may still be loading.
    page = await context.newPage();
    // Without its refresh, which restarts the order of Tab where there is no script.
    await page.goto(new URL('?paused', daemon.url).href);
  });

  afterEach(async () => {
    // A page that is closed while another one loads sometimes never closes.
    await page.waitForLoadState();
    await page.close();
  });

  const link = (name: string | RegExp) => page.getByRole('link', { name }).first();
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const main = () => page.getByRole('main');
  /** Waits for the next page: pressing a key does not wait for it, as a click does. */
  const shown = () => expect.poll(() => main().textContent(), { timeout: 10_000 });

  test.runIf(isWhole)(
    'from the name of a Bird to the message of its last failure, in two steps',
    async () => {
      await hands.write(page.getByRole('searchbox'), 'Translate blog');
      await hands.press(button('Search'));
      await hands.press(main().getByRole('link', { name: 'Translate blog' }).first());
      await shown().toContain('The TMS refused the job');
    },
  );

  test('alerts are filtered, and all of them shown again', async () => {
    await hands.press(link('Alerts'));
    await hands.write(page.getByRole('textbox', { name: 'Find by name:value or words' }), 'bird:Sort');
    await hands.press(button('Find'));
    await shown().not.toContain('Translate blog');
    await shown().toContain('Sort mail');
    await hands.press(link('Without Bird: Sort'));
    await shown().toContain('Translate blog');
    await hands.press(main().locator('summary').first());
    await hands.write(page.getByLabel('Bird', { exact: true }), 'Sort');
    await hands.press(button('Show'));
    await shown().not.toContain('Translate blog');
    await shown().toContain('Sort mail');
  });

  test('a silence is previewed, created and ended', async () => {
    await hands.press(main().locator('summary', { hasText: 'The watch' }));
    await hands.press(link('new silence'));
    await hands.write(page.getByLabel(/^Matchers/), 'bird="Sort mail"');
    await hands.press(button('Show what it mutes'));
    await page.getByRole('heading', { name: 'What it mutes now' }).waitFor();
    await shown().toContain('Sort mail');
    await hands.write(page.getByLabel('Your name'), 'Ada');
    await hands.write(page.getByLabel('Reason'), 'New mail server');
    await hands.press(button('Silence'));
    await main().getByText('New mail server').first().waitFor();
    expect((await daemon.ask('api/v1/alerts?silenced=true')).alerts).toHaveLength(1);
    const end = page.getByRole('button', { name: /^End.*Sort mail/ });
    await hands.press(end);
    await end.waitFor({ state: 'detached' });
    await until(
      async () => (await daemon.ask('api/v1/alerts?silenced=true')).alerts.length === 0,
      'the silence is over',
    );
  });

  test.runIf(javaScriptEnabled)(
    'keys move between alerts, lead to what is done about one, and can be turned off',
    async () => {
      const keys = page.getByRole('dialog', { name: 'Keys' });
      const isHeld = (what: Locator) =>
        what.evaluate((element) => element.contains(element.ownerDocument.activeElement));
      await page.goto(new URL('alerts?silenced=false', daemon.url).href);
      const items = main().locator('li.alert');
      for (const key of ['j', 'j', 'k']) await page.keyboard.press(key);
      expect(await isHeld(items.first())).toBe(true);
      await page.keyboard.press('/');
      expect(await isHeld(page.getByRole('searchbox'))).toBe(true);
      await page.keyboard.press('?');
      expect(await page.getByRole('searchbox').inputValue()).toBe('?');
      await page.getByRole('searchbox').blur();
      await page.keyboard.press('?');
      await hands.press(keys.getByRole('button', { name: 'Turn keys off' }));
      await hands.press(keys.getByRole('button', { name: 'Close' }));
      await page.keyboard.press('/');
      expect(await isHeld(page.getByRole('searchbox'))).toBe(false);
      await page.keyboard.press('?');
      await hands.press(keys.getByRole('button', { name: 'Turn keys off' }));
      await hands.press(keys.getByRole('button', { name: 'Close' }));
      // An update of the list may replace the item that holds the focus, between the two keys.
      const silenced = page.getByRole('heading', { name: 'Silence alerts' });
      for (let tries = 1; tries < 4 && !(await silenced.isVisible()); tries += 1) {
        for (const key of ['j', 's']) await page.keyboard.press(key);
        await silenced.waitFor({ timeout: 5_000 }).catch(() => undefined);
      }
      expect(await silenced.isVisible()).toBe(true);
    },
  );

  test('an alert is acknowledged, and all of its cause are, and both are taken back', async () => {
    const acknowledged = async () => {
      const { alerts } = await daemon.ask('api/v1/alerts?acknowledged=true');
      return alerts.map(({ labels }: { labels: { bird: string } }) => labels.bird).sort();
    };
    await hands.press(
      main()
        .getByRole('link', { name: /Translate blog/ })
        .first(),
    );
    await hands.press(link(/^Acknowledge Flight failed, .*Translate blog/));
    await hands.write(page.getByLabel('Your name'), 'Ada');
    await hands.write(page.getByLabel('What you are doing about it'), 'I ask the TMS');
    await hands.press(button('Acknowledge'));
    await page.getByRole('heading', { name: 'Acknowledged', exact: true }).waitFor();
    expect(await acknowledged()).toEqual(['Translate blog']);
    await hands.press(button('Undo'));
    await shown().toContain('Acknowledge');
    expect(await acknowledged()).toEqual([]);
    await hands.press(link('Alerts'));
    await hands.press(link(/^Acknowledge all 2/));
    // Her name is known from before.
    await hands.press(button('Acknowledge'));
    const takeBack = async () => {
      await page.getByRole('status').getByText('Acknowledged 2 alerts').waitFor();
      expect(await acknowledged()).toEqual(['Sort mail', 'Translate blog']);
      await hands.press(button('Undo all 2'));
      await shown().toContain('Acknowledge all 2');
      expect(await acknowledged()).toEqual([]);
    };
    await takeBack();
    for (const bird of ['Translate blog', 'Sort mail'])
      await hands.tick(page.getByRole('checkbox', { name: new RegExp(`^Choose .*${bird}`) }));
    await hands.press(button('Acknowledge chosen'));
    await page.getByRole('heading', { name: 'Acknowledge these 2 alerts?' }).waitFor();
    await hands.press(button('Acknowledge'));
    await takeBack();
  });

  test.runIf(isWhole)('a dead delivery is retried', async () => {
    await hands.press(link('Deliveries'));
    await hands.press(main().locator('summary').first());
    await hands.choose(page.getByLabel('State', { exact: true }), 'Given up');
    await hands.press(button('Show'));
    await hands.press(main().getByRole('link', { name: 'refused' }).first());
    await hands.press(button('Send it again'));
    await button('Send it again').waitFor({ state: 'detached' });
    await until(
      async () => (await daemon.ask('api/v1/deliveries?state=dead')).deliveries.length === 0,
      'it is tried again',
    );
  });

  test.runIf(isWhole)('a test message is sent to a receiver', async () => {
    await hands.press(link('Deliveries'));
    await hands.choose(page.locator('#test-receiver'), 'ops');
    const sent = daemon.told.length;
    await hands.press(button('Send a test'));
    await page.waitForURL(/receiver=ops/);
    await until(() => daemon.told.length > sent, 'the receiver has it');
  });

  test.runIf(isWhole)('an alert is resolved by hand', async () => {
    await hands.press(
      main()
        .getByRole('link', { name: /Translate blog/ })
        .first(),
    );
    await hands.press(link(/^Resolve Flight failed, .*Translate blog/));
    await hands.write(page.getByLabel('Your name'), 'Ada');
    await hands.press(button('Resolve'));
    await page.getByRole('heading', { name: 'This alert is over' }).waitFor();
    await until(
      async () =>
        (await daemon.ask('api/v1/alerts?state=resolved')).alerts.some(
          ({ labels }: { labels: { bird: string } }) => labels.bird === 'Translate blog',
        ),
      'it is resolved',
    );
  });

  test('the first tab stop leads past the navigation', async () => {
    await page.keyboard.press('Tab');
    const skip = page.getByRole('link', { name: 'Skip to the content' });
    expect(await skip.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    const isInMain = await main().evaluate((element) =>
      element.contains(element.ownerDocument.activeElement),
    );
    expect(isInMain).toBe(true);
  });
});
