/**
 * Lets one replica at a time send what is repeated: firing alerts to another Alertmanager, and the heartbeat. If that
 * is no longer accepted from it, another replica takes the duty over, unless it was itself not accepted a while ago.
 */
import type { Report } from '../report.ts';
import type { Store } from '../store/store.ts';
import type { Clock, Random } from '../time/clock.ts';
import type { Ownership } from './ownership.ts';
import { type OwnerTrouble, watchOwner } from './takeover.ts';

const REPEATING = 'repeating';
/** What the owner reports while its repeats are not accepted. */
const IN_VAIN = 'in vain';
/** For this long, a replica whose repeats were not accepted leaves the duty to others. */
const LEFT_MS = 3_600_000;

interface RepeatingOptions {
  readonly ownership: Ownership;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
  /** Whether the repeats of this replica are not accepted any more. */
  readonly isInVain: () => boolean;
}

/** Does the work whenever this replica owns the duty, until `signal` aborts. */
export async function whileRepeating(
  { ownership, clock, random, report, isInVain }: RepeatingOptions,
  run: (signal: AbortSignal, store: Store) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  let inVainMs = Number.NEGATIVE_INFINITY;

  function show() {
    const isNotHeard = isInVain();
    if (isNotHeard) inVainMs = clock.monotonicMs();
    return { weight: 1, shown: isNotHeard ? IN_VAIN : '' };
  }

  /** The trouble of the owner: another replica, whose repeats are not accepted. Undefined if there is none. */
  function trouble() {
    const { nowUs = 0, duties = [] } = ownership.view() ?? {};
    const owned = duties.find(({ duty }) => duty === REPEATING);
    const { shown, shownUs = 0 } = ownership.shown(REPEATING) ?? {};
    if (shown !== IN_VAIN || !owned || owned.owner === 0 || ownership.owns(REPEATING)) return undefined;
    return { sinceUs: owned.sinceUs, shownUs, nowUs, epoch: owned.epoch };
  }

  async function takeOver({ epoch }: OwnerTrouble): Promise<void> {
    await ownership.takeOver({ duty: REPEATING, epoch });
  }

  const reaches = async () => clock.monotonicMs() - inVainMs >= LEFT_MS;
  const failed = (error: unknown) => report({ what: 'trouble', stage: 'store', error });
  const watching = watchOwner(
    { clock, random, trouble, reaches, answered: () => {}, takeOver },
    signal,
    failed,
  );
  await ownership.whileOwned({ duty: REPEATING, isFixed: true, run, show }, signal);
  await watching;
}
