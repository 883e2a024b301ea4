/**
 * Fills a world with Nests and Birds and keeps them active, both before and after now: Flights by a few busy Birds
 * and many quiet ones, failures, broken triggers, edits, lost connections. The same seed gives the same course of
 * events.
 */
import type { Random } from '../../time/clock.ts';
import { exponentialMs, pick } from '../world/seeded-random.ts';
import type { BirdRecord, NestRecord, TriggerType, UserRecord } from '../world/simulated-record.ts';
import { FAILURES, LANGUAGES, NEST_NAMES, PEOPLE, TASKS } from '../world/vocabulary.ts';
import type { World } from '../world/world.ts';
import {
  afterSeconds,
  birdIsEdited,
  connectionIsLost,
  flightFails,
  flightIsCancelled,
  flightLands,
  isActivated,
  type Stage,
  triggerFails,
} from './story-steps.ts';

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
