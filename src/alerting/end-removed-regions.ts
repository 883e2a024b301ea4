import type { RegionConfig } from '../config/sections/regions-section.ts';
import { isOfNoRegion } from '../domain/alert/fact.ts';
import type { Rule } from '../domain/alert/rule.ts';
import { endAtOnce } from '../domain/evaluate/end-at-once.ts';
import type { Happening } from '../report.ts';
import { writeDecision } from '../store/change-alerts.ts';
import type { Transaction } from '../store/store.ts';
import type { Step } from './step.ts';

/** Scopes whose alerts are ended in a row. */
const AT_ONCE = 100;

/** Ends the alerts of regions that the configuration no longer has: nobody reads on how it is with them. */
export async function endRemovedRegions(
  tx: Transaction,
  regions: readonly Pick<RegionConfig, 'name'>[],
  rules: readonly Rule[],
  nowUs: number,
): Promise<Step> {
  const watched = new Set(regions.map(({ name }) => name));
  const scopes: string[] = [];
  for (const region of await tx.alerts.regions()) {
    if (watched.has(region)) continue;
    const own = await tx.alerts.scopes(region);
    scopes.push(...own.filter((scope) => !isOfNoRegion(scope)));
  }
  const by = 'its region is no longer watched';
  const happenings: Happening[] = [];
  for (let from = 0; from < scopes.length; from += AT_ONCE) {
    const known = await tx.alerts.ofScopes(scopes.slice(from, from + AT_ONCE));
    const ended = known.flatMap((alert) => endAtOnce(alert, by, 'gone', rules, nowUs) ?? []);
    const written = await writeDecision(tx, known, { alerts: ended, links: [] }, nowUs);
    happenings.push(...written.happenings);
    await tx.pause();
  }
  return { done: 0, queued: 0, happenings };
}
