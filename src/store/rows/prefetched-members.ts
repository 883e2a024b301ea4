import type { AlertInGroup } from '../../domain/grouping/group.ts';

/** How many groups' members are loaded together. */
const GROUPS_PER_FETCH = 64;

/** The members of groups with more than this are not prefetched. */
export const FEW_MEMBERS = 20;

/**
 * Members that were loaded before they were asked for. Groups found to be due will probably be asked for one after
 * another, and many small ones take no longer to load together than a single one. What was loaded is discarded as soon as
 * it may have changed.
 */
export class PrefetchedMembers {
  /** Due groups that were not loaded yet, in the order in which they will be asked for. */
  #due: readonly string[] = [];
  readonly #loaded = new Map<string, AlertInGroup[]>();

  /** Notes that these groups are due. */
  expect(groupKeys: readonly string[]): void {
    this.#due = groupKeys;
  }

  /** The members of a group; undefined if they were not loaded. */
  of(groupKey: string): AlertInGroup[] | undefined {
    return this.#loaded.get(groupKey);
  }

  /** The groups whose members are to be loaded together with those of this one, itself included; none if it is not due. */
  take(groupKey: string): readonly string[] {
    const first = this.#loaded.has(groupKey) ? -1 : this.#due.indexOf(groupKey);
    if (first === -1) return [];
    const taken = this.#due.slice(first, first + GROUPS_PER_FETCH);
    this.#due = this.#due.slice(first + GROUPS_PER_FETCH);
    return taken;
  }

  /** Keeps the members of several groups, each group's in their order. */
  keep(members: readonly AlertInGroup[]): void {
    for (const [key, list] of Map.groupBy(members, ({ member }) => member.groupKey)) {
      this.#loaded.set(key, list);
    }
  }

  /** Discards the members of these groups, because they change. */
  discard(groupKeys: readonly string[]): void {
    for (const key of groupKeys) this.#loaded.delete(key);
  }

  /** Discards everything: alerts or members may have changed elsewhere. */
  forget(): void {
    this.#due = [];
    this.#loaded.clear();
  }
}
