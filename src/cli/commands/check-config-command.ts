import type { Config } from '../../config/config.ts';
import { ConfigError, formatProblem } from '../../document/problem.ts';
import { ERRORS } from '../../errors.ts';
import type { Edge } from '../../process-io.ts';
import { EXIT } from '../command-rows.ts';
import { findConfigFile, readGiven } from '../config-file.ts';
import { readConfig, readWarnings } from '../read-config.ts';
import { jsonText, shownLines } from '../terminal-text.ts';

interface CheckConfigOptions {
  /** Checked before the others. */
  readonly configFile: string | undefined;
  readonly online: boolean;
  /** Whether warnings affect the exit code. */
  readonly strict: boolean;
  readonly json: boolean;
}

/**
 * Prints every mistake of every file, then the warnings of the valid ones, and, with `online`, whether what they name
 * is reachable.
 */
export async function checkConfig(
  edge: Edge,
  others: readonly string[],
  options: CheckConfigOptions,
): Promise<number> {
  const files = options.configFile === undefined ? others : [options.configFile, ...others];
  /** Mistakes and warnings have a `line`; results of online tests have `works`. */
  const found: object[] = [];
  const tell = (one: object | undefined, line: string) => {
    if (!options.json) edge.stdout.write(`${shownLines(line)}\n`);
    else if (one) found.push(one);
  };
  let exit = 0;
  let isWarned = false;
  for (const file of files.length > 0 ? files : [findConfigFile(edge, {})]) {
    const result = read(edge, file);
    if (result instanceof ConfigError) {
      exit = ERRORS.config_invalid.exit;
      const { file: named, problems } = result;
      for (const problem of problems) tell({ file: named, ...problem }, formatProblem(named, problem));
      continue;
    }
    tell(undefined, `${file}: good: ${summary(result)}`);
    for (const warning of await readWarnings(edge, file, result, readGiven(file))) {
      isWarned = true;
      const line = formatProblem(file, { ...warning, message: `warning: ${warning.message}` });
      tell({ file, ...warning, level: 'warning' }, line);
    }
    if (!options.online) continue;
    const { checkOnline, failureText } = await import('./check-online.ts');
    for await (const { what, note, warning, ...tried } of checkOnline(edge, result)) {
      const failure = failureText(tried);
      if (failure !== undefined) exit ||= ERRORS.unreachable.exit;
      const message = failure ?? ['good', ...(note === undefined ? [] : [note])].join(': ');
      tell({ file, what, works: failure === undefined, message }, `${file}: ${what}: ${message}`);
      if (warning === undefined) continue;
      isWarned = true;
      tell({ file, what, message: warning, level: 'warning' }, `${file}: ${what}: warning: ${warning}`);
    }
  }
  if (options.json) edge.stdout.write(jsonText(found));
  return exit || (options.strict && isWarned ? EXIT.warned : 0);
}

function read(edge: Edge, file: string): Config | ConfigError {
  try {
    return readConfig(edge, file);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
}

function summary({ regions, receivers, forward }: Config): string {
  const names = regions.map(({ name }) => name).join(', ');
  const reached = receivers.filter(({ integrations }) => integrations.length > 0).map(({ name }) => name);
  const silent = forward.length === 0 && reached.length === 0 ? ' (alerts are seen only on the page)' : '';
  return `regions ${names}; receivers ${reached.join(', ') || 'none'}${silent}`;
}
