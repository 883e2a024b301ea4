/** Follows hints in new events: polls related streams earlier, and reads Birds again whose status may have changed. */
import type { Event } from '../domain/alert/event.ts';
import { codeOf } from '../errors.ts';
import type { Inventory } from './inventory/inventory.ts';
import type { IntakeParts } from './parts.ts';
import type { Schedule } from './schedule/schedule.ts';
import { flightsName, INVENTORY, logName } from './stream-name.ts';

interface HintsOptions extends Pick<IntakeParts, 'region' | 'clock' | 'report'> {
  readonly schedule: Pick<Schedule, 'hint' | 'isAimKept'>;
  readonly inventory: Pick<Inventory, 'pollBird'>;
  /** On the service's clock. What occurred before it is history: the inventory was read after it. */
  readonly watchedSinceUs: (birdId: string) => number;
}

export interface Hints {
  /** Polls the streams of these events' Birds earlier, and reads the Birds again whose status may have changed. */
  follow(fresh: readonly Event[]): Promise<void>;
  /** To be called when a reading of the inventory begins. After that a hint may ask for another one. */
  inventoryBegins(): void;
}

/** The most Birds read one by one after a poll. Beyond that, reading the whole inventory takes fewer requests. */
const MOST_SUSPECTS = 20;

/** Bird log entries after which the Bird's status may have changed. */
const STATUS_LOGS = new Set([
  'bird_log.Deactivated',
  'bird_log.Activated',
  'bird_log.Suspended',
  'bird_log.Published',
]);

export function createHints({
  region,
  schedule,
  inventory,
  watchedSinceUs,
  clock,
  report,
}: HintsOptions): Hints {
  /** A reading of the inventory was requested and has not begun. */
  let isInventoryAwaited = false;

  return {
    async follow(fresh) {
      const nowMs = clock.monotonicMs();
      const suspects = new Set<string>();
      // One failure often follows another. But if requests are scarce, they are better spent elsewhere.
      const followsFailures = schedule.isAimKept();
      for (const event of fresh) {
        if (!event.birdId || event.occurredAtUs < watchedSinceUs(event.birdId)) continue;
        const isFailure = event.type === 'flight.failed';
        // Its Bird's log tells who changed the Bird before the failure.
        if (event.feed === 'notification' || isFailure) schedule.hint(logName(event.birdId), nowMs);
        if (event.feed === 'notification' || (isFailure && followsFailures)) {
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
          // The regular inventory reading repairs this, so only a bug is reported.
          if (codeOf(error) === 'bug') report({ what: 'trouble', stage: 'intake', region, error });
        }
      }
    },
    inventoryBegins() {
      isInventoryAwaited = false;
    },
  };
}
