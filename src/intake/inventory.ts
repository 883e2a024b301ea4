/**
 * The inventory of one region: its Nests and Birds, what appeared, vanished, was renamed or changed its status.
 * A Bird is only taken as gone when two readings in a row lack it: one listing cut short must not end its alerts.
 */
import type { Fact, Place } from '../alerts/fact.ts';
import { birdScope } from '../alerts/fact.ts';
import type { Clock } from '../clock.ts';
import { codeOf } from '../errors.ts';
import type { ObservedBird, Report } from '../report.ts';
import type { ServiceClient } from '../service/client.ts';
import type { Bird, Parsed } from '../service/resources.ts';
import type { BirdRecord, NestRecord } from '../store/record.ts';
import type { Store } from '../store/store.ts';
import type { Commit } from './commit.ts';
import type { Names } from './entry-event.ts';
import { matchesGlob } from './glob.ts';
import type { MemberBook } from './nest-members.ts';

export interface InventoryOptions {
  readonly region: string;
  readonly nests: { readonly include: readonly string[]; readonly exclude: readonly string[] };
  readonly client: ServiceClient;
  readonly store: Store;
  readonly commit: Commit;
  readonly clock: Clock;
  readonly report: Report;
  /** Present where a receiver tells the members of Nests. */
  readonly members?: MemberBook | undefined;
}

export interface Inventory extends Names {
  /** Takes what the store knows from an earlier life. */
  load(): Promise<void>;
  /** Reads all Nests and their Birds and commits the differences. */
  poll(): Promise<void>;
  /** Reads one Bird again, after news that its status may have changed. */
  pollBird(birdId: string): Promise<void>;
  /** Present Birds. */
  birds(): readonly BirdRecord[];
  nests(): readonly NestRecord[];
  status(birdId: string): string | undefined;
  /** How many requests one reading takes. */
  cost(): number;
}

export function createInventory(options: InventoryOptions): Inventory {
  const { region, client, store, commit, clock, report } = options;
  const nests = new Map<string, NestRecord>();
  const birds = new Map<string, BirdRecord>();
  /** Birds that the last reading lacked. */
  const missedOnce = new Set<string>();

  const nestName = (nestId: string) => nests.get(nestId)?.name ?? '';
  const isWatched = (nest: { id: string; name: string }) => {
    const fits = (glob: string) => matchesGlob(glob, nest.name) || matchesGlob(glob, nest.id);
    return options.nests.include.some(fits) && !options.nests.exclude.some(fits);
  };

  function place(bird: BirdRecord): Place {
    const nest = nestName(bird.nestId);
    return { region, nestId: bird.nestId, nest, birdId: bird.birdId, bird: bird.name };
  }

  function recordOf(bird: Bird, nestId: string): Omit<BirdRecord, 'statusSinceUs'> {
    const { id: birdId, name, status, triggerType } = bird;
    return { region, birdId, nestId, name, status, triggerType, present: true };
  }

  async function read() {
    const readAtUs = clock.nowUs();
    const seenNests = new Map<string, NestRecord>();
    const seenBirds = new Map<string, Omit<BirdRecord, 'statusSinceUs'>>();
    /** Nests whose Birds could not be listed: theirs stay as they were. */
    const unread = new Set<string>();
    const watched = good((await client.searchNests()).value).filter(isWatched);
    await options.members?.keep(watched);
    for (const nest of watched) {
      seenNests.set(nest.id, { region, nestId: nest.id, name: nest.name, present: true });
      try {
        for (const bird of good((await client.searchBirds(nest.id)).value)) {
          seenBirds.set(bird.id, recordOf(bird, nest.id));
        }
      } catch (error) {
        // The Nest vanished between the two readings: the next one no longer lists it.
        if (codeOf(error) !== 'not_found') throw error;
        unread.add(nest.id);
      }
    }
    return { readAtUs, seenNests, seenBirds, unread };
  }

  /** What a reading of a Bird changes: its record, and the facts that alerts wait for. */
  function compareBird(
    seen: Omit<BirdRecord, 'statusSinceUs'>,
    readAtUs: number,
    alertScopes: ReadonlySet<string>,
  ): { changed: BirdRecord | undefined; facts: Fact[] } {
    const before = birds.get(seen.birdId);
    missedOnce.delete(seen.birdId);
    const sameStatus = before?.present === true && before.status === seen.status;
    const statusSinceUs = sameStatus ? before.statusSinceUs : readAtUs;
    const { birdId, nestId, name, status, triggerType } = seen;
    // Written out: what is added to a copy takes V8 twice the room, and there may be tens of thousands.
    const bird: BirdRecord = {
      region,
      birdId,
      nestId,
      name,
      status,
      triggerType,
      present: true,
      statusSinceUs,
    };
    const same =
      sameStatus &&
      before.name === bird.name &&
      before.nestId === bird.nestId &&
      before.triggerType === bird.triggerType;
    const facts: Fact[] = [];
    if (!sameStatus || alertScopes.has(birdScope(region, bird.birdId))) {
      const previous = before?.present && !sameStatus ? before.status : undefined;
      facts.push({ fact: 'bird_status', place: place(bird), status: bird.status, previous, readAtUs });
    }
    return { changed: same ? undefined : bird, facts };
  }

  async function compare({ readAtUs, seenNests, seenBirds, unread }: Awaited<ReturnType<typeof read>>) {
    const changedNests: NestRecord[] = [];
    for (const nest of seenNests.values()) {
      const before = nests.get(nest.nestId);
      if (!before?.present || before.name !== nest.name) changedNests.push(nest);
    }
    for (const nest of nests.values()) {
      if (nest.present && !seenNests.has(nest.nestId)) changedNests.push({ ...nest, present: false });
    }
    const changedBirds: BirdRecord[] = [];
    const facts: Fact[] = [];
    // Names of Nests that this very reading brought must stand in its facts.
    for (const nest of changedNests) nests.set(nest.nestId, nest);
    const alertScopes = new Set(await store.transaction((tx) => tx.scopesWithAlerts(region)));
    for (const seen of seenBirds.values()) {
      const found = compareBird(seen, readAtUs, alertScopes);
      if (found.changed) changedBirds.push(found.changed);
      facts.push(...found.facts);
    }
    for (const bird of birds.values()) {
      if (!bird.present || seenBirds.has(bird.birdId) || unread.has(bird.nestId)) continue;
      if (!missedOnce.delete(bird.birdId)) {
        missedOnce.add(bird.birdId);
        continue;
      }
      changedBirds.push({ ...bird, present: false });
      facts.push({ fact: 'bird_vanished', place: place(bird), readAtUs });
    }
    return { changedNests, changedBirds, facts };
  }

  return {
    nest: nestName,
    bird: (birdId) => birds.get(birdId)?.name ?? '',
    nestOf: (birdId) => birds.get(birdId)?.nestId ?? '',
    status: (birdId) => birds.get(birdId)?.status,
    birds: () => [...birds.values()].filter((bird) => bird.present),
    nests: () => [...nests.values()].filter((nest) => nest.present),
    cost: () => 1 + Math.max(1, [...nests.values()].filter((nest) => nest.present).length),
    async load() {
      await store.transaction(async (tx) => {
        for (const nest of await tx.nests(region)) nests.set(nest.nestId, nest);
        for (const bird of await tx.birds(region)) birds.set(bird.birdId, bird);
      });
    },
    async pollBird(birdId) {
      const before = birds.get(birdId);
      if (!before?.present) return;
      const readAtUs = clock.nowUs();
      const { value } = await client.getBird(before.nestId, birdId);
      if (!value.ok) return;
      const scopes = new Set([birdScope(region, birdId)]);
      const { changed, facts } = compareBird(recordOf(value.entry, before.nestId), readAtUs, scopes);
      await commit({ region, birds: changed ? [changed] : [], facts });
      if (changed) birds.set(birdId, changed);
    },
    async poll() {
      const { changedNests, changedBirds, facts } = await compare(await read());
      if (changedNests.length + changedBirds.length + facts.length > 0) {
        await commit({ region, nests: changedNests, birds: changedBirds, facts });
      }
      for (const bird of changedBirds) birds.set(bird.birdId, bird);
      report({
        what: 'inventory',
        region,
        birds: [...birds.values()].filter((one) => one.present).map(shown),
      });
    },
  };

  function shown(bird: BirdRecord): ObservedBird {
    return {
      nestId: bird.nestId,
      nest: nestName(bird.nestId),
      birdId: bird.birdId,
      bird: bird.name,
      status: bird.status,
      triggerType: bird.triggerType,
    };
  }
}

/** The readable ones: without an id a Nest or Bird cannot be asked for anything. */
function good<T>(items: readonly Parsed<T>[]): T[] {
  return items.flatMap((item) => (item.ok ? [item.entry] : []));
}
