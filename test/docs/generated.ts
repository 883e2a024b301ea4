/** The files, and parts of files, whose content comes from the code: `npm run docs` writes them. */
import { parse, stringify } from 'yaml';
import { CHANNELS, configsKey } from '../../src/channels/registry.ts';
import { readEveryMs } from '../../src/cli/commands/check-online.ts';
import { configJsonSchema } from '../../src/config/effective.ts';
import { KINDS } from '../../src/domain/kinds/kinds.ts';
import { ERRORS } from '../../src/errors.ts';
import { IMPAIRMENTS } from '../../src/health/impairment.ts';
import { LIMITS } from '../../src/limits.ts';
import { BIRD_METRICS, METRICS } from '../../src/observe/metric-catalogue.ts';
import { durationWords } from '../../src/text/instant-words.ts';
import { DASHBOARDS, dashboardText } from './dashboards/dashboards.ts';
import { sectionOf, withWords } from './example.ts';
import { keyTable, parameterTable, table } from './key-table.ts';
import { schemaAt } from './schema.ts';

export interface Generated {
  readonly file: string;
  /** What the file must contain; `readFile` reads any file of the repository. */
  readonly content: (readFile: (file: string) => string) => string;
}

export const EXAMPLE = 'config/nestwatch.yaml';

export const GENERATED: readonly Generated[] = [
  {
    file: 'config/nestwatch.schema.json',
    content: () => `${JSON.stringify(configJsonSchema(), null, 2)}\n`,
  },
  ...DASHBOARDS.map(({ file, dashboard }) => ({ file, content: () => dashboardText(dashboard) })),
  {
    file: 'config/kubernetes/monitoring/prometheus-rule.yaml',
    content: (readFile) => prometheusRule(readFile('config/prometheus/rules.yml')),
  },
  { file: EXAMPLE, content: (readFile) => withWords(readFile(EXAMPLE)) },
  ...['config/README.md', 'src/observe/README.md', 'src/web/README.md'].map((file) => ({
    file,
    content: (readFile: (file: string) => string) => filled(readFile(file), readFile(EXAMPLE)),
  })),
];

/** The rules in the form of the Prometheus operator. */
function prometheusRule(rules: string): string {
  const { groups } = parse(rules) as { groups: unknown };
  const rule = {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: { name: 'nestwatch' },
    spec: { groups },
  };
  return `# Written from config/prometheus/rules.yml by \`npm run docs\`.\n${stringify(rule)}`;
}

/** A generated part of a document: `<!-- keys: poll -->` … `<!-- /keys -->`. */
export const BLOCK = /<!-- (\w+)(?:: (\S+))? -->\n(?:[\s\S]*?\n)??<!-- \/\1 -->/g;

/** The names and the subjects of all generated parts of a document. */
export function blocksOf(document: string): { readonly name: string; readonly subject: string }[] {
  return [...document.matchAll(BLOCK)].map(([, name = '', subject = '']) => ({ name, subject }));
}

function filled(document: string, example: string): string {
  return document.replace(BLOCK, (_, name: string, subject?: string) => {
    const mark = `${name}${subject ? `: ${subject}` : ''}`;
    return `<!-- ${mark} -->\n${partOf(name, subject ?? '', example)}\n<!-- /${name} -->`;
  });
}

function partOf(name: string, subject: string, example: string): string {
  switch (name) {
    case 'words':
      return schemaAt(subject).description ?? '';
    case 'keys':
      return keyTable(subject, [...CHANNEL_ENTRIES, ...HTTP_CONFIGS.filter((path) => path !== subject)]);
    case 'example':
      return `\`\`\`yaml\n${sectionOf(example, subject)}\n\`\`\``;
    case 'section':
      return [
        partOf('words', subject, example),
        partOf('keys', entryOf(subject), example),
        partOf('example', subject, example),
      ].join('\n\n');
    case 'channels':
      return CHANNELS.map((channel) => channelPart(configsKey(channel), example)).join('\n\n');
    case 'kinds':
      return alertTable();
    case 'parameters':
      return parameterTable();
    case 'impairments':
      return impairmentTable();
    case 'delays':
      return delayTable();
    case 'metrics':
      return metricTable();
    case 'errors':
      return errorTable();
    case 'limits':
      return limitTable();
    default:
      throw new Error(`nothing is known of ${name}`);
  }
}

const CHANNEL_ENTRIES = CHANNELS.map((channel) => `receivers[].${configsKey(channel)}[]`);

/** Described only once, under `global`. */
const HTTP_CONFIGS = ['global', 'heartbeat', ...CHANNEL_ENTRIES].map((path) => `${path}.http_config`);

function channelPart(key: string, example: string): string {
  const entry = `receivers[].${key}[]`;
  return [`### ${key}`, partOf('words', entry, example), partOf('keys', entry, example)].join('\n\n');
}

/** The path of one entry if a section is a list or a map, otherwise the section's own path. */
export function entryOf(section: string): string {
  const { type, properties } = schemaAt(section);
  if (type === 'array') return `${section}[]`;
  return properties ? section : `${section}.*`;
}

function alertTable(): string {
  const rows = KINDS.map(({ name, severities, fires, resolves }) => [
    `\`${name}\``,
    severities.join(', '),
    fires,
    resolves,
  ]);
  return table(['alertname', 'severity', 'fires when', 'resolves when'], rows);
}

function impairmentTable(): string {
  const rows = Object.entries(IMPAIRMENTS).map(([reason, { means, stopsHeartbeat, alert }]) => [
    `\`${reason}\``,
    means,
    stopsHeartbeat,
    alert === null ? 'none' : `\`${alert}\``,
  ]);
  return table(['reason', 'what impairs the watch', 'stops the heartbeat', 'alert'], rows);
}

/** How often each of this many Birds is read, never more often than `poll.interval`. */
function delayTable(): string {
  const rates = [1, 2, 5, 10, 20, 50];
  const rows = [10, 50, 150, 500, 1_000, 5_000, 10_000].map((birds) => [
    birds.toLocaleString('en'),
    ...rates.map((rate) => durationWords(Math.max(30_000, readEveryMs(birds, rate)), 'rounded')),
  ]);
  return table(['Birds', ...rates.map((rate) => `${rate}/s`)], rows);
}

function metricTable(): string {
  const rows = [...Object.values(METRICS), ...Object.values(BIRD_METRICS)].map(({ name, labels, help }) => [
    `\`${name}\``,
    labels.map((label) => `\`${label}\``).join(', '),
    help,
  ]);
  return table(['metric', 'labels', 'meaning'], rows);
}

function limitTable(): string {
  const rows = Object.entries(LIMITS).map(([name, { most, unit, of, reason, beyond, counted }]) => [
    `\`${name}\``,
    `${most.toLocaleString('en')} ${unit}: ${of}`,
    reason,
    beyond,
    counted ? 'yes' : 'no',
  ]);
  return table(['limit', 'the most', 'why', 'beyond it', 'counted'], rows);
}

function errorTable(): string {
  const rows = Object.entries(ERRORS).map(([code, { retryable, exit, help }]) => [
    `\`${code}\``,
    retryable ? 'yes' : 'no',
    String(exit),
    help,
  ]);
  return table(['code', 'tried again', 'exit', 'what to do'], rows);
}
