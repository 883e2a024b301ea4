/**
 * The beginning of a long text, of which a store gives no more than is asked for. One that is kept as JSON (`encodeText`)
 * is nothing without its end: it is given whole, and cut when it was read.
 */

/** The expression of a text, or of as much of it as there is to be cut; on whatever engine. */
export function uncut(column: string, characters: number): string {
  return `CASE WHEN substr(${column}, 1, 1) = '"' THEN ${column} ELSE substr(${column}, 1, ${characters}) END`;
}

export function beginning(text: string, characters: number): string {
  return text.length <= characters
    ? text
    : Array.from(text.slice(0, 2 * characters))
        .slice(0, characters)
        .join('');
}
