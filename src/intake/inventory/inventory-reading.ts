/**
 * One reading of all watched Nests and their Birds from the service. A Nest whose Birds cannot be listed hides no
 * other: the reading goes on, and its `trouble` says which Nests it left out. What a list holds that cannot be read is
 * set aside, as malformed entries are.
 */
import { NestwatchError } from '../../errors.ts';
import type { ServiceClient } from '../../service/client.ts';
import type { Bird, Nest, Parsed } from '../../service/resources.ts';
import type { BirdRecord, NestRecord } from '../../store/inventory-store.ts';
import type { QuarantinedEntry } from '../../store/stream-store.ts';
import { plainText } from '../../text/plain-text.ts';
import type { Clock } from '../../time/clock.ts';
import type { MemberBook } from './nest-members.ts';
import type { NestSelection } from './nest-selection.ts';

export type SeenBird = Omit<BirdRecord, 'statusSinceUs' | 'hasFirstStatus'>;

export interface InventoryReading {
  readonly beganMs: number;
  readonly readAtUs: number;
  /** The service's clock at the first answer; null where it does not say. */
  readonly serverTimeUs: number | null;
  readonly seenNests: ReadonlyMap<string, NestRecord>;
  readonly seenBirds: ReadonlyMap<string, SeenBird>;
  /** Nests of whose Birds not all could be read: a Bird of theirs that is not listed is not taken as gone. */
  readonly unread: ReadonlySet<string>;
  readonly malformed: readonly QuarantinedEntry[];
  /** Why Nests were left out, and which; undefined where the reading is whole. */
  readonly trouble: NestwatchError | undefined;
}

interface InventoryReaderOptions {
  readonly region: string;
  readonly client: Pick<ServiceClient, 'searchNests' | 'searchBirds' | 'health'>;
  readonly clock: Clock;
  readonly selection: NestSelection;
  /** Present where a receiver notifies the members of Nests. */
  readonly members?: MemberBook | undefined;
  /** Called as soon as the service has listed its Nests, of which the selection then knows which are excluded. */
  readonly nestsListed: () => void;
}

type ListedNest = Pick<Nest, 'id' | 'name'>;

/** What a reading under way has gathered. */
interface Gathered {
  serverTimeUs: number | null;
  readonly seenNests: Map<string, NestRecord>;
  readonly seenBirds: Map<string, SeenBird>;
  readonly unread: Set<string>;
  readonly malformed: QuarantinedEntry[];
  readonly refused: Set<string>;
  /** Nests whose Birds could not be listed, and why the first of them could not. */
  readonly failed: ListedNest[];
  failure: NestwatchError | undefined;
  /** Nests whose Birds were not found for the first time, and what was answered for the first of them. */
  readonly missing: ListedNest[];
  notFound: NestwatchError | undefined;
  /** The region went down meanwhile, so nothing is asked of the other Nests. */
  isAway: boolean;
  birdLists: number;
}

/** Nests that one message names. */
const NAMED_NESTS = 3;

export class InventoryReader {
  readonly #options: InventoryReaderOptions;
  /** Nests whose Birds the last reading was refused. They are read last, so that no other Nest has to wait for them. */
  #refused: ReadonlySet<string> = new Set();

  constructor(options: InventoryReaderOptions) {
    this.#options = options;
  }

  /** `knownNests` are those of earlier readings. Throws what the service threw where no Nest could be read. */
  async read(knownNests: ReadonlyMap<string, NestRecord>): Promise<InventoryReading> {
    const { region, clock } = this.#options;
    const beganMs = clock.monotonicMs();
    const readAtUs = clock.nowUs();
    const gathered = nothingGathered();
    for (const nest of await this.#listNests(knownNests, gathered)) {
      gathered.seenNests.set(nest.id, { region, nestId: nest.id, name: nest.name, present: true });
      await this.#readBirds(nest, gathered);
    }
    this.#refused = gathered.refused;
    const { serverTimeUs, seenNests, seenBirds, unread, malformed, birdLists } = gathered;
    // One Nest vanishes; where Birds are found in none, they are not where they are looked for.
    const isNoneFound = birdLists === 0;
    const failure = gathered.failure ?? (isNoneFound ? gathered.notFound : undefined);
    const failed = isNoneFound ? [...gathered.failed, ...gathered.missing] : gathered.failed;
    const trouble = failure && troubleOf(failure, failed, seenNests.size);
    if (trouble && isNoneFound) throw trouble;
    return { beganMs, readAtUs, serverTimeUs, seenNests, seenBirds, unread, malformed, trouble };
  }

  /**
   * The Nests to be read. Where the list holds malformed ones, known Nests that it lacks may be among those, and are
   * read as well.
   */
  async #listNests(knownNests: ReadonlyMap<string, NestRecord>, gathered: Gathered): Promise<ListedNest[]> {
    const { client, selection, members, nestsListed } = this.#options;
    const { value, serverTimeUs } = await client.searchNests();
    gathered.serverTimeUs = serverTimeUs;
    const { malformed } = gathered;
    const named = readable('Nest', value, malformed);
    // An answer that leaves the name out says nothing of it: globs go by the one that is known.
    const listed = named.map((nest) =>
      nest.name === '' ? { ...nest, name: knownNests.get(nest.id)?.name ?? '' } : nest,
    );
    const isWhole = malformed.length === 0;
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
      // The Nest vanished between the two readings: the next one no longer lists it, or it is in trouble.
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
  const { id: birdId, name, status, triggerType } = bird;
  return { region, birdId, nestId, name, status, triggerType, present: true };
}

function nothingGathered(): Gathered {
  return {
    serverTimeUs: null,
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

/** The readable ones: without an id a Nest or Bird cannot be asked for anything. The others join `malformed`. */
function readable<T>(what: 'Nest' | 'Bird', items: readonly Parsed<T>[], malformed: QuarantinedEntry[]): T[] {
  return items.flatMap((item) => {
    if (item.ok) return [item.entry];
    malformed.push({ raw: item.raw, reason: `a ${what}: ${item.reason}` });
    return [];
  });
}

/** The failure, with the Nests that it kept from being read. */
function troubleOf(failure: NestwatchError, failed: readonly ListedNest[], all: number): NestwatchError {
  const named = failed.slice(0, NAMED_NESTS).map(({ id, name }) => `${id} (${plainText(name, 100)})`);
  const which = failed.length > NAMED_NESTS ? [...named, '…'] : named;
  return new NestwatchError(
    failure.code,
    `Birds of ${failed.length} of ${all} Nests could not be listed, of ${which.join(', ')}: ${failure.message}`,
    { cause: failure, facts: failure.facts },
  );
}
