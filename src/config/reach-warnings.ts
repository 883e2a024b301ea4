/**
 * Warns if alerts reach nobody, if messages cannot link to the page, and if a region's address is not the service's.
 */
import { traitsOf } from '../channels/traits.ts';
import type { Check } from '../document/check.ts';
import type { Config } from './config.ts';
import { findRoutesToNobody, isAnybodyNotified } from './routes-to-nobody.ts';

/** Adds warnings that do not keep the daemon from running; while it runs, its health reports the same. */
export function findReachWarnings(check: Check, config: Config): void {
  for (const { name, baseUrl } of config.regions) {
    if (new URL(baseUrl).pathname.endsWith('/api-rest')) continue;
    check.problem(['regions', name, 'base_url'], "the service's own addresses end in `/api-rest`");
  }
  findNobodyNotified(check, config);
  if (config.web.hasDefaultUrl && notifiesPeople(config)) {
    check.problem(
      ['web', 'external_url'],
      'is not set, so messages contain no links: set it to the address under which people reach the page',
    );
  }
}

/**
 * A configuration that only forwards events may intend that nobody is notified of alerts; each route is still
 * reported.
 */
function findNobodyNotified(check: Check, config: Config): void {
  if (!isAnybodyNotified(config) && config.forward.length === 0) {
    check.problem(
      ['route'],
      'nobody is notified of alerts: no route leads to a receiver that notifies anybody',
    );
    return;
  }
  for (const { key, receiver } of findRoutesToNobody(config)) {
    check.problem(
      key,
      `receiver ${JSON.stringify(receiver)} notifies nobody; if that is intended, name it null or blackhole`,
    );
  }
  const silent = new Set(config.receivers.flatMap((one) => (one.integrations.length > 0 ? [] : one.name)));
  for (const [index, { fallback }] of config.receivers.entries()) {
    if (fallback === undefined || !silent.has(fallback)) continue;
    const message = `receiver ${JSON.stringify(fallback)} notifies nobody either: give it an integration`;
    check.problem(['receivers', index, 'fallback'], message);
  }
}

function notifiesPeople({ receivers }: Config): boolean {
  return receivers.some(({ integrations }) =>
    integrations.some((one) => traitsOf(one).audience !== 'programs'),
  );
}
