import { sourceNames } from '../domain/muting/inhibit.ts';
import { createMuting, type Muting, type MutingOptions } from '../domain/muting/muting.ts';
import type { Recurrences } from '../domain/muting/silence.ts';
import type { Transaction } from './store.ts';

export type MutingConfig = Pick<MutingOptions, 'inhibitRules' | 'timeIntervals'>;

/** What is muted at this instant, by the silences and the firing alerts that the store holds. */
export async function loadMuting(
  tx: Transaction,
  { inhibitRules, timeIntervals }: MutingConfig,
  recurrences: Recurrences,
  nowUs: number,
): Promise<Muting> {
  const silences = await tx.silences.list(nowUs);
  const firing = await tx.alerts.firingLabels(sourceNames(inhibitRules));
  return createMuting({ silences, inhibitRules, firing, timeIntervals, recurrences, nowUs });
}
