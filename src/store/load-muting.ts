import {
  createMuting,
  type IsTold,
  type Muting,
  type MutingOptions,
  sourceNames,
  workOfRule,
} from '../domain/muting/muting.ts';
import type { Recurrences } from '../domain/muting/silence.ts';
import { type Route, routesFor } from '../domain/routing/route.ts';
import { pausing } from '../time/clock.ts';
import type { Transaction } from './store.ts';

export type MutingConfig = Pick<MutingOptions, 'inhibitRules' | 'timeIntervals'> & {
  readonly route: Route;
  readonly receivers?: readonly {
    readonly name: string;
    readonly integrations: readonly { readonly kind: string; readonly toNestMembers?: boolean }[];
  }[];
};

/** The least work per alert. */
const LEAST_WORK = 10;

/** Labels per read. */
const STEP = 1_000;

/** Members of a Nest are told only of what has its label. */
export function toldBy({ route, receivers = [] }: Pick<MutingConfig, 'route' | 'receivers'>): IsTold {
  const mailsNests = receivers.filter(({ integrations }) => integrations.some((one) => one.toNestMembers));
  const apart = new Set(mailsNests.map(({ name }) => name));
  return (labels, receiver) =>
    !apart.has(receiver) && routesFor(route, labels).some((one) => one.receiver === receiver);
}

/** Loads what is muted at this instant, from the stored silences and firing alerts. */
export async function loadMuting(
  tx: Transaction,
  { inhibitRules, timeIntervals, route, receivers = [] }: MutingConfig,
  recurrences: Recurrences,
  nowUs: number,
): Promise<Muting> {
  const silences = await tx.silences.list(nowUs);
  const pauseAfter = pausing(tx);
  const isTold = toldBy({ route, receivers });
  const options = { silences, inhibitRules, firing: [], timeIntervals, recurrences, isTold, nowUs };
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
