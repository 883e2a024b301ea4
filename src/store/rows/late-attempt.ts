/** Decides what an attempt means for its delivery when another attempt has begun since. */
import type { Settlement } from '../outbox-store.ts';
import type { DeliveryRow } from './delivery-row.ts';

type Before = Pick<DeliveryRow, 'state' | 'attempts' | 'next_attempt_us'>;

/**
 * What to record of an attempt that ended; undefined for nothing. The last attempt always counts. An earlier one ended
 * late: its replica was presumed dead and has come back. While another attempt is under way, that one decides. If
 * none is, the late outcome counts as well, so that what was accepted is not sent again, and nobody comes back sooner
 * than a receiver asked for. It never gives a delivery up.
 */
export function outcomeToRecord(settlement: Settlement, before: Before): Settlement | undefined {
  const { state, attempt = before.attempts, nextAttemptAtUs } = settlement;
  if (attempt === before.attempts) return settlement;
  if (before.state !== 'retry' && before.state !== 'ambiguous') return undefined;
  if (state === 'delivered') return settlement;
  if (state !== 'retry' && state !== 'ambiguous') return undefined;
  return { ...settlement, nextAttemptAtUs: Math.max(nextAttemptAtUs, before.next_attempt_us) };
}
