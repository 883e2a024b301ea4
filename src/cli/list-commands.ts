/** Defines the commands that list and show what the running daemon knows about the service, and what it sent. */
import type { Command } from 'commander';
import type { ListName } from '../operator/lists.ts';
import { filterNames } from './command-arguments.ts';
import {
  acts,
  actsOnDaemon,
  type CommandLine,
  configFileOption,
  jsonOption,
  urlOption,
  utcOption,
} from './command-options.ts';
import type { ListOptions } from './commands/printed-lists.ts';

interface AddedList {
  readonly list: Exclude<ListName, 'alerts' | 'silences'>;
  readonly example: string;
}

/** The options of a list; the command may have others that are filters. */
interface GivenList {
  readonly dead?: boolean;
  readonly state?: string;
  readonly receiver?: string;
}

export function addListCommands(line: CommandLine): void {
  for (const add of [
    addStatus,
    addWatch,
    addHealthcheck,
    addBirds,
    addActions,
    addNests,
    addFlights,
    addEvents,
    addWrites,
    addDeliveries,
    addExplain,
    addOpen,
    addMcp,
  ])
    add(line);
}

function addList(line: CommandLine, command: Command, { list, example }: AddedList): void {
  const filters = filterNames(list).map((name) => `${name}=`);
  command
    .argument('[filter...]', `words, or ${filters.join(', ')}, e.g. ${example}`)
    .option('--limit <n>', 'default: 100, at most 1000')
    .addOption(utcOption());
  actsOnDaemon(line, command, async () => {
    const { printList } = await import('./commands/printed-lists.ts');
    return (edge, args: string[], given: ListOptions & GivenList) =>
      printList(edge, list, [...args, ...filtersOf(given)], given);
  });
}

function filtersOf({ dead, state, receiver }: GivenList): string[] {
  return [
    ...(dead ? ['state=dead'] : state === undefined ? [] : [`state=${state}`]),
    ...(receiver === undefined ? [] : [`receiver=${receiver}`]),
  ];
}

function addStatus(line: CommandLine): void {
  actsOnDaemon(
    line,
    line.program
      .command('status')
      .description('show the status of the running daemon; exit 1 while something impairs the watch'),
    async () => (await import('./commands/status-command.ts')).status,
  );
}

function addHealthcheck(line: CommandLine): void {
  acts(
    line,
    line.program
      .command('healthcheck')
      .description('exit 0 when the running daemon is healthy, else 1')
      .addOption(configFileOption())
      .addOption(urlOption())
      .addOption(jsonOption()),
    async () => (await import('./commands/status-command.ts')).healthcheck,
  );
}

function addExplain(line: CommandLine): void {
  actsOnDaemon(
    line,
    line.program
      .command('explain')
      .description('trace an event: seen, rule, alert, group, each delivery, or why there was none')
      .argument(
        '<id>',
        "the key or short id of an event, the id of an alert, Bird, Flight, delivery or silence, a fingerprint, an incident's key, or a link to a page",
      ),
    async () => (await import('./commands/explain-command.ts')).explain,
  );
}

function addWatch(line: CommandLine): void {
  const command = line.program
    .command('watch')
    .description('list the active alerts, then print each that fires or ends, until interrupted')
    .addOption(utcOption());
  actsOnDaemon(line, command, async () => (await import('./commands/alerts-command.ts')).watch);
}

function addMcp(line: CommandLine): void {
  const command = line.program
    .command('mcp')
    .description(
      'serve agents on stdin and stdout (Model Context Protocol): they can ask, and change nothing',
    );
  actsOnDaemon(line, command, async () => (await import('./mcp/mcp-command.ts')).mcp);
}

function addOpen(line: CommandLine): void {
  const command = line.program
    .command('open')
    .description('print the address of the page about something; on a terminal also open it in the browser')
    .argument('<id>', 'as `explain` takes it');
  actsOnDaemon(line, command, async () => (await import('./commands/explain-command.ts')).open);
}

function addBirds(line: CommandLine): void {
  const birds = line.program
    .command('birds')
    .description(
      'list the watched Birds with their status, show one, start one again, or compare them with a file',
    );
  addList(line, birds.command('list', { isDefault: true }).description('those in trouble first'), {
    list: 'birds',
    example: "'nest=Marketing'",
  });
  actsOnDaemon(
    line,
    birds
      .command('show')
      .description('show one Bird: its last Flights, causes of failure, alerts and log')
      .argument('<id-or-name>')
      .argument('[filter...]', 'where several Birds have the name: region=, nest='),
    async () => (await import('./commands/show-one.ts')).birdsShow,
  );
  actsOnDaemon(
    line,
    birds
      .command('fly')
      .description(
        'start a Flight of a manual Bird again, where the region has `fly: true`; exit 4 if it cannot be started',
      )
      .argument('<id-or-name>')
      .option('--region <name>', 'where several regions have such a Bird')
      .option('-y, --yes', 'do not ask before it is started')
      .option('-c, --comment <text>', 'why')
      .option('-a, --author <name>', 'who starts it; default: $USER'),
    async () => (await import('./commands/birds-fly-command.ts')).birdsFly,
  );
  actsOnDaemon(
    line,
    birds
      .command('export')
      .description('print all Birds as YAML, to keep in a file for `birds check`')
      .option('--nest <glob>', 'only of Nests whose name or id it matches'),
    async () => (await import('./upkeep/declared-birds-command.ts')).birdsExport,
  );
  actsOnDaemon(
    line,
    birds
      .command('check')
      .description('print how the Birds differ from a file; exit 1 if they do, 2 for mistakes in the file')
      .argument('<file>', 'as `birds export` prints it'),
    async () => (await import('./upkeep/declared-birds-command.ts')).birdsCheck,
  );
}

function addActions(line: CommandLine): void {
  const actions = line.program
    .command('actions')
    .description('stop the rules of `actions`, or let them go on');
  for (const [what, description] of [
    ['pause', 'let no rule start Birds, in any region; what people want is done all the same'],
    ['resume', 'let rules start Birds again'],
  ] as const) {
    const command = actions.command(what).description(description);
    actsOnDaemon(line, command.option('-a, --author <name>', 'who says so; default: $USER'), async () => {
      const { pauseActions } = await import('./commands/birds-fly-command.ts');
      return (edge, given: never) => pauseActions(edge, what, given);
    });
  }
}

function addNests(line: CommandLine): void {
  const command = line.program.command('nests').description('list Nests with their outcomes of 24 hours');
  addList(line, command, { list: 'nests', example: 'region=eu' });
}

function addFlights(line: CommandLine): void {
  const flights = line.program.command('flights').description('list Flights and their outcomes, or show one');
  addList(
    line,
    flights.command('list', { isDefault: true }).description('list them, the latest start first'),
    { list: 'flights', example: "'bird=Translate blog' status=failed since=2h" },
  );
  actsOnDaemon(
    line,
    flights
      .command('show')
      .description('show one Flight: its error, step and alerts, and who was notified')
      .argument('<id>')
      .option('--log', 'also print its log, which is read from the service'),
    async () => (await import('./commands/show-one.ts')).flightsShow,
  );
}

function addEvents(line: CommandLine): void {
  addList(line, line.program.command('events').description('list events, the newest first'), {
    list: 'events',
    example: 'bird=148890 since=2h',
  });
}

function addWrites(line: CommandLine): void {
  const command = line.program.command('writes');
  addList(line, command.description('list requests for changes over HTTP, the newest first'), {
    list: 'writes',
    example: 'who=anna since=7d',
  });
}

function addDeliveries(line: CommandLine): void {
  const deliveries = line.program
    .command('deliveries')
    .description('list, show and retry deliveries: what was sent, to whom, when, and why not');
  const list = deliveries
    .command('list', { isDefault: true })
    .description('the newest first')
    .option('--dead', 'those that were given up')
    .option('--state <state>', 'pending, leased, delivered, retry, ambiguous, dead or suppressed')
    .option('--receiver <name>', 'only those to this receiver');
  addList(line, list, { list: 'deliveries', example: 'nest=Marketing since=2h' });
  actsOnDaemon(
    line,
    deliveries
      .command('show')
      .description('show one delivery: its state and its message as sent')
      .argument('<id>'),
    async () => (await import('./commands/show-one.ts')).deliveriesShow,
  );
  actsOnDaemon(
    line,
    deliveries.command('retry').description('send deliveries again that were given up').argument('<id...>'),
    async () => (await import('./commands/show-one.ts')).deliveriesRetry,
  );
}
