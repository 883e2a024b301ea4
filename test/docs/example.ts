/**
 * `config/nestwatch.yaml`: its values are written by hand, its comments come from the shapes. A setting that is
 * commented out begins with `#`, a comment with `# `. The file must be valid both with and without all of these
 * settings.
 */
import { isMap, isScalar, LineCounter, type Node, type Pair, parseDocument, visit } from 'yaml';
import { isRefused } from '../../src/document/value-shape.ts';
import { firstSentence } from './key-table.ts';
import { childOf, type Schema, schemaAt } from './schema.ts';

const WIDTH = 118;
const LEFT_OUT = /^(\s*)#((?: {2,})?(?:- )?[a-z0-9_]+:(?: .*)?)$/;

/** The text with every commented-out setting enabled. */
export function withAll(text: string): string {
  return text
    .split('\n')
    .map((line) => line.replace(LEFT_OUT, '$1$2'))
    .join('\n');
}

/** The text without the comments from the shapes, as a document shows it. */
export function withoutWords(text: string): string {
  return text
    .split('\n')
    .map((line) => (isKey(line) ? line.replace(/(?<=\S) +# .*$/, '') : line))
    .join('\n');
}

function isKey(line: string): boolean {
  return /^\s*(?:- )?[a-z0-9_]+:/.test(withAll(line));
}

/** The lines of one section, from its key to the next, also if the section is commented out. */
export function sectionOf(text: string, section: string): string {
  const lines = withoutWords(text).split('\n');
  const start = lines.findIndex((line) => withAll(line).startsWith(`${section}:`));
  if (start === -1) throw new Error(`the example has no ${section}`);
  const length = lines
    .slice(start + 1)
    .findIndex((line) => line === '' || /^[a-z0-9_]+:/.test(withAll(line)));
  const found = lines.slice(start, length === -1 ? undefined : start + 1 + length).join('\n');
  return lines[start]!.startsWith('#') ? withAll(found) : found;
}

/** The text with the shapes' descriptions above each section, and after each key's first occurrence if they fit. */
export function withWords(text: string): string {
  const bare = withoutWords(text);
  const known = new Set<string>();
  const keys = keysByLine(withAll(bare));
  return bare
    .split('\n')
    .flatMap((line, index, lines) => {
      const key = keys.get(index);
      // A comment above a section is replaced as a whole.
      const next = lines.slice(index).findIndex((one) => !/^# \S/.test(one));
      if (next > 0 && keys.get(index + next)?.isSection) return [];
      if (!key) return [line];
      if (key.isSection) return [...wrap(key.words), line];
      const sentence = firstSentence(key.words);
      const explained = `${line} # ${sentence}`;
      if (sentence === '' || known.has(key.name + sentence) || explained.length > WIDTH) return [line];
      known.add(key.name + sentence);
      return [explained];
    })
    .join('\n');
}

interface Key {
  readonly name: string;
  readonly words: string;
  readonly isSection: boolean;
}

/** The key at the beginning of each line, by the line's number from 0. */
function keysByLine(text: string): ReadonlyMap<number, Key> {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const found = new Map<number, Key>();
  visit(document, {
    Pair(_, pair, ancestors) {
      if (!isScalar(pair.key)) return;
      const { line, col } = lines.linePos(pair.key.range?.[0] ?? 0);
      const before = text.split('\n')[line - 1]!.slice(0, col - 1);
      if (!/^\s*(?:- )?$/.test(before)) return;
      const nodes = [...ancestors, pair] as (Node | Pair)[];
      const { schema, path } = schemaOf(nodes);
      if (isRefused(schema)) throw new Error(`${path} is refused`);
      found.set(line - 1, {
        name: String(pair.key.value),
        words: schema.description ?? '',
        isSection: col === 1,
      });
    },
  });
  return found;
}

/** From the root of the document down to a pair. */
function schemaOf(nodes: readonly (Node | Pair)[]): { readonly schema: Schema; readonly path: string } {
  let schema: Schema = schemaAt('');
  let path = '';
  for (const node of nodes) {
    let step: string;
    if ('items' in node) {
      if (isMap(node)) {
        const kind = node.get('kind');
        schema = schema.oneOf?.find(({ properties }) => properties?.kind?.const === kind) ?? schema;
        continue;
      }
      step = '[]';
    } else if ('key' in node && isScalar(node.key)) {
      step = String(node.key.value);
      // A secret's file is described by the secret's own description.
      const secret = step.replace(/_file$/, '');
      if (schema.properties?.[secret]) step = secret;
    } else {
      continue;
    }
    const next = childOf(schema, step);
    if (!next) throw new Error(`the example's ${path}.${step} is no key`);
    schema = next;
    path = `${path}.${step}`;
  }
  return { schema, path };
}

function wrap(text: string): string[] {
  const lines: string[] = [];
  let line = '#';
  for (const word of text.split(' ')) {
    if (line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = '#';
    }
    line += ` ${word}`;
  }
  return text === '' ? [] : [...lines, line];
}
