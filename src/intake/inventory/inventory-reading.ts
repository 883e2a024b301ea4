/**
 * Reads all watched Nests and their Birds from the service once. If the Birds of one Nest cannot be listed, the
 * others are still read, and `trouble` says which Nests were left out. Malformed list items are set aside, like
 * malformed entries.
 */

import { activeMembers, memberRecipients } from '../../domain/grouping/member-recipients.ts';
import { codeOf, NestwatchError } from '../../errors.ts';
import type { Report } from '../../report.ts';
import type { ServiceClient } from '../../service/client.ts';
import type { Bird, Nest, Parsed, User } from '../../service/resources.ts';
import type { QuarantinedEntry } from '../../store/sql/watched/feed-streams.ts';
import type { BirdRecord, NestMembers, NestRecord } from '../../store/sql/watched/nests-and-birds.ts';
import type { Store } from '../../store/store.ts';
import { matchesGlob } from '../../text/glob.ts';
import { plainText } from '../../text/plain-text.ts';
import type { IntakeParts } from '../parts.ts';

export type SeenBird = Omit<BirdRecord, 'statusSinceUs' | 'hasFirstStatus' | 'newsSinceUs'>;

export interface InventoryReading {
  readonly beganMs: number;
  readonly readAtUs: number;
  /** The service's clock at the first answer; null if the answer does not show it. */
  readonly serverTimeUs: number | null;
  readonly seenNests: ReadonlyMap<string, NestRecord>;
  readonly seenBirds: ReadonlyMap<string, SeenBird>;
  /** All Nests of the service, also those that are not watched. */
  readonly listed: readonly Nest[];
  /** Whether that list has no malformed items, which may be Nests as well. */
  readonly isWhole: boolean;
  /** Undefined if nobody wants to know of them, or they could not be read. */
  readonly users: readonly User[] | undefined;
  /** Nests whose Birds could not all be read. A Bird of theirs that is not listed does not count as gone. */
  readonly unread: ReadonlySet<string>;
  readonly malformed: readonly QuarantinedEntry[];
  /** Why Nests were left out, and which; undefined if the reading is complete. */
  readonly trouble: NestwatchError | undefined;
}

interface InventoryReaderOptions extends Pick<IntakeParts, 'region' | 'clock' | 'report'> {
  readonly client: Pick<ServiceClient, 'searchNests' | 'searchBirds' | 'searchUsers' | 'health'>;
  /** Whether somebody wants to know which Users are deactivated. */
  readonly asksUsers: boolean;
  readonly selection: NestSelection;
  /** Present if a receiver notifies the members of Nests. */
  readonly members?: MemberBook | undefined;
  /** Called as soon as the service has listed its Nests. From then on the selection knows which are excluded. */
  readonly nestsListed: () => void;
  /** Called from time to time during a long reading, with what it has listed so far. */
  readonly listedSoFar: (listed: ListedSoFar) => Promise<void>;
}

export type ListedSoFar = Pick<
  InventoryReading,
  'readAtUs' | 'serverTimeUs' | 'listed' | 'seenNests' | 'seenBirds'
>;

type ListedNest = Pick<Nest, 'id' | 'name'>;

/** What a reading in progress has gathered. */
interface Gathered {
  serverTimeUs: number | null;
  listed: readonly Nest[];
  isWhole: boolean;
  readonly seenNests: Map<string, NestRecord>;
  readonly seenBirds: Map<string, SeenBird>;
  readonly unread: Set<string>;
  readonly malformed: QuarantinedEntry[];
  readonly refused: Set<string>;
  /** Nests whose Birds could not be listed; `failure` is the first error. */
  readonly failed: ListedNest[];
  failure: NestwatchError | undefined;
  /** Nests whose Birds were not found for the first time; `notFound` is the first answer. */
  readonly missing: ListedNest[];
  notFound: NestwatchError | undefined;
  /** Whether the region went down meanwhile. Then the other Nests are not requested. */
  isAway: boolean;
  birdLists: number;
}

/** How often a reading shows what it has listed so far. */
const SHOWN_EVERY_MS = 10_000;

/** The most Nests named in one message. */
const NAMED_NESTS = 3;

export class InventoryReader {
  readonly #options: InventoryReaderOptions;
  /**
   * Nests whose Birds could not be listed in the last reading. They are read last, so that no other Nest has to wait
   * for them.
   */
  #refused: ReadonlySet<string> = new Set();

  constructor(options: InventoryReaderOptions) {
    this.#options = options;
  }

  /** `knownNests` are those of earlier readings. Throws what the service threw if no Nest could be read. */
  async read(knownNests: ReadonlyMap<string, NestRecord>): Promise<InventoryReading> {
    const { region, clock, listedSoFar } = this.#options;
    const beganMs = clock.monotonicMs();
    let shownMs = beganMs;
    const readAtUs = clock.nowUs();
    const gathered = nothingGathered();
    for (const nest of await this.#listNests(knownNests, gathered)) {
      gathered.seenNests.set(nest.id, { region, nestId: nest.id, name: nest.name, present: true });
      await this.#readBirds(nest, gathered);
      if (clock.monotonicMs() - shownMs < SHOWN_EVERY_MS) continue;
      await listedSoFar({ ...gathered, readAtUs });
      shownMs = clock.monotonicMs();
    }
    this.#refused = gathered.refused;
    const { birdLists } = gathered;
    // A single Nest may have vanished. But if the Birds of no Nest are found, the address must be wrong.
    const isNoneFound = birdLists === 0;
    const failure = gathered.failure ?? (isNoneFound ? gathered.notFound : undefined);
    const failed = isNoneFound ? [...gathered.failed, ...gathered.missing] : gathered.failed;
    const trouble = failure && troubleOf(failure, failed, gathered.seenNests.size);
    if (trouble && isNoneFound) throw trouble;
    const { serverTimeUs, listed, isWhole, seenNests, seenBirds, unread, malformed } = gathered;
    const users = await this.#listUsers(gathered);
    const lists = { listed, isWhole, users, seenNests, seenBirds, unread, malformed };
    return { beganMs, readAtUs, serverTimeUs, ...lists, trouble };
  }

  /** That they are refused holds up nothing else. */
  async #listUsers({ isAway }: Gathered): Promise<readonly User[] | undefined> {
    const { region, client, clock, report, asksUsers } = this.#options;
    if (!asksUsers || isAway) return undefined;
    const beganMs = clock.monotonicMs();
    try {
      const { value } = await client.searchUsers();
      return value.flatMap((one) => (one.ok ? [one.entry] : []));
    } catch (error) {
      const failure = codeOf(error);
      if (failure === 'cancelled') throw error;
      const durationMs = clock.monotonicMs() - beganMs;
      const poll = { what: 'poll', region, feed: 'inventory', birdId: '' } as const;
      report({ ...poll, durationMs, atUs: clock.nowUs(), failure, error });
      return undefined;
    }
  }

  /**
   * The Nests to read. If the list contains malformed items, known Nests that it lacks may be among them, so these
   * are read as well.
   */
  async #listNests(knownNests: ReadonlyMap<string, NestRecord>, gathered: Gathered): Promise<ListedNest[]> {
    const { client, selection, members, nestsListed } = this.#options;
    const { value, serverTimeUs } = await client.searchNests();
    gathered.serverTimeUs = serverTimeUs;
    const { malformed } = gathered;
    const named = readable('Nest', value, malformed);
    // If the answer leaves a name out, the known name still decides by the globs.
    const listed = named.map((nest) =>
      nest.name === '' ? { ...nest, name: knownNests.get(nest.id)?.name ?? '' } : nest,
    );
    const isWhole = malformed.length === 0;
    gathered.listed = listed;
    gathered.isWhole = isWhole;
    const watched = selection.select(listed);
    nestsListed();
    await members?.keep(watched, isWhole);
    const ids = new Set(listed.map(({ id }) => id));
    const missing = isWhole
      ? []
      : [...knownNests.values()].filter((one) => one.present && !ids.has(one.nestId));
    const kept = missing
      .map(({ nestId, name }) => ({ id: nestId, name }))
      .filter((nest) => selection.isWatched(nest));
    const isRefused = ({ id }: ListedNest) => Number(this.#refused.has(id));
    return [...watched, ...kept].toSorted((one, other) => isRefused(one) - isRefused(other));
  }

  async #readBirds(nest: ListedNest, gathered: Gathered): Promise<void> {
    const { region, client } = this.#options;
    const { seenBirds, unread, malformed, failed } = gathered;
    const malformedBefore = malformed.length;
    try {
      if (gathered.isAway) throw gathered.failure;
      for (const bird of readable('Bird', (await client.searchBirds(nest.id)).value, malformed)) {
        seenBirds.set(bird.id, seenBird(region, bird, nest.id));
      }
      gathered.birdLists += 1;
      if (malformed.length > malformedBefore) unread.add(nest.id);
    } catch (error) {
      if (!(error instanceof NestwatchError) || error.code === 'cancelled') throw error;
      unread.add(nest.id);
      if (!gathered.isAway) gathered.refused.add(nest.id);
      // The Nest vanished between the two requests. If the next reading still lists it, that is a failure.
      if (error.code === 'not_found' && !this.#refused.has(nest.id)) {
        gathered.missing.push(nest);
        gathered.notFound ??= error;
        return;
      }
      gathered.failure ??= error;
      failed.push(nest);
      gathered.isAway ||= client.health().health !== 'up';
    }
  }
}

export function seenBird(region: string, bird: Bird, nestId: string): SeenBird {
  const { id: birdId, name, status, triggerType, isPublished } = bird;
  return { region, birdId, nestId, name, status, triggerType, isPublished, present: true };
}

function nothingGathered(): Gathered {
  return {
    serverTimeUs: null,
    listed: [],
    isWhole: true,
    seenNests: new Map(),
    seenBirds: new Map(),
    unread: new Set(),
    malformed: [],
    refused: new Set(),
    failed: [],
    failure: undefined,
    missing: [],
    notFound: undefined,
    isAway: false,
    birdLists: 0,
  };
}

/** Returns the readable items and adds the others to `malformed`. Without an id a Nest or Bird cannot be requested. */
function readable<T>(what: 'Nest' | 'Bird', items: readonly Parsed<T>[], malformed: QuarantinedEntry[]): T[] {
  return items.flatMap((item) => {
    if (item.ok) return [item.entry];
    malformed.push({ raw: item.raw, reason: `a ${what}: ${item.reason}` });
    return [];
  });
}

/** The failure, with the Nests that could not be read because of it. */
function troubleOf(failure: NestwatchError, failed: readonly ListedNest[], all: number): NestwatchError {
  const named = failed.slice(0, NAMED_NESTS).map(({ id, name }) => `${id} (${plainText(name, 100)})`);
  const which = failed.length > NAMED_NESTS ? [...named, '…'] : named;
  return new NestwatchError(
    failure.code,
    `Birds of ${failed.length} of ${all} Nests could not be listed, of ${which.join(', ')}: ${failure.message}`,
    { cause: failure, facts: failure.facts },
  );
}

// Decides which Nests of a region are watched, by the configuration's globs for their names and ids.

export interface NestGlobs {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

interface NamedNest {
  readonly id: string;
  readonly name: string;
}

export class NestSelection {
  readonly #globs: NestGlobs;
  /** The names of the Nests that the service has and the configuration excludes, by id. */
  #excluded: ReadonlyMap<string, string> = new Map();

  constructor(globs: NestGlobs) {
    this.#globs = globs;
  }

  isWatched({ id, name }: NamedNest): boolean {
    const fits = (glob: string) => matchesGlob(glob, name) || matchesGlob(glob, id);
    return this.#globs.include.some(fits) && !this.#globs.exclude.some(fits);
  }

  /** Remembers which of the service's Nests are excluded. `listed` must be all of them. Returns the others. */
  select<T extends NamedNest>(listed: readonly T[]): T[] {
    const watched = listed.filter((nest) => this.isWatched(nest));
    this.#excluded = new Map(
      listed.filter((nest) => !this.isWatched(nest)).map(({ id, name }) => [id, name]),
    );
    return watched;
  }

  /** How many Nests of the service are excluded; 0 until it has listed them. */
  excluded(): number {
    return this.#excluded.size;
  }

  /** The name of an excluded Nest; undefined if it is not excluded, or not known to be. */
  excludedName(nestId: string): string | undefined {
    return this.#excluded.get(nestId);
  }
}

export interface MemberBook {
  /**
   * Stores the members of these Nests, and writes only what has changed. Where the service does not list them, those before
   * stay. `isAll`: there are no other Nests.
   */
  keep(nests: readonly Nest[], isAll?: boolean): Promise<void>;
}

/**
 * Creates the book that stores the active members of a region's Nests, for receivers that notify them and for rules that
 * ask for them. Who cannot be mailed is stored too, so that each mail can say so, and is reported.
 */
export function createMemberBook(region: string, store: Store, report: Report): MemberBook {
  let known: Map<string, string> | undefined;

  return {
    async keep(nests, isAll = true) {
      const stored = known ?? (await read(region, store));
      const now = new Map<string, readonly string[]>();
      for (const [nestId, addresses] of stored) now.set(nestId, isAll ? [] : JSON.parse(addresses));
      for (const { id, members, lacksMembers } of nests) {
        const before = stored.get(id);
        if (lacksMembers && (before !== undefined || members.length === 0)) {
          if (before !== undefined) now.set(id, JSON.parse(before));
          continue;
        }
        const active = activeMembers(members);
        now.set(id, active);
        const { leftOut } = memberRecipients(active);
        for (const one of leftOut) report({ what: 'left_out', ...one, region, nestId: id });
      }
      const changed = [...now]
        .filter(([nestId, addresses]) => stored.get(nestId) !== JSON.stringify(addresses))
        .map(([nestId, addresses]): NestMembers => ({ region, nestId, addresses }));
      if (changed.length > 0) await store.transaction((tx) => tx.inventory.putNestMembers(changed));
      known = new Map([...now].map(([nestId, addresses]) => [nestId, JSON.stringify(addresses)]));
    },
  };
}

async function read(region: string, store: Store): Promise<Map<string, string>> {
  const stored = await store.transaction((tx) => tx.inventory.nestMembers(region));
  return new Map(stored.map(({ nestId, addresses }) => [nestId, JSON.stringify(addresses)]));
}
