/** Defines the commands that ask the running daemon for its status, and what became of an event. */
import { Option } from 'commander';
import {
  type CommandLine,
  configFileOption,
  daemonOptions,
  daemonOptionsOf,
  type Given,
  jsonOption,
} from './command-options.ts';

export function addStatus({ program, edge, finish }: CommandLine): void {
  daemonOptions(
    program
      .command('status')
      .description('show the status of the running daemon; exit 1 while something impairs the watch'),
  )
    .addOption(jsonOption())
    .action(async (options: Given) => {
      const { status } = await import('./commands/status-command.ts');
      finish(await status(edge, daemonOptionsOf(options)));
    });
}

export function addHealthcheck({ program, edge, finish }: CommandLine): void {
  program
    .command('healthcheck')
    .description('exit 0 when the running daemon is healthy, else 1')
    .addOption(configFileOption())
    .addOption(new Option('--url <url>', "the daemon's address; default: from the configuration"))
    .addOption(jsonOption())
    .action(async (options: Given) => {
      const { healthcheck } = await import('./commands/healthcheck-command.ts');
      finish(await healthcheck(edge, daemonOptionsOf(options)));
    });
}

export function addExplain({ program, edge, finish }: CommandLine): void {
  daemonOptions(
    program
      .command('explain')
      .description('trace an event: seen, rule, alert, group, each delivery, or why there was none'),
  )
    .argument(
      '<id>',
      "the key or short id of an event, the id of an alert, Bird, Flight, delivery or silence, a fingerprint, an incident's key, or a link to a page",
    )
    .addOption(jsonOption())
    .action(async (key: string, given: Given) => {
      const { explain } = await import('./commands/explain-command.ts');
      finish(await explain(edge, key, daemonOptionsOf(given)));
    });
}
