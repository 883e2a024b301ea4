/**
 * Reads Go's regular expressions (RE2, as Alertmanager's matchers are written in) into a tree. Only the question
 * whether a whole text matches is ever asked, so captures, laziness and the flag `U` are read and change nothing.
 * What RE2 refuses is refused: back-references and lookaround among it.
 */
import {
  type CharTest,
  ignoringCase,
  isAlphanumeric,
  PERL_CLASSES,
  POSIX_CLASSES,
  unicodeClass,
} from './regex-char.ts';

export type RegexNode =
  | { readonly kind: 'char'; readonly test: CharTest }
  | { readonly kind: 'assert'; readonly at: Assertion }
  | { readonly kind: 'all'; readonly nodes: readonly RegexNode[] }
  | { readonly kind: 'any'; readonly nodes: readonly RegexNode[] }
  | { readonly kind: 'repeat'; readonly node: RegexNode; readonly min: number; readonly max: number };

export type Assertion = 'text_start' | 'text_end' | 'line_start' | 'line_end' | 'word_edge' | 'no_word_edge';

export class RegexSyntaxError extends Error {
  override readonly name = 'RegexSyntaxError';
  /** Code points before the fault. */
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

interface Flags {
  readonly ignoreCase: boolean;
  readonly multiLine: boolean;
  readonly dotAll: boolean;
}

/** RE2's own bounds. */
const MAX_REPEAT = 1000;
const MAX_DEPTH = 1000;

const NO_FLAGS: Flags = { ignoreCase: false, multiLine: false, dotAll: false };
const LINE_FEED = 10;

const CONTROL_ESCAPES: Readonly<Record<string, number>> = { a: 7, f: 12, n: 10, r: 13, t: 9, v: 11 };

export function parseRegex(pattern: string): RegexNode {
  const chars = Array.from(pattern);
  let at = 0;
  let depth = 0;

  const peek = (ahead = 0) => chars[at + ahead];
  const rest = (length: number) => chars.slice(at, at + length).join('');
  const fail = (message: string, offset = at): never => {
    throw new RegexSyntaxError(message, offset);
  };

  function alternatives(outer: Flags): RegexNode {
    depth += 1;
    if (depth > MAX_DEPTH) fail('groups are nested too deeply');
    // A flag set in the middle of a group holds until the group ends, across its alternatives.
    let flags = outer;
    const branches: RegexNode[][] = [[]];
    let repeatedAt = -1;
    while (at < chars.length && peek() !== ')') {
      const items = branches.at(-1)!;
      if (peek() === '|') {
        at += 1;
        branches.push([]);
        continue;
      }
      const startedAt = at;
      const bounds = quantifier();
      if (bounds) {
        if (repeatedAt === startedAt) fail('a repetition of a repetition', startedAt);
        const node = items.pop() ?? fail('nothing to repeat', startedAt);
        items.push({ kind: 'repeat', node, ...bounds });
        repeatedAt = at;
        continue;
      }
      const change = flagChange(flags);
      if (change) flags = change;
      else if (rest(2) === '\\Q') items.push(...quoted(flags));
      else items.push(atom(flags));
    }
    depth -= 1;
    const nodes = branches.map((items): RegexNode => ({ kind: 'all', nodes: items }));
    return nodes.length === 1 ? nodes[0]! : { kind: 'any', nodes };
  }

  /** Reads `*`, `+`, `?` or `{n,m}`, each perhaps lazy. A brace that bounds nothing is an ordinary character. */
  function quantifier(): { min: number; max: number } | undefined {
    const char = peek();
    let bounds: { min: number; max: number } | undefined;
    if (char === '*') bounds = { min: 0, max: Number.POSITIVE_INFINITY };
    else if (char === '+') bounds = { min: 1, max: Number.POSITIVE_INFINITY };
    else if (char === '?') bounds = { min: 0, max: 1 };
    else if (char === '{') {
      const match = /^\{(0|[1-9]\d*)(?:(,)(0|[1-9]\d*)?)?\}/.exec(rest(32));
      if (!match) return undefined;
      const min = Number(match[1]);
      const max = match[2] ? Number(match[3] ?? Number.POSITIVE_INFINITY) : min;
      const tooMany = min > MAX_REPEAT || (max !== Number.POSITIVE_INFINITY && max > MAX_REPEAT);
      if (tooMany || max < min) fail(`the repeat count ${match[0]} is not between 0 and ${MAX_REPEAT}`);
      bounds = { min, max };
      at += match[0].length - 1;
    }
    if (!bounds) return undefined;
    at += 1;
    if (peek() === '?') at += 1;
    return bounds;
  }

  /** Reads `(?i)` and the like, which changes the flags from here on; undefined where none stands. */
  function flagChange(flags: Flags): Flags | undefined {
    const match = /^\(\?([imsU]*)(-[imsU]+)?\)/.exec(rest(24));
    if (!match) return undefined;
    at += match[0].length;
    return withFlags(flags, match[1]!, match[2] ?? '');
  }

  function atom(flags: Flags): RegexNode {
    const char = peek()!;
    switch (char) {
      case '(':
        return group(flags);
      case '[':
        return characters(flags);
      case '.':
        at += 1;
        return { kind: 'char', test: flags.dotAll ? () => true : (c) => c !== LINE_FEED };
      case '^':
        at += 1;
        return { kind: 'assert', at: flags.multiLine ? 'line_start' : 'text_start' };
      case '$':
        at += 1;
        return { kind: 'assert', at: flags.multiLine ? 'line_end' : 'text_end' };
      case '\\':
        return escaped(flags);
      default:
        at += 1;
        return literal(char.codePointAt(0)!, flags);
    }
  }

  function group(flags: Flags): RegexNode {
    const openedAt = at;
    let inner = flags;
    at += 1;
    if (peek() === '?') {
      const head = /^\?(?:P?<(\w+)>|([imsU]*)(-[imsU]+)?:)/.exec(rest(200));
      if (!head) {
        const lookaround = /^\?<?[=!]/.test(rest(3));
        fail(lookaround ? 'RE2 has no lookaround' : `unknown group (${rest(3)}`, openedAt);
      }
      at += head![0].length;
      if (head![1] === undefined) inner = withFlags(flags, head![2]!, head![3] ?? '');
    }
    const node = alternatives(inner);
    if (peek() !== ')') fail('a group is not closed', openedAt);
    at += 1;
    return node;
  }

  function escaped(flags: Flags): RegexNode {
    const letter = peek(1);
    const assertion = { A: 'text_start', z: 'text_end', b: 'word_edge', B: 'no_word_edge' } as const;
    if (letter === 'A' || letter === 'z' || letter === 'b' || letter === 'B') {
      at += 2;
      return { kind: 'assert', at: assertion[letter] };
    }
    const set = classEscape();
    if (set) return { kind: 'char', test: set };
    return literal(charEscape(), flags);
  }

  /** `\Q…\E`: everything in between is itself. */
  function quoted(flags: Flags): RegexNode[] {
    at += 2;
    const nodes: RegexNode[] = [];
    while (at < chars.length && rest(2) !== '\\E') {
      nodes.push(literal(peek()!.codePointAt(0)!, flags));
      at += 1;
    }
    at += 2;
    return nodes;
  }

  /** `\d`, `\pL`, `\p{Greek}` and the like, in and outside of brackets. */
  function classEscape(): CharTest | undefined {
    const letter = peek(1) ?? '';
    const perl = PERL_CLASSES[letter.toLowerCase()];
    if (perl) {
      at += 2;
      return letter === letter.toLowerCase() ? perl : (c) => !perl(c);
    }
    if (letter !== 'p' && letter !== 'P') return undefined;
    const match = /^\\[pP](?:\{(\^?)(\w+)\}|(\w))/.exec(rest(64));
    const test = match && unicodeClass(match[2] ?? match[3]!);
    if (!match || !test) return fail('an unknown Unicode class');
    at += match[0].length;
    const isNegated = (letter === 'P') !== (match[1] === '^');
    return isNegated ? (c) => !test(c) : test;
  }

  /** An escape that stands for one character. */
  function charEscape(): number {
    const startedAt = at;
    const tail = rest(12).slice(1);
    at += 2;
    const octal = /^(?:0[0-7]{0,2}|[1-7][0-7]{1,2})/.exec(tail)?.[0];
    if (octal) {
      at = startedAt + 1 + octal.length;
      return Number.parseInt(octal, 8);
    }
    const hex = /^x(?:([0-9a-fA-F]{2})|\{([0-9a-fA-F]{1,8})\})/.exec(tail);
    if (hex) {
      at = startedAt + 1 + hex[0].length;
      const codePoint = Number.parseInt(hex[1] ?? hex[2]!, 16);
      return codePoint <= 0x10ffff ? codePoint : fail('not a code point', startedAt);
    }
    const letter = tail.charAt(0);
    const control = CONTROL_ESCAPES[letter];
    if (control !== undefined) return control;
    const codePoint = letter.charCodeAt(0);
    if (codePoint < 128 && !isAlphanumeric(codePoint)) return codePoint;
    if (/^[1-9]/.test(letter)) return fail('RE2 has no back-references', startedAt);
    return fail(letter ? `the escape \\${letter} is unknown` : 'it ends in a backslash', startedAt);
  }

  function characters(flags: Flags): RegexNode {
    const openedAt = at;
    at += 1;
    const isNegated = peek() === '^';
    if (isNegated) at += 1;
    const tests: CharTest[] = [];
    for (let first = true; first || peek() !== ']'; first = false) {
      if (at >= chars.length) fail('a bracket is not closed', openedAt);
      tests.push(posixClass() ?? bracketEscape() ?? range());
    }
    at += 1;
    const test: CharTest = (c) => tests.some((one) => one(c));
    const folded = flags.ignoreCase ? ignoringCase(test) : test;
    return { kind: 'char', test: isNegated ? (c) => !folded(c) : folded };
  }

  function posixClass(): CharTest | undefined {
    const match = /^\[:(\^?)([^\]]*?):\]/.exec(rest(40));
    if (!match) return undefined;
    const test = POSIX_CLASSES[match[2]!] ?? fail(`unknown character class ${match[0]}`);
    at += match[0].length;
    return match[1] ? (c) => !test(c) : test;
  }

  function bracketEscape(): CharTest | undefined {
    return peek() === '\\' ? classEscape() : undefined;
  }

  function range(): CharTest {
    const startedAt = at;
    const low = bracketChar();
    if (peek() !== '-' || peek(1) === ']' || peek(1) === undefined) return (c) => c === low;
    at += 1;
    const high = bracketChar();
    if (high < low) fail('a range runs backwards', startedAt);
    return (c) => c >= low && c <= high;
  }

  function bracketChar(): number {
    if (peek() === '\\') return charEscape();
    const char = peek() ?? fail('a bracket is not closed');
    at += 1;
    return char.codePointAt(0)!;
  }

  const node = alternatives(NO_FLAGS);
  if (at < chars.length) fail('a group is closed that was not opened');
  return node;
}

function withFlags(flags: Flags, on: string, off: string): Flags {
  const value = (flag: string, now: boolean) => (now || on.includes(flag)) && !off.includes(flag);
  return {
    ignoreCase: value('i', flags.ignoreCase),
    multiLine: value('m', flags.multiLine),
    dotAll: value('s', flags.dotAll),
  };
}

function literal(codePoint: number, flags: Flags): RegexNode {
  const test: CharTest = (c) => c === codePoint;
  return { kind: 'char', test: flags.ignoreCase ? ignoringCase(test) : test };
}
