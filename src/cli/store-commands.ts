/** Defines the commands by which an operator maintains the store, and checks what nestwatch is connected to. */
import type { Command } from 'commander';
import { actsOnConfig, type CommandLine } from './command-options.ts';

export function addStoreCommands(line: CommandLine): void {
  for (const add of [addStore, addDoctor, addBackfill]) add(line);
}

function addStore(line: CommandLine): void {
  const store = line.program.command('store').description('back up, check, migrate and copy the store');
  actsOnConfig(
    line,
    store
      .command('backup')
      .description(
        'write a consistent copy of the store to a new file, even while daemons run; also from PostgreSQL',
      )
      .argument('<file>'),
    async () => (await import('./upkeep/store-command.ts')).storeBackup,
  );
  actsOnConfig(
    line,
    ofStore(
      store.command('check').description('read all of the store or of a backup; exit 1 if it is damaged'),
    ),
    async () => (await import('./upkeep/store-command.ts')).storeCheck,
  );
  actsOnConfig(
    line,
    ofStore(
      store
        .command('migrate')
        .description(
          "bring the tables of a store or of a backup to this version, as the daemon's start does; first copies a file",
        ),
    ),
    async () => (await import('./upkeep/store-command.ts')).storeMigrate,
  );
  actsOnConfig(
    line,
    store
      .command('copy')
      .description(
        'copy a store that nobody uses: to move it, also between SQLite and PostgreSQL, or to restore a backup',
      )
      .argument('[url]', 'as --to')
      .option('--from <url>', 'e.g. sqlite:/backup/nestwatch.db; default: store.url')
      .option(
        '--to <url>',
        'e.g. postgres://nestwatch@db/nestwatch, where nothing may be; default: store.url',
      )
      .option('--from-schema <name>', 'on PostgreSQL; default: nestwatch')
      .option('--from-password-file <file>', 'for a server that the configuration does not name')
      .option('--to-schema <name>', 'on PostgreSQL; default: nestwatch')
      .option('--to-password-file <file>', 'for a server that the configuration does not name'),
    async () => (await import('./upkeep/store-command.ts')).storeCopy,
  );
}

/** Adds what names a store other than that of the configuration. */
function ofStore(command: Command): Command {
  return command
    .argument('[store]', 'a file, or as store.url, which is the default')
    .option('--schema <name>', 'of a store on PostgreSQL')
    .option('--password-file <file>', 'for a server that the configuration does not name');
}

function addDoctor(line: CommandLine): void {
  actsOnConfig(
    line,
    line.program
      .command('doctor')
      .description(
        'test everything the configuration names; report what was found, what is assumed and what to set',
      )
      .option('--watch <duration>', 'how long to wait for entries that become visible late', '20s'),
    async () => (await import('./upkeep/doctor-command.ts')).doctor,
  );
}

function addBackfill(line: CommandLine): void {
  actsOnConfig(
    line,
    line.program
      .command('backfill')
      .description('read history into the store while no daemon runs; sends nothing without --notify')
      .requiredOption('--from <instant>', 'RFC 3339, or a date in UTC')
      .option('--to <instant>', 'RFC 3339; default: now')
      .option('--region <name>', 'default: all')
      .option('--notify', 'raise alerts and forward events, which the daemon sends once it runs'),
    async () => (await import('./upkeep/backfill-command.ts')).backfillCommand,
  );
}
