import { NestwatchError } from '../../errors.ts';

/** A row's place in an order, as the parameter of an address. */
export function formatCursor(place: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

/** Throws `usage` for what is no place with parts of these types; numbers are whole. */
export function parseCursor(cursor: string, types: readonly ('string' | 'number')[]): (string | number)[] {
  try {
    const place = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
    const fits = (type: 'string' | 'number', part: unknown) =>
      type === 'number' ? Number.isSafeInteger(part) : typeof part === type;
    if (place.length === types.length && types.every((type, index) => fits(type, place[index]))) {
      return place as (string | number)[];
    }
  } catch {
    // Refused below, as any other text that was no cursor.
  }
  throw new NestwatchError('usage', 'The cursor is not one that an earlier answer gave.');
}
