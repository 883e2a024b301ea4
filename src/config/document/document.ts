import {
  type Alias,
  type Document,
  type ErrorCode,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  type Scalar,
  visit,
} from 'yaml';
import { type Environment, expand } from './expand.ts';
import { formatPath, type Path, type Problem } from './problem.ts';

/** A YAML file as plain data, with the place of everything in it and `${NAME}` already expanded. */
export interface ConfigDocument {
  /** Maps, lists and scalars; a key without a value is undefined, as if it were left out. */
  readonly value: unknown;
  /** Whether there is a value: false when the text is not YAML, and anything else said of it would be a guess. */
  readonly isReadable: boolean;
  /** What came to light on the way. */
  readonly problems: readonly Problem[];
  /** Where the value stands; for one that is absent, the key of what it is missing from. */
  placeOf(path: Path): Place;
  /** Where the last key of the path stands. */
  placeOfKey(path: Path): Place;
  /** Whether the text came from the environment: it may then stand for a number, and must not be quoted. */
  isExpanded(path: Path): boolean;
  /** Whether a problem was told already of exactly this value. */
  isFaulty(path: Path): boolean;
}

export interface Place {
  readonly line: number;
  readonly column: number;
}

/** The parser's own messages quote the text, which may be a secret: these say as much without it. */
const SYNTAX: Readonly<Partial<Record<ErrorCode, string>>> = {
  BAD_ALIAS: '`*` here begins an alias: put the value in quotes',
  BAD_DQ_ESCAPE: 'in double quotes a backslash begins an escape: write two, or use single quotes',
  BAD_INDENT: 'the indentation is wrong, or a bracket is not closed',
  BAD_SCALAR_START: 'a value cannot begin with `@` or a backtick: put it in quotes',
  BLOCK_AS_IMPLICIT_KEY: 'a value that holds `: ` must stand in quotes, and keys of one map in one column',
  BLOCK_IN_FLOW: 'inside brackets everything must be in brackets',
  DUPLICATE_KEY: 'the key stands here twice',
  MISSING_CHAR: 'a colon, comma, bracket or closing quote is missing',
  MULTILINE_IMPLICIT_KEY: 'a key must end with a colon on its own line',
  MULTIPLE_DOCS: 'only one document may stand in the file: take out the second `---`',
  NON_STRING_KEY: 'a key must be a plain word',
  RESOURCE_EXHAUSTION: 'the nesting is too deep',
  TAB_AS_INDENT: 'indentation must be spaces, not tabs',
  TAG_RESOLVE_FAILED: '`!` here begins a tag: put the value in quotes',
  UNEXPECTED_TOKEN: 'this does not belong here: a quote, comma or bracket is wrong before it',
};

const IN_BRACES = `inside { … } a reference must be in quotes: "\${NAME}"`;

/** Aliases resolved at the most, so that a few lines cannot unfold to gigabytes. */
const MAX_ALIASES = 1000;

export function readDocument(text: string, environment: Environment): ConfigDocument {
  const lines = new LineCounter();
  const document = parseDocument<Node>(text, {
    lineCounter: lines,
    prettyErrors: false,
    logLevel: 'error',
    merge: true,
    stringKeys: true,
  });
  const problems: Problem[] = [];
  const expanded = new Set<Node>();
  const faulty = new Set<Node>();

  const placeAt = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    // An offset at the end of a file without any line has no place of its own.
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const placeOfNode = (node: Node | undefined): Place => placeAt(node?.range?.[0] ?? 0);
  const found = (node: Node, path: Path, message: string) => {
    faulty.add(node);
    problems.push({ ...placeOfNode(node), path: formatPath(path), message });
  };

  const fatal = [...document.errors, ...document.warnings].find(({ code }) => code !== 'DUPLICATE_KEY');
  // What follows the first break in a text that is not YAML only repeats it.
  for (const { code, pos } of fatal ? [fatal] : document.errors) {
    const path = code === 'DUPLICATE_KEY' ? pathOfKeyAt(document, pos[0]) : [];
    const isReference = text.slice(pos[0] - 1, pos[0] + 1) === '${';
    const message = isReference ? IN_BRACES : (SYNTAX[code] ?? `this is not YAML (${code})`);
    problems.push({ ...placeAt(pos[0]), path: formatPath(path), message });
  }
  let isReadable = !fatal;

  visit(document, {
    Alias(_key, alias, ancestors) {
      const path = pathOf(ancestors, alias);
      const target = alias.resolve(document);
      if (target && !ancestors.includes(target)) return;
      isReadable = false;
      found(
        alias,
        path,
        target
          ? 'the alias stands inside what it refers to'
          : '`*` begins an alias, and no anchor of this name comes before it: put the value in quotes',
      );
    },
    Scalar(key, node, ancestors) {
      if (key === 'key' || typeof node.value !== 'string') return;
      const expansion = expand(node.value, environment);
      if (!expansion.ok) return found(node, pathOf(ancestors, node), expansion.message);
      node.value = expansion.text;
      if (expansion.isExpanded) expanded.add(node);
    },
  });

  let value: unknown;
  if (isReadable) {
    try {
      value = withoutNulls(document.toJS({ maxAliasCount: MAX_ALIASES })) ?? {};
    } catch {
      isReadable = false;
      problems.push({ line: 1, column: 1, path: '', message: 'too many aliases' });
    }
  }

  function locate(path: Path): { node: Node | undefined; key: Node | undefined; isWhole: boolean } {
    let node: Node | undefined = document.contents ?? undefined;
    let key: Node | undefined;
    for (const step of path) {
      const from = resolved(document, node);
      const pair: Pair<Scalar, Node | null> | undefined = isMap(from)
        ? pairOf(document, from, String(step))
        : undefined;
      const item = isSeq(from) ? (from.items[Number(step)] as Node | undefined) : undefined;
      if (!pair && !item) return { node, key, isWhole: false };
      node = pair ? (pair.value ?? undefined) : item;
      key = pair ? pair.key : item;
    }
    return { node, key, isWhole: true };
  }

  return {
    value,
    isReadable,
    problems,
    placeOf(path) {
      const { node, key, isWhole } = locate(path);
      const isThere = isWhole && node && !(isScalar(node) && node.value === null);
      return placeOfNode(isThere ? node : (key ?? node));
    },
    placeOfKey(path) {
      const { node, key } = locate(path);
      return placeOfNode(key ?? node);
    },
    isExpanded(path) {
      const { node, isWhole } = locate(path);
      const target = resolved(document, node);
      return isWhole && target !== undefined && expanded.has(target);
    },
    isFaulty(path) {
      const { node, isWhole } = locate(path);
      const target = resolved(document, node);
      return isWhole && target !== undefined && faulty.has(target);
    },
  };
}

function resolved(document: Document<Node>, node: Node | undefined): Node | undefined {
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
function pathOf(ancestors: Ancestors, node: unknown): Path {
  const chain = [...ancestors, node];
  return chain.flatMap((one, index): (string | number)[] => {
    const next = chain[index + 1];
    if (isSeq(one)) return [one.items.indexOf(next)];
    return isMap(one) ? [String((next as Pair<Scalar>).key.value)] : [];
  });
}

function pathOfKeyAt(document: Document<Node>, offset: number): Path {
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

/** A key that is written without a value counts as left out, yet stays to be seen when nobody knows it. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, inner === null ? undefined : withoutNulls(inner)]),
  );
}
