/** Defines the commands by which an operator maintains the store, and checks what nestwatch is connected to. */
import type { Command } from 'commander';
import type { Edge } from '../process-io.ts';
import {
  type CommandLine,
  configFileOption,
  daemonOptionsOf,
  type Given,
  jsonOption,
  text,
} from './command-options.ts';

export function addStore({ program, edge, finish }: CommandLine): void {
  const store = program.command('store').description('back up, check, migrate and copy the store');
  store
    .command('backup')
    .description(
      'write a consistent copy of the store to a new file, even while daemons run; also from PostgreSQL',
    )
    .argument('<file>')
    .addOption(configFileOption())
    .addOption(jsonOption())
    .action(async (file: string, given: Given) => {
      const { storeBackup } = await import('./upkeep/store-command.ts');
      finish(await storeBackup(edge, file, daemonOptionsOf(given)));
    });
  store
    .command('check')
    .description('read all of the store or of a backup; exit 1 if it is damaged')
    .argument('[store]', 'a file, or as store.url, which is the default')
    .option('--schema <name>', 'of a store on PostgreSQL')
    .option('--password-file <file>', 'for a server that the configuration does not name')
    .addOption(configFileOption())
    .addOption(jsonOption())
    .action(async (name: string | undefined, given: Given) => {
      const { storeCheck } = await import('./upkeep/store-command.ts');
      const server = { schema: text(given.schema), passwordFile: text(given.passwordFile) };
      finish(await storeCheck(edge, name, { ...daemonOptionsOf(given), ...server }));
    });
  store
    .command('migrate')
    .description(
      "bring the tables of a store or of a backup to this version, as the daemon's start does; first copies a file",
    )
    .argument('[store]', 'a file, or as store.url, which is the default')
    .option('--schema <name>', 'of a store on PostgreSQL')
    .option('--password-file <file>', 'for a server that the configuration does not name')
    .addOption(configFileOption())
    .addOption(jsonOption())
    .action(async (name: string | undefined, given: Given) => {
      const { storeMigrate } = await import('./upkeep/store-command.ts');
      const server = { schema: text(given.schema), passwordFile: text(given.passwordFile) };
      finish(await storeMigrate(edge, name, { ...daemonOptionsOf(given), ...server }));
    });
  addStoreCopy(store, edge, finish);
}

function addStoreCopy(store: Command, edge: Edge, finish: CommandLine['finish']): void {
  store
    .command('copy')
    .description(
      'copy a store that nobody uses: to move it, also between SQLite and PostgreSQL, or to restore a backup',
    )
    .argument('[url]', 'as --to')
    .option('--from <url>', 'e.g. sqlite:/backup/nestwatch.db; default: store.url')
    .option('--to <url>', 'e.g. postgres://nestwatch@db/nestwatch, where nothing may be; default: store.url')
    .option('--from-schema <name>', 'on PostgreSQL; default: nestwatch')
    .option('--from-password-file <file>', 'for a server that the configuration does not name')
    .option('--to-schema <name>', 'on PostgreSQL; default: nestwatch')
    .option('--to-password-file <file>', 'for a server that the configuration does not name')
    .addOption(configFileOption())
    .addOption(jsonOption())
    .action(async (url: string | undefined, given: Given) => {
      const { storeCopy } = await import('./upkeep/store-copy-command.ts');
      const to = text(given.to) ?? url;
      const options = {
        ...daemonOptionsOf(given),
        from: {
          url: text(given.from),
          schema: text(given.fromSchema),
          passwordFile: text(given.fromPasswordFile),
        },
        to: { url: to, schema: text(given.toSchema), passwordFile: text(given.toPasswordFile) },
      };
      finish(await storeCopy(edge, options));
    });
}

export function addDoctor({ program, edge, finish }: CommandLine): void {
  program
    .command('doctor')
    .description(
      'test everything the configuration names; report what was found, what is assumed and what to set',
    )
    .option('--watch <duration>', 'how long to wait for entries that become visible late', '20s')
    .addOption(configFileOption())
    .addOption(jsonOption())
    .action(async (given: Given) => {
      const { doctor } = await import('./upkeep/doctor-command.ts');
      finish(await doctor(edge, { ...daemonOptionsOf(given), watch: String(given.watch) }));
    });
}

export function addBackfill({ program, edge, finish }: CommandLine): void {
  program
    .command('backfill')
    .description('read history into the store while no daemon runs; sends nothing without --notify')
    .requiredOption('--from <instant>', 'RFC 3339')
    .option('--to <instant>', 'RFC 3339; default: now')
    .option('--region <name>', 'default: all')
    .option('--notify', 'raise alerts and forward events, which the daemon sends once it runs')
    .addOption(configFileOption())
    .addOption(jsonOption())
    .action(async (given: Given) => {
      const { backfillCommand } = await import('./upkeep/backfill-command.ts');
      const { from, to, region, notify } = given;
      const window = { from: String(from), to: text(to), region: text(region), notify: notify === true };
      finish(await backfillCommand(edge, { ...daemonOptionsOf(given), ...window }));
    });
}
