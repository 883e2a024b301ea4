/** What pages for people are put together from: conditions with their values, and cursors. */
import { NestwatchError } from '../../../errors.ts';
import { folded, textList, type Value } from '../connection.ts';

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
    if (value !== undefined) this.add(`(${id} = ? OR instr(${name}, ?))`, value, folded(value));
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
      folded(value),
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
    const values = [...columns.map(() => folded(text)), ...ids.map(() => text)];
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

  get where(): string {
    return this.#sql.length > 0 ? `WHERE ${this.#sql.join(' AND ')}` : '';
  }
}

/** A row's place in an order, as the parameter of an address. */
export function formatCursor(place: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

/** Throws `usage` for what is no place with parts of these types. */
export function parseCursor(cursor: string, types: readonly ('string' | 'number')[]): (string | number)[] {
  try {
    const place = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
    if (place.length === types.length && types.every((type, index) => typeof place[index] === type)) {
      return place as (string | number)[];
    }
  } catch {
    // Refused below, as any other text that was no cursor.
  }
  throw new NestwatchError('usage', 'The cursor is not one that an earlier answer gave.');
}
