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
