import { NestwatchError } from '../errors.ts';
import { LIMITS } from '../limits.ts';

export type Path = readonly (string | number)[];

/** One mistake in a configuration file, with its place; lines and columns count from 1. */
export interface Problem {
  readonly line: number;
  readonly column: number;
  /** Such as `receivers[0].name`; empty if the text is not valid YAML. */
  readonly path: string;
  readonly message: string;
}

/** Whether so many problems were found that no others are looked for. */
export function areEnough(problems: readonly Problem[]): boolean {
  return problems.length >= LIMITS.configuration_mistakes.most;
}

/** The mistakes of one file. The message has one line for each: `file:line:column: path: what`. */
export class ConfigError extends NestwatchError {
  readonly file: string;
  readonly problems: readonly Problem[];

  constructor(file: string, problems: readonly Problem[]) {
    const sorted = problems.toSorted((a, b) => a.line - b.line || a.column - b.column);
    if (areEnough(sorted)) sorted.push({ ...sorted.at(-1)!, path: '', message: MORE });
    super('config_invalid', sorted.map((problem) => formatProblem(file, problem)).join('\n'));
    this.file = file;
    this.problems = sorted;
  }
}

const MORE = 'there may be more: correct these first';

export function formatProblem(file: string, problem: Problem): string {
  return `${file}:${problem.line}:${problem.column}: ${withoutPosition(problem)}`;
}

/** For a text that is in no file yet. */
export function withoutPosition({ path, message }: Pick<Problem, 'path' | 'message'>): string {
  return `${path ? `${path}: ` : ''}${message}`;
}

export function formatPath(path: Path): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    if (!/^[\w-]+$/.test(step)) return `${text}[${JSON.stringify(step)}]`;
    return text ? `${text}.${step}` : step;
  }, '');
}
