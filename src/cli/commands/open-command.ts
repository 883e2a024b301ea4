import { spawn } from 'node:child_process';
import { NestwatchError } from '../../errors.ts';
import type { Edge } from '../../process-io.ts';
import { askDaemon, type DaemonOptions, daemonUrl } from '../daemon-client.ts';
import { jsonText, shown } from '../terminal-text.ts';

const TIMEOUT_MS = 30_000;

/** Prints the address of the page about an id, a name or a link, and opens it if somebody sits at a terminal. */
export async function open(
  edge: Edge,
  id: string,
  options: DaemonOptions & { readonly json: boolean },
): Promise<number> {
  const path = `/search?${new URLSearchParams({ text: id })}`;
  const { status, headers } = await askDaemon(edge, options, { method: 'GET', path }, TIMEOUT_MS);
  const found = status === 303 ? String(headers.location ?? '') : '';
  if (found === '')
    throw new NestwatchError(
      'usage',
      `nothing is known under ${shown(id)}: \`nestwatch open\` takes what \`explain\` takes`,
    );
  const url = new URL(found, `${daemonUrl(edge, options)}/search`).href;
  edge.stdout.write(options.json ? jsonText({ url }) : `${url}\n`);
  // A machine without a browser has the address.
  if (edge.stdout.isTTY && !options.json)
    spawn(process.platform === 'darwin' ? 'open' : 'xdg-open', [url], { detached: true, stdio: 'ignore' })
      .on('error', () => {})
      .unref();
  return 0;
}
