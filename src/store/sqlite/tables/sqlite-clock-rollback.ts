import type { UpkeepStore } from '../../upkeep-store.ts';
import type { Connection } from '../connection.ts';

export function createClockRollback(
  connection: Connection,
): Pick<UpkeepStore, 'newestInstantUs' | 'rollBackClock'> {
  const newestEvent = connection.prepare<{ at_us: number }>(
    'SELECT observed_us AS at_us FROM event ORDER BY event DESC LIMIT 1',
  );
  const newestDelivery = connection.prepare<{ at_us: number }>(
    'SELECT created_us AS at_us FROM delivery ORDER BY seq DESC LIMIT 1',
  );
  const groups = connection.prepare(
    `UPDATE alert_group SET next_flush_us = next_flush_us - ?1,
       body = json_set(body, '$.nextFlushAtUs', next_flush_us - ?1)
     WHERE next_flush_us > ?2`,
  );
  const deliveries = connection.prepare(
    `UPDATE delivery SET next_attempt_us = next_attempt_us - ?1
     WHERE state IN ('pending', 'leased', 'retry', 'ambiguous') AND next_attempt_us > ?2`,
  );
  const fallbacks = connection.prepare(
    'UPDATE delivery SET fallback_us = fallback_us - ?1 WHERE fallback_us > ?2',
  );

  return {
    async newestInstantUs() {
      return Math.max(newestEvent.get()?.at_us ?? 0, newestDelivery.get()?.at_us ?? 0);
    },
    async rollBackClock(byUs, nowUs) {
      for (const update of [groups, deliveries, fallbacks]) update.run(byUs, nowUs);
    },
  };
}
