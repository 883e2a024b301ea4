/** What new events hint at: streams that are polled earlier, and Birds whose status is read again. */
import type { Event } from '../domain/alert/event.ts';
import { codeOf } from '../errors.ts';
import type { Report } from '../report.ts';
import type { Clock } from '../time/clock.ts';
import type { Inventory } from './inventory/inventory.ts';
import type { Schedule } from './schedule/schedule.ts';
import { flightsName, INVENTORY, logName } from './stream-name.ts';

interface HintsOptions {
  readonly region: string;
  readonly schedule: Pick<Schedule, 'hint' | 'isAimKept'>;
  readonly inventory: Pick<Inventory, 'pollBird'>;
  readonly clock: Clock;
  readonly report: Report;
}

export interface Hints {
  /** Polls the streams of the Birds of these new events earlier, and reads Birds again whose status may be another. */
  follow(fresh: readonly Event[]): Promise<void>;
  /** A reading of the inventory begins, so the next hint may ask for another one. */
  inventoryBegins(): void;
}

/** Birds that are read again at once after a poll; for more, reading the whole inventory takes fewer requests. */
const MOST_SUSPECTS = 20;

/** Bird logs after which the Bird's status may be another. */
const STATUS_LOGS = new Set([
  'bird_log.Deactivated',
  'bird_log.Activated',
  'bird_log.Suspended',
  'bird_log.Published',
]);

export function createHints({ region, schedule, inventory, clock, report }: HintsOptions): Hints {
  /** A reading of the inventory was asked for, and has not begun. */
  let isInventoryAwaited = false;

  return {
    async follow(fresh) {
      const nowMs = clock.monotonicMs();
      const suspects = new Set<string>();
      // One failure often follows another, but where requests are scarce there is more to be found elsewhere.
      const followsFailures = schedule.isAimKept();
      for (const event of fresh) {
        if (!event.birdId) continue;
        if (event.feed === 'notification' || (followsFailures && event.type === 'flight.failed')) {
          schedule.hint(logName(event.birdId), nowMs);
          schedule.hint(flightsName(event.birdId), nowMs);
        }
        if (event.feed === 'notification' || STATUS_LOGS.has(event.type)) suspects.add(event.birdId);
      }
      if (isInventoryAwaited) return;
      if (suspects.size > MOST_SUSPECTS) {
        isInventoryAwaited = true;
        schedule.hint(INVENTORY, nowMs);
        return;
      }
      for (const birdId of suspects) {
        try {
          await inventory.pollBird(birdId);
        } catch (error) {
          // The regular inventory comes anyway; only a bug is reported.
          if (codeOf(error) === 'bug') report({ what: 'trouble', stage: 'intake', region, error });
        }
      }
    },
    inventoryBegins() {
      isInventoryAwaited = false;
    },
  };
}
