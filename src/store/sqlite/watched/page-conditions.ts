/** Builds the WHERE conditions of pages for people, with their values. */
import { contains } from '../../sql/contains.ts';
import { foldedText } from '../../texts/folded-text.ts';
import { type SearchedColumns, searchTerm } from '../../texts/search-term.ts';
import { textList, type Value } from '../connection.ts';

export class Conditions {
  readonly values: Value[] = [];
  readonly #sql: string[] = [];

  add(condition: string, ...values: readonly Value[]): this {
    this.#sql.push(condition);
    this.values.push(...values);
    return this;
  }

  /** Matches an id, or a part of a folded name. */
  addNamed(id: string, name: string, value: string | undefined): this {
    if (value !== undefined) this.add(`(${id} = ? OR instr(${name}, ?))`, value, foldedText(value));
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
      `(${id} = ? OR (instr(${name}, ?) AND NOT EXISTS (${isId})))`,
      value,
      foldedText(value),
      value,
    );
  }

  addText(text: string | undefined, { folded = [], ids = [], whole = [], json = [] }: SearchedColumns): this {
    if (text === undefined) return this;
    const { inJson, signed } = searchTerm(text);
    const parts = [
      ...folded.map((column) => `instr(coalesce(${column}, ''), ?)`),
      ...ids.map((id) => `${id} = ?`),
      ...whole.map((column) => contains('sqlite', `coalesce(${column}, '')`)),
      ...json.map((column) => `instr(lower(${column}), lower(?))`),
    ];
    const values = [
      ...folded.map(() => foldedText(text)),
      ...ids.map(() => text),
      ...whole.flatMap(() => [inJson, signed]),
      ...json.map(() => inJson),
    ];
    return this.add(`(${parts.join(' OR ')})`, ...values);
  }

  addOneOf(column: string, texts: readonly string[]): this {
    return this.add(`${column} IN (SELECT value FROM json_each(?))`, textList(texts));
  }

  /** A copy of the conditions to which others can be added. */
  copy(): Conditions {
    const copy = new Conditions();
    copy.#sql.push(...this.#sql);
    copy.values.push(...this.values);
    return copy;
  }

  get isEmpty(): boolean {
    return this.#sql.length === 0;
  }

  get where(): string {
    return this.#sql.length > 0 ? `WHERE ${this.#sql.join(' AND ')}` : '';
  }
}
