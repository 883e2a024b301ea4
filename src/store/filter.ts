/**
 * The conditions that people filter lists by, the same in pages, API and commands. Conditions left out match all;
 * those given must all match.
 */
export interface Filter {
  readonly region?: string | undefined;
  /** The id of a Nest or a part of its name, in any case. */
  readonly nest?: string | undefined;
  /** The id of a Bird or a part of its name, in any case. */
  readonly bird?: string | undefined;
  /** The id of a Flight. */
  readonly flight?: string | undefined;
  /** The name of a thing: an alert's `alertname`, or the name of a Bird or Nest. */
  readonly name?: string | undefined;
  readonly severity?: string | undefined;
  /** A part of its displayed text, in any case. */
  readonly text?: string | undefined;
  /** Inclusive. */
  readonly sinceUs?: number | undefined;
  /** Exclusive. */
  readonly untilUs?: number | undefined;
}

/**
 * Prepares a search for texts as a store keeps them. A text that begins with a quotation mark, or that the engine
 * would damage, is stored as JSON (`encodeText`), so its parts must be looked for as JSON writes them.
 */
interface SearchTerm {
  /** To find it in texts stored as they are. The leading `=` keeps the parameter itself from being encoded as JSON. */
  readonly signed: string;
  readonly inJson: string;
}

export function searchTerm(text: string): SearchTerm {
  return { signed: `=${text}`, inJson: JSON.stringify(text).slice(1, -1) };
}

/** The columns to search; one of them must match. */
export interface SearchedColumns {
  /** Stored folded. */
  readonly folded?: readonly string[];
  /** Must be equal as a whole. */
  readonly ids?: readonly string[];
  /** Stored as received. */
  readonly whole?: readonly string[];
  /** Stored as JSON. */
  readonly json?: readonly string[];
}

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
