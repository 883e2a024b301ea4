/** Options that several commands share, and the types to define a command. */
import { type Command, Option } from 'commander';
import type { Edge } from '../process-io.ts';

/** The program that a command is added to, and what it runs with. */
export interface CommandLine {
  readonly program: Command;
  readonly edge: Edge;
  /** Sets the process's exit code. */
  readonly finish: (exit: number) => void;
}

/** The options as parsed by commander. */
export type Given = Readonly<Record<string, string | boolean | undefined>>;

export function configFileOption(): Option {
  return new Option(
    '--config.file <file>',
    'default: $NESTWATCH_CONFIG, ./nestwatch.yaml, /etc/nestwatch/nestwatch.yaml',
  );
}

export function jsonOption(): Option {
  return new Option('--json', 'print JSON');
}

/** Adds the options that say where the running daemon is. */
export function daemonOptions(command: Command): Command {
  return command
    .addOption(configFileOption())
    .addOption(new Option('--url <url>', "the daemon's address; default: from the configuration"))
    .addOption(new Option('--token-file <file>', 'with --url: the file with its bearer token'));
}

export function daemonOptionsOf(given: Given) {
  return {
    configFile: text(given['config.file']),
    url: text(given.url),
    tokenFile: text(given.tokenFile),
    json: given.json === true,
  };
}

/** The text of an option; undefined if it was not given. */
export function text(value: Given[string]): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
