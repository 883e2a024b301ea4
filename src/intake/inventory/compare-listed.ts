/** Compares what two readings list: records that change, facts for alerts, and events with a message for people. */
import { createHash } from 'node:crypto';
import { type EVENT_TYPES, type Event, NEST_EXCLUDED } from '../../domain/alert/event.ts';
import type { Fact } from '../../domain/alert/fact.ts';
import { birdDeactivated } from '../../domain/kinds/bird-deactivated.ts';
import { DISCONNECTED } from '../../domain/kinds/connection-disconnected.ts';
import type { User } from '../../service/resources.ts';
import {
  type BirdRecord,
  type NestRecord,
  NO_NEWS_US,
  placeOf,
} from '../../store/sql/watched/nests-and-birds.ts';
import type { Store } from '../../store/store.ts';
import { dayAndTime } from '../../text/instant-words.ts';
import { plainText } from '../../text/plain-text.ts';
import { formatInstant } from '../../time/instant.ts';
import type { IntakeParts } from '../parts.ts';
import type { SeenBird } from './inventory-reading.ts';

export interface ComparisonContext {
  /** The name of its Nest. */
  readonly nest: string;
  readonly hasAlert: boolean;
  /** When the reading began, by our clock. */
  readonly readAtUs: number;
  /** Since when its events are news if it comes to be watched now (`Newcomers`). */
  readonly newsSinceUs: (wasExcluded: boolean) => number | undefined;
  /** The severity of an alert about it that ended only because it was no longer watched (`endedUnwatched`). */
  readonly endedUnwatched?: string | undefined;
}

/**
 * What is new about a Bird that the service lists: its record if that changes, and its status as a fact if that changes
 * or the Bird has alerts. `before` is its record so far.
 */
export function compareBird(
  before: BirdRecord | undefined,
  seen: SeenBird,
  { nest, hasAlert, readAtUs, newsSinceUs, endedUnwatched }: ComparisonContext,
): { readonly bird?: BirdRecord; readonly fact?: Fact } {
  // What an answer leaves out does not change.
  const name = seen.name || (before?.name ?? '');
  const status = seen.status || (before?.status ?? '');
  const triggerType = seen.triggerType || (before?.triggerType ?? '');
  const isPublished = seen.isPublished ?? before?.isPublished;
  const sameStatus = before?.present === true && before.status === status;
  const statusSinceUs = sameStatus ? before.statusSinceUs : readAtUs;
  const hasFirstStatus = sameStatus ? before.hasFirstStatus === true : before === undefined;
  const isBack = before !== undefined && !before.present && before.newsSinceUs === NO_NEWS_US;
  const { region, birdId, nestId } = seen;
  // Written out in full: V8 needs twice the memory for a copy with added properties, and there may be tens of
  // thousands.
  const bird: BirdRecord = {
    region,
    birdId,
    nestId,
    name,
    status,
    triggerType,
    isPublished,
    present: true,
    statusSinceUs,
    hasFirstStatus,
    newsSinceUs: before && !isBack ? before.newsSinceUs : newsSinceUs(isBack),
  };
  const isSame =
    sameStatus &&
    before.name === name &&
    before.nestId === nestId &&
    before.triggerType === triggerType &&
    before.isPublished === isPublished;
  const change = isSame ? {} : { bird };
  if (seen.status === '' || (sameStatus && !hasAlert && endedUnwatched === undefined)) return change;
  // What was switched off while its Nest was excluded is off now.
  const isChanged = before !== undefined && (before.present || isBack) && before.status !== status;
  const previous = isChanged ? before.status : undefined;
  return {
    ...change,
    fact: { fact: 'bird_status', place: placeOf(bird, nest), status, previous, endedUnwatched, readAtUs },
  };
}

interface BirdContext extends Noticing {
  readonly notice: Notice;
  /** The name of a Nest. */
  readonly nameOf: (nestId: string) => string;
  /** Whether it began to exist, rather than to be watched; `moved` if it came out of a Nest that is not. */
  readonly isNew: boolean | 'moved';
}

/** The events about a Bird whose record changes. */
export function eventsOfBird(
  before: BirdRecord | undefined,
  bird: BirdRecord,
  { notice, nameOf, isNew, ...noticing }: BirdContext,
): Event[] {
  const { birdId, name, nestId, triggerType, isPublished } = bird;
  const nest = nameOf(nestId);
  const about = { nestId, nest, birdId, bird: name, ...noticing };
  const isListed = !before?.present;
  if (isListed && (!isNew || before?.newsSinceUs === NO_NEWS_US)) return [];
  if (isNew === 'moved' && !before) return [notice({ change: 'bird_moved', after: nest, ...about })];
  const listed = isListed ? [notice({ change: 'bird_created', isBack: before !== undefined, ...about })] : [];
  if (!before) return listed;
  const changed = (change: 'bird_renamed' | 'bird_trigger_changed', one: string, other: string) =>
    one === '' || one === other ? [] : [notice({ change, before: one, after: other, ...about })];
  const isSwitched = before.isPublished !== undefined && before.isPublished !== isPublished;
  return [
    ...listed,
    ...(before.nestId === nestId
      ? []
      : [notice({ change: 'bird_moved', before: nameOf(before.nestId), after: nest, ...about })]),
    ...changed('bird_renamed', before.name, name),
    ...changed('bird_trigger_changed', before.triggerType, triggerType),
    ...(isSwitched
      ? [notice({ change: isPublished ? 'bird_published' : 'bird_unpublished', ...about })]
      : []),
  ];
}

type Nests = ReadonlyMap<string, NestRecord>;

/** The listed Nests that come to be watched, or have another name. */
export function enteringNests(known: Nests, listed: Nests): NestRecord[] {
  return [...listed.values()].filter((nest) => {
    const before = known.get(nest.nestId);
    return !before?.present || before.name !== nest.name;
  });
}

/** The known Nests that a complete list lacks, as no longer present. */
export function goneNests(known: Nests, listed: Nests): NestRecord[] {
  return [...known.values()]
    .filter((nest) => nest.present && !listed.has(nest.nestId))
    .map((nest) => ({ ...nest, present: false }));
}

type InventoryType = (typeof EVENT_TYPES)['inventory'][number];
type Change = InventoryType extends `inventory.${infer change}` ? change : never;

/** When a change was noticed, by our clock. */
export interface Noticing {
  /** When the reading began that first showed it. */
  readonly atUs: number;
  /** When the reading before it began; 0 if that is not known. */
  readonly sinceUs: number;
}

export type Person = Pick<User, 'id' | 'email' | 'firstName' | 'lastName'>;

interface Noticed extends Noticing {
  readonly change: Change;
  readonly nestId?: string;
  readonly nest?: string;
  readonly birdId?: string;
  readonly bird?: string;
  readonly person?: Person;
  readonly before?: string;
  readonly after?: string;
  /** Whether it was listed before, and was gone. */
  readonly isBack?: boolean;
}

/** Makes the events of one region. */
export type Notice = (noticed: Noticed) => Event;

export function createNotice(region: string, nowUs: () => number): Notice {
  return (noticed) => {
    const { change, atUs, nestId = '', nest = '', birdId = '', bird = '', person, before, after } = noticed;
    const sinceUs = Math.min(noticed.sinceUs, atUs);
    const identity = [change, nestId, birdId, person?.id ?? '', before ?? '', after ?? '', atUs];
    const hash = createHash('sha256').update(JSON.stringify(identity)).digest('hex').slice(0, 32);
    return {
      key: `${region}/inventory/${hash}`,
      region,
      feed: 'inventory',
      type: `inventory.${change}`,
      occurredAt: formatInstant(atUs),
      occurredAtUs: atUs,
      observedAtUs: nowUs(),
      nestId,
      nest,
      birdId,
      bird,
      message: messageOf({ ...noticed, sinceUs }),
      attributes: {
        ...(sinceUs > 0 && { noticed_since: formatInstant(sinceUs) }),
        ...(person && { user_id: person.id }),
        ...(person?.email && { email: person.email }),
        ...(person && nameOf(person) && { name: nameOf(person) }),
        ...(before && { before }),
        ...(after && { after }),
      },
    };
  };
}

/** A name as long as this leaves room for what happened. */
const NAME_CODE_POINTS = 80;

function messageOf(noticed: Noticed): string {
  const { change, nestId, birdId, person, isBack, atUs, sinceUs } = noticed;
  const short = (name = '') => plainText(name, NAME_CODE_POINTS);
  const [before, after] = [short(noticed.before), short(noticed.after)];
  const nest = short(noticed.nest) || `Nest ${nestId}`;
  const bird = short(noticed.bird) || `Bird ${birdId}`;
  const who = person ? short(person.email) || short(nameOf(person)) || person.id : '';
  const [since, at] = [dayAndTime(sinceUs), dayAndTime(atUs)];
  const when = sinceUs === 0 ? '' : since === at ? ` at ${at}` : ` between ${since} and ${at}`;
  switch (change) {
    case 'nest_created':
      return isBack ? `${nest} is listed again` : `${nest} was created`;
    case 'nest_gone':
      return `${nest} is no longer listed`;
    case 'nest_renamed':
      return `Nest renamed from "${before}" to "${after}"`;
    case 'bird_created':
      return isBack ? `${bird} is listed again, in ${nest}` : `${bird} was created in ${nest}`;
    case 'bird_gone':
      return `${bird} is no longer listed in ${nest}`;
    case 'bird_moved':
      return before
        ? `${bird} moved from ${before} to ${after}`
        : `${bird} moved to ${after} from a Nest that is not watched`;
    case 'bird_renamed':
      return `Bird renamed from "${before}" to "${after}"`;
    case 'bird_trigger_changed':
      return `Trigger of ${bird} changed from ${before} to ${after}`;
    case 'bird_published':
      return `${bird} is published`;
    case 'bird_unpublished':
      return `${bird} is no longer published`;
    case 'member_added':
      return `${who} became a member of ${nest}${when}. The interface does not say who added them.`;
    case 'member_removed':
      return `${who} is no longer a member of ${nest}`;
    case 'user_deactivated':
      return `User ${who} was deactivated`;
    case 'user_activated':
      return `User ${who} was activated`;
  }
}

function nameOf({ firstName, lastName }: Person): string {
  return `${firstName} ${lastName}`.trim();
}

// Determines, for each Bird that comes to be watched later than its region, since when its events are news. An earlier
// complete reading of the inventory lacked such a Bird. It did not exist then, or it was not watched, for example
// because `nests.include` was narrower or the token was allowed less. So what happened before that reading is history,
// like what happened before a first start. For a Bird that is really new everything is news, since nothing happened to
// it before. The same goes for a Bird whose Nest was excluded for a while.

type NewcomersOptions = Pick<IntakeParts, 'region' | 'store' | 'clock'>;

/** The reading may have lacked an existing Bird, because the service listed it late or truncated the list. */
const MARGIN_US = 3_600_000_000;

export class Newcomers {
  readonly #options: NewcomersOptions;
  /**
   * When the last complete reading began; undefined before the first one ever. It is kept on both clocks: the
   * monotonic clock stops while the machine sleeps, and the wall clock may be set.
   */
  #whole: { readonly beganMs: number; readonly beganUs: number } | undefined;

  constructor(options: NewcomersOptions) {
    this.#options = options;
  }

  /** Loads when an earlier run read the inventory. */
  async load(): Promise<void> {
    const { region, store, clock } = this.#options;
    const reads = await store.transaction((tx) => tx.streams.reads(region));
    const readUs = reads.find(({ feed }) => feed === 'inventory')?.readUs ?? 0;
    if (readUs > 0) this.readWhole(clock.monotonicMs(), readUs);
  }

  /**
   * Since when events are news of a Bird that is listed for the first time now, on the service's clock; undefined if
   * that is as long as its region is watched. `nowUs` is the current time by the service's clock or ours, whichever is
   * behind: one of them may be wrong, and news must not be taken for history. `wasExcluded`: its Nest is known to have
   * been excluded until now.
   */
  newsSinceUs(nowUs: number, wasExcluded = false): number | undefined {
    if (this.#whole === undefined) return undefined;
    const { clock } = this.#options;
    const { beganMs, beganUs } = this.#whole;
    const agoUs = Math.round(Math.max((clock.monotonicMs() - beganMs) * 1000, clock.nowUs() - beganUs));
    return nowUs - agoUs - (wasExcluded ? 0 : MARGIN_US);
  }

  /** When the last reading that left nothing out began, on our clock; 0 before the first one ever. */
  wholeUs(): number {
    return this.#whole?.beganUs ?? 0;
  }

  /** A reading that began then left nothing out. */
  readWhole(beganMs: number, beganUs: number): void {
    this.#whole = { beganMs, beganUs };
  }
}

// What the service said, or alerts knew, of what was not watched for a while.

/**
 * The Birds whose last BirdDeactivated ended because they, or their whole region, were no longer watched: its severity
 * by the Bird's id. For those that are still off nothing else would say so.
 */
export async function endedUnwatched(store: Store, region: string): Promise<ReadonlyMap<string, string>> {
  return store.transaction(async (tx) => {
    const episodes = await tx.alerts.lastEpisodes(birdDeactivated.name, region);
    const alerts = await tx.alerts.ofKinds([birdDeactivated.name], region);
    const firing = new Set(alerts.flatMap(({ id, state }) => (state === 'firing' ? [id] : [])));
    const last = new Map<string, (typeof episodes)[number]>();
    for (const episode of episodes.toSorted((a, b) => a.endsAtUs - b.endsAtUs))
      last.set(episode.labels.bird_id ?? '', episode);
    return new Map(
      [...last].flatMap(([birdId, { alertId, ending, labels }]) =>
        ending === 'gone' && !firing.has(alertId) ? [[birdId, labels.severity ?? '']] : [],
      ),
    );
  });
}

/** How far back, and how many, notifications of lost connections are looked at. */
const LOOKBACK_US = 7 * 86_400_000_000;
const MAX_EVENTS = 1_000;

/**
 * The lost connections that the service reported of Nests while they were excluded, as history. `changed` are the Nests
 * that a reading changes: those of them that are present now come to be watched, and nothing else would say which
 * connections are still lost.
 */
export async function connectionsLostBefore(
  store: Store,
  region: string,
  changed: readonly NestRecord[],
  nowUs: number,
): Promise<Fact[]> {
  const entering = new Set(changed.flatMap(({ nestId, present }) => (present ? [nestId] : [])));
  if (entering.size === 0) return [];
  const query = { region, type: DISCONNECTED, sinceUs: nowUs - LOOKBACK_US, limit: MAX_EVENTS };
  const { events } = await store.transaction((tx) => tx.events.page(query));
  return events
    .filter(({ nestId, attributes }) => entering.has(nestId) && attributes[NEST_EXCLUDED] === true)
    .map((event): Fact => ({ fact: 'event', event, historic: true }))
    .toReversed();
}
