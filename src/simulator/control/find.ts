/** Finds what a request names, by id or by name. Throws `not_found`, and `usage` for a name that several have. */
import { NestwatchError } from '../../errors.ts';
import { nearest } from '../../text/nearest.ts';
import type { BirdRecord, FlightRecord, NestRecord, UserRecord } from '../world/simulated-record.ts';
import type { World } from '../world/world.ts';

export function findBird(world: World, text: string): BirdRecord {
  const birds = [...world.birds.values()].filter(({ deletedAtUs }) => deletedAtUs === undefined);
  return found('Bird', birds, ({ name }) => name, text);
}

export function findNest(world: World, text: string): NestRecord {
  return found('Nest', [...world.nests.values()], ({ name }) => name, text);
}

export function findUser(world: World, text: string): UserRecord {
  return found('User', [...world.users.values()], ({ email }) => email, text);
}

export function findFlight(world: World, id: string): FlightRecord {
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
