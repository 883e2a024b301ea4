import type { Clock } from '../../time/clock.ts';
import { createAlerts } from './alerted/alerts.ts';
import { createDigests } from './alerted/digests.ts';
import { SqlGroups } from './alerted/groups.ts';
import { createNotes } from './alerted/notes.ts';
import { createSilences, createSuppressions } from './alerted/silences.ts';
import { createBrowsers } from './queued/browsers.ts';
import { DeliveryCounts } from './queued/delivery-counts.ts';
import { createForward } from './queued/forward.ts';
import { createReceiverPace } from './queued/receiver-pace.ts';
import { SqlOutbox } from './queued/sql-outbox.ts';
import type { Sql } from './sql.ts';
import { createActions } from './upkeep/actions.ts';
import { createOwnership } from './upkeep/duties.ts';
import { createFaults, createTroubles } from './upkeep/noted-faults.ts';
import { createUpkeep } from './upkeep/upkeep.ts';
import { createWrites } from './upkeep/writes.ts';
import { createAudits } from './watched/audits.ts';
import { createBirds } from './watched/birds.ts';
import { SqlEvents } from './watched/events.ts';
import { SqlStreams } from './watched/feed-streams.ts';
import { createErrors, createFlights } from './watched/flights.ts';
import { createOverdue } from './watched/judged-times.ts';
import { BirdStanding, createInventory } from './watched/nests-and-birds.ts';

/** What others may use of a repository. */
type Public<T> = Omit<T, 'forget' | 'fromRows' | 'kindOf' | 'know' | 'numbersOf' | 'numbersOfFlight'>;

/** The repositories of a store, and what they remember and hold back within a transaction. */
export type StoreRepositories = ReturnType<typeof createRepositories>;

/** In the order in which an entry of the service passes through them. */
export type Repositories = StoreRepositories['all'];

/** All repositories on one connection. `slot` is the number of the process among those that count deliveries. */
export function createRepositories(sql: Sql, clock: Clock, slot: () => number) {
  const streams = new SqlStreams(sql);
  const events = new SqlEvents(sql, streams);
  const counts = new DeliveryCounts(sql, slot);
  const standing = new BirdStanding(sql);
  const groups = new SqlGroups(sql);
  const begin = () => {
    for (const one of [events, counts, standing, groups]) one.forget();
    sql.forgetHeld();
  };
  return {
    all: {
      // What is watched, and what was read of it.
      inventory: createInventory(sql, clock),
      streams: streams as Public<SqlStreams>,
      events: events as Public<SqlEvents>,
      flights: createFlights(sql, standing),
      errors: createErrors(sql),
      audits: createAudits(sql),
      birds: createBirds(sql, events),
      // What is wrong, and who is to be told.
      overdue: createOverdue(sql),
      alerts: createAlerts(sql, { events, standing, groups }),
      groups: groups as Public<SqlGroups>,
      silences: createSilences(sql),
      notes: createNotes(sql),
      suppressions: createSuppressions(sql, events),
      digests: createDigests(sql),
      // What is on its way.
      forwards: createForward(sql),
      receivers: createReceiverPace(sql),
      outbox: new SqlOutbox(sql, events, counts) as Public<SqlOutbox>,
      browsers: createBrowsers(sql),
      actions: createActions(sql),
      // The store itself, which replica does what, and who changed what.
      ownership: createOwnership(sql),
      faults: createFaults(sql),
      troubles: createTroubles(sql, counts),
      writes: createWrites(sql),
      upkeep: createUpkeep(sql, counts),
    },
    /** Begins a transaction. Discards what was remembered of the previous one, which may have been rolled back. */
    begin,
    /** Ends the transaction's work: writes what the repositories hold back until its end. */
    async end() {
      await sql.writeHeld();
      await counts.write();
      await standing.write();
    },
    /** Called when something that was written was rolled back. */
    rolledBack() {
      begin();
      streams.forget();
    },
  };
}
