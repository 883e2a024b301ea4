/**
 * A separate process that uses a store, for tests that need a second process. `node store-process.ts hold PATH` opens
 * the store, prints `open` and keeps it open. `node store-process.ts write PATH FIRST` writes as fast as it can and
 * prints the number of each transaction once it is durable. If something goes wrong it prints the error code, and
 * then what the store answers afterwards.
 */

import { codeOf } from '../../../src/errors.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { systemClock } from '../../../src/time/clock.ts';
import { event, NOW_US } from '../contract/sample-records.ts';

const [mode, path = '', first = '0'] = process.argv.slice(2);

/** The events that one numbered transaction writes: all or none of them must be found. */
const EVENTS_PER_TRANSACTION = 3;

let store: Store | undefined;
try {
  store = await openSqliteStore({ path, clock: systemClock() });
  process.stdout.write('open\n');
  if (mode === 'hold') process.stdin.resume();
  if (mode === 'write') {
    const { transaction } = store;
    let next = Number(first);
    await Promise.all(
      Array.from({ length: 8 }, async (_, writer) => {
        for (;;) {
          const number = next++;
          await transaction(async (tx) => {
            const { stream } = await tx.streams.open('eu', 'notification', String(writer));
            const events = Array.from({ length: EVENTS_PER_TRANSACTION }, (_, part) =>
              event(`${number}-${part}`, {
                occurredAtUs: NOW_US + number,
                message: 'x'.repeat(number % 2000),
              }),
            );
            await tx.events.insert(stream, events);
            await tx.inventory.putNests([
              { region: 'eu', nestId: String(number), name: 'done', present: true },
            ]);
          });
          process.stdout.write(`${number}\n`);
        }
      }),
    );
  }
} catch (error) {
  process.stdout.write(`${codeOf(error)}\n`);
  const after = await store?.transaction((tx) => tx.streams.list('eu')).catch(codeOf);
  process.stdout.write(`then ${after}\n`);
  process.exit(1);
}
