/**
 * Compiles and renders people's own templates, written in Liquid (https://liquidjs.com). A template can only read the
 * values it is given: there is no access to files, code or prototypes, and there are limits on its length, processor
 * time, memory and result. Every printed value is escaped for its destination, and no filter turns this off, so text
 * from outside stays text.
 */
import { createRequire } from 'node:module';
import type { Context, FilterImplOptions, Liquid, Template as Node } from 'liquidjs';
import { LIMITS } from '../limits.ts';
import { systemClock } from '../time/clock.ts';
import { findGoSyntax } from './go-syntax.ts';

const require = createRequire(import.meta.url);
/** Loaded for the first template: many configurations have none. */
const liquidjs = () => require('liquidjs') as typeof import('liquidjs');

/** Where the result is used; this decides how values are escaped. */
export type TemplateUse = 'text' | 'html' | 'slack' | 'json' | 'address';

export interface Template {
  readonly use: TemplateUse;
  /**
   * Throws `TemplateError` for an unknown variable or label, and for exceeding a limit. When `lenient`, what is
   * unknown is empty. Several renderings may share one `limit`; by default each has its own.
   */
  render(variables: object, how?: 'strict' | 'lenient', limit?: ProcessorLimit): string;
}

/** To be called repeatedly; throws once the work since the first call has taken too much processor time. */
export type ProcessorLimit = () => void;

/** What is wrong with a template or one of its renderings, in words for the person who wrote it. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
}

/** The most characters in a template and in its result. */
export const MAX_TEMPLATE_LENGTH = 100_000;
export const MAX_OUTPUT_LENGTH = 500_000;
/** liquidjs counts the characters and items that filters and loops create. */
const MEMORY = 2_000_000;

/** Tags that read other templates, of which there are none. */
const NO_TAGS = ['include', 'render', 'layout', 'block'];

const ESCAPES: Readonly<Record<TemplateUse, ((value: unknown) => string) | undefined>> = {
  text: undefined,
  html: (value) => replaced(value, /[&<>"']/g, HTML),
  slack: (value) => replaced(value, /[&<>]/g, HTML),
  json: (value) => JSON.stringify(textOf(value)).slice(1, -1),
  address: (value) => encodeURIComponent(textOf(value).toWellFormed()),
};

const HTML: ReadonlyMap<string, string> = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
  ["'", '&#39;'],
]);

function replaced(value: unknown, what: RegExp, by: ReadonlyMap<string, string>): string {
  return textOf(value).replace(what, (character) => by.get(character)!);
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function createEngine(use: TemplateUse): Liquid {
  const escaping = ESCAPES[use];
  const engine = new (liquidjs().Liquid)({
    templates: {},
    ownPropertyOnly: true,
    strictFilters: true,
    strictVariables: true,
    // Allows conditions and `default` to use a label that some alerts lack.
    lenientIf: true,
    timezoneOffset: 0,
    locale: 'en',
    parseLimit: MAX_TEMPLATE_LENGTH,
    memoryLimit: MEMORY,
    ...(escaping && { outputEscape: escaping }),
  });
  for (const tag of NO_TAGS) delete engine.tags[tag];
  if (escaping) delete engine.filters.raw;
  for (const name of Object.keys(engine.filters))
    engine.registerFilter(name, timed(engine.filters[name]!, NUMBERS.get(name)));
  if (use === 'json') {
    // Writes a whole value as JSON, which must not be escaped again.
    engine.registerFilter('json', { raw: true, handler: (value: unknown) => JSON.stringify(value ?? null) });
    delete engine.filters.jsonify;
    delete engine.filters.inspect;
  }
  return engine;
}

/** The arguments, up to this one, that liquidjs would convert to a number anew for each character. */
const NUMBERS: ReadonlyMap<string, number> = new Map([
  ['slice', 2],
  ['truncate', 1],
]);

/**
 * Makes a filter check the limit each time it is used. liquidjs only checks between tags, so a filter that evaluates
 * an expression for each item, such as `group_by_exp`, would otherwise have no limit.
 */
function timed(filter: FilterImplOptions, numbers = 0): FilterImplOptions {
  const handler = typeof filter === 'function' ? filter : filter.handler;
  return {
    raw: typeof filter === 'function' ? false : (filter.raw ?? false),
    handler(...values) {
      this.context.renderLimit.check(0);
      const [value, ...given] = values;
      const read = given.map((one, at) => (at < numbers && one !== undefined ? Number(one) : one));
      return handler.apply(this, [value, ...read]);
    },
  };
}

const clock = systemClock();

/**
 * A check for liquidjs to call between tags. It throws once the thread has used too much processor time in all
 * renderings that share it. liquidjs' own limit measures elapsed time, so on a busy machine a harmless template would
 * fail. Processor time never exceeds elapsed time, so the cheaper clock decides when to measure it next.
 */
export function processorLimit(): ProcessorLimit {
  const { most } = LIMITS.template_ms;
  let before: NodeJS.CpuUsage | undefined;
  let lookAtMs = 0;
  return () => {
    const nowMs = clock.monotonicMs();
    if (before && nowMs < lookAtMs) return;
    before ??= process.threadCpuUsage();
    const { user, system } = process.threadCpuUsage(before);
    const leftMs = most - (user + system) / 1000;
    if (leftMs < 0) throw new Error(`it takes the processor for more than ${most} ms`);
    lookAtMs = nowMs + leftMs;
  };
}

const engines = new Map<TemplateUse, Liquid>();

function engineOf(use: TemplateUse): Liquid {
  const engine = engines.get(use) ?? createEngine(use);
  engines.set(use, engine);
  return engine;
}

/**
 * Parses a template and tries it with two samples: `sample`, whose keys are the variables it may use, and
 * `differing`, a group whose alerts differ. Labels missing from a sample are empty. Throws `TemplateError` with line
 * and column.
 */
export function compileTemplate(
  text: string,
  use: TemplateUse,
  sample: object,
  differing: object = sample,
): Template {
  const names = Object.keys(sample);
  const go = findGoSyntax(text);
  if (go) throw new TemplateError(go);
  const engine = engineOf(use);
  let nodes: Node[];
  let used: string[];
  try {
    nodes = engine.parse(text);
    used = engine.globalVariablesSync(nodes);
  } catch (error) {
    throw new TemplateError(words(error));
  }
  const unknown = used.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new TemplateError(`there is no variable ${unknown}; there are ${names.join(', ')}`);
  }

  function render(variables: object, how: 'strict' | 'lenient' = 'strict', limit = processorLimit()): string {
    let output: string;
    try {
      output = engine.renderSync(nodes, contextOf(engine, variables, how === 'strict', limit));
    } catch (error) {
      throw new TemplateError(words(error));
    }
    if (output.length > MAX_OUTPUT_LENGTH) {
      throw new TemplateError(`the result has more than ${MAX_OUTPUT_LENGTH} characters`);
    }
    if (use === 'json') checkJson(output);
    return output;
  }

  render(sample, 'lenient');
  try {
    render(differing, 'lenient');
  } catch (error) {
    throw error instanceof TemplateError
      ? new TemplateError(`${error.message}; ${WHERE_ALERTS_DIFFER}`)
      : error;
  }
  return { use, render };
}

function contextOf(
  engine: Liquid,
  variables: object,
  strictVariables: boolean,
  limit: ProcessorLimit,
): Context {
  const { Context } = liquidjs();
  const context = new Context(variables, engine.options, { strictVariables, sync: true }, { liquid: engine });
  context.renderLimit.check = limit;
  return context;
}

const WHERE_ALERTS_DIFFER =
  'this is so in a group whose alerts differ, where commonLabels has less: the filter json writes what is missing as null';

function checkJson(text: string): void {
  try {
    JSON.parse(text);
  } catch {
    throw new TemplateError('the result is not JSON: a comma, a quote or a bracket is wrong');
  }
}

const MAX_WORDS = 200;

/** The first line of the engine's message; further lines quote the template. */
function words(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const [first = ''] = message.split('\n');
  return first.length > MAX_WORDS ? `${first.slice(0, MAX_WORDS).toWellFormed()}…` : first;
}
