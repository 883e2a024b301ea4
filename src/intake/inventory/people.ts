/**
 * Compares the members of Nests and the Users with what the service listed before, if somebody wants to be told. Who is
 * listed for the first time, in a Nest whose members were not read before, has not just come. A member is gone when two
 * lists in a row lack them. What nobody wants is forgotten, so that it begins anew.
 */
import type { Forward } from '../../config/sections/forward-section.ts';
import { type Event, MEMBER_TYPES, USER_TYPES } from '../../domain/alert/event.ts';
import type { Rule } from '../../domain/alert/rule.ts';
import type { Matcher } from '../../domain/matchers/matcher.ts';
import type { Nest, User } from '../../service/resources.ts';
import type { ListedRecord } from '../../store/inventory-store.ts';
import type { Notice, Noticing, Person } from './inventory-events.ts';
import type { NestChanges } from './listed-nests.ts';

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
