/** Defines the commands that ask the running daemon for its status and for what it sent. */
import { Option } from 'commander';
import {
  type CommandLine,
  configFileOption,
  daemonOptions,
  daemonOptionsOf,
  type Given,
  jsonOption,
  text,
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

export function addDeliveries({ program, edge, finish }: CommandLine): void {
  const deliveries = program
    .command('deliveries')
    .description('list, show and retry deliveries: what was sent, to whom, when, and why not');
  daemonOptions(deliveries.command('list', { isDefault: true }).description('the newest first'))
    .argument('[filter...]', 'words, or nest=, bird=, region=, flight=, severity=, since=, until=')
    .option('--dead', 'those that were given up')
    .option('--state <state>', 'pending, leased, delivered, retry, ambiguous, dead or suppressed')
    .option('--receiver <name>', 'only those to this receiver')
    .option('--limit <n>', 'default: 100, at most 1000')
    .addOption(jsonOption())
    .action(async (filters: string[], given: Given) => {
      const { deliveries: list } = await import('./commands/deliveries-command.ts');
      finish(
        await list(edge, {
          ...daemonOptionsOf(given),
          filters,
          state: given.dead === true ? 'dead' : text(given.state),
          receiver: text(given.receiver),
          limit: text(given.limit),
        }),
      );
    });
  daemonOptions(
    deliveries.command('show').description('show one delivery: its state and its message as sent'),
  )
    .argument('<id>')
    .addOption(jsonOption())
    .action(async (id: string, given: Given) => {
      const { deliveriesShow } = await import('./commands/deliveries-command.ts');
      finish(await deliveriesShow(edge, id, daemonOptionsOf(given)));
    });
  daemonOptions(deliveries.command('retry').description('send deliveries again that were given up'))
    .argument('<id...>')
    .addOption(jsonOption())
    .action(async (ids: string[], given: Given) => {
      const { deliveriesRetry } = await import('./commands/deliveries-command.ts');
      finish(await deliveriesRetry(edge, ids, daemonOptionsOf(given)));
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
