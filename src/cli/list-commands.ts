/** Defines the commands that list what the running daemon knows about the service, and what it sent. */
import type { Command } from 'commander';
import type { ListName } from '../operator/lists.ts';
import {
  type CommandLine,
  daemonOptions,
  daemonOptionsOf,
  type Given,
  jsonOption,
  text,
} from './command-options.ts';
import { filterNames } from './list-filters.ts';

type Printed = Exclude<ListName, 'nests' | 'alerts' | 'silences'>;

/** `optionFilters`: filters that have options of their own, from what was given. */
function addList(
  { edge, finish }: CommandLine,
  command: Command,
  { list, example, optionFilters = () => [] }: AddedList,
): void {
  const filters = filterNames(list).map((name) => `${name}=`);
  daemonOptions(command)
    .argument('[filter...]', `words, or ${filters.join(', ')}, e.g. ${example}`)
    .option('--limit <n>', 'default: 100, at most 1000')
    .addOption(jsonOption())
    .action(async (args: string[], given: Given) => {
      const { printList } = await import('./commands/printed-lists.ts');
      const options = { ...daemonOptionsOf(given), limit: text(given.limit) };
      finish(await printList(edge, list, [...args, ...optionFilters(given)], options));
    });
}

interface AddedList {
  readonly list: Printed;
  readonly example: string;
  readonly optionFilters?: (given: Given) => readonly string[];
}

export function addBirds(line: CommandLine): void {
  const { program, edge, finish } = line;
  const birds = program.command('birds').description('list the watched Birds with their status, or show one');
  addList(line, birds.command('list', { isDefault: true }).description('those in trouble first'), {
    list: 'birds',
    example: "'nest=Marketing'",
  });
  daemonOptions(
    birds.command('show').description('show one Bird: its last Flights, causes of failure, alerts and log'),
  )
    .argument('<id-or-name>')
    .argument('[filter...]', 'where several Birds have the name: region=, nest=')
    .addOption(jsonOption())
    .action(async (bird: string, filters: string[], given: Given) => {
      const { birdsShow } = await import('./commands/birds-command.ts');
      finish(await birdsShow(edge, [bird, ...filters], daemonOptionsOf(given)));
    });
}

export function addFlights(line: CommandLine): void {
  const { program, edge, finish } = line;
  const flights = program.command('flights').description('list Flights and their outcomes, or show one');
  addList(
    line,
    flights.command('list', { isDefault: true }).description('list them, the latest start first'),
    { list: 'flights', example: "'bird=Translate blog' status=failed since=2h" },
  );
  daemonOptions(
    flights.command('show').description('show one Flight: its error, step and alerts, and who was notified'),
  )
    .argument('<id>')
    .option('--log', 'also print its log, which is read from the service')
    .addOption(jsonOption())
    .action(async (id: string, given: Given) => {
      const { flightsShow } = await import('./commands/flights-command.ts');
      finish(await flightsShow(edge, id, { ...daemonOptionsOf(given), log: given.log === true }));
    });
}

export function addEvents(line: CommandLine): void {
  addList(line, line.program.command('events').description('list events, the newest first'), {
    list: 'events',
    example: 'bird=148890 since=2h',
  });
}

export function addWrites(line: CommandLine): void {
  const command = line.program.command('writes');
  addList(line, command.description('list requests for changes over HTTP, the newest first'), {
    list: 'writes',
    example: 'who=anna since=7d',
  });
}

export function addDeliveries(line: CommandLine): void {
  const { program, edge, finish } = line;
  const deliveries = program
    .command('deliveries')
    .description('list, show and retry deliveries: what was sent, to whom, when, and why not');
  const list = deliveries
    .command('list', { isDefault: true })
    .description('the newest first')
    .option('--dead', 'those that were given up')
    .option('--state <state>', 'pending, leased, delivered, retry, ambiguous, dead or suppressed')
    .option('--receiver <name>', 'only those to this receiver');
  addList(line, list, {
    list: 'deliveries',
    example: 'nest=Marketing since=2h',
    optionFilters: ({ dead, state, receiver }) => [
      ...(dead === true ? ['state=dead'] : state === undefined ? [] : [`state=${state}`]),
      ...(receiver === undefined ? [] : [`receiver=${receiver}`]),
    ],
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
