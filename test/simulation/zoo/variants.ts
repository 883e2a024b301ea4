/**
 * Known-bad daemons, with mistakes that pollers and senders are known to make. Each replaces one part of what the
 * daemon is given. The simulation must find every one; a variant that is not found shows what the simulation cannot
 * see.
 */
import { DELIVERY } from './bad-delivery.ts';
import { EVENTS } from './bad-events.ts';
import { MANNERS } from './bad-manners.ts';
import { REPLICAS } from './bad-replicas.ts';
import { CURSORS, PAGING } from './bad-sweeps.ts';
import type { Variant } from './variant.ts';

export const VARIANTS: readonly Variant[] = [
  ...PAGING,
  ...CURSORS,
  ...EVENTS,
  ...MANNERS,
  ...DELIVERY,
  ...REPLICAS,
];
