import { existsSync, readFileSync } from 'node:fs';
import { NestwatchError } from '../errors.ts';
import type { Edge } from '../process-io.ts';

const PLACES = ['./nestwatch.yaml', '/etc/nestwatch/nestwatch.yaml'];

/**
 * The given file, else `$NESTWATCH_CONFIG`, else the first of the usual places that exists. Throws `usage` if there
 * is none.
 */
export function findConfigFile(edge: Edge, given?: string): string {
  const named = given ?? edge.environment.NESTWATCH_CONFIG;
  const file = named || PLACES.find((place) => existsSync(place));
  if (file) return file;
  throw new NestwatchError(
    'usage',
    `no configuration: give --config.file FILE or $NESTWATCH_CONFIG (there is no ${PLACES.join(' and no ')}); \`nestwatch init\` writes a first one`,
  );
}

export function readFile(path: string): string {
  return readFileSync(path, 'utf8');
}
