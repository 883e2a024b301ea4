/** What every store promises (`src/store/store.ts`), as tests that each store passes unchanged. */
import { afterEach, beforeEach, describe } from 'vitest';
import { describeActions } from './contract/actions.ts';
import { describeAlertPages } from './contract/alert-pages.ts';
import { describeAlerts } from './contract/alerts.ts';
import { describeAudits } from './contract/audits.ts';
import { describeBirds } from './contract/birds.ts';
import { describeBrowsers } from './contract/browsers.ts';
import { describeDigests } from './contract/digests.ts';
import { describeErrors } from './contract/errors.ts';
import { describeEvents } from './contract/events.ts';
import { describeFaults } from './contract/faults.ts';
import { describeFlights } from './contract/flights.ts';
import { describeForwards } from './contract/forwards.ts';
import { describeGroups } from './contract/groups.ts';
import { describeInventory } from './contract/inventory.ts';
import { describeLookedFor } from './contract/looked-for.ts';
import { describeNotes } from './contract/notes.ts';
import { describeOutbox } from './contract/outbox.ts';
import { describeOverdue } from './contract/overdue.ts';
import { describeOwnWrites } from './contract/own-writes.ts';
import { describeOwnership } from './contract/ownership.ts';
import { describeReceivers } from './contract/receiver-pace.ts';
import { describeSilences } from './contract/silences.ts';
import { describeStreams } from './contract/streams.ts';
import type { Subject } from './contract/subject.ts';
import { describeSuppressions } from './contract/suppressions.ts';
import { describeTransactions } from './contract/transactions.ts';
import { describeTroubles } from './contract/troubles.ts';
import { describeUpkeep } from './contract/upkeep.ts';
import { describeWrites } from './contract/writes.ts';
import { runIn } from './test-store.ts';

/** `isWhole`: with those tests that say little about how a store works as a whole, but take most of the time. */
export function describeStore(name: string, open: () => Promise<Subject>, isWhole: boolean): void {
  describe(name, () => {
    let subject: Subject;
    beforeEach(async () => {
      subject = await open();
    });
    afterEach(() => subject.close());
    const run = runIn(() => subject.store);

    describeTransactions(() => subject, run);
    describeOwnWrites(run);
    describeInventory(run);
    describeAlerts(run);
    describeGroups(() => subject, run);
    describeSuppressions(run);
    describeForwards(run);
    describeOwnership(run);
    if (!isWhole) return;
    describe('each repository', () => {
      describeStreams(run);
      describeEvents(run);
      describeFlights(run);
      describeAudits(run);
      describeActions(run);
      describeBirds(run);
      describeBrowsers(run);
      describeOverdue(run);
      describeAlertPages(() => subject, run);
      describeSilences(() => subject, run);
      describeNotes(run);
      describeErrors(run);
      describeDigests(run);
      describeReceivers(run);
      describeOutbox(() => subject, run);
      describeLookedFor(run);
      describeFaults(run);
      describeTroubles(run);
      describeUpkeep(run);
      describeWrites(run);
    });
  });
}
