/** The commands about alerts, silences, routes and deliveries. */
import { type Command, Option } from 'commander';
import type { Edge } from '../process-io.ts';
import { daemonOptions, daemonOptionsOf, type Given } from './daemon-options.ts';

export function addAlertingCommands(program: Command, edge: Edge, finish: (exit: number) => void): void {
  const json = () => new Option('--json', 'print JSON');

  const alertsCommand = program
    .command('alerts')
    .description('list alerts as amtool does; resolve them by hand');
  daemonOptions(
    alertsCommand
      .command('list', { isDefault: true })
      .description('the alerts that fire and that nothing hides, as amtool lists them'),
  )
    .argument('[matcher...]', 'e.g. FlightFailed \'nest=~"Prod.*"\'')
    .option('-a, --active', 'those that nothing hides, beside others that are asked for')
    .option('-s, --silenced', 'silenced ones as well')
    .option('-i, --inhibited', 'inhibited ones as well')
    .option('-r, --receiver <regex>', 'only those that reach such a receiver')
    .addOption(json())
    .action(async (matchers: string[], given: Given) => {
      const { alerts } = await import('./commands/alerts-command.ts');
      finish(
        await alerts(edge, matchers, {
          ...daemonOptionsOf(given),
          active: given.active === true,
          silenced: given.silenced === true,
          inhibited: given.inhibited === true,
          receiver: text(given.receiver),
        }),
      );
    });

  daemonOptions(
    alertsCommand
      .command('resolve')
      .description(
        'end each alert that fires and matches, as somebody knows it to be over, and print the ids',
      ),
  )
    .argument('<matcher...>', 'e.g. \'entity_name="Phrase TMS"\'; a first word alone is the alertname')
    .option('-c, --comment <text>', 'how it came to be over')
    .option('-a, --author <name>', 'who says so; default: $USER')
    .addOption(json())
    .action(async (matchers: string[], given: Given) => {
      const { resolve } = await import('./commands/resolve-command.ts');
      const options = { author: text(given.author), comment: text(given.comment) };
      finish(await resolve(edge, matchers, { ...daemonOptionsOf(given), ...options }));
    });

  const silence = program.command('silence').description('add, list and end silences; acknowledge alerts');
  daemonOptions(silence.command('add').description('silence what matches, and print the id of the silence'))
    .argument('<matcher...>', 'e.g. FlightFailed \'nest=~"Prod.*"\'; a first word alone is the alertname')
    .option('-d, --duration <duration>', 'for how long', '1h')
    .option('--start <instant>', 'RFC 3339; default: now')
    .option('--end <instant>', 'RFC 3339; in place of --duration')
    .option('-c, --comment <text>', 'why: needed')
    .option('-a, --author <name>', 'default: $USER')
    .option('--cron <expression>', 'hides only within windows that begin then, e.g. "0 2 * * 6"')
    .option('--window <duration>', 'with --cron: for how long it hides each time')
    .option('--timezone <name>', 'with --cron; default: UTC')
    .option('--dry-run', 'only say from when on it would hide which alerts')
    .addOption(json())
    .action(async (matchers: string[], given: Given) => {
      const { silenceAdd } = await import('./commands/silence-command.ts');
      finish(
        await silenceAdd(edge, matchers, {
          ...daemonOptionsOf(given),
          duration: String(given.duration),
          start: text(given.start),
          end: text(given.end),
          comment: text(given.comment),
          author: text(given.author),
          cron: text(given.cron),
          timezone: text(given.timezone),
          window: text(given.window),
          dryRun: given.dryRun === true,
        }),
      );
    });
  daemonOptions(
    silence
      .command('acknowledge')
      .description('silence each alert that fires and matches until it is resolved, and print the ids'),
  )
    .argument('<matcher...>', 'e.g. FlightFailed \'nest=~"Prod.*"\'; a first word alone is the alertname')
    .option('-c, --comment <text>', 'what is being done')
    .option('-a, --author <name>', 'who takes care of it; default: $USER')
    .addOption(json())
    .action(async (matchers: string[], given: Given) => {
      const { acknowledge } = await import('./commands/acknowledge-command.ts');
      const options = { author: text(given.author), comment: text(given.comment) };
      finish(await acknowledge(edge, matchers, { ...daemonOptionsOf(given), ...options }));
    });
  daemonOptions(silence.command('list').description('the silences that are not over'))
    .argument('[matcher...]', 'only those that have these matchers')
    .option('--expired', 'those that are over instead')
    .option('-q, --quiet', 'only the ids')
    .addOption(json())
    .action(async (matchers: string[], given: Given) => {
      const { silenceList } = await import('./commands/silence-command.ts');
      const options = { expired: given.expired === true, quiet: given.quiet === true };
      finish(await silenceList(edge, matchers, { ...daemonOptionsOf(given), ...options }));
    });
  daemonOptions(silence.command('expire').description('end silences now'))
    .argument('<id...>')
    .addOption(json())
    .action(async (ids: string[], given: Given) => {
      const { silenceExpire } = await import('./commands/silence-command.ts');
      finish(await silenceExpire(edge, ids, daemonOptionsOf(given)));
    });

  const routes = program.command('routes').description('the route tree of a configuration');
  const configFile = () => new Option('--config.file <file>', 'default: as for run');
  routes
    .command('show', { isDefault: true })
    .description('print the tree as amtool prints it')
    .addOption(configFile())
    .addOption(json())
    .action(async (given: Given) => {
      const { routesShow } = await import('./commands/routes-command.ts');
      finish(await routesShow(edge, daemonOptionsOf(given)));
    });
  routes
    .command('test')
    .description('print the receivers that alerts with these labels reach')
    .argument('[label...]', 'name=value')
    .addOption(configFile())
    .addOption(json())
    .action(async (labels: string[], given: Given) => {
      const { routesTest } = await import('./commands/routes-command.ts');
      finish(await routesTest(edge, labels, daemonOptionsOf(given)));
    });

  const deliveries = program.command('deliveries').description('what was sent, to whom, when, and why not');
  daemonOptions(deliveries.command('list', { isDefault: true }).description('the newest first'))
    .option('--dead', 'those that were given up')
    .option('--state <state>', 'pending, leased, delivered, retry, ambiguous, dead or suppressed')
    .option('--receiver <name>', 'only those to this receiver')
    .option('--limit <n>', 'default: 100, at most 1000')
    .addOption(json())
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
    .addOption(json())
    .action(async (ids: string[], given: Given) => {
      const { deliveriesRetry } = await import('./commands/deliveries-command.ts');
      finish(await deliveriesRetry(edge, ids, daemonOptionsOf(given)));
    });

  daemonOptions(
    program
      .command('explain')
      .description("an event's way: seen, rule, alert, group, each delivery, or why there was none"),
  )
    .argument('<event-key>', 'e.g. eu/flight/01890a5d-…/failed')
    .addOption(json())
    .action(async (key: string, given: Given) => {
      const { explain } = await import('./commands/explain-command.ts');
      finish(await explain(edge, key, daemonOptionsOf(given)));
    });
}

function text(value: Given[string]): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
