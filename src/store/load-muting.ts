import { sourceNames, workOfRule } from '../domain/muting/inhibit.ts';
import { createMuting, type Muting, type MutingOptions } from '../domain/muting/muting.ts';
import type { Recurrences } from '../domain/muting/silence.ts';
import { pausing } from '../time/pause-after.ts';
import type { Transaction } from './store.ts';

export type MutingConfig = Pick<MutingOptions, 'inhibitRules' | 'timeIntervals'>;

/** The least work per alert. */
const LEAST_WORK = 10;

/** Labels per read. */
const STEP = 1_000;

/** Loads what is muted at this instant, from the stored silences and firing alerts. */
export async function loadMuting(
  tx: Transaction,
  { inhibitRules, timeIntervals }: MutingConfig,
  recurrences: Recurrences,
  nowUs: number,
): Promise<Muting> {
  const silences = await tx.silences.list(nowUs);
  const pauseAfter = pausing(tx);
  const options = { silences, inhibitRules, firing: [], timeIntervals, recurrences, nowUs };
  const muting = await createMuting(options, pauseAfter);
  const names = sourceNames(inhibitRules);
  const work = inhibitRules.reduce((sum, rule) => sum + workOfRule(rule), LEAST_WORK);
  for (let after: number | undefined = 0; after !== undefined; ) {
    const { labels, next } = await tx.alerts.firingLabels(names, after, STEP);
    for (const one of labels) {
      muting.fires(one);
      await pauseAfter(work);
    }
    after = next;
  }
  return muting;
}
