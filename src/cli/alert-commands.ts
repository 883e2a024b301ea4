/** Defines the commands that list, resolve, annotate, silence and acknowledge alerts of the running daemon. */
import { Option } from 'commander';
import { actsOnDaemon, type CommandLine, utcOption } from './command-options.ts';

const EXAMPLE = 'e.g. FlightFailed \'nest=~"Prod.*"\'; a first word alone is the alertname';

export function addAlertCommands(line: CommandLine): void {
  for (const add of [addAlerts, addSilence]) add(line);
}

function addAlerts(line: CommandLine): void {
  const alerts = line.program
    .command('alerts')
    .description('list alerts as amtool does; resolve them by hand, and add notes');
  actsOnDaemon(
    line,
    alerts
      .command('list', { isDefault: true })
      .alias('query')
      .description('list firing alerts that are neither silenced nor inhibited, as amtool does')
      .argument(
        '[matcher...]',
        'e.g. FlightFailed \'nest=~"Prod.*"\'; nest=, bird=, flight=, name=, text=, since=, until= narrow down as in other lists',
      )
      .option('-a, --active', 'active ones, in addition to others that are requested')
      .option('-s, --silenced', 'silenced ones as well')
      .option('-i, --inhibited', 'inhibited ones as well')
      .option('-r, --receiver <regex>', 'only alerts that reach a matching receiver')
      .addOption(utcOption()),
    async () => (await import('./commands/alerts-command.ts')).alerts,
  );
  actsOnDaemon(
    line,
    alerts
      .command('show')
      .description(
        'show one alert, firing or resolved: its labels, events and episodes, and who was notified',
      )
      .argument(
        '<id>',
        "as messages, pages and the API name it; a fingerprint, an incident's key, or an id that `explain` takes",
      )
      .addOption(
        new Option('--format <format>', 'markdown: the first page of a post-mortem').choices([
          'text',
          'markdown',
        ]),
      ),
    async () => (await import('./commands/show-one.ts')).alertsShow,
  );
  actsOnDaemon(
    line,
    alerts
      .command('resolve')
      .description('resolve each matching firing alert by hand, and print the ids')
      .argument('<matcher...>', 'e.g. \'entity_name="Phrase TMS"\'; a first word alone is the alertname')
      .option('-c, --comment <text>', 'how it was fixed')
      .option('-a, --author <name>', 'who says so; default: $USER'),
    async () => (await import('./commands/signed-alerts.ts')).resolve,
  );
  actsOnDaemon(
    line,
    alerts
      .command('note')
      .description('add a note to what happened around an alert, firing or resolved, and print its id')
      .argument('<id>', 'as for `alerts show`')
      .argument('<text>', 'what was found, or is being done')
      .option('-a, --author <name>', 'who writes it; default: $USER')
      .option('--public', 'show it on the public page of the Nest while the alert fires', false),
    async () => (await import('./commands/signed-alerts.ts')).note,
  );
}

function addSilence(line: CommandLine): void {
  const silence = line.program
    .command('silence')
    .description('add, list and end silences; acknowledge alerts');
  actsOnDaemon(
    line,
    silence
      .command('add')
      .description('silence matching alerts, and print the id of the silence')
      .argument('<matcher...>', EXAMPLE)
      .option('-d, --duration <duration>', 'for how long', '1h')
      .option('--start <instant>', 'RFC 3339; default: now')
      .option('--end <instant>', 'RFC 3339; in place of --duration')
      .option('-c, --comment <text>', 'why (required)')
      .option('-a, --author <name>', 'default: $USER')
      .option('--cron <expression>', 'mute only in windows that begin at these times, e.g. "0 2 * * 6"')
      .option('--window <duration>', 'with --cron: length of each window')
      .option('--timezone <name>', 'with --cron; default: UTC')
      .option('--dry-run', 'only show which alerts it would mute, and from when'),
    async () => (await import('./commands/silence-command.ts')).silenceAdd,
  );
  actsOnDaemon(
    line,
    silence
      .command('acknowledge')
      .description('silence each matching firing alert until it is resolved, and print the ids')
      .argument('<matcher...>', EXAMPLE)
      .option('-c, --comment <text>', 'what is being done')
      .option('-a, --author <name>', 'who takes care of it; default: $USER'),
    async () => (await import('./commands/signed-alerts.ts')).acknowledge,
  );
  actsOnDaemon(
    line,
    silence
      .command('list')
      .alias('query')
      .description('list silences that have not expired')
      .argument(
        '[matcher...]',
        'only silences with these matchers; or filters as for other lists, e.g. since=2h',
      )
      .option('--expired', 'expired ones instead')
      .option('--created-by <name>', 'only those of this author')
      .option('--id <id...>', 'only these')
      .option('-q, --quiet', 'only the ids'),
    async () => (await import('./commands/silence-command.ts')).silenceList,
  );
  actsOnDaemon(
    line,
    silence
      .command('update')
      .description('change silences, and print their ids')
      .argument('<id...>')
      .option('-d, --duration <duration>', 'for how long from its start on')
      .option('--start <instant>', 'RFC 3339')
      .option('--end <instant>', 'RFC 3339; in place of --duration')
      .option('-c, --comment <text>', 'why'),
    async () => (await import('./upkeep/silence-exchange.ts')).silenceUpdate,
  );
  actsOnDaemon(
    line,
    silence.command('expire').description('end silences now').argument('<id...>'),
    async () => (await import('./commands/silence-command.ts')).silenceExpire,
  );
  actsOnDaemon(
    line,
    silence.command('export').description('print the silences that have not expired as JSON, for import'),
    async () => (await import('./upkeep/silence-exchange.ts')).silenceExport,
  );
  actsOnDaemon(
    line,
    silence
      .command('import')
      .description('add silences from JSON, as `silence export` or `amtool silence query -o json` print it')
      .argument('[file]', 'default: the standard input'),
    async () => (await import('./upkeep/silence-exchange.ts')).silenceImport,
  );
}
