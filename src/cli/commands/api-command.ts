import { isDeepStrictEqual } from 'node:util';
import type { Command } from 'commander';
import { ERRORS, NestwatchError } from '../../errors.ts';
import { mistakeInBaseUrl, withoutTrailingSlash } from '../../http/web-address.ts';
import type { Edge } from '../../process-io.ts';
import { secret } from '../../secret.ts';
import type { ServiceClient, ServiceRegion } from '../../service/client.ts';
import { OPERATIONS, type Operation, operationOf, targetOf } from '../../service/operations.ts';
import { pageIn } from '../../service/resources.ts';
import { isConfirmed } from '../at-terminal.ts';
import { wrongUsage } from '../command-arguments.ts';
import { EXIT } from '../command-rows.ts';
import { type ConfigOptions, secretInFile } from '../config-file.ts';
import { configOf } from '../read-config.ts';
import { jsonText, shownLines, widthOf, wrapped } from '../terminal-text.ts';
import { type CalledRegion, withClient } from '../with-client.ts';

interface ApiOptions extends ConfigOptions {
  readonly help: boolean;
  readonly all: boolean;
  readonly yes: boolean;
  readonly region?: string;
  readonly body?: string;
  readonly baseUrl?: string;
  readonly tokenFile?: string;
}

const TIMEOUT_MS = 30_000;
const ALL_PAGE_SIZE = '100';

/** Calls one operation. The service's answer goes to stdout, even if it refused the request. */
export async function api(edge: Edge, command: Command, given: ApiOptions): Promise<number> {
  const { operation: id, parameters } = readOperation(command.args);
  if (given.help) {
    edge.stdout.write(`${command.helpInformation()}\nOperations:\n${helpText(id, widthOf(edge))}`);
    return 0;
  }
  if (id === undefined) throw wrongUsage(`name an operation: ${OPERATIONS.map((one) => one.id).join(', ')}`);
  const operation = operationOf(id);
  targetOf(operation, parameters);
  if (operation.hasBody && given.body === undefined) {
    throw wrongUsage(`${operation.id} needs --body with JSON, as {"userId": "…"}`);
  }
  const region = regionOf(edge, given);
  const does = `${operation.id} changes something`;
  if (
    operation.writes &&
    !given.yes &&
    !(await isConfirmed(edge, questionOf(operation, parameters, given.body, region), does))
  )
    return EXIT.failed;
  try {
    const text = await withClient(edge, region, async (client) =>
      given.all && operation.isPaged
        ? jsonText(await allPages(client, operation, parameters))
        : shownBody(await client.call(operation.id, parameters, given.body)),
    );
    if (text === '') edge.stderr.write(`${operation.id}: done\n`);
    else edge.stdout.write(text);
    return 0;
  } catch (error) {
    if (!(error instanceof NestwatchError)) throw error;
    const { problem, text } = error.facts;
    const isUnsure = operation.writes && error.retryable;
    if (problem === undefined && text === undefined && !isUnsure) throw error;
    if (problem !== undefined) edge.stdout.write(jsonText(problem));
    else if (text !== undefined) edge.stdout.write(`${shownLines(text)}\n`);
    edge.stderr.write(`nestwatch: ${error.message}\n${isUnsure ? SENT_ONCE : ERRORS[error.code].help}\n`);
    return ERRORS[error.code].exit;
  }
}

/** What to do after a write whose answer does not show whether it was done. */
const SENT_ONCE =
  'It was sent once and is not repeated. Whether it was done is not known: look before you send it again.';

/** The service's answer, formatted if it is JSON; empty if there was none. */
function shownBody({ body, json }: { readonly body: string; readonly json: unknown }): string {
  const isJson = json !== null || body.trim() === 'null';
  if (isJson) return jsonText(parseExactly(body));
  return body.trim() === '' ? '' : `${shownLines(body)}\n`;
}

type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;
const parseWithSource = JSON.parse as (text: string, reviver: Reviver) => unknown;
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

/** Parses JSON so that whole numbers beyond 2^53 keep their digits when they are written again. */
function parseExactly(text: string): unknown {
  return parseWithSource(text, (_key, value, { source }) => {
    const isLong = typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source ?? '');
    return isLong ? rawJSON(source!) : value;
  });
}

function regionOf(edge: Edge, given: ApiOptions): CalledRegion {
  if (given.baseUrl !== undefined) return directRegion(edge, given.baseUrl, given);
  const { regions } = configOf(edge, given);
  const names = regions.map(({ name }) => name).join(', ');
  const region = given.region === undefined && regions.length === 1 ? regions[0] : undefined;
  const found = region ?? regions.find(({ name }) => name === given.region);
  if (found) return found;
  const wrong =
    given.region === undefined ? 'name a region with --region' : `there is no region ${given.region}`;
  throw wrongUsage(`${wrong}: the configuration has ${names}`);
}

/** Used without a configuration: only an address and a token. */
function directRegion(edge: Edge, baseUrl: string, given: ApiOptions): CalledRegion {
  const mistake = mistakeInBaseUrl(baseUrl);
  if (mistake) throw wrongUsage(`--base-url ${mistake}`);
  const token =
    given.tokenFile === undefined ? edge.environment.NESTWATCH_TOKEN : secretInFile(given.tokenFile);
  if (!token) throw wrongUsage('--base-url needs a token: --token-file FILE or $NESTWATCH_TOKEN');
  return {
    name: given.region ?? new URL(baseUrl).host,
    baseUrl: withoutTrailingSlash(baseUrl),
    token: secret(token),
    requestsPerSecond: 5,
    concurrency: 1,
    timeoutMs: TIMEOUT_MS,
  };
}

function questionOf(
  { summary }: Operation,
  parameters: Readonly<Record<string, string>>,
  body: string | undefined,
  region: ServiceRegion,
): string {
  const said = Object.entries(parameters).map(([name, value]) => ` ${name}=${value}`);
  return `${summary}:${said.join('')} in ${region.name}${body ? ` with ${body}` : ''}`;
}

/**
 * All pages, in the form of one: the same keys, and each item once. Entries that arrive meanwhile may shift the
 * pages.
 */
async function allPages(
  client: ServiceClient,
  operation: Operation,
  parameters: Readonly<Record<string, string>>,
): Promise<unknown> {
  const names = new Set(Object.keys(parameters).map((name) => name.toLowerCase()));
  if (names.has('page')) throw wrongUsage('--all reads every page: leave out --page');
  const fixed = names.has('pagesize') ? parameters : { ...parameters, pageSize: ALL_PAGE_SIZE };
  const items: unknown[] = [];
  const seen = new Set<string>();
  let total = 0;
  let before: readonly string[] = [];
  for (let page = 0; ; page += 1) {
    const { body } = await client.call(operation.id, { ...fixed, page: String(page) });
    const answer = pageIn<unknown>(parseExactly(body));
    if (!answer) {
      throw new NestwatchError('unexpected_shape', `${operation.id}: the answer is JSON of another shape`, {
        facts: { text: body },
      });
    }
    total = Math.max(total, answer.totalCount ?? 0);
    const texts = answer.items.map(jsonText);
    // Neither a short page nor the count proves the end, since a count may be capped or delayed. An empty page does,
    // or a repeated one.
    if (isDeepStrictEqual(texts, before) || texts.length === 0) {
      return { items, totalCount: Math.max(total, items.length), page: 0, pageSize: items.length };
    }
    for (const [index, text] of texts.entries()) {
      if (!seen.has(text)) items.push(answer.items[index]);
      seen.add(text);
    }
    before = texts;
  }
}

function helpText(id: string | undefined, width: number): string {
  const one = OPERATIONS.filter((operation) => operation.id === id);
  const lines = (one.length > 0 ? one : OPERATIONS).map((operation) => {
    const parameters = operation.parameters.map(({ name, place, values }) => {
      const text = `--${name} ${values ? values.join('|') : '…'}`;
      return place === 'path' ? text : `[${text}]`;
    });
    const body = operation.hasBody ? ['--body JSON'] : [];
    const taken = wrapped(`      ${[...parameters, ...body].join(' ') || 'no parameters'}`, width, 6);
    return `  ${operation.id}\n      ${operation.summary}\n${taken}\n`;
  });
  return lines.join('');
}

/** The operation, and every other `--name value` as a parameter of it. Throws `usage`. */
function readOperation(args: readonly string[]) {
  const parameters = new Map<string, string>();
  let operation: string | undefined;
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at]!;
    if (!arg.startsWith('-')) {
      if (operation !== undefined) throw wrongUsage(`one operation at a time: ${operation} or ${arg}`);
      operation = arg;
      continue;
    }
    const [, name, written] = /^--(\w[^=]*)(?:=(.*))?$/s.exec(arg) ?? [];
    if (name === undefined) throw wrongUsage(`there is no option ${arg}: parameters begin with --`);
    const value = written ?? args[++at];
    // A value that starts with two hyphens probably is the next option. `--name=--value` is possible.
    if (value === undefined || (written === undefined && value.startsWith('--')))
      throw wrongUsage(`--${name} needs a value`);
    if (parameters.has(name)) throw wrongUsage(`--${name} is given twice`);
    parameters.set(name, value);
  }
  return { operation, parameters: Object.fromEntries(parameters) };
}
