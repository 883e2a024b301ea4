/** What follows from news: streams that are brought forward, and Birds whose status is read again. */
import type { Event } from '../domain/alert/event.ts';
import { codeOf } from '../errors.ts';
import type { Report } from '../report.ts';
import type { Clock } from '../time/clock.ts';
import type { Inventory } from './inventory/inventory.ts';
import type { Schedule } from './schedule/schedule.ts';

export interface NewsOptions {
  readonly region: string;
  readonly schedule: Pick<Schedule, 'hint'>;
  readonly inventory: Pick<Inventory, 'pollBird'>;
  readonly clock: Clock;
  readonly report: Report;
}

export interface News {
  /** News about a Bird brings its streams forward; news about its status has it read again. */
  follow(fresh: readonly Event[]): Promise<void>;
  /** A reading of the inventory begins. */
  inventoryBegins(): void;
}

/** Birds that are read again at once after a poll; news of more has the whole inventory read, with fewer requests. */
const MOST_SUSPECTS = 20;

/** Bird logs after which the Bird's status may be another. */
const STATUS_LOGS = new Set([
  'bird_log.Deactivated',
  'bird_log.Activated',
  'bird_log.Suspended',
  'bird_log.Published',
]);

export function createNews({ region, schedule, inventory, clock, report }: NewsOptions): News {
  /** The inventory was brought forward, and its reading has not begun. */
  let isInventoryAwaited = false;

  return {
    async follow(fresh) {
      const nowMs = clock.monotonicMs();
      const suspects = new Set<string>();
      for (const event of fresh) {
        if (!event.birdId) continue;
        if (event.feed === 'notification' || event.type === 'flight.failed') {
          schedule.hint(`logs/${event.birdId}`, nowMs);
          schedule.hint(`flights/${event.birdId}`, nowMs);
        }
        if (event.feed === 'notification' || STATUS_LOGS.has(event.type)) suspects.add(event.birdId);
      }
      if (isInventoryAwaited) return;
      if (suspects.size > MOST_SUSPECTS) {
        isInventoryAwaited = true;
        schedule.hint('inventory', nowMs);
        return;
      }
      for (const birdId of suspects) {
        try {
          await inventory.pollBird(birdId);
        } catch (error) {
          // The regular inventory comes anyway; only a bug is worth a word.
          if (codeOf(error) === 'bug') report({ what: 'trouble', stage: 'intake', region, error });
        }
      }
    },
    inventoryBegins() {
      isInventoryAwaited = false;
    },
  };
}
