/** Reads what the context of alerts is made from (`domain/context`), and how new the errors of failures are. */
import { type Alert, hash64 } from '../domain/alert/alert.ts';
import { signature } from '../domain/alert/error-signature.ts';
import type { Event } from '../domain/alert/event.ts';
import type { Novelty } from '../domain/alert/fact.ts';
import { LOST, MOST_FLIGHTS, noveltyOf, type Past, type SeenError } from '../domain/context/findings.ts';
import { MOST_LISTED } from '../domain/kinds/failures/shared-cause.ts';
import { readingOnce } from './read-history.ts';
import type { Transaction } from './store.ts';

/** Changes of a Bird that are counted. */
const MOST_CHANGES = 50;
/** Lost connections of a region that are looked at. */
const MOST_LOST = 50;

/** What several alerts of one message share is read once. */
export function readPast(tx: Transaction): Past {
  const once = readingOnce();
  const eventAt = async ({ id }: Alert, seq: number) =>
    (await tx.alerts.events(id, seq - 1, 1, seq))[0]?.event;
  return {
    firstEvent: (alert) => eventAt(alert, alert.lastSeq - alert.eventsTotal + 1),
    lastEvent: (alert) => eventAt(alert, alert.lastSeq),
    changes: (region, birdId, fromUs, untilUs) =>
      tx.birds.changes(region, birdId, fromUs, untilUs, MOST_CHANGES),
    ends: (region, birdId) => tx.flights.ends(region, birdId, MOST_FLIGHTS),
    async watchedSinceUs(region, birdId) {
      const joinedUs = (await tx.overdue.bird(region, birdId))?.joinedUs ?? 0;
      return Math.max(joinedUs, (await tx.inventory.knownSince(region)) ?? 0);
    },
    failing: (region, error) =>
      once(`error ${region} ${error}`, async () => {
        const regions = region === 'all' ? await tx.alerts.regions() : [region];
        return tx.alerts.failingWith(regions, error, MOST_LISTED);
      }),
    lostConnections: (region) =>
      once(`connections ${region}`, () => tx.alerts.ofKind(LOST.alertname, LOST.severity, region, MOST_LOST)),
  };
}

/**
 * Notes the errors of failed Flights of a region. Returns how new each error was before these and before all that were
 * noted; failures about which nothing can be said are absent.
 */
export async function noteErrors(
  tx: Transaction,
  region: string,
  events: readonly Event[],
  backAfterMs: number,
): Promise<ReadonlyMap<Event, Novelty>> {
  const failures = events
    .flatMap((event) => {
      const error = event.type === 'flight.failed' ? signature(event.message) : '';
      if (error === '') return [];
      const flightId = String(event.attributes.flight_id ?? '');
      return [{ event, hash: hash64([error]), atUs: event.occurredAtUs, flightId, birdId: event.birdId }];
    })
    .sort((a, b) => a.atUs - b.atUs);
  if (failures.length === 0) return new Map();
  const known = await tx.errors.note(region, failures);
  const remembered = await tx.errors.remembered(region);
  const found = new Map<Event, Novelty>();
  const seen = new Map<string, SeenError>(known);
  for (const { event, hash, atUs, flightId, birdId } of failures) {
    const before = seen.get(hash);
    const novelty = remembered && noveltyOf({ region, atUs }, before, remembered, backAfterMs);
    if (novelty) found.set(event, novelty);
    if (atUs >= (before?.lastUs ?? 0)) {
      seen.set(hash, { lastUs: atUs, flightId, bird: event.bird || `Bird ${birdId}` });
    }
  }
  return found;
}
