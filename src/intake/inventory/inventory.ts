/**
 * The inventory of one region: its Nests and Birds, what appeared, vanished, was renamed or changed its status.
 * A Bird is only taken as gone when two readings in a row lack it: one listing cut short must not end its alerts.
 *
 * A Nest whose Birds cannot be listed hides no other: its Birds stay as they were, and `trouble` says so. What a list
 * holds that cannot be read is set aside as malformed entries are; whatever such a list lacks is not taken as gone.
 */
import type { Fact, Place } from '../../domain/alert/fact.ts';
import { birdScope } from '../../domain/alert/fact.ts';
import { NestwatchError } from '../../errors.ts';
import type { ObservedBird, Report } from '../../report.ts';
import type { ServiceClient } from '../../service/client.ts';
import type { Bird, Nest, Parsed } from '../../service/resources.ts';
import type { BirdRecord, NestRecord } from '../../store/inventory-store.ts';
import type { Store } from '../../store/store.ts';
import type { QuarantinedEntry } from '../../store/stream-store.ts';
import { plainText } from '../../text/plain-text.ts';
import type { Clock } from '../../time/clock.ts';
import type { Commit } from '../commit.ts';
import type { Names } from '../entry-event.ts';
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
  /** The service has told which Nests there are: from now on `isExcluded` knows them. */
  readonly nestsListed: () => void;
}

export interface Inventory extends Names {
  /** Takes what the store knows from an earlier life. */
  load(): Promise<void>;
  /**
   * Reads all Nests and their Birds and commits the differences. Throws what the service threw where no Nest could be
   * read; where some could, the others are `trouble`.
   */
  poll(): Promise<void>;
  /** Why the last reading left Nests out, and which; undefined where it was whole. */
  trouble(): NestwatchError | undefined;
  /** Whether the last reading lacked Birds that are gone if the next one lacks them as well. */
  hasMissed(): boolean;
  /** Whether the last reading listed the Bird and began at that instant of the monotonic clock or later. */
  isListedSince(birdId: string, ms: number): boolean;
  /** Reads one Bird again, after news that its status may have changed. */
  pollBird(birdId: string): Promise<void>;
  /** Present Birds. */
  birds(): readonly BirdRecord[];
  nests(): readonly NestRecord[];
  /** Whether the service has that Nest and the configuration leaves it out; false until it was asked in this life. */
  isExcluded(nestId: string): boolean;
  status(birdId: string): string | undefined;
  /** How many requests one reading takes. */
  cost(): number;
}

/** One reading of the service. */
interface Reading {
  readonly beganMs: number;
  readonly readAtUs: number;
  readonly seenNests: ReadonlyMap<string, NestRecord>;
  readonly seenBirds: ReadonlyMap<string, Omit<BirdRecord, 'statusSinceUs'>>;
  /** Nests of whose Birds not all could be read: those that were not seen stay as they were. */
  readonly unread: ReadonlySet<string>;
  readonly malformed: readonly QuarantinedEntry[];
  readonly trouble: NestwatchError | undefined;
}

/** Nests that one message names. */
const NAMED_NESTS = 3;

export function createInventory(options: InventoryOptions): Inventory {
  const { region, client, store, commit, clock, report } = options;
  const nests = new Map<string, NestRecord>();
  const birds = new Map<string, BirdRecord>();
  /** Names of the Nests that are not watched, by id. */
  let excluded: ReadonlyMap<string, string> = new Map();
  /** Birds that the last reading lacked. */
  const missedOnce = new Set<string>();
  /**
   * Birds that were read on their own since the whole reading began that is under way or was the last one: its lists
   * may be older.
   */
  const readAlone = new Set<string>();
  /** How many whole readings were taken over. */
  let takenOver = 0;
  /** When the last of them began, and the Nests that it left out. */
  let lastBeganMs = Number.NEGATIVE_INFINITY;
  let lastUnread: ReadonlySet<string> = new Set();
  /** Nests whose Birds the last reading was refused. They are read last, so that they keep none of the others waiting. */
  let refused: ReadonlySet<string> = new Set();
  let trouble: NestwatchError | undefined;
  /** Where malformed Nests and Birds are set aside; 0 before the first. */
  let stream = 0;

  const nestName = (nestId: string) => nests.get(nestId)?.name ?? excluded.get(nestId) ?? '';
  const nestIdOf = (birdId: string) => birds.get(birdId)?.nestId ?? '';
  const isWatched = (nest: { id: string; name: string }) => {
    const fits = (glob: string) => matchesGlob(glob, nest.name) || matchesGlob(glob, nest.id);
    return options.nests.include.some(fits) && !options.nests.exclude.some(fits);
  };

  function place(bird: BirdRecord, nest: string): Place {
    return { region, nestId: bird.nestId, nest, birdId: bird.birdId, bird: bird.name };
  }

  function recordOf(bird: Bird, nestId: string): Omit<BirdRecord, 'statusSinceUs'> {
    const { id: birdId, name, status, triggerType } = bird;
    return { region, birdId, nestId, name, status, triggerType, present: true };
  }

  /** The Nests that are to be read. Where the list holds malformed ones, those that it lacks may be among them. */
  async function listNests(malformed: QuarantinedEntry[]): Promise<{ id: string; name: string }[]> {
    const listed = good('Nest', (await client.searchNests()).value, malformed);
    const isWhole = malformed.length === 0;
    const watched = listed.filter(isWatched);
    excluded = new Map(listed.filter((nest) => !isWatched(nest)).map(({ id, name }) => [id, name]));
    options.nestsListed();
    await options.members?.keep(watched, isWhole);
    const ids = new Set(listed.map(({ id }) => id));
    const missing = isWhole ? [] : [...nests.values()].filter((one) => one.present && !ids.has(one.nestId));
    const kept = missing.map(({ nestId, name }) => ({ id: nestId, name })).filter(isWatched);
    const isRefused = ({ id }: { id: string }) => Number(refused.has(id));
    return [...watched, ...kept].toSorted((one, other) => isRefused(one) - isRefused(other));
  }

  async function read(): Promise<Reading> {
    readAlone.clear();
    const beganMs = clock.monotonicMs();
    const readAtUs = clock.nowUs();
    const seenNests = new Map<string, NestRecord>();
    const seenBirds = new Map<string, Omit<BirdRecord, 'statusSinceUs'>>();
    const unread = new Set<string>();
    const malformed: QuarantinedEntry[] = [];
    const refusedNow = new Set<string>();
    const failed: { id: string; name: string }[] = [];
    let failure: NestwatchError | undefined;
    let isAway = false;
    let birdLists = 0;
    for (const nest of await listNests(malformed)) {
      seenNests.set(nest.id, { region, nestId: nest.id, name: nest.name, present: true });
      const malformedBefore = malformed.length;
      try {
        if (isAway) throw failure;
        for (const bird of good('Bird', (await client.searchBirds(nest.id)).value, malformed)) {
          seenBirds.set(bird.id, recordOf(bird, nest.id));
        }
        birdLists += 1;
        if (malformed.length > malformedBefore) unread.add(nest.id);
      } catch (error) {
        if (!(error instanceof NestwatchError) || error.code === 'cancelled') throw error;
        unread.add(nest.id);
        if (!isAway) refusedNow.add(nest.id);
        // The Nest vanished between the two readings: the next one no longer lists it, or it is in trouble.
        if (error.code === 'not_found' && !refused.has(nest.id)) continue;
        failure ??= error;
        failed.push(nest);
        // Then there is nothing to ask of the other Nests now.
        isAway ||= client.health().health !== 'up';
      }
    }
    refused = refusedNow;
    const trouble = failure && troubleOf(failure, failed, seenNests.size);
    if (trouble && birdLists === 0) throw trouble;
    return { beganMs, readAtUs, seenNests, seenBirds, unread, malformed, trouble };
  }

  async function openStream(): Promise<number> {
    if (stream === 0) {
      stream = (await store.transaction((tx) => tx.streams.open(region, 'inventory', ''))).stream;
    }
    return stream;
  }

  /** What a reading of a Bird changes: its record, and the facts that alerts wait for. */
  function compareBird(
    seen: Omit<BirdRecord, 'statusSinceUs'>,
    readAtUs: number,
    alertScopes: ReadonlySet<string>,
    nest: string,
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
      facts.push({ fact: 'bird_status', place: place(bird, nest), status, previous, readAtUs });
    }
    return { changed: same ? undefined : bird, facts };
  }

  /** Whether the Bird was there at the last reading, or nobody had missed it yet; the next time it is gone. */
  function missedFirst(birdId: string): boolean {
    if (missedOnce.delete(birdId)) return false;
    missedOnce.add(birdId);
    return true;
  }

  /** The Birds that alerts are about. */
  function birdsOf(alertScopes: Iterable<string>): string[] {
    const prefix = birdScope(region, '');
    return [...alertScopes].flatMap((scope) =>
      scope.startsWith(prefix) ? [scope.slice(prefix.length)] : [],
    );
  }

  async function compare({ beganMs, readAtUs, seenNests, seenBirds, unread, malformed }: Reading) {
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
    const nameOf = (nestId: string) => seenNests.get(nestId)?.name ?? nestName(nestId);
    const alertScopes = new Set(await store.transaction((tx) => tx.alerts.scopes(region)));
    takenOver += 1;
    lastBeganMs = beganMs;
    lastUnread = unread;
    for (const seen of seenBirds.values()) {
      if (readAlone.has(seen.birdId)) continue;
      const found = compareBird(seen, readAtUs, alertScopes, nameOf(seen.nestId));
      if (found.changed) changedBirds.push(found.changed);
      facts.push(...found.facts);
    }
    for (const bird of birds.values()) {
      if (seenBirds.has(bird.birdId) || unread.has(bird.nestId)) continue;
      const vanished: Fact = { fact: 'bird_vanished', place: place(bird, nameOf(bird.nestId)), readAtUs };
      if (!bird.present) {
        // Something about it was shown late.
        if (alertScopes.has(birdScope(region, bird.birdId))) facts.push(vanished);
        continue;
      }
      if (missedFirst(bird.birdId)) continue;
      changedBirds.push({ ...bird, present: false });
      facts.push(vanished);
    }
    const isWhole = malformed.length + unread.size === 0;
    for (const birdId of isWhole ? birdsOf(alertScopes) : []) {
      // It came and went between two readings; only what it told is known of it.
      if (seenBirds.has(birdId) || birds.has(birdId) || missedFirst(birdId)) continue;
      const unknown = { region, nestId: '', nest: '', birdId, bird: '' };
      facts.push({ fact: 'bird_vanished', place: unknown, readAtUs });
    }
    // What could not be read before, if there was anything.
    if (alertScopes.has(region) && isWhole) {
      facts.push({ fact: 'schema_drift', region, feed: 'inventory', count: 0, reason: '', atUs: readAtUs });
    }
    return { changedNests, changedBirds, facts };
  }

  async function pollBird(birdId: string): Promise<void> {
    const before = birds.get(birdId);
    if (!before?.present) return;
    const takenOverBefore = takenOver;
    const readAtUs = clock.nowUs();
    const { value } = await client.getBird(before.nestId, birdId);
    if (!value.ok) return;
    // What a whole reading said of the Bird meanwhile may be older or newer.
    if (takenOver !== takenOverBefore) return pollBird(birdId);
    readAlone.add(birdId);
    const scopes = new Set([birdScope(region, birdId)]);
    const { changed, facts } = compareBird(
      recordOf(value.entry, before.nestId),
      readAtUs,
      scopes,
      nestName(before.nestId),
    );
    await commit({ region, birds: changed ? [changed] : [], facts });
    if (changed) birds.set(birdId, changed);
  }

  return {
    nest: nestName,
    bird: (birdId) => birds.get(birdId)?.name ?? '',
    nestOf: nestIdOf,
    status: (birdId) => birds.get(birdId)?.status,
    birds: () => [...birds.values()].filter((bird) => bird.present),
    nests: () => [...nests.values()].filter((nest) => nest.present),
    trouble: () => trouble,
    hasMissed: () => missedOnce.size > 0,
    isListedSince: (birdId, ms) =>
      lastBeganMs >= ms && birds.has(birdId) && !missedOnce.has(birdId) && !lastUnread.has(nestIdOf(birdId)),
    isExcluded: (nestId) => excluded.has(nestId),
    cost: () => 1 + Math.max(1, [...nests.values()].filter((nest) => nest.present).length),
    async load() {
      await store.transaction(async (tx) => {
        for (const nest of await tx.inventory.nests(region)) nests.set(nest.nestId, nest);
        for (const bird of await tx.inventory.birds(region)) birds.set(bird.birdId, bird);
      });
    },
    pollBird,
    async poll() {
      trouble = undefined;
      const reading = await read();
      const { changedNests, changedBirds, facts } = await compare(reading);
      const changes = { region, nests: changedNests, birds: changedBirds, facts };
      if (reading.malformed.length > 0) {
        const drift = { stream: await openStream(), feed: 'inventory' } as const;
        await commit({ ...changes, stream: drift, quarantined: reading.malformed });
      } else if (changedNests.length + changedBirds.length + facts.length > 0) {
        await commit(changes);
      }
      for (const nest of changedNests) nests.set(nest.nestId, nest);
      for (const bird of changedBirds) birds.set(bird.birdId, bird);
      report({
        what: 'inventory',
        region,
        birds: [...birds.values()].filter((one) => one.present).map(shown),
      });
      trouble = reading.trouble;
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

/** The readable ones: without an id a Nest or Bird cannot be asked for anything. The others join `malformed`. */
function good<T>(what: 'Nest' | 'Bird', items: readonly Parsed<T>[], malformed: QuarantinedEntry[]): T[] {
  return items.flatMap((item) => {
    if (item.ok) return [item.entry];
    malformed.push({ raw: item.raw, reason: `a ${what}: ${item.reason}` });
    return [];
  });
}

/** The failure, with the Nests that it kept from being read. */
function troubleOf(
  failure: NestwatchError,
  failed: readonly Pick<Nest, 'id' | 'name'>[],
  all: number,
): NestwatchError {
  const named = failed.slice(0, NAMED_NESTS).map(({ id, name }) => `${id} (${plainText(name, 100)})`);
  const which = failed.length > NAMED_NESTS ? [...named, '…'] : named;
  return new NestwatchError(
    failure.code,
    `Birds of ${failed.length} of ${all} Nests could not be listed, of ${which.join(', ')}: ${failure.message}`,
    { cause: failure, facts: failure.facts },
  );
}
