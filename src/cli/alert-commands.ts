/** Defines the commands that list, resolve, silence and acknowledge alerts of the running daemon. */
import type { Command } from 'commander';
import {
  type CommandLine,
  daemonOptions,
  daemonOptionsOf,
  type Given,
  jsonOption,
  text,
} from './command-options.ts';

export function addAlerts(line: CommandLine): void {
  const alerts = line.program
    .command('alerts')
    .description('list alerts as amtool does; resolve them by hand');
  addAlertsList(alerts, line);
  addAlertsShow(alerts, line);
  addAlertsResolve(alerts, line);
}

function addAlertsList(command: Command, { edge, finish }: CommandLine): void {
  daemonOptions(
    command
      .command('list', { isDefault: true })
      .alias('query')
      .description('list firing alerts that are neither silenced nor inhibited, as amtool does'),
  )
    .argument(
      '[matcher...]',
      'e.g. FlightFailed \'nest=~"Prod.*"\'; nest=, bird=, flight=, name=, text=, since=, until= narrow down as in other lists',
    )
    .option('-a, --active', 'active ones, in addition to others that are requested')
    .option('-s, --silenced', 'silenced ones as well')
    .option('-i, --inhibited', 'inhibited ones as well')
    .option('-r, --receiver <regex>', 'only alerts that reach a matching receiver')
    .addOption(jsonOption())
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
}

function addAlertsShow(command: Command, { edge, finish }: CommandLine): void {
  daemonOptions(
    command
      .command('show')
      .description(
        'show one alert, firing or resolved: its labels, events and episodes, and who was notified',
      ),
  )
    .argument(
      '<id>',
      "as messages, pages and the API name it; a fingerprint, an incident's key, or an id that `explain` takes",
    )
    .addOption(jsonOption())
    .action(async (id: string, given: Given) => {
      const { alertsShow } = await import('./commands/alerts-show-command.ts');
      finish(await alertsShow(edge, id, daemonOptionsOf(given)));
    });
}

function addAlertsResolve(command: Command, { edge, finish }: CommandLine): void {
  daemonOptions(
    command.command('resolve').description('resolve each matching firing alert by hand, and print the ids'),
  )
    .argument('<matcher...>', 'e.g. \'entity_name="Phrase TMS"\'; a first word alone is the alertname')
    .option('-c, --comment <text>', 'how it was fixed')
    .option('-a, --author <name>', 'who says so; default: $USER')
    .addOption(jsonOption())
    .action(async (matchers: string[], given: Given) => {
      const { resolve } = await import('./commands/signed-alerts.ts');
      const options = { author: text(given.author), comment: text(given.comment) };
      finish(await resolve(edge, matchers, { ...daemonOptionsOf(given), ...options }));
    });
}

export function addSilence(line: CommandLine): void {
  const silence = line.program
    .command('silence')
    .description('add, list and end silences; acknowledge alerts');
  addSilenceAdd(silence, line);
  addSilenceAcknowledge(silence, line);
  addSilenceList(silence, line);
  addSilenceUpdate(silence, line);
  addSilenceExpire(silence, line);
  addSilenceExchange(silence, line);
}

function addSilenceAdd(command: Command, { edge, finish }: CommandLine): void {
  daemonOptions(
    command.command('add').description('silence matching alerts, and print the id of the silence'),
  )
    .argument('<matcher...>', 'e.g. FlightFailed \'nest=~"Prod.*"\'; a first word alone is the alertname')
    .option('-d, --duration <duration>', 'for how long', '1h')
    .option('--start <instant>', 'RFC 3339; default: now')
    .option('--end <instant>', 'RFC 3339; in place of --duration')
    .option('-c, --comment <text>', 'why (required)')
    .option('-a, --author <name>', 'default: $USER')
    .option('--cron <expression>', 'mute only in windows that begin at these times, e.g. "0 2 * * 6"')
    .option('--window <duration>', 'with --cron: length of each window')
    .option('--timezone <name>', 'with --cron; default: UTC')
    .option('--dry-run', 'only show which alerts it would mute, and from when')
    .addOption(jsonOption())
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
}

function addSilenceAcknowledge(command: Command, { edge, finish }: CommandLine): void {
  daemonOptions(
    command
      .command('acknowledge')
      .description('silence each matching firing alert until it is resolved, and print the ids'),
  )
    .argument('<matcher...>', 'e.g. FlightFailed \'nest=~"Prod.*"\'; a first word alone is the alertname')
    .option('-c, --comment <text>', 'what is being done')
    .option('-a, --author <name>', 'who takes care of it; default: $USER')
    .addOption(jsonOption())
    .action(async (matchers: string[], given: Given) => {
      const { acknowledge } = await import('./commands/signed-alerts.ts');
      const options = { author: text(given.author), comment: text(given.comment) };
      finish(await acknowledge(edge, matchers, { ...daemonOptionsOf(given), ...options }));
    });
}

function addSilenceList(command: Command, { edge, finish }: CommandLine): void {
  daemonOptions(command.command('list').alias('query').description('list silences that have not expired'))
    .argument(
      '[matcher...]',
      'only silences with these matchers; or filters as for other lists, e.g. since=2h',
    )
    .option('--expired', 'expired ones instead')
    .option('--created-by <name>', 'only those of this author')
    .option('--id <id...>', 'only these')
    .option('-q, --quiet', 'only the ids')
    .addOption(jsonOption())
    .action(async (matchers: string[], given: Given, own: Command) => {
      const { silenceList } = await import('./commands/silence-command.ts');
      const options = {
        expired: given.expired === true,
        quiet: given.quiet === true,
        createdBy: text(given.createdBy),
        ids: own.opts<{ id?: string[] }>().id ?? [],
      };
      finish(await silenceList(edge, matchers, { ...daemonOptionsOf(given), ...options }));
    });
}

function addSilenceUpdate(command: Command, { edge, finish }: CommandLine): void {
  daemonOptions(command.command('update').description('change silences, and print their ids'))
    .argument('<id...>')
    .option('-d, --duration <duration>', 'for how long from its start on')
    .option('--start <instant>', 'RFC 3339')
    .option('--end <instant>', 'RFC 3339; in place of --duration')
    .option('-c, --comment <text>', 'why')
    .addOption(jsonOption())
    .action(async (ids: string[], given: Given) => {
      const { silenceUpdate } = await import('./upkeep/silence-exchange.ts');
      const { duration, start, end, comment } = given;
      const change = { duration: text(duration), start: text(start), end: text(end), comment: text(comment) };
      finish(await silenceUpdate(edge, ids, { ...daemonOptionsOf(given), ...change }));
    });
}

function addSilenceExchange(command: Command, { edge, finish }: CommandLine): void {
  daemonOptions(
    command.command('export').description('print the silences that have not expired as JSON, for import'),
  ).action(async (given: Given) => {
    const { silenceExport } = await import('./upkeep/silence-exchange.ts');
    finish(await silenceExport(edge, daemonOptionsOf(given)));
  });
  daemonOptions(
    command
      .command('import')
      .description('add silences from JSON, as `silence export` or `amtool silence query -o json` print it'),
  )
    .argument('[file]', 'default: the standard input')
    .addOption(jsonOption())
    .action(async (file: string | undefined, given: Given) => {
      const { silenceImport } = await import('./upkeep/silence-exchange.ts');
      finish(await silenceImport(edge, file, daemonOptionsOf(given)));
    });
}

function addSilenceExpire(command: Command, { edge, finish }: CommandLine): void {
  daemonOptions(command.command('expire').description('end silences now'))
    .argument('<id...>')
    .addOption(jsonOption())
    .action(async (ids: string[], given: Given) => {
      const { silenceExpire } = await import('./commands/silence-command.ts');
      finish(await silenceExpire(edge, ids, daemonOptionsOf(given)));
    });
}
