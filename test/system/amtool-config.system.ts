/**
 * Compares with Debian's amtool (Alertmanager 0.25): the same routes for the same labels, and the same reading of
 * matchers. `amtool check-config` and `config routes show` take many at once, `config routes test` one set of labels.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { type Matcher, parseMatchers } from '../../src/domain/matchers/matcher.ts';
import { MatcherSyntaxError } from '../../src/domain/matchers/matcher-syntax.ts';
import { nestwatch } from '../cli/test-io.ts';
import { load, REGION } from '../config/load.ts';
import { MAIN } from '../program.ts';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'nestwatch-amtool-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A new seed in each run; a failure prints the seed that repeats it. */
const SEED = Number(process.env.NESTWATCH_SEED ?? Date.now() % 2 ** 31);
const some = <T>(one: fc.Arbitrary<T>, count: number) => fc.sample(one, { numRuns: count, seed: SEED });

/** What amtool prints, also if the check fails. */
async function amtool(...args: string[]): Promise<string> {
  const options = { maxBuffer: 64 * 1024 * 1024 };
  const { stdout } = await run('amtool', args, options).catch((error: { code: unknown; stdout: string }) => {
    if (typeof error.code !== 'number') throw error;
    return error;
  });
  return stdout;
}

/** A few at a time: amtool takes 20 ms, most of them for its start. */
async function inTurns<T>(
  items: readonly T[],
  work: (item: T, index: number) => Promise<void>,
): Promise<void> {
  const waiting = [...items.entries()];
  const worker = async () => {
    for (let next = waiting.pop(); next; next = waiting.pop()) await work(next[1], next[0]);
  };
  await Promise.all([worker(), worker(), worker()]);
}

describe('routes', () => {
  const NAMES = ['alertname', 'severity', 'region', 'nest'];
  const VALUES = ['a', 'b', 'ab', 'A b', 'x,y'];
  const PATTERNS = ['a|b', 'a.*', '.+', '.*', '(?i)a b', '[^a]+', 'b?', 'x,y', ''];
  const anyMatcher = fc
    .tuple(fc.constantFrom(...NAMES), fc.constantFrom('=', '!=', '=~', '!~'), fc.nat(), fc.boolean())
    .map(([name, op, at, isBraced]) => {
      const values = op.endsWith('~') ? PATTERNS : ['', ...VALUES];
      const text = `${name}${op}"${values[at % values.length]}"`;
      return isBraced ? `{${text}}` : text;
    });

  interface Node {
    matchers: string[];
    receiver: string | undefined;
    continue: boolean;
    routes: Node[];
  }
  const { node: anyNode } = fc.letrec<{ node: Node }>((tie) => ({
    node: fc.record({
      matchers: fc.array(anyMatcher, { maxLength: 2 }),
      receiver: fc.option(fc.constantFrom('r1', 'r2', 'r3', 'r4', 'r5'), { nil: undefined }),
      continue: fc.boolean(),
      routes: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        fc.constant<Node[]>([]),
        fc.array(tie('node'), { maxLength: 3 }),
      ),
    }),
  }));
  const anyTree = fc.array(anyNode, { minLength: 1, maxLength: 4 });
  const anyValue = fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...VALUES) },
    { weight: 1, arbitrary: fc.constantFrom('ü', 'say "hi"', 'back\\slash', '$HOME') },
  );
  const anyLabels = fc.dictionary(fc.constantFrom(...NAMES), anyValue, { maxKeys: 4 });

  /** Every JSON text is YAML as well. */
  function configOf(routes: readonly Node[]): string {
    const receivers = ['ops', 'r1', 'r2', 'r3', 'r4', 'r5'].map((name) => ({ name }));
    return `route: ${JSON.stringify({ receiver: 'ops', routes })}\nreceivers: ${JSON.stringify(receivers)}\n`;
  }

  test('200 random trees send as many sets of labels to the receivers that amtool prints', {
    timeout: 600_000,
  }, async () => {
    const seen = new Map<string, number>();
    await inTurns(some(fc.tuple(anyTree, anyLabels), 200), async ([routes, labels], index) => {
      const [theirFile, ourFile] = ['their', 'our'].map((whose) => join(folder, `${whose}${index}.yml`));
      const text = configOf(routes);
      writeFileSync(theirFile!, text);
      writeFileSync(ourFile!, `${REGION}${text}`);
      const pairs = Object.entries(labels).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
      const theirs = await amtool('config', 'routes', 'test', `--config.file=${theirFile}`, ...pairs);
      const command = ['routes', 'test', `--config.file=${ourFile}`, ...pairs];
      // Our process takes ten times as long as amtool, so a few are enough.
      const { stdout } =
        index % 25 === 0 ? await run(process.execPath, [MAIN, ...command]) : await nestwatch(command);
      expect(stdout, `seed ${SEED}: ${text} with ${pairs.join(' ')}`).toBe(theirs);
      seen.set(theirs, (seen.get(theirs) ?? 0) + 1);
    });
    // The answers are not all alike.
    expect(seen.size).toBeGreaterThan(30);
    expect(seen.get('ops\n') ?? 0).toBeLessThan(250);
  });
});

describe('matchers', () => {
  const name = fc.constantFrom('a', 'nest', '_x', 'a:b', 'A1', 'ü', '1a', 'a-b', '"a"', '"a b"', '');
  const op = fc.constantFrom('=', '!=', '=~', '!~', '==', '~', '=!', '');
  const piece = fc.constantFrom(
    ...String.raw`a ü 🐦 , { } " \ \" \n \\ \d \x41 =`.split(' '),
    ...['b c', '', '\n', '\t', ' '],
    ...'.* a|b (a) ( ) [a-z] [ [^] [[:alpha:]] a+? a** a{2} a{2,1} x{1001}'.split(' '),
    ...String.raw`(?i)a (?:a|b) (?P<n>a) (?=a) \pL \Q.\E \1 ^ $ * ? \z \C (?<n>a)`.split(' '),
  );
  const value = fc.array(piece, { maxLength: 3 }).map((pieces) => pieces.join(''));
  const quoted = fc.oneof(
    { weight: 3, arbitrary: value.map((text) => `"${text}"`) },
    { weight: 1, arbitrary: value },
  );
  const space = fc.constantFrom('', '', '', ' ', '  ');
  const sound = fc.tuple(
    fc.constantFrom('a', 'nest', '_x', 'a:b'),
    fc.constantFrom('=', '!=', '=~', '!~'),
    quoted,
  );
  const one = fc
    .tuple(
      space,
      fc.oneof({ weight: 4, arbitrary: sound }, { weight: 1, arbitrary: fc.tuple(name, op, quoted) }),
      space,
    )
    .map(([before, [n, o, v], after]) => `${before}${n}${after}${o}${before}${v}${after}`);
  const anyText = fc
    .tuple(
      fc.array(one, { minLength: 1, maxLength: 3 }),
      fc.constantFrom(',', ',', ',', ', ', ',,', ';'),
      fc.constantFrom(
        ['', ''],
        ['', ''],
        ['{', '}'],
        ['{', '}'],
        ['{', ''],
        ['', '}'],
        ['', ','],
        ['{', ',}'],
        ['{{', '}}'],
      ),
    )
    .map(([ones, comma, [open, close]]) => `${open}${ones.join(comma)}${close}`);

  // An empty text, which Alertmanager reads as "everything", is refused by nestwatch: it is a slip of the pen.
  const texts = [...new Set(some(anyText, 4_000))].filter((text) => text !== '').slice(0, 2_500);

  /** What nestwatch reads, or why it refuses it. */
  function read(text: string): { shown: string; matchers: Matcher[] } | { refusal: string } {
    try {
      const matchers = parseMatchers(text);
      const routes = [{ matchers: [text.replaceAll('$', '$$$$')] }];
      const { route } = load(
        `${REGION}route: ${JSON.stringify({ receiver: 'ops', routes })}\nreceivers: [{ name: ops }]`,
      );
      return { shown: route.routes[0]!.key.slice('{}/'.length), matchers };
    } catch (error) {
      if (error instanceof MatcherSyntaxError) return { refusal: error.message };
      throw error;
    }
  }

  const config = (routes: readonly unknown[]) =>
    `route: ${JSON.stringify({ receiver: 'ops', routes })}\nreceivers: ${JSON.stringify(
      ['ops', ...routes.keys()].map((receiver) => ({ name: String(receiver) })),
    )}\n`;

  /** The texts that amtool refuses. */
  async function refused(): Promise<Set<string>> {
    const files = texts.map((text, index) => {
      const file = join(folder, `matcher${index}.yml`);
      writeFileSync(file, config([{ matchers: [text] }]));
      return file;
    });
    const output = await amtool('check-config', ...files);
    const verdicts = new Map(
      [...output.matchAll(/^Checking '(.*)' {2}(SUCCESS|FAILED)/gm)].map(([, file, verdict]) => [
        file,
        verdict,
      ]),
    );
    expect(verdicts.size).toBe(files.length);
    return new Set(texts.filter((_, index) => verdicts.get(files[index]) === 'FAILED'));
  }

  /** How amtool prints those that it accepts, by their text. */
  async function shown(taken: readonly string[]): Promise<Map<string, string>> {
    const file = join(folder, 'taken.yml');
    writeFileSync(file, config(taken.map((text, index) => ({ matchers: [text], receiver: String(index) }))));
    const output = await amtool('config', 'routes', 'show', `--config.file=${file}`);
    const lines = [...output.matchAll(/^ {4}[├└]── (.*) {2}receiver: (\d+)$/gm)];
    expect(lines).toHaveLength(taken.length);
    return new Map(lines.map(([, matchers, receiver]) => [taken[Number(receiver)]!, matchers!]));
  }

  /** Why Debian's version refuses what newer ones accept; undefined if they would refuse it as well. */
  function newerRule(matchers: readonly Matcher[]): string | undefined {
    if (matchers.some(({ name }) => !/^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(name)))
      return 'a name in UTF-8 (0.27)';
    if (matchers.some(({ op, value }) => op.endsWith('~') && value.includes('(?<')))
      return 'a group (?<name>) (Go 1.22)';
    return undefined;
  }

  test('2,500 random texts are accepted or refused alike, and read alike', async () => {
    const no = await refused();
    const theirs = await shown(texts.filter((text) => !no.has(text)));
    const counts = new Map<string, number>();
    for (const text of texts) {
      const ours = read(text);
      const their = theirs.get(text);
      const where = `seed ${SEED}: ${JSON.stringify(text)}`;
      let verdict: string;
      if ('refusal' in ours) {
        // Alertmanager reads `)a\\` within `^(?:…)$`, whose brackets it happens to balance. And Go accepts two groups
        // of one name, which RE2 itself and RE2JS refuse.
        verdict = their === undefined ? 'refused by both' : 'a bracket that closes none';
        if (their !== undefined) {
          expect(ours.refusal, where).toMatch(/unexpected \)|duplicate capture group name/);
        }
      } else if (their === undefined) {
        verdict =
          newerRule(ours.matchers) ??
          (/(?:^|[{,]) *"a" *[=!]/.test(text) ? 'a name in quotes (0.27)' : 'unexplained');
        expect(verdict, where).not.toBe('unexplained');
      } else {
        verdict = 'taken by both';
        expect(ours.shown, where).toBe(their === 'default-route' ? '{}' : their);
      }
      counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
    }
    console.info(Object.fromEntries(counts));
    const [taken, refusedByBoth] = [counts.get('taken by both') ?? 0, counts.get('refused by both') ?? 0];
    expect(taken).toBeGreaterThan(500);
    expect(refusedByBoth).toBeGreaterThan(500);
  });
});
