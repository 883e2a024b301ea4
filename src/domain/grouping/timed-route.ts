import type { Labels } from '../alert/alert.ts';
import type { Muting } from '../muting/muting.ts';
import { type Route, routesFor } from '../routing/route.ts';
import type { Group } from './group.ts';
import { SORTS } from './sorts/sorts.ts';

/**
 * The route whose time intervals apply to an alert of a group. A gathering group has none of its own: its alerts came
 * by the routes that lead to its receiver, and wait while all of those are muted.
 */
export function timedRoute(
  group: Group,
  route: Route,
  labels: Labels,
  root: Route,
  muting: Pick<Muting, 'ofRoute'>,
): Route {
  if (!SORTS[group.sort].gathers) return route;
  const own = routesFor(root, labels).filter(({ receiver }) => receiver === group.receiver);
  return own.find((one) => muting.ofRoute(one).length === 0) ?? own[0] ?? route;
}
