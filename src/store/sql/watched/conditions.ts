/** Builds the WHERE conditions of pages for people; values are numbered in order. */

import { NestwatchError } from '../../../errors.ts';
import { foldedText } from '../../../text/plain-text.ts';
import { type SearchedColumns, searchTerm } from '../../filter.ts';
import type { Parameter, Sql } from '../sql.ts';

export class Conditions {
  /** The values of the whole statement. */
  readonly parameters: Parameter[];
  readonly #engine: Sql['engine'];
  readonly #sql: string[] = [];

  /** `parameters` are the statement's values before these conditions; theirs are added to them. */
  constructor({ engine }: Pick<Sql, 'engine'>, parameters: Parameter[] = []) {
    this.#engine = engine;
    this.parameters = parameters;
  }

  /** Each `?` of the condition stands for one value. */
  add(condition: string, ...values: readonly Parameter[]): this {
    let next = this.parameters.length;
    this.parameters.push(...values);
    this.#sql.push(
      condition.replaceAll('?', () => {
        next += 1;
        return `$${next}`;
      }),
    );
    return this;
  }

  /** Matches an id, or a part of a folded name. */
  addNamed(id: string, name: string, value: string | undefined): this {
    if (value !== undefined) this.add(`(${id} = ? OR strpos(${name}, ?) > 0)`, value, foldedText(value));
    return this;
  }

  /** Matches a Nest by its id, or by a part of its name if no Nest has that id: a name may contain numbers. */
  addNest(id: string, name: string, value: string | undefined): this {
    return this.#addThing(id, name, value, 'SELECT 1 FROM nest WHERE nest_id = ?');
  }

  /** Matches a Bird in the same way. */
  addBird(id: string, name: string, value: string | undefined): this {
    return this.#addThing(id, name, value, 'SELECT 1 FROM bird WHERE bird_id = ?');
  }

  #addThing(id: string, name: string, value: string | undefined, isId: string): this {
    if (value === undefined) return this;
    return this.add(
      `(${id} = ? OR (strpos(${name}, ?) > 0 AND NOT EXISTS (${isId})))`,
      value,
      foldedText(value),
      value,
    );
  }

  addText(text: string | undefined, { folded = [], ids = [], whole = [], json = [] }: SearchedColumns): this {
    if (text === undefined) return this;
    const { inJson, signed } = searchTerm(text);
    const parts = [
      ...folded.map((column) => `strpos(coalesce(${column}, ''), ?) > 0`),
      ...ids.map((id) => `${id} = ?`),
      ...whole.map((column) => contains(this.#engine, `coalesce(${column}, '')`)),
      ...json.map((column) => `strpos(lower(${column}), lower(?::text COLLATE "C")) > 0`),
    ];
    return this.add(
      `(${parts.join(' OR ')})`,
      ...folded.map(() => foldedText(text)),
      ...ids.map(() => text),
      ...whole.flatMap(() => [inJson, signed]),
      ...json.map(() => inJson),
    );
  }

  addOneOf(column: string, texts: readonly string[]): this {
    return this.add(`${column} = ANY(?::text[])`, texts);
  }

  /** Conditions on another part of the same statement. */
  others(): Conditions {
    return new Conditions({ engine: this.#engine }, this.parameters);
  }

  /** A copy for another statement. */
  copy(): Conditions {
    const copy = new Conditions({ engine: this.#engine }, [...this.parameters]);
    copy.#sql.push(...this.#sql);
    return copy;
  }

  get isEmpty(): boolean {
    return this.#sql.length === 0;
  }

  get where(): string {
    return this.isEmpty ? '' : `WHERE ${this.#sql.join(' AND ')}`;
  }
}

/**
 * The condition that a text, stored as received, contains another one, given as `SearchTerm.inJson` and `signed`;
 * without regard to case.
 */
export function contains(engine: Sql['engine'], column: string, inJson = '?', signed = '?'): string {
  if (engine === 'sqlite') {
    const plain = `CAST(substr(CAST(${signed} AS BLOB), 2) AS TEXT)`;
    return `instr(lower(${column}), lower(iif(substr(${column}, 1, 1) = '"', ${inJson}, ${plain}))) > 0`;
  }
  const part = `CASE WHEN starts_with(${column}, '"') THEN ${inJson}::text ELSE substr(${signed}::text, 2) END`;
  return `position(lower(${part} COLLATE "C") IN lower(${column})) > 0`;
}

/** A row's place in an order, as a URL parameter. */
export function formatCursor(place: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

/** Throws `usage` unless the cursor has parts of these types; numbers must be integers. */
export function parseCursor(cursor: string, types: readonly ('string' | 'number')[]): (string | number)[] {
  try {
    const place = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
    const fits = (type: 'string' | 'number', part: unknown) =>
      type === 'number' ? Number.isSafeInteger(part) : typeof part === type;
    if (place.length === types.length && types.every((type, index) => fits(type, place[index]))) {
      return place as (string | number)[];
    }
  } catch {
    // Refused below like any other invalid cursor.
  }
  throw new NestwatchError('usage', 'The cursor is not one that an earlier answer gave.');
}
