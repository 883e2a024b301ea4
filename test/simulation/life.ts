/**
 * Makes things happen in a region: Flights, failures, edits, lost connections, and the trouble that a reader must
 * bear. Everything is on the world's own agenda, so what the daemon does cannot change what happens.
 */

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
} from '../../src/simulator/story/scenario.ts';
import { exponentialMs, forked, pick } from '../../src/simulator/world/seeded-random.ts';
import {
  type BirdRecord,
  type EntryRecord,
  endOf,
  type FlightRecord,
} from '../../src/simulator/world/simulated-record.ts';
import { NEST_NAMES, TASKS } from '../../src/simulator/world/vocabulary.ts';
import type { World } from '../../src/simulator/world/world.ts';
import type { Random } from '../../src/time/clock.ts';
import type { RegionPlan } from './plan.ts';

export interface LifeOptions {
  readonly random: Random;
  /** How long ago it began. */
  readonly historyMs: number;
  /** After this, nothing new happens by itself. */
  readonly forMs: number;
}

const HOUR_MS = 3_600_000;
const MINUTE_S = 60;

/** Keeps a world small. */
const MOST_BIRDS = 8;

/** The time that five failures of a trigger take. */
const BROKEN_FOR_US = 25 * 60e6;

const USERS = 4;
/** Beside those that Birds are in from the beginning. */
const MOST_NESTS = 5;

const CLEARED_SHARE = 0.3;

/** A repeated entry comes within the time that sweeps read again. */
const DUPLICATE_WITHIN_US = 8 * 60e6;

export function beginLife(world: World, plan: RegionPlan, options: LifeOptions): void {
  const { random, forMs, historyMs } = options;
  const stage: Stage = { world, random, speed: 1 };
  const endUs = world.nowUs() + Math.round(forMs * 1000);
  for (let nest = 0; nest < plan.nests; nest += 1) world.addNest({ name: `${NEST_NAMES[nest]}` });
  for (let bird = 0; bird < plan.birds; bird += 1) newBird(world, random);
  for (let user = 0; user < USERS; user += 1) world.addUser();

  /** Independent events at a rate. Each has its own random source, so that one does not change when others do. */
  function often(perHour: number, action: (random: Random) => void, untilUs = endUs): void {
    const own = forked(random);
    if (perHour <= 0) return;
    const next = (sinceUs: number) => {
      const atUs = sinceUs + Math.max(1, Math.round(exponentialMs(own, HOUR_MS / perHour) * 1000));
      if (atUs >= untilUs) return;
      world.at(atUs, () => {
        action(own);
        next(atUs);
      });
    };
    next(world.nowUs());
  }

  const { life } = plan;
  world.at(world.nowUs() - Math.round(historyMs * 1000), () => {
    often(life.flights, (own) => flight({ ...stage, random: own }, life.failureShare));
    often(life.longFlights, (own) => longFlight(world, own, endUs));
    often(life.reopenings, (own) => reopening(world, own));
    often(life.edits, (own) => withBird(world, own, (bird) => birdIsEdited({ ...stage, random: own }, bird)));
    often(life.brokenTriggers, (own) => brokenTrigger({ ...stage, random: own }), endUs - BROKEN_FOR_US);
    often(life.lostConnections, (own) =>
      connectionIsLost({ ...stage, random: own }, pick(own, [...world.nests.keys()]), 81),
    );
    often(life.ties, (own) => tie(world, own, life.tieSize));
    often(life.deletions, (own) => {
      const entry = someEntry(world, own, 3_600e6);
      if (entry) world.deleteEntry(entry.id);
    });
    often(life.duplicates, (own) => duplicate(world, own));
    often(life.malformed, (own) => malformed(world, own));
    often(life.future, (own) => future(world, own));
    often(life.inventory, (own) => inventoryChange(world, own));
    often(life.people, (own) => peopleChange(world, own));
    often(life.returns, (own) => birdReturns(world, own));
  });
}

/** Ends what is still active, and lets every Bird have one more successful Flight. Afterwards nothing is wrong. */
export function endLife(world: World, random: Random): void {
  for (const bird of present(world)) {
    for (const flight of [...bird.activeFlights]) {
      // Each action lets the world catch up, so the Flight or its Bird may end by itself.
      world.settle();
      if (!endOf(flight)) world.endFlight(flight.id, random() < 0.5 ? 'failed' : 'succeeded');
    }
    if (bird.deletedAtUs !== undefined) continue;
    if (bird.status === 'unpublished') world.publish(bird.id);
    if (bird.status === 'suspended') world.activate(bird.id);
  }
}

export function landEverywhere(world: World): void {
  for (const bird of present(world)) world.startFlight(bird.id, { fliesForMs: 5_000, endsAs: 'succeeded' });
}

function present(world: World): BirdRecord[] {
  world.settle();
  return [...world.birds.values()].filter((bird) => bird.deletedAtUs === undefined);
}

function withBird(world: World, random: Random, action: (bird: BirdRecord) => void): void {
  const birds = present(world);
  if (birds.length > 0) action(pick(random, birds));
}

function newBird(world: World, random: Random): BirdRecord {
  const status = random() < 0.9 ? 'active' : random() < 0.5 ? 'suspended' : 'unpublished';
  return world.addBird(pick(random, [...world.nests.keys()]), {
    name: pick(random, TASKS),
    triggerType: pick(random, ['manual', 'event', 'scheduled']),
    status,
  });
}

function flight(stage: Stage, failureShare: number): void {
  const { world, random } = stage;
  const birds = present(world).filter(({ status }) => status === 'active');
  if (birds.length === 0) return;
  // The first Birds are the busy ones.
  const bird = birds[Math.floor(random() ** 2 * birds.length)]!;
  const seconds = random() < 0.2 ? random() * 20 * MINUTE_S : random() * 90;
  const chance = random();
  if (chance < failureShare) flightFails(stage, bird, seconds);
  else if (chance < failureShare + 0.05) flightIsCancelled(stage, bird, seconds);
  else flightLands(stage, bird, seconds, Math.floor(random() * 2));
}

function longFlight(world: World, random: Random, endUs: number): void {
  withBird(world, random, (bird) => {
    if (bird.status === 'unpublished') return;
    const fliesForMs = Math.max(60_000, (random() * (endUs - world.nowUs())) / 1000);
    const endsAs = random() < 0.6 ? 'failed' : 'succeeded';
    world.startFlight(bird.id, { fliesForMs, endsAs, ...(random() < 0.2 && { errorMessages: '' }) });
  });
}

/** A Flight that has ended becomes active again, for long enough to be seen, and ends again. */
function reopening(world: World, random: Random): void {
  withBird(world, random, (bird) => {
    const ended = bird.flights.filter((one) => {
      const end = endOf(one);
      return end !== undefined && isSeen(world, end.endedAtUs) && isSeen(world, one.visibleAtUs);
    });
    const flight: FlightRecord | undefined = ended.at(-1 - Math.floor(random() * Math.min(3, ended.length)));
    if (!flight) return;
    world.reopenFlight(flight.id);
    const afterUs = Math.round((6 + random() * 20) * 60e6);
    world.at(world.nowUs() + afterUs, () => {
      if (!endOf(flight)) world.endFlight(flight.id, random() < 0.5 ? 'failed' : 'succeeded');
    });
  });
}

function isSeen(world: World, us: number): boolean {
  return us < world.nowUs() - 6 * 60e6 && us > world.nowUs() - 40 * 60e6;
}

function brokenTrigger(stage: Stage): void {
  const { world, random } = stage;
  const birds = present(world).filter((bird) => bird.status === 'active' && bird.triggerType === 'event');
  if (birds.length === 0) return;
  const bird = pick(random, birds);
  const isForGood = random() < 0.4;
  triggerFails(stage, bird, isForGood ? 5 : 1 + Math.floor(random() * 3), 60 + random() * 240);
  if (isForGood) afterSeconds(stage, bird, (30 + random() * 60) * MINUTE_S, () => isActivated(stage, bird));
}

/**
 * Many entries at the very same instant, in half of the cases more than a page. Sometimes they are deleted at once,
 * while they are being read, and later entries follow.
 */
function tie(world: World, random: Random, size: number): void {
  let createdAtUs = world.nowUs();
  const isOfBird = random() < 0.5;
  const [bird] = present(world);
  const isThere = () => !isOfBird || (bird !== undefined && bird.deletedAtUs === undefined);
  const append = (fields: Readonly<Record<string, unknown>>) => {
    if (!isThere()) return undefined;
    if (bird && isOfBird)
      return world.appendBirdLog(bird.id, { fields: { ...fields, eventType: 'Saved' }, createdAtUs });
    const plan = { eventType: 'Announcement', entityType: 'Plan' };
    return world.appendNotification({ fields: { ...fields, ...plan }, createdAtUs });
  };
  const entries = Array.from({ length: size }, (_, count) =>
    append({ message: `tie ${count}`, entityId: count % 3 }),
  );
  if (random() > CLEARED_SHARE) return;
  world.at(world.nowUs() + 3e6, () => {
    createdAtUs = world.nowUs();
    append({ message: 'after the tie', entityId: 3 });
  });
  for (const entry of entries) {
    if (!entry || random() < 0.5) continue;
    world.at(createdAtUs + Math.round((5 + random() * 60) * 1e6), () => {
      if (isThere() && entry.deletedAtUs === undefined) world.deleteEntry(entry.id);
    });
  }
}

function someEntry(world: World, random: Random, withinUs: number): EntryRecord | undefined {
  const lists = [world.notifications, ...present(world).map(({ logs }) => logs)];
  const recent = pick(random, lists).filter((entry) => {
    const ageUs = world.nowUs() - entry.createdAtUs;
    return ageUs >= 0 && ageUs < withinUs && entry.raw === undefined;
  });
  return recent.length === 0 ? undefined : pick(random, recent);
}

/** The same entry once more, unchanged or with a slightly later instant. */
function duplicate(world: World, random: Random): void {
  const entry = someEntry(world, random, DUPLICATE_WITHIN_US);
  if (!entry) return;
  const createdAtUs = random() < 0.5 ? entry.createdAtUs : world.nowUs();
  const again = { fields: entry.fields, raw: { id: entry.id }, createdAtUs };
  if (entry.birdId) world.appendBirdLog(entry.birdId, again);
  else world.appendNotification({ ...again, nestId: entry.nestId });
}

function malformed(world: World, random: Random): void {
  const raw = pick(random, [
    'not an object',
    null,
    { id: null },
    { createdAt: 'yesterday' },
    { createdAt: undefined },
  ]);
  withBird(world, random, (bird) => {
    if (random() < 0.5) world.appendBirdLog(bird.id, { raw });
    else world.appendNotification({ raw });
  });
}

/** An entry with an instant of tomorrow. It must not move the cursor there. */
function future(world: World, random: Random): void {
  const createdAtUs = world.nowUs() + Math.round(random() * 86_400e6);
  withBird(world, random, (bird) => {
    if (random() < 0.5) world.appendBirdLog(bird.id, { createdAtUs });
    else world.appendNotification({ createdAtUs });
  });
}

function inventoryChange(world: World, random: Random): void {
  withBird(world, random, (bird) => {
    const chance = random();
    if (chance < 0.15 && present(world).length < MOST_BIRDS) newBird(world, random);
    else if (chance < 0.3 && present(world).length > 2) world.deleteBird(bird.id);
    else if (chance < 0.45) world.moveBird(bird.id, pick(random, [...world.nests.keys()]));
    else if (chance < 0.6) world.renameBird(bird.id, pick(random, TASKS));
    else if (chance < 0.7) world.renameNest(pick(random, [...world.nests.keys()]), pick(random, NEST_NAMES));
    else if (bird.status === 'active' && chance < 0.85) world.suspend(bird.id);
    else if (bird.status === 'active') world.unpublish(bird.id);
    else if (bird.status === 'suspended') world.activate(bird.id);
    else world.publish(bird.id);
  });
}

function birdReturns(world: World, random: Random): void {
  const deleted = [...world.birds.values()].filter(
    ({ deletedAtUs, nestId }) => deletedAtUs !== undefined && world.nests.has(nestId),
  );
  if (deleted.length > 0 && present(world).length < MOST_BIRDS) world.restoreBird(pick(random, deleted).id);
}

function peopleChange(world: World, random: Random): void {
  const chance = random();
  const user = pick(random, [...world.users.values()]);
  const nest = pick(random, [...world.nests.values()]);
  const empty = [...world.nests.values()].find(({ birds }) => birds.size === 0);
  if (chance < 0.3) world.addMember(nest.id, user.id);
  else if (chance < 0.6) world.removeMember(nest.id, user.id);
  else if (chance < 0.75) world.setUserActive(user.id, !user.isActive);
  else if (chance < 0.85) {
    withBird(world, random, ({ id }) => world.setTrigger(id, pick(random, ['manual', 'event', 'scheduled'])));
  } else if (empty && world.nests.size > 1 && random() < 0.5) world.deleteNest(empty.id);
  else if (world.nests.size < MOST_NESTS)
    world.addNest({ name: pick(random, NEST_NAMES), members: [user.id] });
}
