import type { Nest } from '../../service/resources.ts';
import type { NestMembers } from '../../store/inventory-store.ts';
import type { Store } from '../../store/store.ts';

export interface MemberBook {
  /** Stores the members of these Nests, and writes only what has changed. `isAll`: there are no other Nests. */
  keep(nests: readonly Nest[], isAll?: boolean): Promise<void>;
}

/**
 * Creates the book that stores the mail addresses of the active members of a region's Nests, for receivers that
 * notify them.
 */
export function createMemberBook(region: string, store: Store): MemberBook {
  let known: Map<string, string> | undefined;

  return {
    async keep(nests, isAll = true) {
      const stored = known ?? (await read(region, store));
      const now = new Map<string, readonly string[]>();
      for (const [nestId, addresses] of stored) now.set(nestId, isAll ? [] : JSON.parse(addresses));
      for (const { id, members } of nests) {
        const addresses = members.filter(({ isActive, email }) => isActive && isMailable(email));
        now.set(id, [...new Set(addresses.map(({ email }) => email))].toSorted());
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

/** Whether it is a plain address of one person. What the service says must not become two addresses or a header. */
function isMailable(text: string): boolean {
  return (
    text.length <= 254 && /^[^\s\p{Cc}\p{Cf}@<>()[\]\\,;:"]+@[^\s\p{Cc}\p{Cf}@<>()[\]\\,;:"]+$/u.test(text)
  );
}
