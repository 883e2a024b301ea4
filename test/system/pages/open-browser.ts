/** Debian's Chromium, driven as a person would use it. */
import { type Browser, type BrowserContextOptions, chromium } from 'playwright-core';

/** Without the flags about the network, Chromium contacts Google's hosts at every start. */
export function openBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

/** A width and a colour scheme in which people see the pages. */
export interface Look {
  readonly name: string;
  readonly options: BrowserContextOptions;
}

const WIDE = { width: 1280, height: 900 };
const NARROW = { width: 320, height: 640 };

export const LOOKS: readonly Look[] = [
  { name: 'light', options: { viewport: WIDE, colorScheme: 'light' } },
  { name: 'dark', options: { viewport: WIDE, colorScheme: 'dark' } },
  { name: '320 px, light', options: { viewport: NARROW, colorScheme: 'light' } },
  { name: '320 px, dark', options: { viewport: NARROW, colorScheme: 'dark' } },
  // A window of 1280 px at a zoom of 200 % has room for 640 px of the page.
  {
    name: '200 % zoom',
    options: { viewport: { width: 640, height: 450 }, deviceScaleFactor: 2, colorScheme: 'light' },
  },
];
