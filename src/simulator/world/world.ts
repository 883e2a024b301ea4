/**
 * Models one region of the service: what exists there, what people and outside systems do to it, and what an accurate
 * observer must have seen. Actions happen at the present instant of `clock`; `at` schedules one for another instant.
 * The world does not advance by itself: whatever is due runs before the next request, action or reading of the truth.
 * Records are live, and up to date as of the last such moment.
 */
import type { Clock, Random } from '../../time/clock.ts';
import { type Behaviours, DEFAULT_BEHAVIOURS } from './behaviours.ts';
import { entryActions } from './entry-actions.ts';
import { flightActions } from './flight-actions.ts';
import { inventoryActions } from './inventory-actions.ts';
import { forked } from './seeded-random.ts';
import type { BirdRecord, EntryRecord, FlightRecord, NestRecord, UserRecord } from './simulated-record.ts';
import { createState } from './state.ts';
import { type Truth, truthOf } from './truth.ts';

interface WorldOptions {
  readonly region: string;
  readonly clock: Clock;
  readonly random: Random;
  /** The required value of the Authorization header. */
  readonly token: string;
  readonly behaviours?: Partial<Behaviours>;
}

/** How a region, or one operation of it, fails: no answer, a gateway's page, or a status. */
export type Outage = 'reset' | 'html' | number;

/** Requests so far. Those to unknown operations count as `unknown`; those without an answer as `reset`. */
interface RequestCounts {
  readonly total: number;
  readonly byOperation: Readonly<Record<string, number>>;
  readonly byStatus: Readonly<Record<string, number>>;
}

export type World = ReturnType<typeof createWorld>;

export function createWorld({ region, clock, random, token, behaviours: given }: WorldOptions) {
  const behaviours: Behaviours = { ...DEFAULT_BEHAVIOURS, ...given };
  const state = createState(region, clock, random, behaviours);
  /** The outage of each operation; under '' that of all. */
  const outages = new Map<string, Outage>();
  let isTokenRefused = false;
  let total = 0;
  const byOperation = new Map<string, number>();
  const byStatus = new Map<string, number>();

  const settle = () => state.agenda.runUntil(clock.nowUs());

  /** Lets the world catch up before every action, and runs what the action makes due before it returns. */
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
    /** May be changed at any moment. */
    behaviours,
    /** Used for faults alone, so that requests never change what happens in the world. */
    faultRandom: forked(random),
    users: state.users as ReadonlyMap<string, UserRecord>,
    nests: state.nests as ReadonlyMap<string, NestRecord>,
    /** Every Bird that ever existed, including deleted ones. */
    birds: state.birds as ReadonlyMap<string, BirdRecord>,
    flights: state.flights as ReadonlyMap<string, FlightRecord>,
    notifications: state.notifications as readonly EntryRecord[],
    /** The present: the instant of the agenda's running action, or else the clock's. */
    nowUs: state.nowUs,
    /**
     * Runs an action at an instant, which is then the present. If it has come already, that is before this returns; within
     * another action it is after that one.
     */
    at(instantUs: number, action: () => void): void {
      state.agenda.at(instantUs, action);
      settle();
    },
    /** Repeats an action, first after one period. The returned function stops it. */
    every(periodMs: number, action: () => void): () => void {
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
    /** Runs everything that is due. */
    settle,
    /** Everything, or only one operation. */
    goDown(kind: Outage = 'reset', operation = ''): void {
      outages.set(operation, kind);
    },
    /** Ends every outage. */
    comeUp(): void {
      outages.clear();
    },
    outage: (operation: string) => outages.get('') ?? outages.get(operation),
    refuseToken(): void {
      isTokenRefused = true;
    },
    acceptToken(): void {
      isTokenRefused = false;
    },
    isTokenRefused: () => isTokenRefused,
    truth(): Truth {
      settle();
      return truthOf(state);
    },
    requests: (): RequestCounts => ({
      total,
      byOperation: Object.fromEntries(byOperation),
      byStatus: Object.fromEntries(byStatus),
    }),
    /** Counts a request; called by whoever answers it. */
    count(operation: string, status: number | 'reset'): void {
      total += 1;
      byOperation.set(operation, (byOperation.get(operation) ?? 0) + 1);
      byStatus.set(String(status), (byStatus.get(String(status)) ?? 0) + 1);
    },
  };
}
