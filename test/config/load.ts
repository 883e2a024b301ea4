import { expect, test } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { loadConfig, loadWarnings } from '../../src/config/load-config.ts';
import { ConfigError } from '../../src/document/problem.ts';

export interface Surroundings {
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Contents by path; no other file exists. */
  readonly files?: Readonly<Record<string, string>>;
}

/** A region on the first line, so that a test contains only what it is about. */
export const REGION = 'regions: { eu: { base_url: https://eu.example.com/api-rest, token: t0 } }\n';

export function load(text: string, { environment = {}, files = {} }: Surroundings = {}): Config {
  return loadConfig({
    file: '/etc/nestwatch/n.yaml',
    text,
    environment,
    readFile(path) {
      const content = files[path];
      if (content === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
      return content;
    },
  });
}

/** Every problem as `line:column: path: what`; empty for a good configuration. */
export function problemsOf(text: string, surroundings: Surroundings = {}): string[] {
  try {
    load(text, surroundings);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message.split('\n').map((line) => line.replace('/etc/nestwatch/n.yaml:', ''));
  }
}

/** A configuration, every problem that must be found in it, and what surrounds it if that matters. */
export type Case = readonly [text: string, ...found: (string | Surroundings)[]];

/** The problems of the file that a builder makes of what a case is about. */
export const problemsIn =
  (fileOf: (text: string) => string): typeof problemsOf =>
  (text, surroundings) =>
    problemsOf(fileOf(text), surroundings);

/** The problems of a file whose first line is `REGION`. */
export const problemsBelowRegion = problemsIn((text) => REGION + text);

/** One test for each case. */
export function testProblems(find: typeof problemsOf, cases: readonly Case[]): void {
  for (const [text, ...found] of cases) {
    test(JSON.stringify(text).slice(0, 100), () => {
      const problems = found.filter((one) => typeof one === 'string');
      const surroundings = found.find((one) => typeof one === 'object');
      expect(find(text, surroundings)).toEqual(problems);
    });
  }
}

/** Warnings about whom a configuration does not reach. Nearly every small one has such a warning. */
const OF_REACH = /own addresses end|nobody is notified of alerts|notifies nobody|contain no links/;

/**
 * Every warning as `line:column: path: what`: only those about whom it does not reach, or all others, so that a test
 * contains only what it is about.
 */
export function warningsOf(
  text: string,
  about: 'reach' | 'all else' = 'all else',
  environment: Surroundings['environment'] = {},
): string[] {
  const source = { file: 'n.yaml', text, environment, readFile: () => '' };
  return loadWarnings(source, loadConfig(source))
    .map(({ line, column, path, message }) => `${line}:${column}: ${path}: ${message}`)
    .filter((warning) => OF_REACH.test(warning) === (about === 'reach'));
}
