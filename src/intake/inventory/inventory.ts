/**
 * Keeps the inventory of one region: its Nests and Birds. It finds which ones appeared, vanished, were renamed or
 * changed their status. A Bird only counts as gone when two readings in a row lack it, since a single truncated list
 * must not end its alerts. But the Birds of a Nest that the configuration excludes are gone at once. Nests whose
 * Birds could not all be read stay as they were, and whatever a list with malformed items lacks does not count as
 * gone.
 */
import { birdScope, type Fact } from '../../domain/alert/fact.ts';
import type { NestwatchError } from '../../errors.ts';
import type { ObservedBird } from '../../report.ts';
import { type BirdRecord, type NestRecord, NO_NEWS_US } from '../../store/inventory-store.ts';
import type { Names } from '../entry-event.ts';
import type { IntakeParts } from '../parts.ts';
import { type ComparisonContext, compareBird, enteringNests, goneNests, placeOf } from './compare-listed.ts';
import {
  InventoryReader,
  type InventoryReading,
  type ListedSoFar,
  type SeenBird,
  seenBird,
} from './inventory-reading.ts';
import type { MemberBook } from './nest-members.ts';
import { type NestGlobs, NestSelection } from './nest-selection.ts';
import { Newcomers } from './newcomers.ts';
import { connectionsLostBefore, endedUnwatched } from './unwatched-before.ts';

interface InventoryOptions extends Omit<IntakeParts, 'poll' | 'retentionMs' | 'random'> {
  readonly nests: NestGlobs;
  /** Present if a receiver notifies the members of Nests. */
  readonly members?: MemberBook | undefined;
  /** Called in each reading when the service has listed its Nests. From then on `isExcluded` knows them. */
  readonly nestsListed: () => void;
  /** Called when a reading that still goes on has added Birds. */
  readonly birdsAdded: () => void;
}

/** What a reading changes, to be committed together. */
interface Changes {
  readonly nests: NestRecord[];
  readonly birds: BirdRecord[];
  readonly facts: Fact[];
}

/** How a Bird was seen, and what is known of it besides. */
interface Seeing extends Omit<ComparisonContext, 'newsSinceUs'> {
  /** When it was seen, on our clock or on the service's, whichever is behind. */
  readonly nowUs: number;
}

export class Inventory implements Names {
  readonly #options: InventoryOptions;
  readonly #selection: NestSelection;
  readonly #reader: InventoryReader;
  readonly #newcomers: Newcomers;
  readonly #nests = new Map<string, NestRecord>();
  readonly #birds = new Map<string, BirdRecord>();
  /** Nests that an earlier run watched and the present configuration excludes, judged by their stored names. */
  readonly #leftOut = new Set<string>();
  /** Birds that the last reading lacked. */
  readonly #missedOnce = new Set<string>();
  /** Birds read individually since the last complete reading began. That reading's lists may be older. */
  readonly #readAlone = new Set<string>();
  /** How many readings of all Nests were compared. */
  #readings = 0;
  /** When the last of them began, and which Nests it left out. */
  #lastBeganMs = Number.NEGATIVE_INFINITY;
  #lastUnread: ReadonlySet<string> = new Set();
  #trouble: NestwatchError | undefined;
  #wasKnown = false;
  /** The stream of malformed Nests and Birds; 0 before the first. */
  #stream = 0;

  constructor(options: InventoryOptions) {
    this.#options = options;
    this.#selection = new NestSelection(options.nests);
    const listedSoFar = (listed: ListedSoFar) => this.#addNew(listed);
    this.#reader = new InventoryReader({ ...options, selection: this.#selection, listedSoFar });
    this.#newcomers = new Newcomers(options);
  }

  nest(nestId: string): string {
    return this.#nests.get(nestId)?.name ?? this.#selection.excludedName(nestId) ?? '';
  }

  bird(birdId: string): string {
    return this.#birds.get(birdId)?.name ?? '';
  }

  nestOf(birdId: string): string {
    return this.#birds.get(birdId)?.nestId ?? '';
  }

  status(birdId: string): string | undefined {
    return this.#birds.get(birdId)?.status;
  }

  /** Since when events of the Bird are news, on the service's clock; 0 if that is as long as its region is watched. */
  newsSinceUs(birdId: string): number {
    return this.#birds.get(birdId)?.newsSinceUs ?? 0;
  }

  /** The Birds that are present and watched. */
  birds(): readonly BirdRecord[] {
    return [...this.#birds.values()].filter(({ birdId }) => this.isWatched(birdId));
  }

  /** Whether the Bird is present and watched. */
  isWatched(birdId: string): boolean {
    const bird = this.#birds.get(birdId);
    return bird?.present === true && !this.#leftOut.has(bird.nestId);
  }

  /** The Nests that are present and watched. */
  nests(): readonly NestRecord[] {
    return [...this.#nests.values()].filter((nest) => nest.present && !this.#leftOut.has(nest.nestId));
  }

  /** How many Nests the configuration excludes; 0 until the service has listed them since the start. */
  excludedNests(): number {
    return this.#selection.excluded();
  }

  /**
   * Whether the service has that Nest and the configuration excludes it; false until the service has listed its Nests
   * since the start.
   */
  isExcluded(nestId: string): boolean {
    return this.#selection.excludedName(nestId) !== undefined;
  }

  /** Why the last reading left Nests out, and which; undefined if it was complete. */
  trouble(): NestwatchError | undefined {
    return this.#trouble;
  }

  /** Whether the last reading lacked Birds that are gone if the next one lacks them too. */
  hasMissed(): boolean {
    return this.#missedOnce.size > 0;
  }

  /** Whether the last reading listed the Bird and began at or after `ms` (monotonic). */
  isListedSince(birdId: string, ms: number): boolean {
    if (this.#lastBeganMs < ms || !this.#birds.has(birdId)) return false;
    return !this.#missedOnce.has(birdId) && !this.#lastUnread.has(this.nestOf(birdId));
  }

  /** How many requests one reading takes. */
  cost(): number {
    return 1 + Math.max(1, this.nests().length);
  }

  /** Whether an earlier run has stored Birds that are watched. */
  wasKnown(): boolean {
    return this.#wasKnown;
  }

  /** Loads what earlier runs have stored. */
  async load(): Promise<void> {
    const { region, store } = this.#options;
    await this.#newcomers.load();
    await store.transaction(async (tx) => {
      for (const nest of await tx.inventory.nests(region)) {
        this.#nests.set(nest.nestId, nest);
        if (!this.#selection.isWatched({ id: nest.nestId, name: nest.name })) this.#leftOut.add(nest.nestId);
      }
      // Each row brings its own copies of a few texts, which would stay for as long as the Bird does not change.
      const texts = new Map<string, string>();
      const once = (text: string) => texts.getOrInsert(text, text);
      for (const bird of await tx.inventory.birds(region)) {
        const { birdId, nestId, status, triggerType } = bird;
        const shared = { region, nestId: once(nestId), status: once(status), triggerType: once(triggerType) };
        this.#birds.set(birdId, { ...bird, ...shared });
      }
    });
    this.#wasKnown = this.birds().length > 0;
  }

  /**
   * Reads all Nests and their Birds, and commits the differences. Throws what the service threw if no Nest could be
   * read. If only some could be read, `trouble` describes the others.
   */
  async poll(): Promise<void> {
    const { region, commit, report } = this.#options;
    this.#trouble = undefined;
    this.#readAlone.clear();
    const reading = await this.#reader.read(this.#nests);
    const changes = await this.#compare(reading);
    const { nests, birds, facts } = changes;
    if (reading.malformed.length > 0) {
      const stream = { stream: await this.#openStream(), feed: 'inventory' } as const;
      await commit({ region, ...changes, stream, quarantined: reading.malformed });
    } else if (nests.length + birds.length + facts.length > 0) {
      await commit({ region, ...changes });
    }
    this.#keep(changes, reading.seenNests);
    if (reading.unread.size + reading.malformed.length === 0)
      this.#newcomers.readWhole(reading.beganMs, reading.readAtUs);
    report({ what: 'inventory', region, birds: this.birds().map((bird) => this.#observed(bird)) });
    this.#trouble = reading.trouble;
  }

  /**
   * Adds the Birds that no earlier reading has listed. A reading of hundreds of Nests may take minutes, in which nothing
   * else would be known of them.
   */
  async #addNew({ readAtUs, serverTimeUs, seenNests, seenBirds }: ListedSoFar): Promise<void> {
    const { region, commit, birdsAdded } = this.#options;
    const added = [...seenBirds.values()].filter(({ birdId }) => !this.#birds.has(birdId));
    if (added.length === 0) return;
    const own = new Map(added.map(({ nestId }) => [nestId, seenNests.get(nestId)!]));
    const changes = await this.#changesOfNests(enteringNests(this.#nests, own), readAtUs);
    const nowUs = Math.min(readAtUs, serverTimeUs ?? readAtUs);
    for (const seen of added) {
      this.#addSeen(seen, { readAtUs, nowUs, nest: own.get(seen.nestId)!.name, hasAlert: false }, changes);
    }
    await commit({ region, ...changes });
    this.#keep(changes, own);
    birdsAdded();
  }

  /** Notes what was committed. */
  #keep({ nests, birds }: Changes, seenNests: ReadonlyMap<string, NestRecord>): void {
    for (const nest of nests) this.#nests.set(nest.nestId, nest);
    for (const nestId of seenNests.keys()) this.#leftOut.delete(nestId);
    for (const bird of birds) this.#birds.set(bird.birdId, bird);
  }

  /** Reads one Bird again because its status may have changed. */
  async pollBird(birdId: string): Promise<void> {
    const { region, client, commit, clock } = this.#options;
    const before = this.#birds.get(birdId);
    if (!before || !this.isWatched(birdId)) return;
    const readingsBefore = this.#readings;
    const readAtUs = clock.nowUs();
    const { value } = await client.getBird(before.nestId, birdId);
    if (!value.ok) return;
    // A reading of all Nests ended meanwhile. What it said about the Bird may be older or newer, so the Bird is read
    // again.
    if (this.#readings !== readingsBefore) return this.pollBird(birdId);
    this.#readAlone.add(birdId);
    const changes: Changes = { nests: [], birds: [], facts: [] };
    const seen = seenBird(region, value.entry, before.nestId);
    this.#addSeen(
      seen,
      { readAtUs, nowUs: readAtUs, nest: this.nest(before.nestId), hasAlert: true },
      changes,
    );
    const { birds, facts } = changes;
    await commit({ region, birds, facts });
    for (const bird of birds) this.#birds.set(birdId, bird);
  }

  async #openStream(): Promise<number> {
    const { region, store } = this.#options;
    if (this.#stream === 0) {
      this.#stream = (await store.transaction((tx) => tx.streams.open(region, 'inventory', ''))).stream;
    }
    return this.#stream;
  }

  /** The changes that a reading of all Nests makes: the records, and the facts that alerts wait for. */
  async #compare(reading: InventoryReading): Promise<Changes> {
    const { region, store } = this.#options;
    const { beganMs, readAtUs, serverTimeUs, seenNests, seenBirds, unread, malformed } = reading;
    const nowUs = Math.min(readAtUs, serverTimeUs ?? readAtUs);
    const nests = [...enteringNests(this.#nests, seenNests), ...goneNests(this.#nests, seenNests)];
    const changes = await this.#changesOfNests(nests, readAtUs);
    const alertScopes = new Set(await store.transaction((tx) => tx.alerts.scopes(region)));
    const isFirst = this.#readings === 0;
    const mayBeBack = ({ birdId, status }: SeenBird) =>
      status !== 'active' && (isFirst || this.#birds.get(birdId)?.present === false);
    const unwatched = seenBirds.values().some(mayBeBack) ? await endedUnwatched(store, region) : undefined;
    this.#readings += 1;
    this.#lastBeganMs = beganMs;
    this.#lastUnread = unread;
    // The facts must contain the names that this reading brought.
    const nameOf = (nestId: string) => seenNests.get(nestId)?.name ?? this.nest(nestId);
    for (const seen of seenBirds.values()) {
      if (this.#readAlone.has(seen.birdId)) continue;
      const hasAlert = alertScopes.has(birdScope(region, seen.birdId));
      const endedUnwatched = mayBeBack(seen) ? unwatched?.get(seen.birdId) : undefined;
      const nest = nameOf(seen.nestId);
      this.#addSeen(seen, { readAtUs, nowUs, nest, hasAlert, endedUnwatched }, changes);
    }
    this.#findVanished(reading, alertScopes, nameOf, changes);
    if (malformed.length + unread.size > 0) return changes;
    this.#findNeverSeen(reading, alertScopes, changes);
    // If something was malformed before, it is readable now.
    if (alertScopes.has(region)) {
      const drift = { fact: 'schema_drift', region, feed: 'inventory', count: 0, reason: '' } as const;
      changes.facts.push({ ...drift, atUs: readAtUs });
    }
    return changes;
  }

  async #changesOfNests(nests: NestRecord[], readAtUs: number): Promise<Changes> {
    const { region, store } = this.#options;
    return { nests, birds: [], facts: await connectionsLostBefore(store, region, nests, readAtUs) };
  }

  /** Adds what is new about a Bird that the service lists. */
  #addSeen(seen: SeenBird, { nowUs, ...context }: Seeing, changes: Changes): void {
    this.#missedOnce.delete(seen.birdId);
    const newsSinceUs = (wasExcluded: boolean) => this.#newcomers.newsSinceUs(nowUs, wasExcluded);
    const before = this.#birds.get(seen.birdId);
    const { bird, fact } = compareBird(before, seen, { ...context, newsSinceUs });
    if (bird) changes.birds.push(bird);
    if (fact) changes.facts.push(fact);
  }

  /** Adds the known Birds that two readings in a row lacked. */
  #findVanished(
    { readAtUs, seenBirds, unread }: InventoryReading,
    alertScopes: ReadonlySet<string>,
    nameOf: (nestId: string) => string,
    changes: Changes,
  ): void {
    const { region } = this.#options;
    for (const bird of this.#birds.values()) {
      if (seenBirds.has(bird.birdId) || unread.has(bird.nestId)) continue;
      const place = placeOf(bird, nameOf(bird.nestId));
      const isLeftOut = this.isExcluded(bird.nestId);
      const vanished: Fact = { fact: 'bird_vanished', place, readAtUs, isLeftOut };
      if (!bird.present) {
        // The service showed something about the Bird after it was gone, which raised an alert.
        if (alertScopes.has(birdScope(region, bird.birdId))) changes.facts.push(vanished);
        continue;
      }
      if (!isLeftOut && this.#isMissedFirst(bird.birdId)) continue;
      this.#missedOnce.delete(bird.birdId);
      changes.birds.push({ ...bird, present: false, ...(isLeftOut && { newsSinceUs: NO_NEWS_US }) });
      changes.facts.push(vanished);
    }
  }

  /** Adds Birds with alerts that came and went between two readings, so that no reading ever listed them. */
  #findNeverSeen(
    { readAtUs, seenBirds }: InventoryReading,
    alertScopes: ReadonlySet<string>,
    { facts }: Changes,
  ): void {
    const { region } = this.#options;
    const prefix = birdScope(region, '');
    for (const scope of alertScopes) {
      if (!scope.startsWith(prefix)) continue;
      const birdId = scope.slice(prefix.length);
      if (seenBirds.has(birdId) || this.#birds.has(birdId) || this.#isMissedFirst(birdId)) continue;
      const place = { region, nestId: '', nest: '', birdId, bird: '' };
      facts.push({ fact: 'bird_vanished', place, readAtUs });
    }
  }

  /**
   * Notes that a reading lacks the Bird. Returns whether the previous one did not, so that the Bird is not gone yet.
   */
  #isMissedFirst(birdId: string): boolean {
    if (this.#missedOnce.delete(birdId)) return false;
    this.#missedOnce.add(birdId);
    return true;
  }

  #observed(bird: BirdRecord): ObservedBird {
    const { nestId, birdId, name, status, triggerType } = bird;
    return { nestId, nest: this.nest(nestId), birdId, bird: name, status, triggerType };
  }
}
