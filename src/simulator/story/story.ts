/**
 * Plays the demo's story of one region. Somebody published a Bird two minutes ago, and another, which lands every ten
 * minutes, has missed its last deadline. In the first 45 seconds:
 *
 *   6 s   a Flight of the published Bird fails; 26 s later (at 32 s) the same Bird's next Flight succeeds
 *   7 s   the service retries a lost connection, and gives up at 19 s
 *   8 s   a Bird's trigger fails, again at 13 s, and by 25 s five times in a row: deactivated; reactivated at 38 s
 *  10 s   a Flight succeeds although one of its steps ended with an error that was skipped
 *  25 s   a Flight lands that took four times as long as usual; another does every 9 s from then on
 *  30 s   a Flight that began three days ago fails
 *  40 s   the Bird that missed its deadline lands
 *
 * After that such events go on for ever, one every few seconds, most of them good.
 */
import type { Random } from '../../time/clock.ts';
import { hashOf, pick, seededRandom } from '../world/seeded-random.ts';
import type { BirdRecord, FlightRecord, NestRecord } from '../world/simulated-record.ts';
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
  lengthMs,
  newUser,
  type Stage,
  triggerFails,
} from './scenario.ts';

/** The Birds that play a part. */
interface Cast {
  readonly nests: readonly NestRecord[];
  /** Was published. Its Flight fails, and its next one succeeds. */
  readonly stumbling: BirdRecord;
  /** Its trigger fails until the Bird is deactivated. */
  readonly deaf: BirdRecord;
  /** Its Flight succeeds with a skipped error. */
  readonly forgiving: BirdRecord;
  /** Its Flight of three days fails. */
  readonly patient: BirdRecord;
  readonly longFlight: FlightRecord;
  /** Has landed every ten minutes, but not by the last deadline. */
  readonly overdue: BirdRecord;
  /** Its Flights take much longer than they did. */
  readonly slow: BirdRecord;
  readonly others: readonly BirdRecord[];
}

export const OVERDUE_BIRD = 'Export price list';
export const SLOW_BIRD = 'Render catalogue';

const SECOND_US = 1_000_000;
const MINUTE_US = 60_000_000;
const DAY_S = 86_400;
/** When the endless loop of events begins. */
const LOOP_AFTER_S = 45;

interface StoryOptions {
  readonly speed?: number;
  /** By default the region's name seeds Nests, Birds and chance. */
  readonly random?: Random;
  /** The deadline that was missed; the last full minute by default. */
  readonly deadlineUs?: number;
}

/** Sets up the world and begins now. */
export function playStory(world: World, options: StoryOptions = {}): Cast {
  const { speed = 1, random = seededRandom(hashOf(world.region)) } = options;
  const { deadlineUs = Math.floor(world.nowUs() / MINUTE_US) * MINUTE_US } = options;
  const stage: Stage = { world, random, speed };
  const cast = setStage(stage);
  const { stumbling, deaf, forgiving, patient, longFlight, overdue, slow, nests, others } = cast;
  playHistory(stage, [stumbling, deaf, forgiving, ...others]);
  world.at(world.nowUs() - 2 * MINUTE_US, () => world.publish(stumbling.id));
  playRegularFlights(stage, overdue, 5, deadlineUs - 52 * MINUTE_US, 10 * MINUTE_US, 60_000);
  playRegularFlights(stage, slow, 40, world.nowUs() - 50 * MINUTE_US, 70 * SECOND_US, 3_000);

  afterSeconds(stage, stumbling, 3, () => flightFails(stage, stumbling, 3));
  afterSeconds(stage, stumbling, 28, () => flightLands(stage, stumbling, 4));
  afterSeconds(stage, forgiving, 4, () => flightLands(stage, forgiving, 6, 1));
  afterSeconds(stage, deaf, 8, () => world.eventError(deaf.id));
  afterSeconds(stage, deaf, 13, () => triggerFails(stage, deaf, 4, 4));
  afterSeconds(stage, deaf, 38, () => isActivated(stage, deaf));
  afterSeconds(stage, patient, 7, () => connectionIsLost(stage, nests[0]!.id, 12));
  afterSeconds(stage, patient, 30, () => {
    const { message, step } = FAILURES[2]!;
    world.endFlight(longFlight.id, 'failed', { errorMessages: message, failedStep: step });
  });
  afterSeconds(stage, overdue, 35, () => flightLands(stage, overdue, 5));
  world.every(lengthMs(stage, 9), () => flightLands(stage, slow, 16));
  for (const [at, bird] of others.entries())
    afterSeconds(stage, bird, 2 + at * 5, () => flightLands(stage, bird, 6));
  world.at(world.nowUs() + lengthMs(stage, LOOP_AFTER_S) * 1000, () => goOn(stage, cast));
  return cast;
}

function setStage(stage: Stage): Cast {
  const { world, random } = stage;
  const people = shuffled(random, PEOPLE).slice(0, 5);
  const users = people.map(([firstName, lastName], at) => newUser(world, firstName, lastName, at));
  const names = shuffled(random, NEST_NAMES).slice(0, 3);
  const nests = names.map((name) =>
    world.addNest({ name, members: users.filter(() => random() < 0.6).map(({ id }) => id) }),
  );
  const tasks = shuffled(random, TASKS);
  const languages = shuffled(random, LANGUAGES);
  const bird = (
    at: number,
    triggerType: BirdRecord['triggerType'],
    status: BirdRecord['status'] = 'active',
  ) =>
    world.addBird(nests[at % nests.length]!.id, {
      name: at < 4 ? tasks[at]! : `${tasks[at]} ${languages[at]}`,
      triggerType,
      status,
      flightDurationMs: lengthMs(stage, 8),
    });
  const stumbling = bird(0, 'scheduled');
  const deaf = bird(1, 'event');
  const forgiving = bird(2, 'event');
  const patient = bird(3, 'manual');
  const others = [bird(4, 'scheduled'), bird(5, 'event'), bird(6, 'manual'), bird(7, 'scheduled')];
  bird(8, 'event', 'suspended');
  bird(9, 'manual', 'unpublished');
  const longFlight = world.startFlight(patient.id, { startedAtUs: world.nowUs() - 3 * DAY_S * 1_000_000 });
  const regular = (name: string) =>
    world.addBird(nests[2]!.id, { name, triggerType: 'scheduled', flightDurationMs: lengthMs(stage, 8) });
  const overdue = regular(OVERDUE_BIRD);
  const slow = regular(SLOW_BIRD);
  return { nests, stumbling, deaf, forgiving, patient, longFlight, overdue, slow, others };
}

/** An ordinary hour before the story begins. */
function playHistory({ world, random }: Stage, birds: readonly BirdRecord[]): void {
  const nowUs = world.nowUs();
  for (const bird of birds) {
    world.at(nowUs - Math.floor((50 + random() * 9) * 60_000_000), () => world.publish(bird.id));
    for (let flight = 0; flight < 4; flight += 1) {
      const startedAtUs = nowUs - Math.floor((3 + random() * 45) * 60_000_000);
      world.startFlight(bird.id, { startedAtUs, fliesForMs: 5_000 + random() * 90_000, endsAs: 'succeeded' });
    }
  }
}

/** Flights at equal distances, none of which takes a third longer than another. */
function playRegularFlights(
  { world, random }: Stage,
  bird: BirdRecord,
  count: number,
  firstUs: number,
  everyUs: number,
  shortestMs: number,
): void {
  for (let flight = 0; flight < count; flight += 1) {
    const startedAtUs = Math.round(firstUs + flight * everyUs + random() * SECOND_US);
    const fliesForMs = shortestMs * (1 + random() / 3);
    world.startFlight(bird.id, { startedAtUs, fliesForMs, endsAs: 'succeeded' });
  }
}

/** Does one thing now, and schedules the next in a few seconds. */
function goOn(stage: Stage, cast: Cast): void {
  const { world, random } = stage;
  const { stumbling, deaf, forgiving, patient, overdue, others, nests } = cast;
  const all = [stumbling, deaf, forgiving, patient, overdue, ...others].filter(
    (bird) => bird.deletedAtUs === undefined && bird.status === 'active',
  );
  if (all.length > 0) {
    const bird = pick(random, all);
    const chance = random();
    if (chance < 0.6) flightLands(stage, bird, 3 + random() * 15);
    else if (chance < 0.7) {
      flightFails(stage, bird, 3 + random() * 4);
      afterSeconds(stage, bird, 30, () => flightLands(stage, bird, 5));
    } else if (chance < 0.77) flightLands(stage, bird, 5, 1 + Math.floor(random() * 2));
    else if (chance < 0.81) flightIsCancelled(stage, bird, 6);
    else if (chance < 0.88) birdIsEdited(stage, bird);
    else if (chance < 0.93) connectionIsLost(stage, pick(random, nests).id, 12);
    else if (chance < 0.98 || deaf.status !== 'active') {
      triggerFails(stage, forgiving, 2, 4);
      afterSeconds(stage, forgiving, 25, () => flightLands(stage, forgiving, 4));
    } else {
      triggerFails(stage, deaf, 5, 4);
      afterSeconds(stage, deaf, 50, () => isActivated(stage, deaf));
    }
  }
  const nextUs = Math.round(lengthMs(stage, 2 + random() * 4) * 1000);
  world.at(world.nowUs() + nextUs, () => goOn(stage, cast));
}

function shuffled<T>(random: Random, items: readonly T[]): T[] {
  const result = [...items];
  for (let at = result.length - 1; at > 0; at -= 1) {
    const other = Math.floor(random() * (at + 1));
    [result[at], result[other]] = [result[other]!, result[at]!];
  }
  return result;
}
