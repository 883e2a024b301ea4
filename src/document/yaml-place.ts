/** Finds the nodes of a parsed YAML file by path, and the paths of nodes. */
import { type Document, isAlias, isMap, isSeq, type Node, type Pair, type Scalar, visit } from 'yaml';
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
  return isAlias(node) ? targetsOf(document).get(node) : node;
}

/** The parser's own `resolve` goes through the whole document for each alias. */
const aliasTargets = new WeakMap<Document, ReadonlyMap<Node, Node>>();

function targetsOf(document: Document<Node>): ReadonlyMap<Node, Node> {
  const known = aliasTargets.get(document);
  if (known) return known;
  const targets = new Map<Node, Node>();
  const anchored = new Map<string, Node>();
  visit(document, {
    Node(_key, node) {
      const target = isAlias(node) && anchored.get(node.source);
      if (target) targets.set(node, target);
      else if (!isAlias(node) && node.anchor) anchored.set(node.anchor, node);
    },
  });
  aliasTargets.set(document, targets);
  return targets;
}

/** How many values all aliases stand for together. No alias may refer to a node that contains it. */
export function valuesOfAliases(document: Document<Node>): number {
  const sizes = new Map<Node, number>();
  function sizeOf(node: Node | null | undefined): number {
    if (!node) return 1;
    let size = sizes.get(node);
    if (size === undefined) {
      if (isAlias(node)) size = sizeOf(resolved(document, node));
      else if (isSeq(node)) size = (node.items as Node[]).reduce((sum, item) => sum + sizeOf(item), 1);
      else if (isMap(node))
        size = (node.items as AnyPair[]).reduce((sum, { value }) => sum + sizeOf(value), 1);
      else size = 1;
      sizes.set(node, size);
    }
    return size;
  }
  return targetsOf(document)
    .values()
    .reduce((sum, target) => sum + sizeOf(target), 0);
}

type AnyMap = { readonly items: readonly unknown[] };
type AnyPair = Pair<Scalar, Node | null>;

interface MapIndex {
  readonly byName: ReadonlyMap<string, AnyPair>;
  readonly merges: readonly AnyPair[];
}

/** Maps may have tens of thousands of entries and as many mistakes, so each gets an index. */
const mapIndexes = new WeakMap<AnyMap, MapIndex>();

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
    if (isSeq(one)) return [one.items.indexOf(next)];
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
