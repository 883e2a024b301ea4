/** Debian's Chromium, driven as a person would use it. */
import { type Browser, chromium } from 'playwright-core';

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
