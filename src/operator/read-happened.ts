import type { Event } from '../domain/alert/event.ts';
import type { EventQuery } from '../store/event-store.ts';
import type { Transaction } from '../store/store.ts';

/** The newest events that are searched: most are Flights that succeeded. */
const LOOKED_AT = 300;

/** What went without trouble, or changes nothing yet. */
const UNREMARKABLE = new Set([
  'flight.succeeded',
  'flight.cancelled',
  'bird_log.Saved',
  'bird_log.Discarded',
]);

export interface Happened {
  /** Newest first. */
  readonly events: readonly Event[];
  /** Whether older ones were not searched. */
  readonly isCut: boolean;
}

/** The newest events that tell a person something. */
export async function readHappened(
  tx: Transaction,
  of: Pick<EventQuery, 'region' | 'nest'>,
): Promise<Happened> {
  const { events, next } = await tx.events.page({ ...of, limit: LOOKED_AT });
  return { events: events.filter(({ type }) => !UNREMARKABLE.has(type)), isCut: next !== undefined };
}
