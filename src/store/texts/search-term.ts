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
 * Folds names for searching, and what is searched for: to lower case, and without characters for which a store would
 * encode the whole text differently from a part of it.
 */
export function foldedText(text: string): string {
  return text.toWellFormed().toLowerCase().replaceAll('"', "'").replaceAll('\0', ' ');
}
