import type { RegionConfig } from '../config/sections/regions-section.ts';
import { isOfNoRegion } from '../domain/alert/fact.ts';
import type { Rule } from '../domain/alert/rule.ts';
import { endAtOnce } from '../domain/evaluate/resolve-by-hand.ts';
import type { Happening } from '../report.ts';
import { writeDecision } from '../store/alerts/change-alerts.ts';
import { type OwnershipView, regionOf } from '../store/ownership-store.ts';
import type { Transaction } from '../store/store.ts';
import type { Step } from './step.ts';

/** Scopes handled between two pauses. */
const AT_ONCE = 100;

/**
 * A region that has had no owner for this long is configured in no replica: otherwise one would take it within seconds.
 */
const WANTED_US = 120e6;

/**
 * Resolves the alerts of regions that are no longer configured, since nobody reads these regions any more. Replicas
 * load a new configuration one after the other, so a region that one of them reads, still or already, is left alone.
 */
export async function endRemovedRegions(
  tx: Transaction,
  regions: readonly Pick<RegionConfig, 'name'>[],
  rules: readonly Rule[],
  nowUs: number,
): Promise<Step> {
  const watched = new Set([...regions.map(({ name }) => name), ...regionsRead(await tx.ownership.view())]);
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
    const written = await writeDecision(tx, known, { alerts: ended, links: [] }, rules, nowUs);
    happenings.push(...written.happenings);
    await tx.pause();
  }
  return { done: 0, queued: 0, happenings };
}

/** The regions that replicas read now, or did a moment ago. */
function regionsRead({ nowUs, replicas, duties }: OwnershipView): string[] {
  const living = new Set(replicas.filter(({ expiresUs }) => expiresUs > nowUs).map(({ replica }) => replica));
  return duties.flatMap(({ duty, owner, sinceUs }) => {
    const isRead = owner === 0 ? nowUs - sinceUs < WANTED_US : living.has(owner);
    return (isRead && regionOf(duty)) || [];
  });
}
