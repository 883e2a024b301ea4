/** The commands that ask the running daemon how it stands and what it sent. */
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
      .description('how the running daemon stands; exit 1 while something impairs its watch'),
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
  const deliveries = program.command('deliveries').description('what was sent, to whom, when, and why not');
  daemonOptions(deliveries.command('list', { isDefault: true }).description('the newest first'))
    .option('--dead', 'those that were given up')
    .option('--state <state>', 'pending, leased, delivered, retry, ambiguous, dead or suppressed')
    .option('--receiver <name>', 'only those to this receiver')
    .option('--limit <n>', 'default: 100, at most 1000')
    .addOption(jsonOption())
    .action(async (given: Given) => {
      const { deliveries: list } = await import('./commands/deliveries-command.ts');
      finish(
        await list(edge, {
          ...daemonOptionsOf(given),
          state: given.dead === true ? 'dead' : text(given.state),
          receiver: text(given.receiver),
          limit: text(given.limit),
        }),
      );
    });
  daemonOptions(deliveries.command('retry').description('send again what was given up'))
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
      .description("an event's way: seen, rule, alert, group, each delivery, or why there was none"),
  )
    .argument('<event-key>', 'e.g. eu/flight/01890a5d-…/failed')
    .addOption(jsonOption())
    .action(async (key: string, given: Given) => {
      const { explain } = await import('./commands/explain-command.ts');
      finish(await explain(edge, key, daemonOptionsOf(given)));
    });
}
