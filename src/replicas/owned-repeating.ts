/**
 * What is said again and again, to another Alertmanager or to a watchdog, is said by one replica. Where that is not heard
 * any more, another one takes it over, unless it was not heard itself a while ago.
 */
import type { Report } from '../report.ts';
import type { Store } from '../store/store.ts';
import type { Clock, Random } from '../time/clock.ts';
import type { Ownership } from './ownership.ts';
import { type ReaderStanding, relieve } from './relief.ts';

const REPEATING = 'repeating';
/** What its owner shows while it is not heard. */
const IN_VAIN = 'in vain';
/** So long a replica that was not heard leaves it to others. */
const LEFT_MS = 3_600_000;

interface RepeatingOptions {
  readonly ownership: Ownership;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
  /** Whether what this replica says is not accepted any more. */
  readonly isInVain: () => boolean;
}

/** Does the work whenever the duty is this replica's, until `signal` aborts. */
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

  /** How its owner, another replica, is not heard. */
  function standing() {
    const { nowUs = 0, duties = [] } = ownership.view() ?? {};
    const owned = duties.find(({ duty }) => duty === REPEATING);
    const { shown, shownUs = 0 } = ownership.shown(REPEATING) ?? {};
    if (shown !== IN_VAIN || !owned || owned.owner === 0 || ownership.owns(REPEATING)) return undefined;
    return { sinceUs: owned.sinceUs, shownUs, nowUs, epoch: owned.epoch };
  }

  async function takeOver({ epoch }: ReaderStanding): Promise<void> {
    await ownership.takeOver({ duty: REPEATING, epoch });
  }

  const reaches = async () => clock.monotonicMs() - inVainMs >= LEFT_MS;
  const failed = (error: unknown) => report({ what: 'trouble', stage: 'store', error });
  const relieving = relieve(
    { clock, random, standing, reaches, answered: () => {}, takeOver },
    signal,
    failed,
  );
  await ownership.whileOwned({ duty: REPEATING, isFixed: true, run, show }, signal);
  await relieving;
}
