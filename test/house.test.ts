import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '..');
const SRC = join(ROOT, 'src');

/** Which rooms a room may import; leaf files and the room itself are always open to it, except for alerts. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  main: ['cli'],
  cli: [
    'daemon',
    'config',
    'service',
    'simulator',
    'store',
    'delivery',
    'web',
    'observe',
    'alerts',
    'intake',
    'templates',
  ],
  daemon: ['intake', 'alerting', 'delivery', 'web', 'observe', 'store', 'service', 'config', 'alerts'],
  intake: ['service', 'store', 'alerts', 'config'],
  alerting: ['store', 'alerts', 'config'],
  delivery: ['store', 'alerts', 'config', 'templates'],
  web: ['store', 'alerts', 'config'],
  observe: ['alerts'],
  store: ['alerts'],
  service: [],
  simulator: ['service/resources'],
  config: ['alerts', 'templates'],
  templates: [],
  alerts: [],
};

/** Files at the top of src that know no room but the shapes of alerts. */
const LEAVES = new Set([
  'acknowledge-link',
  'clock',
  'cron',
  'errors',
  'event-json',
  'instant',
  'plain-text',
  'recurrence',
  'report',
  'secret',
  'transport',
]);

interface Import {
  readonly from: string;
  readonly to: string;
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
    return [{ from: relative(SRC, file), to }];
  });
}

const ALL = files(SRC).flatMap(importsOf);
const INSIDE = ALL.filter((one) => one.to.endsWith('.ts'));

/** The room of a file: its folder, or its own name at the top of src. */
function roomOf(file: string): string {
  return file.includes('/') ? file.slice(0, file.indexOf('/')) : file.replace(/\.ts$/, '');
}

describe('the house', () => {
  test('rooms import only what lies below them', () => {
    const broken = INSIDE.filter(({ from, to }) => {
      const [room, other] = [roomOf(from), roomOf(to)];
      if (room === other) return false;
      if (LEAVES.has(room)) return !LEAVES.has(other) && other !== 'alerts';
      if (LEAVES.has(other)) return room === 'alerts';
      const allowed = MAY_IMPORT[room] ?? [];
      return !allowed.some((one) => one === other || to.startsWith(one));
    });
    expect(broken.map(({ from, to }) => `${from} → ${to}`)).toEqual([]);
  });

  test('every room is known to this rule', () => {
    const rooms = new Set(files(SRC).map((file) => roomOf(relative(SRC, file))));
    expect([...rooms].filter((room) => !(room in MAY_IMPORT) && !LEAVES.has(room))).toEqual([]);
  });

  test('alerts are pure: they import nothing from outside their room', () => {
    const outside = ALL.filter(({ from, to }) => roomOf(from) === 'alerts' && roomOf(to) !== 'alerts');
    expect(outside.map(({ from, to }) => `${from} → ${to}`)).toEqual([]);
  });

  test('imports have no cycles, those of types neither', () => {
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

  test('only the edge reads the clock, chance and the environment', () => {
    const edge = (file: string) => file === 'main.ts' || file.startsWith('cli/');
    const reads = files(SRC)
      .filter((file) => !edge(relative(SRC, file)))
      .flatMap((file) => {
        const text = readFileSync(file, 'utf8');
        const found =
          text.match(/Date\.now\(\)|new Date\(\)|Math\.random\(|performance\.now\(|process\.env\b/g) ?? [];
        return found.map((what) => `${relative(SRC, file)}: ${what}`);
      });
    // The system clock itself is written once; the edge hands it out.
    expect(reads).toEqual(['clock.ts: Date.now()', 'clock.ts: performance.now(']);
  });

  test.each([
    ['pino', ['observe/log.ts']],
    ['prom-client', ['observe/instruments.ts', 'observe/metrics.ts']],
  ])('%s is known only to its own files', (library, allowed) => {
    const users = ALL.filter(({ to }) => to === library).map(({ from }) => from);
    expect(users.filter((file) => !allowed.includes(file))).toEqual([]);
  });
});
