/** What the holder of a token, or a person, may do. */

/** `metrics` allows `/metrics`, `read` all other reading, `write` everything that changes something. */
export const SCOPES = ['read', 'metrics', 'write'] as const;
export type Scope = (typeof SCOPES)[number];
