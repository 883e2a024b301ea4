/**
 * One region of the service: what is there, what people and outside systems do to it, and what an honest observer
 * must have seen. Everything happens at the present instant of `clock`; what shall happen at another goes through
 * `at`. Time does not push the world: what has come due runs before the next request, action or look at the truth.
 * Records are live, and as of the last such moment.
 */
import type { Clock, Random } from '../../time/clock.ts';
import { type Behaviours, DEFAULT_BEHAVIOURS } from './behaviours.ts';
import { type EntryActions, entryActions } from './entry-actions.ts';
import { type FlightActions, flightActions } from './flight-actions.ts';
import { type InventoryActions, inventoryActions } from './inventory-actions.ts';
import { forked } from './seeded-random.ts';
import type { BirdRecord, EntryRecord, FlightRecord, NestRecord, UserRecord } from './simulated-record.ts';
import { createState } from './state.ts';
import { type Truth, truthOf } from './truth.ts';

interface WorldOptions {
  readonly region: string;
  readonly clock: Clock;
  readonly random: Random;
  /** What the Authorization header must say. */
  readonly token: string;
  readonly behaviours?: Partial<Behaviours>;
}

/** How a region fails as a whole. */
export type Outage = 'reset' | '503' | 'html';

/** Requests so far. Those that no operation takes count as `unknown`; those without an answer as `reset`. */
interface RequestCounts {
  readonly total: number;
  readonly byOperation: Readonly<Record<string, number>>;
  readonly byStatus: Readonly<Record<string, number>>;
}

export interface World extends InventoryActions, FlightActions, EntryActions {
  readonly region: string;
  readonly clock: Clock;
  readonly token: string;
  /** May be changed at any moment. */
  readonly behaviours: Behaviours;
  /** Chance for faults alone: requests never change what happens in the world. */
  readonly faultRandom: Random;
  readonly users: ReadonlyMap<string, UserRecord>;
  readonly nests: ReadonlyMap<string, NestRecord>;
  /** Every Bird that ever was, deleted ones too. */
  readonly birds: ReadonlyMap<string, BirdRecord>;
  readonly flights: ReadonlyMap<string, FlightRecord>;
  readonly notifications: readonly EntryRecord[];

  /** The present: the instant of the agenda's action that runs, else the clock's. */
  nowUs(): number;
  /** Runs an action at an instant; one that has passed runs at once, with that instant as the present. */
  at(instantUs: number, action: () => void): void;
  /** Runs an action again and again, first after one period; the returned function ends it. */
  every(periodMs: number, action: () => void): () => void;
  /** Runs what has come due. */
  settle(): void;

  goDown(kind?: Outage): void;
  comeUp(): void;
  outage(): Outage | undefined;
  refuseToken(): void;
  acceptToken(): void;
  isTokenRefused(): boolean;

  truth(): Truth;
  requests(): RequestCounts;
  /** Counts a request; for whoever answers one. */
  count(operation: string, status: number | 'reset'): void;
}

export function createWorld({ region, clock, random, token, behaviours: given }: WorldOptions): World {
  const behaviours: Behaviours = { ...DEFAULT_BEHAVIOURS, ...given };
  const state = createState(region, clock, random, behaviours);
  let outage: Outage | undefined;
  let isTokenRefused = false;
  let total = 0;
  const byOperation = new Map<string, number>();
  const byStatus = new Map<string, number>();

  const settle = () => state.agenda.runUntil(clock.nowUs());

  /** Every action finds a world that has caught up, and what it makes due runs before it returns. */
  function settled<T extends object>(actions: T): T {
    const wrapped = Object.entries(actions).map(
      ([name, action]: [string, (...args: unknown[]) => unknown]) => [
        name,
        (...args: unknown[]) => {
          settle();
          const result = action(...args);
          settle();
          return result;
        },
      ],
    );
    return Object.fromEntries(wrapped) as T;
  }

  return {
    ...settled(inventoryActions(state)),
    ...settled(flightActions(state)),
    ...settled(entryActions(state)),
    region,
    clock,
    token,
    behaviours,
    faultRandom: forked(random),
    users: state.users,
    nests: state.nests,
    birds: state.birds,
    flights: state.flights,
    notifications: state.notifications,
    nowUs: state.nowUs,
    at(instantUs, action) {
      state.agenda.at(instantUs, action);
      settle();
    },
    every(periodMs, action) {
      let isOver = false;
      const periodUs = Math.max(1, Math.round(periodMs * 1000));
      const next = (instantUs: number) =>
        state.agenda.at(instantUs, () => {
          if (isOver) return;
          next(instantUs + periodUs);
          action();
        });
      next(state.nowUs() + periodUs);
      return () => {
        isOver = true;
      };
    },
    settle,
    goDown(kind = 'reset') {
      outage = kind;
    },
    comeUp() {
      outage = undefined;
    },
    outage: () => outage,
    refuseToken() {
      isTokenRefused = true;
    },
    acceptToken() {
      isTokenRefused = false;
    },
    isTokenRefused: () => isTokenRefused,
    truth() {
      settle();
      return truthOf(state);
    },
    requests: () => ({
      total,
      byOperation: Object.fromEntries(byOperation),
      byStatus: Object.fromEntries(byStatus),
    }),
    count(operation, status) {
      total += 1;
      byOperation.set(operation, (byOperation.get(operation) ?? 0) + 1);
      byStatus.set(String(status), (byStatus.get(String(status)) ?? 0) + 1);
    },
  };
}
