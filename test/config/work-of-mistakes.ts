// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to the environment are what is tested.
/**
 * `node --no-opt --no-maglev --no-sparkplug work-of-mistakes.ts COUNT`: counts the function calls while this many
 * mistakes of one sort, or warnings, are found in a configuration, then half as many, and a twentieth. That is a
 * measure of work that is the same on every machine. The options are needed because calls are counted correctly only
 * as long as nothing is compiled to machine code.
 */
import { Session } from 'node:inspector/promises';
import { loadConfig, loadWarnings } from '../../src/config/load-config.ts';
import { ConfigError } from '../../src/document/problem.ts';

export interface Work {
  readonly what: string;
  readonly mistakes: number;
  readonly found: number;
  readonly calls: number;
}

const REGION = 'regions: { eu: { base_url: https://eu.example.com/api-rest, token: t0 } }\n';

const lines = (count: number, line: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => `${line(at)}\n`).join('');

const MOST_RULES = 2_000;

/** `most` if reading each of them takes long. */
const TEXTS: readonly (readonly [what: string, text: (count: number) => string, most?: number])[] = [
  ['unknown keys of a section', (count) => `poll:\n${lines(count, (at) => `  k${at}x: 1`)}`],
  ['unknown sections', (count) => lines(count, (at) => `k${at}x: 1`)],
  ['keys that stand twice', (count) => `poll:\n${lines(count + 1, () => '  page_size: 1')}`],
  [
    'rules with names of their own',
    (count) => `rules:\n${lines(count, (at) => `  - { kind: FlightFailed, name: r${at}, threshold: x }`)}`,
    MOST_RULES,
  ],
  [
    'rules that never act, each for other Nests',
    (count) =>
      `rules:\n${lines(count, (at) => `  - { kind: FlightFailed, match: ['nests="x"', 'nest="${at}"'] }`)}`,
    MOST_RULES,
  ],
  [
    'rules that all end with one matcher, before some that never act',
    (count) =>
      `rules:\n${lines(count, (at) => `  - { kind: FlightFailed, match: ['bird="${at}"', 'region="eu"'] }`)}${lines(100, () => '  - { kind: FlightFailed, match: [nests=x] }')}`,
    MOST_RULES,
  ],
  ['references that lead nowhere', (count) => `rules:\n${lines(count, () => '  - "${A}"')}`],
];

function mistakesIn(text: string): number {
  const source = { file: 'n.yaml', text, environment: {}, readFile: () => '' };
  try {
    const warnings = loadWarnings(source, loadConfig(source));
    return warnings.filter(({ path }) => path.startsWith('rules')).length;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.length;
  }
}

const session = new Session();
session.connect();
await session.post('Profiler.enable');
const works: Work[] = [];
for (const [what, textOf, bound = Number.POSITIVE_INFINITY] of TEXTS) {
  const most = Math.min(bound, Number(process.argv[2]));
  // What is prepared once, at first, does not count as work of a mistake.
  mistakesIn(REGION + textOf(10));
  for (const mistakes of [most / 20, most / 2, most]) {
    const text = REGION + textOf(mistakes);
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    const found = mistakesIn(text);
    const { result } = await session.post('Profiler.takePreciseCoverage');
    await session.post('Profiler.stopPreciseCoverage');
    const counts = result.flatMap(({ functions }) => functions.map(({ ranges }) => ranges[0]?.count ?? 0));
    works.push({ what, mistakes, found, calls: counts.reduce((sum, count) => sum + count, 0) });
  }
}
console.log(JSON.stringify(works));
