/**
 * What the inventory of each world really was at every moment, and what the daemon committed of it: when it first knew
 * something, and the events that it made, in the order of their commits.
 */
import type { Event } from '../../../src/domain/alert/event.ts';
import { nestJson } from '../../../src/simulator/answers/wire.ts';
import type { World } from '../../../src/simulator/world/world.ts';
import type { Store, Transaction } from '../../../src/store/store.ts';
import { changed } from '../../store/changed-transaction.ts';

export type Value = string | boolean;

/** The values that something had, each from an instant on. */
export type History = { readonly us: number; readonly value: Value }[];

export interface WatchedWorld {
  /** The world, whose every change of the inventory is noted. */
  readonly world: World;
  /** By what it is about: `bird/ID/name`, `member/NEST/USER`, … A thing that is not there has the value `false`. */
  readonly histories: ReadonlyMap<string, History>;
}

export interface Kept {
  readonly events: readonly Event[];
  /** When something was first committed, by `REGION/…` as in the histories. */
  readonly firstUs: ReadonlyMap<string, number>;
}

/** What never changes the inventory, or runs other things that do. */
const OTHERS = new Set([
  'at',
  'every',
  'settle',
  'truth',
  'requests',
  'count',
  'outage',
  'nowUs',
  'isTokenRefused',
  'faultRandom',
]);

export function watchInventory(inner: World): WatchedWorld {
  const histories = new Map<string, History>();

  function note(): void {
    const now = new Map<string, Value>();
    for (const { id, name, memberIds } of inner.nests.values()) {
      now.set(`nest/${id}`, true);
      now.set(`nest/${id}/name`, name);
      const shown = nestJson(inner.behaviours, inner.nests.get(id)!, inner.users) as { members?: unknown };
      if (!Array.isArray(shown.members)) continue;
      for (const user of memberIds) now.set(`member/${id}/${user}`, true);
    }
    for (const { id, nestId, name, triggerType, status, deletedAtUs } of inner.birds.values()) {
      if (deletedAtUs !== undefined) continue;
      now.set(`bird/${id}`, true);
      now.set(`bird/${id}/nest`, nestId);
      now.set(`bird/${id}/name`, name);
      now.set(`bird/${id}/trigger`, triggerType);
      now.set(`bird/${id}/published`, status !== 'unpublished');
    }
    for (const { id, isActive } of inner.users.values()) now.set(`user/${id}`, isActive);
    const us = inner.nowUs();
    for (const about of histories.keys()) if (!now.has(about)) now.set(about, false);
    for (const [about, value] of now) {
      const history = histories.getOrInsertComputed(about, () => []);
      if (history.at(-1)?.value !== value) history.push({ us, value });
    }
  }

  const world = new Proxy(inner, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function' || OTHERS.has(String(name))) return member;
      return (...args: unknown[]) => {
        const result: unknown = member(...args);
        note();
        return result;
      };
    },
  });
  return { world, histories };
}

/** Notes what is committed to the store. */
export function watchKept(store: Store, nowUs: () => number): { readonly store: Store; readonly kept: Kept } {
  const events: Event[] = [];
  const firstUs = new Map<string, number>();
  return {
    kept: { events, firstUs },
    store: {
      ...store,
      async transaction(work) {
        const made: Event[] = [];
        const known: string[] = [];
        const watched = (tx: Transaction): Transaction =>
          changed(tx, {
            events: {
              async insertNoticed(region, some) {
                const fresh = await tx.events.insertNoticed(region, some);
                made.push(...fresh);
                return fresh;
              },
            },
            inventory: {
              async putListed(records) {
                for (const { region, sort, id, said } of records) {
                  known.push(`${region}/${sort}/${id}`);
                  if (said === 'read') known.push(`${region}/read/${id}`);
                }
                await tx.inventory.putListed(records);
              },
              async putBirds(birds) {
                for (const { region, birdId } of birds) known.push(`${region}/bird/${birdId}`);
                await tx.inventory.putBirds(birds);
              },
            },
          });
        const value = await store.transaction((tx) => work(watched(tx)));
        events.push(...made);
        for (const one of known) if (!firstUs.has(one)) firstUs.set(one, nowUs());
        return value;
      },
    },
  };
}
