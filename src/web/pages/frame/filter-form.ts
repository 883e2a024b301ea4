/**
 * Renders the filter form of every list, and the search line, `nest:Legal since:24h quota`, which asks for the
 * same by words.
 */
import type { MiddlewareHandler } from 'hono';
import { getCookie } from 'hono/cookie';
import { html } from 'hono/html';
import { ALERT_KINDS } from '../../../domain/kinds/kinds.ts';
import { FILTERS, type FilterName, LISTS } from '../../../operator/lists.ts';
import { plainText } from '../../../text/plain-text.ts';
import { isTimezone } from '../../../time/zone-format.ts';
import { MAX_VALUE_LENGTH } from '../../requests/query.ts';
import type { Html, Page } from './page.ts';
import { ZONE_COOKIE } from './page-script.ts';
import { alertTitle, regionWord, severityWord } from './page-words.ts';

/** All fields of a form, each as long as a request may have it. */
const MAX_LINE = 10 * MAX_VALUE_LENGTH;

export interface FilterField {
  /** The parameter of the address. */
  readonly name: string;
  readonly label: string;
  /** What may be typed; for fields without `choices`. */
  readonly hint?: string;
  /** What can be chosen, besides no choice. */
  readonly choices?: readonly Choice[];
  /** What applies without a choice, if it is not everything. */
  readonly any?: string;
}

interface Choice {
  readonly value: string;
  readonly text: string;
}

/** The usual severities of configurations. */
const SEVERITIES: readonly string[] = ['critical', 'warning', 'info'];

type FieldName = Exclude<FilterName, 'zone'>;

/** What a list is narrowed down by: fields that many lists have, by their names, and its own. */
export type FilteredBy = readonly (FieldName | FilterField)[];

/**
 * The fields of a list: those that many lists have, by their names, and its own. A filter in the address gets a field even
 * if the list usually has none.
 */
export function filterFields(
  page: Page,
  { regions, given }: { readonly regions: readonly string[]; readonly given: URLSearchParams },
  usual: FilteredBy,
): FilterField[] {
  const { words } = page;
  const { list } = words;
  const hints: Partial<Readonly<Record<FieldName, string>>> = {
    nest: list.nameHint,
    bird: list.nameHint,
    flight: list.idHint,
    text: list.textHint,
    since: list.sinceHint,
    until: list.untilHint,
  };
  const typed = (name: FieldName) => {
    const label = name === 'since' || name === 'until' ? list[name](typedZone(page)) : list[name];
    return { name, label, hint: hints[name] ?? '' };
  };
  const fields = usual.map((name) => {
    if (name === 'region') return selection(name, list.region, regions, (one) => regionWord(words, one));
    if (name === 'severity')
      return selection(name, list.severity, SEVERITIES, (one) => severityWord(words, one));
    if (name === 'name') return selection(name, list.name, ALERT_KINDS, (one) => alertTitle(words, one));
    return typeof name === 'string' ? typed(name) : name;
  });
  const others = FILTERS.filter((name) => name !== 'zone')
    .filter((name) => given.get(name) && !fields.some((field) => field.name === name))
    .map(typed);
  return [...fields, ...others];
}

/** A field in which one of several values is chosen. */
export function selection<Value extends string>(
  name: string,
  label: string,
  values: readonly Value[],
  textOf: (value: Value) => string,
): FilterField {
  return { name, label, choices: values.map((value) => ({ value, text: textOf(value) })) };
}

/** Whether the address asks for less than everything. */
export function isNarrowed(given: URLSearchParams): boolean {
  return [...given].some(([name, value]) => name !== 'zone' && value !== '');
}

/**
 * `given` are the parameters of the address. Those that are not fields of the form are dropped when it is sent.
 */
export function filterForm(page: Page, fields: readonly FilterField[], given: URLSearchParams): Html {
  const { words } = page;
  const zone = typedZone(page);
  const isZoned = zone !== 'UTC' && fields.some(({ name }) => name === 'since');
  const isFiltered = fields.some(({ name }) => given.get(name));
  return html`<details class="filters"><summary>${words.list.filters}</summary><form class="filter" aria-label="${words.list.filter}">
${isZoned ? html`<input type="hidden" name="zone" value="${zone}">` : ''}
${fields.map((field) => fieldControl(page, field, given))}
<div class="buttons"><button class="main">${words.list.show}</button>
${isFiltered ? html`<a class="button" href="?">${words.list.showAll}</a>` : ''}</div>
</form></details>`;
}

/**
 * One line in place of the form, which says what is asked for, and a chip for each part of that, which takes it away. The
 * server reads the line (`readSearchLine`).
 */
export function searchLine(page: Page, fields: readonly FilterField[], given: URLSearchParams): Html {
  const { words } = page;
  const { line, others: unsaid } = lineOf(given);
  const asked = [...given].filter(([name, value]) => value !== '' && name !== 'cursor');
  const chips = asked
    .filter(([name]) => name !== 'zone' && name !== 'limit')
    .map(([name, value]) => {
      const field = fields.find((one) => one.name === name);
      const shown =
        field?.choices?.find((one) => one.value === value)?.text ?? plainText(value, MAX_VALUE_LENGTH);
      const text = `${field?.label ?? plainText(name, MAX_VALUE_LENGTH)}: ${shown}`;
      const others = new URLSearchParams(asked.filter(([other]) => other !== name));
      return html`<a class="chip" href="?${others}" aria-label="${words.list.without(text)}"><bdi>${text}</bdi> ✕</a>`;
    });
  return html`<form class="line" aria-label="${words.list.line}">
${unsaid.map(([name, value]) => html`<input type="hidden" name="${plainText(name, MAX_VALUE_LENGTH)}" value="${plainText(value, MAX_VALUE_LENGTH)}">`)}
<input name="${LINE}" value="${plainText(line, MAX_LINE)}" aria-label="${words.list.line}" placeholder="${words.list.lineHint}" autocomplete="off" spellcheck="false">
<button>${words.list.find}</button></form>
${chips.length > 0 ? html`<p class="actions">${chips}</p>` : ''}`;
}

/**
 * The time zone in which instants are typed: the reader's own, unless the address has one. Instants in an address
 * without a zone are in UTC.
 */
function typedZone({ zone, query }: Page): string {
  const given = new URLSearchParams(query);
  const named = given.get('zone');
  if (named !== null && isTimezone(named)) return named;
  return given.get('since') || given.get('until') ? 'UTC' : zone;
}

/** A field with its label. `form` tells its id from that of a field of the same name in another form of the page. */
export function fieldControl(
  { words }: Page,
  { name, label, hint = '', choices, any = words.list.any }: FilterField,
  given: URLSearchParams,
  form = 'by',
): Html {
  const id = `${form}-${name}`;
  const value = plainText(given.get(name) ?? '', MAX_VALUE_LENGTH);
  const options = choices && [{ value: '', text: any }, ...choices];
  return html`<div><label for="${id}">${label}</label>${
    options
      ? html`<select id="${id}" name="${name}">${options.map((one) => html`<option value="${one.value}"${one.value === value ? html` selected` : ''}>${one.text}</option>`)}</select>`
      : html`<input id="${id}" name="${name}" value="${value}" placeholder="${hint}" autocomplete="off" spellcheck="false">`
  }</div>`;
}

/** The parameter that holds the line. */
const LINE = 'q';

const NAMES: ReadonlySet<string> = new Set(Object.values(LISTS).flat());
const PART = /([a-z]+):(?:"([^"]*)"|(\S+))|\S+/g;
/** Parameters that people do not type. */
const HIDDEN = new Set(['zone', 'cause']);
const STATES: ReadonlyMap<string, string> = new Map([
  ['active', 'firing'],
  ['over', 'resolved'],
]);

/** Leads from a line to the address that asks for the same by parameters, which others can be given. */
export const readSearchLine: MiddlewareHandler = async (c, next) => {
  const { searchParams } = new URL(c.req.url);
  const line = searchParams.get(LINE);
  if (line === null || c.req.method !== 'GET' || c.req.path.startsWith('/api/')) return next();
  searchParams.delete(LINE);
  return c.redirect(`?${withLine(searchParams, line, getCookie(c, ZONE_COOKIE))}`, 303);
};

/** What stands in the line after it was read: all that is asked for. `others` are the parameters that it cannot hold. */
export function lineOf(given: URLSearchParams): {
  readonly line: string;
  readonly others: [string, string][];
} {
  const parts: string[] = [];
  const others: [string, string][] = [];
  for (const [name, value] of given) {
    if (value === '' || name === 'cursor') continue;
    const [said = value] = [...STATES].find(([, state]) => name === 'state' && state === value) ?? [];
    const part = name === 'text' ? value : `${name}:${/[\s"]/.test(said) ? `"${said}"` : said}`;
    const read = withLine(new URLSearchParams(), part);
    if (HIDDEN.has(name) || read.size !== 1 || read.get(name) !== value) others.push([name, value]);
    else parts.push(part);
  }
  return { line: parts.join(' '), others };
}

/** The parameters with those of the line, which go before. Words without a name are looked for as a text. */
export function withLine(given: URLSearchParams, line: string, zone = 'UTC'): URLSearchParams {
  const query = new URLSearchParams(given);
  const words: string[] = [];
  for (const [part, name = '', quoted, plain = ''] of line.matchAll(PART)) {
    const value = quoted ?? plain;
    if (NAMES.has(name)) query.set(name, name === 'state' ? (STATES.get(value) ?? value) : value);
    else words.push(part);
  }
  if (words.length > 0) query.set('text', words.join(' '));
  // Instants are typed in the reader's zone.
  if (/\b(since|until):/.test(line) && zone !== 'UTC' && !query.has('zone')) query.set('zone', zone);
  return query;
}
