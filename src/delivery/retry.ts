/**
 * Decides what becomes of a delivery after one attempt. Pure: nothing here sends, waits or stores.
 *
 *   accepted → delivered
 *   nothing  → suppressed
 *   failed   → retry with exponential backoff, until 72 h after its creation; then dead. While the integration accepts
 *              nothing at all, the store brings one retry a minute forward, and all of them once it accepts something
 *   unknown  → ambiguous, retried like `failed`; the receiver drops the repeat by its id
 *   refused  → retry, twice and slowly, since a proxy without its backend also answers 404; then dead.
 *              An attempt that fails in another way starts the count of refusals again
 */

import type { Outcome } from '../channels/channel.ts';
import { leftOutWords } from '../domain/grouping/member-recipients.ts';
import type { FailureReason } from '../report.ts';
import type { Delivery, Settlement } from '../store/outbox-store.ts';
import type { Random } from '../time/clock.ts';

/** How long a receiver may be down before deliveries are lost. */
export const EXPIRES_AFTER_MS = 72 * 3_600_000;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 600_000;
/** The waits after the first and the second refusal; the third is final. */
const REFUSED_WAITS_MS = [60_000, 300_000];

export interface Verdict {
  readonly settlement: Settlement;
  /** Why it is not delivered, or not to all of several recipients; absent if it was delivered to all or suppressed. */
  readonly reason?: FailureReason;
}

/** Judges the outcome of an attempt. `delivery` is as claimed, so its `attempts` counts this attempt. */
export function judge(delivery: Delivery, outcome: Outcome, nowUs: number, random: Random): Verdict {
  const final = (state: 'delivered' | 'dead' | 'suppressed', lastError: string): Settlement => ({
    id: delivery.id,
    state,
    nextAttemptAtUs: nowUs,
    lastError,
  });
  const left = 'leftOut' in outcome ? leftOutWords(outcome.leftOut) : '';
  const refusedBy = [delivery.refusedBy, left].filter(Boolean).join('; ');
  /** An error for people, with the recipients whom it does not reach. */
  const inFull = (error: string) => (refusedBy === '' ? error : `${error}; not sent to ${refusedBy}`);

  switch (outcome.kind) {
    case 'accepted': {
      const notes = [refusedBy && `not sent to ${refusedBy}`, outcome.templateError];
      const settlement = final('delivered', notes.filter(Boolean).join('; '));
      const { reference } = outcome;
      return {
        settlement: { ...settlement, ...(reference && { reference }) },
        ...(refusedBy && { reason: 'rejected' }),
      };
    }
    case 'nothing':
      return {
        settlement: {
          ...final('suppressed', outcome.why),
          ...(outcome.isGone && { isGone: true }),
          ...(outcome.leftOut && { isForNobody: true }),
        },
      };
    case 'refused': {
      const refusals = (delivery.refusals ?? 0) + 1;
      const lastError = `${inFull(outcome.error)} (refusal ${refusals} of ${REFUSED_WAITS_MS.length + 1})`;
      const failure = { refusals, ...(refusedBy && { refusedBy }), failed: true };
      const waitMs = REFUSED_WAITS_MS[refusals - 1];
      const settlement: Settlement =
        waitMs === undefined
          ? { ...final('dead', lastError), ...failure }
          : {
              id: delivery.id,
              state: 'retry',
              nextAttemptAtUs: nowUs + waitMs * 1000,
              notBeforeUs: nowUs + waitMs * 1000,
              lastError,
              ...failure,
            };
      return { settlement, reason: outcome.reason };
    }
    default: {
      const remaining = outcome.kind === 'failed' && outcome.remaining && { remaining: outcome.remaining };
      const failure = { ...(refusedBy && { refusedBy }), failed: true, ...remaining };
      const expiresAtUs = delivery.createdAtUs + EXPIRES_AFTER_MS * 1000;
      if (nowUs >= expiresAtUs) {
        const lastError = `${inFull(outcome.error)} (given up after 72 h)`;
        return { settlement: { ...final('dead', lastError), ...failure }, reason: 'expired' };
      }
      const asked = outcome.kind === 'failed' ? (outcome.retryAfterMs ?? 0) : 0;
      const waitMs = Math.max(waitAfter(delivery.attempts, random), asked);
      // The last attempt comes exactly at the end, however long the receiver asked us to wait.
      const after = (ms: number) => Math.min(nowUs + Math.round(ms * 1000), expiresAtUs);
      return {
        settlement: {
          id: delivery.id,
          state: outcome.kind === 'unknown' ? 'ambiguous' : 'retry',
          nextAttemptAtUs: after(waitMs),
          ...(asked > 0 && { notBeforeUs: after(asked) }),
          lastError: inFull(outcome.error),
          ...failure,
        },
        reason: outcome.reason,
      };
    }
  }
}

/** The backoff: doubles from 1 s to 10 min. Chance takes off up to half of it, so that many deliveries spread out. */
function waitAfter(attempts: number, random: Random): number {
  const ceilingMs = Math.min(FIRST_WAIT_MS * 2 ** Math.max(0, attempts - 1), LONGEST_WAIT_MS);
  return ceilingMs * (0.5 + random() / 2);
}
