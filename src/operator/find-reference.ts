/**
 * Finds what a person means by an id of any kind, or by a link to a page: for the search, `explain` and `alerts show`.
 * The id may be one that another program shows: a fingerprint (Alertmanager's clients), an incident's key (PagerDuty's
 * `dedup_key`, Opsgenie's alias, VictorOps' `entity_id`), or a silence's id.
 */
import { fingerprint } from '../domain/alert/alert.ts';
import { incidentKey } from '../domain/grouping/incident.ts';
import { matchesAll } from '../domain/matchers/matcher.ts';
import { idOfPath } from '../http/page-path.ts';
import type { Transaction } from '../store/store.ts';
import { foldedGuid, isGuid } from '../text/plain-text.ts';

export type Reference =
  | { readonly kind: 'event'; readonly key: string }
  | { readonly kind: 'alert'; readonly id: string }
  | { readonly kind: 'delivery'; readonly id: string }
  | { readonly kind: 'flight'; readonly region: string; readonly id: string }
  | { readonly kind: 'bird'; readonly region: string; readonly id: string }
  | { readonly kind: 'silence'; readonly id: string };

/** Undefined if nothing with this id is kept. */
export async function findReference(
  tx: Transaction,
  text: string,
  regions: readonly string[],
): Promise<Reference | undefined> {
  const id = idOfLink(text.trim());
  const [event] = await tx.events.withShortId(id);
  if (event) return { kind: 'event', key: event.key };
  for (const key of [id, id.split('/').map(foldedGuid).join('/')]) {
    if (await tx.events.find(key)) return { kind: 'event', key };
  }
  if ((await tx.alerts.find(id)) || (await tx.alerts.episodes(id, 1)).length > 0)
    return { kind: 'alert', id };
  if (await tx.outbox.find(id)) return { kind: 'delivery', id };
  for (const region of regions) {
    const own = id.startsWith(`${region}/`) ? id.slice(region.length + 1) : id;
    const flight = await tx.birds.findFlight(region, own);
    if (flight) return { kind: 'flight', region, id: flight.flightId };
    if (await tx.birds.find(region, own)) return { kind: 'bird', region, id: own };
  }
  return findElsewhere(tx, id.toLowerCase());
}

async function findElsewhere(tx: Transaction, id: string): Promise<Reference | undefined> {
  if (/^[0-9a-f]{16}$/.test(id)) return withFingerprint(tx, id);
  if (/^[0-9a-f]{64}$/.test(id)) return ofIncident(tx, id);
  const silence = isGuid(id) && (await tx.silences.list()).find((one) => one.id === id);
  if (!silence) return undefined;
  return silence.alertId === null ? { kind: 'silence', id } : { kind: 'alert', id: silence.alertId };
}

const READ_AT_ONCE = 1_000;

async function withFingerprint(tx: Transaction, wanted: string): Promise<Reference | undefined> {
  let cursor: string | undefined;
  do {
    const page = await tx.alerts.page({ order: 'newest', nowUs: 0, limit: READ_AT_ONCE, cursor });
    const found = page.alerts.find(({ labels }) => fingerprint(labels) === wanted);
    if (found) return { kind: 'alert', id: found.id };
    cursor = page.next;
    await tx.pause();
  } while (cursor !== undefined);
  return undefined;
}

/** The newest of the last deliveries that were sent for the incident; those of one lane are for the same one. */
async function ofIncident(tx: Transaction, key: string): Promise<Reference | undefined> {
  const { deliveries } = await tx.outbox.page({ limit: READ_AT_ONCE });
  const lanes = new Set<string>();
  for (const { id, receiver, lane } of deliveries) {
    if (lanes.has(`${receiver} ${lane}`)) continue;
    if (lane !== '') lanes.add(`${receiver} ${lane}`);
    const notification = (await tx.outbox.find(id))?.notification;
    if (notification?.kind === 'group' && incidentKey(notification) === key) return { kind: 'delivery', id };
    await tx.pause();
  }
  return undefined;
}

/** The alert that a reference is about: for a silence, the firing one that it mutes and that began last. */
export async function alertOf(tx: Transaction, meant: Reference): Promise<string | undefined> {
  if (meant.kind === 'alert') return meant.id;
  if (meant.kind === 'delivery') {
    const notification = (await tx.outbox.find(meant.id))?.notification;
    return notification?.kind === 'group' ? notification.alerts[0]?.id : undefined;
  }
  if (meant.kind !== 'silence') {
    const key = await newestEventOf(tx, meant);
    return key === undefined ? undefined : (await tx.alerts.ofEvent(key))[0]?.alert.id;
  }
  const silence = (await tx.silences.list()).find(({ id }) => id === meant.id);
  const firing = { state: 'firing', order: 'newest', nowUs: 0, limit: READ_AT_ONCE } as const;
  for (const { id, labels } of silence ? (await tx.alerts.page(firing)).alerts : []) {
    if (matchesAll(silence!.matchers, labels)) return id;
    await tx.pause();
  }
  return undefined;
}

/** The newest event of a reference: the last event of an alert or a Bird, or the end of a Flight. */
export async function newestEventOf(tx: Transaction, meant: Reference): Promise<string | undefined> {
  switch (meant.kind) {
    case 'event':
      return meant.key;
    case 'alert':
    case 'silence':
      return lastOfAlert(tx, meant);
    case 'delivery': {
      const notification = (await tx.outbox.find(meant.id))?.notification;
      if (notification?.kind === 'forward') return notification.events[0]?.key;
      const listed = notification?.kind === 'group' && notification.alerts.flatMap(({ events }) => events)[0];
      return listed ? listed.key : lastOfAlert(tx, meant);
    }
    case 'flight': {
      const { region, id: flight } = meant;
      return (await tx.events.page({ region, flight, limit: 1 })).events[0]?.key;
    }
    default: {
      const { events } = await tx.events.page({ region: meant.region, bird: meant.id, limit: 20 });
      return events.find(({ birdId }) => birdId === meant.id)?.key;
    }
  }
}

async function lastOfAlert(tx: Transaction, meant: Reference): Promise<string | undefined> {
  const id = await alertOf(tx, meant);
  return id === undefined ? undefined : (await tx.alerts.events(id, 0, 1))[0]?.event.key;
}

/** The id in a link to a page; any other text is taken as an id. */
function idOfLink(text: string): string {
  const [, path] =
    /^https?:\/\/[^?#]*?\/(?:events|alerts|deliveries|flights|birds)\/([^?#]+)/.exec(text) ?? [];
  return path === undefined ? text : (idOfPath(path) ?? text);
}
