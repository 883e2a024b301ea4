/**
 * Lists of Nests, members and Birds that lack an item, although the answer is complete in all else. What the reading
 * before has not shown is never left out, because what two readings in a row lack does count as gone, nor what the daemon
 * has not committed, because it would take it for new.
 */
import type { HttpRequest, HttpResponse } from '../../../src/http/transport.ts';
import { pick } from '../../../src/simulator/world/seeded-random.ts';
import type { World } from '../../../src/simulator/world/world.ts';
import type { Random } from '../../../src/time/clock.ts';
import type { Kept } from './inventory-history.ts';

export interface CutLists {
  /** How many lists lacked something. */
  count(): number;
  answer(request: HttpRequest, response: HttpResponse): HttpResponse;
}

interface Item {
  readonly id: unknown;
  readonly members?: unknown;
}

/** `share`: of the lists that may lack something. */
export function createCutLists(
  world: World,
  { cutLists: share }: { readonly cutLists: number },
  kept: Kept,
  random: Random,
): CutLists {
  let count = 0;
  /** A reading begins with the list of Nests. */
  let reading = 0;
  /** What each list showed last, and in which reading. */
  const shown = new Map<string, { readonly reading: number; readonly ids: ReadonlySet<string> }>();

  function isKept(list: string, id: string): boolean {
    const [, nest, what] = list.split('/');
    const place = { members: `member/${nest}`, birds: `bird/${id}` }[String(what)] ?? `nest/${id}`;
    return kept.firstUs.has(`${world.region}/${place}`);
  }

  function wasShown(list: string, id: string): boolean {
    const last = shown.get(list);
    return last?.reading === reading - 1 && last.ids.has(id) && isKept(list, id);
  }

  function mayLack(list: string, id: string): boolean {
    const birds = list === 'nests' ? [...(world.nests.get(id)?.birds.keys() ?? [])] : [];
    return wasShown(list, id) && birds.every((bird) => wasShown(`nests/${id}/birds`, bird));
  }

  function cut(list: string, items: readonly Item[]): readonly Item[] {
    const able = items.filter(({ id }) => mayLack(list, String(id)));
    const lacking = able.length > 0 && random() < share ? pick(random, able) : undefined;
    if (lacking) count += 1;
    const rest = items.filter((item) => item !== lacking);
    shown.set(list, { reading, ids: new Set(rest.map(({ id }) => String(id))) });
    return rest;
  }

  return {
    count: () => count,
    answer({ method, url }, response) {
      const list = /\/(nests|nests\/\d+\/birds)$/.exec(new URL(url).pathname)?.[1];
      const items = list && method === 'GET' ? itemsOf(response.body) : undefined;
      if (!list || !items) return response;
      if (list === 'nests') reading += 1;
      const rest = cut(list, items).map((item) =>
        Array.isArray(item.members)
          ? { ...item, members: cut(`nests/${item.id}/members`, item.members) }
          : item,
      );
      return { ...response, body: JSON.stringify(rest) };
    },
  };
}

/** Undefined if the answer is no list. */
function itemsOf(body: string): readonly Item[] | undefined {
  try {
    const items: unknown = JSON.parse(body);
    return Array.isArray(items) ? items : undefined;
  } catch {
    return undefined;
  }
}
