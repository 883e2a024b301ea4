/** The commands by which an operator keeps what nestwatch needs: its store, and what it is connected to. */
import {
  type CommandLine,
  configFileOption,
  daemonOptionsOf,
  type Given,
  jsonOption,
  text,
} from './command-options.ts';

export function addStore({ program, edge, finish }: CommandLine): void {
  const store = program.command('store').description('back up, check and copy the store');
  store
    .command('backup')
    .description('write a copy of this moment to a new file, also while the daemon runs')
    .argument('<file>')
    .addOption(configFileOption())
    .addOption(jsonOption())
    .action(async (file: string, given: Given) => {
      const { storeBackup } = await import('./upkeep/store-command.ts');
      finish(storeBackup(edge, file, daemonOptionsOf(given)));
    });
  store
    .command('check')
    .description('read all of the store, or of a backup; exit 1 when it is damaged')
    .argument('[file]', 'default: that of store.url')
    .addOption(configFileOption())
    .addOption(jsonOption())
    .action(async (file: string | undefined, given: Given) => {
      const { storeCheck } = await import('./upkeep/store-command.ts');
      finish(storeCheck(edge, file, daemonOptionsOf(given)));
    });
  store
    .command('copy')
    .description('copy the store to another address while no daemon uses it, also to restore a backup')
    .argument('<url>', 'e.g. sqlite:/var/lib/nestwatch/nestwatch.db; nothing may be there')
    .option('--from <url>', 'default: store.url')
    .addOption(configFileOption())
    .addOption(jsonOption())
    .action(async (url: string, given: Given) => {
      const { storeCopy } = await import('./upkeep/store-command.ts');
      const from = text(given.from);
      finish(storeCopy(edge, url, { ...daemonOptionsOf(given), ...(from !== undefined && { from }) }));
    });
}

export function addDoctor({ program, edge, finish }: CommandLine): void {
  program
    .command('doctor')
    .description('try all that the configuration names: what was found, what is assumed, what to set')
    .option('--watch <duration>', 'how long entries are waited for that become visible late', '20s')
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
    .description('read history into the store while no daemon uses it; it sends nothing without --notify')
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
