/** Small things that happen to Birds and connections, of which scenarios and the demo's story are made. */
import type { Random } from '../../time/clock.ts';
import { pick } from '../world/seeded-random.ts';
import type { BirdRecord } from '../world/simulated-record.ts';
import { CONNECTIONS, FAILURES } from '../world/vocabulary.ts';
import type { World } from '../world/world.ts';

export interface Stage {
  readonly world: World;
  readonly random: Random;
  /** How many times faster than life. */
  readonly speed: number;
}

/** Seconds of the story as milliseconds of the world. */
export function lengthMs(stage: Stage, seconds: number): number {
  return (seconds * 1000) / stage.speed;
}

/** Does something to a Bird in so many seconds; nothing happens to one that was deleted meanwhile. */
export function soon(stage: Stage, bird: BirdRecord, seconds: number, action: () => void): void {
  // Odd microseconds, as in life: on a machine's clock instants would all end in zeros.
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

/** The trigger fails so many times; five in a row deactivate the Bird. */
export function triggerFails(stage: Stage, bird: BirdRecord, times: number, gapSeconds: number): void {
  for (let time = 0; time < times; time += 1) {
    soon(stage, bird, time * gapSeconds, () => {
      if (bird.status === 'active') stage.world.eventError(bird.id);
    });
  }
}

/** Somebody switches a suspended Bird on again, and its trigger works. */
export function isActivated(stage: Stage, bird: BirdRecord): void {
  if (bird.status !== 'suspended') return;
  stage.world.activate(bird.id);
  soon(stage, bird, 2, () => flightLands(stage, bird, 5));
}

/** A connection is lost: first the service tries again, then it gives up. */
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

/** Somebody works on a Bird: saves, and keeps the change or throws it away. */
export function birdIsEdited(stage: Stage, bird: BirdRecord): void {
  const { world, random } = stage;
  world.save(bird.id);
  const isKept = random() < 0.8;
  soon(stage, bird, 3 + random() * 20, () => {
    if (isKept) world.publish(bird.id);
    else world.discard(bird.id);
  });
}
