/** A group of a route: flushed every `group_interval` as long as it contains an alert (`flush.ts`). */
import { routeOfGroup } from '../../routing/route.ts';
import { flush } from '../flush.ts';
import { type Sort, selectAll } from './sort.ts';

export const ROUTE: Sort = {
  isTimed: false,
  gathers: false,
  isSpentOnceNotified: false,
  sumsUp: false,
  routeOf: (group, root) => routeOfGroup(root, group),
  select: selectAll,
  flush,
};
