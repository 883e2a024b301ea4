/**
 * Reads only the beginning of a long text. A text that is stored as JSON (`encodeText`) cannot be parsed without its
 * end, so it is read whole and cut afterwards.
 */

/** An SQL expression for any engine: the text, or a beginning long enough to be cut. */
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
