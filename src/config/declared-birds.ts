/** Reads a file of declared Birds, as `nestwatch birds export` writes it. */
import * as z from 'zod';
import { Check, readList } from '../document/check.ts';
import { ConfigDocument } from '../document/document.ts';
import { ConfigError, type Path } from '../document/problem.ts';
import { words } from '../document/value-shape.ts';
import type { DeclaredBird } from '../domain/alert/rule.ts';
import { meantOr, nearest } from '../text/mistake-words.ts';

const birdShape = z.strictObject({
  region: words,
  nest: words,
  bird: words,
  // An id of digits need not be quoted.
  id: z.union([words, z.int()], { error: 'must be an id' }).transform(String).optional(),
  status: words.optional(),
  trigger: words.optional(),
  published: z.boolean().optional(),
});

const fileShape = z.strictObject({ birds: z.array(z.unknown()) });

/** The service may have others, which are accepted if they are no slip. */
const KNOWN = [
  ['status', ['active', 'unpublished', 'suspended']],
  ['trigger', ['manual', 'event', 'scheduled']],
] as const;

interface DeclaredFile {
  readonly birds: readonly DeclaredBird[];
  /** Throws `ConfigError` with all mistakes and their places in the file, if there are any. */
  refuse(mistakes: readonly DeclaredMistake[]): void;
}

interface DeclaredMistake {
  readonly bird: DeclaredBird;
  readonly key: 'region' | 'bird';
  readonly message: string;
}

/** Throws `ConfigError` with all mistakes of the file. `regions`: those that may be named, if that is known. */
export function readDeclaredBirds(file: string, text: string, regions?: readonly string[]): DeclaredFile {
  const document = new ConfigDocument(text, {});
  if (!document.isReadable) throw new ConfigError(file, document.problems);
  const check = new Check({ document, file, environment: {}, readFile: () => '' });
  check.read(fileShape, []);
  const places = new Map<DeclaredBird, Path>();
  const seen = new Map<string, DeclaredBird>();
  for (const path of readList(check, ['birds'])) {
    const bird = check.read(birdShape, path);
    if (!bird) continue;
    places.set(bird, path);
    for (const [key, known] of KNOWN) checkWord(check, [...path, key], bird[key], known);
    if (regions && !regions.includes(bird.region))
      check.problem([...path, 'region'], unknownRegion(bird, regions));
    const repeated = repetition(bird, seen);
    if (repeated !== undefined) check.problem([...path, 'bird'], repeated);
  }
  function refuse(mistakes: readonly DeclaredMistake[]): void {
    for (const { bird, key, message } of mistakes) check.problem([...places.get(bird)!, key], message);
    if (check.problems().length > 0) throw new ConfigError(file, check.problems());
  }
  refuse([]);
  return { birds: [...places.keys()], refuse };
}

export function unknownRegion({ region }: DeclaredBird, regions: readonly string[]): string {
  return `there is no such region; ${meantOr(region, regions)}`;
}

function checkWord(check: Check, path: Path, word: string | undefined, known: readonly string[]): void {
  if (word === undefined || known.includes(word)) return;
  const meant = nearest(word, known);
  if (meant !== undefined) check.problem(path, `unknown; did you mean ${meant}?`);
}

/** Whether an entry before is about the same Bird, or may be. */
function repetition(bird: DeclaredBird, seen: Map<string, DeclaredBird>): string | undefined {
  const { region, nest, id } = bird;
  const ofId = id !== undefined && seen.getOrInsert(JSON.stringify([region, id]), bird) !== bird;
  if (ofId) return 'is declared twice: another entry has this `id`';
  const first = seen.getOrInsert(JSON.stringify([region, nest, bird.bird]), bird);
  if (first === bird || (id !== undefined && first.id !== undefined)) return undefined;
  return 'is declared twice: if two Birds of the Nest have this name, give the `id` of each';
}
