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

/** A configuration and every problem that must be found in it. */
export type Case = readonly [
  name: string,
  text: string,
  problems: readonly string[],
  surroundings?: Surroundings,
];

/** One test for each. */
export function testProblems(cases: readonly Case[]): void {
  for (const [name, text, problems, surroundings] of cases) {
    test(name, () => {
      expect(problemsOf(text, surroundings)).toEqual(problems);
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
