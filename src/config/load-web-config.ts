import { ConfigError } from '../document/problem.ts';
import { type ConfigSource, openSource } from './config-source.ts';
import { readWeb, type WebConfig } from './sections/web-section.ts';

/**
 * Reads only where the daemon listens. So commands that talk to it work while other parts of the file are being
 * edited, and start without loading what those parts need. Throws like `loadConfig`.
 */
export function loadWebConfig(source: ConfigSource): WebConfig {
  const check = openSource(source);
  const web = readWeb(check);
  const own = check.problems().filter(({ path }) => path === '' || /^web\b/.test(path));
  if (own.length > 0 || !web) throw new ConfigError(source.file, own);
  return web;
}
