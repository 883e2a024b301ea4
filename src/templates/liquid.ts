/**
 * People's own templates, in Liquid (https://liquidjs.com). A template only reads the values that it is given: there
 * are no files, no code, no prototypes, and a limit on its length, processor time, memory and result. Every value that
 * it prints is escaped for where it goes, and there is no filter that turns this off: text from outside stays text.
 */
import { Context, type FilterImplOptions, Liquid, type Template as Node } from 'liquidjs';
import { LIMITS } from '../limits.ts';
import { systemClock } from '../time/clock.ts';
import { findGoSyntax } from './go-syntax.ts';

/** Where the result goes: it decides how values are escaped. */
export type TemplateUse = 'text' | 'html' | 'slack' | 'json' | 'address';

export interface Template {
  readonly use: TemplateUse;
  /**
   * Throws `TemplateError` for a variable or label that is not there, and for what goes beyond a limit. When it is
   * `lenient`, what is not there is empty. `limit` is that of several renderings together; without it, this one has its
   * own.
   */
  render(variables: object, how?: 'strict' | 'lenient', limit?: ProcessorLimit): string;
}

/** To be called again and again: throws once what was done since the first time took the processor for too long. */
export type ProcessorLimit = () => void;

/** What is wrong with a template or with one rendering of it, in words for the person who wrote it. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
}

/** Characters of a template, and of what it makes. */
export const MAX_TEMPLATE_LENGTH = 100_000;
export const MAX_OUTPUT_LENGTH = 500_000;
/** liquidjs counts characters and items that filters and loops create. */
const MEMORY = 2_000_000;

/** Tags that read other templates: there are none. */
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
  const engine = new Liquid({
    templates: {},
    ownPropertyOnly: true,
    strictFilters: true,
    strictVariables: true,
    // A condition and `default` may ask for a label that not every alert has.
    lenientIf: true,
    timezoneOffset: 0,
    locale: 'en',
    parseLimit: MAX_TEMPLATE_LENGTH,
    memoryLimit: MEMORY,
    ...(escaping && { outputEscape: escaping }),
  });
  for (const tag of NO_TAGS) delete engine.tags[tag];
  if (escaping) delete engine.filters.raw;
  for (const name of Object.keys(engine.filters)) engine.registerFilter(name, timed(engine.filters[name]!));
  if (use === 'json') {
    // A whole value as JSON, which is not to be escaped again.
    engine.registerFilter('json', { raw: true, handler: (value: unknown) => JSON.stringify(value ?? null) });
    delete engine.filters.jsonify;
    delete engine.filters.inspect;
  }
  return engine;
}

/**
 * The filter, with a look at the limit at each use. liquidjs looks at it only between tags: a filter that evaluates an
 * expression for each item, such as `group_by_exp`, would have all the time that it likes.
 */
function timed(filter: FilterImplOptions): FilterImplOptions {
  const handler = typeof filter === 'function' ? filter : filter.handler;
  return {
    raw: typeof filter === 'function' ? false : (filter.raw ?? false),
    handler(...values) {
      this.context.renderLimit.check(0);
      return handler.apply(this, values);
    },
  };
}

const clock = systemClock();

/**
 * A check for liquidjs to call between tags; it throws once the thread has worked for too long, in all renderings that
 * have it. The limit that liquidjs
 * has itself is one of time that passes: on a machine that is busy with other things a harmless template would fail.
 * A thread cannot work for longer than time passes, so the clock, which costs less, says when to look next.
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
 * Parses a template and tries it with `sample`, whose keys are the variables that it may use, and with one of a group
 * whose alerts differ; labels that a sample does not have are taken as empty. Throws `TemplateError` with line and
 * column.
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

/** The first line of what the engine says: further ones quote the template. */
function words(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const [first = ''] = message.split('\n');
  return first.length > MAX_WORDS ? `${first.slice(0, MAX_WORDS).toWellFormed()}…` : first;
}
