/**
 * Fills a world with Nests and Birds and keeps them active, both before and after now: Flights by a few busy Birds
 * and many quiet ones, failures, broken triggers, edits, lost connections. The same seed gives the same course of
 * events.
 */
import type { Random } from '../../time/clock.ts';
import { exponentialMs, pick } from '../world/seeded-random.ts';
import type { BirdRecord, NestRecord, TriggerType, UserRecord } from '../world/simulated-record.ts';
import { CONNECTIONS, FAILURES, LANGUAGES, NEST_NAMES, PEOPLE, TASKS } from '../world/vocabulary.ts';
import type { World } from '../world/world.ts';

export interface ScenarioOptions {
  readonly random: Random;
  readonly birds: number;
  /** By default one for every 15 Birds, and at least 3. */
  readonly nests?: number;
  /** For all Birds together; by default one Flight per Bird every 2 hours. */
  readonly flightsPerHour?: number;
  /** Exponent of the Zipf distribution of Flights over Birds; 0 spreads them evenly. */
  readonly skew?: number;
  /** The share of Flights that fail. */
  readonly failureShare?: number;
  readonly eventErrorsPerHour?: number;
  readonly editsPerHour?: number;
  readonly lostConnectionsPerDay?: number;
  /** How long before now the activity began. */
  readonly historyMs?: number;
  /** Nothing has happened, and nothing happens by itself. */
  readonly isQuiet?: boolean;
}

interface Scenario {
  readonly nests: readonly NestRecord[];
  /** The busiest first. */
  readonly birds: readonly BirdRecord[];
}

const HOUR_MS = 3_600_000;
const HOUR_S = 3600;

export function createScenario(world: World, options: ScenarioOptions): Scenario {
  const {
    random,
    flightsPerHour = options.birds / 2,
    skew = 1.1,
    failureShare = 0.04,
    eventErrorsPerHour = options.birds / 100,
    editsPerHour = options.birds / 100,
    lostConnectionsPerDay = 2,
    historyMs = 6 * HOUR_MS,
  } = options;
  const stage: Stage = { world, random, speed: 1 };
  const users = PEOPLE.map(([firstName, lastName], at) => newUser(world, firstName, lastName, at));
  const nests = newNests(world, random, options.nests ?? Math.max(3, Math.ceil(options.birds / 15)), users);
  const birds = Array.from({ length: options.birds }, () => newBird(world, random, pick(random, nests)));
  const eventBirds = birds.filter(({ triggerType }) => triggerType === 'event');
  const pickBusy = zipf(random, birds, skew);
  const startUs = world.nowUs() - Math.round(historyMs * 1000);
  if (options.isQuiet) return { nests, birds };

  /** Repeats an action at random intervals (a Poisson process) from the start of the scenario on, for ever. */
  function recurring(meanMs: number, action: () => void): void {
    if (!Number.isFinite(meanMs)) return;
    const next = (sinceUs: number) => {
      const atUs = sinceUs + Math.max(1, Math.round(exponentialMs(random, meanMs) * 1000));
      world.at(atUs, () => {
        action();
        next(atUs);
      });
    };
    next(startUs);
  }

  function flight(): void {
    const bird = pickBusy();
    const isReady = bird.deletedAtUs === undefined && bird.status === 'active';
    const seconds = flightSeconds(random);
    const chance = random();
    if (!isReady) return;
    if (chance < failureShare) flightFails(stage, bird, seconds);
    else if (chance < failureShare + 0.01) flightIsCancelled(stage, bird, seconds);
    else flightLands(stage, bird, seconds, random() < 0.05 ? 1 : 0);
  }

  function brokenTrigger(): void {
    const bird = pick(random, eventBirds);
    if (bird.deletedAtUs !== undefined || bird.status !== 'active') return;
    if (random() < 0.85) {
      triggerFails(stage, bird, 1 + Math.floor(random() * 2), 300);
      return;
    }
    triggerFails(stage, bird, 5, 300);
    afterSeconds(stage, bird, HOUR_S * (1 + random() * 7), () => isActivated(stage, bird));
  }

  // Everything starts in one action, so that the whole history runs in order of time, interleaved.
  world.at(startUs, () => {
    for (const bird of birds.slice(0, Math.ceil(birds.length / 200))) waitingFlight(world, random, bird);
    if (birds.length > 0) recurring(HOUR_MS / flightsPerHour, flight);
    if (eventBirds.length > 0) recurring(HOUR_MS / eventErrorsPerHour, brokenTrigger);
    if (birds.length > 0) {
      recurring(HOUR_MS / editsPerHour, () => {
        const bird = pick(random, birds);
        if (bird.deletedAtUs === undefined) birdIsEdited(stage, bird);
      });
    }
    recurring((24 * HOUR_MS) / lostConnectionsPerDay, () =>
      connectionIsLost(stage, pick(random, nests).id, 81),
    );
  });
  return { nests, birds };
}

export function newUser(world: World, firstName: string, lastName: string, at: number): UserRecord {
  const plain = `${firstName}.${lastName}`.normalize('NFD').replace(/[^A-Za-z.]/g, '');
  return world.addUser({
    firstName,
    lastName,
    email: `${plain.toLowerCase()}@example.com`,
    isActive: at % 8 !== 7,
  });
}

function newNests(world: World, random: Random, count: number, users: readonly UserRecord[]): NestRecord[] {
  return Array.from({ length: count }, (_, at) => {
    const round = Math.floor(at / NEST_NAMES.length);
    const name = `${NEST_NAMES[at % NEST_NAMES.length]}${round > 0 ? ` ${round + 1}` : ''}`;
    const members = users.filter(() => random() < 0.4).map(({ id }) => id);
    return world.addNest({ name, members });
  });
}

function newBird(world: World, random: Random, nest: NestRecord): BirdRecord {
  const kinds: readonly TriggerType[] = ['manual', 'event', 'event', 'scheduled', 'scheduled'];
  const chance = random();
  return world.addBird(nest.id, {
    name: `${pick(random, TASKS)} (${pick(random, LANGUAGES)})`,
    triggerType: pick(random, kinds),
    status: chance < 0.9 ? 'active' : chance < 0.96 ? 'suspended' : 'unpublished',
    flightDurationMs: 5_000 + Math.floor(random() * 60_000),
  });
}

/** Most Flights take seconds, some take minutes; a few wait for a person, for up to three days. */
function flightSeconds(random: Random): number {
  if (random() < 0.003) return HOUR_S * (1 + random() * 71);
  // Box-Muller: two draws give a normal deviate. Its exponential (log-normal) is the usual distribution of durations.
  const deviate = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return Math.min(HOUR_S, 20 * Math.exp(1.2 * deviate));
}

/** A Flight that has been waiting for a person since long before the scenario began. */
function waitingFlight(world: World, random: Random, bird: BirdRecord): void {
  const waitedMs = HOUR_MS * (1 + random() * 71);
  const { message, step } = pick(random, FAILURES);
  world.startFlight(bird.id, {
    startedAtUs: world.nowUs() - Math.round(waitedMs * 1000),
    fliesForMs: waitedMs + HOUR_MS * random() * 72,
    endsAs: random() < 0.5 ? 'failed' : 'succeeded',
    errorMessages: message,
    failedStep: step,
  });
}

function zipf(random: Random, birds: readonly BirdRecord[], skew: number): () => BirdRecord {
  let sum = 0;
  const sums = birds.map((_, at) => (sum += 1 / (at + 1) ** skew));
  return () => {
    const target = random() * sum;
    let low = 0;
    let high = sums.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sums[middle]! <= target) low = middle + 1;
      else high = middle;
    }
    return birds[low]!;
  };
}

// Small events in the life of Birds and connections, from which scenarios and the demo's story are built.

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
