/**
 * Reads alerts with what mutes them: pages of them for people, all that fire, how many wait for a person, and
 * those that ended.
 */
import type { Config } from '../config/config.ts';
import { type Alert, type Labels, labelOf } from '../domain/alert/alert.ts';
import type { Event } from '../domain/alert/event.ts';
import type { Episode } from '../domain/digest/digest.ts';
import type { Mutes, Muting } from '../domain/muting/muting.ts';
import { acknowledgementsByAlert, type Silence } from '../domain/muting/silence.ts';
import { routesFor } from '../domain/routing/route.ts';
import type { AlertQuery } from '../store/alert-store.ts';
import { formatCursor, parseCursor } from '../store/sql/watched/conditions.ts';
import type { Transaction } from '../store/store.ts';
import { pausing } from '../time/clock.ts';

export interface ShownAlert {
  readonly alert: Alert;
  /** The last event of its current episode. */
  readonly lastEvent: Event | undefined;
  /** The silences that mute it now. */
  readonly silencedBy: readonly Silence[];
  /** Whether another alert inhibits it. */
  readonly isInhibited: boolean;
  /** Whether somebody acknowledged its current episode, or its last one before that ended. */
  readonly isAcknowledged: boolean;
}

/** The most alerts examined for one page when filtering by what the store does not know. */
const MAX_LOOKED_AT = 2_000;
/** Alerts per read. */
const STEP = 100;

/**
 * Reads a page of alerts. `isSilenced` selects those that a silence (not an acknowledgement) mutes, or those that
 * none does. Where each alert must be examined, since the store knows neither that nor who acknowledged what is over, a
 * page may hold fewer than `limit` alerts, or none, and still have a `next`.
 */
export async function readAlerts(
  tx: Transaction,
  muting: Muting,
  query: AlertQuery,
  isSilenced?: boolean,
): Promise<{ readonly alerts: ShownAlert[]; readonly next: string | undefined }> {
  const { isAcknowledged, ...others } = query;
  const isKnown = query.state === 'firing' || isAcknowledged === undefined;
  const asked = isKnown ? query : others;
  if (isKnown && isSilenced === undefined) {
    const { alerts, next } = await tx.alerts.page(asked);
    return { alerts: await showAlerts(tx, muting, alerts, query.nowUs), next };
  }
  const fits = (one: ShownAlert) =>
    (isKnown || one.isAcknowledged === isAcknowledged) &&
    (isSilenced === undefined || one.silencedBy.some(({ alertId }) => alertId === null) === isSilenced);
  const found: ShownAlert[] = [];
  let cursor = query.cursor;
  for (let looked = 0; looked < MAX_LOOKED_AT; looked += STEP) {
    const room = Math.min(STEP, query.limit - found.length);
    const { alerts, next } = await tx.alerts.page({ ...asked, limit: room, cursor });
    found.push(...(await showAlerts(tx, muting, alerts, query.nowUs)).filter(fits));
    cursor = next;
    if (next === undefined || found.length === query.limit) break;
    await tx.pause();
  }
  return { alerts: found, next: cursor };
}

export async function showAlerts(
  tx: Transaction,
  muting: Muting,
  alerts: readonly Alert[],
  nowUs: number,
): Promise<ShownAlert[]> {
  const isAnyOver = alerts.some(({ state }) => state === 'resolved');
  const acknowledgements = acknowledgementsByAlert(isAnyOver ? await tx.silences.list() : []);
  const shown: ShownAlert[] = [];
  const pauseAfter = pausing(tx);
  for (const alert of alerts) {
    const [last] = await tx.alerts.events(alert.id, 0, 1, alert.lastSeq);
    const { silencedBy, inhibitedBy } = await muting.of(alert, pauseAfter);
    shown.push({
      alert,
      lastEvent: last?.event,
      silencedBy,
      isInhibited: inhibitedBy.length > 0,
      isAcknowledged:
        silencedBy.some(({ alertId }) => alertId !== null) ||
        acknowledgementOf(alert, acknowledgements.get(alert.id) ?? [], nowUs) !== undefined,
    });
  }
  return shown;
}

/** The acknowledgement that was not taken back before the episode ended. */
export function acknowledgementOf(
  { startsAtUs, endsAtUs, state }: Pick<Alert, 'startsAtUs' | 'endsAtUs' | 'state'>,
  acknowledgements: readonly Silence[],
  nowUs: number,
): Silence | undefined {
  const untilUs = state === 'firing' ? nowUs : endsAtUs;
  return acknowledgements.find((one) => one.alertStartsAtUs === startsAtUs && one.endsAtUs > untilUs);
}

export type AlertingConfig = Pick<
  Config,
  'route' | 'receivers' | 'inhibitRules' | 'timeIntervals' | 'context'
>;

/** An alert with the receivers that it is routed to and what mutes it. */
export interface RoutedAlert extends Pick<Mutes, 'inhibitedBy'> {
  readonly alert: Alert;
  /** Ids of the silences that mute it. */
  readonly silencedBy: readonly string[];
  /** In the order of the routes. */
  readonly receivers: readonly string[];
}

/** When more alerts fire, the oldest are left out. */
const MOST_FIRING = 100_000;

/** Firing alerts per read. */
const FIRING_STEP = 500;

/** All firing alerts, newest first. Partial results would mislead: a client takes the missing alerts for resolved. */
export async function readRoutedAlerts(
  tx: Transaction,
  muting: Muting,
  { route }: AlertingConfig,
): Promise<RoutedAlert[]> {
  const routed: RoutedAlert[] = [];
  const pauseAfter = pausing(tx);
  for (;;) {
    const alerts = await tx.alerts.firing(routed.at(-1)?.alert, FIRING_STEP);
    for (const alert of alerts) {
      const receivers = routesFor(route, alert.labels).map((one) => one.receiver);
      const { silencedBy, inhibitedBy } = await muting.of(alert, pauseAfter);
      routed.push({
        alert,
        receivers: [...new Set(receivers)],
        silencedBy: silencedBy.map(({ id }) => id),
        inhibitedBy,
      });
    }
    if (alerts.length < FIRING_STEP || routed.length >= MOST_FIRING) return routed;
  }
}

export interface FiringCounts {
  readonly firing: number;
  /** Alerts that nobody has acknowledged or silenced, and that no other alert inhibits. */
  readonly unacknowledged: number;
}

/** Alerts per read: the most that a page of the store holds. */
const COUNTING_STEP = 1_000;

/**
 * Counts the firing alerts and those that wait for a person. Whether any alert waits is always exact. As soon as one
 * in a page of a thousand does, the alerts after that page are not examined and count as waiting.
 */
export async function countFiring(tx: Transaction, muting: Muting, nowUs: number): Promise<FiringCounts> {
  const firing = (await tx.alerts.count())
    .filter(({ state }) => state === 'firing')
    .reduce((sum, { count }) => sum + count, 0);
  if (firing === 0) return { firing, unacknowledged: 0 };
  const query = {
    state: 'firing',
    isAcknowledged: false,
    order: 'newest',
    nowUs,
    limit: COUNTING_STEP,
  } as const;
  const pauseAfter = pausing(tx);
  let [looked, hidden] = [0, 0];
  for (let cursor: string | undefined; ; ) {
    const { alerts, next } = await tx.alerts.page({ ...query, cursor });
    const hiddenBefore = hidden;
    for (const alert of alerts) {
      const { silencedBy, inhibitedBy } = await muting.of(alert, pauseAfter);
      if (silencedBy.length + inhibitedBy.length > 0) hidden += 1;
    }
    looked += alerts.length;
    if (next === undefined) return { firing, unacknowledged: looked - hidden };
    const isAnyWaiting = hidden - hiddenBefore < alerts.length;
    if (isAnyWaiting) {
      const acknowledged = (await tx.silences.list(nowUs)).filter(({ alertId }) => alertId !== null).length;
      return { firing, unacknowledged: Math.max(1, firing - acknowledged - hidden) };
    }
    cursor = next;
  }
}

/** `cause` is their label `error`. */
type EndedFilter = Omit<
  AlertQuery,
  'flight' | 'state' | 'isAcknowledged' | 'order' | 'nowUs' | 'limit' | 'cursor'
>;

/** The most episodes examined for one page. */
const MAX_ENDED = 5_000;
/** Episodes per read. */
const ENDED_STEP = 200;

/**
 * Latest first. There are many and people rarely search them, so each one is tested against the filter: a page may hold
 * fewer than `limit` episodes, or none, and still have a `next`. Throws `usage` for a cursor that no earlier answer gave.
 */
export async function readEnded(
  tx: Transaction,
  filter: EndedFilter,
  limit: number,
  cursor: string | undefined,
): Promise<{ readonly episodes: Episode[]; readonly next: string | undefined }> {
  const found: Episode[] = [];
  const { nest, bird } = filter;
  const fits = fitting({
    ...filter,
    isNestId: nest !== undefined && (await tx.inventory.isNest(nest)),
    isBirdId: bird !== undefined && (await tx.inventory.isBird(bird)),
  });
  let place = cursor === undefined ? undefined : placeAt(cursor);
  for (let looked = 0; looked < MAX_ENDED; looked += ENDED_STEP) {
    const read = await tx.alerts.endedBefore(place, ENDED_STEP);
    for (const { episode, resolvedAtUs } of read) {
      place = { resolvedAtUs, alertId: episode.alertId };
      if (fits(episode)) found.push(episode);
      if (found.length === limit)
        return { episodes: found, next: formatCursor([place.resolvedAtUs, place.alertId]) };
    }
    if (read.length < ENDED_STEP) return { episodes: found, next: undefined };
    await tx.pause();
  }
  return { episodes: found, next: place && formatCursor([place.resolvedAtUs, place.alertId]) };
}

function placeAt(cursor: string) {
  const [resolvedAtUs, alertId] = parseCursor(cursor, ['number', 'string']) as [number, string];
  return { resolvedAtUs, alertId };
}

/** If `nest` is the id of one, only that one is meant, as in `Conditions.addNest`. */
interface KnownFilter extends EndedFilter {
  readonly isNestId: boolean;
  readonly isBirdId: boolean;
}

function fitting(filter: KnownFilter): (episode: Episode) => boolean {
  const { region, nest, bird, name, severity, text, sinceUs, untilUs, cause } = filter;
  const part = text?.toLowerCase();
  return ({ alertname, labels, startsAtUs, endsAtUs }) =>
    (region === undefined || labels.region === region) &&
    isNamed(labels, 'nest', nest, filter.isNestId) &&
    isNamed(labels, 'bird', bird, filter.isBirdId) &&
    (name === undefined || alertname.toLowerCase() === name.toLowerCase()) &&
    (severity === undefined || labels.severity === severity) &&
    (cause === undefined || labels.error === cause) &&
    (part === undefined || Object.values(labels).some((value) => value.toLowerCase().includes(part))) &&
    (sinceUs === undefined || endsAtUs >= sinceUs) &&
    (untilUs === undefined || startsAtUs < untilUs);
}

/** Whether this is its id, or a part of its name. */
function isNamed(labels: Labels, what: 'nest' | 'bird', value: string | undefined, isId: boolean): boolean {
  if (value === undefined || labelOf(labels, `${what}_id`) === value) return true;
  const name = labelOf(labels, what) ?? '';
  return !isId && name.toLowerCase().includes(value.toLowerCase());
}
