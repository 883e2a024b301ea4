/**
 * What people narrow lists down by, alike in pages, API and commands. A condition left out is met by all; several are
 * met together.
 */
export interface Filter {
  readonly region?: string | undefined;
  /** The id of a Nest or a part of its name, whatever its letters' case. */
  readonly nest?: string | undefined;
  /** The id of a Bird or a part of its name, whatever its letters' case. */
  readonly bird?: string | undefined;
  /** The id of a Flight. */
  readonly flight?: string | undefined;
  /** What a thing is called: an alert by its `alertname`, a Bird or a Nest by its name. */
  readonly name?: string | undefined;
  readonly severity?: string | undefined;
  /** A part of what people read of it, whatever its letters' case. */
  readonly text?: string | undefined;
  /** At or after. */
  readonly sinceUs?: number | undefined;
  /** Before. */
  readonly untilUs?: number | undefined;
}
