import { Command, CommanderError } from 'commander';
import { ConfigError } from '../document/problem.ts';
import { DaemonError, ERRORS, NestwatchError } from '../errors.ts';
import type { Edge } from '../process-io.ts';
import { ALERT_COMMANDS, ALERT_GROUPS } from './alert-commands.ts';
import { addCommands, EXIT } from './command-rows.ts';
import { CONFIG_COMMANDS, CONFIG_GROUPS } from './config-commands.ts';
import { LIST_COMMANDS, LIST_GROUPS } from './list-commands.ts';
import { SERVICE_COMMANDS, versionLines } from './service-commands.ts';
import { STORE_COMMANDS, STORE_GROUPS } from './store-commands.ts';
import { shownLines } from './terminal-text.ts';

/** Used if the width of the terminal is unknown. */
const HELP_WIDTH = 100;
/** Descriptions are broken between words down to this width. */
const LEAST_DESCRIPTION = 20;

/**
 * Runs one command and resolves to the process's exit code; never rejects. The file of each command is only loaded
 * when the command runs, so that `--help` and `healthcheck` do not wait for what only the daemon needs.
 */
export async function runCommandLine(edge: Edge, args: readonly string[]): Promise<number> {
  let exit = 0;
  const program = createProgram(edge, (code) => {
    exit = code;
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return exit;
  } catch (error) {
    const help = `See \`${commandOf(program, args)} --help\`.`;
    if (!(error instanceof CommanderError)) return sayFailure(edge, error, args, help);
    if (error.exitCode === 0) return 0;
    // Commander has printed the message already.
    edge.stderr.write(`${help}\n`);
    return EXIT.wrongUsage;
  }
}

function createProgram(edge: Edge, finish: (exit: number) => void): Command {
  const program = new Command('nestwatch')
    .description(
      'Monitoring and alerting for Birds and Flights: every failure reported once, soon, and with its reason.',
    )
    .version(versionLines(edge.environment), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .option('--log.level <level>', 'debug: print the stack of unexpected failures')
    .exitOverride()
    .enablePositionalOptions()
    .configureHelp({ minWidthToWrap: LEAST_DESCRIPTION })
    .configureOutput({
      writeOut: (text) => edge.stdout.write(text),
      writeErr: (text) => edge.stderr.write(steerless(text)),
      getOutHelpWidth: () => edge.stdout.columns ?? HELP_WIDTH,
      getErrHelpWidth: () => edge.stdout.columns ?? HELP_WIDTH,
      getOutHasColors: () => edge.stdout.isTTY === true && !edge.environment.NO_COLOR,
      getErrHasColors: () => false,
    });
  program.addHelpText(
    'after',
    '\nExit codes: 0 done, 1 failed while running, 2 wrong usage or configuration,\n    3 warnings under --strict, 4 a delivery or an upstream test failed.',
  );

  addCommands(
    { program, edge, finish },
    { ...CONFIG_GROUPS, ...LIST_GROUPS, ...ALERT_GROUPS, ...STORE_GROUPS },
    [...SERVICE_COMMANDS, ...CONFIG_COMMANDS, ...LIST_COMMANDS, ...ALERT_COMMANDS, ...STORE_COMMANDS],
  );
  return program;
}

/** The words of the command that was called, as far as there is one: `nestwatch silence add`. */
function commandOf(program: Command, args: readonly string[]): string {
  let command = program;
  const words = [program.name()];
  for (const arg of args) {
    const found = command.commands.find((one) => one.name() === arg || one.aliases().includes(arg));
    if (!found) break;
    command = found;
    words.push(found.name());
  }
  return words.join(' ');
}

/** `usage`: what to say of a wrong one. */
function sayFailure(edge: Edge, error: unknown, args: readonly string[], usage: string): number {
  if (error instanceof NestwatchError) {
    const { exit, help } = ERRORS[error.code];
    const place = error instanceof ConfigError ? '' : 'nestwatch: ';
    edge.stderr.write(steerless(`${place}${error.message}\n${error.code === 'usage' ? usage : help}\n`));
    return error instanceof DaemonError ? EXIT.failed : exit;
  }
  const message = error instanceof Error ? error.message : String(error);
  const wantsStack = /--log\.level[= ]debug\b/.test(args.join(' '));
  const details = wantsStack && error instanceof Error ? `${error.stack}\n` : '';
  edge.stderr.write(steerless(`nestwatch: this should not happen, please report it: ${message}\n${details}`));
  return EXIT.failed;
}

/** Makes a message safe for the terminal, since it may quote an argument or what was read. */
function steerless(text: string): string {
  return `${shownLines(text)}\n`;
}
