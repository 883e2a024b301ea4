/**
 * Keeps the inventory of one region: its Nests and Birds. It finds which ones appeared, vanished, were renamed or
 * changed their status, and makes events of what changed, which are committed with the changed records. A Bird only
 * counts as gone when two readings in a row lack it, since a single truncated list must not end its alerts. But the Birds
 * of a Nest that the configuration excludes are gone at once. Nests whose Birds could not all be read stay as they were,
 * and whatever a list with malformed items lacks does not count as gone.
 */
import type { Event } from '../../domain/alert/event.ts';
import { birdScope, type Fact } from '../../domain/alert/fact.ts';
import type { NestwatchError } from '../../errors.ts';
import type { InventoryRead } from '../../region-progress.ts';
import type { ObservedBird } from '../../report.ts';
import type { Nest } from '../../service/resources.ts';
import {
  type BirdRecord,
  type ListedRecord,
  type NestRecord,
  NO_NEWS_US,
  placeOf,
} from '../../store/sql/watched/nests-and-birds.ts';
import type { Batch } from '../commit.ts';
import type { IntakeParts, Names } from '../parts.ts';
import {
  type ComparisonContext,
  compareBird,
  connectionsLostBefore,
  createNotice,
  endedUnwatched,
  enteringNests,
  eventsOfBird,
  goneNests,
  Newcomers,
  type Notice,
  type Noticing,
} from './compare-listed.ts';
import {
  InventoryReader,
  type InventoryReading,
  type ListedSoFar,
  type MemberBook,
  type NestGlobs,
  NestSelection,
  type SeenBird,
  seenBird,
} from './inventory-reading.ts';
import {
  isYoungerThan,
  ListedNests,
  type NestChanges,
  People,
  type ShownNest,
  type WantedPeople,
} from './listed-before.ts';

interface InventoryOptions extends Omit<IntakeParts, 'poll' | 'retentionMs' | 'random'> {
  readonly nests: NestGlobs;
  /** Present if a receiver notifies the members of Nests. */
  readonly members?: MemberBook | undefined;
  /** Of whom somebody wants to be told. */
  readonly wanted: WantedPeople;
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
  readonly noticed: Event[];
  readonly listed: ListedRecord[];
}

/** How a Bird was seen, and what is known of it besides. */
interface Seeing extends Omit<ComparisonContext, 'newsSinceUs'> {
  /** When it was seen, on our clock or on the service's, whichever is behind. */
  readonly nowUs: number;
  /** The Nests that began to exist with this reading. */
  readonly created: ReadonlySet<string>;
}

function noChanges(): Changes {
  return { nests: [], birds: [], facts: [], noticed: [], listed: [] };
}

export class Inventory implements Names {
  readonly #options: InventoryOptions;
  readonly #selection: NestSelection;
  readonly #reader: InventoryReader;
  readonly #newcomers: Newcomers;
  readonly #notice: Notice;
  readonly #listedNests: ListedNests;
  readonly #people: People;
  readonly #nests = new Map<string, NestRecord>();
  readonly #birds = new Map<string, BirdRecord>();
  /** Nests that an earlier run watched and the present configuration excludes, judged by their stored names. */
  readonly #leftOut = new Set<string>();
  /** Birds that the last reading lacked, and since when. */
  readonly #missedOnce = new Map<string, Noticing>();
  /** Birds read individually since the last complete reading began. That reading's lists may be older. */
  readonly #readAlone = new Set<string>();
  /** How many readings of all Nests were compared. */
  #readings = 0;
  /** When the last of them began, and which Nests it left out. */
  #lastBeganMs = Number.NEGATIVE_INFINITY;
  #lastUnread: ReadonlySet<string> = new Set();
  /** When each Nest's Birds were last read, and all Nests were last listed; before the first, by an earlier run. */
  readonly #readUs = new Map<string, number>();
  #listedUs = 0;
  #beforeUs = 0;
  /** Whether a Bird is younger than all that were known when the reading began. */
  #isYoungest: ((birdId: string) => boolean) | undefined;
  /** The last work that compares and commits. */
  #turn: Promise<unknown> = Promise.resolve();
  /** Whether a commit failed, which may have happened all the same. */
  #isStale = false;
  #trouble: NestwatchError | undefined;
  #read: InventoryRead | undefined;
  #wasKnown = false;
  /** The stream of malformed Nests and Birds; 0 before the first. */
  #stream = 0;

  constructor(options: InventoryOptions) {
    this.#options = options;
    this.#selection = new NestSelection(options.nests);
    const listedSoFar = (listed: ListedSoFar) => this.#inTurn(() => this.#addNew(listed));
    const reading = { selection: this.#selection, listedSoFar, asksUsers: options.wanted.users };
    this.#reader = new InventoryReader({ ...options, ...reading });
    this.#newcomers = new Newcomers(options);
    this.#notice = createNotice(options.region, () => options.clock.nowUs());
    this.#listedNests = new ListedNests(options.region, this.#notice);
    this.#people = new People(options.region, this.#notice, options.wanted);
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

  /** The last reading of all Nests; undefined before the first since the start. */
  read(): InventoryRead | undefined {
    return this.#read;
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
    return 1 + Math.max(1, this.nests().length) + Number(this.#options.wanted.users);
  }

  /** Whether an earlier run has stored Birds that are watched. */
  wasKnown(): boolean {
    return this.#wasKnown;
  }

  /** Loads what earlier runs have stored. */
  async load(): Promise<void> {
    await this.#newcomers.load();
    this.#beforeUs = this.#newcomers.wholeUs();
    await this.#restore();
    this.#wasKnown = this.birds().length > 0;
  }

  async #restore(): Promise<void> {
    const { region, store } = this.#options;
    await store.transaction(async (tx) => {
      const listed = await tx.inventory.listed(region);
      this.#listedNests.load(listed);
      this.#people.load(listed);
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
    this.#isStale = false;
  }

  /**
   * Reads all Nests and their Birds, and commits the differences. Throws what the service threw if no Nest could be
   * read. If only some could be read, `trouble` describes the others.
   */
  async poll(): Promise<void> {
    const { region, report } = this.#options;
    this.#trouble = undefined;
    this.#readAlone.clear();
    this.#isYoungest = undefined;
    this.#listedNests.begin(this.#nests.keys());
    const reading = await this.#reader.read(this.#nests);
    await this.#inTurn(async () => {
      const changes = await this.#compare(reading);
      if (reading.malformed.length > 0) {
        const stream = { stream: await this.#openStream(), feed: 'inventory' } as const;
        await this.#commit({ region, ...changes, stream, quarantined: reading.malformed });
      } else if (Object.values(changes).some((some) => some.length > 0)) {
        await this.#commit({ region, ...changes });
      }
      this.#keep(changes, reading.seenNests);
    });
    this.#listedUs = reading.readAtUs;
    for (const nestId of reading.seenNests.keys()) {
      if (!reading.unread.has(nestId)) this.#readUs.set(nestId, reading.readAtUs);
    }
    if (reading.unread.size + reading.malformed.length === 0)
      this.#newcomers.readWhole(reading.beganMs, reading.readAtUs);
    report({ what: 'inventory', region, birds: this.birds().map((bird) => this.#observed(bird)) });
    this.#trouble = reading.trouble;
    this.#read = { atUs: reading.readAtUs, unread: [...reading.unread, ...(reading.isWhole ? [] : [''])] };
  }

  /** Runs it after what began before, so that nothing is compared with what is about to change. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(async () => {
      if (this.#isStale) await this.#restore();
      return work();
    });
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async #commit(batch: Batch): Promise<void> {
    this.#isStale = true;
    await this.#options.commit(batch);
    this.#isStale = false;
  }

  /**
   * Adds the Birds that no earlier reading has listed. A reading of hundreds of Nests may take minutes, in which nothing
   * else would be known of them.
   */
  async #addNew({ readAtUs, serverTimeUs, listed, seenNests, seenBirds }: ListedSoFar): Promise<void> {
    const { region, birdsAdded } = this.#options;
    const added = [...seenBirds.values()].filter(({ birdId }) => !this.#birds.has(birdId));
    if (added.length === 0) return;
    const own = new Map(added.map(({ nestId }) => [nestId, seenNests.get(nestId)!]));
    const changes = await this.#changesOfNests(enteringNests(this.#nests, own), readAtUs);
    const shown = listed.filter(({ id }) => own.has(id)).map((nest) => this.#shown(nest, true));
    const { created } = this.#compareNests(shown, readAtUs, false, changes);
    const nowUs = Math.min(readAtUs, serverTimeUs ?? readAtUs);
    for (const seen of added) {
      const nest = own.get(seen.nestId)!.name;
      this.#addSeen(seen, { readAtUs, nowUs, nest, hasAlert: false, created }, changes);
    }
    await this.#commit({ region, ...changes });
    this.#keep(changes, own);
    birdsAdded();
  }

  /** Notes what was committed. */
  #keep({ nests, birds, listed }: Changes, seenNests: ReadonlyMap<string, NestRecord>): void {
    for (const nest of nests) this.#nests.set(nest.nestId, nest);
    for (const nestId of seenNests.keys()) this.#leftOut.delete(nestId);
    for (const bird of birds) this.#birds.set(bird.birdId, bird);
    this.#listedNests.keep(listed);
    this.#people.keep(listed);
  }

  /** Reads one Bird again because its status may have changed. */
  async pollBird(birdId: string): Promise<void> {
    const { region, client, clock } = this.#options;
    const before = this.#birds.get(birdId);
    if (!before || !this.isWatched(birdId)) return;
    const readingsBefore = this.#readings;
    const readAtUs = clock.nowUs();
    const { value } = await client.getBird(before.nestId, birdId);
    if (!value.ok) return;
    const isCompared = await this.#inTurn(async () => {
      if (this.#readings !== readingsBefore) return false;
      this.#readAlone.add(birdId);
      const changes = noChanges();
      const seen = seenBird(region, value.entry, before.nestId);
      const nest = this.nest(before.nestId);
      this.#addSeen(seen, { readAtUs, nowUs: readAtUs, nest, hasAlert: true, created: new Set() }, changes);
      await this.#commit({ region, ...changes });
      for (const bird of changes.birds) this.#birds.set(birdId, bird);
      return true;
    });
    // A reading of all Nests ended meanwhile. What it said about the Bird may be older or newer, so the Bird is read
    // again.
    if (!isCompared) await this.pollBird(birdId);
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
    const created = this.#compareLists(reading, changes);
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
      this.#addSeen(seen, { readAtUs, nowUs, nest, hasAlert, endedUnwatched, created }, changes);
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
    const facts = await connectionsLostBefore(store, region, nests, readAtUs);
    return { ...noChanges(), nests, facts };
  }

  #shown({ id, name }: Pick<Nest, 'id' | 'name'>, isRead: boolean): ShownNest {
    return { nestId: id, name, isWatched: this.#selection.isWatched({ id, name }), isRead };
  }

  /** Adds what is new about Nests themselves. */
  #compareNests(shown: ShownNest[], atUs: number, isWhole: boolean, changes: Changes): NestChanges {
    const noticing = { atUs, sinceUs: this.#listedUs || this.#beforeUs };
    const nests = this.#listedNests.compare(shown, this.#nests, noticing, isWhole);
    changes.noticed.push(...nests.events);
    changes.listed.push(...nests.records);
    return nests;
  }

  /** Adds what the lists of Nests, with their members, and of Users say. Returns the Nests that were created. */
  #compareLists(reading: InventoryReading, changes: Changes): ReadonlySet<string> {
    const { readAtUs, listed, isWhole, users, seenNests, unread } = reading;
    const shown = listed.map((nest) => this.#shown(nest, seenNests.has(nest.id) && !unread.has(nest.id)));
    const { created, gone } = this.#compareNests(shown, readAtUs, isWhole, changes);
    const nests = listed.filter((nest) => this.#selection.isWatched(nest));
    const left = [...shown.filter(({ isWatched }) => !isWatched).map(({ nestId }) => nestId), ...gone];
    const noticing = { atUs: readAtUs, sinceUs: this.#listedUs || this.#beforeUs };
    const people = this.#people.compare({ nests, users, created, left }, noticing);
    changes.noticed.push(...people.events);
    changes.listed.push(...people.records);
    return created;
  }

  /** Adds what is new about a Bird that the service lists. */
  #addSeen(seen: SeenBird, { nowUs, created, ...context }: Seeing, changes: Changes): void {
    this.#missedOnce.delete(seen.birdId);
    const newsSinceUs = (wasExcluded: boolean) => this.#newcomers.newsSinceUs(nowUs, wasExcluded);
    const before = this.#birds.get(seen.birdId);
    const { bird, fact } = compareBird(before, seen, { ...context, newsSinceUs });
    if (fact) changes.facts.push(fact);
    if (!bird) return;
    changes.birds.push(bird);
    const isListedNew = created.has(bird.nestId) || this.#listedNests.isRead(bird.nestId);
    const nameOf = (nestId: string) => (nestId === bird.nestId ? context.nest : this.nest(nestId));
    const isNew = isListedNew && !before && this.#isFromElsewhere(bird.birdId) ? 'moved' : isListedNew;
    const noticing = { atUs: context.readAtUs, sinceUs: this.#sinceUs(before?.nestId ?? bird.nestId) };
    changes.noticed.push(...eventsOfBird(before, bird, { notice: this.#notice, nameOf, isNew, ...noticing }));
  }

  #sinceUs(nestId: string): number {
    return this.#readUs.get(nestId) ?? this.#beforeUs;
  }

  /** Whether a Bird that is seen for the first time existed before, in a Nest that was not read. */
  #isFromElsewhere(birdId: string): boolean {
    if (!this.#listedNests.hasUnread()) return false;
    this.#isYoungest ??= isYoungerThan([...this.#birds.keys()]);
    return !this.#isYoungest(birdId);
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
      const noticing = { atUs: readAtUs, sinceUs: this.#sinceUs(bird.nestId) };
      const since = isLeftOut ? noticing : this.#missedSince(bird.birdId, noticing);
      if (!since) continue;
      this.#missedOnce.delete(bird.birdId);
      if (!isLeftOut && this.isWatched(bird.birdId))
        changes.noticed.push(this.#notice({ change: 'bird_gone', ...place, ...since }));
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
      if (seenBirds.has(birdId) || this.#birds.has(birdId)) continue;
      if (!this.#missedSince(birdId, { atUs: readAtUs, sinceUs: 0 })) continue;
      const place = { region, nestId: '', nest: '', birdId, bird: '' };
      facts.push({ fact: 'bird_vanished', place, readAtUs });
    }
  }

  /** Since when the Bird is missing; undefined, and noted, if the previous reading did not lack it: it is not gone yet. */
  #missedSince(birdId: string, noticing: Noticing): Noticing | undefined {
    const since = this.#missedOnce.get(birdId);
    if (since) this.#missedOnce.delete(birdId);
    else this.#missedOnce.set(birdId, noticing);
    return since;
  }

  #observed(bird: BirdRecord): ObservedBird {
    const { nestId, birdId, name, status, triggerType } = bird;
    return { nestId, nest: this.nest(nestId), birdId, bird: name, status, triggerType };
  }
}
