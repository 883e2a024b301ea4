/**
 * Compares nestwatch with Alertmanager's own test tables, of which this project contains no copy, and prints each row
 * with another result that is not listed. Exits with 1 if there is one.
 *
 *   node test/system/beside/upstream-tables.ts TABLES CHECKOUT
 *
 * TABLES: a folder with matchers.json, config.json, routing.json, time-intervals.json and regex.json, in which each
 * row contains the expected result. CHECKOUT: prometheus/alertmanager, whose example files config.json names.
 * Patterns are judged by the amtool of this machine.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { loadConfig } from '../../../src/config/load-config.ts';
import { ConfigError } from '../../../src/document/problem.ts';
import { createMatcher, goQuote, RegexSyntaxError, regexSize } from '../../../src/domain/matchers/matcher.ts';
import {
  MatcherSyntaxError,
  type MatchOp,
  readMatcher,
  readMatchers,
} from '../../../src/domain/matchers/matcher-syntax.ts';
import { type Route, routesFor } from '../../../src/domain/routing/route.ts';

/** Rows that differ, each with its reason; `src/web/README.md` explains the same. */
const LISTED: ReadonlyMap<string, string> = new Map([
  ['config/testdata/conf.http-config.good.yml', 'a proxy that is no URL'],
  ['config/testdata/conf.smtp-password-global-and-local.yml', 'CRAM-MD5'],
  ['config/testdata/conf.sns-topic-arn.yml', 'no channel for SNS'],
  ['config/testdata/conf.wechat-default-api-secret-file.yml', 'no channel for WeChat'],
  ['doc/examples/simple.yml', "PagerDuty's Events API v1"],
  ['TestEventRecorderWebhookBatchingConfig', '`forward` sends every event'],
  ['TestGroupByInvalidLabel (default mode: valid)', 'no alert has such a label'],
  ["TestInhibitRuleEqual ['qux🙂', 'corge'] (default mode)", 'no alert has such a label'],
  ['TestSecretTemplURL http://example.com/{{ .GroupLabels.alertname }}', 'an address is one address'],
  ...[
    '{invalid-name = "valid label"}',
    '{',
    '}',
    'foo=bar}',
    '{foo=bar',
    '{foo="bar\\w"}',
    '{foo=bar\\n}',
  ].map((text) => [text, 'one parser alone'] as const),
  ...['foo=bar,', 'foo=bar,bar=baz', 'foo="\\xf0\\x9f"'].map((text) => [text, 'one parser alone'] as const),
  ['(?P<n>a)(?P<n>b)', 'a name for two groups'],
  ['\\p{Emoji}', 'a property of Unicode'],
  ...['(?<n>a)', '(?<name>a)', '\\p{Cn}', '\\p{LC}', '\\p{Kawi}', '\\p{Vithkuqi}'].map(
    (text) => [text, "amtool's older Go"] as const,
  ),
]);

const { positionals } = parseArgs({ allowPositionals: true });
const [tables, checkout] = positionals;
if (!tables || !checkout) throw new Error('usage: upstream-tables.ts TABLES CHECKOUT');
const table = <Rows>(name: string): Rows => JSON.parse(readFileSync(join(tables, `${name}.json`), 'utf8'));

const REGION = 'regions: { eu: { base_url: https://eu.example.com/api-rest, token: t0 } }\n';
const load = (text: string) =>
  loadConfig({
    file: 'nestwatch.yaml',
    text: REGION + text,
    environment: {},
    // A secret that any key accepts, or an address where one is required.
    readFile: () => (text.includes('telegram') ? '123:abc' : 'https://example.com/x'),
  });

let rows = 0;
let listed = 0;
let unlisted = 0;

/** Compares one row; both sides as JSON. */
function compare(row: string, ours: unknown, theirs: unknown): void {
  rows += 1;
  if (JSON.stringify(ours) === JSON.stringify(theirs)) return;
  if (LISTED.has(row)) {
    listed += 1;
    return;
  }
  unlisted += 1;
  console.log(
    `${JSON.stringify(row)}: ours ${JSON.stringify(ours)}, Alertmanager's ${JSON.stringify(theirs)}`,
  );
}

/** What `read` returns, or `refused` for an error of this class; any other error is thrown. */
function orRefused<T>(read: () => T, Refusal: abstract new (...args: never[]) => Error): T | 'refused' {
  try {
    return read();
  } catch (error) {
    if (error instanceof Refusal) return 'refused';
    throw error;
  }
}

type Pairs = Readonly<Record<string, string>>;
type Matcher = [name: string, op: MatchOp, value: string];

function compareMatchers(): void {
  interface Row {
    readonly input: string;
    readonly want?: Matcher[];
  }
  for (const [name, cases] of Object.entries(table<Record<string, Row[]>>('matchers'))) {
    for (const { input, want } of cases) {
      const read = () =>
        (name.endsWith('one') ? readMatcher : readMatchers)(input).map((one): Matcher => {
          createMatcher(one.name, one.op, one.value);
          return [one.name, one.op, one.value];
        });
      const ours = orRefused(() => orRefused(read, MatcherSyntaxError), RegexSyntaxError);
      compare(input, ours, want ?? 'refused');
    }
  }
}

function compareConfigs(): void {
  const { files, inline } = table<{
    files: Record<string, string>;
    inline: { name: string; text: string; upstream: string }[];
  }>('config');
  const verdict = (text: string) =>
    orRefused(() => load(text), ConfigError) === 'refused' ? 'refused' : 'loads';
  for (const [file, expected] of Object.entries(files)) {
    compare(file, verdict(readFileSync(join(checkout!, file), 'utf8')), expected);
  }
  for (const { name, text, upstream } of inline) compare(name, verdict(text), upstream);
}

const indented = (text: string) => `\n${text.replaceAll(/^/gm, '  ')}`;
const all = (route: Route): Route[] => [route, ...route.routes.flatMap(all)];

function compareRouting(): void {
  type Reached = [
    receiver: string,
    groupBy: unknown,
    wait: number,
    interval: number,
    repeat: number,
    key: string,
  ];
  const { tree, walk, matches, others, tests, ids, keys } = table<{
    tree: string;
    walk: string[];
    matches: [Pairs, Reached[]][];
    others: [name: string, tree: string, [path: string, groupBy: unknown][]][];
    tests: [name: string, tree: string, [Pairs, string][]][];
    ids: string;
    keys: string[];
  }>('routing');
  const routeOf = (text: string) => {
    const receivers = [...new Set([...text.matchAll(/receiver: *'?([\w-]+)/g)].map(([, name]) => name))];
    return load(
      `route: ${indented(text)}\nreceivers: ${JSON.stringify(receivers.map((name) => ({ name })))}\n`,
    ).route;
  };
  const root = routeOf(tree);
  compare(
    'walk',
    all(root).map(({ receiver }) => receiver),
    walk,
  );
  for (const [labels, reached] of matches) {
    const ours = routesFor(root, labels).map(
      (one): Reached => [
        one.receiver,
        one.groupBy,
        one.groupWaitMs / 1000,
        one.groupIntervalMs / 1000,
        one.repeatIntervalMs / 1000,
        one.key,
      ],
    );
    compare(JSON.stringify(labels), ours, reached);
  }
  for (const [name, text, groupBys] of others) {
    const routes = all(routeOf(text));
    const ours = groupBys.map(([path]) => [path, routes.find((one) => one.path === path)?.groupBy]);
    compare(name, ours, groupBys);
  }
  for (const [name, text, cases] of tests) {
    for (const [labels, receivers] of cases) {
      const ours = routesFor(routeOf(text), labels).map(({ receiver }) => receiver);
      compare(name, ours.join(','), receivers);
    }
  }
  compare(
    'keys',
    all(routeOf(ids))
      .map(({ key }) => key)
      .toSorted(),
    keys.toSorted(),
  );
}

function compareTimeIntervals(): void {
  interface Row {
    readonly yaml: string;
    readonly ok?: boolean;
    readonly in: string[];
    readonly out: string[];
  }
  const { intervene, ...lists } = table<{
    intervene: { evenings: unknown; weekends: unknown; cases: [at: string, active: string[]][] };
    contains: Row[];
    parse: Row[];
    documented: Row[];
  }>('time-intervals');
  const receivers = 'route: { receiver: a }\nreceivers: [{ name: a }]\n';
  for (const [name, cases] of Object.entries(lists)) {
    for (const { yaml, ok = true, in: inside, out: outside } of cases) {
      const spans = indented(name === 'contains' ? `- ${yaml.replaceAll('\n', '\n  ')}` : yaml);
      const text = `${receivers}time_intervals:\n- name: x\n  time_intervals:${indented(spans)}\n`;
      const config = orRefused(() => load(text), ConfigError);
      compare(yaml, config !== 'refused', ok);
      const isIn = (at: string) =>
        config !== 'refused' &&
        config.timeIntervals.get('x')!.some((one) => one.contains(Date.parse(at) * 1000));
      compare(yaml, [inside.filter(isIn), outside.filter(isIn)], [inside, []]);
    }
  }
  const { cases, ...named } = intervene;
  const list = Object.entries(named).map(([name, spans]) => ({ name, time_intervals: spans }));
  const { timeIntervals } = load(`${receivers}time_intervals: ${JSON.stringify(list)}\n`);
  for (const [at, active] of cases) {
    const us = Date.parse(at) * 1000;
    const ours = [...timeIntervals].filter(([, spans]) => spans.some((one) => one.contains(us)));
    compare(
      at,
      ours.map(([name]) => name),
      active,
    );
  }
}

/** amtool checks many files at once. */
function comparePatterns(): void {
  const { patterns } = table<{ patterns: string[] }>('regex');
  const folder = mkdtempSync(join(tmpdir(), 'nestwatch-patterns-'));
  const files = patterns.map((pattern, index) => {
    const file = join(folder, `${index}.yml`);
    const routes = [{ matchers: [`x=~${goQuote(pattern)}`] }];
    writeFileSync(file, JSON.stringify({ route: { receiver: 'a', routes }, receivers: [{ name: 'a' }] }));
    return file;
  });
  const output = verdictsOf(files);
  rmSync(folder, { recursive: true });
  const verdicts = new Map(
    [...output.matchAll(/^Checking '(.*)' {2}(SUCCESS|FAILED)/gm)].map(([, file, verdict]) => [
      file,
      verdict,
    ]),
  );
  for (const [index, pattern] of patterns.entries()) {
    const isTaken = orRefused(() => regexSize(pattern), RegexSyntaxError) !== 'refused';
    compare(pattern, isTaken ? 'SUCCESS' : 'FAILED', verdicts.get(files[index]!));
  }
}

/** amtool exits with an error if it refuses any. */
function verdictsOf(files: readonly string[]): string {
  try {
    return execFileSync('amtool', ['check-config', ...files], {
      encoding: 'utf8',
      maxBuffer: 2 ** 26,
      stdio: 'pipe',
    });
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}

compareMatchers();
compareConfigs();
compareRouting();
compareTimeIntervals();
comparePatterns();
console.log(`${rows} rows: ${listed} differ as listed, ${unlisted} otherwise`);
if (unlisted > 0) process.exitCode = 1;
