/** Defines the commands that list what the running daemon knows about the service. */
import {
  type CommandLine,
  daemonOptions,
  daemonOptionsOf,
  type Given,
  jsonOption,
  text,
} from './command-options.ts';

export function addBirds({ program, edge, finish }: CommandLine): void {
  const birds = program.command('birds').description('list the watched Birds with their status, or show one');
  daemonOptions(birds.command('list', { isDefault: true }).description('those in trouble first'))
    .argument(
      '[filter...]',
      "words, or nest=, bird=, region=, flight=, name=, severity=, since=, until=, status=, standing=, e.g. 'nest=Marketing'",
    )
    .option('--limit <n>', 'default: 100, at most 1000')
    .addOption(jsonOption())
    .action(async (filters: string[], given: Given) => {
      const { birds: list } = await import('./commands/birds-command.ts');
      finish(await list(edge, filters, { ...daemonOptionsOf(given), limit: text(given.limit) }));
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

export function addFlights({ program, edge, finish }: CommandLine): void {
  const flights = program.command('flights').description('list Flights and their outcomes, or show one');
  daemonOptions(flights.command('list', { isDefault: true }).description('list them, the latest start first'))
    .argument(
      '[filter...]',
      "words, or bird=, nest=, region=, flight=, name=, severity=, since=, until=, status=, e.g. 'bird=Translate blog' status=failed since=2h",
    )
    .option('--limit <n>', 'default: 100, at most 1000')
    .addOption(jsonOption())
    .action(async (filters: string[], given: Given) => {
      const { flights: list } = await import('./commands/flights-command.ts');
      finish(await list(edge, filters, { ...daemonOptionsOf(given), limit: text(given.limit) }));
    });
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

export function addEvents({ program, edge, finish }: CommandLine): void {
  daemonOptions(program.command('events').description('list events, the newest first'))
    .argument(
      '[filter...]',
      'words, or bird=, nest=, region=, flight=, name=, severity=, since=, until=, feed=, type=, e.g. bird=148890 since=2h',
    )
    .option('--limit <n>', 'default: 100, at most 1000')
    .addOption(jsonOption())
    .action(async (filters: string[], given: Given) => {
      const { events } = await import('./commands/events-command.ts');
      finish(await events(edge, filters, { ...daemonOptionsOf(given), limit: text(given.limit) }));
    });
}

export function addWrites({ program, edge, finish }: CommandLine): void {
  daemonOptions(
    program.command('writes').description('list requests for changes over HTTP, the newest first'),
  )
    .argument('[filter...]', 'words, or who=, since=, until=, e.g. who=anna since=7d')
    .option('--limit <n>', 'default: 100, at most 1000')
    .addOption(jsonOption())
    .action(async (filters: string[], given: Given) => {
      const { writes } = await import('./upkeep/writes-command.ts');
      finish(await writes(edge, filters, { ...daemonOptionsOf(given), limit: text(given.limit) }));
    });
}
