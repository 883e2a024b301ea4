import { existsSync, readFileSync } from 'node:fs';
import type { Config } from '../config/config.ts';
import { loadConfig, loadWarnings, loadWebConfig } from '../config/load-config.ts';
import type { WebConfig } from '../config/sections/web-section.ts';
import type { Problem } from '../document/problem.ts';
import { NestwatchError } from '../errors.ts';
import type { Edge } from '../process-io.ts';
import { exposedFiles } from '../store/open-store.ts';

const PLACES = ['./nestwatch.yaml', '/etc/nestwatch/nestwatch.yaml'];

/** The file given, or `$NESTWATCH_CONFIG`, or the first of the usual places that exists. Throws `usage` for none. */
export function findConfigFile(edge: Edge, given?: string): string {
  const named = given ?? edge.environment.NESTWATCH_CONFIG;
  const file = named || PLACES.find((place) => existsSync(place));
  if (file) return file;
  throw new NestwatchError(
    'usage',
    `no configuration: give --config.file FILE or $NESTWATCH_CONFIG (there is no ${PLACES.join(' and no ')}); \`nestwatch init\` writes a first one`,
  );
}

/** Throws `ConfigError` with every mistake. */
export function readConfig(edge: Edge, file: string): Config {
  return loadConfig({ file, environment: edge.environment, readFile });
}

/** What is hardly meant in a configuration that was read from this file, and what others may read of its store. */
export async function readWarnings(edge: Edge, file: string, config: Config): Promise<readonly Problem[]> {
  const exposed = await exposedFiles(config.store.url);
  return [
    ...loadWarnings({ file, environment: edge.environment, readFile }, config),
    ...exposed.map((message) => ({ line: 1, column: 1, path: 'store.url', message })),
  ];
}

/** Only where the daemon listens. */
export function readWebConfig(edge: Edge, file: string): WebConfig {
  return loadWebConfig({ file, environment: edge.environment, readFile });
}

function readFile(path: string): string {
  return readFileSync(path, 'utf8');
}
