// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to the environment are meant.
/**
 * A whole configuration with something hostile at any of its keys. It must be refused with a position, or be
 * harmless.
 */
import { readFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';
import { loadConfig, loadWarnings } from '../../src/config/load-config.ts';
import { ConfigError } from '../../src/document/problem.ts';
import { pick } from '../../src/simulator/world/seeded-random.ts';
import type { Random } from '../../src/time/clock.ts';
import { withAll } from '../docs/example.ts';
import { builtInName, hostileText, hostileValue } from './hostile-values.ts';

const EXAMPLE = parse(
  withAll(readFileSync(new URL('../../config/nestwatch.yaml', import.meta.url), 'utf8')),
) as object;

/** A configuration in which one or two places are hostile, as text; occasionally it is not YAML. */
export function hostileConfig(random: Random): string {
  const root = structuredClone(EXAMPLE) as Record<string, unknown>;
  for (let count = 1 + Math.floor(random() * 2); count > 0; count -= 1) poison(root, random);
  const text = stringify(root, { schema: 'json' });
  const chance = random();
  if (chance < 0.05) return text.slice(0, Math.floor(random() * text.length));
  if (chance < 0.1) return `${text}\n${pick(random, STRANGE_YAML)}`;
  return text;
}

const STRANGE_YAML = [
  '<<: *x',
  `a: &a [x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c]`,
  '!!js/function "function(){}"',
  `${'- '.repeat(2000)}x`,
  '\u0000',
  '--- \n---\n',
  '"\\ud800": 1',
];

function poison(root: Record<string, unknown>, random: Random): void {
  let place: unknown = root;
  for (;;) {
    const holder = place as Record<string, unknown>;
    const key = pick(random, Object.keys(holder));
    const below = holder[key];
    const goesOn =
      typeof below === 'object' && below !== null && Object.keys(below).length > 0 && random() < 0.85;
    if (goesOn) {
      place = below;
      continue;
    }
    const chance = random();
    const value = hostileConfigValue(random);
    if (chance < 0.8 || Array.isArray(holder)) set(holder, key, value);
    else set(holder, chance < 0.9 ? builtInName(random) : hostileText(random, 300).toWellFormed(), value);
    return;
  }
}

function hostileConfigValue(random: Random): unknown {
  const more = [
    '${constructor}',
    '${__proto__:-x}',
    '${',
    '$$',
    '*',
    '0-9999999 * * * *',
    '99999999999d',
    '1e9d',
    '.*',
    '[[:__proto__:]]',
    '(a{0,1000}){0,1000}',
  ];
  return random() < 0.3 ? pick(random, more) : hostileValue(random, 3000);
}

function set(holder: object, key: string, value: unknown): void {
  Object.defineProperty(holder, key, { value, enumerable: true, writable: true, configurable: true });
}

/** What went wrong while it was read, in words; undefined if nothing did. */
export function mistakeOfLoading(text: string): string | undefined {
  const source = { file: 'nestwatch.yaml', text, environment: {}, readFile: refuseToRead };
  try {
    const config = loadConfig(source);
    loadWarnings(source, config);
    return undefined;
  } catch (error) {
    if (!(error instanceof ConfigError)) return `it is not refused but fails: ${stackOf(error)}`;
    const placeless = error.problems.find(({ line, column }) => !(line >= 1 && column >= 1));
    if (placeless) return `a problem has no place: ${JSON.stringify(placeless)}`;
    if (error.problems.length === 0) return 'it is refused without a problem';
    return undefined;
  }
}

function refuseToRead(): string {
  throw Object.assign(new Error('ENOENT'), { code: 'ENOENT' });
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
