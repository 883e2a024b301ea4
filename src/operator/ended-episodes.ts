/**
 * Finds episodes that have ended. There are many and people rarely search them, so each one is tested against the
 * filter.
 */
import { type Labels, labelOf } from '../domain/alert/alert.ts';
import type { Episode } from '../domain/digest/digest.ts';
import { NestwatchError } from '../errors.ts';
import type { AlertQuery } from '../store/alert-store.ts';
import type { Transaction } from '../store/store.ts';

/** `cause` is their label `error`. */
type EndedFilter = Omit<
  AlertQuery,
  'flight' | 'state' | 'isAcknowledged' | 'order' | 'nowUs' | 'limit' | 'cursor'
>;

/** The most episodes examined for one page. */
const MAX_LOOKED_AT = 5_000;
/** Episodes per read. */
const STEP = 200;

/**
 * Latest first. A page may hold fewer than `limit` episodes, or none, and still have a `next`. Throws `usage` for a
 * cursor that no earlier answer gave.
 */
export async function readEnded(
  tx: Transaction,
  filter: EndedFilter,
  limit: number,
  cursor: string | undefined,
): Promise<{ readonly episodes: Episode[]; readonly next: string | undefined }> {
  const found: Episode[] = [];
  const fits = fitting(filter);
  let place = cursor === undefined ? undefined : parseCursor(cursor);
  for (let looked = 0; looked < MAX_LOOKED_AT; looked += STEP) {
    const read = await tx.alerts.endedBefore(place, STEP);
    for (const { episode, resolvedAtUs } of read) {
      place = { resolvedAtUs, alertId: episode.alertId };
      if (fits(episode)) found.push(episode);
      if (found.length === limit) return { episodes: found, next: formatCursor(place) };
    }
    if (read.length < STEP) return { episodes: found, next: undefined };
    await tx.pause();
  }
  return { episodes: found, next: place && formatCursor(place) };
}

function fitting(filter: EndedFilter): (episode: Episode) => boolean {
  const { region, nest, bird, name, severity, text, sinceUs, untilUs, cause } = filter;
  const part = text?.toLowerCase();
  return ({ alertname, labels, startsAtUs, endsAtUs }) =>
    (region === undefined || labels.region === region) &&
    isNamed(labels, 'nest', nest) &&
    isNamed(labels, 'bird', bird) &&
    (name === undefined || alertname.toLowerCase() === name.toLowerCase()) &&
    (severity === undefined || labels.severity === severity) &&
    (cause === undefined || labels.error === cause) &&
    (part === undefined || Object.values(labels).some((value) => value.toLowerCase().includes(part))) &&
    (sinceUs === undefined || endsAtUs >= sinceUs) &&
    (untilUs === undefined || startsAtUs < untilUs);
}

/** Whether this is its id or a part of its name. */
function isNamed(labels: Labels, what: 'nest' | 'bird', value: string | undefined): boolean {
  if (value === undefined) return true;
  const name = labelOf(labels, what) ?? '';
  return labelOf(labels, `${what}_id`) === value || name.toLowerCase().includes(value.toLowerCase());
}

interface Place {
  readonly resolvedAtUs: number;
  readonly alertId: string;
}

function formatCursor({ resolvedAtUs, alertId }: Place): string {
  return Buffer.from(JSON.stringify([resolvedAtUs, alertId])).toString('base64url');
}

function parseCursor(cursor: string): Place {
  try {
    const [resolvedAtUs, alertId] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
    if (typeof resolvedAtUs === 'number' && typeof alertId === 'string') return { resolvedAtUs, alertId };
  } catch {
    // Refused below like any other invalid cursor.
  }
  throw new NestwatchError('usage', 'The cursor is not one that an earlier answer gave.');
}
