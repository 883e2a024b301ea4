import type { GroupSort } from '../group.ts';
import { CATCH_UP } from './catch-up-sort.ts';
import { ESCALATION } from './escalation-sort.ts';
import { FALLBACK } from './fallback-sort.ts';
import { HELD_BACK } from './held-back-sort.ts';
import { ROUTE } from './route-sort.ts';
import type { Sort } from './sort.ts';

/** How groups are flushed, by sort. */
export const SORTS: Readonly<Record<GroupSort, Sort>> = {
  route: ROUTE,
  escalation: ESCALATION,
  fallback: FALLBACK,
  held_back: HELD_BACK,
  catch_up: CATCH_UP,
};
