/** What the holder of a token, or a person, may do. */

/**
 * `metrics` allows `/metrics`, `read` all other reading, `write` everything that changes something in nestwatch, and
 * `fly` starting Birds, where `regions.<name>.fly` allows it.
 */
export const SCOPES = ['read', 'metrics', 'write', 'fly'] as const;
export type Scope = (typeof SCOPES)[number];

/** Those of whoever is given no scopes. */
export const USUAL_SCOPES: readonly Scope[] = ['read', 'metrics', 'write'];
