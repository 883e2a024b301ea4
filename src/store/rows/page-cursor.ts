import { NestwatchError } from '../../errors.ts';

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
