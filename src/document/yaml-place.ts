/** Finds the nodes of a parsed YAML file by path, and the paths of nodes. */
import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isSeq,
  type Node,
  type Pair,
  type Scalar,
  visit,
} from 'yaml';
import type { Path } from './problem.ts';

/** How far a path exists: its last existing node and key. */
interface Located {
  readonly node: Node | undefined;
  readonly key: Node | undefined;
  /** Whether the whole path exists. */
  readonly isWhole: boolean;
}

export function locate(document: Document<Node>, path: Path): Located {
  let node: Node | undefined = document.contents ?? undefined;
  let key: Node | undefined;
  for (const step of path) {
    const from = resolved(document, node);
    const pair = isMap(from) ? pairOf(document, from, String(step)) : undefined;
    const item = isSeq(from) ? (from.items[Number(step)] as Node | undefined) : undefined;
    if (!pair && !item) return { node, key, isWhole: false };
    node = pair ? (pair.value ?? undefined) : item;
    key = pair ? pair.key : item;
  }
  return { node, key, isWhole: true };
}

/** The node itself, or the target of an alias. */
export function resolved(document: Document<Node>, node: Node | undefined): Node | undefined {
  return isAlias(node) ? (node as Alias).resolve(document) : node;
}

type AnyMap = { readonly items: readonly unknown[] };
type AnyPair = Pair<Scalar, Node | null>;

interface MapIndex {
  readonly byName: ReadonlyMap<string, AnyPair>;
  readonly merges: readonly AnyPair[];
}

/** Maps and lists may have tens of thousands of entries and as many mistakes, so each gets an index. */
const mapIndexes = new WeakMap<AnyMap, MapIndex>();
const listIndexes = new WeakMap<AnyMap, ReadonlyMap<unknown, number>>();

function indexOf(map: AnyMap): MapIndex {
  let index = mapIndexes.get(map);
  if (!index) {
    const pairs = map.items as readonly AnyPair[];
    const byName = new Map(pairs.map((pair) => [String(pair.key.value), pair]));
    index = { byName, merges: pairs.filter(({ key }) => key.value === '<<') };
    mapIndexes.set(map, index);
  }
  return index;
}

function positionOf(list: AnyMap, item: unknown): number {
  let positions = listIndexes.get(list);
  if (!positions) {
    positions = new Map(list.items.map((one, index) => [one, index]));
    listIndexes.set(list, positions);
  }
  return positions.get(item) ?? -1;
}

/** The pair of a key, which may come from a merge (`<<: *base`). The last one counts, as it does in the value. */
function pairOf(document: Document<Node>, map: AnyMap, name: string): AnyPair | undefined {
  const { byName, merges } = indexOf(map);
  const own = byName.get(name);
  if (own) return own;
  for (const { value } of merges) {
    if (!value) continue;
    const merged = resolved(document, value);
    const sources = isSeq(merged) ? (merged.items as readonly Node[]) : [merged];
    for (const source of sources) {
      const base = resolved(document, source);
      const pair = isMap(base) ? pairOf(document, base, name) : undefined;
      if (pair) return pair;
    }
  }
  return undefined;
}

type Ancestors = readonly (Document | Node | Pair)[];

/** The path of a node, from the ancestors that `visit` passes. */
export function pathOf(ancestors: Ancestors, node: unknown): Path {
  const chain = [...ancestors, node];
  return chain.flatMap((one, index): (string | number)[] => {
    const next = chain[index + 1];
    if (isSeq(one)) return [positionOf(one, next)];
    return isMap(one) ? [String((next as Pair<Scalar>).key.value)] : [];
  });
}

/** Keys that occur twice in their map, with their paths; at most so many. */
export function repeatedKeys(
  document: Document<Node>,
  most: number,
): { readonly key: Scalar; readonly path: Path }[] {
  const found: { readonly key: Scalar; readonly path: Path }[] = [];
  visit(document, {
    Map(_key, map, ancestors) {
      const seen = new Set<unknown>();
      for (const pair of map.items as readonly AnyPair[]) {
        if (seen.has(pair.key.value)) found.push({ key: pair.key, path: pathOf([...ancestors, map], pair) });
        if (found.length === most) return visit.BREAK;
        seen.add(pair.key.value);
      }
      return undefined;
    },
  });
  return found;
}
