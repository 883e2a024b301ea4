import {
  type Document,
  type ErrorCode,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  type Scalar,
  visit,
} from 'yaml';
import { LIMITS } from '../limits.ts';
import { areEnough, formatPath, type Path, type Problem } from './problem.ts';
import { type Environment, expand } from './read-file.ts';

interface Place {
  readonly line: number;
  readonly column: number;
}

/** The parser's own messages quote the text, which may be a secret. These say the same without quoting. */
const SYNTAX: Readonly<Partial<Record<ErrorCode, string>>> = {
  BAD_ALIAS: '`*` here begins an alias: put the value in quotes',
  BAD_DQ_ESCAPE: 'in double quotes a backslash begins an escape: write two, or use single quotes',
  BAD_INDENT: 'the indentation is wrong, or a bracket is not closed',
  BAD_SCALAR_START: 'a value cannot begin with `@` or a backtick: put it in quotes',
  BLOCK_AS_IMPLICIT_KEY: 'a value that holds `: ` must stand in quotes, and keys of one map in one column',
  BLOCK_IN_FLOW: 'inside brackets everything must be in brackets',
  MISSING_CHAR: 'a colon, comma, bracket or closing quote is missing',
  MULTILINE_IMPLICIT_KEY: 'a key must end with a colon on its own line',
  MULTIPLE_DOCS: 'only one document may stand in the file: take out the second `---`',
  NON_STRING_KEY: 'a key must be a plain word',
  RESOURCE_EXHAUSTION: 'the nesting is too deep',
  TAB_AS_INDENT: 'indentation must be spaces, not tabs',
  TAG_RESOLVE_FAILED: '`!` here begins a tag: put the value in quotes',
  UNEXPECTED_TOKEN: 'this does not belong here: a quote, comma or bracket is wrong before it',
};

const INDENTED =
  'the indentation is wrong: the keys of one map stand in one column, and so do the dashes of one list';
const IN_FLOW = 'inside { … } a comma must stand between two entries, and `}` behind the last one';

const REPEATED_KEY = 'the key stands here twice';

const IN_BRACES = `inside { … } a reference must be in quotes: "\${NAME}"`;

/**
 * Characters that another encoding leaves in a text read as UTF-8. A name with such a character would never match,
 * and its rule or route would silently do nothing.
 */
const FOREIGN_BYTES = /[\0\uFFFD]/;

/** The most values that aliases stand for, so that a few lines cannot expand to gigabytes. */
const MOST_VALUES_OF_ALIASES = 50_000;

const MOST_VALUES = LIMITS.configuration_values.most;
const TOO_MANY_VALUES = `the file has more than ${MOST_VALUES.toLocaleString('en')} values`;

/** Counts the tokens that begin or separate values, which takes a twentieth of the time of parsing them. */
function hasTooManyValues(text: string): boolean {
  let count = 0;
  for (const token of new Lexer().lex(text)) {
    if (/^[-,:[{]$/.test(token)) count += 1;
    if (count > MOST_VALUES) return true;
  }
  return false;
}

/** A YAML file as plain data, with the place of everything in it and `${NAME}` already expanded. */
export class ConfigDocument {
  /** Maps, lists and scalars. A key without a value is undefined, as if it were left out. */
  readonly value: unknown;
  /** False if the text is not valid YAML, or has enough problems already: then there is no value. */
  readonly isReadable: boolean;
  readonly #document: Document<Node>;
  readonly #lines = new LineCounter();
  readonly #problems: Problem[] = [];
  readonly #expanded = new Set<Node>();
  readonly #faulty = new Set<Node>();

  constructor(text: string, environment: Environment) {
    const isTooLong = hasTooManyValues(text);
    this.#document = parseDocument<Node>(isTooLong ? '' : text, {
      lineCounter: this.#lines,
      prettyErrors: false,
      logLevel: 'error',
      merge: true,
      stringKeys: true,
      // The parser compares every key with every other; `repeatedKeys` is faster.
      uniqueKeys: false,
    });
    if (isTooLong) this.#problems.push({ line: 1, column: 1, path: '', message: TOO_MANY_VALUES });
    const isYaml = !isTooLong && this.#checkSyntax(text);
    const hasGoodAliases = this.#checkAliases();
    this.#expandScalars(environment);
    const read = isYaml && hasGoodAliases && !areEnough(this.#problems) ? this.#readValue() : undefined;
    this.isReadable = read !== undefined;
    this.value = read?.value;
  }

  /** The problems found while parsing and expanding. */
  get problems(): readonly Problem[] {
    return this.#problems;
  }

  /** A value, also if the text elsewhere is not valid YAML: a scalar, or a map or list as a node. */
  writtenAt(path: Path): unknown {
    return this.#document.getIn(path);
  }

  /** The place of a value. If it is absent, the place of the closest key above it. */
  placeOf(path: Path): Place {
    const { node, key, isWhole } = locate(this.#document, path);
    const isThere = isWhole && node && !(isScalar(node) && node.value === null);
    return this.#placeOfNode(isThere ? node : (key ?? node));
  }

  /** The place of the last key of a path. */
  placeOfKey(path: Path): Place {
    const { node, key } = locate(this.#document, path);
    return this.#placeOfNode(key ?? node);
  }

  /** Whether the text came from the environment: it may then stand for a number, and must not be quoted. */
  isExpanded(path: Path): boolean {
    return this.#isIn(this.#expanded, path);
  }

  /** Whether this very value already has a problem. */
  isFaulty(path: Path): boolean {
    return this.#isIn(this.#faulty, path);
  }

  #isIn(nodes: ReadonlySet<Node>, path: Path): boolean {
    const { node, isWhole } = locate(this.#document, path);
    const target = resolved(this.#document, node);
    return isWhole && target !== undefined && nodes.has(target);
  }

  /** False for a text that is not valid YAML. Only its first error is reported, since later ones follow from it. */
  #checkSyntax(text: string): boolean {
    const foreign = text.search(FOREIGN_BYTES);
    if (foreign !== -1) {
      this.#problems.push({
        ...this.#placeAt(foreign),
        path: '',
        message: 'this is not UTF-8: save the file as UTF-8',
      });
      return false;
    }
    const { errors, warnings } = this.#document;
    const fatal = errors[0] ?? warnings[0];
    if (!fatal) {
      for (const { key, path } of repeatedKeys(this.#document, LIMITS.configuration_mistakes.most)) {
        this.#problems.push({ ...this.#placeOfNode(key), path: formatPath(path), message: REPEATED_KEY });
      }
      return true;
    }
    const { code, pos } = fatal;
    // What follows from the mistake tells which it is: a key that begins in the line above, or a map inside brackets.
    const next = errors[1]?.pos[0] === pos[0] ? errors[1] : undefined;
    const isLineBelow = code === 'BLOCK_AS_IMPLICIT_KEY' && next?.code === 'MULTILINE_IMPLICIT_KEY';
    const at = isLineBelow ? text.lastIndexOf('\n', next.pos[1] - 1) + 1 : pos[0];
    const isReference = text.slice(at - 1, at + 1) === '${';
    const isIndent = text.charAt(at) === ' ' && text.lastIndexOf('\n', at) === at - 1;
    const isInFlow = code === 'MULTILINE_IMPLICIT_KEY' && next?.code === 'BLOCK_IN_FLOW';
    const said = isIndent ? INDENTED : isInFlow ? IN_FLOW : SYNTAX[code];
    const message = isReference ? IN_BRACES : (said ?? `this is not YAML (${code})`);
    this.#problems.push({ ...this.#placeAt(at), path: '', message });
    return false;
  }

  /** False if an alias has no target or refers to a node that contains it, or if there are too many. */
  #checkAliases(): boolean {
    let areGood = true;
    visit(this.#document, {
      Alias: (_key, alias, ancestors) => {
        const target = resolved(this.#document, alias);
        if (target && !ancestors.includes(target)) return undefined;
        areGood = false;
        const message = target
          ? 'the alias stands inside what it refers to'
          : '`*` begins an alias, and no anchor of this name comes before it: put the value in quotes';
        return this.#addProblem(alias, pathOf(ancestors, alias), message);
      },
    });
    if (!areGood || valuesOfAliases(this.#document) <= MOST_VALUES_OF_ALIASES) return areGood;
    this.#problems.push({ line: 1, column: 1, path: '', message: 'too many aliases' });
    return false;
  }

  /** Expands values, not keys; of these it refuses the one that a JavaScript object cannot hold. */
  #expandScalars(environment: Environment): void {
    visit(this.#document, {
      Scalar: (key, node, ancestors) => {
        if (key === 'key' && node.value === '__proto__')
          return this.#addProblem(node, pathOf(ancestors, node), 'cannot be a name here: choose another');
        if (key === 'key' || typeof node.value !== 'string') return undefined;
        const expansion = expand(node.value, environment);
        if (!expansion.ok) return this.#addProblem(node, pathOf(ancestors, node), expansion.message);
        node.value = expansion.text;
        if (expansion.isExpanded) this.#expanded.add(node);
        return undefined;
      },
    });
  }

  #readValue(): { readonly value: unknown } {
    // The parser would count how often an anchor is used, not how much that unfolds to.
    return { value: withoutNulls(this.#document.toJS({ maxAliasCount: -1 })) ?? {} };
  }

  /** Returns how a visit of the document goes on. */
  #addProblem(node: Node, path: Path, message: string): symbol | undefined {
    this.#faulty.add(node);
    this.#problems.push({ ...this.#placeOfNode(node), path: formatPath(path), message });
    return areEnough(this.#problems) ? visit.BREAK : undefined;
  }

  #placeOfNode(node: Node | undefined): Place {
    return this.#placeAt(node?.range?.[0] ?? 0);
  }

  #placeAt(offset: number): Place {
    const { line, col } = this.#lines.linePos(offset);
    // In a file without any line, the parser's position is 0.
    return { line: Math.max(1, line), column: Math.max(1, col) };
  }
}

/** Makes keys without a value undefined. They count as left out, but unknown ones can still be reported. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, inner === null ? undefined : withoutNulls(inner)]),
  );
}

// Finds the nodes of a parsed YAML file by path, and the paths of nodes.

/** How far a path exists: its last existing node and key. */
interface Located {
  readonly node: Node | undefined;
  readonly key: Node | undefined;
  /** Whether the whole path exists. */
  readonly isWhole: boolean;
}

function locate(document: Document<Node>, path: Path): Located {
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
function resolved(document: Document<Node>, node: Node | undefined): Node | undefined {
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
function valuesOfAliases(document: Document<Node>): number {
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
function pathOf(ancestors: Ancestors, node: unknown): Path {
  const chain = [...ancestors, node];
  return chain.flatMap((one, index): (string | number)[] => {
    const next = chain[index + 1];
    if (isSeq(one)) return [one.items.indexOf(next)];
    return isMap(one) ? [String((next as Pair<Scalar>).key.value)] : [];
  });
}

/** Keys that occur twice in their map, with their paths; at most so many. */
function repeatedKeys(
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
