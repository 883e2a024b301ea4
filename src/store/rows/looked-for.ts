/**
 * What is looked for in texts as a store keeps them. One that begins with a quotation mark, or that the engine would spoil,
 * is kept as JSON (`encodeText`): its parts stand there as JSON writes them.
 */
export interface LookedFor {
  /** As it stands in a text that is kept as it is, behind a sign with which it is itself none to be kept as JSON. */
  readonly signed: string;
  readonly inJson: string;
}

export function lookedFor(text: string): LookedFor {
  return { signed: `=${text}`, inJson: JSON.stringify(text).slice(1, -1) };
}

/** Where a text is looked for: in columns, of which one has to have it. */
export interface Places {
  /** Kept folded. */
  readonly folded?: readonly string[];
  /** Which it must be as a whole. */
  readonly ids?: readonly string[];
  /** Kept as they came. */
  readonly whole?: readonly string[];
  /** Kept as JSON. */
  readonly json?: readonly string[];
}
