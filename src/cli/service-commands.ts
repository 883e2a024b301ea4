/** The commands that run the daemon, the simulated service, or one operation of a service. */
import { InvalidArgumentError, Option } from 'commander';
import type { Edge } from '../process-io.ts';
import { TABLES_VERSION, tableChanges } from '../store/versions/table-changes.ts';
import { parseDuration } from '../time/duration.ts';
import { VERSION, versionText } from '../version.ts';
import { type Answer, CONFIG_FILE, type CommandRow, JSON_OUTPUT, STOPS } from './command-rows.ts';

export const SERVICE_COMMANDS: readonly CommandRow[] = [
  {
    words: 'run',
    about: 'watch every region and notify of what went wrong: the daemon',
    options: [
      CONFIG_FILE,
      ['--once', 'read every stream once, deliver, and exit'],
      new Option('--log.level <level>').choices(['debug', 'info', 'warn', 'error']).default('info'),
      new Option('--log.format <format>', 'default: pretty on a terminal').choices(['json', 'pretty']),
      new Option(
        '--config.auto-reload-interval <duration>',
        'how often to check the file for changes and reload it; 0 to disable',
      )
        .argParser(durationMs)
        .default(5_000, '5s'),
    ],
    hears: [...STOPS, 'SIGHUP', 'SIGUSR2'],
    examples: ['run --config.file /etc/nestwatch/nestwatch.yaml', 'run --once --log.format json'],
    load: async () => (await import('./commands/run-command.ts')).run,
  },
  {
    words: 'demo',
    about:
      'run the daemon with a simulated service in two regions and mail and webhook catchers, all on this machine',
    options: [['--for <duration>', 'stop after this long and print a summary, e.g. 60s']],
    hears: STOPS,
    examples: ['demo', 'demo --for 60s'],
    load: async () => (await import('./demo/demo-command.ts')).demo,
  },
  {
    words: 'simulate',
    about: 'run only the simulated service, with every operation of its specification',
    options: [
      new Option('--listen <host:port>', 'where it listens; port 0 takes a free one').makeOptionMandatory(),
      new Option('--region <name>', 'name of the simulated region').default('eu'),
      new Option('--token <token>', 'the token that it accepts').default('demo-token'),
      new Option('--seed <n>', 'the same seed gives the same Nests, Birds and events')
        .argParser(wholeNumber)
        .default(1),
      new Option('--birds <n>', 'number of Birds').argParser(wholeNumber).default(25),
      new Option(
        '--flights <n>',
        'Flights an hour of all Birds together (default: half as many as Birds)',
      ).argParser(wholeNumber),
      new Option('--failures <share>', 'share of Flights that fail, from 0 to 1 (default: 0.04)').argParser(
        share,
      ),
      ['--faults <file>', 'YAML file that describes faults and deviations'],
      new Option('--quiet', 'nothing has happened, and nothing happens by itself').conflicts([
        'flights',
        'failures',
      ]),
      ['--control <host:port>', 'a second port on loopback, where it is told what happens; GET / lists how'],
    ],
    hears: STOPS,
    examples: [
      'simulate --listen 127.0.0.1:8080 --birds 50 --seed 7',
      'simulate --listen 127.0.0.1:8080 --birds 0 --quiet --control 127.0.0.1:8081',
    ],
    load: async () => (await import('./commands/simulate-command.ts')).simulate,
  },
  {
    words: 'api',
    about: "call one of the service's 14 operations and print its JSON; `nestwatch api --help` lists them",
    isFree: true,
    takes: [['[operation]', 'e.g. searchBirds, with --nestId and so on']],
    options: [
      ['--region <name>', 'a region of the configuration; may be left out where there is one'],
      ['--body <json>', 'what addUserToNest sends'],
      ['--all', 'every page of a paged operation'],
      ['-y, --yes', 'do not ask before something is changed'],
      CONFIG_FILE,
      ['--base-url <url>', "without a configuration: the service's address …"],
      ['--token-file <file>', '… and its token; default: $NESTWATCH_TOKEN'],
      ['-h, --help', 'print help, of one operation if it is named'],
    ],
    load: async (command) => {
      const { api } = await import('./commands/api-command.ts');
      return (edge: Edge, ...given: unknown[]) => api(edge, command, given.at(-1) as never);
    },
  },
  {
    words: 'version',
    about: 'print the versions of nestwatch and Node',
    options: [JSON_OUTPUT],
    examples: ['version --json'],
    load: async () => version,
  },
];

function version({ environment }: Edge): Answer {
  const revision = environment.NESTWATCH_REVISION ?? '';
  const platform = `${process.platform}-${process.arch}`;
  const json = { version: VERSION, revision, node: process.version, platform, tables: TABLES_VERSION };
  return { json, text: `${versionLines(environment)}\n` };
}

/** With what the newest version of the tables stores more than the one before. */
export function versionLines(environment: Edge['environment']): string {
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
