import { activeMembers, memberRecipients } from '../../domain/grouping/member-recipients.ts';
import type { Report } from '../../report.ts';
import type { Nest } from '../../service/resources.ts';
import type { NestMembers } from '../../store/inventory-store.ts';
import type { Store } from '../../store/store.ts';

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
