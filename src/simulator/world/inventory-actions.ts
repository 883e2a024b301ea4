/** Actions on Users, Nests and Birds: who exists, under which name, and where. */
import { NestwatchError } from '../../errors.ts';
import { birdOf } from './entry-actions.ts';
import type { BirdRecord, NestRecord, TriggerType, UserRecord } from './simulated-record.ts';
import { type Bird, guid, type Nest, type State } from './state.ts';

type NewUser = Partial<Omit<UserRecord, 'id'>>;

interface NewNest {
  readonly name: string;
  /** Ids of Users. */
  readonly members?: readonly string[];
}

type NewBird = Pick<BirdRecord, 'name' | 'triggerType'> &
  Partial<Pick<BirdRecord, 'status' | 'flightDurationMs'>>;

export function inventoryActions(state: State) {
  function deleteBird(birdId: string): void {
    const bird = birdOf(state, birdId);
    bird.deletedAtUs = state.nowUs();
    state.nests.get(bird.nestId)?.birds.delete(birdId);
  }

  return {
    addUser({ firstName = 'Anna', lastName = 'Kowalska', email, isActive = true }: NewUser = {}): UserRecord {
      const id = guid(state.ids);
      const address = email ?? `user-${state.users.size + 1}@example.com`;
      const user = { id, firstName, lastName, email: address, isActive };
      state.users.set(id, user);
      return user;
    },
    setUserActive(userId: string, isActive: boolean): UserRecord {
      const user = { ...userOf(state, userId), isActive };
      state.users.set(userId, user);
      return user;
    },
    addNest({ name, members = [] }: NewNest): NestRecord {
      const nest: Nest = { id: state.nextNumber(), name, memberIds: new Set(), birds: new Map() };
      for (const userId of members) nest.memberIds.add(userOf(state, userId).id);
      state.nests.set(nest.id, nest);
      return nest;
    },
    addBird(
      nestId: string,
      { name, triggerType, status = 'active', flightDurationMs = 20_000 }: NewBird,
    ): BirdRecord {
      const nest = nestOf(state, nestId);
      const bird: Bird = {
        id: state.nextNumber(),
        nestId,
        name,
        status,
        triggerType,
        flightDurationMs,
        eventErrorsInARow: 0,
        deletedAtUs: undefined,
        logs: [],
        flights: [],
        flightsById: new Map(),
        activeFlights: new Set(),
      };
      state.birds.set(bird.id, bird);
      nest.birds.set(bird.id, bird);
      return bird;
    },
    renameNest: (nestId: string, name: string): NestRecord => Object.assign(nestOf(state, nestId), { name }),
    renameBird: (birdId: string, name: string): BirdRecord => Object.assign(birdOf(state, birdId), { name }),
    setTrigger: (birdId: string, triggerType: TriggerType): BirdRecord =>
      Object.assign(birdOf(state, birdId), { triggerType }),
    /** Moves the Bird with its logs and Flights to another Nest; the old one no longer shows it. */
    moveBird(birdId: string, nestId: string): BirdRecord {
      const bird = birdOf(state, birdId);
      const nest = nestOf(state, nestId);
      state.nests.get(bird.nestId)?.birds.delete(birdId);
      bird.nestId = nestId;
      nest.birds.set(birdId, bird);
      return bird;
    },
    /** Deletes its logs and Flights as well. */
    deleteBird,
    /** Lists a deleted Bird again, in its Nest, with all its logs and Flights. */
    restoreBird(birdId: string): BirdRecord {
      const bird = state.birds.get(birdId);
      if (!bird) throw new NestwatchError('not_found', `there was no Bird ${birdId}`);
      nestOf(state, bird.nestId).birds.set(birdId, bird);
      return Object.assign(bird, { deletedAtUs: undefined });
    },
    deleteNest(nestId: string): void {
      for (const birdId of [...nestOf(state, nestId).birds.keys()]) deleteBird(birdId);
      state.nests.delete(nestId);
    },
    addMember(nestId: string, userId: string): void {
      nestOf(state, nestId).memberIds.add(userOf(state, userId).id);
    },
    /** False when the User was not a member. */
    removeMember: (nestId: string, userId: string): boolean => nestOf(state, nestId).memberIds.delete(userId),
  };
}

function nestOf(state: State, nestId: string): Nest {
  const nest = state.nests.get(nestId);
  if (!nest) throw new NestwatchError('not_found', `there is no Nest ${nestId}`);
  return nest;
}

function userOf(state: State, userId: string): UserRecord {
  const user = state.users.get(userId);
  if (!user) throw new NestwatchError('not_found', `there is no User ${userId}`);
  return user;
}
