/** What every store promises (`src/store/store.ts`), as tests that each of them passes unchanged. */
import { afterEach, beforeEach, describe } from 'vitest';
import { describeAlerts } from './contract/alerts.ts';
import { describeAudits } from './contract/audits.ts';
import { describeDigests } from './contract/digests.ts';
import { describeEvents } from './contract/events.ts';
import { describeFlights } from './contract/flights.ts';
import { describeGroups } from './contract/groups.ts';
import { describeInventory } from './contract/inventory.ts';
import { describeTold } from './contract/notified-events.ts';
import { describeOutbox } from './contract/outbox.ts';
import { describeOverdue } from './contract/overdue.ts';
import { describePrune } from './contract/prune.ts';
import { describeSilences } from './contract/silences.ts';
import type { Run, Subject } from './contract/subject.ts';
import { describeTransactions } from './contract/transactions.ts';

export function describeStore(name: string, open: () => Promise<Subject>): void {
  describe(name, () => {
    let subject: Subject;
    beforeEach(async () => {
      subject = await open();
    });
    afterEach(() => subject.close());
    const run: Run = (work) => subject.store.transaction(work);

    describeTransactions(() => subject, run);
    describeInventory(run);
    describeEvents(run);
    describeAudits(run);
    describeFlights(run);
    describeOverdue(run);
    describeAlerts(run);
    describeGroups(run);
    describeSilences(run);
    describeOutbox(run);
    describeTold(run);
    describeDigests(run);
    describePrune(run);
  });
}
