/** What pages for people are put together from: conditions with their values, and cursors. */
import { foldedText } from '../../rows/folded-text.ts';
import { textList, type Value } from '../connection.ts';

export class Conditions {
  readonly values: Value[] = [];
  readonly #sql: string[] = [];

  add(condition: string, ...values: readonly Value[]): this {
    this.#sql.push(condition);
    this.values.push(...values);
    return this;
  }

  /** An id, or a part of a name that is kept folded. */
  addNamed(id: string, name: string, value: string | undefined): this {
    if (value !== undefined) this.add(`(${id} = ? OR instr(${name}, ?))`, value, foldedText(value));
    return this;
  }

  /** A Nest by its id, or by a part of its name where no Nest has that id: names with numbers in them are no ids. */
  addNest(id: string, name: string, value: string | undefined): this {
    return this.#addThing(id, name, value, 'SELECT 1 FROM nest WHERE nest_id = ?');
  }

  /** A Bird, in the same way. */
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

  /** A part of one of the columns, which are kept folded, or one of the ids. */
  addText(text: string | undefined, columns: readonly string[], ids: readonly string[]): this {
    if (text === undefined) return this;
    const parts = [
      ...columns.map((column) => `instr(coalesce(${column}, ''), ?)`),
      ...ids.map((id) => `${id} = ?`),
    ];
    const values = [...columns.map(() => foldedText(text)), ...ids.map(() => text)];
    return this.add(`(${parts.join(' OR ')})`, ...values);
  }

  addOneOf(column: string, texts: readonly string[]): this {
    return this.add(`${column} IN (SELECT value FROM json_each(?))`, textList(texts));
  }

  /** The same conditions, to which others can be added. */
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
