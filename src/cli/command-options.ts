/** How commands are defined: the options that several share, and what runs when one is called. */
import { type Command, Option } from 'commander';
import type { Edge } from '../process-io.ts';

/** The program that a command is added to, and what it runs with. */
export interface CommandLine {
  readonly program: Command;
  readonly edge: Edge;
  /** Sets the process's exit code. */
  readonly finish: (exit: number) => void;
}

/**
 * Loads what a command runs, so that no other command waits for its file. That is called with the command's arguments
 * and then its options, under their names in camel case as the command declares them; those that take no value are
 * false if they were not given. It resolves to the process's exit code.
 */
type Load = () => Promise<(edge: Edge, ...given: never[]) => number | Promise<number>>;

/** Defines what a command does when it is called. */
export function acts({ edge, finish }: CommandLine, command: Command, load: Load): void {
  command.action(async (...called: unknown[]) => {
    const { 'config.file': configFile, ...given } = command.opts();
    const flags = command.options.filter((one) => one.isBoolean()).map((one) => [one.attributeName(), false]);
    const options = { ...Object.fromEntries(flags), ...given, configFile };
    const act = await load();
    finish(await act(edge, ...([...called.slice(0, -2), options] as never[])));
  });
}

/** The same for a command that reads a configuration. */
export function actsOnConfig(line: CommandLine, command: Command, load: Load): void {
  acts(line, command.addOption(configFileOption()).addOption(jsonOption()), load);
}

/** The same for a command that asks the running daemon. */
export function actsOnDaemon(line: CommandLine, command: Command, load: Load): void {
  command
    .addOption(configFileOption())
    .addOption(urlOption())
    .addOption(new Option('--token-file <file>', 'with --url: the file with its bearer token'))
    .addOption(jsonOption());
  acts(line, command, load);
}

/** For commands that print instants in tables. */
export function utcOption(): Option {
  return new Option('--utc', 'on a terminal: instants in UTC instead of its time zone');
}

export function configFileOption(): Option {
  return new Option(
    '--config.file <file>',
    'default: $NESTWATCH_CONFIG, ./nestwatch.yaml, /etc/nestwatch/nestwatch.yaml',
  );
}

export function urlOption(): Option {
  return new Option('--url <url>', "the daemon's address; default: from the configuration");
}

export function jsonOption(): Option {
  return new Option('--json', 'print JSON');
}
