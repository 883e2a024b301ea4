import type { Event } from '../../domain/alert/event.ts';
import type { Fact, Place } from '../../domain/alert/fact.ts';
import { type BirdRecord, type NestRecord, NO_NEWS_US } from '../../store/inventory-store.ts';
import type { Notice, Noticing } from './inventory-events.ts';
import type { SeenBird } from './inventory-reading.ts';

export interface ComparisonContext {
  /** The name of its Nest. */
  readonly nest: string;
  readonly hasAlert: boolean;
  /** When the reading began, by our clock. */
  readonly readAtUs: number;
  /** Since when its events are news if it comes to be watched now (`newcomers.ts`). */
  readonly newsSinceUs: (wasExcluded: boolean) => number | undefined;
  /** The severity of an alert about it that ended only because it was no longer watched (`unwatched-before.ts`). */
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
  if (!before?.present) {
    if (!isNew || before?.newsSinceUs === NO_NEWS_US) return [];
    if (isNew === 'moved' && !before) return [notice({ change: 'bird_moved', after: nest, ...about })];
    return [notice({ change: 'bird_created', isBack: before !== undefined, ...about })];
  }
  const changed = (change: 'bird_renamed' | 'bird_trigger_changed', one: string, other: string) =>
    one === '' || one === other ? [] : [notice({ change, before: one, after: other, ...about })];
  const isSwitched = before.isPublished !== undefined && before.isPublished !== isPublished;
  return [
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

export function placeOf(bird: BirdRecord, nest: string): Place {
  return { region: bird.region, nestId: bird.nestId, nest, birdId: bird.birdId, bird: bird.name };
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
