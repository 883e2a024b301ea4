/** How a person uses a page: with a mouse, or only with the keyboard. */
import type { Locator, Page } from 'playwright-core';

export interface Hands {
  press(what: Locator): Promise<void>;
  tick(box: Locator): Promise<void>;
  write(where: Locator, text: string): Promise<void>;
  choose(where: Locator, option: string): Promise<void>;
}

export const mouse: Hands = {
  press: (what) => what.click(),
  tick: (box) => box.check(),
  write: (where, text) => where.fill(text),
  async choose(where, option) {
    await where.selectOption({ label: option });
  },
};

/** No page has this many tab stops. */
const MOST_STOPS = 400;

/**
 * Presses Tab from where the focus is until it reaches the element; throws if it never does, or if the focus is not
 * visible.
 */
async function reach(page: Page, what: Locator): Promise<void> {
  await what.waitFor();
  for (let stops = 0; stops < MOST_STOPS; stops += 1) {
    if (await what.evaluate((element) => element === element.ownerDocument.activeElement)) {
      if (await hasFocusRing(what)) return;
      throw new Error(`The focus cannot be seen on ${what}.`);
    }
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab never comes to ${what}.`);
}

function hasFocusRing(what: Locator): Promise<boolean> {
  return what.evaluate((element) => {
    const { outlineStyle, outlineWidth } = element.ownerDocument.defaultView!.getComputedStyle(element);
    return outlineStyle !== 'none' && Number.parseFloat(outlineWidth) > 0;
  });
}

export const keyboard: Hands = {
  async press(what) {
    await reach(what.page(), what);
    await what.page().keyboard.press('Enter');
  },
  async tick(box) {
    await reach(box.page(), box);
    await box.page().keyboard.press('Space');
  },
  async write(where, text) {
    await reach(where.page(), where);
    await where.page().keyboard.press('ControlOrMeta+a');
    await where.page().keyboard.type(text);
  },
  async choose(where, option) {
    await reach(where.page(), where);
    await where.page().keyboard.type(option);
  },
};
