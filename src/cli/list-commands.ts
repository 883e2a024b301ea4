/** The commands that ask the running daemon what it knows and what it sent, or tell it to start Birds or to send again. */
import { Option } from 'commander';
import { filterNames, type ListName } from '../operator/lists.ts';
import type { Edge } from '../process-io.ts';
import { CONFIG_FILE, type CommandRow, JSON_OUTPUT, STOPS, URL_OF_DAEMON, UTC } from './command-rows.ts';
import type { ListOptions } from './commands/printed-lists.ts';

export const LIST_GROUPS = {
  birds: 'list the watched Birds with their status, show one, start one again, or compare them with a file',
  actions: 'stop the rules of `actions`, or let them go on',
  flights: 'list Flights and their outcomes, or show one',
  deliveries: 'list, show and retry deliveries: what was sent, to whom, when, and why not',
};

/** The options of a list; the command may have others that are filters. */
interface GivenList extends ListOptions {
  readonly dead?: boolean;
  readonly state?: string;
  readonly receiver?: string;
  readonly type?: string;
}

/** What is the same of all commands that list. */
function listing(
  list: Exclude<ListName, 'alerts' | 'silences'>,
  example: string,
  ...own: NonNullable<CommandRow['options']>
) {
  const filters = filterNames(list).map((name) => `${name}=`);
  return {
    of: 'daemon',
    takes: [['[filter...]', `words, or ${filters.join(', ')}, e.g. ${example}`]],
    options: [...own, ['--limit <n>', 'default: 100, at most 1000'], UTC],
    load: async () => {
      const { printList } = await import('./commands/printed-lists.ts');
      return (edge: Edge, args: readonly string[], given: GivenList) => {
        const { receiver, type, state = given.dead ? 'dead' : undefined } = given;
        const filters = Object.entries({ state, receiver, type }).flatMap(([name, value]) =>
          value === undefined ? [] : [`${name}=${value}`],
        );
        return printList(edge, list, [...args, ...filters], given);
      };
    },
  } as const satisfies Partial<CommandRow>;
}

const AUTHOR = ['-a, --author <name>', 'who says so; default: $USER'] as const;

export const LIST_COMMANDS: readonly CommandRow[] = [
  {
    words: 'status',
    about: 'show the status of the running daemon; exit 1 while something impairs the watch',
    of: 'daemon',
    examples: ['status', 'status --url http://watch.example:9465 --token-file token --json'],
    load: async () => (await import('./commands/status-command.ts')).status,
  },
  {
    words: 'watch',
    about: 'list the active alerts, then print each that fires or ends, until interrupted',
    ...{ options: [UTC], of: 'daemon', hears: STOPS },
    load: async () => (await import('./commands/alerts-command.ts')).watch,
  },
  {
    words: 'healthcheck',
    about: 'exit 0 when the running daemon is healthy, else 1',
    options: [CONFIG_FILE, URL_OF_DAEMON, JSON_OUTPUT],
    examples: ['healthcheck --url http://127.0.0.1:9465'],
    load: async () => (await import('./commands/status-command.ts')).healthcheck,
  },
  {
    words: 'birds list',
    about: 'those in trouble first',
    isDefault: true,
    ...listing('birds', "'nest=Marketing'"),
    examples: ['birds', 'birds list region=eu standing=failing'],
  },
  {
    words: 'birds show',
    about: 'show one Bird: its last Flights, causes of failure, alerts and log',
    of: 'daemon',
    takes: [['<id-or-name>'], ['[filter...]', 'where several Birds have the name: region=, nest=']],
    examples: ['birds show "Translate blog"'],
    load: async () => (await import('./commands/show-one.ts')).birdsShow,
  },
  {
    words: 'birds fly',
    about:
      'start a Flight of a manual Bird again, where the region has `fly: true`; exit 4 if it cannot be started',
    of: 'daemon',
    takes: [['<id-or-name>']],
    options: [
      ['--region <name>', 'where several regions have such a Bird'],
      ['-y, --yes', 'do not ask before it is started'],
      ['-c, --comment <text>', 'why'],
      ['-a, --author <name>', 'who starts it; default: $USER'],
    ],
    load: async () => (await import('./commands/birds-fly-command.ts')).birdsFly,
  },
  {
    words: 'birds export',
    about: 'print all Birds as YAML, to keep in a file for `birds check`',
    of: 'daemon',
    options: [['--nest <glob>', 'only of Nests whose name or id it matches']],
    examples: ['birds export > birds.yaml', 'birds export --nest "Prod*" > production.yaml'],
    load: async () => (await import('./upkeep/declared-birds-command.ts')).birdsExport,
  },
  {
    words: 'birds check',
    about:
      'print how the Birds differ from a file; exit 1 if they do, 2 for mistakes in the file, 4 without an answer',
    of: 'daemon',
    takes: [['<file>', 'as `birds export` prints it']],
    examples: ['birds check birds.yaml', 'birds check birds.yaml --json | jq .drifts'],
    load: async () => (await import('./upkeep/declared-birds-command.ts')).birdsCheck,
  },
  {
    words: 'actions pause',
    about: 'let no rule start Birds, in any region; what people want is done all the same',
    ...{ options: [AUTHOR], of: 'daemon' },
    load: async () => (await import('./commands/birds-fly-command.ts')).pauseActions,
  },
  {
    words: 'actions resume',
    about: 'let rules start Birds again',
    ...{ options: [AUTHOR], of: 'daemon' },
    load: async () => (await import('./commands/birds-fly-command.ts')).resumeActions,
  },
  {
    words: 'nests',
    about: 'list Nests with their outcomes of 24 hours',
    ...listing('nests', 'region=eu'),
  },
  {
    words: 'flights list',
    about: 'list them, the latest start first',
    isDefault: true,
    ...listing('flights', "'bird=Translate blog' status=failed since=2h"),
    examples: ['flights list status=failed since=2h'],
  },
  {
    words: 'flights show',
    about: 'show one Flight: its error, step and alerts, and who was notified',
    of: 'daemon',
    takes: [['<id>']],
    options: [['--log', 'also print its log, which is read from the service']],
    examples: ['flights show 0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b'],
    load: async () => (await import('./commands/show-one.ts')).flightsShow,
  },
  {
    words: 'events',
    about: 'list events, the newest first',
    ...listing('events', 'bird=148890 since=2h', ['--type <type>', 'only those of this type']),
  },
  {
    words: 'writes',
    about: 'list requests for changes over HTTP, the newest first',
    ...listing('writes', 'who=anna since=7d'),
  },
  {
    words: 'deliveries list',
    about: 'the newest first',
    isDefault: true,
    ...listing(
      'deliveries',
      'nest=Marketing since=2h',
      new Option('--dead', 'those that were given up').conflicts('state'),
      ['--state <state>', 'pending, leased, delivered, retry, ambiguous, dead or suppressed'],
      ['--receiver <name>', 'only those to this receiver'],
    ),
    examples: ['deliveries --dead', 'deliveries list --receiver pager --limit 20'],
  },
  {
    words: 'deliveries show',
    about: 'show one delivery: its state and its message as sent',
    ...{ takes: [['<id>']], of: 'daemon' },
    load: async () => (await import('./commands/show-one.ts')).deliveriesShow,
  },
  {
    words: 'deliveries retry',
    about: 'send deliveries again that were given up',
    ...{ takes: [['<id...>']], of: 'daemon' },
    examples: ['deliveries retry 7f3e91-0'],
    load: async () => (await import('./commands/show-one.ts')).deliveriesRetry,
  },
  {
    words: 'explain',
    about: 'trace an event: seen, rule, alert, group, each delivery, or why there was none',
    of: 'daemon',
    takes: [
      [
        '<id>',
        "the key or short id of an event, the id of an alert, Bird, Flight, delivery or silence, a fingerprint, an incident's key, or a link to a page",
      ],
    ],
    examples: ['explain eu/flight/0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b/failed'],
    load: async () => (await import('./commands/explain-command.ts')).explain,
  },
  {
    words: 'open',
    about: 'print the address of the page about something; on a terminal also open it in the browser',
    ...{ takes: [['<id>', 'as `explain` takes it']], of: 'daemon' },
    load: async () => (await import('./commands/explain-command.ts')).open,
  },
  {
    words: 'mcp',
    about: 'serve agents on stdin and stdout (Model Context Protocol): they can ask, and change nothing',
    ...{ of: 'daemon', hears: STOPS },
    load: async () => (await import('./mcp/mcp-command.ts')).mcp,
  },
];
