/** Whether an error is new in a region. Nothing is claimed while a region is learned, or about failures without a message. */
import { howMany } from '../../text/duration-words.ts';
import { ago } from '../../text/instant-words.ts';
import { regionName } from '../../text/short-names.ts';
import type { Novelty } from '../alert/fact.ts';

const DAY_US = 86_400_000_000;

/** Before errors of a region were noted for so long, none is called new. */
const LEARNED_US = 7 * DAY_US;

/** How long an error is remembered. */
export const ERRORS_KEPT_US = 400 * DAY_US;

/** The most errors remembered over all regions; those seen last longest ago are forgotten first. */
export const MOST_ERRORS = 20_000;

/** An error of a region, as it was known before a failure. */
export interface SeenError {
  readonly lastUs: number;
  /** The last Flight that failed with it. */
  readonly flightId: string;
  /** The name of that Flight's Bird, or its id. */
  readonly bird: string;
}

/** What is remembered of a region's errors. */
export interface Remembered {
  /** Since when they are noted. */
  readonly sinceUs: number;
  /** Errors last seen before were forgotten for lack of room; undefined if that never happened. */
  readonly forgottenBeforeUs: number | undefined;
}

/** `backAfterMs`: not seen for longer, an error is `back`. Undefined if nothing can be said. */
export function noveltyOf(
  { region, atUs }: { readonly region: string; readonly atUs: number },
  seen: SeenError | undefined,
  { sinceUs, forgottenBeforeUs }: Remembered,
  backAfterMs: number,
): Novelty | undefined {
  if (atUs - sinceUs < LEARNED_US) return undefined;
  if (seen) {
    if (atUs - seen.lastUs <= backAfterMs * 1000) return { label: 'known', words: '' };
    const words = `back: last seen ${ago(seen.lastUs, atUs)}, in Flight ${seen.flightId} of ${seen.bird}`;
    return { label: 'back', words };
  }
  const knownUs = Math.min(atUs - sinceUs, ERRORS_KEPT_US);
  if (forgottenBeforeUs !== undefined && atUs - forgottenBeforeUs < knownUs) {
    return { label: 'new', words: `not seen for ${daysOf(atUs - forgottenBeforeUs)}` };
  }
  const words = `new: no Bird of ${regionName(region)} had this error in the ${daysOf(knownUs)} that nestwatch has watched`;
  return { label: 'new', words };
}

function daysOf(us: number): string {
  return howMany(Math.max(0, Math.floor(us / DAY_US)), 'day');
}
