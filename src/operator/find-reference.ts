/** Finds what a person means by an id of any kind, or by a link to a page: for the search and for `explain`. */
import { idOfPath } from '../http/page-path.ts';
import type { Transaction } from '../store/store.ts';
import { foldedGuid } from '../text/guid.ts';

export type Reference =
  | { readonly kind: 'event'; readonly key: string }
  | { readonly kind: 'alert'; readonly id: string }
  | { readonly kind: 'delivery'; readonly id: string }
  | { readonly kind: 'flight'; readonly region: string; readonly id: string }
  | { readonly kind: 'bird'; readonly region: string; readonly id: string };

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
  return undefined;
}

/** The newest event of a reference: the last event of an alert or a Bird, or the end of a Flight. */
export async function newestEventOf(tx: Transaction, meant: Reference): Promise<string | undefined> {
  switch (meant.kind) {
    case 'event':
      return meant.key;
    case 'alert':
      return (await tx.alerts.events(meant.id, 0, 1))[0]?.event.key;
    case 'delivery': {
      const notification = (await tx.outbox.find(meant.id))?.notification;
      if (notification?.kind === 'forward') return notification.events[0]?.key;
      return notification?.kind === 'group'
        ? notification.alerts.flatMap(({ events }) => events)[0]?.key
        : undefined;
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

/** The id in a link to a page; any other text is taken as an id. */
function idOfLink(text: string): string {
  const [, path] =
    /^https?:\/\/[^?#]*?\/(?:events|alerts|deliveries|flights|birds)\/([^?#]+)/.exec(text) ?? [];
  return path === undefined ? text : (idOfPath(path) ?? text);
}
