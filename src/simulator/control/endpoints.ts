/** All endpoints of the control port, in the order in which they are listed. Their fields have the service's names. */
import * as z from 'zod';
import { NestwatchError } from '../../errors.ts';
import { BIRD_STATUSES, FLIGHT_STATUSES, TRIGGER_TYPES } from '../../service/resources.ts';
import { nearest } from '../../text/mistake-words.ts';
import { formatInstant } from '../../time/instant.ts';
import { OPERATIONS } from '../answers/answer-operations.ts';
import { birdJson, flightJson, nestJson } from '../answers/wire.ts';
import { DEFAULT_BEHAVIOURS, readBehaviours } from '../world/behaviours.ts';
import {
  type BirdRecord,
  type EntryRecord,
  endOf,
  type FlightRecord,
  type NestRecord,
  type UserRecord,
} from '../world/simulated-record.ts';
import { CONNECTIONS, FAILURES } from '../world/vocabulary.ts';
import type { World } from '../world/world.ts';
import {
  duration,
  type Endpoint,
  errorType,
  given,
  type Moment,
  moment,
  reading,
  removing,
  telling,
  word,
} from './endpoint.ts';

const BIRD = word.describe('id or name of a Bird');
const NEST = word.describe('id or name of a Nest');
const INITIATOR = z.string().optional().describe('who did it, such as editor@example.com');
const CREATED_AT = moment.optional().describe('its instant; now by default');
const VISIBLE_AFTER = duration.optional().describe('how long after now it can be read at first');

const ENDED = {
  message: z.string().optional().describe('the error message'),
  errorType: errorType
    .optional()
    .describe('of the step that failed: a number, or a word such as PluginMisconfiguration'),
  scope: z.string().optional().describe('name of the step that failed'),
  stepId: z.string().optional().describe('id of the step that failed'),
};

type Ended = z.output<z.ZodObject<typeof ENDED>>;

function howEnded({ message, ...step }: Ended) {
  return {
    ...given({ errorMessages: message }),
    failedStep: { ...FAILURES[0].step, ...given(step) },
  };
}

function shownFlight(world: World, flight: FlightRecord): unknown {
  const nestId = world.birds.get(flight.birdId)?.nestId ?? '';
  return flightJson(world.behaviours, flight, nestId, world.nowUs());
}

/** When an entry was created, and when it becomes visible. */
function instantsOf(world: World, createdAt: Moment | undefined, visibleAfterMs = 0) {
  const nowUs = world.nowUs();
  return { createdAtUs: createdAt?.(nowUs) ?? nowUs, visibleAtUs: nowUs + visibleAfterMs * 1000 };
}

function shownEntry({
  id,
  createdAtUs,
  visibleAtUs,
}: Pick<EntryRecord, 'id' | 'createdAtUs' | 'visibleAtUs'>) {
  return { id, createdAt: formatInstant(createdAtUs), visibleAt: formatInstant(visibleAtUs) };
}

export const ENDPOINTS: readonly Endpoint[] = [
  reading('nests', 'lists the Nests with their members', ({ world }) =>
    [...world.nests.values()].map((nest) => nestJson(world.behaviours, nest, world.users)),
  ),
  reading('birds', 'lists the Birds with the ids of their active Flights', ({ world }) =>
    [...world.birds.values()]
      .filter(({ deletedAtUs }) => deletedAtUs === undefined)
      .map((bird) => ({
        ...Object(birdJson(world.behaviours, bird)),
        activeFlights: [...bird.activeFlights].map(({ id }) => id),
      })),
  ),
  reading('requests', 'counts the requests that the service got so far', ({ world }) => world.requests()),

  telling(
    'nests',
    'creates a Nest without members',
    { name: 'Customer 3' },
    { name: word.describe('its name') },
    ({ world, body }) => nestJson(world.behaviours, world.addNest(body), world.users),
  ),
  telling(
    'birds',
    'creates a Bird',
    { nest: 'Customer 3', name: 'Nightly export', triggerType: 'scheduled' },
    {
      nest: NEST,
      name: word.describe('its name'),
      triggerType: z.enum(TRIGGER_TYPES).default('manual').describe('manual by default'),
      status: z.enum(BIRD_STATUSES).default('active').describe('active by default'),
    },
    ({ world, body: { nest, ...bird } }) =>
      birdJson(world.behaviours, world.addBird(findNest(world, nest).id, bird)),
  ),
  telling(
    'birds/{bird}',
    'changes a Bird; another status is written to its log, as the service does',
    { status: 'suspended', initiator: 'editor@example.com' },
    {
      name: word.optional().describe('another name'),
      nest: NEST.optional().describe('id or name of the Nest to which it moves'),
      triggerType: z.enum(TRIGGER_TYPES).optional().describe('another trigger'),
      status: z.enum(BIRD_STATUSES).optional().describe('a draft that becomes active is published'),
      initiator: INITIATOR,
    },
    ({ world, ids, body: { name, nest, triggerType, status, initiator } }) => {
      const bird = findBird(world, ids.bird!);
      const target = nest === undefined ? undefined : findNest(world, nest).id;
      if (name !== undefined) world.renameBird(bird.id, name);
      if (target !== undefined) world.moveBird(bird.id, target);
      if (triggerType !== undefined) world.setTrigger(bird.id, triggerType);
      if (status !== undefined && status !== bird.status) {
        if (status === 'suspended') world.suspend(bird.id, initiator);
        else if (status === 'unpublished') world.unpublish(bird.id);
        else if (bird.status === 'unpublished') world.publish(bird.id, initiator);
        else world.activate(bird.id, initiator);
      }
      return birdJson(world.behaviours, bird);
    },
  ),
  telling(
    'members',
    'makes somebody a member of a Nest, and a User if nobody has this address yet',
    { nest: 'Customer 3', email: 'owner@example.com' },
    { nest: NEST, email: word.describe('the address') },
    ({ world, body: { nest, email } }) => {
      const found = findNest(world, nest);
      const user = [...world.users.values()].find((one) => one.email === email) ?? world.addUser({ email });
      world.addMember(found.id, user.id);
      return { ...user, nest: found.id };
    },
  ),
  telling(
    'users/{user}',
    'deactivates or activates a User',
    { isActive: false },
    { isActive: z.boolean().describe('whether the User may log in') },
    ({ world, ids, body: { isActive } }) => world.setUserActive(findUser(world, ids.user!).id, isActive),
  ),

  telling(
    'flights',
    'starts a Flight; with a `status` it also ends, at once or after its `duration`',
    { bird: 'Nightly export', startDate: '-10m', status: 'failed', message: 'boom', errorType: 3 },
    {
      bird: BIRD,
      startDate: moment.optional().describe('when it started; now by default'),
      status: z.enum(FLIGHT_STATUSES).default('active').describe('how it ends; active by default'),
      duration: duration.optional().describe('from its start to its end; until now by default'),
      visibleAfter: VISIBLE_AFTER,
      ...ENDED,
    },
    ({ world, body: { bird, startDate, status, duration: lengthMs, visibleAfter, ...ended } }) => {
      const nowUs = world.nowUs();
      const startedAtUs = startDate?.(nowUs) ?? nowUs;
      if (startedAtUs > nowUs) throw new NestwatchError('usage', 'startDate: must not be in the future');
      if (lengthMs !== undefined && status === 'active') {
        throw new NestwatchError('usage', 'duration: needs a status, the one in which the Flight ends');
      }
      const flight = world.startFlight(findBird(world, bird).id, {
        startedAtUs,
        ...(visibleAfter !== undefined && { visibleAtUs: nowUs + visibleAfter * 1000 }),
        ...(status !== 'active' && {
          endsAs: status,
          fliesForMs: lengthMs ?? (nowUs - startedAtUs) / 1000,
          ...howEnded(ended),
        }),
      });
      return shownFlight(world, flight);
    },
  ),
  telling(
    'flights/{flight}',
    'ends a Flight; `active` makes one that has ended active again',
    { status: 'succeeded', endedAt: '-5s', visibleAfter: '3s' },
    {
      status: z.enum(FLIGHT_STATUSES).describe('how it ends'),
      endedAt: moment.optional().describe('when it ended; now by default'),
      visibleAfter: VISIBLE_AFTER,
      ...ENDED,
    },
    ({ world, ids, body: { status, endedAt, visibleAfter = 0, ...ended } }) => {
      const flight = findFlight(world, ids.flight!);
      if (status === 'active') return shownFlight(world, world.reopenFlight(flight.id));
      const nowUs = world.nowUs();
      const endedAtUs = endedAt?.(nowUs) ?? nowUs;
      if (endedAtUs > nowUs) throw new NestwatchError('usage', 'endedAt: must not be in the future');
      if (endedAtUs < flight.startedAtUs) {
        const startDate = formatInstant(flight.startedAtUs);
        throw new NestwatchError('usage', `endedAt: must not be before the Flight's start, ${startDate}`);
      }
      if (endOf(flight)) throw new NestwatchError('usage', `the Flight ${flight.id} has ended already`);
      world.at(nowUs + visibleAfter * 1000, () => {
        if (!endOf(flight)) world.endFlight(flight.id, status, { endedAtUs, ...howEnded(ended) });
      });
      return shownFlight(world, flight);
    },
  ),
  telling(
    'flights/{flight}/logs',
    "writes an entry of a Flight's log; its own steps write no more from then on",
    { scope: 'Wait for review', createdAt: '-2m' },
    {
      scope: word.describe('name of the step'),
      stepId: z.string().default('1').describe('id of the step'),
      message: z.string().optional().describe('by default that the step has finished'),
      eventType: z
        .int()
        .default(4)
        .describe('1 start, 2 landing, 3 stopped, 4 written by a step (default), 5 error'),
      errorType: errorType.optional().describe('of an error'),
      createdAt: CREATED_AT,
      visibleAfter: VISIBLE_AFTER,
    },
    ({ world, ids, body: { createdAt, visibleAfter, ...fields } }) => {
      const flight = findFlight(world, ids.flight!);
      const { createdAtUs, visibleAtUs } = instantsOf(world, createdAt, visibleAfter);
      const message = fields.message ?? `The step "${fields.scope}" has finished`;
      const id = world.appendFlightLog(flight.id, {
        createdAtUs,
        visibleAtUs,
        fields: { ...fields, message, ...(fields.eventType === 4 && { sdkLogType: 'Information' }) },
      }).id;
      return shownEntry({ id, createdAtUs, visibleAtUs });
    },
  ),
  telling(
    'logs',
    "writes an entry of a Bird's log, and nothing else: the Bird stays as it is",
    { bird: 'Nightly export', eventType: 'Published', initiator: 'editor@example.com' },
    {
      bird: BIRD,
      eventType: word.describe(
        'Published, Activated, Suspended, Saved, Discarded, EventError, Deactivated, …',
      ),
      initiator: INITIATOR,
      message: z.string().optional().describe('the message'),
      eventFailedBy: z.string().optional().describe('of an EventError, such as Subscription'),
      errorType: z.string().optional().describe('of an EventError, such as PluginUnhandled'),
      createdAt: CREATED_AT,
      visibleAfter: VISIBLE_AFTER,
    },
    ({ world, body: { bird, createdAt, visibleAfter, ...fields } }) => {
      const instants = instantsOf(world, createdAt, visibleAfter);
      return shownEntry(
        world.appendBirdLog(findBird(world, bird).id, { ...instants, fields: given(fields) }),
      );
    },
  ),
  telling(
    'connections',
    'writes the notification of a lost connection; the service never says that one is back',
    { name: 'Acme CMS', nest: 'Customer 3', state: 'lost' },
    {
      nest: NEST.optional().describe('id or name of a Nest; the whole organisation by default'),
      name: word.default(CONNECTIONS[0]).describe('name of the connection'),
      id: z
        .string()
        .regex(/^\d{1,15}$/, 'must be digits')
        .optional()
        .describe('its id; a new one by default'),
      state: z.enum(['retrying', 'lost']).describe('retrying, or lost (given up)'),
    },
    ({ world, body: { nest, name, id, state } }) => {
      const entry = world.disconnectConnection({
        ...given({ nestId: nest && findNest(world, nest).id, entityId: id }),
        entityName: name,
        exhausted: state === 'lost',
        wording: 'new',
      });
      return { ...shownEntry(entry), connection: String(entry.fields.entityId) };
    },
  ),

  telling(
    'outages',
    'takes the service, or one operation, down',
    { answer: 503, operation: 'searchFlights' },
    {
      answer: z
        .union([z.int().min(400).max(599), z.enum(['reset', 'html'])], {
          error: 'must be a status from 400 to 599, "reset" or "html"',
        })
        .describe("a status, `reset` (the connection breaks without an answer) or `html` (a gateway's page)"),
      operation: z.enum(OPERATIONS).optional().describe('all operations by default'),
    },
    ({ world, body: { answer, operation } }) => {
      world.goDown(answer, operation);
      return { down: operation ?? 'all', answer };
    },
  ),
  removing('outages', 'ends every outage', ({ world }) => {
    world.comeUp();
    return { down: 'nothing' };
  }),
  {
    method: 'POST',
    path: 'faults',
    does: 'sets faults by the keys of `--faults`: the rate limit, latency, late entries, shares of errors, …',
    example: { requests_per_second: 4, latency_ms: 200 },
    fields: {},
    act({ world }, _, text) {
      const changed = readBehaviours(text, 'body');
      Object.assign(world.behaviours, changed);
      return changed;
    },
  },
  removing('faults', 'ends every fault', ({ world }) => Object.assign(world.behaviours, DEFAULT_BEHAVIOURS)),
  telling(
    'clock',
    "moves the service's clock, and with it all that is due until then",
    { to: '+1h' },
    { to: moment.describe('an instant, or a duration from now') },
    ({ world, clock, body: { to } }) => {
      clock.moveTo(to(clock.nowUs()));
      world.settle();
      return { now: formatInstant(world.nowUs()) };
    },
  ),
  telling(
    'nests/{nest}',
    'gives a Nest another name',
    { name: 'Customer 4' },
    { name: word.describe('its name') },
    ({ world, ids, body: { name } }) => {
      const { id } = world.renameNest(findNest(world, ids.nest!).id, name);
      return nestJson(world.behaviours, world.nests.get(id)!, world.users);
    },
  ),

  removing('members/{nest}/{member}', 'ends a membership, by id or address', ({ world, ids }) => {
    const nest = findNest(world, ids.nest!);
    const { id } = findUser(world, ids.member!);
    if (world.removeMember(nest.id, id)) return { removed: id, nest: nest.id };
    throw new NestwatchError('not_found', `${ids.member} is no member of ${nest.name}`);
  }),
  removing('birds/{bird}', 'deletes a Bird with its logs and Flights', ({ world, ids }) => {
    const { id } = findBird(world, ids.bird!);
    world.deleteBird(id);
    return { deleted: id };
  }),
  removing('nests/{nest}', 'deletes a Nest with its Birds', ({ world, ids }) => {
    const { id } = findNest(world, ids.nest!);
    world.deleteNest(id);
    return { deleted: id };
  }),
];

// Finds what a request names, by id or by name. Throws `not_found`, and `usage` for a name that several have.

function findBird(world: World, text: string): BirdRecord {
  const birds = [...world.birds.values()].filter(({ deletedAtUs }) => deletedAtUs === undefined);
  return found('Bird', birds, ({ name }) => name, text);
}

function findNest(world: World, text: string): NestRecord {
  return found('Nest', [...world.nests.values()], ({ name }) => name, text);
}

function findUser(world: World, text: string): UserRecord {
  return found('User', [...world.users.values()], ({ email }) => email, text);
}

function findFlight(world: World, id: string): FlightRecord {
  const flight = world.flights.get(id.toLowerCase());
  if (!flight) throw new NestwatchError('not_found', `there is no Flight ${id}`);
  return flight;
}

function found<Item extends { readonly id: string }>(
  what: string,
  items: readonly Item[],
  nameOf: (item: Item) => string,
  text: string,
): Item {
  const byId = items.find(({ id }) => id === text);
  if (byId) return byId;
  const [first, ...others] = items.filter((item) => nameOf(item) === text);
  if (!first) {
    const meant = nearest(text, items.map(nameOf));
    const hint = meant === undefined ? '' : `; did you mean ${JSON.stringify(meant)}?`;
    throw new NestwatchError('not_found', `there is no ${what} ${JSON.stringify(text)}${hint}`);
  }
  if (others.length === 0) return first;
  const ids = [first, ...others].map(({ id }) => id).join(', ');
  throw new NestwatchError('usage', `several have the name ${JSON.stringify(text)}: give an id (${ids})`);
}
