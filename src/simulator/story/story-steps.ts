/** Small events in the life of Birds and connections, from which scenarios and the demo's story are built. */
import type { Random } from '../../time/clock.ts';
import { pick } from '../world/seeded-random.ts';
import type { BirdRecord } from '../world/simulated-record.ts';
import { CONNECTIONS, FAILURES } from '../world/vocabulary.ts';
import type { World } from '../world/world.ts';

export interface Stage {
  readonly world: World;
  readonly random: Random;
  /** How many times faster than real time. */
  readonly speed: number;
}

/** Converts seconds of the story to milliseconds of the world. */
export function lengthMs(stage: Stage, seconds: number): number {
  return (seconds * 1000) / stage.speed;
}

/** Does something to a Bird after that many seconds, unless the Bird was deleted meanwhile. */
export function afterSeconds(stage: Stage, bird: BirdRecord, seconds: number, action: () => void): void {
  // Adds odd microseconds, as in reality: a machine's clock would make all instants end in zeros.
  const microseconds = Math.floor(stage.random() * 1000);
  stage.world.at(stage.world.nowUs() + Math.round(lengthMs(stage, seconds) * 1000) + microseconds, () => {
    if (bird.deletedAtUs === undefined) action();
  });
}

export function flightLands(stage: Stage, bird: BirdRecord, seconds: number, skippedErrors = 0): void {
  stage.world.startFlight(bird.id, {
    fliesForMs: lengthMs(stage, seconds),
    endsAs: 'succeeded',
    skippedErrors,
  });
}

export function flightIsCancelled(stage: Stage, bird: BirdRecord, seconds: number): void {
  stage.world.startFlight(bird.id, { fliesForMs: lengthMs(stage, seconds), endsAs: 'cancelled' });
}

export function flightFails(stage: Stage, bird: BirdRecord, seconds: number): void {
  const { message, step } = pick(stage.random, FAILURES);
  stage.world.startFlight(bird.id, {
    fliesForMs: lengthMs(stage, seconds),
    endsAs: 'failed',
    errorMessages: message,
    failedStep: step,
    retriedErrors: Math.floor(stage.random() * 3),
  });
}

/** The trigger fails that many times; five failures in a row deactivate the Bird. */
export function triggerFails(stage: Stage, bird: BirdRecord, times: number, gapSeconds: number): void {
  for (let time = 0; time < times; time += 1) {
    afterSeconds(stage, bird, time * gapSeconds, () => {
      if (bird.status === 'active') stage.world.eventError(bird.id);
    });
  }
}

/** Somebody reactivates a suspended Bird, and its trigger works again. */
export function isActivated(stage: Stage, bird: BirdRecord): void {
  if (bird.status !== 'suspended') return;
  stage.world.activate(bird.id);
  afterSeconds(stage, bird, 2, () => flightLands(stage, bird, 5));
}

/** A connection is lost: the service retries first, then gives up. */
export function connectionIsLost(stage: Stage, nestId: string, gapSeconds: number): void {
  const { world, random } = stage;
  const lost = {
    nestId,
    entityId: String(100 + Math.floor(random() * 900)),
    entityName: pick(random, CONNECTIONS),
    wording: random() < 0.5 ? 'old' : 'new',
  } as const;
  world.disconnectConnection({ ...lost, exhausted: false });
  world.at(world.nowUs() + Math.round(lengthMs(stage, gapSeconds) * 1000), () => {
    world.disconnectConnection({ ...lost, exhausted: true });
  });
}

/** Somebody edits a Bird, saves, and keeps the change or discards it. */
export function birdIsEdited(stage: Stage, bird: BirdRecord): void {
  const { world, random } = stage;
  world.save(bird.id);
  const isKept = random() < 0.8;
  afterSeconds(stage, bird, 3 + random() * 20, () => {
    if (isKept) world.publish(bird.id);
    else world.discard(bird.id);
  });
}
