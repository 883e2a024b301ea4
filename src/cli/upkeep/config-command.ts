import { stringify } from 'yaml';
import { effectiveConfig } from '../../config/effective.ts';
import type { Edge } from '../../process-io.ts';
import { findConfigFile } from '../config-file.ts';
import { readConfig, readDocument } from '../read-config.ts';
import { jsonText, shownLines } from '../terminal-text.ts';

/** Prints the effective configuration without its secrets. Throws `ConfigError` if it has mistakes. */
export function configShow(
  edge: Edge,
  options: { readonly configFile: string | undefined; readonly json: boolean },
): number {
  const file = findConfigFile(edge, options.configFile);
  readConfig(edge, file);
  const config = effectiveConfig(readDocument(edge, file));
  edge.stdout.write(
    options.json ? jsonText(config) : `${shownLines(stringify(config, { lineWidth: 0 })).trimEnd()}\n`,
  );
  return 0;
}
