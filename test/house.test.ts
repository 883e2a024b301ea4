import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '..');
const SRC = join(ROOT, 'src');

/**
 * Which rooms a room may import. A room is a folder, or a file at the top of `src`; naming a room includes its
 * sub-rooms. A room and its own sub-rooms may import each other, and everybody may import the leaves. A sub-room that
 * is not listed may import what its room may.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  main: ['cli', 'compile-cache', 'held-signals', 'small-heap'],
  'held-signals': [],
  'storm-heap': [],
  cli: [
    'app',
    'channels',
    'config',
    'delivery',
    'document',
    'domain',
    'intake/inventory',
    'observe',
    'operator',
    'service',
    'simulator',
    'store',
    'storm-heap',
    'templates',
    'web/api',
  ],
  'cli/commands': ['daemon'],
  'cli/upkeep': ['cli/commands', 'intake/backfill'],
  'cli/guided': ['cli/commands'],
  'cli/demo': ['web/pages'],
  app: [
    'channels',
    'config',
    'daemon',
    'delivery',
    'domain',
    'observe',
    'operator',
    'reload',
    'service',
    'store',
    'web',
  ],
  reload: ['config', 'document'],
  daemon: ['alerting', 'config', 'delivery', 'health', 'intake', 'replicas', 'stages', 'store'],
  stages: [
    'alerting',
    'channels/channel',
    'channels/integration-identity',
    'config',
    'delivery',
    'domain/kinds',
    'health',
    'intake',
    'operator',
    'replicas',
    'store',
  ],

  replicas: ['intake', 'store'],
  intake: ['config', 'domain', 'service', 'store'],
  'intake/logs': [],
  'intake/flights': ['intake/logs'],
  'intake/inventory': [],
  'intake/schedule': [],
  'intake/audit': ['intake/logs'],
  alerting: [
    'channels/receiver',
    'channels/integration-identity',
    'channels/integration-name',
    'config',
    'domain',
    'store',
  ],
  delivery: ['channels', 'domain', 'store'],
  health: [
    'channels/integration-identity',
    'channels/integration-name',
    'config',
    'document/problem',
    'domain',
    'store',
  ],
  web: ['channels/press', 'config', 'domain', 'health', 'operator', 'store'],
  'web/access': ['web/requests'],
  'web/api': ['web/access', 'web/requests'],
  'web/requests': [],
  'web/pages': ['web/access', 'web/requests'],
  // A page uses the common frame, and no other page.
  'web/pages/*': ['web/pages/frame'],
  'web/pages/frame': [],
  operator: ['config', 'domain', 'store'],

  channels: ['document', 'domain', 'templates'],
  'channels/message': [],
  // A channel uses what all messages share, and no other channel.
  'channels/*': ['channels/message'],
  config: ['channels', 'document', 'domain', 'store/postgres/postgres-client', 'templates'],
  'config/sections': [],
  document: ['domain', 'templates'],
  store: ['domain'],
  'store/sql': [],
  'store/versions': [],
  'store/postgres': ['store/copy/table-rows', 'store/sql', 'store/versions'],
  'store/sqlite': ['store/copy/table-rows', 'store/sql', 'store/versions'],
  // What both engines store by the same statements.
  'store/sql/watched': [],
  'store/sql/queued': ['store/sql/watched'],
  'store/sql/alerted': ['store/sql/watched'],
  'store/sql/upkeep': ['store/sql/queued', 'store/sql/watched'],
  // What each engine reads and writes is described beside the copying itself.
  'store/copy': ['store/postgres', 'store/sql', 'store/sqlite', 'store/versions'],
  'store/postgres/copy': [],
  'store/sqlite/upkeep': [],
  'store/sqlite/copy': ['store/sqlite/upkeep'],
  observe: ['domain', 'health/impairment'],
  service: [],
  simulator: ['service/resources'],
  'simulator/world': [],
  'simulator/story': ['simulator/world'],
  'simulator/answers': ['simulator/world'],
  'simulator/control': ['simulator/answers', 'simulator/world'],
  templates: [],

  domain: [],
  'domain/action': ['domain/alert', 'domain/matchers'],
  'domain/alert': ['domain/matchers'],
  'domain/matchers': ['domain/alert'],
  'domain/kinds': ['domain/alert', 'domain/statistics'],
  'domain/context': ['domain/alert', 'domain/kinds'],
  'domain/evaluate': ['domain/alert', 'domain/kinds', 'domain/matchers'],
  'domain/routing': ['domain/alert', 'domain/matchers'],
  'domain/muting': ['domain/alert', 'domain/kinds', 'domain/matchers', 'domain/routing'],
  'domain/grouping': ['domain/alert', 'domain/digest', 'domain/kinds', 'domain/muting', 'domain/routing'],
  'domain/statistics': ['domain/alert'],
  'domain/digest': ['domain/action', 'domain/alert', 'domain/kinds', 'domain/matchers', 'domain/statistics'],
};

/**
 * What everybody may import, in this order: a leaf imports only leaves before it, and of the domain only what is
 * listed.
 */
const LEAVES: readonly string[] = [
  'limits',
  'time',
  'text',
  'errors',
  'secret',
  'version',
  'http',
  'report',
  'region-progress',
  'process-io',
];
const OPEN_TO_LEAVES: readonly string[] = [
  'domain/alert/event',
  'domain/alert/fault',
  'domain/muting/suppression',
];

/** What the domain may use besides itself. */
const OPEN_TO_DOMAIN: readonly string[] = ['limits', 'time', 'text'];

interface Import {
  readonly from: string;
  readonly to: string;
  /** Whether it loads the other file at once: the import is neither of types alone nor `import()`. */
  readonly isLoading: boolean;
}

function files(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return files(path);
    return entry.name.endsWith('.ts') ? [path] : [];
  });
}

function importsOf(file: string): Import[] {
  const text = readFileSync(file, 'utf8');
  const found = [
    ...text.matchAll(
      /(?:^|\n)\s*(import|export)\s+(type\s)?[^;]*?from\s+'([^']+)'|import\(\s*'([^']+)'\s*\)/g,
    ),
  ];
  return found.flatMap((match) => {
    const target = match[3] ?? match[4]!;
    const to = target.startsWith('.') ? relative(SRC, resolve(dirname(file), target)) : target;
    return [{ from: relative(SRC, file), to, isLoading: match[3] !== undefined && match[2] === undefined }];
  });
}

const ALL = files(SRC).flatMap(importsOf);
const INSIDE = ALL.filter((one) => one.to.endsWith('.ts'));

/** The room of a file: its folder, or its own name at the top of src. */
function roomOf(file: string): string {
  return file.includes('/') ? dirname(file) : file.replace(/\.ts$/, '');
}

/** The room itself, and those that contain it. */
function withOuter(room: string): string[] {
  return room.includes('/') ? [room, ...withOuter(dirname(room))] : [room];
}

/** How the rule names all sub-rooms of a room that it does not list. */
function siblingsOf(room: string): string {
  return `${dirname(room)}/*`;
}

function isWithin(room: string, outer: string): boolean {
  return room === outer || room.startsWith(`${outer}/`);
}

function isAllowed({ from, to }: Import): boolean {
  const [room, other] = [roomOf(from), roomOf(to)];
  const file = to.replace(/\.ts$/, '');
  const top = withOuter(room).at(-1)!;
  const leaf = LEAVES.findIndex((one) => isWithin(other, one));
  if (LEAVES.includes(top)) {
    const isBefore = leaf !== -1 && leaf <= LEAVES.indexOf(top);
    return isBefore || OPEN_TO_LEAVES.includes(file);
  }
  if (leaf !== -1) return top !== 'domain' || OPEN_TO_DOMAIN.some((one) => isWithin(other, one));
  if (isWithin(other, room) || isWithin(room, other)) return true;
  const allowed = withOuter(room).flatMap((one) => MAY_IMPORT[one] ?? MAY_IMPORT[siblingsOf(one)] ?? []);
  return allowed.some((one) => isWithin(other, one) || isWithin(file, one));
}

/** Names of values whose keys may come from outside, whatever their type says. */
const FROM_OUTSIDE = ['labels', 'annotations', 'headers', 'environment', 'parameters', 'shape'];

/**
 * Lines that look up a name in a plain object, which inherits `constructor` and the like: computed access to what is
 * declared as a record, tables of words that are not a Map, and `in`. A line that calls `Object.hasOwn` is right.
 */
function lookUps(text: string): string[] {
  const records =
    /\b(\w+)\??: (?:Readonly<)?(?:Partial<)?(?:Record<(?:string|PropertyKey)|(?:Labels|Environment|Json|Given|Lists|SeriesLabels|OpenChannels)\b)/g;
  const names = new Set([...FROM_OUTSIDE, ...[...text.matchAll(records)].map(([, name]) => name!)]);
  const isLookUp = (line: string) =>
    [...line.matchAll(/(\w+)!?(?:\?\.)?\[[a-z_][\w.]*\]/gi)].some(
      ([access, name]) => names.has(name!) && !/\[[A-Z_]+\]$/.test(access),
    ) ||
    /^(?:export )?const \w+: .*Record<string/.test(line) ||
    /Record<[^;]*\)\[[a-z]|\}\)?\[[a-z]\w*[\].]/.test(line) ||
    /\((?:\w+\.)*(?:type|name|key) in \w/.test(line);
  return text
    .split('\n')
    .filter((line) => !/^\s*(?:\*|\/)/.test(line) && !line.includes('Object.hasOwn(') && isLookUp(line))
    .map((line) => line.trim());
}

describe('the house', () => {
  test('rooms import only what is below them', () => {
    const broken = INSIDE.filter((one) => !isAllowed(one));
    expect(broken.map(({ from, to }) => `${from} → ${to}`)).toEqual([]);
  });

  test('every room at the top of src is known to this rule', () => {
    const rooms = new Set(files(SRC).map((file) => withOuter(roomOf(relative(SRC, file))).at(-1)!));
    const unknown = [...rooms].filter((room) => !(room in MAY_IMPORT) && !LEAVES.includes(room));
    expect(unknown.filter((room) => room !== 'small-heap' && room !== 'compile-cache')).toEqual([]);
  });

  test('the rule names no room that does not exist', () => {
    const rooms = new Set(files(SRC).flatMap((file) => withOuter(roomOf(relative(SRC, file)))));
    const named = Object.keys(MAY_IMPORT).map((room) => room.replace(/\/\*$/, ''));
    expect(named.filter((room) => !rooms.has(room))).toEqual([]);
  });

  test.each(['src', 'test'])('no file name occurs in two rooms of %s', (folder) => {
    const names = files(join(ROOT, folder)).map((file) => basename(file));
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  test('no room has more than 24 files', () => {
    const rooms = Map.groupBy(files(SRC), (file) => dirname(relative(SRC, file)));
    const crowded = [...rooms].filter(([, inside]) => inside.length > 24).map(([room]) => room);
    expect(crowded).toEqual([]);
  });

  test('what messages share knows neither the configuration nor what a channel is', () => {
    const shared = INSIDE.filter(({ from }) => from.startsWith('channels/message/'));
    const outside = shared.filter(
      ({ to }) => /^(config|channels)\//.test(to) && !/^channels\/message\//.test(to),
    );
    expect(outside.map(({ from, to }) => `${from} → ${to}`)).toEqual([]);
  });

  test('imports have no cycles, not even those of types', () => {
    const graph = new Map<string, string[]>();
    for (const { from, to } of INSIDE) graph.set(from, [...(graph.get(from) ?? []), to]);
    const cycles: string[] = [];
    const done = new Set<string>();
    const visit = (file: string, path: readonly string[]): void => {
      if (path.includes(file)) {
        cycles.push([...path.slice(path.indexOf(file)), file].join(' → '));
        return;
      }
      if (done.has(file)) return;
      for (const next of graph.get(file) ?? []) visit(next, [...path, file]);
      done.add(file);
    };
    for (const file of graph.keys()) visit(file, []);
    expect(cycles).toEqual([]);
  });

  test('commands that query the daemon load nothing that only the daemon needs', () => {
    const loaded = new Set<string>();
    const load = (file: string): void => {
      if (loaded.has(file)) return;
      loaded.add(file);
      for (const { from, to, isLoading } of INSIDE) if (from === file && isLoading) load(to);
    };
    load('cli/commands/status-command.ts');
    const rooms = new Set([...loaded].map((file) => withOuter(roomOf(file)).at(-1)!));
    expect([...rooms].toSorted()).toEqual([
      ...['cli', 'config', 'document', 'errors', 'http', 'limits', 'secret', 'text', 'time'],
    ]);
  });

  test("only the process's edge reads the clock, randomness and the environment", () => {
    const edge = (file: string) => file === 'main.ts' || file === 'app.ts' || file.startsWith('cli/');
    const reads = files(SRC)
      .filter((file) => !edge(relative(SRC, file)))
      .flatMap((file) => {
        const text = readFileSync(file, 'utf8');
        const found =
          text.match(/Date\.now\(\)|new Date\(\)|Math\.random\(|performance\.now\(|process\.env\b/g) ?? [];
        return found.map((what) => `${relative(SRC, file)}: ${what}`);
      });
    // The system clock itself is written once and passed on by the process's edge; the script of the pages runs
    // elsewhere.
    expect(reads).toEqual([
      'time/clock.ts: Date.now()',
      'time/clock.ts: performance.now(',
      'web/pages/frame/page-script.ts: performance.now(',
    ]);
  });

  test('what is looked up by a name from outside is a Map, or checked for own properties [long]', () => {
    const inherited = files(SRC).flatMap((file) =>
      lookUps(readFileSync(file, 'utf8')).map((what) => `${relative(SRC, file)}: ${what}`),
    );
    expect(inherited).toEqual([
      // Names that come from the code: steps that were just checked, keys of a closed set, columns of a statement.
      'cli/command-rows.ts: second === undefined ? program : (known ?? program.command(first).description(groups[first]!));',
      'delivery/attempt.ts: return await channels[integration.kind]!.send(integration, delivery, message, address);',
      'delivery/repeat-alerts.ts: const repeats = channels[integration.kind]?.repeats;',
      'document/check.ts: return (value as Record<string | number, unknown>)[step];',
      'simulator/answers/simulator-server.ts: }[retryAfter];',
      'simulator/answers/wire.ts: const digits = { microsecond: 6, millisecond: 3, second: 0 }[shownPrecision];',
      'simulator/world/behaviours.ts: const result = BEHAVIOURS.shape[known].safeParse(isScalar(value) ? value.value : undefined, {',
      'simulator/world/behaviours.ts: else if (result.success) behaviours[known] = result.data;',
      'store/sqlite/connection.ts: const value = row[column];',
      "store/sqlite/connection.ts: if (typeof value === 'string') row[column] = decodeText(value);",
    ]);
  });

  test('the rule of look-ups finds each form of one', () => {
    expect(lookUps("const WORDS: Readonly<Record<string, string>> = { a: 'b' };")).toHaveLength(1);
    expect(lookUps('function f(labels: Labels, name: string) {\n  return labels[name];\n}')).toHaveLength(1);
    expect(lookUps('  const x: Record<string, number> = {};\n  x[name] = 1;')).toHaveLength(1);
    expect(lookUps('return (value as Record<string, unknown>)[key];')).toHaveLength(1);
    expect(lookUps('return { true: true }[word];')).toHaveLength(1);
    expect(lookUps('if (event.type in SEVERITY) return;')).toHaveLength(1);
    expect(lookUps('return Object.hasOwn(labels, name) ? labels[name] : undefined;')).toEqual([]);
  });

  test('a start loads nothing of what only some commands and configurations need', () => {
    const loaded = new Set(['main.ts']);
    for (const file of loaded) {
      for (const { from, to, isLoading } of ALL) if (from === file && isLoading) loaded.add(to);
      // The command that runs the daemon is loaded when it is chosen.
      if (file === 'main.ts') loaded.add('cli/commands/run-command.ts').add('app.ts');
    }
    expect(loaded).toContain('intake/watched-region.ts');
    const seldom = [...loaded].filter((one) =>
      /^(?:@modelcontextprotocol|openid-client|web-push)|^cli\/mcp|\/(?:act-by-rule|actions-api|ask-to-fly|fly-again|fly-page|oidc|otlp|presses|slack-buttons|slack-press)\.ts$/.test(
        one,
      ),
    );
    expect(seldom).toEqual([]);
  });

  test.each([
    ['pino', ['observe/log.ts']],
    ['prom-client', ['observe/instruments.ts', 'observe/metrics.ts', 'observe/region-series.ts']],
    ['re2js', ['domain/matchers/matcher.ts']],
    [
      'pg',
      [
        'store/postgres/look-at-server.ts',
        'store/postgres/postgres-client.ts',
        'store/postgres/postgres-wakes.ts',
        'store/postgres/session-locks.ts',
        'store/postgres/session.ts',
        'store/postgres/settle-in.ts',
      ],
    ],
  ])('%s is known only to its own files', (library, allowed) => {
    const users = ALL.filter(({ to }) => to === library).map(({ from }) => from);
    expect(users.filter((file) => !allowed.includes(file))).toEqual([]);
  });
});
