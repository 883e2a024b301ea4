/**
 * How much the entries of a stream count in the choice of what to poll next: as much as they may alert people. Every end of
 * a Flight counts fully, since it raises an alert or ends one. Most entries of a Bird's log, such as Saved and Published,
 * raise none.
 */
import type { Event } from '../../domain/alert/event.ts';
import { mayRaise } from '../../domain/evaluate/choose-rule.ts';

/** What an entry counts that raises no alert. It still shows who changed a Bird. */
export const QUIET_ENTRY = 1 / 20;

/** The entries of one stream, counted by what they may raise. */
export function newsWorth(fresh: readonly Event[]): number {
  return fresh.reduce(
    (sum, event) => sum + (event.feed !== 'bird_log' || mayRaise(event) ? 1 : QUIET_ENTRY),
    0,
  );
}
