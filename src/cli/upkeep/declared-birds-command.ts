/** Writes the Birds that the service has as a file, and tells how they differ from such a file later. */
import { readDeclaredBirds, unknownRegion } from '../../config/declared-birds.ts';
import { ConfigError } from '../../document/problem.ts';
import { MOST_CONFIG_BYTES, whyUnreadable } from '../../document/read-file.ts';
import type { EventJson } from '../../domain/alert/event.ts';
import {
  byPlace,
  compareBirds,
  type Drift,
  type ListedBird,
} from '../../domain/kinds/inventory/compare-birds.ts';
import { DaemonError, NestwatchError } from '../../errors.ts';
import type { Edge } from '../../process-io.ts';
import { matchesGlob } from '../../text/glob.ts';
import { type Answer, EXIT } from '../command-rows.ts';
import { readGiven } from '../config-file.ts';
import { type DaemonOptions, daemonJson, type PrintOptions } from '../daemon-client.ts';
import { jsonText, shown, shownTime } from '../terminal-text.ts';

interface Inventory {
  readonly regions: readonly { region: string; is_read: boolean }[];
  readonly birds: readonly (Omit<ListedBird, 'nestId'> & { nest_id: string })[];
}

/** Prints the Birds of the Nests whose name or id a glob matches, as `birds check` reads them. */
export async function birdsExport(
  edge: Edge,
  { nest: glob = '*', ...options }: PrintOptions & { readonly nest?: string },
): Promise<Answer> {
  const { birds } = await readInventory(edge, options);
  const chosen = birds
    .filter(({ nest, nest_id }) => matchesGlob(glob, nest) || matchesGlob(glob, nest_id))
    .toSorted(byPlace)
    .map(({ nest_id: _, ...entry }) => entry);
  if (chosen.length === 0) edge.stderr.write(`No Bird of a Nest that matches ${shown(glob)}.\n`);
  const lines = chosen.map((entry) => {
    const pairs = Object.entries(entry).flatMap(([key, value]) =>
      value === undefined ? [] : [`${key}: ${scalar(value)}`],
    );
    return `  - ${pairs.join('\n    ')}\n`;
  });
  const yaml = lines.length === 0 ? 'birds: []\n' : `birds:\n${lines.join('')}`;
  return { json: { birds: chosen }, text: yaml };
}

/**
 * Prints how the Birds differ from the file; exits with 1 if they do, and with 4 if that cannot be asked. Throws
 * `ConfigError` for a file with mistakes.
 */
export function birdsCheck(edge: Edge, file: string, options: PrintOptions): Promise<Answer> {
  return check(edge, file, options).catch((error) => {
    throw error instanceof DaemonError ? new NestwatchError(error.code, error.message) : error;
  });
}

async function check(edge: Edge, file: string, options: PrintOptions): Promise<Answer> {
  const { birds: declared, refuse } = readDeclaredBirds(file, readText(file));
  const { regions, birds } = await readInventory(
    edge,
    options,
    new Set(declared.map(({ region }) => region)),
  );
  const names = regions.map(({ region }) => region);
  const drifts = compareBirds(
    declared,
    birds.map(({ nest_id: nestId, ...bird }) => ({ ...bird, nestId })),
  );
  const elsewhere = declared.filter(({ region }) => !names.includes(region));
  const unclear = drifts.filter(({ what }) => what === 'ambiguous');
  refuse([
    ...elsewhere.map((bird) => ({ bird, key: 'region' as const, message: unknownRegion(bird, names) })),
    ...unclear.map((one) => ({ bird: one.declared, key: 'bird' as const, message: one.clauses[0]! })),
  ]);
  const found = [];
  for (const drift of drifts) {
    const { region, nest, bird, id } = drift.listed
      ? { ...drift.declared, id: drift.listed.id }
      : drift.declared;
    const off = await switchedOff(edge, options, drift);
    found.push({ what: drift.what, region, nest, bird, id, clauses: drift.clauses, ...off });
  }
  const exit = found.length > 0 ? EXIT.failed : 0;
  return { json: { drifts: found }, text: found.map(lineOf).join(''), exit };
}

/** Throws unless these regions, or all, were read since the daemon started: what was not may have changed before. */
async function readInventory(edge: Edge, options: DaemonOptions, needed?: ReadonlySet<string>) {
  const data = await daemonJson<Inventory>(edge, options, { path: '/api/v1/inventory' }, 'birds');
  const unread = data.regions.filter(({ region, is_read }) => !is_read && (needed?.has(region) ?? true));
  if (unread.length === 0) return data;
  const names = unread.map(({ region }) => region).join(', ');
  throw new DaemonError('unavailable', `the Birds of ${names} were not read since nestwatch started`);
}

function readText(file: string): string {
  try {
    return readGiven(file)(file, MOST_CONFIG_BYTES);
  } catch (error) {
    const message = `the file ${whyUnreadable(error)}`;
    throw new ConfigError(file, [{ line: 1, column: 1, path: '', message }]);
  }
}

/** Words that are no text in YAML 1.1 or 1.2. */
const NO_TEXT = /^(?:true|false|null|yes|no|on|off|y|n)$/i;

/**
 * A value as YAML: texts in quotes, unless they are plain words. Readers of the file take `$$` for a dollar, and refuse
 * U+FFFD, in which files show that they are not UTF-8, unless it is escaped.
 */
function scalar(value: string | boolean): string {
  if (typeof value === 'boolean') return String(value);
  if (/^[a-z]+(?:[ -][a-z]+)*$/i.test(value) && !NO_TEXT.test(value)) return value;
  return jsonText(value).trimEnd().replaceAll('$', '$$$$').replaceAll('\uFFFD', '\\ufffd');
}

/** Since when a Bird with another status is off, and who did it, if its log says so. */
async function switchedOff(edge: Edge, options: DaemonOptions, { isOfStatus, listed }: Drift) {
  if (!isOfStatus || !listed || listed.status === 'active') return {};
  const path = `/api/v1/birds/${encodeURIComponent(listed.region)}/${encodeURIComponent(listed.id)}`;
  type Off = { readonly switched_off: EventJson | null };
  const { switched_off: off } = await daemonJson<Off>(edge, options, { path }, 'switched_off');
  const by = off?.attributes.initiator;
  return off ? { since: off.occurred_at, ...(typeof by === 'string' && by !== '' && { by }) } : {};
}

interface Found extends Pick<Drift, 'what' | 'clauses'> {
  readonly region: string;
  readonly nest: string;
  readonly bird: string;
  /** When it was switched off, and by whom. */
  readonly since?: string;
  readonly by?: string;
}

/** `eu Prod EU / Nightly export: suspended, declared active (since 2026-11-27 16:02:00 UTC, by editor@example.com)` */
function lineOf({ what, region, nest, bird, clauses, since, by }: Found): string {
  const subject = `${shown(region)} ${shown(nest)} / ${shown(bird)}`;
  if (what !== 'differs') return `${subject} is ${clauses[0]}\n`;
  const off = since ? ` (since ${shownTime(since)}${by ? `, by ${shown(by)}` : ''})` : '';
  const [first = '', ...others] = clauses.map(shown);
  return `${subject}: ${[`${first}${off}`, ...others].join('; ')}\n`;
}
