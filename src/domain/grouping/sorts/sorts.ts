import { routeOfGroup } from '../../routing/route.ts';
import { flush } from '../flush.ts';
import type { GroupSort } from '../group.ts';
import { CATCH_UP } from './catch-up-sort.ts';
import { ESCALATION } from './escalation-sort.ts';
import { FALLBACK } from './fallback-sort.ts';
import { HELD_BACK } from './held-back-sort.ts';
import { type Sort, selectAll } from './sort.ts';

const ROUTE: Sort = {
  isTimed: false,
  gathers: false,
  isSpentOnceNotified: false,
  sumsUp: false,
  routeOf: (group, root) => routeOfGroup(root, group),
  select: selectAll,
  flush,
};

/** How groups are flushed, by sort. */
export const SORTS: Readonly<Record<GroupSort, Sort>> = {
  route: ROUTE,
  escalation: ESCALATION,
  fallback: FALLBACK,
  held_back: HELD_BACK,
  catch_up: CATCH_UP,
};
