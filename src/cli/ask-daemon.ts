import { readFileSync } from 'node:fs';
import { formatHostPort } from '../config/host-port.ts';
import { reachable } from '../config/read-web.ts';
import { mistakeInBaseUrl, withoutTrailingSlash } from '../config/web-address.ts';
import { NestwatchError } from '../errors.ts';
import { type HttpResponse, openTransport } from '../transport.ts';
import type { Edge } from './edge.ts';
import { findConfigFile, readWebConfig } from './read-config.ts';

export interface DaemonOptions {
  readonly configFile: string | undefined;
  readonly url: string | undefined;
  readonly tokenFile: string | undefined;
}

const MAX_BODY_BYTES = 16 * 1024 * 1024;

/** Asks the running daemon. Throws `usage` where its address is not known, and what a `Transport` throws. */
export async function askDaemon(
  edge: Edge,
  options: DaemonOptions,
  path: string,
  timeoutMs: number,
): Promise<HttpResponse> {
  const { url, token } = addressOf(edge, options);
  const transport = openTransport({ connections: 1, timeoutMs, maxBodyBytes: MAX_BODY_BYTES });
  try {
    return await transport.send({
      method: 'GET',
      url: url + path,
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    });
  } finally {
    await transport.close();
  }
}

/** The token of the configuration is for its own daemon only: it does not go to a `--url`. */
function addressOf(edge: Edge, options: DaemonOptions): { url: string; token: string | undefined } {
  if (options.url !== undefined) {
    const mistake = mistakeInBaseUrl(options.url);
    if (mistake) throw new NestwatchError('usage', `--url ${mistake}`);
    return { url: withoutTrailingSlash(options.url), token: tokenOf(options.tokenFile) };
  }
  const web = readWebConfig(edge, findConfigFile(edge, options.configFile));
  if (web.port === 0) {
    throw new NestwatchError(
      'usage',
      '`web.listen` has port 0, so only the log says where it listens: give --url',
    );
  }
  return { url: `http://${formatHostPort(reachable(web))}`, token: web.bearerToken?.reveal() };
}

function tokenOf(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (cause) {
    throw new NestwatchError('secret_unreadable', `${file} cannot be read`, { cause });
  }
}
