/** The commands that list, resolve, annotate, silence and acknowledge alerts of the running daemon. */
import { Option } from 'commander';
import { type CommandRow, UTC } from './command-rows.ts';

const MATCHERS = 'e.g. FlightFailed \'nest=~"Prod.*"\'; a first word alone is the alertname';

export const ALERT_GROUPS = {
  alerts: 'list alerts as amtool does; resolve them by hand, and add notes',
  silence: 'add, list and end silences; acknowledge alerts',
};

export const ALERT_COMMANDS: readonly CommandRow[] = [
  {
    words: 'alerts list',
    about: 'list firing alerts that are neither silenced nor inhibited, as amtool does',
    ...{ isDefault: true, alias: 'query', of: 'daemon' },
    takes: [
      [
        '[matcher...]',
        'e.g. FlightFailed \'nest=~"Prod.*"\'; nest=, bird=, flight=, name=, text=, since=, until= narrow down as in other lists',
      ],
    ],
    options: [
      ['-a, --active', 'active ones, in addition to others that are requested'],
      ['-s, --silenced', 'silenced ones as well'],
      ['-i, --inhibited', 'inhibited ones as well'],
      ['-r, --receiver <regex>', 'only alerts that reach a matching receiver'],
      UTC,
    ],
    examples: ['alerts', 'alerts list FlightFailed \'nest=~"Prod.*"\' --silenced'],
    load: async () => (await import('./commands/alerts-command.ts')).alerts,
  },
  {
    words: 'alerts show',
    about: 'show one alert, firing or resolved: its labels, events and episodes, and who was notified',
    of: 'daemon',
    takes: [
      [
        '<id>',
        "as messages, pages and the API name it; a fingerprint, an incident's key, or an id that `explain` takes",
      ],
    ],
    options: [
      new Option('--format <format>', 'markdown: the first page of a post-mortem').choices([
        'text',
        'markdown',
      ]),
    ],
    load: async () => (await import('./commands/show-one.ts')).alertsShow,
  },
  {
    words: 'alerts resolve',
    about: 'resolve each matching firing alert by hand, and print the ids',
    of: 'daemon',
    takes: [['<matcher...>', 'e.g. \'entity_name="Phrase TMS"\'; a first word alone is the alertname']],
    options: [
      ['-c, --comment <text>', 'how it was fixed'],
      ['-a, --author <name>', 'who says so; default: $USER'],
    ],
    examples: ['alerts resolve \'entity_name="Phrase TMS"\' --comment "Signed in again"'],
    load: async () => (await import('./commands/signed-alerts.ts')).resolve,
  },
  {
    words: 'alerts note',
    about: 'add a note to what happened around an alert, firing or resolved, and print its id',
    of: 'daemon',
    takes: [
      ['<id>', 'as for `alerts show`'],
      ['<text>', 'what was found, or is being done'],
    ],
    options: [
      ['-a, --author <name>', 'who writes it; default: $USER'],
      ['--public', 'show it on the public page of the Nest while the alert fires'],
    ],
    examples: [
      'alerts note FlightFailed/nightly/eu/bird/148890 "The TMS is down; their support is on it" --public',
    ],
    load: async () => (await import('./commands/signed-alerts.ts')).note,
  },
  {
    words: 'silence add',
    about: 'silence matching alerts, and print the id of the silence',
    of: 'daemon',
    takes: [['<matcher...>', MATCHERS]],
    options: [
      new Option('-d, --duration <duration>', 'for how long').default('1h'),
      ['--start <instant>', 'RFC 3339; default: now'],
      ['--end <instant>', 'RFC 3339; in place of --duration'],
      ['-c, --comment <text>', 'why (required)'],
      ['-a, --author <name>', 'default: $USER'],
      ['--cron <expression>', 'mute only in windows that begin at these times, e.g. "0 2 * * 6"'],
      ['--window <duration>', 'with --cron: length of each window'],
      ['--timezone <name>', 'with --cron; default: UTC'],
      ['--dry-run', 'only show which alerts it would mute, and from when'],
    ],
    examples: [
      'silence add FlightFailed \'bird="Translate blog"\' --duration 2h --comment "TMS is down"',
      'silence add nest=Sandbox --cron "0 2 * * 6" --window 3h --duration 90d --comment "Maintenance" --dry-run',
    ],
    load: async () => (await import('./commands/silence-command.ts')).silenceAdd,
  },
  {
    words: 'silence acknowledge',
    about:
      'silence each matching firing alert until it is resolved, also about new and other errors, and print the ids',
    of: 'daemon',
    takes: [['<matcher...>', MATCHERS]],
    options: [
      ['-c, --comment <text>', 'what is being done'],
      ['-a, --author <name>', 'who takes care of it; default: $USER'],
    ],
    examples: ['silence acknowledge FlightFailed nest=Marketing --comment "On it"'],
    load: async () => (await import('./commands/signed-alerts.ts')).acknowledge,
  },
  {
    words: 'silence list',
    about: 'list silences that have not expired',
    ...{ alias: 'query', of: 'daemon' },
    takes: [
      ['[matcher...]', 'only silences with these matchers; or filters as for other lists, e.g. since=2h'],
    ],
    options: [
      ['--expired', 'expired ones instead'],
      ['--created-by <name>', 'only those of this author'],
      ['--id <id...>', 'only these'],
      ['-q, --quiet', 'only the ids'],
    ],
    examples: ['silence list', 'silence query --created-by ann --quiet'],
    load: async () => (await import('./commands/silence-command.ts')).silenceList,
  },
  {
    words: 'silence update',
    about: 'change silences, and print their ids',
    of: 'daemon',
    takes: [['<id...>']],
    options: [
      ['-d, --duration <duration>', 'for how long from its start on'],
      ['--start <instant>', 'RFC 3339'],
      ['--end <instant>', 'RFC 3339; in place of --duration'],
      ['-c, --comment <text>', 'why'],
    ],
    examples: ['silence update 6b1f0c5e-7d0a-4f5e-9a53-2f1c7f3f2a10 --duration 4h'],
    load: async () => (await import('./upkeep/silence-exchange.ts')).silenceUpdate,
  },
  {
    words: 'silence expire',
    about: 'end silences now',
    of: 'daemon',
    takes: [['<id...>']],
    examples: ['silence expire 6b1f0c5e-7d0a-4f5e-9a53-2f1c7f3f2a10'],
    load: async () => (await import('./upkeep/silence-exchange.ts')).silenceExpire,
  },
  {
    words: 'silence export',
    about: 'print the silences that have not expired as JSON, for import',
    of: 'daemon',
    examples: ['silence export > silences.json'],
    load: async () => (await import('./upkeep/silence-exchange.ts')).silenceExport,
  },
  {
    words: 'silence import',
    about: 'add silences from JSON, as `silence export` or `amtool silence query -o json` print it',
    of: 'daemon',
    takes: [['[file]', 'default: the standard input']],
    examples: ['silence import silences.json', 'amtool silence query -o json | nestwatch silence import'],
    load: async () => (await import('./upkeep/silence-exchange.ts')).silenceImport,
  },
];
