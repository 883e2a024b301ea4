/**
 * Knows which Nests the service listed before, watched or not, and so which are new. What only now comes to be watched
 * did not happen now and makes no event:
 *
 * - A Nest is *created* if the service's list lacked it before, where excluded Nests are listed too, and if its id is
 *   greater than all known ones: the service numbers Nests in the order of their creation, so an older one comes into
 *   sight by a new right of the token. Before a first whole list nothing is created.
 * - A Bird is *created* if it is new in a Nest that was created just now, or whose Birds were listed before. Those of a
 *   Nest that was excluded or refused so far are only new to us. While there is such a Nest, a Bird whose id is not
 *   greater than all known ones was moved out of it.
 * - What was told as gone and is listed again is told as created. The service does not say whether it was deleted, or a
 *   right was withdrawn.
 */

import type { Forward } from '../../config/sections/forward-section.ts';
import { type Event, MEMBER_TYPES, USER_TYPES } from '../../domain/alert/event.ts';
import type { Rule } from '../../domain/alert/rule.ts';
import type { Matcher } from '../../domain/matchers/matcher.ts';
import type { Nest, User } from '../../service/resources.ts';
import type { ListedRecord, NestRecord } from '../../store/sql/watched/nests-and-birds.ts';
import type { Notice, Noticing, Person } from './compare-listed.ts';

/** `unwatched`: excluded by the configuration; `listed`: its Birds were never listed; `read`: they were. */
type Standing = 'unwatched' | 'listed' | 'read';

/** A Nest as a reading shows it. */
export interface ShownNest {
  readonly nestId: string;
  readonly name: string;
  readonly isWatched: boolean;
  /** Whether all its Birds could be listed. */
  readonly isRead: boolean;
}

export interface NestChanges {
  readonly events: readonly Event[];
  readonly records: readonly ListedRecord[];
  readonly created: ReadonlySet<string>;
  /** Nests that are not known any more. */
  readonly gone: readonly string[];
}

/** Its row says that a whole list of Nests was read. */
const WHOLE = '';

export class ListedNests {
  readonly #region: string;
  readonly #notice: Notice;
  readonly #standings = new Map<string, Standing>();
  /** Since when a Nest is missing, if only the last reading lacked it. */
  readonly #missed = new Map<string, Noticing>();

  #isYoungest: (nestId: string) => boolean = () => true;

  constructor(region: string, notice: Notice) {
    this.#region = region;
    this.#notice = notice;
  }

  /** Begins with what was committed. */
  load(records: readonly ListedRecord[]): void {
    this.#standings.clear();
    this.#missed.clear();
    this.keep(records);
  }

  /** Notes what was committed. */
  keep(records: readonly ListedRecord[]): void {
    for (const { sort, id, said } of records) {
      if (sort !== 'nest') continue;
      if (said === undefined) this.#standings.delete(id);
      else this.#standings.set(id, said as Standing);
    }
  }

  /** Begins a reading, before which these Nests were watched once. */
  begin(known: Iterable<string>): void {
    this.#isYoungest = isYoungerThan([...this.#standings.keys(), ...known]);
  }

  /** Whether the Nest's Birds were listed before, so that others are new. */
  isRead(nestId: string): boolean {
    return this.#standings.get(nestId) === 'read';
  }

  /** Whether a Bird may come from a Nest that was not read. */
  hasUnread(): boolean {
    return this.#standings.entries().some(([id, standing]) => id !== WHOLE && standing !== 'read');
  }

  /**
   * The changes of these Nests. `known` are the records of watched ones; `isWhole`: there are no others, so one that two
   * readings in a row lack is gone.
   */
  compare(
    shown: Iterable<ShownNest>,
    known: ReadonlyMap<string, NestRecord>,
    noticing: Noticing,
    isWhole: boolean,
  ): NestChanges {
    const events: Event[] = [];
    const records: ListedRecord[] = [];
    const created = new Set<string>();
    const listed = new Set([WHOLE]);
    const gone: string[] = [];
    const record = (id: string, said: Standing | undefined) => {
      if (this.#standings.get(id) !== said) records.push({ region: this.#region, sort: 'nest', id, said });
    };
    for (const { nestId, name, isWatched, isRead } of shown) {
      listed.add(nestId);
      const standing = this.#standings.get(nestId);
      const before = known.get(nestId);
      const isBack = before !== undefined;
      const isNew =
        standing === undefined && this.#standings.has(WHOLE) && (isBack || this.#isYoungest(nestId));
      if (isNew && isWatched) {
        created.add(nestId);
        events.push(this.#notice({ change: 'nest_created', nestId, nest: name, isBack, ...noticing }));
      }
      const isRenamed = before && before.name !== '' && before.name !== name && name !== '';
      if (isRenamed && isWatched && standing !== undefined && standing !== 'unwatched') {
        const names = { nest: name, before: before.name, after: name };
        events.push(this.#notice({ change: 'nest_renamed', nestId, ...names, ...noticing }));
      }
      // Of a Nest that was created, every Bird is new, also if they cannot be listed yet.
      const isKnown = isRead || standing === 'read' || created.has(nestId);
      record(nestId, !isWatched ? 'unwatched' : isKnown ? 'read' : 'listed');
    }
    if (isWhole) {
      for (const nestId of listed) this.#missed.delete(nestId);
      for (const [nestId, standing] of this.#standings) {
        const since = this.#missed.get(nestId);
        if (!since && !listed.has(nestId)) this.#missed.set(nestId, noticing);
        if (!since) continue;
        const nest = known.get(nestId)?.name ?? '';
        if (standing !== 'unwatched')
          events.push(this.#notice({ change: 'nest_gone', nestId, nest, ...since }));
        gone.push(nestId);
        record(nestId, undefined);
      }
      record(WHOLE, 'listed');
    }
    return { events, records, created, gone };
  }
}

/** Whether an id is greater than all of these; true if ids are no numbers, which says nothing of their order. */
export function isYoungerThan(ids: readonly string[]): (id: string) => boolean {
  const numbers = ids.filter((id) => NUMBER.test(id)).map(BigInt);
  const greatest = numbers.sort((one, other) => Number(one - other)).at(-1) ?? -1n;
  return (id) => !NUMBER.test(id) || BigInt(id) > greatest;
}

const NUMBER = /^\d{1,19}$/;

// Compares the members of Nests and the Users with what the service listed before, if somebody wants to be told. Who is
// listed for the first time, in a Nest whose members were not read before, has not just come. A member is gone when two
// lists in a row lack them. What nobody wants is forgotten, so that it begins anew.

/** Whose changes somebody is to be told of. */
export interface WantedPeople {
  readonly members: boolean;
  readonly users: boolean;
}

/** Of whom the configuration asks to be told: rules on events, and what is forwarded. */
export function wantedPeople(rules: readonly Rule[], forward: readonly Forward[]): WantedPeople {
  const asking = [
    ...forward.map(({ matchers }) => matchers),
    ...rules.filter(({ kind }) => (kind as string) === 'EventMatched').map(({ match }) => match),
  ];
  const isWanted = (type: string) => {
    const known = new Map([
      ['feed', 'inventory'],
      ['type', type],
    ]);
    const mayFit = (one: Matcher) => !known.has(one.name) || one.matches(Object.fromEntries(known));
    return asking.some((matchers) => matchers.every(mayFit));
  };
  return { members: MEMBER_TYPES.some(isWanted), users: USER_TYPES.some(isWanted) };
}

interface PeopleListed {
  /** The watched Nests. */
  readonly nests: readonly Nest[];
  /** Undefined if they were not asked for, or not answered. */
  readonly users: readonly User[] | undefined;
  /** Nests that began to exist with this reading, so that all their members are new. */
  readonly created: ReadonlySet<string>;
  /** Nests that are not watched any more, or gone. */
  readonly left: Iterable<string>;
}

export class People {
  readonly #region: string;
  readonly #notice: Notice;
  readonly #wanted: WantedPeople;
  /** What was committed, by sort and id. */
  readonly #said = { member: new Map<string, string>(), user: new Map<string, string>() };
  /** Since when members are missing, if only the last list lacked them; by Nest and id. */
  #missed = new Map<string, Noticing>();

  constructor(region: string, notice: Notice, wanted: WantedPeople) {
    this.#region = region;
    this.#notice = notice;
    this.#wanted = wanted;
  }

  load(records: readonly ListedRecord[]): void {
    this.#said.member.clear();
    this.#said.user.clear();
    this.#missed.clear();
    this.keep(records);
  }

  /** Notes what was committed. */
  keep(records: readonly ListedRecord[]): void {
    for (const { sort, id, said } of records) {
      if (sort === 'nest') continue;
      if (said === undefined) this.#said[sort].delete(id);
      else this.#said[sort].set(id, said);
    }
  }

  compare(
    { nests, users, created, left }: PeopleListed,
    noticing: Noticing,
  ): Pick<NestChanges, 'events' | 'records'> {
    const events: Event[] = [];
    const records: ListedRecord[] = [];
    const record = (sort: 'member' | 'user', id: string, said: string | undefined) => {
      if (this.#said[sort].get(id) !== said) records.push({ region: this.#region, sort, id, said });
    };
    if (!this.#wanted.users) for (const id of this.#said.user.keys()) record('user', id, undefined);
    for (const user of users ?? []) {
      if (user.isActive === undefined) continue;
      const said = user.isActive ? 'active' : 'inactive';
      const before = this.#said.user.get(user.id);
      const change = user.isActive ? 'user_activated' : 'user_deactivated';
      if (before !== undefined && before !== said)
        events.push(this.#notice({ change, person: user, ...noticing }));
      record('user', user.id, said);
    }
    const gone = this.#wanted.members ? left : this.#said.member.keys();
    for (const nestId of gone) record('member', nestId, undefined);
    const missed = new Map<string, Noticing>();
    for (const nest of this.#wanted.members ? nests : []) {
      const before = this.#said.member.get(nest.id);
      const members = new Map(nest.members.map((one) => [one.id, one]));
      if (before === undefined && (nest.lacksMembers || !created.has(nest.id))) {
        if (!nest.lacksMembers) record('member', nest.id, saidOf(members.values()));
        continue;
      }
      const known = new Map(membersOf(before ?? '[]').map((one) => [one.id, one]));
      const place = { nestId: nest.id, nest: nest.name };
      for (const person of members.values()) {
        if (!known.has(person.id))
          events.push(this.#notice({ change: 'member_added', person, ...place, ...noticing }));
      }
      for (const person of known.values()) {
        if (members.has(person.id)) continue;
        const key = `${nest.id}/${person.id}`;
        const since = this.#missed.get(key);
        if (since && !nest.lacksMembers) {
          events.push(this.#notice({ change: 'member_removed', person, ...place, ...since }));
          continue;
        }
        members.set(person.id, { ...person, isActive: undefined });
        if (since || !nest.lacksMembers) missed.set(key, since ?? noticing);
      }
      record('member', nest.id, saidOf(members.values()));
    }
    this.#missed = missed;
    return { events, records };
  }
}

/** In the order of their ids, so that another order of the list is no change. */
function saidOf(members: Iterable<Person>): string {
  const rows = [...members].map(({ id, email, firstName, lastName }) => [id, email, firstName, lastName]);
  return JSON.stringify(rows.toSorted(([one = ''], [other = '']) => (one < other ? -1 : 1)));
}

function membersOf(said: string): Person[] {
  const rows = JSON.parse(said) as readonly (readonly [string, string, string, string])[];
  return rows.map(([id, email, firstName, lastName]) => ({ id, email, firstName, lastName }));
}
