/** How commands are defined: each is a row of a table, with the words, options and examples that its help shows. */

import type { Command } from 'commander';
import { Option } from 'commander';
import { NestwatchError } from '../errors.ts';
import type { Edge, SignalName } from '../process-io.ts';
import { jsonText } from './terminal-text.ts';

/** The exit codes beside 0, as the README lists them. */
export const EXIT = { failed: 1, wrongUsage: 2, warned: 3, upstream: 4 } as const;

/** What a command prints on stdout, or with `--json` as JSON; and the process's exit code, 0 by default. */
export interface Answer {
  readonly json: unknown;
  readonly text: string;
  readonly exit?: number;
}

/** What a command runs, and with what: it resolves to what is printed, or to the exit code if it has printed all itself. */
type Run = (edge: Edge, ...given: never[]) => number | Answer | Promise<number | Answer>;

/** Argument or option as the usage shows it, and its help. */
type Named = readonly [written: string, help?: string];

export interface CommandRow {
  /** What is typed: `silence add`. The first of two words is a group. */
  readonly words: string;
  readonly about: string;
  readonly alias?: string;
  /** Whether the word of the group alone means it. */
  readonly isDefault?: true;
  readonly takes?: readonly Named[];
  readonly options?: readonly (Named | Option)[];
  /** What it is about, which gives it further options: the running daemon, or a configuration. */
  readonly of?: 'daemon' | 'config';
  /** The signals that it listens for; all others end it at once. */
  readonly hears?: readonly SignalName[];
  /** Whether it reads its own arguments. */
  readonly isFree?: true;
  /** Complete command lines, after `nestwatch` unless they contain it. The help of a group shows the first of each command. */
  readonly examples?: readonly string[];
  /**
   * Loads what it runs, so that no other command waits for its file. That is called with the command's arguments
   * and then its options, under their names in camel case as the command declares them; those that take no value are
   * false if they were not given.
   */
  readonly load: (command: Command) => Promise<Run>;
}

/** The program that commands are added to, and what they run with. */
export interface CommandLine {
  readonly program: Command;
  readonly edge: Edge;
  /** Sets the process's exit code. */
  readonly finish: (exit: number) => void;
}

/** Those after which a command that lasts finishes what it has begun. */
export const STOPS: readonly SignalName[] = ['SIGINT', 'SIGTERM'];

/** For commands that print instants in tables. */
export const UTC: Named = ['--utc', 'on a terminal: instants in UTC instead of its time zone'];
export const CONFIG_FILE: Named = [
  '--config.file <file>',
  'default: $NESTWATCH_CONFIG, ./nestwatch.yaml, /etc/nestwatch/nestwatch.yaml',
];
export const URL_OF_DAEMON: Named = ['--url <url>', "the daemon's address; default: from the configuration"];
export const JSON_OUTPUT: Named = ['--json', 'print JSON'];
const TOKEN_FILE: Named = ['--token-file <file>', 'with --url: the file with its bearer token'];

const OPTIONS_OF = {
  daemon: [CONFIG_FILE, URL_OF_DAEMON, TOKEN_FILE, JSON_OUTPUT],
  config: [CONFIG_FILE, JSON_OUTPUT],
};

/** `groups`: what each group of commands is about, by its word. */
export function addCommands(
  { program, edge, finish }: CommandLine,
  groups: Readonly<Record<string, string>>,
  rows: readonly CommandRow[],
): void {
  for (const row of rows) {
    const [first = '', second] = row.words.split(' ');
    const known = program.commands.find((one) => one.name() === first);
    const group =
      second === undefined ? program : (known ?? program.command(first).description(groups[first]!));
    const command = group
      .command(second ?? first, { isDefault: row.isDefault === true })
      .description(row.about);
    if (row.alias !== undefined) command.alias(row.alias);
    if (row.isFree) command.helpOption(false).allowUnknownOption().allowExcessArguments();
    for (const [name, help] of row.takes ?? []) command.argument(name, help);
    for (const one of [...(row.options ?? []), ...(row.of ? OPTIONS_OF[row.of] : [])])
      command.addOption(one instanceof Option ? one : new Option(...one));
    const lines = (row.examples ?? []).map(typed);
    if (lines.length > 0) command.addHelpText('after', `\nExamples:\n${lines.join('')}`);
    command.action(async (...called: unknown[]) => {
      const empty = command.registeredArguments.find(
        ({ required }, at) => required && [called[at]].flat().some((one) => String(one).trim() === ''),
      );
      // An unset variable of a script would otherwise mean everything.
      if (empty) throw new NestwatchError('usage', `<${empty.name()}> must not be empty`);
      edge.holdOnly(row.hears ?? []);
      const { 'config.file': configFile, ...given } = command.opts();
      const flags = command.options
        .filter((one) => one.isBoolean())
        .map((one) => [one.attributeName(), false]);
      const options = { ...Object.fromEntries(flags), ...given, configFile };
      const run = await row.load(command);
      const done = await run(edge, ...([...called.slice(0, -2), options] as never[]));
      if (typeof done === 'number') return finish(done);
      edge.stdout.write(given.json === true ? jsonText(done.json) : done.text);
      finish(done.exit ?? 0);
    });
  }
  for (const word of Object.keys(groups)) {
    const firsts = rows.flatMap(({ words, examples = [] }) =>
      words.startsWith(`${word} `) ? examples.slice(0, 1) : [],
    );
    const group = program.commands.find((one) => one.name() === word);
    if (firsts.length > 0) group!.addHelpText('after', `\nExamples:\n${firsts.map(typed).join('')}`);
  }
}

/** A line with a pipe already contains the name `nestwatch`. */
function typed(line: string): string {
  return `  ${line.includes('| nestwatch ') ? '' : 'nestwatch '}${line}\n`;
}
