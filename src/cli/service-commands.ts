/** Defines the commands that run the daemon, the simulated service, or one operation of a service. */
import { InvalidArgumentError, Option } from 'commander';
import { TABLES_VERSION, tableChanges } from '../store/versions/table-changes.ts';
import { parseDuration } from '../time/duration.ts';
import { VERSION, versionText } from '../version.ts';
import { acts, type CommandLine, configFileOption, jsonOption } from './command-options.ts';
import { jsonText } from './terminal-text.ts';

export function addServiceCommands(line: CommandLine): void {
  for (const add of [addRun, addDemo, addSimulate, addApi, addVersion]) add(line);
}

function addRun(line: CommandLine): void {
  acts(
    line,
    line.program
      .command('run')
      .description('watch every region and notify of what went wrong: the daemon')
      .addOption(configFileOption())
      .option('--once', 'read every stream once, deliver, and exit')
      .addOption(
        new Option('--log.level <level>').choices(['debug', 'info', 'warn', 'error']).default('info'),
      )
      .addOption(
        new Option('--log.format <format>', 'default: pretty on a terminal').choices(['json', 'pretty']),
      )
      .addOption(
        new Option(
          '--config.auto-reload-interval <duration>',
          'how often to check the file for changes and reload it; 0 to disable',
        )
          .argParser(durationMs)
          .default(5_000, '5s'),
      ),
    async () => (await import('./commands/run-command.ts')).run,
  );
}

function addDemo(line: CommandLine): void {
  acts(
    line,
    line.program
      .command('demo')
      .description(
        'run the daemon with a simulated service in two regions and mail and webhook catchers, all on this machine',
      )
      .option('--for <duration>', 'stop after this long and print a summary, e.g. 60s'),
    async () => (await import('./demo/demo-command.ts')).demo,
  );
}

function addSimulate(line: CommandLine): void {
  acts(
    line,
    line.program
      .command('simulate')
      .description('run only the simulated service, with every operation of its specification')
      .requiredOption('--listen <host:port>', 'where it listens; port 0 takes a free one')
      .option('--region <name>', 'name of the simulated region', 'eu')
      .option('--token <token>', 'the token that it accepts', 'demo-token')
      .option('--seed <n>', 'the same seed gives the same Nests, Birds and events', wholeNumber, 1)
      .option('--birds <n>', 'number of Birds', wholeNumber, 25)
      .option(
        '--flights <n>',
        'Flights an hour of all Birds together (default: half as many as Birds)',
        wholeNumber,
      )
      .option('--failures <share>', 'share of Flights that fail, from 0 to 1 (default: 0.04)', share)
      .option('--faults <file>', 'YAML file that describes faults and deviations')
      .addOption(
        new Option('--quiet', 'nothing has happened, and nothing happens by itself').conflicts([
          'flights',
          'failures',
        ]),
      )
      .option(
        '--control <host:port>',
        'a second port on loopback, where it is told what happens; GET / lists how',
      ),
    async () => (await import('./commands/simulate-command.ts')).simulate,
  );
}

function addApi(line: CommandLine): void {
  const command = line.program
    .command('api')
    .description(
      "call one of the service's 14 operations and print its JSON; `nestwatch api --help` lists them",
    )
    .argument('[operation]', 'e.g. searchBirds, with --nestId and so on')
    .helpOption(false)
    .allowUnknownOption()
    .allowExcessArguments()
    .option('--region <name>', 'a region of the configuration; may be left out where there is one')
    .option('--body <json>', 'what addUserToNest sends')
    .option('--all', 'every page of a paged operation')
    .option('-y, --yes', 'do not ask before something is changed')
    .addOption(configFileOption())
    .option('--base-url <url>', "without a configuration: the service's address …")
    .option('--token-file <file>', '… and its token; default: $NESTWATCH_TOKEN')
    .option('-h, --help', 'print help, of one operation if it is named');
  acts(line, command, async () => {
    const { api } = await import('./commands/api-command.ts');
    return (edge, ...given: unknown[]) => api(edge, command, given.at(-1) as never);
  });
}

function addVersion({ program, edge, finish }: CommandLine): void {
  program
    .command('version')
    .description('print the versions of nestwatch and Node')
    .addOption(jsonOption())
    .action(({ json }: { readonly json?: boolean }) => {
      const revision = edge.environment.NESTWATCH_REVISION ?? '';
      const platform = `${process.platform}-${process.arch}`;
      const all = { version: VERSION, revision, node: process.version, platform, tables: TABLES_VERSION };
      edge.stdout.write(json === true ? jsonText(all) : `${versionLines(edge.environment)}\n`);
      finish(0);
    });
}

/** With what the newest version of the tables stores more than the one before. */
export function versionLines(environment: CommandLine['edge']['environment']): string {
  return [
    versionText(environment),
    ...tableChanges(TABLES_VERSION - 1).map((change) => `tables of ${change}`),
  ].join('\n');
}

function durationMs(text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined && (ms === 0 || ms >= 1_000)) return ms;
  throw new InvalidArgumentError('It must be 0 or a duration from 1s on, such as 30s.');
}

function share(text: string): number {
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (value >= 0 && value <= 1) return value;
  throw new InvalidArgumentError('It must be a number from 0 to 1, such as 0.2.');
}

function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}
