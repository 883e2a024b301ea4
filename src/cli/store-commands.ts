/** The commands by which an operator maintains the store, and checks what nestwatch is connected to. */
import { Option } from 'commander';
import { type CommandRow, STOPS } from './command-rows.ts';

export const STORE_GROUPS = { store: 'back up, check, migrate and copy the store' };

/** What names a store other than that of the configuration. */
const OF_STORE = {
  of: 'config',
  takes: [['[store]', 'a file, or as store.url, which is the default']],
  options: [
    ['--schema <name>', 'of a store on PostgreSQL'],
    ['--password-file <file>', 'for a server that the configuration does not name'],
  ],
} as const satisfies Partial<CommandRow>;

export const STORE_COMMANDS: readonly CommandRow[] = [
  {
    words: 'store backup',
    about: 'write a consistent copy of the store to a new file, even while daemons run; also from PostgreSQL',
    ...{ takes: [['<file>']], of: 'config', hears: STOPS },
    examples: ['store backup /backup/nestwatch-$(date +%F).db'],
    load: async () => (await import('./upkeep/store-command.ts')).storeBackup,
  },
  {
    words: 'store check',
    about: 'read all of the store or of a backup; exit 1 if it is damaged',
    ...OF_STORE,
    examples: ['store check', 'store check /backup/nestwatch-2026-07-02.db --json'],
    load: async () => (await import('./upkeep/store-command.ts')).storeCheck,
  },
  {
    words: 'store migrate',
    about:
      "bring the tables of a store or of a backup to this version, as the daemon's start does; first copies a file",
    ...OF_STORE,
    load: async () => (await import('./upkeep/store-command.ts')).storeMigrate,
  },
  {
    words: 'store copy',
    about:
      'copy a store that nobody uses: to move it, also between SQLite and PostgreSQL, or to restore a backup',
    of: 'config',
    takes: [['[url]', 'as --to']],
    options: [
      ['--from <url>', 'e.g. sqlite:/backup/nestwatch.db; default: store.url'],
      ['--to <url>', 'e.g. postgres://nestwatch@db/nestwatch, where nothing may be; default: store.url'],
      ['--from-schema <name>', 'on PostgreSQL; default: nestwatch'],
      ['--from-password-file <file>', 'for a server that the configuration does not name'],
      ['--to-schema <name>', 'on PostgreSQL; default: nestwatch'],
      ['--to-password-file <file>', 'for a server that the configuration does not name'],
    ],
    hears: STOPS,
    examples: [
      'store copy --from sqlite:data/nestwatch.db --to postgres://nestwatch@db/nestwatch --to-password-file db-password',
      'store copy --from postgres://nestwatch@db/nestwatch --to sqlite:data/nestwatch.db',
      'store copy --from sqlite:/backup/nestwatch-2026-07-02.db',
    ],
    load: async () => (await import('./upkeep/store-command.ts')).storeCopy,
  },
  {
    words: 'doctor',
    about: 'test everything the configuration names; report what was found, what is assumed and what to set',
    of: 'config',
    options: [
      new Option('--watch <duration>', 'how long to wait for entries that become visible late').default(
        '20s',
      ),
    ],
    examples: ['doctor', 'doctor --watch 5m --json'],
    load: async () => (await import('./upkeep/doctor-command.ts')).doctor,
  },
  {
    words: 'backfill',
    about: 'read history into the store while no daemon runs; sends nothing without --notify',
    of: 'config',
    options: [
      new Option('--from <instant>', 'RFC 3339, or a date in UTC').makeOptionMandatory(),
      ['--to <instant>', 'RFC 3339; default: now'],
      ['--region <name>', 'default: all'],
      ['--notify', 'raise alerts and forward events, which the daemon sends once it runs'],
    ],
    hears: STOPS,
    examples: [
      'backfill --from 2026-06-20T00:00:00Z',
      'backfill --from 2026-07-01T00:00:00Z --to 2026-07-02T00:00:00Z --region eu --notify',
    ],
    load: async () => (await import('./upkeep/backfill-command.ts')).backfillCommand,
  },
];
