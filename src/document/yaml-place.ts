/** Finds the nodes of a parsed YAML file by their paths, and the paths of its nodes. */
import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  type Scalar,
  visit,
} from 'yaml';
import type { Path } from './problem.ts';

/** How far a path leads: its last node and key that are there. */
export interface Located {
  readonly node: Node | undefined;
  readonly key: Node | undefined;
  /** Whether the path leads to its end. */
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

/** The node itself, behind an alias of it. */
export function resolved(document: Document<Node>, node: Node | undefined): Node | undefined {
  return isAlias(node) ? (node as Alias).resolve(document) : node;
}

type AnyMap = { readonly items: readonly unknown[] };

/** The pair of a key, which a merge (`<<: *base`) may have brought. The last one counts, as in the value. */
function pairOf(document: Document<Node>, map: AnyMap, name: string): Pair<Scalar, Node | null> | undefined {
  const pairs = map.items as readonly Pair<Scalar, Node | null>[];
  const own = pairs.findLast(({ key }) => String(key.value) === name);
  if (own) return own;
  for (const { key, value } of pairs) {
    if (key.value !== '<<' || !value) continue;
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

/** The path of a node from what `visit` says of its ancestors. */
export function pathOf(ancestors: Ancestors, node: unknown): Path {
  const chain = [...ancestors, node];
  return chain.flatMap((one, index): (string | number)[] => {
    const next = chain[index + 1];
    if (isSeq(one)) return [one.items.indexOf(next)];
    return isMap(one) ? [String((next as Pair<Scalar>).key.value)] : [];
  });
}

/** The path of the key that begins at an offset of the text. */
export function pathOfKeyAt(document: Document<Node>, offset: number): Path {
  let path: Path = [];
  visit(document, {
    Pair(_key, pair, ancestors) {
      if (isScalar(pair.key) && pair.key.range?.[0] === offset) {
        path = [...pathOf(ancestors, pair)];
      }
    },
  });
  return path;
}
