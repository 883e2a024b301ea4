/**
 * Reads only the beginning of a long text. A text that is stored as JSON (`encodeText`) cannot be parsed without its
 * end, so it is read whole and cut afterwards.
 */

/** An SQL expression for any engine: as much of the text as `beginningOf` needs. */
export function beginningSql(column: string, characters: number): string {
  return `CASE WHEN substr(${column}, 1, 1) = '"' THEN ${column} ELSE substr(${column}, 1, ${characters}) END`;
}

/** At most that many code points of what `beginningSql` read. */
export function beginningOf(text: string, characters: number): string {
  return text.length <= characters
    ? text
    : Array.from(text.slice(0, 2 * characters))
        .slice(0, characters)
        .join('');
}
