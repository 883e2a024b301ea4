import { ConfigDocument } from '../document/document.ts';
import { ConfigError } from '../document/problem.ts';
import { MOST_CONFIG_BYTES } from '../document/read-file.ts';
import { type HostPort, parseHostPort } from '../http/web-address.ts';
import { type ConfigSource, openSource } from './config-source.ts';
import { DEFAULT_LISTEN, readWeb, type WebConfig } from './sections/web-section.ts';

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

/**
 * Where the daemon listens as far as the file says so, however broken it is: the daemon then continues with what it read
 * before.
 */
export function guessListen({ file, environment, readFile }: ConfigSource): {
  readonly listen: HostPort;
  readonly isTls: boolean;
} {
  let text = '';
  try {
    text = readFile(file, MOST_CONFIG_BYTES);
  } catch {
    // The default is as good a guess as any.
  }
  const document = new ConfigDocument(text, environment);
  const listen = document.writtenAt(['web', 'listen']);
  return {
    listen: (typeof listen === 'string' && parseHostPort(listen)) || DEFAULT_LISTEN,
    isTls: document.writtenAt(['web', 'tls']) !== undefined,
  };
}
