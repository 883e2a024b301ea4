/**
 * Every name that people's configurations, scripts, dashboards, rules and receivers depend on, as the code has it.
 * `config/public-names.txt` keeps those that were promised.
 */
import { configJsonSchema } from '../src/config/effective.ts';
import { isRefused } from '../src/document/value-shape.ts';
import { EVENT_TYPES } from '../src/domain/alert/event.ts';
import { KINDS } from '../src/domain/kinds/kinds.ts';
import { ERRORS } from '../src/errors.ts';
import { IMPAIRMENTS } from '../src/health/impairment.ts';
import { BIRD_METRICS, METRICS } from '../src/observe/metric-catalogue.ts';
import { SAMPLE_VARIABLES } from '../src/templates/variables.ts';
import { keepHealth } from '../src/web/monitoring.ts';
import { createPush } from '../src/web/push.ts';
import { createApp } from '../src/web/routes.ts';
import { nestwatch } from './cli/test-io.ts';
import { load, REGION } from './config/load.ts';
import type { Schema } from './docs/schema.ts';
import { serve } from './web/served.ts';

/** One name a line, of the form `sort name`, in order. */
export async function publicNames(): Promise<string[]> {
  const names = new Set([
    ...keys(configJsonSchema() as Schema, '', configJsonSchema() as Schema),
    ...[...Object.values(METRICS), ...Object.values(BIRD_METRICS)].flatMap(({ name, labels }) => [
      `metric ${name}`,
      ...labels.map((label) => `label ${name}{${label}}`),
    ]),
    ...KINDS.flatMap(({ name, labels, severities }) => [
      `alert ${name}`,
      ...labels.map((label) => `label ${name}{${label}}`),
      ...severities.map((severity) => `label ${name}{severity="${severity}"}`),
    ]),
    ...Object.values(EVENT_TYPES).flatMap((types) => types.map((type) => `event ${type}`)),
    ...Object.entries(ERRORS).map(([code, { exit }]) => `error ${code}, exit code ${exit}`),
    ...Object.keys(IMPAIRMENTS).map((reason) => `reason ${reason}`),
    ...variables(SAMPLE_VARIABLES, ''),
    ...(await addresses()),
    ...(await commands([])),
  ]);
  return [...names].toSorted();
}

/** Keys of the configuration, and the words that they take. */
function* keys(schema: Schema, path: string, root: Schema, above: readonly string[] = []): Generator<string> {
  const { $ref } = schema;
  if ($ref !== undefined) {
    if (above.includes($ref)) return;
    const found = root.definitions?.[$ref.replace('#/definitions/', '')];
    if (!found) throw new Error(`the schema has no ${$ref}`);
    yield* keys(found, path, root, [...above, $ref]);
  }
  for (const word of schema.enum ?? (schema.const === undefined ? [] : [schema.const])) {
    yield `word ${path}: ${word}`;
  }
  for (const part of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])]) {
    yield* keys(part, path, root, above);
  }
  if (schema.items) yield* keys(schema.items, `${path}[]`, root, above);
  if (schema.additionalProperties) yield* keys(schema.additionalProperties, `${path}.*`, root, above);
  for (const [name, child] of Object.entries(schema.properties ?? {})) {
    if (isRefused(child)) continue;
    // Every channel that speaks HTTP has these keys.
    const key = (path === '' ? name : `${path}.${name}`).replace(/^.*\b(?=http_config\b)/, '');
    yield `key ${key}`;
    yield* keys(child, key, root, above);
  }
}

function* variables(value: object, path: string): Generator<string> {
  for (const [name, child] of Object.entries(value)) {
    if (Array.isArray(value)) {
      if (typeof child === 'object') yield* variables(child, `${path}[]`);
      continue;
    }
    const variable = path === '' ? name : `${path}.${name}`;
    yield `variable ${variable}`;
    if (typeof child === 'object' && child !== null) yield* variables(child, variable);
  }
}

async function addresses(): Promise<string[]> {
  const web = `web:
  listen: 127.0.0.1:0
  external_url: https://nestwatch.example.com
  enable_lifecycle: true
  public: { nests: ["*"] }
  auth: { oidc: { issuer: https://login.example.com, client_id: nestwatch, scopes: [read] } }
`;
  const presses = { read: () => ({ status: 200, message: '' }) as const };
  const served = await serve({ config: load(`${REGION}${web}`).web, presses });
  const { options, store, clock } = served;
  const state = {
    isClosing: () => false,
    unreadBytes: () => 0,
    health: keepHealth(options),
    publicStore: store,
  };
  return createApp(options, state, createPush(clock, 1024))
    .routes.filter(({ method }) => method !== 'ALL')
    .map(({ method, path }) => `address ${method} ${path}`);
}

/** What the help says of a command, and of those below it. */
async function commands(words: readonly string[]): Promise<string[]> {
  const { stdout } = await nestwatch([...words, '--help']);
  const command = words.join(' ');
  const below = [
    ...(/\nCommands:\n(.*?)\n(?:\n|$)/s.exec(stdout)?.[1] ?? '').matchAll(/^ {2}([a-z][a-z-]*)/gm),
  ];
  const options = [...stdout.matchAll(/^ {2}(?:-\w, )?(--[\w.-]+)/gm)];
  return [
    ...(words.length === 0 ? [] : [`command ${command}`]),
    ...options.map(([, option]) => `option ${command} ${option}`),
    ...(
      await Promise.all(below.map(([, word = '']) => (word === 'help' ? [] : commands([...words, word]))))
    ).flat(),
  ];
}
